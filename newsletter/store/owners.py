"""Who is sending, and is it alive?

On one machine an owner holds a lock on a file: a free lock means that it is dead, at once. The operating system frees
it when a process ends, however it ends; no clock has a say.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from pathlib import Path

from newsletter import errors


class Owner:
    """A process as a sender. `id` is what a lease carries."""

    def __init__(self, folder: Path) -> None:
        self.id = uuid.uuid4().hex
        self._path = folder / f"{self.id}.lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            raise errors.StoreError(f"{self._path} cannot be locked: {error}") from None

    def release(self) -> None:
        """Not sending any more."""
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        os.close(self._file)


def is_dead(folder: Path, owner: str) -> bool:
    """Has that owner's process ended? Raises `errors.StoreError` when that cannot be told."""
    path = folder / f"{owner}.lock"
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise errors.StoreError(f"{path} cannot be opened ({error.strerror}): is another user sending?") from None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two that look at once do not see each other
    except BlockingIOError:
        return False
    except OSError as error:
        raise errors.StoreError(f"{path} cannot be looked at: {error}") from None
    else:
        return True
    finally:
        os.close(file)


def bury(folder: Path, owner: str) -> None:
    """Remove what a dead owner left. Only for one that had a lease: a new one has its file before it has its lock."""
    with contextlib.suppress(OSError):
        (folder / f"{owner}.lock").unlink()


def folder_of(database: Path) -> Path:
    """Where the locks of a database's senders are."""
    real = database.resolve()  # one place, however the database is called: by a link, or by a relative path
    return real.with_name(real.name + "-senders")
