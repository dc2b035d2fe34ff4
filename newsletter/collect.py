"""What is new, and what is the same thing again. Pure: a document and what is known of it -> intents.

Every entry has a ladder of keys, the surest first:

    arxiv:2609.01234 > doi:10.5555/lake.77 > url:blog.test/bridge > guid:<source> <guid> > text:<hash of title and text>

- The source's own guid is looked up first; it stops counting where several items of the document, or several known
  entries, share it.
- Items of one document that share a key fall to the next key down. Items alike in all that names or says something
  are one item; so are those that share an arXiv id or a DOI and call themselves by it, or have the same title.
- The same address under a new guid, a new title and a new date is a new entry; so is the same guid with a new address,
  a new title and a new date. Where a date is missing, it is the same entry.
- Only the source that showed an entry first edits it; others fill in what it lacks.
- Age: on a source's first fetch what is over 30 days old is held, later what is over 60 days old and yet new. What has
  no date is never held.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import functools
import hashlib
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from newsletter import dates, intents, types

FIRST_FETCH = dt.timedelta(days=30)
LATER = dt.timedelta(days=60)
_WORKS = ("arxiv:", "doi:")  # keys that name a work wherever it is shown
_LONGEST_KEY = 500  # a database indexes it; a longer one is hashed

_TRACKING = re.compile(
    r"(?:utm|mtm|matomo|pk|piwik|hsa|vero|oly)_\w+|_?(?:fbclid|gclid|dclid|gclsrc|gbraid|wbraid|msclkid|yclid|twclid|igshid|ttclid)"
    r"|mc_[ce]id|mkt_tok|_hsenc|_hsmi|__hs\w+|ml_subscriber(?:_hash)?|ss_email_id|wickedid|srsltid|s_cid|cmpid|ncid|xtor"
    r"|rss_id|at_(?:medium|campaign|custom\d)",
    re.IGNORECASE,
)
# Parameters that only say where a click came from, when they have this value.
_FROM_A_FEED = {"rss": "1", "src": "rss", "source": "rss", "from": "rss", "ref": "rss", "partner": "rss"}
_INDEX = re.compile(r"/index\.(?:html?|php)$", re.IGNORECASE)

# arXiv's identifiers: since April 2007 and before (info.arxiv.org/help/arxiv_identifier.html).
_ARXIV_ID = r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?"
_ARXIV_URL = re.compile(rf"/(?:abs|pdf|html|format|ps)/{_ARXIV_ID}(?:\.pdf)?/?$")
_ARXIV_GUID = re.compile(rf"(?:oai:arXiv\.org:|arxiv:|https?://(?:\w+\.)?arxiv\.org/abs/){_ARXIV_ID}$", re.IGNORECASE)
_ARXIV_DOI = re.compile(rf"10\.48550/arxiv\.{_ARXIV_ID}$", re.IGNORECASE)
# A DOI's shape by Crossref's advice (crossref.org/blog/dois-and-matching-regular-expressions).
_DOI = r"(10\.\d{4,9}/[^\s?#&\"<>]+)"
_DOI_GUID = re.compile(rf"(?:doi:\s?|info:doi/|https?://(?:dx\.)?doi\.org/)?{_DOI}$", re.IGNORECASE)
_DOI_PATH = re.compile(rf"/doi/(?:abs/|full/|pdf/|epdf/|epub/|pdfdirect/|book/)?{_DOI}", re.IGNORECASE)


# -- addresses -----------------------------------------------------------------------------------------------------


def clean_url(url: str) -> str:
    """An address without tracking parameters; the rest stays as it was."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if not parts.query:
        return url
    kept = [pair for pair in parts.query.split("&") if not _tracks(pair)]
    return urlunsplit(parts._replace(query="&".join(kept)))


def _tracks(pair: str) -> bool:
    name, _, value = pair.partition("=")
    return bool(_TRACKING.fullmatch(unquote(name))) or _FROM_A_FEED.get(name.lower()) == value.lower()


@functools.lru_cache(4096)
def canonical_url(url: str) -> str:
    """What two spellings of an address have in common, to compare, not to open.

    Without scheme, user, default port, fragment, tracking parameters and a slash at the end; the host in lower case and
    without "www.", the query sorted, escapes in one form (RFC 3986, 6.2).
    """
    try:
        parts = urlsplit(clean_url(url.strip()))
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url.strip()
    if not host:
        return url.strip()
    path = quote(unquote(parts.path, errors="surrogateescape"), safe="/:@!$&'()*+,;=~-._", errors="surrogateescape")
    query = urlencode(
        sorted(parse_qsl(parts.query, keep_blank_values=True, errors="surrogateescape")), errors="surrogateescape"
    )
    # A page behind "#!" or "#/" is another page to a browser program, the same to everybody else.
    fragment = f"#{parts.fragment}" if parts.fragment.startswith(("!", "/")) else ""
    where = host.removeprefix("www.") + (f":{port}" if port not in (None, 80, 443) else "")
    return where + _INDEX.sub("/", path).rstrip("/") + (f"?{query}" if query else "") + fragment


# -- keys ----------------------------------------------------------------------------------------------------------


@functools.lru_cache(4096)  # asked for when looking up, and again when deciding
def keys(entry: types.FoundEntry, source_url: str) -> tuple[str, ...]:
    """The ladder of an entry of that source, the surest key first; never empty, none over 500 characters."""
    ladder = []
    arxiv = _arxiv_id(entry)
    doi = _doi(entry)
    if arxiv:
        ladder.append(f"arxiv:{arxiv}")
    if doi and not arxiv:
        ladder.append(f"doi:{doi}")
    if entry.url:
        ladder.append(f"url:{canonical_url(entry.url)}")
    if entry.guid:
        ladder.append(f"guid:{canonical_url(source_url)} {entry.guid}")
    words = [_folded(entry.title), _folded(entry.summary)]
    ladder.append(f"text:{_hash(*words)}")
    if entry.published:
        # The last rung: a status page has the same words on many days.
        ladder.append(f"text:{_hash(*words, entry.published.isoformat())}")
    return tuple(_short(key) for key in ladder)


def _arxiv_id(entry: types.FoundEntry) -> str | None:
    """The id without its version."""
    parts = urlsplit(entry.url or "")
    host = parts.hostname or ""
    for match in (
        _ARXIV_URL.search(parts.path) if re.fullmatch(r"(?:[\w-]+\.)?arxiv\.org", host) else None,
        _ARXIV_DOI.search(parts.path) if host.endswith("doi.org") else None,
        _ARXIV_GUID.match(entry.guid or ""),
        _ARXIV_DOI.search(entry.guid or ""),
    ):
        if match:
            return match[1]
    return None


def _doi(entry: types.FoundEntry) -> str | None:
    parts = urlsplit(entry.url or "")
    path = unquote(parts.path)
    at_doi = re.fullmatch(r"(?:dx\.|www\.)?doi\.org", parts.hostname or "")
    match = re.match(rf"/{_DOI}", path) if at_doi else _DOI_PATH.search(path)
    match = match or _DOI_GUID.match(unquote(entry.guid or ""))
    return match[1].rstrip("./").lower() if match else None


def _folded(text: str | None) -> str:
    return " ".join((text or "").casefold().split())


def _hash(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def _short(key: str) -> str:
    if len(key) <= _LONGEST_KEY:
        return key
    return f"{key.partition(':')[0]}:sha256:{_hash(key)}"


# -- deciding ------------------------------------------------------------------------------------------------------


def decide(
    found: Sequence[types.FoundEntry],
    *,
    known: intents.Known,
    source_url: str,
    first_fetch: bool,
    now: dt.datetime,
    backfill: dt.timedelta | None = None,
    ages: bool = True,
) -> list[intents.Intent]:
    """What to do with the entries of one document, in their order; repeats within it are left out.

    `known` must be what the store holds for `guids_and_keys(found, source_url)`. `backfill` lets entries of that span
    pass the age rules; `ages=False` (an explicit import) knows none.
    """
    items = _merged([_tidy(entry) for entry in found], source_url)
    shared = _shared(items)
    matches = _matches(items, known, shared)
    surest: dict[int, int] = {}
    for i, old in matches.items():  # the surest signs come first
        surest.setdefault(old.id, i)
    age = _Age(now, backfill, on=ages)
    decided: list[intents.Intent] = []
    taken: set[str] = set(known.keys)
    for i, (entry, ladder) in enumerate(items):
        if i in matches:
            old = matches[i]
            if surest[old.id] == i:
                held = age.held(entry, FIRST_FETCH)
                decided.append(intents.Same(old.id, entry, _edit(old, entry), held, age.excused(entry)))
        elif key := _name(ladder, shared, taken):
            held = age.held(entry, FIRST_FETCH if first_fetch else LATER)
            decided.append(intents.New(entry, key, held))
            taken.add(key)
    return decided


def guids_and_keys(found: Sequence[types.FoundEntry], source_url: str) -> tuple[list[str], list[str]]:
    """What to look up in the store before deciding."""
    entries = [_tidy(entry) for entry in found]
    guids = dict.fromkeys(entry.guid for entry in entries if entry.guid)
    return list(guids), list(dict.fromkeys(key for entry in entries for key in keys(entry, source_url)))


def _tidy(entry: types.FoundEntry) -> types.FoundEntry:
    return dataclasses.replace(entry, url=clean_url(entry.url)) if entry.url else entry


_Item = tuple[types.FoundEntry, tuple[str, ...]]


def _merged(entries: Sequence[types.FoundEntry], source_url: str) -> list[_Item]:
    """Each item with its ladder, once: what is alike in all that names or says something is one item."""
    alike: dict[tuple[object, ...], types.FoundEntry] = {}
    for entry in entries:
        alike.setdefault((entry.guid, entry.url, entry.title, entry.summary, entry.published), entry)
    return [(entry, keys(entry, source_url)) for entry in alike.values()]


def _shared(items: Sequence[_Item]) -> set[str]:
    """The keys that several items of the document have, and that are therefore nobody's."""
    sharing: dict[str, list[types.FoundEntry]] = collections.defaultdict(list)
    for entry, ladder in items:
        for key in ladder:
            sharing[key].append(entry)
    return {key for key, group in sharing.items() if len(group) > 1 and not _are_one(key, group)}


def _name(ladder: Sequence[str], shared: AbstractSet[str], taken: AbstractSet[str]) -> str | None:
    """The key of a new entry; None when nothing tells it from one that has a name already."""
    own = [key for key in ladder if key not in shared] or ladder[-1:]
    if own[0].startswith(_WORKS) and own[0] in taken:
        return None
    return next((key for key in own if key not in taken), None)


def _are_one(key: str, group: Sequence[types.FoundEntry]) -> bool:
    """An arXiv id or a DOI names one work: all of the group call themselves by it, or have one title."""
    if not key.startswith(_WORKS):
        return False
    by_guid = (types.FoundEntry(guid=entry.guid) for entry in group)
    return len({_folded(entry.title) for entry in group}) == 1 or all(
        key in (f"arxiv:{_arxiv_id(entry)}", f"doi:{_doi(entry)}") for entry in by_guid
    )


def _matches(items: Sequence[_Item], known: intents.Known, shared: AbstractSet[str]) -> dict[int, intents.KnownEntry]:
    """Which known entry each item is, by the items' places, surest first; the others are new.

    The surest sign goes first, for all items: a guid of its own, the name of a work, a key of its own, a shared key on
    an item that still looks the same. A known entry is one item's, but for works, which may stand twice. The order
    makes it idempotent: what a document has stored is found again by the same sign or a surer one.
    """
    found: dict[int, intents.KnownEntry] = {}
    claimed: set[int] = set()
    guids = collections.Counter(entry.guid for entry, _ in items)

    def own_guid(entry: types.FoundEntry, _: str, old: intents.KnownEntry) -> bool:
        return guids[entry.guid] == 1 and not (_moved(entry, old.entry) and _retold(entry, old))

    def work(_: types.FoundEntry, key: str, __: intents.KnownEntry) -> bool:
        return key.startswith(_WORKS) and key not in shared

    def own_key(entry: types.FoundEntry, key: str, old: intents.KnownEntry) -> bool:
        return key not in shared and old.id not in claimed and not _is_another(key, entry, old)

    def shared_key(entry: types.FoundEntry, key: str, old: intents.KnownEntry) -> bool:
        return key in shared and old.id not in claimed and not (_retitled(entry, old) or _redated(entry, old))

    for sign in (own_guid, work, own_key, shared_key):
        for i, (entry, ladder) in enumerate(items):
            olds = known.guids if sign is own_guid else known.keys
            names = [entry.guid or ""] if sign is own_guid else ladder[::-1] if sign is shared_key else ladder
            if i not in found:
                old = next((olds[key] for key in names if key in olds and sign(entry, key, olds[key])), None)
                if old:
                    found[i] = old
                    claimed.add(old.id)
    return found


def _is_another(key: str, entry: types.FoundEntry, old: intents.KnownEntry) -> bool:
    """Is this another entry than the known one, although they share that key?

    Only the source that showed it first can say so: what another source calls it, and when, says nothing.
    """
    if key.startswith("url:"):
        return not (entry.guid and entry.guid == old.guid) and _retold(entry, old)
    return key.startswith("text:") and old.own and _redated(entry, old)


def _moved(entry: types.FoundEntry, old: types.FoundEntry) -> bool:
    return bool(entry.url and old.url) and canonical_url(entry.url or "") != canonical_url(old.url or "")


def _retitled(entry: types.FoundEntry, old: intents.KnownEntry) -> bool:
    return _folded(entry.title) != _folded(old.entry.title)


def _redated(entry: types.FoundEntry, old: intents.KnownEntry) -> bool:
    """A missing date is no new one."""
    return None not in (entry.published, old.entry.published) and entry.published != old.entry.published


def _retold(entry: types.FoundEntry, old: intents.KnownEntry) -> bool:
    """A new title and a new date, from the source whose they are."""
    return old.own and _retitled(entry, old) and _redated(entry, old)


def _edit(known: intents.KnownEntry, entry: types.FoundEntry) -> types.FoundEntry | None:
    """What the row shall say from now on; None when that is what it says. Nothing is ever blanked."""
    old = known.entry
    first, second = (entry, old) if known.own else (old, entry)
    dated = first if first.published else second
    new = dataclasses.replace(
        old,
        title=first.title or second.title,
        url=first.url or second.url,
        summary=first.summary or second.summary,
        authors=first.authors or second.authors,
        categories=first.categories or second.categories,
        published=dated.published,
        published_is_date=dated.published_is_date,
    )
    return None if new == old else new


@dataclasses.dataclass(frozen=True)
class _Age:
    """The age rules of one run."""

    now: dt.datetime
    backfill: dt.timedelta | None
    on: bool

    def excused(self, entry: types.FoundEntry) -> bool:
        """Do the rules not hold for it, by the editor's word?"""
        if not self.on:
            return True
        return bool(self.backfill and entry.published and entry.published >= self.now - self.backfill)

    def held(self, entry: types.FoundEntry, limit: dt.timedelta) -> str | None:
        """Why an entry is kept out, None when it is not."""
        if entry.published is None or self.now - entry.published <= limit or self.excused(entry):
            return None
        first = "when its source was first read" if limit == FIRST_FETCH else "when it first came"
        return f"{intents.HELD_FOR_AGE}{limit.days} days {first} ({dates.written(entry.published.date())})"
