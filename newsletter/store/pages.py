"""Rows a page at a time, by key: what comes after an id, in the order in which it came.

A page costs the same wherever it is, and what is added or goes while somebody turns pages makes none come twice and
none that stays be missed. Functions on a session that read; nobody erased is among the people.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from newsletter import subscribercells, types
from newsletter.store import intake, tables
from newsletter.types import DeliveryState, SubscriberState

S = tables.metadata.tables["subscriber"]
SUB = tables.metadata.tables["subscription"]
SUP = tables.metadata.tables["suppression"]
I = tables.metadata.tables["issue"]  # noqa: E741
C = tables.metadata.tables["claim"]
D = tables.metadata.tables["delivery"]
B = tables.metadata.tables["batch"]


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """Which page: what comes after the row `after`, and how many at most."""

    after: int = 0
    limit: int = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Subscriber:
    """A person: `topics` are present ones, as `newsletter/topic`; `suppressed` says why, or is None."""

    id: int
    email: str
    name: str
    language: str | None
    state: SubscriberState
    topics: tuple[str, ...]
    suppressed: str | None
    paused_until: dt.datetime | None
    since: dt.datetime
    changed: dt.datetime | None


@dataclasses.dataclass(frozen=True, slots=True)
class Subscription:
    """A person's yes to a topic (`newsletter/topic`); over since `until`."""

    id: int
    subscriber: int
    topic: str
    since: dt.datetime
    until: dt.datetime | None
    how: str


@dataclasses.dataclass(frozen=True, slots=True)
class Suppression:
    """An address that must not be mailed, by all or by one newsletter. `email` None: kept as a hash, of an erased."""

    id: int
    email: str | None
    newsletter: str | None
    reason: str
    since: dt.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Issue:
    """An issue, by its name as everywhere: `weekly/2026-09-11`."""

    id: int
    issue: str
    newsletter: str
    period: str
    number: int | None
    state: str
    reason: str | None
    subject: str
    entries: int
    cutoff: dt.datetime
    approved: dt.datetime | None
    sent: dt.datetime | None


@dataclasses.dataclass(frozen=True, slots=True)
class Delivery:
    """One issue for one subscriber; `reason` says why it is not sent. `email` None: the person was erased."""

    id: int
    issue: str
    subscriber: int
    email: str | None
    state: str
    attempts: int
    code: int | None
    reason: str | None
    message_id: str | None
    at: dt.datetime | None


# -- people --------------------------------------------------------------------------------------------------------


def subscribers(
    session: Session,
    span: Span,
    *,
    norm: str | None = None,
    newsletter: str | None = None,
    topic: str | None = None,
    state: SubscriberState | None = None,
) -> list[Subscriber]:
    """People, all of them or those at an address, with a topic now, in a state."""
    chosen = sa.select(S).where(S.c.id > span.after, S.c.state != SubscriberState.ERASED.value)
    order = S.c.id
    if newsletter is not None and topic is not None:  # from the index of the topic, which is in the order of the people
        chosen = chosen.join(SUB, SUB.c.subscriber_id == S.c.id).where(
            SUB.c.newsletter == newsletter,
            SUB.c.topic == topic,
            SUB.c.until.is_(None),
            SUB.c.subscriber_id > span.after,
        )
        order = SUB.c.subscriber_id
    chosen = chosen.where(S.c.email_norm == norm) if norm is not None else chosen
    chosen = chosen.where(S.c.state == state.value) if state else chosen
    return _people(session, session.execute(chosen.order_by(order).limit(span.limit)).all())


def subscriber(session: Session, *, number: int | None = None, norm: str | None = None) -> Subscriber | None:
    """One person, by the row's id or the normalised address."""
    which = S.c.id == number if number is not None else S.c.email_norm == norm
    chosen = sa.select(S).where(which, S.c.state != SubscriberState.ERASED.value)
    return next(iter(_people(session, session.execute(chosen).all())), None)


def _people(session: Session, rows: Sequence[sa.Row[Any]]) -> list[Subscriber]:
    topics = intake.subscriptions(session, [row.id for row in rows])
    forbidden = intake.suppressions(session, [row.email_norm for row in rows])
    return [
        Subscriber(
            id=row.id,
            email=row.email,
            name=row.name,
            language=row.language,
            state=SubscriberState(row.state),
            topics=tuple("/".join(place) for place, current in topics[row.id].items() if current),
            suppressed=subscribercells.suppressed_text(sorted(forbidden.get(row.email_norm, {}).items())) or None,
            paused_until=row.paused_until,
            since=row.created_at,
            changed=row.changed_at,
        )
        for row in rows
    ]


def subscriptions(
    session: Session,
    span: Span,
    *,
    subscriber_id: int | None = None,
    newsletter: str | None = None,
    topic: str | None = None,
    current: bool | None = None,
) -> list[Subscription]:
    """Each yes, also those that are over unless `current` is given; nothing of people who were erased is left."""
    c = SUB.c
    chosen = sa.select(SUB).where(c.id > span.after)
    if subscriber_id is not None:
        chosen = chosen.where(c.subscriber_id == subscriber_id)
    if newsletter is not None and topic is not None:
        chosen = chosen.where(c.newsletter == newsletter, c.topic == topic)
    if current is not None:
        chosen = chosen.where(c.until.is_(None) if current else c.until.is_not(None))
    rows = session.execute(chosen.order_by(c.id).limit(span.limit))
    return [
        Subscription(row.id, row.subscriber_id, f"{row.newsletter}/{row.topic}", row.since, row.until, row.how)
        for row in rows
    ]


def suppressions(
    session: Session,
    span: Span,
    *,
    addresses: Sequence[str] | None = None,
    newsletter: str | None = None,
    number: int | None = None,
) -> list[Suppression]:
    """Addresses that must not be mailed. `addresses` are the forms in which one may be kept; "" names no newsletter."""
    c = SUP.c
    chosen = sa.select(SUP).where(c.id > span.after)
    chosen = chosen.where(c.address.in_(addresses)) if addresses is not None else chosen
    chosen = chosen.where(c.newsletter == newsletter) if newsletter is not None else chosen
    chosen = chosen.where(c.id == number) if number is not None else chosen
    return [
        Suppression(
            id=row.id,
            email=None if row.address.startswith(intake.ERASED_AS) else row.address,
            newsletter=row.newsletter or None,
            reason=row.reason,
            since=row.since,
        )
        for row in session.execute(chosen.order_by(c.id).limit(span.limit))
    ]


def remove_suppression(session: Session, number: int) -> bool:
    """Take one back; False when there is none."""
    return bool(session.execute(sa.delete(SUP).where(SUP.c.id == number).returning(SUP.c.id)).all())


# -- issues --------------------------------------------------------------------------------------------------------


def issues(
    session: Session, span: Span, *, newsletter: str | None = None, period: str | None = None, state: str | None = None
) -> list[Issue]:
    """Issues, as they were begun."""
    counted = sa.select(sa.func.count()).where(C.c.issue_id == I.c.id, C.c.state == types.EntryState.IN_ISSUE.value)
    chosen = sa.select(I, counted.scalar_subquery().label("entries")).where(I.c.id > span.after)
    for column, wanted in ((I.c.newsletter, newsletter), (I.c.period, period), (I.c.state, state)):
        chosen = chosen.where(column == wanted) if wanted is not None else chosen
    return [
        Issue(
            id=row.id,
            issue=f"{row.newsletter}/{row.period}",
            newsletter=row.newsletter,
            period=row.period,
            number=row.number,
            state=row.state,
            reason=row.reason,
            subject=row.subject,
            entries=row.entries,
            cutoff=row.cutoff_at,
            approved=row.approved_at,
            sent=row.sent_at,
        )
        for row in session.execute(chosen.order_by(I.c.id).limit(span.limit))
    ]


def deliveries(
    session: Session,
    span: Span,
    *,
    issue_id: int | None = None,
    subscriber_id: int | None = None,
    state: DeliveryState | None = None,
    is_dead: Callable[[str], bool],
) -> tuple[list[Delivery], int | None]:
    """Who got what, and the id after which the next page begins, None where there is none.

    Whose sender has died is in doubt, whatever the row says still: a page for `sending` or `in_doubt` may be short.
    """
    after = span.after
    if issue_id is not None and not after:
        after = (session.execute(sa.select(sa.func.min(D.c.id)).where(D.c.issue_id == issue_id)).scalar() or 1) - 1
    chosen = (
        sa.select(D, S.c.email, S.c.state.label("person"), I.c.newsletter, I.c.period, B.c.lease_owner)
        .join(S, S.c.id == D.c.subscriber_id)
        .join(I, I.c.id == D.c.issue_id)
        .outerjoin(B, sa.and_(B.c.issue_id == D.c.issue_id, B.c.k == D.c.batch))
        .where(D.c.id > after)
    )
    if subscriber_id is not None:
        chosen = chosen.where(D.c.subscriber_id == subscriber_id)
    if issue_id is not None:
        # An issue's rows lie together: a page is read as it lies; by the issue's index all of them would be sorted.
        chosen = chosen.where(D.c.issue_id + 0 == issue_id)
    open_states = (DeliveryState.SENDING.value, DeliveryState.IN_DOUBT.value)
    if state is not None:
        chosen = chosen.where(D.c.state.in_(open_states if state.value in open_states else (state.value,)))
    rows = session.execute(chosen.order_by(D.c.id).limit(span.limit + 1)).all()
    dead: dict[str | None, bool] = {None: True}
    found = []
    for row in rows[: span.limit]:
        shown = row.state
        if shown == DeliveryState.SENDING:
            if row.lease_owner not in dead:
                dead[row.lease_owner] = is_dead(row.lease_owner)
            shown = DeliveryState.IN_DOUBT.value if dead[row.lease_owner] else shown
        if state in (None, shown):
            found.append(_delivery(row, shown))
    return found, rows[span.limit - 1].id if len(rows) > span.limit else None


def _delivery(row: sa.Row[Any], state: str) -> Delivery:
    return Delivery(
        id=row.id,
        issue=f"{row.newsletter}/{row.period}",
        subscriber=row.subscriber_id,
        email=None if row.person == SubscriberState.ERASED else row.email,
        state=state,
        attempts=row.attempts,
        code=row.smtp_code,
        reason=None if state == DeliveryState.SENT else row.reply,
        message_id=row.message_id,
        at=row.done_at or row.sending_at,
    )
