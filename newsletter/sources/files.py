"""The files that a `file:` pattern names in the workspace: JSON Lines, CSV, Markdown, and feeds."""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import os
import re
import stat
from pathlib import Path, PurePosixPath
from typing import Protocol

from newsletter import errors
from newsletter.sources import note, plain, rows

FEEDS = (".xml", ".rss", ".atom", ".rdf", ".json")
SUFFIXES = (".jsonl", ".csv", ".md", *FEEDS)
MOST_FILES = 1_000
PEOPLE = "subscribers"  # the folder of people's data: never a source
_WILDCARD = re.compile(r"[*?\[]")
_FOLDER, _SPECIAL = "it is a folder", "it is no regular file (a pipe, a device)"
_BROKEN = {
    errno.ENOENT: "it is a symbolic link to nothing",
    errno.ELOOP: "it is a symbolic link that leads round in a circle",
}


class Reader(Protocol):
    """Reads one kind of file; `name` is the file's path in the workspace."""

    def __call__(self, body: bytes, *, name: str, now: dt.datetime) -> rows.Rows:
        """The good rows and the bad ones. Raises `errors.FeedError` when there are none at all."""


def reader(path: Path) -> Reader | None:
    """What reads a file of that kind; None for a feed."""
    return _READERS.get(path.suffix.lower())


def _jsonlines(body: bytes, *, name: str, now: dt.datetime) -> rows.Rows:
    return rows.read_jsonlines(body, now=now)


def _csv(body: bytes, *, name: str, now: dt.datetime) -> rows.Rows:
    return rows.read_csv(body, now=now)


_READERS: dict[str, Reader] = {".jsonl": _jsonlines, ".csv": _csv, ".md": note.read}


def find(pattern: str, folder: Path) -> list[Path]:
    """The files that a pattern names, sorted; only regular files whose real place is inside `folder`.

    Raises `errors.FetchError` for a pattern that leads out of the workspace or cannot be understood.
    """
    url = f"file:{pattern}"
    parts = PurePosixPath(pattern).parts
    if not parts or pattern.startswith(("/", "~")) or ".." in parts or "\x00" in pattern:
        raise errors.FetchError(url, "a file: source is a path inside the workspace, like file:inbox/*.jsonl")
    root = _real(folder)
    named = _named(pattern, folder)
    found = [path for path in named if _is_file(path)]
    inside = [path for path in found if _real(path).is_relative_to(root)]
    if found and not inside:
        raise errors.FetchError(url, "this leads out of the workspace by a symbolic link; only files in it are read")
    inside = [path for path in inside if not _real(path).is_relative_to(root / PEOPLE)]
    if found and not inside:
        raise errors.FetchError(url, f"this names files of {PEOPLE}/: people are no entries")
    if not found and not _WILDCARD.search(pattern):
        raise errors.FetchError(url, _what_is_there(pattern, named[0] if named else folder / pattern))
    if len(inside) > MOST_FILES:
        raise errors.FetchError(url, f"this names {len(inside)} files; at most {MOST_FILES} are read at a time")
    return inside


def left_out(pattern: str, folder: Path) -> list[str]:
    """What a pattern with wildcards matches though it is not read, and why; a line each."""
    if not _WILDCARD.search(pattern):
        return []
    root = _real(folder)
    whys = ((path.relative_to(folder).as_posix(), _why_left_out(path, root)) for path in _named(pattern, folder))
    return [f"{name} is left out: {why}" for name, why in whys if why]


def _why_left_out(path: Path, root: Path) -> str | None:
    real = _real(path)
    if not real.is_relative_to(root):
        return "it leads out of the workspace by a symbolic link"
    if real.is_relative_to(root / PEOPLE):
        return "people are no entries"
    return _no_file(path)


def _no_file(path: Path) -> str | None:
    """Why it is no file that can be read; None of one that is."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if path.is_symlink():
            return _BROKEN.get(error.errno or 0, f"it is a symbolic link that cannot be followed ({error.strerror})")
        return f"it cannot be looked at ({error.strerror})"
    if stat.S_ISDIR(mode):
        return _FOLDER
    return None if stat.S_ISREG(mode) else _SPECIAL


def _named(pattern: str, folder: Path) -> list[Path]:
    """What a pattern matches, sorted. Raises `errors.FetchError`."""
    try:
        return sorted(folder.glob(pattern))
    except (ValueError, NotImplementedError, OSError) as error:
        what = f"this pattern cannot be used: {plain.line(str(error), 100)}"
        raise errors.FetchError(f"file:{pattern}", what) from None


def _real(path: Path) -> Path:
    """Where a path leads in the end. `Path.resolve` raises at links that lead round in a circle (until Python 3.13)."""
    return Path(os.path.realpath(path))


def _is_file(path: Path) -> bool:
    """Is it a file that we may look at? `Path.is_file` raises where a link leads into a folder that is not ours."""
    return _no_file(path) is None


def _what_is_there(pattern: str, path: Path) -> str:
    why = _no_file(path)
    if not os.path.lexists(path):  # a link that leads nowhere is there, though `glob` leaves it out
        return f"there is no file {pattern} in the workspace"
    if why == _FOLDER:
        return f"{pattern} is a folder; name the files in it, like file:{pattern.rstrip('/')}/*.jsonl"
    if why == _SPECIAL:
        return f"{pattern} is no regular file: nothing that waits for a program (a pipe, a device) is read"
    return f"{pattern} cannot be read: {why}"


def stamp(paths: list[Path]) -> str:
    """A validator for files: it changes when one comes, goes, or is written."""
    state = [(str(path), *_written(path)) for path in paths]
    return f"files:{hashlib.sha256(repr(state).encode()).hexdigest()}"


def _written(path: Path) -> tuple[int, int]:
    """Size and time; of a file that went away since it was named, none."""
    try:
        found = path.stat()
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns


def read(path: Path, most: int) -> bytes:
    """A file's octets, at most `most`. Raises `errors.FeedError` for another kind, or a larger one."""
    if path.suffix.lower() not in SUFFIXES:
        raise errors.FeedError(f"a kind of file that is not read; there is {', '.join(SUFFIXES)}")
    with path.open("rb") as file:
        body = file.read(most + 1)
    if len(body) > most:
        raise errors.FeedError(f"larger than {most / 1e6:g} MB (max_bytes in [collect])")
    return body
