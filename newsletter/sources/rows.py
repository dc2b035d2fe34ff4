"""A row that somebody wrote by hand or by program -> an entry: of JSON Lines and of CSV. Pure.

`{"title"?, "url"?, "authors"?: [...], "summary", "published"?, "id"?, "doi"?}`: texts stand as they are, as plain text.
A row that is wrong is named with its line, and the rest goes on. A row needs no link: it is an entry without one.

    title,url,authors,summary,published,id,doi    the header of a CSV file, in any order, some of them
    Otters,https://site.test/a,Ann Lee; Bo Li,Text of it.,2026-09-11,17

Other programs' names of those columns are known (`COLUMNS`); JSON Lines are written for us, and have ours.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import functools
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from newsletter import errors, types
from newsletter.sources import plain, published

KEYS = ("title", "url", "authors", "summary", "published", "id", "doi")
# What columns are called, small and without spaces, "_" and "-"; of two that mean the same the one that stands first
# here counts, where it is filled in.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "title": ("title", "headline", "name"),
    "url": ("url", "link", "href", "permalink"),
    "authors": ("authors", "author", "creators", "creator", "byline"),
    "summary": ("summary", "description", "abstract", "content", "text"),
    "published": (
        "published", "date", "pubdate", "created", "publishedat", "datepublished", "publicationdate", "createdat",
    ),
    "id": ("id", "guid", "key"),
    "doi": ("doi",),
}  # fmt: skip
_SYNONYMS = {name: (key, rank) for key, names in COLUMNS.items() for rank, name in enumerate(names)}
MOST_NAMED = 10
_UNCLOSED = "a quote is opened and not closed; a quote inside a text is written twice"
_DOI = re.compile(r"(?:doi:\s?|https?://(?:dx\.)?doi\.org/)?10\.\d{4,9}/\S+", re.IGNORECASE)
Row = tuple[int, types.FoundEntry]
Rows = tuple[list[Row], list[types.BadRow]]


class Wrong(Exception):
    """A row is wrong: why, and the value at fault when it is not the whole row."""

    def __init__(self, reason: str, value: object = None) -> None:
        self.reason = reason
        self.value = value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_jsonlines(data: bytes, *, now: dt.datetime) -> Rows:
    """The good rows with their lines (from 1), and the bad ones with what is wrong. Blank lines are passed over."""
    lines = enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
    return _sorted(
        (number, raw.decode("utf-8", "replace"), functools.partial(_of_line, raw, now))
        for number, raw in lines
        if raw.strip()
    )


def read_csv(data: bytes, *, now: dt.datetime) -> Rows:
    """As `read_jsonlines`, with semicolons between authors. Raises `errors.FeedError` without a good header."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.FeedError(f"not UTF-8 at octet {error.start + 1}; save the file as UTF-8") from None
    lines = _Lines(text.replace("\x00", ""))
    first = lines.next() or ""
    table = _Table(max(",;\t", key=first.count), ())
    header = _cells(first, lines, table)
    if isinstance(header, str):
        raise errors.FeedError(f"broken CSV at line 1: {header}")
    return _sorted(_rows(lines, dataclasses.replace(table, columns=_columns(header)), now))


def _columns(header: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """What each column holds, and its rank among those that hold the same."""
    names = [re.sub(r"[\s_-]+", "", cell.lower()) for cell in header]
    unknown = [cell.strip() for cell, name in zip(header, names, strict=True) if name not in _SYNONYMS]
    there = f"there is {', '.join(KEYS)}"
    if unknown:
        what = "is no column" if len(unknown) == 1 else "are no columns"
        raise errors.FeedError(f"{_named(unknown)} {what}; {there}")
    columns = tuple(_SYNONYMS[name] for name in names)
    if not {"title", "summary"} & {key for key, _ in columns} or len(set(columns)) < len(columns):
        raise errors.FeedError(f"its first line names no good columns; {there}")
    return columns


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(f"“{plain.line(name, 40)}”" for name in names[:MOST_NAMED]) + more


def entry(row: Mapping[str, Any], now: dt.datetime) -> types.FoundEntry:
    """The entry of a row. Raises `Wrong`."""
    unknown = [key for key in row if key not in KEYS]
    if unknown:
        what = "is no key" if len(unknown) == 1 else "are no keys"
        raise Wrong(f"{_named(unknown)} {what}; there is {', '.join(KEYS)}", unknown[0])
    for key in ("title", "url", "summary", "published", "doi"):
        if not isinstance(row.get(key), str | None):
            raise Wrong(f"“{key}” must be a text", row[key])
    title = plain.line(row.get("title") or "") or None
    summary = plain.paragraphs(row.get("summary") or "")
    if not (title or summary):
        raise Wrong("neither “summary” nor “title” says anything")
    date = _published(row.get("published") or "", now)
    return types.FoundEntry(
        summary=summary,
        title=title,
        url=_url(row.get("url") or ""),
        authors=_authors(row.get("authors")),
        published=date[0] if date else None,
        published_is_date=bool(date and date[1]),
        guid=_guid(row.get("id")),
        doi=_doi(row.get("doi") or ""),
    )


def _sorted(rows: Iterator[tuple[int, str, Callable[[], types.FoundEntry]]]) -> Rows:
    good: list[Row] = []
    bad: list[types.BadRow] = []
    for number, shown, read in rows:
        try:
            good.append((number, read()))
        except Wrong as wrong:
            value = shown if wrong.value is None else wrong.value
            bad.append(types.BadRow(number, plain.line(value, 80), wrong.reason))
    return good, bad


def _of_line(raw: bytes, now: dt.datetime) -> types.FoundEntry:
    return entry(_object(raw), now)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        row = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Wrong(f"not UTF-8 at octet {error.start + 1}") from None
    except RecursionError:
        raise Wrong("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Wrong(f"not JSON: {error.msg.lower()} at character {error.pos + 1}") from None
    except ValueError:
        raise Wrong("not JSON that can be read: a number in it is too long") from None
    if not isinstance(row, dict):
        raise Wrong("not an object: a row looks like {“summary”: …}")
    return row


def _url(link: str) -> str | None:
    link = link.strip()
    if not link:
        return None
    found = plain.address(link)
    if found is None:
        raise Wrong("“url” must be a whole web address, https://…", link)
    return found


def _doi(text: str) -> str | None:
    text = plain.line(text)
    if text and not _DOI.fullmatch(text):
        raise Wrong("“doi” must be a DOI, like 10.1000/182", text)
    return text or None


def _authors(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | None) or not all(isinstance(name, str) for name in value or []):
        raise Wrong("“authors” must be a list of texts", value)
    return tuple(name for name in (plain.line(name, 200) for name in value or []) if name)


def _published(text: str, now: dt.datetime) -> published.Published | None:
    """A date that cannot be read is a mistake in the row; one that cannot be believed is no date."""
    found = published.read(text, now=now)
    if text.strip() and found is None:
        raise Wrong("“published” must be a date, like 2026-09-11 or 2026-09-11T09:00:00+01:00", text)
    return published.believed(found, now=now)


def _guid(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise Wrong("“id” must be a text or a whole number", value)
    return plain.name(str(value)) if value is not None else None


# -- CSV -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class _Table:
    """How a line becomes cells, and what they hold; no columns: it is the header."""

    separator: str
    columns: tuple[tuple[str, int], ...]


class _Lines:
    """The lines of a text with their numbers; lines may be put back."""

    def __init__(self, text: str) -> None:
        self._lines = list(io.StringIO(text, newline=""))  # of the ends that CSV knows, which stay as they are
        self.number = 0  # of the line that was given last

    def next(self) -> str | None:
        """The next line with its end, None after the last."""
        if self.number >= len(self._lines):
            return None
        self.number += 1
        return self._lines[self.number - 1]

    def put_back(self, many: int) -> None:
        """So many lines come again."""
        self.number -= many


def _rows(lines: _Lines, table: _Table, now: dt.datetime) -> Iterator[tuple[int, str, Callable[[], types.FoundEntry]]]:
    while (line := lines.next()) is not None:
        number = lines.number
        cells = _cells(line, lines, table)
        if isinstance(cells, str):
            yield number, line, functools.partial(_refuse, cells)
        elif any(cell.strip() for cell in cells):
            yield number, ", ".join(cells), functools.partial(_of_cells, cells, table, now)


def _cells(first: str, lines: _Lines, table: _Table) -> list[str] | str:
    """The cells of a line and, while a quote is open, of those after it; else what is wrong, and one line is used.

    A quote is also never closed when what closes it stands inside a cell, or when a line that it would swallow is a
    whole row. Each line is looked at twice at most: one that opens a quote would close the one before.
    """
    taken = [first]

    def feed() -> Iterator[str]:
        yield first
        while (line := lines.next()) is not None:
            taken.append(line)
            yield line

    try:
        if '"' not in first or not _is_open(first, table.separator):
            return next(csv.reader([first], delimiter=table.separator), [])
        cells = next(csv.reader(feed(), delimiter=table.separator, strict=True))
    except csv.Error as error:
        lines.put_back(len(taken) - 1)
        return str(error) if "limit" in str(error) and len(taken) == 1 else _UNCLOSED
    if any(_is_row(line, table) for line in taken[1:]):
        lines.put_back(len(taken) - 1)
        return _UNCLOSED
    return cells


def _is_open(line: str, separator: str) -> bool:
    """Does a quote stay open at its end? Then a reader asks for more."""
    asked = False

    def feed() -> Iterator[str]:
        nonlocal asked
        yield line
        asked = True

    next(csv.reader(feed(), delimiter=separator), None)
    return asked


def _is_row(line: str, table: _Table) -> bool:
    """Would this line, seen alone, be a row for sure? Its cells are as many, and its address or date can be read."""
    try:
        cells = next(csv.reader([line], delimiter=table.separator, strict=True), [])
    except csv.Error:
        return False
    if len(cells) != len(table.columns) or len(cells) < 2:
        return False
    told = [(key, cell) for (key, _), cell in zip(table.columns, cells, strict=False) if cell.strip()]
    sure = [bool(_SURE[key](cell)) for key, cell in told if key in _SURE]
    return bool(sure) and all(sure)


_SURE: Mapping[str, Callable[[str], object]] = {"url": plain.address, "published": published.read}


def _refuse(why: str) -> types.FoundEntry:
    raise Wrong(why)


def _of_cells(cells: list[str], table: _Table, now: dt.datetime) -> types.FoundEntry:
    if len(cells) > len(table.columns):
        raise Wrong(f"{len(cells)} cells under {len(table.columns)} columns: is there a comma outside quotes?")
    filled = ((column, cell.strip()) for column, cell in zip(table.columns, cells, strict=False) if cell.strip())
    row: dict[str, Any] = {}
    for (key, _), cell in sorted(filled, key=lambda each: each[0][1]):
        row.setdefault(key, cell)
    if "authors" in row:
        row["authors"] = row["authors"].split(";")
    return entry(row, now)
