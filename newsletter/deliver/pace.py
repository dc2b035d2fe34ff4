"""Rates: an even pace for the server as a whole and for single recipient domains; it survives a restart.

Each bucket is one number, the time of its next message (the generic cell rate algorithm with no burst): a message books
its slot and waits for it, and nobody else waits meanwhile. By the machine's clock: a rehearsal's clock has no say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

SERVER = "server"
HORIZON = 60.0  # a remembered slot farther ahead than this is a clock that jumped: not believed


class Pace:
    """The slots of one run. `limits`: bucket -> messages a second; `clock`: seconds since 1970."""

    def __init__(
        self, limits: Mapping[str, float], remembered: Mapping[str, float], clock: Callable[[], float]
    ) -> None:
        self._limits, self._clock = dict(limits), clock
        now = clock()
        self._next = {
            bucket: at if at <= now + max(HORIZON, 2 / self._limits[bucket]) else now
            for bucket, at in remembered.items()
            if bucket in self._limits
        }

    def book(self, domain: str) -> float:
        """Take the next slot for a message to a domain; how many seconds it is away."""
        buckets = [bucket for bucket in (SERVER, domain) if bucket in self._limits]
        if not buckets:
            return 0.0
        now = self._clock()
        at = max([now, *(self._next.get(bucket, now) for bucket in buckets)])
        for bucket in buckets:
            self._next[bucket] = at + 1 / self._limits[bucket]
        return at - now

    async def wait(self, domain: str, stop: asyncio.Event) -> None:
        """Book a slot and wait for it, or for `stop`."""
        seconds = self.book(domain)
        if seconds > 0:
            try:
                await asyncio.wait_for(stop.wait(), seconds)
            except TimeoutError:
                return

    def remembered(self) -> dict[str, float]:
        """What a restart must know."""
        return dict(self._next)


def limits(rates: tuple[float, ...], per_domain: Mapping[str, float | None]) -> dict[str, float]:
    """Bucket -> messages a second, from the settings; several rates for the server mean the smallest."""
    found = {domain.lower(): rate for domain, rate in per_domain.items() if rate}
    return {SERVER: min(rates), **found} if rates else found
