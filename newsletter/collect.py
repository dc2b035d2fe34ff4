"""What is new, and what is the same thing again. Pure: a document and what is known of it -> intents.

Every entry has a ladder of keys, the surest first:

    arxiv:2609.01234 > doi:10.5555/lake.77 > url:blog.test/bridge > guid:<source> <guid> > text:<hash of its words>

Two items of one document ("another date": both have one, and they differ):

    alike in                                             but for           are
    the work, and both call themselves by it             anything          one
    the work and the title                               anything          one
    the address and the title                            guid or text      one
    the address and the title                            guid and text     one, if both are of one date
    the address and the title                            another date      two
    the address                                          title             two
    the guid and the title, and no address               text              one
    the guid                                             address, title    two
    anything else                                        another work      two
    title and text, and neither guid nor address         no other date     one

Without a title, the text stands in for it. Two items that share a key fall to the next key down, both; a work is kept
by who calls itself by it. An item and an entry that is known:

    alike in             but for                                           are
    the guid             address, title and date                           two
    the guid             address and the work's name                       two
    the guid             less than that                                    one
    the work             anything                                          one
    the address          guid, title and date that this source gave        two
    the address          less than that, or from another source            one
    title and text       another date than this source gave                two
    title and text       less than that                                    one
    title, date, text    guid and address, in one source                   one
    address or words     another arXiv id, another DOI                     two

The address is the one that it was first known by, or else where one of its sources shows it now.

- The source's own guid is looked up first; it stops counting where several items of the document, or several known
  entries, share it. A key that several items share finds only an entry that looks the same as before.
- Only the source that showed an entry first edits it; others fill in what it lacks.
- Age: on a source's first fetch what is over 30 days old is held, later what is over 60 days old and yet new. What has
  no date may be of any age: on a first fetch the first ten of them wait, as feeds show the newest first, and the rest
  is held; later they are news. Files of the workspace are put there to be read: none is held for want of a date.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import functools
import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from newsletter import dates, intents, types, works

FIRST_FETCH = dt.timedelta(days=30)
LATER = dt.timedelta(days=60)
MOST_UNDATED = 10  # on a first fetch; FeedMail draws the same line (blog.feedmail.org, July 2022)
_WORKS = ("arxiv:", "doi:")  # keys that name a work wherever it is shown
_RUNGS = ("arxiv", "doi", "url", "guid", "text")


# -- keys ----------------------------------------------------------------------------------------------------------


def keys(entry: types.FoundEntry, source_url: str) -> tuple[str, ...]:
    """The ladder of an entry of that source, the surest key first; never empty, none over 500 characters."""
    entry = works.named(entry)
    ladder = []
    if entry.arxiv:
        ladder.append(f"arxiv:{entry.arxiv}")
    if entry.doi:
        ladder.append(f"doi:{entry.doi}")
    if entry.url:
        ladder.append(works.page(entry.url))
    if entry.guid:
        ladder.append(f"guid:{works.canonical_url(source_url)} {entry.guid}")
    words = [_folded(entry.title), _folded(entry.summary)]
    ladder.append(f"text:{_hash(*words)}")
    # The last rungs: a status page has the same words on many days, and some documents share whatever they can.
    words.append(entry.published.isoformat() if entry.published else "")
    every = [name or "" for name in (entry.url, entry.guid, entry.arxiv, entry.doi)]
    ladder += [f"text:{_hash(*words)}", f"text:{_hash(*words, *every)}"]
    return tuple(works.short(key) for key in ladder)


def _folded(text: str | None) -> str:
    return " ".join((text or "").casefold().split())


def _hash(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


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
    items = _gathered(tuple(found), source_url)
    _gathered.cache_clear()  # a document can be large
    shared = _shared(items)
    matches = _matches(items, known, shared)
    surest: dict[int, int] = {}
    for i, old in matches.items():  # the surest signs come first
        surest.setdefault(old.id, i)
    age = _Age(now, backfill, on=ages)
    decided: list[intents.Intent] = []
    taken: set[str] = set(known.keys)
    guids = collections.Counter(guid for item in items for guid in item.guids)
    undated = 0
    for i, item in enumerate(items):
        entry = _with_own_works(item, shared)
        entry = dataclasses.replace(entry, guid=_own_guid(item, guids, matches.get(i)))
        if i in matches:
            old = matches[i]
            if surest[old.id] == i:
                held = age.held(entry, FIRST_FETCH)
                sooner = old.first_seen is not None and old.first_seen > now
                release = age.excused(entry) or (sooner and not age.held(entry, LATER))
                decided.append(intents.Same(old.id, entry, _edit(old, entry), held, release, sooner))
        elif key := _name(item.ladder, shared, taken):
            undated += entry.published is None
            flood = first_fetch and undated > MOST_UNDATED and not source_url.startswith("file:")
            held = age.held(entry, FIRST_FETCH if first_fetch else LATER, flood=flood)
            decided.append(intents.New(entry, key, held))
            taken.add(key)
    return decided


def guids_and_keys(found: Sequence[types.FoundEntry], source_url: str) -> tuple[list[str], list[str]]:
    """What to look up in the store before deciding."""
    items = _gathered(tuple(found), source_url)
    guids = dict.fromkeys(guid for item in items for guid in item.guids)
    names = [key for item in items for key in (*item.ladder, works.said(item.entry)) if key]
    return list(guids), list(dict.fromkeys(names))


def _tidy(entry: types.FoundEntry) -> types.FoundEntry:
    return works.named(dataclasses.replace(entry, url=works.clean_url(entry.url)) if entry.url else entry)


# -- one document ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Item:
    """A thing of the document, in however many items it stands: all the names that they give it."""

    entry: types.FoundEntry
    guids: tuple[str, ...]
    ladder: tuple[str, ...]


@functools.lru_cache(1)  # asked for when looking up, and again when deciding
def _gathered(found: tuple[types.FoundEntry, ...], source_url: str) -> Sequence[_Item]:
    """The things that a document shows, in its order; their items' order within it plays no part.

    What is surest goes first: who calls itself by a work's name, an instant, a day, no date at all. Each finds its
    group by a slot of its own precision, and leaves slots for those that are less precise.
    """
    entries = [_tidy(entry) for entry in found]
    groups: list[list[int]] = []
    wholes: list[types.FoundEntry] = []
    homes: dict[tuple[str, ...], int] = {}
    for i in sorted(range(len(entries)), key=lambda i: _weight(entries[i]), reverse=True):
        entry = entries[i]
        looks, leaves = _slots(entry)
        near = (homes[slot] for slot in looks if slot in homes)
        home = next((home for home in near if not _named_otherwise(entry, wholes[home])), len(groups))
        if home == len(groups):
            groups.append([])
            wholes.append(entry)
        groups[home].append(i)
        wholes[home] = _filled(wholes[home], entry)
        for slot in leaves:
            homes.setdefault(slot, home)
    owners = {work: homes[(work,)] for entry in entries for work in _own_works(entry)}
    items = []
    for home in sorted(range(len(groups)), key=lambda home: min(groups[home])):
        group = dict.fromkeys([wholes[home], *(entries[i] for i in groups[home])])
        ladder = dict.fromkeys(key for each in group for key in keys(each, source_url))
        own = [key for key in ladder if owners.get(key, home) == home]  # a work is kept by who calls itself by it
        guids = dict.fromkeys(each.guid for each in group if each.guid)
        items.append(_Item(wholes[home], tuple(guids), tuple(sorted(own, key=_rung))))
    return items


def _rung(key: str) -> int:
    return _RUNGS.index(key.partition(":")[0])


def _weight(entry: types.FoundEntry) -> tuple[object, ...]:
    precision = 0 if entry.published is None else 1 if entry.published_is_date else 2
    date = entry.published or dt.datetime.min.replace(tzinfo=dt.UTC)
    own = bool(_own_works(entry))
    texts = (entry.summary, entry.title or "", entry.guid or "", entry.url or "", entry.arxiv or "", entry.doi or "")
    return bool(entry.arxiv and (own or entry.doi)), own, precision, date, len(entry.summary), *texts


def _slots(entry: types.FoundEntry) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Where an entry looks for its group, and where others may find it."""
    said = _folded(entry.title) or _hash(_folded(entry.summary))
    names: list[tuple[str, ...]] = [(work,) for work in _own_works(entry)] + [(work, said) for work in _works(entry)]
    left = [*names, (f"doi:{entry.doi}",), (f"doi:{entry.doi}", said)] if entry.doi and entry.arxiv else [*names]
    name = f"url:{works.canonical_url(entry.url)}" if entry.url else f"guid:{entry.guid}" if entry.guid else "text:"
    slot = (name, said, "" if entry.url or entry.guid else _folded(entry.summary))
    # Without dates, another guid with another text is another thing; who lacks either cannot tell.
    exact = [(*slot, "guid", entry.guid or ""), (*slot, "text", _folded(entry.summary))]
    vague = (*slot, "vague")
    left += [*exact, slot] if entry.guid and entry.summary else [*exact, slot, vague]
    if entry.published is None:
        looks = [*exact, vague] if entry.guid and entry.summary else [slot]
        return [*names, *looks], left
    day = (*slot, entry.published.date().isoformat())
    instant = (*slot, entry.published.isoformat())
    if entry.published_is_date:
        return [*names, day], [day, *left]
    return [*names, instant], [instant, day, *left]


def _works(entry: types.FoundEntry) -> list[str]:
    """The surest name of the work that an entry shows: an arXiv paper may share its DOI with another by mistake."""
    return [f"arxiv:{entry.arxiv}"] if entry.arxiv else [f"doi:{entry.doi}"] if entry.doi else []


def _own_works(entry: types.FoundEntry) -> list[str]:
    """... if it calls itself by it, and does not just link there."""
    linked = works.arxiv_of_url(entry.url) if entry.arxiv else works.doi_of_url(entry.url)
    return (
        _works(entry) if not linked or _works(works.named(types.FoundEntry(guid=entry.guid))) == _works(entry) else []
    )


def _shared(items: Sequence[_Item]) -> set[str]:
    """The keys that several items have, and that are therefore nobody's."""
    counts = collections.Counter(key for item in items for key in item.ladder)
    return {key for key, count in counts.items() if count > 1}


def _with_own_works(item: _Item, shared: AbstractSet[str]) -> types.FoundEntry:
    """The entry without the name of a work that another item keeps, or that is nobody's."""
    own = set(item.ladder) - shared
    arxiv, doi = item.entry.arxiv, item.entry.doi
    kept = arxiv if f"arxiv:{arxiv}" in own else None, doi if f"doi:{doi}" in own else None
    return item.entry if kept == (arxiv, doi) else dataclasses.replace(item.entry, arxiv=kept[0], doi=kept[1])


def _own_guid(item: _Item, guids: Mapping[str, int], old: intents.KnownEntry | None) -> str | None:
    """What the source calls it from now on: of several names the one that found it, else one that is its alone."""
    own = [guid for guid in item.guids if guids[guid] == 1]
    if old is not None and old.guid in own:
        return old.guid
    return own[0] if own else item.entry.guid


def _name(ladder: Sequence[str], shared: AbstractSet[str], taken: AbstractSet[str]) -> str | None:
    """The key of a new entry; None when nothing tells it from one that has a name already."""
    own = [key for key in ladder if key not in shared] or ladder[-1:]
    return next((key for key in own if key not in taken), None)


# -- what is known ---------------------------------------------------------------------------------------------------


def _matches(items: Sequence[_Item], known: intents.Known, shared: AbstractSet[str]) -> dict[int, intents.KnownEntry]:
    """Which known entry each item is, by the items' places, surest first; the others are new.

    The surest sign goes first, for all items: a guid of its own, the name of a work, a key of its own, a shared key on
    an item that still looks the same. A known entry is one item's, but for works, which may stand twice. The order
    makes it idempotent: what a document has stored is found again by the same sign or a surer one.
    """
    found: dict[int, intents.KnownEntry] = {}
    claimed: set[int] = set()
    guids = collections.Counter(guid for item in items for guid in item.guids)

    def own_guid(entry: types.FoundEntry, guid: str, old: intents.KnownEntry) -> bool:
        another = _moved(entry, old.entry) and (_retold(entry, old) or _named_otherwise(entry, old.entry))
        return guids[guid] == 1 and old.id not in claimed and not another

    def work(entry: types.FoundEntry, key: str, old: intents.KnownEntry) -> bool:
        two_papers = entry.arxiv and old.entry.arxiv and entry.arxiv != old.entry.arxiv
        return key.startswith(_WORKS) and key not in shared and not two_papers

    def own_key(entry: types.FoundEntry, key: str, old: intents.KnownEntry) -> bool:
        return key not in shared and old.id not in claimed and not _is_another(key, entry, old)

    def shared_key(entry: types.FoundEntry, key: str, old: intents.KnownEntry) -> bool:
        if key not in shared or old.id in claimed or _named_otherwise(entry, old.entry):
            return False
        before = old.shown or old.entry
        return not (_retitled(entry, before) or _redated(entry, before))

    def own_words(entry: types.FoundEntry, key: str, old: intents.KnownEntry) -> bool:
        return words[key] == 1 and old.id not in claimed and not _named_otherwise(entry, old.entry)

    words = collections.Counter(works.said(item.entry) for item in items)
    signs = [(own_guid, known.guids), (work, known.keys), (own_key, known.keys), (own_key, known.pages)]
    for sign, olds in [*signs, (own_words, known.said), (shared_key, known.keys)]:
        for i, item in enumerate(items):
            names = item.guids if sign is own_guid else item.ladder[::-1] if sign is shared_key else item.ladder
            if sign is own_words:
                names = tuple(key for key in (works.said(item.entry),) if key)
            if i not in found:
                old = next((olds[key] for key in names if key in olds and sign(item.entry, key, olds[key])), None)
                if old:
                    found[i] = old
                    claimed.add(old.id)
    return found


def _is_another(key: str, entry: types.FoundEntry, old: intents.KnownEntry) -> bool:
    """Is this another entry than the known one, although they share that key?

    Only by what the same source said before: what another source calls it, and when, says nothing.
    """
    if key.startswith("url:"):
        same_guid = bool(entry.guid) and entry.guid == old.guid
        return not same_guid and (_named_otherwise(entry, old.entry) or _retold(entry, old))
    if key.startswith("text:"):
        return _named_otherwise(entry, old.entry) or _redated(entry, old.shown)
    return key.startswith(_WORKS)  # what shares a work's name and was not found by it has a surer one


def _named_otherwise(entry: types.FoundEntry, old: types.FoundEntry) -> bool:
    """Do they name two works? A DOI says nothing between two arXiv ids."""
    if entry.arxiv and old.arxiv:
        return entry.arxiv != old.arxiv
    return bool(entry.doi and old.doi) and entry.doi != old.doi


def _moved(entry: types.FoundEntry, old: types.FoundEntry) -> bool:
    return bool(entry.url and old.url) and works.canonical_url(entry.url or "") != works.canonical_url(old.url or "")


def _retitled(entry: types.FoundEntry, before: types.FoundEntry) -> bool:
    return _folded(entry.title) != _folded(before.title)


def _redated(entry: types.FoundEntry, before: types.FoundEntry | None) -> bool:
    """A missing date is no new one, nor is the time of a day that was known."""
    one, other = entry.published, before.published if before else None
    if before is None or one is None or other is None or one == other:
        return False
    return not ((entry.published_is_date or before.published_is_date) and one.date() == other.date())


def _retold(entry: types.FoundEntry, old: intents.KnownEntry) -> bool:
    """A new title and a new date, by the same source; where there never was a title, the text stands in for it."""
    if old.shown is None or not _redated(entry, old.shown):
        return False
    if not entry.title and not old.shown.title:
        return old.own and _folded(entry.summary) != _folded(old.entry.summary)
    return _retitled(entry, old.shown)


def _edit(old: intents.KnownEntry, entry: types.FoundEntry) -> types.FoundEntry | None:
    """What the row shall say from now on; None when that is what it says. Nothing is ever blanked."""
    row = old.entry
    new = _filled(entry, row) if old.own else _filled(row, entry)
    # What names a work stays, for others know it by that; two entries that turn out to be one are joined when curated.
    new = dataclasses.replace(new, guid=row.guid, arxiv=row.arxiv or new.arxiv, doi=row.doi or new.doi)
    return None if new == row else new


def _filled(first: types.FoundEntry, second: types.FoundEntry) -> types.FoundEntry:
    """The first entry, with what it lacks from the second."""
    dated = first if first.published else second
    return types.FoundEntry(
        summary=first.summary or second.summary,
        title=first.title or second.title,
        url=first.url or second.url,
        authors=first.authors or second.authors,
        published=dated.published,
        published_is_date=dated.published_is_date,
        guid=first.guid or second.guid,
        categories=first.categories or second.categories,
        arxiv=first.arxiv or second.arxiv,
        doi=first.doi or second.doi,
        journal=first.journal or second.journal,
    )


_FLOOD = f"it has no date, and stood behind {MOST_UNDATED} others without one when its source was first read"


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
        return bool(self.backfill and (not entry.published or entry.published >= self.now - self.backfill))

    def held(self, entry: types.FoundEntry, limit: dt.timedelta, *, flood: bool = False) -> str | None:
        """Why an entry is kept out, None when it is not. `flood`: one of very many that have no date."""
        if self.excused(entry):
            return None
        if entry.published is None:
            return f"{intents.HELD_FOR_AGE}{limit.days} days, perhaps: {_FLOOD}" if flood else None
        if self.now - entry.published <= limit:
            return None
        first = "when its source was first read" if limit == FIRST_FETCH else "when it first came"
        return f"{intents.HELD_FOR_AGE}{limit.days} days {first} ({dates.written(entry.published.date())})"
