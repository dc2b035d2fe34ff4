"""Who may ask the API: keys are made, listed and revoked; a request's token is looked up, and guessing is slowed down.

A token is random and long; its SHA-256 is all that is kept. Wrong tokens are counted by the network that they came
from; what a key is not allowed to do, by the key.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import secrets
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import errors
from newsletter.app import readers
from newsletter.store import apikeys, throttle
from newsletter.store.apikeys import ApiKeyView, Scope

if TYPE_CHECKING:
    from newsletter.app import Newsletter

PREFIX = "nlk_"  # so that scanners of repositories and logs know one when they see it
TOKEN_OCTETS = 32
FAILING = (dt.timedelta(seconds=10), 30)  # wrong tokens of a network, what a key may not do: 30 at once, then so often
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TOKEN = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")

__all__ = ["ApiKeyView", "Beyond", "Unknown", "add", "admit", "count", "listing", "revoke"]

Rate = tuple[dt.timedelta, int]


class Unknown(errors.NewsletterError):
    """No token, one that is not ours, or one that was revoked."""


class Beyond(errors.NewsletterError):
    """The key is ours, but may only read."""


def add(app: Newsletter, name: str, scope: str) -> str:
    """Let a program in; returns its token, which is shown this once. Raises `errors.StateError` for a name in use."""
    if not _NAME.fullmatch(name):
        raise errors.UsageError("a key's name is of letters, digits, dots, hyphens and underscores, 64 at most")
    token = PREFIX + secrets.token_urlsafe(TOKEN_OCTETS)
    with app.store.write() as session:
        apikeys.add(session, name, _kept(token), Scope(scope), app.clock.now())
    return token


def listing(app: Newsletter) -> list[ApiKeyView]:
    """All keys, also those that are revoked."""
    with app.store.read() as session:
        return apikeys.listing(session)


def revoke(app: Newsletter, name: str) -> bool:
    """Let a program in no more, from its next request on; False if it was not. Raises `errors.NotFound`."""
    with app.store.write() as session:
        return apikeys.revoke(session, name, app.clock.now())


def admit(app: Newsletter, token: str | None, ip: str, *, writes: bool) -> ApiKeyView:
    """The key of a request.

    Raises `Unknown`, `Beyond`, and `readers.TooOften` where a network or a key has failed too often.
    """
    if token is None:
        raise Unknown("a bearer token is needed")
    now = app.clock.now()
    network = app.signer.digest(f"api {readers.network(ip)}")
    with app.store.read() as session:
        key = apikeys.find(session, _kept(token)) if _TOKEN.fullmatch(token) else None
        full = key is None and throttle.is_full(session, network, now, *FAILING)
    if key is None:
        if full:  # nothing is written: a flood takes no lock
            raise readers.TooOften(int(FAILING[0].total_seconds()))
        _count(app, network, FAILING)
        raise Unknown("no such token")
    if writes and key.scope is not Scope.WRITE:
        _count(app, app.signer.digest(f"api key {key.id}"), FAILING)
        raise Beyond("this key may only read")
    if apikeys.is_stale(key, now):
        with app.store.write() as session:
            apikeys.used(session, key, now)
    return key


def count(app: Newsletter, session: Session, bucket: str, rate: Rate) -> None:
    """Count one more; raises `readers.TooOften` when it is too many."""
    every, burst = rate
    if not throttle.allow(session, bucket, app.clock.now(), every=every, burst=burst):
        raise readers.TooOften(max(1, int(every.total_seconds())))


def _count(app: Newsletter, bucket: str, rate: Rate) -> None:
    with app.store.write() as session:
        count(app, session, bucket, rate)


def _kept(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
