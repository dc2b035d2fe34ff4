"""A row that somebody wrote by hand or by program -> an entry: of JSON Lines and of CSV. Pure.

`{"title"?, "url"?, "authors"?: [...], "summary", "published"?, "id"?, "doi"?}`: texts stand as they are, as plain text.
A row that is wrong is named with its line, and the rest goes on. A row needs no link: it is an entry without one.

    title,url,authors,summary,published,id,doi    the header of a CSV file, in any order, some of them
    Otters,https://site.test/a,Ann Lee; Bo Li,Text of it.,2026-09-11,17
"""

from __future__ import annotations

import csv
import datetime as dt
import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from newsletter import errors, types
from newsletter.sources import plain, published

KEYS = ("title", "url", "authors", "summary", "published", "id", "doi")
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
    separator = max(",;\t", key=text.partition("\n")[0].count)
    lines = csv.reader(text.replace("\x00", "").splitlines(keepends=True), delimiter=separator)
    try:
        header = [cell.strip().lower() for cell in next(lines, [])]
        unknown = [name for name in header if name not in KEYS]
        if unknown or not {"title", "summary"} & set(header) or len(set(header)) < len(header):
            what = f"“{plain.line(unknown[0], 40)}” is no column" if unknown else "its first line names no good columns"
            raise errors.FeedError(f"{what}; there is {', '.join(KEYS)}")
        return _sorted(_cells(lines, header, now))
    except csv.Error as error:
        raise errors.FeedError(f"broken CSV at line {lines.line_num}: {error}") from None


def entry(row: Mapping[str, Any], now: dt.datetime) -> types.FoundEntry:
    """The entry of a row. Raises `Wrong`."""
    unknown = [key for key in row if key not in KEYS]
    if unknown:
        raise Wrong(f"“{plain.line(unknown[0], 40)}” is no key; there is {', '.join(KEYS)}", unknown[0])
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


def _cells(
    lines: Any, header: list[str], now: dt.datetime
) -> Iterator[tuple[int, str, Callable[[], types.FoundEntry]]]:
    last = lines.line_num
    for cells in lines:
        first, last = last + 1, lines.line_num
        if any(cell.strip() for cell in cells):
            yield first, ", ".join(cells), functools.partial(_of_cells, cells, header, now)


def _of_line(raw: bytes, now: dt.datetime) -> types.FoundEntry:
    return entry(_object(raw), now)


def _of_cells(cells: list[str], header: list[str], now: dt.datetime) -> types.FoundEntry:
    if len(cells) > len(header):
        raise Wrong(f"{len(cells)} cells under {len(header)} columns: is there a comma outside quotes?")
    row: dict[str, Any] = {name: cell.strip() for name, cell in zip(header, cells, strict=False) if cell.strip()}
    if "authors" in row:
        row["authors"] = row["authors"].split(";")
    return entry(row, now)


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
    found = published.read(text)
    if text.strip() and found is None:
        raise Wrong("“published” must be a date, like 2026-09-11 or 2026-09-11T09:00:00+01:00", text)
    return published.believed(found, now=now)


def _guid(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise Wrong("“id” must be a text or a whole number", value)
    return plain.name(str(value)) if value is not None else None
