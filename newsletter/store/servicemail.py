"""Mails to one person about their subscription: queued with what they are about, sent soon after, each once.

    queue -> lease (`sending`, for five minutes) -> sent | queued again | failed

A process that dies between the relay's 250 and `sent` sends that mail a second time, with the same Message-ID.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from newsletter.store import tables

LEASE = dt.timedelta(minutes=5)
KEPT = dt.timedelta(days=400)
GIVE_UP = dt.timedelta(hours=48)
PAUSES = tuple(dt.timedelta(minutes=minutes) for minutes in (1, 5, 15, 60))  # then every hour
AT_ONCE = 100  # leased together

M = tables.ServiceMail.__table__  # type: ignore[attr-defined]
S = tables.Subscriber.__table__  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True, slots=True)
class Due:
    """A mail to be sent, with the person as they are now. `facts` is as it was queued."""

    id: int
    kind: str
    newsletter: str
    facts: dict[str, Any]
    attempts: int
    created_at: dt.datetime
    subscriber_id: int
    email: str
    email_norm: str
    name: str
    language: str | None
    token_version: int


def queue(
    session: Session, kind: str, subscriber_id: int, newsletter: str, facts: dict[str, Any], now: dt.datetime
) -> None:
    """Let a mail wait for the next round."""
    values = {"kind": kind, "subscriber_id": subscriber_id, "newsletter": newsletter, "facts": facts}
    session.execute(sa.insert(M).values(**values, state="queued", attempts=0, created_at=now, next_at=now))


def recent(session: Session, subscriber_id: int, kinds: Sequence[str], since: dt.datetime) -> int:
    """How many mails of these kinds were queued for a person since then."""
    chosen = sa.select(sa.func.count()).where(
        M.c.subscriber_id == subscriber_id, M.c.kind.in_(kinds), M.c.created_at > since
    )
    return int(session.execute(chosen).scalar_one())


def lease(session: Session, now: dt.datetime) -> list[Due]:
    """Take what is due, and what a sender has held for too long; nobody else gets it for five minutes."""
    ids = session.execute(
        sa.update(M)
        .where(
            M.c.id.in_(
                sa.select(M.c.id)
                .where(M.c.state.in_(("queued", "sending")), M.c.next_at <= now)
                .order_by(M.c.next_at, M.c.id)
                .limit(AT_ONCE)
                .with_for_update(skip_locked=True)
            )
        )
        .values(state="sending", attempts=M.c.attempts + 1, next_at=now + LEASE)
        .returning(M.c.id)
    ).scalars()
    columns = (S.c.email, S.c.email_norm, S.c.name, S.c.language, S.c.token_version)
    own = (M.c.id, M.c.kind, M.c.newsletter, M.c.facts, M.c.attempts, M.c.created_at, M.c.subscriber_id)
    found = session.execute(
        sa.select(*own, *columns).join(S, S.c.id == M.c.subscriber_id).where(M.c.id.in_(list(ids))).order_by(M.c.id)
    )
    return [Due(**row) for row in found.mappings()]


def sent(session: Session, number: int, now: dt.datetime) -> None:
    """The relay has taken it; what it said is forgotten."""
    session.execute(sa.update(M).where(M.c.id == number).values(state="sent", sent_at=now, facts={}, reply=None))


def not_sent(session: Session, due: Due, reply: str, now: dt.datetime, *, final: bool) -> None:
    """It was refused: for good, or to be tried again after a pause until 48 hours have passed."""
    over = final or now - due.created_at >= GIVE_UP
    pause = PAUSES[min(due.attempts, len(PAUSES)) - 1]
    values: dict[str, Any] = {"state": "failed", "facts": {}} if over else {"state": "queued", "next_at": now + pause}
    session.execute(sa.update(M).where(M.c.id == due.id).values(**values, reply=reply[:200]))


def forget(session: Session, now: dt.datetime) -> None:
    """Drop mails that were sent, or given up, long ago."""
    session.execute(sa.delete(M).where(M.c.state.in_(("sent", "failed")), M.c.created_at < now - KEPT))


def next_at(session: Session) -> dt.datetime | None:
    """When the next mail is due; None when none waits."""
    chosen = sa.select(sa.func.min(M.c.next_at)).where(M.c.state.in_(("queued", "sending")))
    found: dt.datetime | None = session.execute(chosen).scalar()
    return found
