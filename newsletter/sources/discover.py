"""From the address of a page to its feeds; and one look at a source: what does it give, and what is wrong with it?

    address -> the page is a feed itself
            -> feeds that its site is known for (YouTube, GitHub)
            -> <link rel="alternate"> and links that look like feeds
            -> well-known paths

Each candidate is asked and read before it is offered; the page itself is asked once. Nothing is stored.
"""

from __future__ import annotations

import asyncio
import codecs
import collections
import dataclasses
import datetime as dt
import functools
import html.parser
import http
import itertools
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from urllib.parse import parse_qs, urlsplit
from xml.parsers import expat

from newsletter import config, errors, types
from newsletter.sources import feed, fetch, jsonfeed, manners, plain

WELL_KNOWN = ("/feed", "/rss", "/atom.xml", "/feed.xml", "/index.xml", "/rss.xml")
MOST_CANDIDATES = 10  # of a page that are asked
_LONGEST_PAGE = 1_000_000  # characters that are looked through for links
_FEED_TYPE = re.compile(r"application/(?:rss|atom|rdf)\+xml|application/feed\+json|text/(?:rss\+)?xml", re.IGNORECASE)
_FEED_LINK = re.compile(r"(?:^|[/._-])(?:feeds?|rss|atom)(?:[/._-]?(?:xml|json|rss|atom|rdf))?/?$|\.(?:rss|atom|rdf)$")
_CHANNEL = re.compile(r"https?://www\.youtube\.com/channel/(UC[\w-]{22})")
# Server answers after which another path of the same host is still worth a try.
_NOT_HERE = frozenset({http.HTTPStatus.NOT_FOUND, http.HTTPStatus.GONE, http.HTTPStatus.NOT_ACCEPTABLE})


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """What a source gives just now. `url` is where the answer came from; `notes` are troubles that cost no entry."""

    asked: str
    url: str
    title: str | None = None
    entries: tuple[types.FoundEntry, ...] = ()
    moved_to: str | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Discovered:
    """The feeds of a page, and the candidates that were none, with the reason. `missing`: why there is no such page."""

    feeds: tuple[Seen, ...]
    failed: tuple[Seen, ...]
    missing: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Visitor:
    """How the world is asked: the settings' limits, our name, the time, and the manners at hosts."""

    limits: config.Collect
    user_agent: str
    now: dt.datetime
    house: manners.Manners

    async def see(self, url: str, read: Callable[[types.Fetched], Seen]) -> Seen:
        """What `read` makes of a page. Raises `errors.FetchError` and `errors.FeedError`."""
        async with self.house.visit() as guest:
            try:
                fetched = await fetch.fetch(url, self.limits, user_agent=self.user_agent, now=self.now, guest=guest)
            except manners.Paused as pause:
                raise errors.FetchError(url, f"its host asked for a pause of {pause.seconds:.0f} s") from None
            return await asyncio.to_thread(read, fetched)


# -- one look ------------------------------------------------------------------------------------------------------


async def look(urls: Sequence[str], visitor: Visitor) -> AsyncGenerator[Seen, None]:
    """What each web address gives, as it is ready; a host is asked one at a time. A fault is in `error`."""

    async def one(url: str) -> Seen:
        try:
            return await visitor.see(url, lambda fetched: _read(url, fetched, visitor.now))
        except (errors.FetchError, errors.FeedError) as error:
            return Seen(url, url, error=str(error))

    tasks = [asyncio.create_task(one(url)) for url in urls]
    try:
        for done in asyncio.as_completed(tasks):
            yield await done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _host(url: str) -> str:
    return urlsplit(url).hostname or url


def _read(asked: str, fetched: types.Fetched, now: dt.datetime) -> Seen:
    body = fetched.body or b""
    title, entries = feed.parse(body, url=fetched.url, now=now, content_type=fetched.content_type)
    encoding = feed.note(body, content_type=fetched.content_type)
    notes = (*([encoding] if encoding else ()), *_faults_of_form(body, fetched.content_type), *notes_on(entries))
    return Seen(asked, fetched.url, title, entries, fetched.moved_to, notes)


def notes_on(entries: Sequence[types.FoundEntry]) -> Iterator[str]:
    """What is odd about the entries of a source."""
    many = len(entries)
    if not many:
        yield "it is a feed, but there is nothing in it"
        return
    if undated := sum(entry.published is None for entry in entries):
        yield f"{undated} of {many} have no date that can be believed"
    if unlinked := sum(entry.url is None for entry in entries):
        yield f"{unlinked} of {many} have no link"
    guids = collections.Counter(entry.guid for entry in entries if entry.guid)
    if repeated := sum(count for count in guids.values() if count > 1):
        yield f"{repeated} of {many} share an id with another"
    if any("\ufffd" in f"{entry.title}{entry.summary}" for entry in entries):
        yield "characters are lost in it (�): its encoding is not what it says"


def _faults_of_form(body: bytes, content_type: str) -> Iterator[str]:
    """What a strict reader would refuse: the type, the encoding, the XML."""
    kind, _, rest = content_type.partition(";")
    kind = kind.strip().lower()
    if kind and not re.search(r"xml|rss|atom|json|rdf", kind):
        yield f"it is served as {plain.line(kind, 40)}, which is no type of a feed"
    if jsonfeed.looks_like_json(body):
        return
    served = re.search(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", rest, re.IGNORECASE)
    declared = re.match(rb"""\s*<\?xml[^>]*\bencoding\s*=\s*["']([\w.-]{1,40})["']""", body)
    written = declared[1].decode() if declared else ""
    if served and written and _codec(served[1]) != _codec(written):
        yield f"the server says {served[1]}, the document {written}"
    if written and _codec(written) is None:
        yield f"it names an encoding that is not known: {written}"
    elif fault := _not_well_formed(body):
        yield f"{fault}; it is read leniently"


def _codec(name: str) -> str | None:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


class _Declared(Exception):
    """An entity is declared: from here on we do not follow."""


def _not_well_formed(body: bytes) -> str | None:
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise _Declared

    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING]:
            return None  # expat knows few; feedparser knows more
        return f"it is not well-formed XML (line {error.lineno}: {expat.errors.messages[error.code]})"
    except _Declared:
        return "it declares entities of its own, which are not read"
    except (LookupError, ValueError):
        return None  # an encoding that expat asks Python for, and that has more octets a character
    return None


# -- discovery -----------------------------------------------------------------------------------------------------


async def discover(address: str, visitor: Visitor) -> Discovered:
    """The feeds of a page. Raises `errors.FetchError` when nothing of it can be reached."""
    url = plain.address(address if re.match(r"(?i)https?://", address) else f"https://{address}")
    if url is None or re.match(r"(?i)(?!https?:)[a-z][a-z0-9+.-]*:(?!\d)", address):
        raise errors.FetchError(address, "this is no web address; https://example.org/ is")
    search = _Search(visitor)
    await search.ask(known_for(url))
    if not search.feeds:
        await search.page(url)
    return Discovered(tuple(search.feeds), tuple(search.failed), search.missing)


def known_for(url: str) -> list[str]:
    """The feeds that a site is known to have for a page, without a look at it: YouTube, GitHub."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.").removeprefix("m.")
    steps = [step for step in parts.path.split("/") if step]
    if host == "youtube.com":
        feeds = "https://www.youtube.com/feeds/videos.xml"
        query = parse_qs(parts.query)
        if query.get("list"):
            return [f"{feeds}?playlist_id={query['list'][0]}"]
        for kind, key in (("channel", "channel_id"), ("user", "user")):
            if len(steps) > 1 and steps[0] == kind:
                return [f"{feeds}?{key}={steps[1]}"]
    # https://docs.github.com/en/rest/activity/feeds names more; these need no token.
    if host == "github.com" and len(steps) > 1 and not steps[-1].endswith(".atom"):
        repository = f"https://github.com/{steps[0]}/{steps[1].removesuffix('.git')}"
        return [f"{repository}/{each}.atom" for each in ("releases", "commits", "tags")]
    return []


class _Search:
    """Asks candidates one after the other, each once, and keeps what is a feed."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.feeds: list[Seen] = []
        self.failed: list[Seen] = []
        self.missing: str | None = None
        self.asked: set[str] = set()
        self.dead: set[str] = set()  # hosts that do not answer

    async def ask(self, candidates: Iterable[str]) -> None:
        """Each candidate that was not asked yet."""
        for url in itertools.islice(dict.fromkeys(candidates), MOST_CANDIDATES):
            if url in self.asked or _host(url) in self.dead:
                continue
            self.asked.add(url)
            try:
                self._keep(await self.visitor.see(url, functools.partial(self._read, url)))
            except errors.FetchError as error:
                if error.status is None:
                    self.dead.add(_host(url))
                self.failed.append(Seen(url, url, error=str(error)))
            except errors.FeedError as error:
                self.failed.append(Seen(url, url, error=str(error)))

    def _read(self, url: str, fetched: types.Fetched) -> Seen:
        return _read(fetched.moved_to or url, fetched, self.visitor.now)

    def _keep(self, seen: Seen) -> None:
        if all(seen.url != other.url for other in self.feeds):
            self.feeds.append(seen)

    async def page(self, url: str) -> None:
        """The page itself, the feeds that it names, else the well-known paths."""
        self.asked.add(url)
        pages: list[types.Fetched] = []

        def read(fetched: types.Fetched) -> Seen:
            pages.append(fetched)
            return self._read(url, fetched)

        try:
            self._keep(await self.visitor.see(url, read))
            return
        except errors.FetchError as error:
            if error.status not in _NOT_HERE:
                raise
            self.missing = str(error)
            self.failed.append(Seen(url, url, error=str(error)))
            await self.ask(_well_known(url))
            return
        except errors.FeedError as error:
            self.failed.append(Seen(url, url, error=str(error)))
        (fetched,) = pages
        self.asked.add(fetched.url)
        page = _Page((fetched.body or b"")[:_LONGEST_PAGE].decode("utf-8", "replace"), fetched.url)
        await self.ask(page.alternates)
        if not self.feeds:
            await self.ask([*page.channels, *page.links])
        if not self.feeds:
            await self.ask(_well_known(fetched.url))


def _well_known(url: str) -> Iterator[str]:
    """The usual paths at the page itself (a blog in a folder), then at the root of its host."""
    parts = urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}"
    folder = parts.path.rpartition("/")[0]
    if folder:
        yield from (f"{root}{folder}{path}" for path in WELL_KNOWN[:3])
    yield from (f"{root}{path}" for path in WELL_KNOWN)


class _Page(html.parser.HTMLParser):
    """What an HTML page says of feeds: `alternates` it names as such, `links` only look like it."""

    def __init__(self, text: str, url: str) -> None:
        super().__init__()
        self.base = url
        self.alternates: list[str] = []
        self.links: list[str] = []
        self.channels: list[str] = []
        for piece in re.split(r"(?=<(?:link|a|base)\s)", text, flags=re.IGNORECASE):
            tag = re.match(r"<[^<>]{1,4000}>", piece)
            if tag:
                self.feed(tag[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: (value or "").strip() for name, value in attrs}
        link = plain.address(values.get("href", ""), self.base) if values.get("href") else None
        rels = values.get("rel", "").lower().split()
        if link is None:
            return
        if tag == "base":
            self.base = link
        elif tag == "link" and "alternate" in rels and _FEED_TYPE.fullmatch(values.get("type", "").partition(";")[0]):
            self.alternates.append(link)
        elif tag == "link" and "canonical" in rels and (channel := _CHANNEL.fullmatch(link)):
            self.channels.append(f"https://www.youtube.com/feeds/videos.xml?channel_id={channel[1]}")
        elif tag == "a" and _FEED_LINK.search(urlsplit(link).path.lower()):
            self.links.append(link)
