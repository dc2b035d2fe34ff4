"""What is known of each source: its validators, its health, when it is asked again; and whose turn it is at a host."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Sequence

import sqlalchemy as sa
from sqlmodel import Session, col, select

from newsletter import intents, types
from newsletter.store import tables

EVERY = dt.timedelta(hours=1)  # between two visits that went well
SLACK = dt.timedelta(minutes=2)  # an hourly timer must not find each source not due yet by a second
FIRST_WAIT = dt.timedelta(minutes=5)  # after one failure; each further one doubles it
REFUSED_WAIT = dt.timedelta(hours=1)  # as above, where the server said that it is asked too often
LONGEST_WAIT = dt.timedelta(days=1)  # a source is never given up (miniflux#879)
LONGEST_HINT = dt.timedelta(days=8)  # a day that an answer is fresh, and six that the feed is not written (skipDays)
REFUSED = frozenset({403, 429})  # Reddit says 403 for 429 (FreshRSS#8928)
# A server may say 304 though its content has changed, and a feed may show but its last few entries: after so many, or
# so long, it is asked unconditionally. A little less than a day, so that a daily run that begins some minutes early
# does not wait for the next.
MOST_UNCHANGED = 24
LONGEST_UNCHANGED = dt.timedelta(hours=23)
# A permanent redirect counts when it stays so: a captive portal or a mistake does not.
MOVED_VISITS = 3
MOVED_AFTER = dt.timedelta(days=2)
LOOK_AGAIN = 0.25  # seconds between two looks at a host that somebody else holds
HOLD = 600.0  # seconds that a host may be held without a sign of life; longer than any visit takes
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
    session: Session,
    collected: types.Collected,
    now: dt.datetime,
    *,
    every: dt.timedelta = EVERY,
    places: Sequence[tuple[str, str]] = (),
    changed: bool = False,
    jitter: float = 0.0,
    row: tables.SourceState | None = None,
) -> tables.SourceState:
    """Write down how a visit went. A source that was skipped was not visited.

    `places` are the topics that it fed, `changed` says whether it told anything new, `jitter` is a random number from 0
    to 1, `row` is the source's where it is at hand. Call it in the transaction that stores the entries: validators that
    outlive a crash before that would hide them.
    """
    row = row or ensure(session, [collected.url])[collected.url]
    if collected.status == "skipped":
        return row
    row.last_checked_at = now
    row.wait_until = None
    if collected.status == "failed":
        row.failures += 1
        row.last_error = collected.error
        if collected.retry_after:
            row.wait_until = now + dt.timedelta(seconds=collected.retry_after)
        row.next_check_at = now + wait_after(
            row.failures, collected.retry_after, is_refusal=collected.code in REFUSED, jitter=jitter
        )
        if collected.gone:
            row.gone_at, row.next_check_at = row.gone_at or now, None
    else:
        row.failures = 0
        row.gone_at = None
        row.last_ok_at = now
        hint = min(dt.timedelta(seconds=collected.wait or 0.0), LONGEST_HINT)
        row.next_check_at = now + max(every, hint)
        row.last_error = collected.error
        row.note = collected.note
        row.places = sorted(map("/".join, places))
        row.title = collected.title or row.title
        if collected.pauses is not None:
            row.pauses = dataclasses.asdict(collected.pauses)
        _trust(row, collected, now, changed=changed)
        _move(row, collected.moved_to, now)
    session.add(row)
    return row


def _trust(row: tables.SourceState, collected: types.Collected, now: dt.datetime, *, changed: bool) -> None:
    """Keep what the next visit asks with, and whether it can be believed."""
    new = collected.validators
    if collected.whole:
        same = new != types.Validators() and new == types.Validators(row.etag, row.last_modified)
        if changed and row.body_hash not in (None, collected.hash):
            row.distrusted = same
        row.whole_at, row.unchanged_visits = now, 0
    else:
        row.unchanged_visits += 1
    # Always both: a validator of one answer says nothing of another (miniflux#2675).
    row.etag, row.last_modified = new.etag, new.last_modified
    row.body_hash = collected.hash


def _move(row: tables.SourceState, to: str | None, now: dt.datetime) -> None:
    """Follow a permanent redirect for good once it has stayed the same for some visits and days."""
    if to == row.moved_to:
        row.moving_to, row.moving_since, row.moving_visits = None, None, 0
        return
    if to is None:  # it answers at its own address again
        row.moved_to = row.moving_to = row.moving_since = None
        row.moving_visits = 0
        return
    if to != row.moving_to:
        row.moving_to, row.moving_since, row.moving_visits = to, now, 0
    row.moving_visits += 1
    if row.moving_visits >= MOVED_VISITS and now - (row.moving_since or now) >= MOVED_AFTER:
        row.moved_to = to
        row.moving_to, row.moving_since, row.moving_visits = None, None, 0


def validators(row: tables.SourceState, now: dt.datetime) -> types.Validators:
    """What to ask with: nothing when its validators lied, or when nobody has looked for long."""
    seen = row.whole_at and now - row.whole_at < LONGEST_UNCHANGED
    if row.distrusted or not seen or row.unchanged_visits >= MOST_UNCHANGED:
        return types.Validators()
    return types.Validators(row.etag, row.last_modified)


def has_fed(row: tables.SourceState, places: Sequence[tuple[str, str]]) -> bool:
    """Did its last good visit feed all those topics? Else it must show everything again: a 304 would hide it."""
    return row.places is not None and set(map("/".join, places)) <= set(row.places)


def pauses(row: tables.SourceState) -> types.Pauses:
    """When it says that it is not written."""
    found = row.pauses or {}
    return types.Pauses(found.get("ttl"), tuple(found.get("hours", ())), tuple(found.get("days", ())))


def guids(session: Session, row: tables.SourceState, since: dt.datetime) -> frozenset[str]:
    """What a source calls the entries that it has shown for the first time since then."""
    found = session.exec(
        select(tables.EntrySource.guid).where(
            tables.EntrySource.source_id == row.id, tables.EntrySource.seen_at >= since
        )
    )
    return frozenset(guid for guid in found if guid)


def held_for_age(session: Session, row: tables.SourceState, newsletters: Sequence[str]) -> frozenset[int]:
    """The entries of a source that an age rule keeps out of a newsletter."""
    found = session.exec(
        select(tables.Claim.entry_id)
        .join(tables.EntrySource, col(tables.EntrySource.entry_id) == tables.Claim.entry_id)
        .where(
            tables.EntrySource.source_id == row.id,
            col(tables.Claim.newsletter).in_(newsletters),
            col(tables.Claim.state) == types.EntryState.HELD,
            col(tables.Claim.issue_id).is_(None),
            col(tables.Claim.why).startswith(intents.HELD_FOR_AGE, autoescape=True),
        )
    )
    return frozenset(found)


def entry_counts(session: Session) -> dict[int, int]:
    """Source row -> how many entries it showed."""
    rows = session.exec(
        select(tables.EntrySource.source_id, sa.func.count()).group_by(col(tables.EntrySource.source_id))
    )
    return {source_id: int(count) for source_id, count in rows}


def wait_after(
    failures: int, retry_after: float | None = None, *, is_refusal: bool = False, jitter: float = 0.0
) -> dt.timedelta:
    """How long to leave a source alone after so many failures in a row; never less than the server asks for.

    `jitter` shortens it by up to a quarter, so that what failed together is not asked again together.
    """
    wait = min((REFUSED_WAIT if is_refusal else FIRST_WAIT) * (1 << min(failures - 1, 20)), LONGEST_WAIT)
    wait *= 1 - jitter / 4
    return max(wait, dt.timedelta(seconds=retry_after)) if retry_after else wait


def is_due(row: tables.SourceState | None, now: dt.datetime) -> bool:
    """Is it time to ask a source?"""
    if row is None:
        return True
    if row.gone_at is not None:
        return False
    if row.last_checked_at is not None and row.last_checked_at > now + SLACK:
        return True  # the clock was ahead then, or that was a rehearsal: what it put off is not
    return row.next_check_at is None or row.next_check_at <= now + (dt.timedelta() if row.failures else SLACK)


def asked_to_wait(row: tables.SourceState | None, now: dt.datetime) -> bool:
    """Does a Retry-After of the server run? Not even `--all` asks before its end."""
    return row is not None and row.wait_until is not None and row.wait_until > now


# -- whose turn it is: sources -----------------------------------------------------------------------------------------

_CLAIM = "collect "  # in front of a source's address, among the hosts: no host has a space


def claim(session: Session, urls: Sequence[str], owner: str, is_dead: Callable[[str], bool]) -> set[str]:
    """Claim sources for `owner` until `unclaim`; returns those that are theirs now. What the dead claimed is free."""
    held = {row.host: row for row in session.exec(select(tables.Host).where(col(tables.Host.host).startswith(_CLAIM)))}
    for dead in {row.owner for row in held.values() if row.owner != owner and is_dead(row.owner or "")}:
        for row in [row for row in held.values() if row.owner == dead]:
            session.delete(held.pop(row.host))
    session.flush()
    free = [url for url in urls if _CLAIM + url not in held]
    session.add_all(tables.Host(host=_CLAIM + url, owner=owner) for url in free)
    return set(free) | {url for url in urls if (had := held.get(_CLAIM + url)) and had.owner == owner}


def unclaim(session: Session, owner: str, urls: Sequence[str] | None = None) -> None:
    """Give claimed sources back; None: all that are the owner's."""
    mine = sa.delete(tables.Host).where(
        col(tables.Host.host).startswith(_CLAIM), col(tables.Host.owner) == owner
    )  # fmt: skip
    if urls is None:
        session.execute(mine)
        return
    for start in range(0, len(urls), _CHUNK):
        names = [_CLAIM + url for url in urls[start : start + _CHUNK]]
        session.execute(mine.where(col(tables.Host.host).in_(names)))


# -- whose turn it is: hosts -------------------------------------------------------------------------------------------


def take_turn(session: Session, host: str, owner: str, now: float, is_dead: Callable[[str], bool]) -> float:
    """Claim a host for `owner`: 0.0 when it is theirs, else the seconds after which to try again.

    `now` is in seconds since 1970, by the machine's clock. Whose owner is dead is free at once.
    """
    row = session.get(tables.Host, host) or tables.Host(host=host)
    if row.next_at > now:
        return row.next_at - now
    if row.owner not in (None, owner) and row.held_until > now and not is_dead(row.owner or ""):
        return min(row.held_until - now, LOOK_AGAIN)
    row.owner, row.held_until = owner, now + HOLD
    session.add(row)
    return 0.0


def give_turn(session: Session, host: str, owner: str, now: float, pause: float) -> None:
    """Give a host back: nobody asks it for `pause` seconds. A host that was taken away meanwhile stays so."""
    row = session.get(tables.Host, host)
    if row is not None and row.owner == owner:
        row.owner, row.held_until, row.next_at = None, 0.0, now + pause
        session.add(row)
