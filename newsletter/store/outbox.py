"""The ledger: who is to get an issue, who got it, who did not, and why.

    plan      one transaction: the audience -> delivery rows, dealt into batches
    lease     a batch belongs to one owner at a time, and only of an issue that is being sent
    reclaim   rows left in `sending` by a dead owner are in doubt
    deal      what has waited its time goes into new batches

What happens to a delivery between its lease and its end is in `attempts`. Columns in, columns out: no object a
recipient.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, select

from newsletter import types
from newsletter.store import tables
from newsletter.types import DeliveryState

BATCH = 500
LEASE = dt.timedelta(seconds=60)
LEFT = "left, paused or was suppressed after the plan"  # why a delivery is skipped

D = tables.Delivery.__table__  # type: ignore[attr-defined]
B = tables.Batch.__table__  # type: ignore[attr-defined]
S = tables.Subscriber.__table__  # type: ignore[attr-defined]
SUB = tables.Subscription.__table__  # type: ignore[attr-defined]
SUP = tables.Suppression.__table__  # type: ignore[attr-defined]
ISSUE = tables.Issue.__table__  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A delivery to be made, with the person as they are now."""

    id: int
    subscriber_id: int
    edition_id: int
    state: str
    attempts: int
    first_at: dt.datetime | None
    sending_at: dt.datetime | None
    message_id: str | None
    rcpt_name: str | None
    token_key: int | None
    email: str
    name: str
    token_version: int

    @property
    def in_doubt(self) -> bool:
        """Must a copy be the same octets as the first?"""
        return self.state == DeliveryState.IN_DOUBT


# -- the plan ------------------------------------------------------------------------------------------------------


def _audience(newsletter: str, topics: Sequence[str], now: dt.datetime) -> sa.Subquery:
    """(subscriber_id, mask): people whom `_reachable` lets through with one of these topics; bit i is topic i."""
    bits = sa.case({topic: 1 << i for i, topic in enumerate(topics)}, value=SUB.c.topic, else_=0)
    return (
        sa.select(SUB.c.subscriber_id, sa.func.sum(bits).label("mask"))
        .join(S, S.c.id == SUB.c.subscriber_id)
        .where(
            SUB.c.newsletter == newsletter,
            SUB.c.topic.in_(topics),
            SUB.c.until.is_(None),
            _reachable(newsletter, now),
        )
        .group_by(SUB.c.subscriber_id)
        .subquery()
    )


def _willing(newsletter: str, now: dt.datetime) -> sa.Select[tuple[int]]:
    """The people who may get a newsletter's mail now, with at least one of its topics."""
    return (
        sa.select(S.c.id)
        .join(SUB, SUB.c.subscriber_id == S.c.id)
        .where(
            SUB.c.newsletter == newsletter,
            SUB.c.until.is_(None),
            _reachable(newsletter, now),
        )
    )


def _reachable(newsletter: str, now: dt.datetime) -> sa.ColumnElement[bool]:
    """Active, not suppressed, and not on a pause of their own."""
    return sa.and_(S.c.state == types.SubscriberState.ACTIVE.value, ~suppressed(newsletter), ~paused(now))


def paused(now: dt.datetime) -> sa.ColumnElement[bool]:
    """Does a subscriber want no issue for now? A clause."""
    until = S.c.paused_until
    return sa.and_(until.is_not(None), until > sa.literal(now, until.type))


def suppressed(newsletter: str) -> sa.Exists:
    """Is the address of a subscriber one that this newsletter must not mail? A clause."""
    return sa.exists().where(SUP.c.address == S.c.email_norm, SUP.c.newsletter.in_(("", newsletter)))


def audience(session: Session, newsletter: str, topics: Sequence[str], now: dt.datetime) -> dict[tuple[str, ...], int]:
    """Set of topics -> how many people get that edition."""
    if not topics:
        return {}
    who = _audience(newsletter, topics, now)
    rows = session.execute(sa.select(who.c.mask, sa.func.count()).group_by(who.c.mask))
    return {_topics(mask, topics): count for mask, count in rows}


def pending(session: Session, newsletter: str, topics: Sequence[str]) -> int:
    """How many people have one of these topics but have not confirmed."""
    who = (
        sa.select(sa.func.count(sa.distinct(SUB.c.subscriber_id)))
        .join(S, S.c.id == SUB.c.subscriber_id)
        .where(
            SUB.c.newsletter == newsletter,
            SUB.c.topic.in_(topics),
            SUB.c.until.is_(None),
            S.c.state == types.SubscriberState.PENDING.value,
        )
    )
    return int(session.execute(who).scalar_one())


def _topics(mask: int, topics: Sequence[str]) -> tuple[str, ...]:
    return tuple(topic for i, topic in enumerate(topics) if mask & 1 << i)


def plan(
    session: Session,
    issue_id: int,
    newsletter: str,
    topics: Sequence[str],
    editions: Mapping[tuple[str, ...], int],
    *,
    now: dt.datetime,
    size: int = BATCH,
) -> int:
    """Make a delivery for everybody in the audience, dealt into batches by edition. Returns how many.

    `editions`: set of topics -> edition row; every set in the audience must be there.
    """
    if not topics:
        return 0
    who = _audience(newsletter, topics, now)
    masks = {sum(1 << topics.index(topic) for topic in wanted): found for wanted, found in editions.items()}
    edition = sa.case(masks, value=who.c.mask) if masks else sa.null()  # NOT NULL: a set that lacks one plans nobody
    number = sa.func.row_number().over(order_by=(edition, who.c.subscriber_id))
    chosen = sa.select(
        sa.literal(issue_id),
        who.c.subscriber_id,
        edition,
        sa.literal("queued"),
        sa.literal(0),
        (number - 1).op("/", precedence=8)(size) + 1,  # whole numbers; `//` needs FLOOR, which not every SQLite has
    )
    names = ["issue_id", "subscriber_id", "edition_id", "state", "attempts", "batch"]
    session.execute(D.insert().from_select(names, chosen))
    dealt = sa.select(D.c.issue_id, D.c.batch, sa.literal("open")).where(D.c.issue_id == issue_id).distinct()
    session.execute(B.insert().from_select(["issue_id", "k", "state"], dealt))
    return audience_size(session, issue_id)


def audience_size(session: Session, issue_id: int) -> int:
    """How many deliveries an issue has."""
    return int(session.execute(sa.select(sa.func.count()).where(D.c.issue_id == issue_id)).scalar_one())


def _changed(result: sa.Result[Any]) -> int:
    """How many rows an UPDATE changed."""
    return int(result.rowcount)  # type: ignore[attr-defined]  # a CursorResult, which execute() does not say


# -- counting ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """How far an issue is. `counts` has every state; `in_doubt` names the people."""

    counts: dict[str, int]
    in_doubt: list[str]

    @property
    def audience(self) -> int:
        """All of them."""
        return sum(self.counts.values())

    @property
    def finished(self) -> bool:
        """Is every row in a final state?"""
        return all(not n for state, n in self.counts.items() if DeliveryState(state) not in types.FINAL)


def standing(session: Session, issue_id: int, is_dead: Callable[[str], bool]) -> Standing:
    """Count the rows. What a dead owner left in `sending` is in doubt, also before anyone resumes."""
    counts = {state.value: 0 for state in DeliveryState}
    rows = session.execute(sa.select(D.c.state, sa.func.count()).where(D.c.issue_id == issue_id).group_by(D.c.state))
    counts.update(tuple(row) for row in rows)
    doubtful: list[str] = []
    dead: dict[str | None, bool] = {}
    named = (
        sa.select(S.c.email, D.c.state, B.c.lease_owner)
        .select_from(D)
        .join(S, S.c.id == D.c.subscriber_id)
        .outerjoin(B, sa.and_(B.c.issue_id == D.c.issue_id, B.c.k == D.c.batch))
        .where(D.c.issue_id == issue_id, D.c.state.in_(("sending", "in_doubt")))
        .order_by(D.c.id)
    )
    for email, state, owner in session.execute(named):
        if state == DeliveryState.SENDING:
            if owner not in dead:
                dead[owner] = owner is None or is_dead(owner)
            if not dead[owner]:
                continue
            counts["sending"] -= 1
            counts["in_doubt"] += 1
        doubtful.append(email)
    return Standing(counts, doubtful)


def unfinished(session: Session, issue_id: int) -> bool:
    """Is a row left that is not final?"""
    final = [state.value for state in types.FINAL]
    found = session.execute(sa.select(D.c.id).where(D.c.issue_id == issue_id, D.c.state.not_in(final)).limit(1))
    return found.first() is not None


def next_due(session: Session, issue_id: int) -> dt.datetime | None:
    """When the next waiting row is due."""
    waiting = D.c.state.in_(("deferred", "in_doubt"))
    found: dt.datetime | None = session.execute(
        sa.select(sa.func.min(D.c.next_at).label("next_at")).where(
            D.c.issue_id == issue_id, waiting, D.c.batch.is_(None)
        )
    ).scalar()
    return found


# -- batches -------------------------------------------------------------------------------------------------------


def lease_owners(session: Session, issue_id: int) -> list[str]:
    """Who has a part of this issue leased, dead or alive."""
    found = session.execute(
        sa.select(B.c.lease_owner)
        .where(B.c.issue_id == issue_id, B.c.state == "open", B.c.lease_owner.is_not(None))
        .distinct()
    )
    return list(found.scalars())


def reclaim(
    session: Session, issue_id: int, is_dead: Callable[[str], bool], *, resend: bool, now: dt.datetime
) -> list[str]:
    """Free the batches of dead owners; what stands in `sending` with no living owner is in doubt. Returns the dead."""
    dead = [owner for owner in lease_owners(session, issue_id) if is_dead(owner)]
    nobodys = sa.or_(B.c.lease_owner.is_(None), B.c.lease_owner.in_(dead))
    session.execute(
        D.update()
        .where(
            D.c.issue_id == issue_id,
            D.c.state == "sending",
            D.c.batch.in_(sa.select(B.c.k).where(B.c.issue_id == issue_id, nobodys)),
        )
        .values(state="in_doubt", batch=None, next_at=now if resend else None)
    )
    session.execute(
        B.update().where(B.c.issue_id == issue_id, B.c.lease_owner.in_(dead)).values(lease_owner=None, lease_until=None)
    )
    return dead


def deal(session: Session, issue_id: int, now: dt.datetime, *, size: int = BATCH) -> int:
    """Put what is due again into new batches, those in doubt into the newest. Returns how many rows."""
    last = int(session.execute(sa.select(sa.func.max(B.c.k)).where(B.c.issue_id == issue_id)).scalar() or 0)
    total = 0
    for state, becomes in (("deferred", "queued"), ("in_doubt", "in_doubt")):
        ids = list(
            session.execute(
                sa.select(D.c.id)
                .where(D.c.issue_id == issue_id, D.c.batch.is_(None), D.c.state == state, D.c.next_at <= now)
                .order_by(D.c.id)
            ).scalars()
        )
        total += len(ids)
        for i in range(0, len(ids), size):
            last += 1
            session.execute(B.insert().values(issue_id=issue_id, k=last, state="open"))
            session.execute(
                D.update().where(D.c.id.in_(ids[i : i + size])).values(batch=last, state=becomes, next_at=None)
            )
    return total


def lease(session: Session, issue_id: int, owner: str, now: dt.datetime) -> int | None:
    """Take a free batch, the newest first: those in doubt come before everybody else.

    None when there is none, or when the issue is not being sent (any more).
    """
    k = session.execute(
        sa.select(B.c.k)
        .join(ISSUE, ISSUE.c.id == B.c.issue_id)
        .where(B.c.issue_id == issue_id, B.c.state == "open", B.c.lease_owner.is_(None), ISSUE.c.state == "sending")
        .order_by(B.c.k.desc())
        .limit(1)
    ).scalar()
    if k is None:
        return None
    session.execute(
        B.update().where(B.c.issue_id == issue_id, B.c.k == k).values(lease_owner=owner, lease_until=now + LEASE)
    )
    return int(k)


def skip_left(session: Session, issue_id: int, k: int, newsletter: str, now: dt.datetime) -> int:
    """Skip those of a batch who left, or were suppressed, since: not even RCPT names them. Returns how many."""
    done = session.execute(
        D.update()
        .where(
            D.c.issue_id == issue_id,
            D.c.batch == k,
            D.c.state.in_(("queued", "in_doubt")),
            D.c.subscriber_id.not_in(_willing(newsletter, now)),
        )
        .values(state="skipped", reply=LEFT, done_at=now, next_at=None)
    )
    return _changed(done)


def load(session: Session, issue_id: int, k: int) -> list[Row]:
    """The deliveries of a batch that are still to be made."""
    rows = session.execute(
        sa.select(
            D.c.id,
            D.c.subscriber_id,
            D.c.edition_id,
            D.c.state,
            D.c.attempts,
            D.c.first_at,
            D.c.sending_at,
            D.c.message_id,
            D.c.rcpt_name,
            D.c.token_key,
            S.c.email,
            S.c.name,
            S.c.token_version,
        )
        .join(S, S.c.id == D.c.subscriber_id)
        .where(D.c.issue_id == issue_id, D.c.batch == k, D.c.state.in_(("queued", "in_doubt")))
        .order_by(D.c.id)
    )
    return [Row(*row) for row in rows]


def close_done(session: Session, issue_id: int, owner: str) -> None:
    """Close those of this owner's batches that have no open row."""
    mine = sa.select(B.c.k).where(B.c.issue_id == issue_id, B.c.lease_owner == owner, B.c.state == "open")
    for k in session.execute(mine).scalars().all():
        open_row = session.execute(
            sa.select(D.c.id)
            .where(D.c.issue_id == issue_id, D.c.batch == k, D.c.state.in_(("queued", "sending", "in_doubt")))
            .limit(1)
        ).first()
        if open_row is None:
            session.execute(
                B.update()
                .where(B.c.issue_id == issue_id, B.c.k == k, B.c.lease_owner == owner)
                .values(state="done", lease_owner=None, lease_until=None)
            )


def forget(session: Session, issue_id: int) -> None:
    """Take a plan back; the caller has seen that nothing of it went out."""
    session.execute(D.delete().where(D.c.issue_id == issue_id))
    session.execute(B.delete().where(B.c.issue_id == issue_id))


# -- by hand -------------------------------------------------------------------------------------------------------


def retry(session: Session, issue_id: int, state: DeliveryState, now: dt.datetime) -> int:
    """Let failed or doubtful deliveries go out again now. Returns how many.

    A failed one begins anew (with a new Date); a doubtful one stays in doubt: same octets, same Message-ID. One that a
    living sender has in its hands is left to it; who left, bounced or is suppressed since is left alone.
    """
    values: dict[str, Any] = {"batch": None, "next_at": now}
    newsletter = session.execute(sa.select(ISSUE.c.newsletter).where(ISSUE.c.id == issue_id)).scalar_one()
    chosen = sa.and_(
        D.c.issue_id == issue_id, D.c.state == state.value, D.c.subscriber_id.in_(_willing(newsletter, now))
    )
    if state is DeliveryState.FAILED:
        values |= {"state": "deferred", "first_at": None, "done_at": None}
    else:
        leased = sa.select(B.c.k).where(B.c.issue_id == issue_id, B.c.lease_owner.is_not(None))
        chosen &= sa.or_(D.c.batch.is_(None), D.c.batch.not_in(leased))
    return _changed(session.execute(D.update().where(chosen).values(**values)))


@dataclasses.dataclass(frozen=True, slots=True)
class DeliveryView:
    """A delivery as the listing shows it; `reason` says why it is not sent."""

    email: str
    state: str
    attempts: int
    code: int | None
    reason: str | None
    message_id: str | None
    at: dt.datetime | None
    next_at: dt.datetime | None


def listing(session: Session, issue_id: int, is_dead: Callable[[str], bool], state: str | None) -> list[DeliveryView]:
    """Who got it, who did not, and why."""
    rows = session.execute(
        sa.select(
            S.c.email,
            D.c.state,
            D.c.attempts,
            D.c.smtp_code,
            D.c.reply,
            D.c.message_id,
            D.c.done_at,
            D.c.sending_at,
            D.c.next_at,
            B.c.lease_owner,
        )
        .select_from(D)
        .join(S, S.c.id == D.c.subscriber_id)
        .outerjoin(B, sa.and_(B.c.issue_id == D.c.issue_id, B.c.k == D.c.batch))
        .where(D.c.issue_id == issue_id)
        .order_by(D.c.id)
    )
    found = []
    dead: dict[str | None, bool] = {None: True}
    for email, stored, attempts, code, reply, message_id, done_at, sending_at, next_at, owner in rows:
        shown = stored
        if stored == DeliveryState.SENDING:
            if owner not in dead:
                dead[owner] = is_dead(owner)
            shown = DeliveryState.IN_DOUBT.value if dead[owner] else stored
        if state is None or shown == state:
            why = None if shown == DeliveryState.SENT else reply
            found.append(DeliveryView(email, shown, attempts, code, why, message_id, done_at or sending_at, next_at))
    return found


# -- one person ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Person:
    """A subscriber as a message needs them; `topics` are those they have now."""

    id: int
    email: str
    name: str
    token_version: int
    topics: frozenset[str]


def person(session: Session, email_norm: str, newsletter: str) -> Person | None:
    """The subscriber at an address."""
    found = session.execute(
        sa.select(S.c.id, S.c.email, S.c.name, S.c.token_version).where(S.c.email_norm == email_norm)
    ).first()
    if found is None:
        return None
    picked = session.execute(
        sa.select(SUB.c.topic).where(
            SUB.c.subscriber_id == found.id, SUB.c.newsletter == newsletter, SUB.c.until.is_(None)
        )
    ).scalars()
    return Person(found.id, found.email, found.name, found.token_version, frozenset(picked))


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """What a delivery's message was made from."""

    edition_id: int
    sending_at: dt.datetime | None
    rcpt_name: str | None
    token_key: int | None
    message_id: str | None


def made(session: Session, issue_id: int, subscriber_id: int) -> Made | None:
    """The message that a subscriber got of an issue, or None when no delivery is planned."""
    found = session.execute(
        sa.select(D.c.edition_id, D.c.sending_at, D.c.rcpt_name, D.c.token_key, D.c.message_id).where(
            D.c.issue_id == issue_id, D.c.subscriber_id == subscriber_id
        )
    ).first()
    return None if found is None else Made(*found)


# -- pace ----------------------------------------------------------------------------------------------------------


def paces(session: Session) -> dict[str, float]:
    """Bucket -> when its next message may go, in seconds since 1970."""
    return {row.bucket: row.next_at for row in session.exec(select(tables.Pace))}


def save_paces(session: Session, buckets: Mapping[str, float]) -> None:
    """Remember them across a restart."""
    for bucket, next_at in buckets.items():
        row = session.get(tables.Pace, bucket)
        if row is None:
            session.add(tables.Pace(bucket=bucket, next_at=next_at))
        else:
            row.next_at = max(row.next_at, next_at)
