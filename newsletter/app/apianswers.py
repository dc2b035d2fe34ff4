"""How the API answers changes: what it refuses and why, and once only where a request has an Idempotency-Key.

The key, the work and its answer are one transaction: done and remembered, or neither.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sqlmodel import Session

from newsletter import errors
from newsletter.store import apikeys
from newsletter.store.apikeys import ApiKeyView

if TYPE_CHECKING:
    from newsletter.app import Newsletter

Outcome = TypeVar("Outcome")


class Why(enum.StrEnum):
    """Why the API does not do what it was asked for."""

    LEFT = "left"  # this person has left that, or all; or the address bounced
    SUPPRESSED = "suppressed"
    UNPROVED = "consent"  # it needs the proof of a yes


class Refused(errors.StateError):
    """A no forbids it. The message names nobody."""

    def __init__(self, why: Why, message: str) -> None:
        self.why = why
        super().__init__(message)


class Invalid(errors.UsageError):
    """A member of a request cannot be taken; `member` says which. The message names nobody."""

    def __init__(self, member: str, message: str) -> None:
        self.member = member
        super().__init__(message)


class KeyReused(errors.UsageError):
    """An Idempotency-Key that came with another request before."""


@dataclasses.dataclass(frozen=True, slots=True)
class Again:
    """An Idempotency-Key, and what tells its request from others."""

    key: str
    request: str


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered, and is answered again."""

    status: int
    body: str


def once(
    app: Newsletter,
    key: ApiKeyView,
    again: Again | None,
    saying: Callable[[Outcome | Refused], Answer],
    work: Callable[[Session], Outcome],
) -> Answer:
    """Do `work` in one transaction, or answer what its key was answered; a `Refused` undoes it and is an answer, too.

    Raises `KeyReused`, and what `work` raises: then the key is free still.
    """
    with app.store.write() as session:
        if again is not None:
            kept = apikeys.begin(session, key.id, again.key, app.digests(again.request), app.clock.now())
            if kept is not None and not kept.same:
                raise KeyReused("this Idempotency-Key came with another request before")
            if kept is not None:
                return Answer(kept.status, kept.body)
        outcome: Outcome | Refused
        try:
            with session.begin_nested():
                outcome = work(session)
        except Refused as refusal:
            outcome = refusal
        answer = saying(outcome)
        if again is not None:
            apikeys.finish(session, key.id, again.key, answer.status, answer.body)
        return answer
