"""A feed's bytes -> its title and entries: RSS 0.9x to 2.0, RDF, Atom, and JSON Feed by way of `jsonfeed`. Pure.

feedparser reads bytes (never text: it would open a URL or a file of that name) with its sanitiser off; dates, links and
text are our own layers. What is no feed raises `errors.FeedError`, which says what was found instead.
"""

from __future__ import annotations

import datetime as dt
import html.parser
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import feedparser

from newsletter import errors, types
from newsletter.sources import boilerplate, bylines, jsonfeed, octets, plain, published

Parsed = tuple[str | None, tuple[types.FoundEntry, ...]]

_FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml")
_ARXIV_SUFFIX = re.compile(r"\s*\(arXiv:[^()]*\)\s*$")
# Elements by which publishers (PRISM, Dublin Core) and arXiv's API and feeds tell a DOI and a journal; feedparser puts
# the document's own prefix before those that it does not know.
_DOIS, _A_DOI = ("doi", "_doi", "dc_identifier"), re.compile(r"\b10\.\d{4,9}/\S")
_JOURNALS, _WORDS = ("_journal_ref", "_journal_reference", "_publicationname"), re.compile(r"\w")
_TRUNCATED = re.compile(r"(?:…|\.\.\.|\[…\]|\[\.\.\.\]|read more|continue reading)\W*$", re.IGNORECASE)
_CHALLENGE = re.compile(r"just a moment|attention required|captcha|are you (?:a )?human|challenge", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_ITEM = re.compile(rb"<(?:\w{1,20}:)?(?:item|entry)[\s/>]", re.IGNORECASE)
MOST_ENTRIES, MOST_TAGS, MOST_REFERENCES = jsonfeed.MOST_ENTRIES, 500_000, 2_000_000
_ENOUGH = 120  # characters: a shorter description gives way to the full text beside it


def parse(body: bytes, *, url: str, now: dt.datetime, content_type: str = "") -> Parsed:
    """The title and entries of a feed that was found at `url`. Raises `errors.FeedError` for anything else.

    `content_type` is what its server said of it: an encoding there counts where the document tells none. Entries need
    not have a title or a link; one that has neither, nor a text, is left out.
    """
    if not body.strip(b"\x00 \t\r\n\xef\xbb\xbf"):
        raise errors.FeedError("an empty answer")
    if jsonfeed.looks_like_json(body):
        return jsonfeed.parse(body, url=url, now=now)
    _refuse_floods(body)
    # Without the feed's address: it would become a part of guids, and a feed that moves would be all new.
    repaired = octets.repaired(body, _served(content_type))
    document = feedparser.parse(repaired, sanitize_html=False, resolve_relative_uris=False)
    about = dict(document.get("feed") or {})
    if not document.get("version") and not document.get("entries") and not _is_feed_root(body):
        raise errors.FeedError(_what_it_is(body, url))
    found = (_entry(dict(item), url, now) for item in document.get("entries") or ())
    entries = tuple(entry for entry in found if entry)
    return _heading(about) or None, entries


def note(body: bytes, *, content_type: str = "") -> str | None:
    """What a person should know of how a feed was read: its encoding, where it was guessed."""
    return None if jsonfeed.looks_like_json(body) else octets.note(body, _served(content_type))


def _served(content_type: str) -> str:
    found = _CHARSET.search(content_type)
    return found[1] if found else ""


def _refuse_floods(body: bytes) -> None:
    """feedparser takes 4 s and 100 MB for each MB of mere tags (measured): what is made of them is no feed."""
    tags, start = 0, 0
    while start >= 0:
        cdata = body.find(b"<![CDATA[", start)
        tags += body.count(b"<", start, cdata if cdata >= 0 else len(body))
        start = body.find(b"]]>", cdata) if cdata >= 0 else -1
    items = sum(1 for _ in itertools.islice(_ITEM.finditer(body), MOST_ENTRIES + 1))
    for count, most, what in (
        (items, MOST_ENTRIES, "entries"), (tags, MOST_TAGS, "tags"), (body.count(b"&"), MOST_REFERENCES, "references")
    ):  # fmt: skip
        if count > most:
            raise errors.FeedError(f"it holds over {most:,} {what}, more than any feed that is meant to be read")


# -- an entry ----------------------------------------------------------------------------------------------------


def _entry(item: dict[str, Any], url: str, now: dt.datetime) -> types.FoundEntry | None:
    guid = _get(item, "id")
    link = _link(item, guid, url)
    title = _heading(item)
    on_arxiv = "arxiv.org" in (link or guid)
    if on_arxiv:
        if "arxiv.org/api/errors" in guid:
            raise errors.FeedError(f"arXiv's answer is an error: {plain.line(_get(item, 'summary'), 200)}")
        # A replacement is a new version of a paper that was announced before: never news.
        if _get(item, "arxiv_announce_type").startswith("replace") or re.search(r"\bUPDATED\)\s*$", title):
            return None
        title = _ARXIV_SUFFIX.sub("", title)
    summary = _summary(item, title)
    if not (title or link or summary):
        return None
    date = _date(item, now)
    return types.FoundEntry(
        summary=summary,
        title=title or None,
        url=link,
        authors=bylines.authors([dict(author) for author in item.get("authors") or ()], tex=on_arxiv),
        published=date[0] if date else None,
        published_is_date=bool(date and date[1]),
        guid=plain.name(guid),
        categories=plain.categories(
            _get(dict(tag), "label") or _get(dict(tag), "term") for tag in item.get("tags") or ()
        ),
        doi=_first(item, _DOIS, _A_DOI),
        journal=_first(item, _JOURNALS, _WORDS),
    )


def _get(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""


def _first(item: Mapping[str, Any], endings: tuple[str, ...], shape: re.Pattern[str]) -> str | None:
    """The first element of such a name that looks right."""
    found = (plain.line(_get(item, key), 300) for key in item if key.endswith(endings))
    return next((text for text in found if shape.search(text)), None)


def _heading(item: Mapping[str, Any]) -> str:
    return _plain(item.get("title_detail"), one_line=True) or plain.line(_get(item, "title"))


def _plain(detail: object, *, one_line: bool = False) -> str:
    """A text construct of feedparser (`type`, `value`) as plain text."""
    if not isinstance(detail, dict):
        return ""
    value = _get(dict(detail), "value")
    if dict.get(detail, "type") == "text/plain":
        return plain.unescaped(plain.line(value) if one_line else plain.paragraphs(value))
    text = plain.from_html(value)
    if plain.is_markup(text):
        text = plain.from_html(text)
    return plain.line(plain.unescaped(text)) if one_line else plain.unescaped(text)


def _summary(item: Mapping[str, Any], title: str) -> str:
    """The description, or the full text where the description is missing, a mere link, cut off or very short."""
    detail = item.get("summary_detail")
    described = _plain(detail)
    if isinstance(detail, dict) and plain.is_one_link(_get(dict(detail), "value")) and item.get("title"):
        described = ""
    if len(described) < _ENOUGH or _TRUNCATED.search(described):
        for content in item.get("content") or ():
            if dict(content).get("type", "text/html") in ("text/plain", "text/html", "application/xhtml+xml"):
                described = max(described, _plain(content), key=len)
                break
    return boilerplate.without(described, title)


def _link(item: Mapping[str, Any], guid: str, url: str) -> str | None:
    """Where the article is: its own link, else its id where that is an address, else what it encloses."""
    links = [dict(link) for link in item.get("links") or ()]
    candidates = [
        _get(item, "feedburner_origlink"),
        _get(item, "link"),
        *(_get(link, "href") for link in links if link.get("rel") == "alternate"),
    ]
    for candidate in candidates:
        # feedparser takes any guid of RSS for a link, unless isPermaLink says no.
        found = None if candidate == guid and "/" not in guid else plain.address(candidate, url)
        if found:
            return _unwrapped(found)
    enclosed = (_get(link, "href") for link in links if link.get("rel") == "enclosure")
    return plain.address(guid if "://" in guid else "") or next(
        (found for href in enclosed if (found := plain.address(href, url))), None
    )


def _unwrapped(link: str) -> str:
    """The article behind a redirect of Google's alerts."""
    parts = urlsplit(link)
    if parts.path == "/url" and re.fullmatch(r"(?:www\.)?google\.[a-z.]+", parts.hostname or ""):
        query = parse_qs(parts.query)
        inner = (query.get("url") or query.get("q") or [""])[0]
        return plain.address(inner) or link
    return link


def _date(item: dict[str, Any], now: dt.datetime) -> published.Published | None:
    """When it was published, else made or last changed. Plain `get`: feedparser's own invents one from another."""
    for key in ("published", "created", "updated"):
        found = published.parse(_get(item, key), now=now)
        if found:
            return found
    return None


# -- what is no feed -----------------------------------------------------------------------------------------------


def _is_feed_root(body: bytes) -> bool:
    """Is its root a feed's, though nothing in it could be read?"""
    head = re.sub(rb"<\?.*?\?>|<!--.*?-->|<![^<>]*>", b"", body[:4096], flags=re.DOTALL)
    return bool(re.match(rb"\s*<(?:\w+:)?(?:rss|feed|RDF|channel)[\s>]", head))


class _Page(html.parser.HTMLParser):
    """The title of an HTML page, and the feeds that it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.feeds: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._in_title = tag == "title" and not self.title
        rels = values.get("rel", "").lower().split()
        if tag == "link" and "alternate" in rels and values.get("type", "").lower().strip() in _FEED_TYPES:
            self.feeds.append(values.get("href", ""))

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data


def _what_it_is(body: bytes, url: str) -> str:
    head = body[:200_000].decode("utf-8", "replace")
    if re.search(r"<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>]", head[:5000], re.IGNORECASE):
        page = _Page()
        page.feed(head)
        title = plain.line(page.title, 100)
        what = f"an HTML page titled “{title}”, not a feed" if title else "an HTML page without a title, not a feed"
        if re.search(
            r"just a moment|attention required|captcha|are you (?:a )?human|challenge", head[:20_000], re.IGNORECASE
        ):
            what += "; it looks like a check for robots: try again later"
        feeds = list(dict.fromkeys(_feeds(page.feeds, url)))
        return what + (f"; feeds linked from it: {', '.join(feeds[:5])}" if feeds else "")
    root = re.search(r"<([A-Za-z_][\w:.-]{0,60})", re.sub(r"<[?!][^>]*>", "", head))
    if root and head.lstrip("\ufeff \t\r\n").startswith("<"):
        return f"XML that is no feed: its root is <{root[1]}>"
    if body.startswith((b"%PDF", b"PK\x03\x04", b"\x89PNG", b"GIF8", b"\xff\xd8")) or "\x00" in head[:1000]:
        return "a binary file, not a feed"
    return f"no feed; it begins with “{plain.line(head, 60)}”"


def _feeds(hrefs: list[str], url: str) -> Iterator[str]:
    for href in hrefs:
        found = plain.address(href, url)
        if found:
            yield plain.shorten(found, 150)
