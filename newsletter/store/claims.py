"""Which entry goes into which issue. UNIQUE(newsletter, entry) keeps the promise; the clock has no part in it.

An entry waits for a newsletter while it has a topic there and no claim. Composing turns waiting into claims in the
transaction that makes the issue: a late, early, doubled or crashed run cannot lose or repeat one.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import urllib.parse
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

import sqlalchemy as sa
from sqlmodel import Session, col, select

from newsletter import types
from newsletter.store import tables
from newsletter.types import EntryState

T = TypeVar("T")
PREFIX = "e-"
CUT = "cut from "  # begins the reason of what an editor took out of a draft
WANTED = "brought back by hand"  # the reason of what an editor wants, whatever the rules say
SAME_GUID = "same-story:"  # in place of a guid: not this entry, but one that it stands for, was shown there
CHUNK = 500  # bound parameters a statement


@dataclasses.dataclass(frozen=True, slots=True)
class EntryView:
    """An entry as a listing shows it; `topics` are `weekly/rl-agents`, `state` is that of the newsletter asked for."""

    id: str
    key: str
    title: str | None
    url: str | None
    authors: list[str]
    summary: str
    published: dt.datetime | None
    published_is_date: bool
    first_seen: dt.datetime
    topics: list[str]
    state: str
    issue: str | None
    sources: list[str]
    why: str | None
    doi: str | None = None
    journal: str | None = None


def waiting(
    session: Session, newsletter: str, topics: Sequence[str], cutoff: dt.datetime, names: Mapping[str, str]
) -> list[types.Claimed]:
    """What waits for a newsletter and was first seen by the cut-off, as first seen. `names`: source address -> name."""
    claimed = select(tables.Claim.entry_id).where(
        tables.Claim.newsletter == newsletter, tables.Claim.state != EntryState.WAITING
    )
    rows = session.exec(
        select(tables.Entry)
        .where(
            col(tables.Entry.id).in_(
                select(tables.EntryTopic.entry_id).where(
                    tables.EntryTopic.newsletter == newsletter, col(tables.EntryTopic.topic).in_(topics)
                )
            ),
            col(tables.Entry.id).not_in(claimed),
            tables.Entry.first_seen_at <= cutoff,
        )
        .order_by(col(tables.Entry.id))
    ).all()
    return _claimed(session, rows, newsletter, topics, names)


def of_issue(
    session: Session, issue: tables.Issue, topics: Sequence[str], names: Mapping[str, str], *, cut: bool = True
) -> dict[str, types.Claimed]:
    """ref -> entry, of those that an issue has claimed; with `cut`, also of those an editor cut from it."""
    states = [EntryState.IN_ISSUE, EntryState.DROPPED] if cut else [EntryState.IN_ISSUE]
    rows = session.exec(
        select(tables.Entry)
        .join(tables.Claim, col(tables.Claim.entry_id) == tables.Entry.id)
        .where(tables.Claim.issue_id == issue.id, col(tables.Claim.state).in_(states))
        .order_by(col(tables.Entry.id))
    ).all()
    return {entry.ref: entry for entry in _claimed(session, rows, issue.newsletter, topics, names)}


def one(
    session: Session, newsletter: str, ref: str, topics: Sequence[str], names: Mapping[str, str]
) -> types.Claimed | None:
    """An entry of a newsletter, wherever it stands."""
    rows = session.exec(
        select(tables.Entry)
        .join(tables.EntryTopic, col(tables.EntryTopic.entry_id) == tables.Entry.id)
        .where(tables.Entry.ref == ref.removeprefix(PREFIX), tables.EntryTopic.newsletter == newsletter)
    ).first()
    return _claimed(session, [rows], newsletter, topics, names)[0] if rows is not None else None


def held_by(
    session: Session, issue: tables.Issue, topics: Sequence[str], names: Mapping[str, str]
) -> list[tuple[types.Claimed, str]]:
    """What an issue left out for want of room, and why."""
    rows = session.exec(
        select(tables.Entry, tables.Claim.why)
        .join(tables.Claim, col(tables.Claim.entry_id) == tables.Entry.id)
        .where(tables.Claim.issue_id == issue.id, tables.Claim.state == EntryState.HELD)
        .order_by(col(tables.Entry.id))
    ).all()
    entries = _claimed(session, [entry for entry, _ in rows], issue.newsletter, topics, names)
    return [(entry, why or "") for entry, (_, why) in zip(entries, rows, strict=True)]


def _claimed(
    session: Session,
    rows: Sequence[tables.Entry],
    newsletter: str,
    topics: Sequence[str],
    names: Mapping[str, str],
) -> list[types.Claimed]:
    ids = [row.id for row in rows if row.id is not None]
    of_entry: dict[int, set[str]] = {}
    named: dict[int, dict[str, None]] = {}
    source: dict[int, str] = {}
    also: dict[int, dict[str, None]] = {}
    wanted: set[int] = set()
    for part in _chunks(ids):
        for entry_id, topic in session.exec(
            select(tables.EntryTopic.entry_id, tables.EntryTopic.topic).where(
                tables.EntryTopic.newsletter == newsletter, col(tables.EntryTopic.entry_id).in_(part)
            )
        ):
            of_entry.setdefault(entry_id, set()).add(topic)
        wanted |= set(
            session.exec(
                select(tables.Claim.entry_id).where(
                    tables.Claim.newsletter == newsletter,
                    col(tables.Claim.entry_id).in_(part),
                    tables.Claim.why == WANTED,
                )
            )
        )
        for entry_id, guid, url, title in session.exec(
            select(
                tables.EntrySource.entry_id,
                tables.EntrySource.guid,
                tables.SourceState.url,
                tables.SourceState.title,
            )
            .join(tables.SourceState, col(tables.SourceState.id) == tables.EntrySource.source_id)
            .where(col(tables.EntrySource.entry_id).in_(part))
            .order_by(col(tables.EntrySource.id))
        ):
            source.setdefault(entry_id, url)
            name = names.get(url) or title
            if name and (entry_id not in named or (guid or "").startswith(SAME_GUID) or not _is_arxiv(url)):
                told = also if entry_id in named else named
                told.setdefault(entry_id, {})[name] = None
    found = []
    for row in rows:
        mine = of_entry.get(row.id or 0, set())
        found.append(
            types.Claimed(
                ref=PREFIX + row.ref,
                title=row.title,
                url=row.url,
                authors=tuple(row.authors),
                summary=row.summary,
                published=row.published_at,
                published_is_date=row.published_is_date,
                first_seen=row.first_seen_at,
                topics=tuple(t for t in topics if t in mine) or tuple(topics[:1]),
                source_name=next(iter(named.get(row.id or 0, ())), None),
                categories=tuple(row.categories),
                source=source.get(row.id or 0),
                also=tuple(also.get(row.id or 0, ())),
                wanted=row.id in wanted,
            )
        )
    return found


def _is_arxiv(url: str) -> bool:
    """Is this a list of arXiv's? A paper that stands in several of them has one source all the same."""
    return url.startswith("arxiv:") or (urllib.parse.urlsplit(url).hostname or "").endswith("arxiv.org")


def claim(
    session: Session,
    newsletter: str,
    entries: Iterable[tuple[types.Claimed, EntryState, str | None, str | None]],
    *,
    issue: tables.Issue | None,
    now: dt.datetime,
) -> None:
    """Write claims: (entry, state, why, hash of its block)."""
    found = list(entries)
    ids: dict[str, int] = {}
    for part in _chunks([entry.ref.removeprefix(PREFIX) for entry, *_ in found]):
        pairs = session.exec(select(tables.Entry.ref, tables.Entry.id).where(col(tables.Entry.ref).in_(part)))
        ids |= {ref: found_id for ref, found_id in pairs if found_id is not None}
    for some in _chunks(list(ids.values())):
        session.exec(
            sa.delete(tables.Claim).where(
                col(tables.Claim.newsletter) == newsletter,
                col(tables.Claim.entry_id).in_(some),
                col(tables.Claim.state) == EntryState.WAITING,
            )
        )
    session.add_all(
        tables.Claim(
            newsletter=newsletter,
            entry_id=ids[entry.ref.removeprefix(PREFIX)],
            issue_id=issue.id if issue else None,
            state=state,
            why=why,
            at=now,
            block_hash=block_hash,
        )
        for entry, state, why, block_hash in found
    )
    session.flush()


def hashes(session: Session, issue: tables.Issue) -> dict[str, str | None]:
    """ref -> hash of its block as we wrote it."""
    rows = session.exec(
        select(tables.Entry.ref, tables.Claim.block_hash)
        .join(tables.Claim, col(tables.Claim.entry_id) == tables.Entry.id)
        .where(tables.Claim.issue_id == issue.id)
    )
    return {PREFIX + ref: found for ref, found in rows}


def set_hashes(session: Session, issue: tables.Issue, blocks: Mapping[str, str]) -> None:
    """Remember how we wrote these blocks."""
    rows = session.exec(
        select(tables.Claim, tables.Entry.ref)
        .join(tables.Entry, col(tables.Claim.entry_id) == tables.Entry.id)
        .where(tables.Claim.issue_id == issue.id)
    ).all()
    for row, ref in rows:
        if PREFIX + ref in blocks:
            row.block_hash = blocks[PREFIX + ref]


def settle(session: Session, issue: tables.Issue, kept: set[str], now: dt.datetime) -> tuple[int, int]:
    """At approval: what the draft keeps is in the issue, what it lacks is dropped. Returns (kept, cut)."""
    rows = session.exec(
        select(tables.Claim, tables.Entry.ref)
        .join(tables.Entry, col(tables.Claim.entry_id) == tables.Entry.id)
        .where(
            tables.Claim.issue_id == issue.id, col(tables.Claim.state).in_([EntryState.IN_ISSUE, EntryState.DROPPED])
        )
    ).all()
    counts = [0, 0]
    for row, ref in rows:
        stays = PREFIX + ref in kept
        state = EntryState.IN_ISSUE if stays else EntryState.DROPPED
        if row.state != state:
            row.state, row.at = state, now
            row.why = _uncut(row.why) if stays else _cut(issue, row.why)
        if stays or (row.why or "").startswith(CUT):  # else a rule had dropped it
            counts[not stays] += 1
    return counts[0], counts[1]


def unsettle(session: Session, issue: tables.Issue, now: dt.datetime) -> None:
    """At thawing: what the approval dropped is the draft's again, and why it once belonged."""
    rows = session.exec(
        select(tables.Claim).where(
            tables.Claim.issue_id == issue.id,
            tables.Claim.state == EntryState.DROPPED,
            col(tables.Claim.why).startswith(CUT),
        )
    ).all()
    for row in rows:
        row.state, row.why, row.at = EntryState.IN_ISSUE, _uncut(row.why), now


def _cut(issue: tables.Issue, why: str | None) -> str:
    """Why an entry was cut, before why it had belonged."""
    return f"{CUT}{issue.newsletter}/{issue.period}" + (f"; {why}" if why else "")


def _uncut(why: str | None) -> str | None:
    return why.partition("; ")[2] or None if why is not None and why.startswith(CUT) else why


def give_back(session: Session, issue: tables.Issue) -> int:
    """At cancelling: the issue's entries wait again, but for those an editor cut. Returns how many."""
    mine = col(tables.Claim.issue_id) == issue.id
    cut = sa.and_(col(tables.Claim.state) == EntryState.DROPPED, col(tables.Claim.why).startswith(CUT))
    wanted = col(tables.Claim.why) == WANTED
    session.exec(sa.update(tables.Claim).where(mine, cut).values(issue_id=None))
    back = session.exec(
        sa.update(tables.Claim).where(mine, wanted).values(issue_id=None, state=EntryState.WAITING, block_hash=None)
    )
    done = session.exec(sa.delete(tables.Claim).where(mine))
    return int(done.rowcount) + int(back.rowcount)


def drop(session: Session, newsletter: str, refs: Sequence[str], why: str, now: dt.datetime) -> tuple[int, list[str]]:
    """Drop entries that wait or are held. Returns how many, and those that cannot be dropped."""
    done, refused = 0, []
    for ref in refs:
        entry = session.exec(
            select(tables.Entry)
            .join(tables.EntryTopic, col(tables.EntryTopic.entry_id) == tables.Entry.id)
            .where(tables.Entry.ref == ref.removeprefix(PREFIX), tables.EntryTopic.newsletter == newsletter)
        ).first()
        if entry is None or entry.id is None:
            refused.append(ref)
            continue
        row = session.exec(
            select(tables.Claim).where(tables.Claim.newsletter == newsletter, tables.Claim.entry_id == entry.id)
        ).first()
        if row is None:
            session.add(tables.Claim(newsletter=newsletter, entry_id=entry.id, state="dropped", why=why, at=now))
        elif row.state in (EntryState.HELD, EntryState.WAITING) or _by_a_rule(row):  # an editor's word is final
            row.state, row.why, row.at, row.issue_id = EntryState.DROPPED, why, now, None
        elif row.state != EntryState.DROPPED:
            refused.append(ref)
            continue
        done += 1
    return done, refused


def restore(
    session: Session, newsletter: str, refs: Sequence[str], now: dt.datetime, cut: Collection[str] = ()
) -> tuple[int, list[str]]:
    """Let dropped and held entries wait again, and let the next issue take them whatever the rules say.

    `cut`: entries whose blocks were taken out of drafts that are not approved; they can be brought back too.
    Returns how many, and those that cannot be: there is no such entry, or an issue has it.
    """
    done, refused = 0, []
    for ref in refs:
        entry_id = session.exec(
            select(tables.Entry.id)
            .join(tables.EntryTopic, col(tables.EntryTopic.entry_id) == tables.Entry.id)
            .where(tables.Entry.ref == ref.removeprefix(PREFIX), tables.EntryTopic.newsletter == newsletter)
        ).first()
        row = session.exec(
            select(tables.Claim).where(tables.Claim.newsletter == newsletter, tables.Claim.entry_id == entry_id)
        ).first()
        has_it = row is not None and row.state == EntryState.IN_ISSUE and ref not in cut
        if entry_id is None or has_it:
            refused.append(ref)
            continue
        if row is None:
            row = tables.Claim(newsletter=newsletter, entry_id=entry_id, state=EntryState.WAITING, at=now)
            session.add(row)
        row.state, row.why, row.at, row.issue_id, row.block_hash = EntryState.WAITING, WANTED, now, None, None
        done += 1
    session.flush()
    return done, refused


def reopen_held(session: Session, issue: tables.Issue) -> None:
    """Let wait again what a draft left out for want of room: it is chosen anew."""
    session.exec(
        sa.delete(tables.Claim).where(
            col(tables.Claim.issue_id) == issue.id, col(tables.Claim.state) == EntryState.HELD
        )
    )


def _by_a_rule(row: tables.Claim) -> bool:
    return row.state == EntryState.DROPPED and row.issue_id is not None and not (row.why or "").startswith(CUT)


def sources_of_dropped(session: Session, newsletter: str, why: str) -> set[str]:
    """The addresses of sources of which an entry was dropped for that reason."""
    return set(
        session.exec(
            select(tables.SourceState.url)
            .join(tables.EntrySource, col(tables.EntrySource.source_id) == tables.SourceState.id)
            .join(tables.Claim, col(tables.Claim.entry_id) == tables.EntrySource.entry_id)
            .where(
                tables.Claim.newsletter == newsletter, tables.Claim.state == EntryState.DROPPED, tables.Claim.why == why
            )
            .distinct()
        )
    )


def listing(
    session: Session,
    *,
    newsletter: str | None = None,
    topic: str | None = None,
    state: str | None = None,
    ref: str | None = None,
) -> list[EntryView]:
    """Entries as the listings show them, newest first."""
    statement = select(tables.Entry, tables.EntryTopic.newsletter).join(
        tables.EntryTopic, col(tables.EntryTopic.entry_id) == tables.Entry.id
    )
    if newsletter:
        statement = statement.where(tables.EntryTopic.newsletter == newsletter)
    if topic:
        statement = statement.where(tables.EntryTopic.topic == topic)
    if ref:
        statement = statement.where(tables.Entry.ref == ref.removeprefix(PREFIX))
    when = sa.func.coalesce(tables.Entry.published_at, tables.Entry.first_seen_at)
    rows = session.exec(statement.distinct().order_by(when.desc(), col(tables.Entry.id))).all()
    ids = list({entry.id for entry, _ in rows if entry.id is not None})
    topics: dict[int, list[str]] = {}
    sources: dict[int, list[str]] = {}
    claims: dict[tuple[int, str], tuple[str, str | None, str | None]] = {}
    for part in _chunks(ids):
        for row in session.exec(
            select(tables.EntryTopic)
            .where(col(tables.EntryTopic.entry_id).in_(part))
            .order_by(col(tables.EntryTopic.id))
        ):
            topics.setdefault(row.entry_id, []).append(f"{row.newsletter}/{row.topic}")
        for entry_id, url in session.exec(
            select(tables.EntrySource.entry_id, tables.SourceState.url)
            .join(tables.SourceState, col(tables.SourceState.id) == tables.EntrySource.source_id)
            .where(col(tables.EntrySource.entry_id).in_(part))
        ):
            sources.setdefault(entry_id, []).append(url)
        for claim_row, period in session.exec(
            select(tables.Claim, tables.Issue.period)
            .join(tables.Issue, col(tables.Issue.id) == tables.Claim.issue_id, isouter=True)
            .where(col(tables.Claim.entry_id).in_(part))
        ):
            where = f"{claim_row.newsletter}/{period}" if period else None
            claims[claim_row.entry_id, claim_row.newsletter] = claim_row.state, where, claim_row.why
    found = []
    for entry, slug in rows:
        now_state, issue, why = claims.get((entry.id or 0, slug), (EntryState.WAITING.value, None, None))
        if state and now_state != state:
            continue
        found.append(
            EntryView(
                id=PREFIX + entry.ref,
                key=entry.key,
                title=entry.title,
                url=entry.url,
                authors=list(entry.authors),
                summary=entry.summary,
                published=entry.published_at,
                published_is_date=entry.published_is_date,
                first_seen=entry.first_seen_at,
                topics=topics.get(entry.id or 0, []),
                state=now_state,
                issue=issue,
                sources=sources.get(entry.id or 0, []),
                why=why,
                doi=entry.doi,
                journal=entry.journal,
            )
        )
    return found


def _chunks(items: Sequence[T]) -> Iterable[Sequence[T]]:
    for i in range(0, len(items), CHUNK):
        yield items[i : i + CHUNK]
