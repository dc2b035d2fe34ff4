"""What is known of each source: its validators, its health, and when it is asked again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import sqlalchemy as sa
from sqlmodel import Session, col, select

from newsletter import types
from newsletter.store import tables

EVERY = dt.timedelta(hours=1)  # between two visits that went well
FIRST_WAIT = dt.timedelta(minutes=5)  # after one failure; each further one doubles it
LONGEST_WAIT = dt.timedelta(days=1)  # a source is never given up (miniflux#879)
_CHUNK = 400


def known(session: Session, urls: Sequence[str]) -> dict[str, tables.SourceState]:
    """The rows of those sources that have one, by the address that the settings give."""
    found: dict[str, tables.SourceState] = {}
    for start in range(0, len(urls), _CHUNK):
        rows = session.exec(
            select(tables.SourceState).where(col(tables.SourceState.url).in_(urls[start : start + _CHUNK]))
        )
        found |= {row.url: row for row in rows}
    return found


def ensure(session: Session, urls: Sequence[str]) -> dict[str, tables.SourceState]:
    """The rows of all those sources, made where there is none; flushed, so that each has an id."""
    rows = known(session, urls)
    for url in urls:
        if url not in rows:
            rows[url] = tables.SourceState(url=url)
            session.add(rows[url])
    session.flush()
    return rows


def record(
    session: Session, collected: types.Collected, now: dt.datetime, *, every: dt.timedelta = EVERY
) -> tables.SourceState:
    """Write down how a visit went. A source that was skipped was not visited.

    Call it in the transaction that stores the entries: validators that outlive a crash before that would hide them.
    """
    row = ensure(session, [collected.url])[collected.url]
    if collected.status == "skipped":
        return row
    row.last_checked_at = now
    if collected.status == "failed":
        row.failures += 1
        row.last_error = collected.error
        row.next_check_at = now + wait_after(row.failures, collected.retry_after)
    else:
        row.failures = 0
        row.last_ok_at = now
        row.next_check_at = now + every
        row.last_error = collected.error
        # Always both: a validator of one answer says nothing of another (miniflux#2675).
        row.etag, row.last_modified = collected.validators.etag, collected.validators.last_modified
        row.moved_to = collected.moved_to
        row.title = collected.title or row.title
    session.add(row)
    session.flush()
    return row


def entry_counts(session: Session) -> dict[int, int]:
    """Source row -> how many entries it showed."""
    rows = session.exec(
        select(tables.EntrySource.source_id, sa.func.count()).group_by(col(tables.EntrySource.source_id))
    )
    return {source_id: int(count) for source_id, count in rows}


def wait_after(failures: int, retry_after: float | None = None) -> dt.timedelta:
    """How long to leave a source alone after so many failures in a row; never less than the server asks for."""
    wait = min(FIRST_WAIT * (1 << min(failures - 1, 20)), LONGEST_WAIT)
    return max(wait, dt.timedelta(seconds=retry_after)) if retry_after else wait


def is_due(row: tables.SourceState | None, now: dt.datetime) -> bool:
    """Is it time to ask a source?"""
    return row is None or row.next_check_at is None or row.next_check_at <= now


def asked_to_wait(row: tables.SourceState | None, now: dt.datetime) -> bool:
    """Does a Retry-After of the server run that is longer than our own wait? Not even `--all` asks before its end."""
    if row is None or not row.failures or row.next_check_at is None or row.last_checked_at is None:
        return False
    return row.next_check_at > now and row.next_check_at - row.last_checked_at > wait_after(row.failures)
