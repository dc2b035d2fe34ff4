"""What every kind of source is given and how it answers: `Ask` in, `types.Collected` out, by way of a `Tour`."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import hashlib
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TypeVar

from newsletter import config, types
from newsletter.sources import emptiness, fetch, manners, plain, reading, timing

T = TypeVar("T")
Document = tuple[str | None, tuple[types.FoundEntry, ...]]  # its title, and its entries
Noted = tuple[Document, str | None]

NO_VALIDATORS = types.Validators()
NO_PAUSES = types.Pauses()
MOST_TEXT = 3_000_000  # characters that all entries of a document may have; beyond, each is cut to one of CUTS
CUTS = (2_000, 500)  # fixed ones: what is cut the same way each time is no edit
# Stands in front of a body's hash: with another reading of the same octets, they count as new.
_READING = "2"


@dataclasses.dataclass(frozen=True)
class Ask:
    """One source to visit. `resolved` is the address it moved to for good, asked instead; `url` stays its name.

    `validators` and `hash` are those of its last answer, none when everything is wanted again. `title`, `pauses` and
    `empty` are what that answer said and was. For sources that are searched: nothing before `since` is wanted, the
    source has shown the guids `known`, and nothing is missing that was published before `settled`.
    """

    url: str
    name: str = ""
    validators: types.Validators = NO_VALIDATORS
    resolved: str | None = None
    hash: str | None = None
    title: str | None = None
    pauses: types.Pauses = NO_PAUSES
    empty: bool = False
    since: dt.datetime | None = None
    known: AbstractSet[str] = frozenset()
    settled: dt.datetime | None = None


@dataclasses.dataclass(frozen=True)
class Bases:
    """Where the services live that are searched."""

    arxiv: str = "https://export.arxiv.org/api/query"
    hackernews: str = "https://hn.algolia.com/api/v1"
    huggingface: str = "https://huggingface.co/api/daily_papers"


BASES = Bases()


@dataclasses.dataclass(frozen=True)
class Tour:
    """What one visit works with."""

    limits: config.Collect
    folder: Path
    user_agent: str
    now: dt.datetime
    reader: reading.Reader
    guest: manners.Visit
    bases: Bases = BASES

    async def fetch(
        self, url: str, validators: types.Validators = NO_VALIDATORS, *, also: AbstractSet[int] = frozenset()
    ) -> types.Fetched:
        """As `fetch.fetch`."""
        return await fetch.fetch(
            url,
            self.limits,
            user_agent=self.user_agent,
            now=self.now,
            validators=validators,
            guest=self.guest,
            also=also,
        )

    async def parse(self, read: Callable[[bytes], T], body: bytes) -> T:
        """What `read` makes of a body; it can be pickled."""
        return await self.reader.read(functools.partial(read, body), len(body))


def bearable(read: Callable[[bytes], Document], body: bytes) -> Document:
    """What `read` makes of a body; the texts of one that is all text are cut, so that memory holds several such."""
    title, entries = read(body)
    for longest in CUTS:
        if sum(len(entry.summary) for entry in entries) > MOST_TEXT:
            entries = tuple(
                dataclasses.replace(entry, summary=plain.shorten(entry.summary, longest)) for entry in entries
            )
    return title, entries


def nothing(_: bytes) -> None:
    """There is nothing to know; a function of its own, since a process is told of it."""


def noted(read: Callable[[bytes], Document], note: Callable[[bytes], str | None], body: bytes) -> Noted:
    """As `bearable`, and what `note` says of the body."""
    return bearable(read, body), note(body)


async def answer(
    ask: Ask,
    tour: Tour,
    fetched: types.Fetched,
    read: Callable[[bytes], Document],
    moved_to: str | None = None,
    note: Callable[[bytes], str | None] = nothing,
) -> types.Collected:
    """What an answer means: the same as before (304, or the same octets), or a document that `read` understands.

    `note` says what a person should know of how that was read.
    """
    body, now = fetched.body, tour.now
    digest = f"{_READING}:{hashlib.sha256(body).hexdigest()}" if body is not None else ask.hash
    pauses = timing.pauses(body) if body is not None else ask.pauses
    collected = types.Collected(
        ask.url,
        "unchanged",
        validators=fetched.validators,
        moved_to=moved_to,
        wait=timing.wait(fetched.fresh_for, pauses, now),
        hash=digest,
        pauses=pauses,
        note=emptiness.why(fetched.url, ask.title, body, pauses, now) if ask.empty else None,
        whole=body is not None,
    )
    if body is None or digest == ask.hash:
        return collected
    (title, entries), said = await tour.parse(functools.partial(noted, read, note), body)
    empty = None if entries else emptiness.why(fetched.url, title, body, pauses, now)
    notes = "\n".join(each for each in (empty, said) if each) or None
    return dataclasses.replace(collected, status="new", title=title, entries=entries, note=notes)
