"""Who a link belongs to, in one statement: what a page shows of one person. Mail programs open many links at once."""

from __future__ import annotations

import dataclasses
import datetime as dt

import sqlalchemy as sa
from sqlmodel import Session

from newsletter.store import tables

_P = tables.Subscriber.__table__  # type: ignore[attr-defined]
_S = tables.Subscription.__table__  # type: ignore[attr-defined]
_X = tables.Suppression.__table__  # type: ignore[attr-defined]
_I = tables.Issue.__table__  # type: ignore[attr-defined]
_COLUMNS = (_P.c.email, _P.c.name, _P.c.language, _P.c.state, _P.c.paused_until, _P.c.token_version)
# Built once: to build it costs more than to run it.
_PERSON = (
    sa.select(
        *_COLUMNS,
        sa.exists().where(_X.c.address == _P.c.email_norm, _X.c.newsletter == "").label("suppressed"),
        _S.c.newsletter,
        _S.c.topic,
    )
    .select_from(_P.outerjoin(_S, sa.and_(_S.c.subscriber_id == _P.c.id, _S.c.until.is_(None))))
    .where(_P.c.id == sa.bindparam("id"))
)
_NEWSLETTER = sa.select(_I.c.newsletter).where(_I.c.id == sa.bindparam("id"))


@dataclasses.dataclass(frozen=True, slots=True)
class Glance:
    """A person; `topics` are those that they have now, `suppressed`: nothing at all may be sent to them."""

    email: str
    name: str
    language: str | None
    state: str
    paused_until: dt.datetime | None
    token_version: int
    suppressed: bool
    topics: frozenset[str]


def person(session: Session, subscriber_id: int) -> Glance | None:
    """Who somebody is, by the row's id; None when there is no such row."""
    rows = session.execute(_PERSON, {"id": subscriber_id}).all()
    if not rows:
        return None
    first = rows[0]
    topics = frozenset(f"{row.newsletter}/{row.topic}" for row in rows if row.topic is not None)
    return Glance(
        email=first.email,
        name=first.name,
        language=first.language,
        state=first.state,
        paused_until=first.paused_until,
        token_version=first.token_version,
        suppressed=bool(first.suppressed),
        topics=topics,
    )


def newsletter_of(session: Session, issue: int) -> str | None:
    """The newsletter of an issue, by the row's id; nothing else of it is read: issues are large."""
    found: str | None = session.execute(_NEWSLETTER, {"id": issue}).scalar()
    return found
