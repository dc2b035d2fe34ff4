"""What every kind of source is given and how it answers: `Ask` in, `types.Collected` out, by way of a `Tour`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import datetime as dt
import hashlib
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TypeVar

from newsletter import config, types
from newsletter.sources import fetch, manners, timing

T = TypeVar("T")
Document = tuple[str | None, tuple[types.FoundEntry, ...]]  # its title, and its entries

NO_VALIDATORS = types.Validators()
NO_PAUSES = types.Pauses()
# Stands in front of a body's hash: with another reading of the same octets, they count as new.
_READING = "1"


@dataclasses.dataclass(frozen=True)
class Ask:
    """One source to visit. `resolved` is the address it moved to for good, asked instead; `url` stays its name.

    `validators` and `hash` are those of its last answer, none when everything is wanted again. `pauses` and `empty` are
    what that answer said and was. For sources that are searched: nothing before `since` is wanted, the source has shown
    the guids `known`, and nothing is missing that was published before `settled`.
    """

    url: str
    name: str = ""
    validators: types.Validators = NO_VALIDATORS
    resolved: str | None = None
    hash: str | None = None
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
    """What one visit works with. Parsing is pure Python: one thread does it, one document at a time."""

    limits: config.Collect
    folder: Path
    user_agent: str
    now: dt.datetime
    parser: concurrent.futures.Executor
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

    async def parse(self, read: Callable[[], T]) -> T:
        """What `read` makes of a body, whose place in memory is then free."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.parser, read)
        finally:
            await self.guest.done()


async def answer(
    ask: Ask, tour: Tour, fetched: types.Fetched, read: Callable[[bytes], Document], moved_to: str | None = None
) -> types.Collected:
    """What an answer means: the same as before (304, or the same octets), or a document that `read` understands."""
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
        note=emptiness(pauses, now) if ask.empty else None,
        whole=body is not None,
    )
    if body is None or digest == ask.hash:
        await tour.guest.done()
        return collected
    title, entries = await tour.parse(lambda: read(body))
    note = None if entries else emptiness(pauses, now)
    return dataclasses.replace(collected, status="new", title=title, entries=entries, note=note)


def emptiness(pauses: types.Pauses, now: dt.datetime) -> str:
    """Why a document may be empty."""
    # A day of the feed's own zone may begin or end half a day from ours.
    for moment in (now, now - dt.timedelta(hours=12)):
        if timing.is_paused(pauses, moment):
            by = "skipDays" if moment.weekday() in pauses.days else "skipHours"
            return f"{types.EMPTY_EXPECTED}it says that it is not written on a {moment:%A} at this hour ({by})"
    return f"{types.EMPTY_SUSPICIOUS}it can be read, and has no entry"
