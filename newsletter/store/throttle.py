"""How often something may be asked: a bucket that leaks (GCRA), in the database so that it holds for all processes.

A bucket's name is a keyed hash of whose it is: an address, the network that a request came from.
"""

from __future__ import annotations

import datetime as dt

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session

from newsletter.store import tables

T = tables.Throttle.__table__  # type: ignore[attr-defined]


def allow(session: Session, bucket: str, now: dt.datetime, *, every: dt.timedelta, burst: int) -> bool:
    """Count one more in `bucket`, and say whether it is within `burst` at once and one in `every` after that.

    What is not allowed is not counted. A bucket that is fuller than can be was filled by a clock that was ahead: it
    counts as empty.
    """
    moment, step = now.timestamp(), every.total_seconds()
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    full = moment + burst * step
    later = sa.case((T.c.free_at.between(moment, full), T.c.free_at), else_=moment) + step
    done = session.execute(
        insert(T)
        .values(bucket=bucket, free_at=moment + step)
        .on_conflict_do_update(index_elements=["bucket"], set_={"free_at": later}, where=later <= full)
        .returning(T.c.bucket)
    )
    return done.first() is not None


def is_full(session: Session, bucket: str, now: dt.datetime, every: dt.timedelta, burst: int) -> bool:
    """Would `allow` say no? Nothing is counted."""
    moment, step = now.timestamp(), every.total_seconds()
    free_at = session.execute(sa.select(T.c.free_at).where(T.c.bucket == bucket)).scalar()
    return free_at is not None and moment <= free_at <= moment + burst * step < free_at + step


def forget(session: Session, now: dt.datetime) -> None:
    """Drop the buckets that are empty."""
    session.execute(sa.delete(T).where(T.c.free_at < now.timestamp()))
