"""What curating reads and writes: scores, stories told twice, what a rule left out, and a model's answers.

What a rule (or a double) dropped is open until its issue is approved: `reopen` lets it wait again, to be decided anew.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import sqlalchemy as sa
from sqlmodel import Session, col, select

from newsletter.store import claims, tables
from newsletter.types import EntryState, IssueState

T = TypeVar("T")
SAME_STORY = "the same story as "  # begins the reason of an entry that another one stands for
COLLECTION = 1000  # entries of a topic that its scores are measured against
NEWS = dt.timedelta(days=30)  # a topic that is added later looks so far back
KEPT = 200  # entries that editors kept, to learn from


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """An entry as curating looks at it. `sources` are the addresses of all that showed this very one."""

    ref: str
    title: str
    summary: str
    authors: tuple[str, ...]
    categories: tuple[str, ...]
    at: dt.datetime
    first_seen: dt.datetime
    sources: frozenset[str]
    state: str
    why: str | None = None
    issue: str | None = None


def reopen(session: Session, newsletter: str, topics: Sequence[str], now: dt.datetime) -> int:
    """Let wait again what rules and doubles dropped in drafts that are not approved. Returns how many.

    And what rules dropped in any issue, if a topic has come since that never judged it, and it is news still.
    """
    drafts = select(tables.Issue.id).where(
        tables.Issue.newsletter == newsletter, tables.Issue.state == IssueState.DRAFT.value
    )
    unjudged = select(tables.EntryTopic.entry_id).where(
        tables.EntryTopic.newsletter == newsletter,
        col(tables.EntryTopic.topic).in_(topics),
        col(tables.EntryTopic.score).is_(None),
    )
    news = select(tables.Entry.id).where(
        sa.func.coalesce(tables.Entry.published_at, tables.Entry.first_seen_at) >= now - NEWS
    )
    why = col(tables.Claim.why)
    done = session.exec(
        sa.delete(tables.Claim).where(
            col(tables.Claim.newsletter) == newsletter,
            col(tables.Claim.issue_id).is_not(None),
            col(tables.Claim.state) == EntryState.DROPPED,
            why.is_not(None),
            sa.not_(why.startswith(claims.CUT)),
            sa.or_(
                col(tables.Claim.issue_id).in_(drafts),
                sa.and_(
                    sa.not_(why.startswith(SAME_STORY)),
                    col(tables.Claim.entry_id).in_(unjudged),
                    col(tables.Claim.entry_id).in_(news),
                ),
            ),
        )
    )
    return int(done.rowcount)


def drop(session: Session, issue: tables.Issue, whys: Mapping[str, str], now: dt.datetime) -> None:
    """Drop entries that an issue has: ref -> why."""
    rows = session.exec(
        select(tables.Claim, tables.Entry.ref)
        .join(tables.Entry, col(tables.Claim.entry_id) == tables.Entry.id)
        .where(tables.Claim.issue_id == issue.id, tables.Claim.state == EntryState.IN_ISSUE)
    ).all()
    for row, ref in rows:
        why = whys.get(claims.PREFIX + ref)
        if why is not None:
            row.state, row.why, row.at, row.block_hash = EntryState.DROPPED, why, now, None


# -- scores --------------------------------------------------------------------------------------------------------


def scores(session: Session, newsletter: str, refs: Sequence[str]) -> dict[tuple[str, str], float]:
    """(ref, topic) -> score, as it was when the entry was last curated."""
    found: dict[tuple[str, str], float] = {}
    for part in _chunks([ref.removeprefix(claims.PREFIX) for ref in refs]):
        rows = session.exec(
            select(tables.Entry.ref, tables.EntryTopic.topic, tables.EntryTopic.score)
            .join(tables.EntryTopic, col(tables.EntryTopic.entry_id) == tables.Entry.id)
            .where(tables.EntryTopic.newsletter == newsletter, col(tables.Entry.ref).in_(part))
        )
        found |= {(claims.PREFIX + ref, topic): score for ref, topic, score in rows if score is not None}
    return found


def set_scores(session: Session, newsletter: str, found: Mapping[tuple[str, str], tuple[float, str | None]]) -> None:
    """Note (ref, topic) -> (score, why)."""
    ids = _ids(session, {ref for ref, _ in found})
    rows = [
        {"e": ids[ref], "t": topic, "s": score, "w": why} for (ref, topic), (score, why) in found.items() if ref in ids
    ]
    if rows:
        row = tables.EntryTopic
        session.connection().execute(
            sa.update(row)
            .where(
                col(row.entry_id) == sa.bindparam("e"),
                col(row.newsletter) == newsletter,
                col(row.topic) == sa.bindparam("t"),
            )
            .values(score=sa.bindparam("s"), why=sa.bindparam("w")),
            rows,
        )


def of_topic(
    session: Session, newsletter: str, topic: str, *, since: dt.datetime | None = None, limit: int = COLLECTION
) -> list[Seen]:
    """A topic's entries, the last seen first."""
    statement = _entries(newsletter).where(
        col(tables.Entry.id).in_(
            select(tables.EntryTopic.entry_id).where(
                tables.EntryTopic.newsletter == newsletter, tables.EntryTopic.topic == topic
            )
        )
    )
    if since is not None:
        statement = statement.where(col(tables.Entry.first_seen_at) >= since)
    return _seen(session, statement.order_by(col(tables.Entry.id).desc()).limit(limit))


def kept(session: Session, newsletter: str, topic: str) -> list[Seen]:
    """What stood in the topic's approved and sent issues, the last first."""
    statement = _entries(newsletter).where(
        col(tables.Claim.state) == EntryState.IN_ISSUE,
        col(tables.Issue.state).in_([IssueState.APPROVED, IssueState.SENDING, IssueState.SENT]),
        col(tables.Entry.id).in_(
            select(tables.EntryTopic.entry_id).where(
                tables.EntryTopic.newsletter == newsletter, tables.EntryTopic.topic == topic
            )
        ),
    )
    return _seen(session, statement.order_by(col(tables.Entry.id).desc()).limit(KEPT))


# -- stories -------------------------------------------------------------------------------------------------------


def decided(session: Session, newsletter: str, since: dt.datetime) -> list[Seen]:
    """What was decided about since then, and could be told again by another source."""
    statement = _entries(newsletter).where(
        col(tables.Claim.id).is_not(None),
        sa.or_(
            col(tables.Claim.state) != EntryState.DROPPED,
            col(tables.Claim.issue_id).is_(None),
            col(tables.Claim.why).startswith(claims.CUT),
        ),
        col(tables.Entry.title).is_not(None),
        sa.func.coalesce(tables.Entry.published_at, tables.Entry.first_seen_at) >= since,
    )
    return _seen(session, statement.order_by(col(tables.Entry.id)))


def sources_of(session: Session, refs: Sequence[str]) -> dict[str, frozenset[str]]:
    """ref -> the addresses of all sources that showed this very entry."""
    ids = _ids(session, refs)
    found = _sources(session, list(ids.values()))
    return {ref: frozenset(found.get(entry_id, ())) for ref, entry_id in ids.items()}


def names_of(session: Session, refs: Sequence[str]) -> dict[str, frozenset[str]]:
    """ref -> the keys of the work that this very entry shows, and of the pages where its sources show it."""
    found: dict[str, set[str]] = {ref: set() for ref in refs}
    for part in _chunks([ref.removeprefix(claims.PREFIX) for ref in refs]):
        rows = session.exec(
            select(tables.Entry.ref, tables.Entry.arxiv, tables.Entry.doi, tables.EntrySource.page)
            .join(tables.EntrySource, col(tables.EntrySource.entry_id) == tables.Entry.id)
            .where(col(tables.Entry.ref).in_(part))
        )
        for ref, arxiv, doi, page in rows:
            work = f"arxiv:{arxiv}" if arxiv else f"doi:{doi}" if doi else None
            found[claims.PREFIX + ref] |= {name for name in (work, page) if name}
    return {ref: frozenset(names) for ref, names in found.items()}


def stand_for(session: Session, newsletter: str, pairs: Iterable[tuple[str, str]], now: dt.datetime) -> None:
    """(gone, kept): the entry that stays names the sources and has the topics of the one that goes."""
    both = list(pairs)
    ids = _ids(session, {ref for pair in both for ref in pair})
    for gone, stays in both:
        if gone not in ids or stays not in ids:
            continue
        shown = session.exec(select(tables.EntrySource).where(tables.EntrySource.entry_id == ids[gone])).all()
        mine = {
            row.source_id
            for row in session.exec(select(tables.EntrySource).where(tables.EntrySource.entry_id == ids[stays]))
        }
        session.add_all(  # the guid goes on naming the other one
            tables.EntrySource(
                entry_id=ids[stays], source_id=row.source_id, guid=claims.SAME_GUID + gone, url=row.url, seen_at=now
            )
            for row in shown
            if row.source_id not in mine
        )
        topics = {
            entry_id: {
                row.topic
                for row in session.exec(
                    select(tables.EntryTopic).where(
                        tables.EntryTopic.entry_id == entry_id, tables.EntryTopic.newsletter == newsletter
                    )
                )
            }
            for entry_id in (ids[gone], ids[stays])
        }
        session.add_all(
            tables.EntryTopic(entry_id=ids[stays], newsletter=newsletter, topic=topic)
            for topic in sorted(topics[ids[gone]] - topics[ids[stays]])
        )
        session.flush()


# -- a model's answers ---------------------------------------------------------------------------------------------


def answers(session: Session, hashes: Sequence[str], model: str, prompt: str) -> dict[str, str]:
    """Hash of a text -> what the model said about it."""
    found: dict[str, str] = {}
    for part in _chunks(list(hashes)):
        rows = session.exec(
            select(tables.ModelAnswer.text_hash, tables.ModelAnswer.answer).where(
                tables.ModelAnswer.model == model,
                tables.ModelAnswer.prompt_hash == prompt,
                col(tables.ModelAnswer.text_hash).in_(part),
            )
        )
        found |= dict(rows.all())
    return found


def keep_answer(session: Session, row: tables.ModelAnswer) -> None:
    """Remember an answer; another process may have been faster."""
    known = answers(session, [row.text_hash], row.model, row.prompt_hash)
    if row.text_hash not in known:
        session.add(row)


# ------------------------------------------------------------------------------------------------------------------


def _entries(newsletter: str) -> sa.Select[tables.Entry, tables.Claim, str]:
    return (
        sa.select(tables.Entry, tables.Claim, col(tables.Issue.period))
        .join(
            tables.Claim,
            sa.and_(col(tables.Claim.entry_id) == tables.Entry.id, col(tables.Claim.newsletter) == newsletter),
            isouter=True,
        )
        .join(tables.Issue, col(tables.Issue.id) == tables.Claim.issue_id, isouter=True)
    )


def _seen(session: Session, statement: sa.Select[tables.Entry, tables.Claim, str]) -> list[Seen]:
    rows = session.execute(statement).all()
    sources = _sources(session, [entry.id or 0 for entry, _, _ in rows])
    return [
        Seen(
            ref=claims.PREFIX + entry.ref,
            title=entry.title or "",
            summary=entry.summary,
            authors=tuple(entry.authors),
            categories=tuple(entry.categories),
            at=entry.published_at or entry.first_seen_at,
            first_seen=entry.first_seen_at,
            sources=frozenset(sources.get(entry.id or 0, ())),
            state=claim.state if claim is not None else EntryState.WAITING.value,
            why=claim.why if claim is not None else None,
            issue=f"{claim.newsletter}/{period}" if claim is not None and period else None,
        )
        for entry, claim, period in rows
    ]


def _sources(session: Session, ids: Sequence[int]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for part in _chunks(ids):
        rows = session.exec(
            select(tables.EntrySource.entry_id, tables.SourceState.url)
            .join(tables.SourceState, col(tables.SourceState.id) == tables.EntrySource.source_id)
            .where(
                col(tables.EntrySource.entry_id).in_(part),
                sa.func.coalesce(tables.EntrySource.guid, "").not_like(f"{claims.SAME_GUID}%"),
            )
        )
        for entry_id, url in rows:
            found.setdefault(entry_id, set()).add(url)
    return found


def _ids(session: Session, refs: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in _chunks([ref.removeprefix(claims.PREFIX) for ref in refs]):
        pairs = session.exec(select(tables.Entry.ref, tables.Entry.id).where(col(tables.Entry.ref).in_(part)))
        found |= {claims.PREFIX + ref: entry_id for ref, entry_id in pairs if entry_id is not None}
    return found


def _chunks(items: Sequence[T]) -> Iterable[Sequence[T]]:
    return (items[i : i + claims.CHUNK] for i in range(0, len(items), claims.CHUNK))
