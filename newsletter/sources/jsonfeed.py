"""JSON Feed 1.0 and 1.1 (jsonfeed.org) -> entries. Pure."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from newsletter import errors, types
from newsletter.sources import boilerplate, bylines, plain, published

VERSION = "jsonfeed.org/version/1"
MOST_ENTRIES = 20_000


def looks_like_json(body: bytes) -> bool:
    """Does a document begin as a JSON object or list? No XML or HTML does."""
    return body.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def parse(body: bytes, *, url: str, now: dt.datetime) -> tuple[str | None, tuple[types.FoundEntry, ...]]:
    """The feed's title and its entries. Raises `errors.FeedError` saying what the document is instead."""
    feed = _read(body)
    items = feed.get("items", [])
    if not isinstance(items, list):
        raise errors.FeedError('a JSON Feed whose "items" is no list')
    if len(items) > MOST_ENTRIES:
        raise errors.FeedError(f"it holds over {MOST_ENTRIES:,} entries, more than any feed that is meant to be read")
    base = _text(feed.get("feed_url")) or url
    authors = _authors(feed)
    found = (_entry(item, plain.address(base, url) or url, authors, now) for item in items if isinstance(item, dict))
    return plain.line(_text(feed.get("title"))) or None, tuple(entry for entry in found if entry)


def _read(body: bytes) -> dict[str, Any]:
    try:
        feed = json.loads(body.removeprefix(b"\xef\xbb\xbf"))
    except UnicodeDecodeError:
        raise errors.FeedError("JSON that is not UTF-8") from None
    except RecursionError:
        raise errors.FeedError("JSON nested too deeply to be a JSON Feed") from None
    except ValueError as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise errors.FeedError(f"broken JSON{where}: it may have been cut off") from None
    if not isinstance(feed, dict):
        raise errors.FeedError("JSON that is no JSON Feed: it is a list, not an object")
    version = feed.get("version")
    if not isinstance(version, str) or VERSION not in version:
        said = f"its version is {plain.line(str(version), 60)!r}" if version is not None else "it has no version"
        keys = ", ".join(plain.line(key, 30) for key in list(feed)[:5]) or "nothing"
        raise errors.FeedError(f"JSON that is no JSON Feed: {said}; it holds {keys}")
    return feed


def _entry(item: dict[str, Any], base: str, feed_authors: tuple[str, ...], now: dt.datetime) -> types.FoundEntry | None:
    guid = _text(item.get("id"))
    title = plain.unescaped(plain.line(_text(item.get("title")))) or None
    links = (plain.address(_text(item.get(key)), base) for key in ("url", "external_url"))
    # An id is best the item's own address (JSON Feed 1.1, items).
    url = next((link for link in links if link), None) or plain.address(guid if "://" in guid else "")
    summary = (
        plain.paragraphs(_text(item.get("summary")))
        or plain.paragraphs(_text(item.get("content_text")))
        or plain.from_html(_text(item.get("content_html")))
    )
    summary = boilerplate.without(plain.unescaped(summary), title or "")
    if not (title or url or summary):
        return None
    dates = (_text(item.get(key)) for key in ("date_published", "date_modified"))
    date = next((parsed for text in dates if (parsed := published.parse(text, now=now))), None)
    tags = item.get("tags")
    return types.FoundEntry(
        summary=summary,
        title=title,
        url=url,
        authors=_authors(item) or feed_authors,
        published=date[0] if date else None,
        published_is_date=bool(date and date[1]),
        guid=plain.name(guid),
        categories=plain.categories(_text(tag) for tag in (tags if isinstance(tags, list) else [])),
    )


def _authors(owner: dict[str, Any]) -> tuple[str, ...]:
    """1.1 has a list, 1.0 one author."""
    many = owner.get("authors")
    found = many if isinstance(many, list) and many else [owner.get("author")]
    return bylines.listed([_text(author.get("name")) for author in found if isinstance(author, dict)])


def _text(value: object) -> str:
    """A text; a number (an `id` may be one) as text; anything else is nothing."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""
