"""Entries in the database: looks up what is known of a document, and carries out what was decided about it.

    lookup(session, source_id, guids, keys) -> Known      (the room `collect` decides)
    apply(session, intents, ...) -> Saved

Both belong in one transaction: what was looked up must still hold when it is applied.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlmodel import Session, col, select

from newsletter import intents, types, works
from newsletter.store import tables

CHUNK = 400  # values in one statement; SQLite once took at most 999
REF = 8  # hex digits of an entry's short name, while they are enough
Place = tuple[str, str]  # newsletter, topic

T = TypeVar("T")

# Columns alone are asked for without the ORM, which would double the time that a source takes.
_entry, _shown_by = tables.metadata.tables["entry"].c, tables.metadata.tables["entry_source"].c
_topic, _claim = tables.metadata.tables["entry_topic"].c, tables.metadata.tables["claim"].c


@dataclasses.dataclass(frozen=True, slots=True)
class Saved:
    """What applying did: entries seen, new ones, known ones whose text changed, and new ones that a rule holds."""

    seen: int = 0
    new: int = 0
    changed: int = 0
    held: int = 0


# -- looking up ----------------------------------------------------------------------------------------------------


def lookup(session: Session, source_id: int, guids: Sequence[str], keys: Sequence[str]) -> intents.Known:
    """What is known by these guids of the source (those that name exactly one entry), by these keys and their pages."""
    named: dict[str, list[int]] = {}
    for chunk in _chunks(guids):
        rows = session.execute(
            sa.select(_shown_by.guid, _shown_by.entry_id).where(
                _shown_by.source_id == source_id, _shown_by.guid.in_(chunk)
            )
        )
        for guid, entry_id in rows:
            named.setdefault(guid or "", []).append(entry_id)
    by_guid = {guid: ids[0] for guid, ids in named.items() if len(ids) == 1}
    by_key: dict[str, int] = {}
    for column, prefix in ((_entry.key, ""), (_entry.arxiv, "arxiv:"), (_entry.doi, "doi:")):
        wanted = [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]
        for chunk in _chunks(wanted):
            statement = sa.select(column, _entry.id).where(column.in_(chunk)).order_by(_entry.id)
            for name, i in session.execute(statement):
                by_key.setdefault(f"{prefix}{name}", i)
    by_page = _pages(session, [key for key in keys if key.startswith("url:") and key not in by_key])
    by_words = _told(session, source_id, [key for key in keys if key.startswith("said:")])
    ids = dict.fromkeys([*by_key.values(), *by_guid.values(), *by_page.values(), *by_words.values()])
    views = _views(session, source_id, _by_id(session, list(ids)))
    return intents.Known(
        guids={guid: views[i] for guid, i in by_guid.items()},
        keys={key: views[i] for key, i in by_key.items()},
        pages={key: views[i] for key, i in by_page.items()},
        said={key: views[i] for key, i in by_words.items()},
    )


def _told(session: Session, source_id: int, keys: Sequence[str]) -> dict[str, int]:
    """The entry of which the source said just that, where it is one."""
    found: dict[str, list[int]] = {}
    for chunk in _chunks(keys):
        rows = session.execute(
            sa.select(_shown_by.said, _shown_by.entry_id).where(
                _shown_by.source_id == source_id, _shown_by.said.in_(chunk)
            )
        )
        for said, entry_id in rows:
            found.setdefault(said or "", []).append(entry_id)
    return {said: ids[0] for said, ids in found.items() if len(ids) == 1}


def _pages(session: Session, keys: Sequence[str]) -> dict[str, int]:
    """The first entry that is shown at each page, unless one source shows several there."""
    shown: dict[str, list[tuple[int, int]]] = {}
    for chunk in _chunks(keys):
        rows = session.execute(
            sa.select(_shown_by.page, _shown_by.source_id, _shown_by.entry_id)
            .where(_shown_by.page.in_(chunk))
            .order_by(_shown_by.entry_id)
        )
        for page, by, entry_id in rows:
            shown.setdefault(page or "", []).append((by, entry_id))
    return {page: pairs[0][1] for page, pairs in shown.items() if len({by for by, _ in pairs}) == len(pairs)}


def _views(session: Session, source_id: int, rows: dict[int, tables.Entry]) -> dict[int, intents.KnownEntry]:
    """Each entry as the source looks at it."""
    first: dict[int, int] = {}
    shown: dict[int, types.FoundEntry] = {}
    told = (_shown_by.guid, _shown_by.title, _shown_by.published_at, _shown_by.published_is_date)
    for chunk in _chunks(list(rows)):
        found = session.execute(
            sa.select(_shown_by.entry_id, _shown_by.source_id, *told)
            .where(_shown_by.entry_id.in_(chunk))
            .order_by(_shown_by.id)
        )
        for row in found:
            first.setdefault(row.entry_id, row.source_id)
            if row.source_id == source_id:
                shown[row.entry_id] = _shown(row)
    return {
        i: intents.KnownEntry(
            id=i,
            entry=_found(row),
            shown=shown.get(i),
            own=first.get(i, source_id) == source_id,
            first_seen=row.first_seen_at,
        )
        for i, row in rows.items()
    }


def _shown(row: tables.EntrySource | sa.Row[Any]) -> types.FoundEntry:
    return types.FoundEntry(
        guid=row.guid, title=row.title, published=row.published_at, published_is_date=row.published_is_date
    )


def _found(row: tables.Entry) -> types.FoundEntry:
    return types.FoundEntry(
        summary=row.summary,
        title=row.title,
        url=row.url,
        authors=tuple(row.authors),
        published=row.published_at,
        published_is_date=row.published_is_date,
        categories=tuple(row.categories),
        arxiv=row.arxiv,
        doi=row.doi,
        journal=row.journal,
    )


def _by_id(session: Session, ids: Sequence[int]) -> dict[int, tables.Entry]:
    return {
        _id(row): row
        for chunk in _chunks(ids)
        for row in session.exec(select(tables.Entry).where(col(tables.Entry.id).in_(chunk)))
    }


def _id(row: tables.Entry) -> int:
    if row.id is None:
        raise ValueError("an entry that is not stored yet")
    return row.id


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    return (values[i : i + CHUNK] for i in range(0, len(values), CHUNK))


# -- carrying out --------------------------------------------------------------------------------------------------


def apply(
    session: Session,
    decided: Sequence[intents.Intent],
    *,
    source_id: int,
    places: Sequence[Place],
    now: dt.datetime,
) -> Saved:
    """Store new entries, take edits in, and let every entry wait for `places`, the topics of this source.

    An entry that an issue has taken is edited only while that issue is a draft. The same again changes nothing.
    """
    new = [intent for intent in decided if isinstance(intent, intents.New)]
    same = [intent for intent in decided if isinstance(intent, intents.Same)]
    added = _insert(session, new, now)
    changed = _edit(session, [intent for intent in same if intent.changed], now)
    ids = [*added, *(intent.id for intent in same)]
    ordered: list[intents.Intent] = [*new, *same]
    _show(session, [(i, intent.entry) for i, intent in zip(ids, ordered, strict=True)], len(added), source_id, now)
    reached = _place(session, ids, len(added), places)
    _release(session, [intent.id for intent in same if intent.release], [newsletter for newsletter, _ in places])
    _sooner(session, [intent.id for intent in same if intent.sooner], now)
    why = {i: intent.held_why for i, intent in zip(ids, ordered, strict=True)}
    _hold(session, [(i, newsletter, reason) for i, newsletter in reached if (reason := why[i])], now)
    return Saved(len(decided), len(new), changed, sum(intent.held_why is not None for intent in new))


def _insert(session: Session, new: Sequence[intents.New], now: dt.datetime) -> list[int]:
    """The new rows' ids, in order."""
    keys = [intent.key for intent in new]
    refs = _refs(session, keys)
    rows = [
        {
            "key": intent.key,
            "ref": refs[intent.key],
            "title": intent.entry.title,
            "url": intent.entry.url,
            "authors": list(intent.entry.authors),
            "categories": list(intent.entry.categories),
            "summary": intent.entry.summary,
            "published_at": intent.entry.published,
            "published_is_date": intent.entry.published_is_date,
            "first_seen_at": now,
            "arxiv": intent.entry.arxiv,
            "doi": intent.entry.doi,
            "journal": intent.entry.journal,
        }
        for intent in new
    ]
    # By hand: SQLAlchemy asks for the ids of new objects one by one on SQLite.
    _insert_rows(session, tables.Entry, rows)
    found: dict[str, int] = {}
    for chunk in _chunks(keys):
        pairs = session.execute(sa.select(_entry.key, _entry.id).where(_entry.key.in_(chunk)))
        found |= {row.key: row.id for row in pairs}
    return [found[key] for key in keys]


def _refs(session: Session, keys: Sequence[str]) -> dict[str, str]:
    """A short name for each key: the beginning of its SHA-256, as long as it takes to be the only one."""
    digests = {key: hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest() for key in keys}
    refs: dict[str, str] = {}
    length = REF
    while len(refs) < len(digests):
        wanted = {key: digest[:length] for key, digest in digests.items() if key not in refs}
        taken = {
            ref
            for chunk in _chunks(list(wanted.values()))
            for (ref,) in session.execute(sa.select(_entry.ref).where(_entry.ref.in_(chunk)))
        } | set(refs.values())
        for key, ref in wanted.items():
            if ref not in taken:
                refs[key] = ref
                taken.add(ref)
        length += 1
    return refs


def _edit(session: Session, same: Sequence[intents.Same], now: dt.datetime) -> int:
    """Update the rows, but not the text that an issue beyond a draft holds; how many changed."""
    ids = [intent.id for intent in same]
    frozen = {
        entry_id
        for chunk in _chunks(ids)
        for entry_id in session.exec(
            select(tables.Claim.entry_id)
            .join(tables.Issue, col(tables.Issue.id) == tables.Claim.issue_id)
            .where(
                col(tables.Claim.entry_id).in_(chunk),
                col(tables.Issue.state).not_in([types.IssueState.DRAFT, types.IssueState.CANCELLED]),
            )
        )
    }
    rows = _by_id(session, ids)
    for intent in same:
        row, edit = rows[intent.id], intent.edit
        if edit is None:
            continue
        # What a work is called is no part of the text: an entry that has gone out is known by it, too.
        row.arxiv, row.doi, row.journal = edit.arxiv, edit.doi, edit.journal
        if intent.id not in frozen:
            row.title, row.url, row.summary = edit.title, edit.url, edit.summary
            row.authors, row.categories = list(edit.authors), list(edit.categories)
            row.published_at, row.published_is_date = edit.published, edit.published_is_date
            row.changed_at = now
        session.add(row)
    session.flush()
    return len(rows.keys() - frozen)


def _show(
    session: Session, shown: Sequence[tuple[int, types.FoundEntry]], new: int, source_id: int, now: dt.datetime
) -> None:
    """Note that the source shows these entries, the first of which are new, and what it calls them now."""
    known: dict[int, tables.EntrySource] = {}
    for chunk in _chunks([i for i, _ in shown[new:]]):
        rows = session.exec(
            select(tables.EntrySource).where(
                tables.EntrySource.source_id == source_id, col(tables.EntrySource.entry_id).in_(chunk)
            )
        )
        known |= {row.entry_id: row for row in rows}
    fresh = []
    for i, entry in shown:
        row = known.get(i)
        said = _said(entry, row)
        if row is None:
            fresh.append({"entry_id": i, "source_id": source_id, "seen_at": now, **said})
        elif any(getattr(row, name) != value for name, value in said.items()):
            for name, value in said.items():
                setattr(row, name, value)
            session.add(row)
    session.flush()
    _insert_rows(session, tables.EntrySource, fresh)


def _said(entry: types.FoundEntry, row: tables.EntrySource | None) -> dict[str, object]:
    """What the source calls an entry; what it leaves out now stays as it was."""
    before = _shown(row) if row else types.FoundEntry(summary="")
    url = entry.url or (row.url if row else None)
    dated = entry if entry.published else before
    return {
        "guid": entry.guid or before.guid,
        "url": url,
        "page": works.page(url) if url else None,
        "said": works.said(entry) or (row.said if row else None),
        "title": entry.title or before.title,
        "published_at": dated.published,
        "published_is_date": dated.published_is_date,
    }


def _place(session: Session, ids: Sequence[int], new: int, places: Sequence[Place]) -> list[tuple[int, str]]:
    """Add the topics that are missing; which newsletters each entry reaches for the first time."""
    had: set[tuple[int, str, str]] = set()
    for chunk in _chunks(ids[new:]):
        rows = session.execute(
            sa.select(_topic.entry_id, _topic.newsletter, _topic.topic).where(_topic.entry_id.in_(chunk))
        )
        had |= {(i, newsletter, topic) for i, newsletter, topic in rows}
    missing = [
        (i, newsletter, topic)
        for i in ids
        for newsletter, topic in dict.fromkeys(places)
        if (i, newsletter, topic) not in had
    ]
    _insert_rows(
        session,
        tables.EntryTopic,
        [{"entry_id": i, "newsletter": newsletter, "topic": topic} for i, newsletter, topic in missing],
    )
    reached_before = {(i, newsletter) for i, newsletter, _ in had}
    return list(dict.fromkeys((i, newsletter) for i, newsletter, _ in missing if (i, newsletter) not in reached_before))


def _release(session: Session, ids: Sequence[int], newsletters: Sequence[str]) -> None:
    """Let entries wait again that an age rule holds."""
    for chunk in _chunks(ids):
        session.execute(
            sa.delete(tables.Claim).where(
                col(tables.Claim.entry_id).in_(chunk),
                col(tables.Claim.newsletter).in_(set(newsletters)),
                col(tables.Claim.state) == types.EntryState.HELD,
                col(tables.Claim.issue_id).is_(None),
                col(tables.Claim.why).startswith(intents.HELD_FOR_AGE, autoescape=True),
            )
        )


def _sooner(session: Session, ids: Sequence[int], now: dt.datetime) -> None:
    """They were first seen by a clock that was ahead: now they are seen by one that is not."""
    for chunk in _chunks(ids):
        session.execute(sa.update(tables.Entry).where(_entry.id.in_(chunk)).values(first_seen_at=now))


def _hold(session: Session, held: Sequence[tuple[int, str, str]], now: dt.datetime) -> None:
    """Keep entries out of newsletters, with the reason, unless something was decided there already."""
    claimed = {
        (entry_id, newsletter)
        for chunk in _chunks([i for i, _, _ in held])
        for entry_id, newsletter in session.execute(
            sa.select(_claim.entry_id, _claim.newsletter).where(_claim.entry_id.in_(chunk))
        )
    }
    rows = [
        {"newsletter": newsletter, "entry_id": i, "state": types.EntryState.HELD.value, "why": why, "at": now}
        for i, newsletter, why in held
        if (i, newsletter) not in claimed
    ]
    _insert_rows(session, tables.Claim, rows)


def _insert_rows(session: Session, table: type[tables.Table], rows: Iterable[Mapping[str, object]]) -> None:
    values = list(rows)
    if values:
        session.execute(sa.insert(tables.metadata.tables[str(table.__tablename__)]), values)
