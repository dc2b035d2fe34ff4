"""Issues and their editions: made, frozen, thawed, and the states between."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from sqlmodel import Session, col, select

from newsletter import errors, types
from newsletter.store import tables
from newsletter.types import IssueState


def find(session: Session, name: str) -> tables.Issue | None:
    """The issue `weekly/2026-09-11`, or None."""
    newsletter, _, period = name.partition("/")
    return session.exec(
        select(tables.Issue).where(tables.Issue.newsletter == newsletter, tables.Issue.period == period)
    ).first()


def get(session: Session, name: str) -> tables.Issue:
    """As `find`; raises `errors.NotFound`."""
    found = find(session, name)
    if found is None:
        raise errors.NotFound(f"there is no issue {name}; `newsletter issues` lists them")
    return found


def listing(session: Session, newsletter: str | None = None) -> list[tuple[tables.Issue, int]]:
    """Issues, newest first, each with the number of its entries."""
    entries = (
        select(sa.func.count())
        .select_from(tables.Claim)
        .where(tables.Claim.issue_id == tables.Issue.id, tables.Claim.state == types.EntryState.IN_ISSUE)
        .correlate(tables.Issue)
        .scalar_subquery()
    )
    statement = select(tables.Issue, entries).order_by(
        col(tables.Issue.period).desc(), col(tables.Issue.newsletter), col(tables.Issue.id).desc()
    )
    if newsletter:
        statement = statement.where(tables.Issue.newsletter == newsletter)
    return [(issue, int(count)) for issue, count in session.exec(statement)]


def create(
    session: Session,
    newsletter: str,
    period: str,
    *,
    cutoff: dt.datetime,
    now: dt.datetime,
    special: bool,
) -> tables.Issue:
    """A new issue, or a cancelled one begun again. Ordinary ones are numbered on from the last."""
    row = find(session, f"{newsletter}/{period}")
    number = None
    if not special:
        last = session.exec(
            select(sa.func.max(tables.Issue.number)).where(
                tables.Issue.newsletter == newsletter, tables.Issue.state != IssueState.CANCELLED
            )
        ).one()
        number = int(last or 0) + 1
    if row is None:
        row = tables.Issue(newsletter=newsletter, period=period, cutoff_at=cutoff, created_at=now, number=number)
    elif row.state != IssueState.CANCELLED:
        raise errors.StateError(f"{newsletter}/{period} exists already")
    else:
        row.state, row.reason, row.cutoff_at, row.created_at, row.number = "draft", None, cutoff, now, number
    session.add(row)
    session.flush()
    return row


def freeze(
    session: Session,
    row: tables.Issue,
    *,
    draft_text: str,
    frozen: str,
    templates: dict[str, str],
    editions: Iterable[types.Edition],
    subject: str,
    by: str,
    now: dt.datetime,
) -> None:
    """Approve: from here on these bytes are the issue."""
    session.exec(sa.delete(tables.Edition).where(col(tables.Edition.issue_id) == row.id))
    row.draft_text, row.frozen, row.templates = draft_text, frozen, dict(templates)
    row.hash = hashlib.sha256(frozen.encode()).hexdigest()
    row.subject, row.approved_by, row.approved_at = subject, by, now
    row.state, row.reason = IssueState.APPROVED, None
    for edition in editions:
        add_edition(session, row, edition)
    session.flush()


def thaw(session: Session, row: tables.Issue) -> None:
    """Take an approval back; the caller has seen that nothing is planned."""
    session.exec(sa.delete(tables.Edition).where(col(tables.Edition.issue_id) == row.id))
    row.state, row.reason = IssueState.DRAFT, None
    row.draft_text = row.frozen = row.templates = row.hash = row.approved_by = row.approved_at = None


def add_edition(session: Session, row: tables.Issue, edition: types.Edition) -> tables.Edition:
    """Store an edition; the one that stands already if there is one."""
    topics = ",".join(edition.topics)
    found = session.exec(
        select(tables.Edition).where(tables.Edition.issue_id == row.id, tables.Edition.topics == topics)
    ).first()
    if found is not None:
        return found
    digest = hashlib.sha256(f"{edition.subject}\0{edition.html}\0{edition.text}".encode()).hexdigest()
    made = tables.Edition(
        issue_id=row.id or 0, topics=topics, subject=edition.subject, html=edition.html, text=edition.text, hash=digest
    )
    session.add(made)
    session.flush()
    return made


def editions(session: Session, row: tables.Issue) -> dict[tuple[str, ...], tuple[int, types.Edition]]:
    """topics -> (row id, edition)."""
    rows = session.exec(select(tables.Edition).where(tables.Edition.issue_id == row.id)).all()
    return {
        tuple(each.topics.split(",")): (
            each.id or 0,
            types.Edition(tuple(each.topics.split(",")), each.subject, each.html, each.text),
        )
        for each in rows
    }


def require(row: tables.Issue, states: Sequence[IssueState], what: str) -> None:
    """Raise `errors.StateError` unless the issue is in one of these states."""
    if row.state not in states:
        reason = f" ({row.reason})" if row.reason else ""
        raise errors.StateError(f"{row.newsletter}/{row.period} is {row.state}{reason}: {what}")


def with_subject(session: Session, newsletter: str, subject: str, name: str) -> str | None:
    """The name of another issue that went out, or may go out, under the same subject (capitals and blanks apart)."""
    wanted = " ".join(subject.split()).casefold()
    states = (IssueState.APPROVED, IssueState.SENDING, IssueState.SENT, IssueState.HELD)
    rows = session.exec(
        select(tables.Issue.period, tables.Issue.subject)
        .where(tables.Issue.newsletter == newsletter, col(tables.Issue.state).in_(states))
        .order_by(col(tables.Issue.period).desc())
    )
    names = (f"{newsletter}/{period}" for period, known in rows if " ".join(known.split()).casefold() == wanted)
    return next((each for each in names if each != name), None)


def latest_sent(session: Session, newsletter: str) -> str | None:
    """The period of the newest issue that was sent; None where there is none."""
    return session.exec(
        select(tables.Issue.period)
        .where(tables.Issue.newsletter == newsletter, tables.Issue.state == IssueState.SENT)
        .order_by(col(tables.Issue.period).desc())
        .limit(1)
    ).first()


def last_sent(session: Session, newsletter: str, name: str) -> tuple[str, dict[tuple[str, ...], int]] | None:
    """(name, topics -> how many deliveries) of the issue before `name` that was sent last; None where there is none."""
    row = session.exec(
        select(tables.Issue)
        .where(
            tables.Issue.newsletter == newsletter,
            tables.Issue.state == IssueState.SENT,
            tables.Issue.period != name.partition("/")[2],
        )
        .order_by(col(tables.Issue.sent_at).desc())
    ).first()
    if row is None:
        return None
    counts = session.exec(
        select(tables.Edition.topics, sa.func.count())
        .join(tables.Delivery, col(tables.Delivery.edition_id) == tables.Edition.id)
        .where(tables.Delivery.issue_id == row.id)
        .group_by(tables.Edition.topics)
    )
    return f"{newsletter}/{row.period}", {tuple(topics.split(",")): int(count) for topics, count in counts}
