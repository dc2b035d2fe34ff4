"""The files that a `file:` pattern names in the workspace: JSON Lines, CSV, Markdown, and feeds."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from pathlib import Path, PurePosixPath
from typing import Protocol

from newsletter import errors
from newsletter.sources import note, plain, rows

FEEDS = (".xml", ".rss", ".atom", ".rdf", ".json")
SUFFIXES = (".jsonl", ".csv", ".md", *FEEDS)
MOST_FILES = 1_000
PEOPLE = "subscribers"  # the folder of people's data: never a source


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
    root = folder.resolve()
    try:
        named = sorted(folder.glob(pattern))
        found = [path for path in named if path.is_file()]
    except (ValueError, NotImplementedError, OSError) as error:
        raise errors.FetchError(url, f"this pattern cannot be used: {plain.line(str(error), 100)}") from None
    inside = [path for path in found if path.resolve().is_relative_to(root)]
    if found and not inside:
        raise errors.FetchError(url, "this leads out of the workspace by a symbolic link; only files in it are read")
    inside = [path for path in inside if not path.resolve().is_relative_to(root / PEOPLE)]
    if found and not inside:
        raise errors.FetchError(url, f"this names files of {PEOPLE}/: people are no entries")
    if not found and not re.search(r"[*?\[]", pattern):
        raise errors.FetchError(url, _what_is_there(pattern, named))
    if len(inside) > MOST_FILES:
        raise errors.FetchError(url, f"this names {len(inside)} files; at most {MOST_FILES} are read at a time")
    return inside


def left_out(pattern: str, folder: Path) -> list[str]:
    """What a pattern with wildcards matches though it is not read, and why; a line each."""
    if not re.search(r"[*?\[]", pattern):
        return []
    root = folder.resolve()
    found = []
    for path in sorted(folder.glob(pattern)):
        real, name = path.resolve(), path.relative_to(folder).as_posix()
        if not real.is_relative_to(root):
            found.append(f"{name} is left out: it leads out of the workspace by a symbolic link")
        elif real.is_relative_to(root / PEOPLE):
            found.append(f"{name} is left out: people are no entries")
        elif path.is_dir():
            found.append(f"{name} is left out: it is a folder")
        elif not path.is_file():
            what = "a symbolic link to nothing" if path.is_symlink() else "no regular file (a pipe, a device)"
            found.append(f"{name} is left out: it is {what}")
    return found


def _what_is_there(pattern: str, named: list[Path]) -> str:
    if not named:
        return f"there is no file {pattern} in the workspace"
    if named[0].is_dir():
        return f"{pattern} is a folder; name the files in it, like file:{pattern.rstrip('/')}/*.jsonl"
    return f"{pattern} is no regular file: nothing that waits for a program (a pipe, a device) is read"


def stamp(paths: list[Path]) -> str:
    """A validator for files: it changes when one comes, goes, or is written."""
    state = [(str(path), stat.st_size, stat.st_mtime_ns) for path in paths for stat in [path.stat()]]
    return f"files:{hashlib.sha256(repr(state).encode()).hexdigest()}"


def read(path: Path, most: int) -> bytes:
    """A file's octets, at most `most`. Raises `errors.FeedError` for another kind, or a larger one."""
    if path.suffix.lower() not in SUFFIXES:
        raise errors.FeedError(f"a kind of file that is not read; there is {', '.join(SUFFIXES)}")
    with path.open("rb") as file:
        body = file.read(most + 1)
    if len(body) > most:
        raise errors.FeedError(f"larger than {most / 1e6:g} MB (max_bytes in [collect])")
    return body
