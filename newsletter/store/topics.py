"""Topics that people hold: which of them the settings no longer have, and what becomes of those who hold them.

    gone      held, but in no settings any more: a slug was mistyped, renamed or taken out
    rename    the same subject under another slug: subscriptions and waiting entries go along
    retire    the subject is over: its subscriptions end, and nobody has said no

Functions on a session; they never commit. Each may be run again: what is done already changes nothing.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Collection

import sqlalchemy as sa
from sqlmodel import Session

from newsletter import types
from newsletter.store import intake, tables

Place = intake.Place
UNFINISHED = (types.IssueState.APPROVED, types.IssueState.SENDING, types.IssueState.HELD)

_known = tables.metadata.tables
_subscriber, _subscription, _consent = _known["subscriber"], _known["subscription"], _known["consent"]
_entry_topic, _issue = _known["entry_topic"], _known["issue"]


@dataclasses.dataclass(frozen=True, slots=True)
class Renamed:
    """How many people go along; who `had` the new topic already, or `left` it before, does not. Waiting `entries`.

    `without_topic`: how many of those who left it have nothing else, and are unsubscribed.
    """

    moved: int
    had: int
    left: int
    entries: int
    without_topic: int


@dataclasses.dataclass(frozen=True, slots=True)
class Retired:
    """How many subscriptions `ended`; who had no other topic is `without_topic`, and unsubscribed."""

    ended: int
    without_topic: int


def held(session: Session, newsletter: str | None = None) -> dict[Place, int]:
    """Each topic that somebody has now, and how many do."""
    c = _subscription.c
    chosen = sa.select(c.newsletter, c.topic, sa.func.count()).where(c.until.is_(None))
    chosen = chosen.where(c.newsletter == newsletter) if newsletter else chosen
    found = session.execute(chosen.group_by(c.newsletter, c.topic).order_by(c.newsletter, c.topic))
    return {(letter, topic): int(count) for letter, topic, count in found}


def gone(session: Session, known: Collection[Place], newsletter: str | None = None) -> dict[Place, int]:
    """Those of `held` that are not among the `known` ones of the settings."""
    return {place: count for place, count in held(session, newsletter).items() if place not in known}


def unfinished(session: Session, newsletter: str) -> list[str]:
    """Issues that are frozen and not sent: their editions know topics by the slugs of then."""
    c = _issue.c
    chosen = sa.select(c.period).where(c.newsletter == newsletter, c.state.in_([s.value for s in UNFINISHED]))
    return [f"{newsletter}/{period}" for period in session.execute(chosen.order_by(c.period)).scalars()]


def rename(session: Session, newsletter: str, old: str, new: str, now: dt.datetime) -> Renamed:
    """Give everybody who holds `old` the topic `new`; who left `new` before does not get it back by this."""
    c = _subscription.c
    other = _subscription.alias()
    at_new = sa.select(other.c.id).where(
        other.c.subscriber_id == c.subscriber_id, other.c.newsletter == newsletter, other.c.topic == new
    )
    at_old = (c.newsletter == newsletter, c.topic == old)
    current = (*at_old, c.until.is_(None))
    left = _count(session, *current, at_new.where(other.c.until.is_not(None)).exists())
    had = _count(session, *current, at_new.where(other.c.until.is_(None)).exists())
    moved = _count(session, *current, ~at_new.exists())
    values = [sa.literal("renamed"), sa.literal(newsletter), sa.literal(new), sa.literal(now, _consent.c.at.type)]
    words = [sa.literal(f"topics rename {old} {new}"), sa.literal(f"the topic {old} is called {new}")]
    columns = ["subscriber_id", "what", "newsletter", "topic", "at", "how", "words"]
    chosen = sa.select(c.subscriber_id, *values, *words).where(*current, ~at_new.exists())
    session.execute(sa.insert(_consent).from_select(columns, chosen))
    session.execute(sa.update(_subscription).where(*current, at_new.exists()).values(until=now))
    session.execute(sa.update(_subscription).where(*at_old, ~at_new.exists()).values(topic=new))
    idle = _unsubscribe_idle(session, newsletter, old, now)
    return Renamed(moved, had, left, _rename_entries(session, newsletter, old, new), idle)


def _rename_entries(session: Session, newsletter: str, old: str, new: str) -> int:
    c = _entry_topic.c
    other = _entry_topic.alias()
    double = sa.exists().where(other.c.entry_id == c.entry_id, other.c.newsletter == newsletter, other.c.topic == new)
    at_old = (c.newsletter == newsletter, c.topic == old)
    session.execute(sa.delete(_entry_topic).where(*at_old, double))
    done = session.execute(sa.update(_entry_topic).where(*at_old).values(topic=new))
    return int(done.rowcount)  # type: ignore[attr-defined]  # a CursorResult


def retire(session: Session, newsletter: str, topic: str, now: dt.datetime) -> Retired:
    """End a topic for everybody. Whose last topic it was is unsubscribed: no import brings them back unasked."""
    c = _subscription.c
    current = (c.newsletter == newsletter, c.topic == topic, c.until.is_(None))
    ended = _count(session, *current)
    chosen = sa.select(
        c.subscriber_id, sa.literal("retired"), c.newsletter, c.topic, sa.literal(now, _consent.c.at.type),
        sa.literal("topic retired"),
    ).where(*current)  # fmt: skip
    columns = ["subscriber_id", "what", "newsletter", "topic", "at", "how"]
    session.execute(sa.insert(_consent).from_select(columns, chosen))
    session.execute(sa.update(_subscription).where(*current).values(until=now))
    return Retired(ended, _unsubscribe_idle(session, newsletter, topic, now))


def _unsubscribe_idle(session: Session, newsletter: str, topic: str, now: dt.datetime) -> int:
    """Whose subscription to a topic ended just now, and who has no other, is unsubscribed. Returns how many."""
    c, who = _subscription.c, _subscriber.c
    mine = c.subscriber_id == who.id
    ended = sa.exists().where(mine, c.newsletter == newsletter, c.topic == topic, c.until == now)
    states = [types.SubscriberState.ACTIVE.value, types.SubscriberState.PENDING.value]
    done = session.execute(
        sa.update(_subscriber)
        .where(who.state.in_(states), ended, ~sa.exists().where(mine, c.until.is_(None)))
        .values(state=types.SubscriberState.UNSUBSCRIBED.value, changed_at=now)
    )
    return int(done.rowcount)  # type: ignore[attr-defined]  # a CursorResult


def _count(session: Session, *conditions: sa.ColumnElement[bool]) -> int:
    chosen = sa.select(sa.func.count()).select_from(_subscription).where(*conditions)
    return int(session.execute(chosen).scalar_one())
