"""Tags: what an admin calls people by, to find them again. Nobody is mailed, or not mailed, because of one."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlmodel import Session

from newsletter.store import intake, tables

_tag = tables.metadata.tables["tag"]


def add(session: Session, subscriber_id: int, names: Sequence[str]) -> tuple[str, ...]:
    """Tag a person; returns the tags that are new."""
    has = set(intake.tags(session, [subscriber_id]).get(subscriber_id, ()))
    new = tuple(name for name in dict.fromkeys(names) if name not in has)
    intake.insert(session, _tag, [{"subscriber_id": subscriber_id, "name": name} for name in new])
    return new


def remove(session: Session, subscriber_id: int, names: Sequence[str]) -> tuple[str, ...]:
    """Take tags off a person; returns those that there were."""
    c = _tag.c
    gone = session.execute(
        sa.delete(_tag).where(c.subscriber_id == subscriber_id, c.name.in_(names)).returning(c.name)
    ).scalars()
    return tuple(sorted(gone))
