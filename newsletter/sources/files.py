"""Files as sources: JSON Lines of `entries import`, and the files that a `file:` pattern names in the workspace.

A row of JSON Lines is `{"title"?, "url"?, "authors"?: [...], "summary", "published"?, "id"?}`. Its summary is plain
text as it stands. A row that is wrong is named with its line, and the rest goes on.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from pathlib import Path, PurePosixPath
from typing import Any

from newsletter import errors, types
from newsletter.sources import plain, published

KEYS = ("title", "url", "authors", "summary", "published", "id")
SUFFIXES = (".jsonl", ".xml", ".rss", ".atom", ".rdf", ".json")
MOST_FILES = 1_000
Row = tuple[int, types.FoundEntry]


# -- JSON Lines ----------------------------------------------------------------------------------------------------


def read_jsonlines(data: bytes, *, now: dt.datetime) -> tuple[list[Row], list[types.BadRow]]:
    """The good rows with their lines (from 1), and the bad ones with what is wrong. Blank lines are passed over."""
    good: list[Row] = []
    bad: list[types.BadRow] = []
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            good.append((number, _row(raw, now)))
        except _Wrong as wrong:
            shown = raw.decode("utf-8", "replace") if wrong.value is None else wrong.value
            bad.append(types.BadRow(number, plain.line(shown, 80), wrong.reason))
    return good, bad


class _Wrong(Exception):
    """A row is wrong: why, and the value at fault when it is not the whole row."""

    def __init__(self, reason: str, value: object = None) -> None:
        self.reason = reason
        self.value = value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _row(raw: bytes, now: dt.datetime) -> types.FoundEntry:
    row = _object(raw)
    unknown = [key for key in row if key not in KEYS]
    if unknown:
        raise _Wrong(f"“{plain.line(unknown[0], 40)}” is no key; there is {', '.join(KEYS)}", unknown[0])
    for key in ("title", "url", "summary", "published"):
        if not isinstance(row.get(key), str | None):
            raise _Wrong(f"“{key}” must be a text", row[key])
    title = plain.line(row.get("title") or "") or None
    summary = plain.paragraphs(row.get("summary") or "")
    if not (title or summary):
        raise _Wrong("neither “summary” nor “title” says anything")
    date = _published(row.get("published") or "", now)
    return types.FoundEntry(
        summary=summary,
        title=title,
        url=_url(row.get("url") or ""),
        authors=_authors(row.get("authors")),
        published=date[0] if date else None,
        published_is_date=bool(date and date[1]),
        guid=_guid(row.get("id")),
    )


def _object(raw: bytes) -> dict[str, Any]:
    try:
        row = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _Wrong(f"not UTF-8 at octet {error.start + 1}") from None
    except RecursionError:
        raise _Wrong("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise _Wrong(f"not JSON: {error.msg.lower()} at character {error.pos + 1}") from None
    except ValueError:
        raise _Wrong("not JSON that can be read: a number in it is too long") from None
    if not isinstance(row, dict):
        raise _Wrong("not an object: a row looks like {“summary”: …}")
    return row


def _url(link: str) -> str | None:
    link = link.strip()
    if not link:
        return None
    found = plain.address(link)
    if found is None:
        raise _Wrong("“url” must be a whole web address, https://…", link)
    return found


def _authors(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | None) or not all(isinstance(name, str) for name in value or []):
        raise _Wrong("“authors” must be a list of texts", value)
    return tuple(name for name in (plain.line(name, 200) for name in value or []) if name)


def _published(text: str, now: dt.datetime) -> published.Published | None:
    """A date that cannot be read is a mistake in the row; one that cannot be believed is no date."""
    found = published.read(text)
    if text.strip() and found is None:
        raise _Wrong("“published” must be a date, like 2026-09-11 or 2026-09-11T09:00:00+01:00", text)
    return published.believed(found, now=now)


def _guid(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise _Wrong("“id” must be a text or a whole number", value)
    return plain.name(str(value)) if value is not None else None


# -- files in the workspace ----------------------------------------------------------------------------------------


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
        found = sorted(path for path in folder.glob(pattern) if path.is_file())
    except (ValueError, NotImplementedError, OSError) as error:
        raise errors.FetchError(url, f"this pattern cannot be used: {plain.line(str(error), 100)}") from None
    inside = [path for path in found if path.resolve().is_relative_to(root)]
    if found and not inside:
        raise errors.FetchError(url, "this leads out of the workspace by a symbolic link; only files in it are read")
    if not found and not re.search(r"[*?\[]", pattern):
        raise errors.FetchError(url, f"there is no file {pattern} in the workspace")
    if len(inside) > MOST_FILES:
        raise errors.FetchError(url, f"this names {len(inside)} files; at most {MOST_FILES} are read at a time")
    return inside


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
