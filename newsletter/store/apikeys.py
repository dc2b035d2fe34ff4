"""The keys of the API: who may ask it, and what a request with an Idempotency-Key was answered.

A token is shown once and kept as its SHA-256: it is random and long, so nothing slower is needed.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session

from newsletter import errors
from newsletter.store import tables

KEPT = dt.timedelta(hours=24)  # an answer, for who asks again
SEEN = dt.timedelta(minutes=1)  # how exactly it is noted when a key was last used

K = tables.ApiKey.__table__  # type: ignore[attr-defined]
A = tables.ApiAnswer.__table__  # type: ignore[attr-defined]


class Scope(enum.StrEnum):
    """What a key may do."""

    READ = "read"
    WRITE = "write"  # and read


@dataclasses.dataclass(frozen=True, slots=True)
class ApiKeyView:
    """A key as listed; its token is kept nowhere."""

    id: int
    name: str
    scope: Scope
    created_at: dt.datetime
    used_at: dt.datetime | None
    revoked_at: dt.datetime | None


def add(session: Session, name: str, digest: str, scope: Scope, now: dt.datetime) -> None:
    """Let a program in. Raises `errors.StateError` for a name that is in use."""
    if session.execute(sa.select(K.c.id).where(K.c.name == name)).first() is not None:
        raise errors.StateError(f"there is an API key {name!r} already; choose another name")
    session.execute(sa.insert(K).values(name=name, token_hash=digest, scope=scope.value, created_at=now))


def listing(session: Session) -> list[ApiKeyView]:
    """All keys, also those that are revoked, in the order in which they came."""
    return [_view(row) for row in session.execute(sa.select(K).order_by(K.c.id))]


def revoke(session: Session, name: str, now: dt.datetime) -> bool:
    """Let a program in no more; False if it was not let in any longer. Raises `errors.NotFound`."""
    row = session.execute(sa.select(K.c.id, K.c.revoked_at).where(K.c.name == name)).first()
    if row is None:
        raise errors.NotFound(f"there is no API key {name!r}; `newsletter api-keys list` shows them")
    if row.revoked_at is not None:
        return False
    session.execute(sa.update(K).where(K.c.id == row.id).values(revoked_at=now))
    return True


def find(session: Session, digest: str) -> ApiKeyView | None:
    """The key of a token, by its hash; None for a stranger's, and for one that is revoked."""
    row = session.execute(sa.select(K).where(K.c.token_hash == digest, K.c.revoked_at.is_(None))).first()
    return _view(row) if row is not None else None


def is_stale(key: ApiKeyView, now: dt.datetime) -> bool:
    """Is it to be noted that a key is used now? It is known to the minute."""
    return key.used_at is None or now - key.used_at >= SEEN


def used(session: Session, key: ApiKeyView, now: dt.datetime) -> None:
    """Note that a key was used."""
    session.execute(sa.update(K).where(K.c.id == key.id).values(used_at=now))


def _view(row: sa.Row[tuple[object, ...]]) -> ApiKeyView:
    return ApiKeyView(row.id, row.name, Scope(row.scope), row.created_at, row.used_at, row.revoked_at)


# -- asked again ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered. `same`: this one asks the very same."""

    status: int
    body: str
    same: bool


def begin(session: Session, api_key: int, key: str, request_hashes: Sequence[str], now: dt.datetime) -> Answer | None:
    """Take an Idempotency-Key for this transaction; or what it was answered within the last day.

    Two that come at once wait for each other: the second sees what the first was answered. `request_hashes` are of one
    request, by each secret there is or was; the first is kept.
    """
    forget(session, now)
    row = {"api_key_id": api_key, "key": key, "request_hash": request_hashes[0], "status": 0, "body": "", "at": now}
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    taken = session.execute(insert(A).values(row).on_conflict_do_nothing().returning(A.c.id)).first()
    if taken is not None:
        return None
    found = session.execute(sa.select(A).where(A.c.api_key_id == api_key, A.c.key == key)).one()
    return Answer(found.status, found.body, found.request_hash in request_hashes)


def finish(session: Session, api_key: int, key: str, status: int, body: str) -> None:
    """Remember the answer of the request that took the key."""
    taken = sa.update(A).where(A.c.api_key_id == api_key, A.c.key == key)
    session.execute(taken.values(status=status, body=body))


def forget(session: Session, now: dt.datetime) -> None:
    """Drop the answers that are older than a day: they name people."""
    session.execute(sa.delete(A).where(A.c.at <= now - KEPT))
