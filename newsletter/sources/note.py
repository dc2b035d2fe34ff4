"""A Markdown file -> one entry: what its front matter says, else its first heading and its first paragraph. Pure.

    +++                                      ---
    title = "Otters"                         title: Otters
    url = "https://site.test/a"        or    url: https://site.test/a
    published = 2026-09-11                   date: 2026-09-11
    +++                                      ---

Front matter is TOML, or `key: value` lines of YAML's simplest kind. Other keys than those of a row are passed over:
other programs write them.
"""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from typing import Any

from newsletter import errors, types
from newsletter.sources import plain, rows

_FRONT = re.compile(r"(\+\+\+|---)[ \t]*\n(.*?\n)??\1[ \t]*(?:\n|\Z)", re.DOTALL)
_PAIR = re.compile(r"([A-Za-z_]\w*)\s*:(?:\s+(.*))?")
_NAMES = {
    "link": "url", "date": "published", "author": "authors", "description": "summary", "abstract": "summary",
    "guid": "id",
}  # fmt: skip
_HEADING = re.compile(r"(?m)^ {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*$")
_LONGEST = 20_000  # characters of a paragraph: what follows is cut anyhow
_MARKS = (
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), ""),  # an image
    (re.compile(r"\[([^\]]*)\]\((?:[^()]|\([^()]*\))*\)"), r"\1"),  # a link
    (re.compile(r"<(https?://[^<>\s]*)>"), r"\1"),
    (re.compile(r"(\*\*|__|~~|`+)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<![\w*])[*_](?=\S)([^*_]+?)(?<=\S)[*_](?![\w*])"), r"\1"),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)


def read(body: bytes, *, name: str, now: dt.datetime) -> rows.Rows:
    """The file's entry, which is known by the file's `name` unless it has an id. Raises `errors.FeedError`."""
    try:
        text = body.decode("utf-8-sig").replace("\r\n", "\n").lstrip("\n")
    except UnicodeDecodeError as error:
        raise errors.FeedError(f"not UTF-8 at octet {error.start + 1}; save the file as UTF-8") from None
    front = _FRONT.match(text)
    said = _front(front[1], front[2] or "") if front else {}
    rest = text[front.end() :] if front else text
    heading = _HEADING.search(rest)
    if "title" not in said and heading:
        said["title"] = _unmarked(heading[2])
    if "summary" not in said:
        said["summary"] = _paragraph(rest[heading.end() :] if heading else rest)
    said.setdefault("id", name)
    try:
        return [(1, rows.entry(said, now))], []
    except rows.Wrong as wrong:
        return [], [types.BadRow(1, plain.line(str(wrong.value or name), 80), wrong.reason)]


def _front(mark: str, text: str) -> dict[str, Any]:
    """The keys of a row that front matter has."""
    found: dict[str, Any]
    if mark == "+++":
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise errors.FeedError(f"its front matter is no TOML: {error}") from None
    else:
        pairs = (_PAIR.fullmatch(line.rstrip()) for line in text.split("\n"))
        found = {pair[1]: _scalar(pair[2] or "") for pair in pairs if pair}
    said: dict[str, Any] = {}
    for key, value in found.items():
        known = _NAMES.get(key.lower(), key.lower())
        if known in rows.KEYS and value not in ("", [], None):
            said.setdefault(known, _value(known, value))
    return said


def _scalar(text: str) -> str | list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [part.strip().strip("'\"") for part in text[1:-1].split(",") if part.strip()]
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _value(key: str, value: Any) -> Any:
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    return value.split(";") if key == "authors" and isinstance(value, str) else value


def _paragraph(text: str) -> str:
    """The first paragraph that is none of headings, lists, quotes, tables, rules, code or HTML."""
    text = re.sub(r"(?ms)^ {0,3}(```+|~~~+).*?^ {0,3}\1.*?$", "", text)
    for part in re.split(r"\n[ \t]*\n", text):
        if part.strip() and not re.match(
            r" {0,3}(?:#{1,6}\s|[-*+]\s|\d+[.)]\s|>|\||<|(?:[-*_]\s*){3,}$)", part.strip("\n")
        ):
            found = _unmarked(part)
            if found:
                return found
    return ""


def _unmarked(text: str) -> str:
    """Markdown's text without its marks."""
    text = text[:_LONGEST]
    for pattern, kept in _MARKS:
        text = pattern.sub(kept, text)
    return " ".join(text.split())
