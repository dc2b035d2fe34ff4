"""How hosts are treated: one connection at a time, a gap between two requests, a pause when they ask for one.

    a visit -> admit(source): wait for another process that is asking it
            -> turn(host): [lock in this process] -> [the host's row: other processes] -> [the gap] -> [a free slot]

- A turn is for one request: each hop of a redirect waits for its own host's, and gives the one before it back first, so
  that no two visits wait for each other.
- All of arXiv is one host: three seconds and one connection over API and RSS together (arXiv, api/tou.md).
- Private hosts are our own: they need no gap, and a Retry-After is theirs alone, not all their neighbours'
  (FreshRSS#7870).
- Bodies wait in memory until what is in them is stored: so many at a time, and large ones within a budget of octets.
"""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable
from typing import Protocol, Self

GAP = 1.0  # seconds between the beginnings of two requests to a public host
ARXIV, ARXIV_GAP = "arxiv.org", 3.0
LARGE = 500_000  # octets of a body that need no leave
BUDGET = 4_000_000  # octets that all bodies may have beyond that, together
STEP = 1_000_000  # octets that are asked for at a time
PATIENCE = 120.0  # seconds: who asks for a longer pause is left for another run


class Paused(Exception):
    """The host asked to be left alone for longer than a run waits; `seconds` are left."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__()


class NotDue(Exception):
    """The source needs no asking any more, or somebody else is at it; the text says which."""


class Keeper(Protocol):
    """Keeps the turns of hosts, and of sources, among processes. Its methods block, and are called from one thread."""

    def admit(self, source: str) -> float:
        """May a source be asked? 0.0: yes; else the seconds after which to ask again. Raises `NotDue`."""

    def take(self, host: str) -> float:
        """Claim a host: 0.0 when it is ours, else the seconds after which to ask again."""

    def give(self, host: str, pause: float) -> None:
        """Give a host back; nobody may ask it for `pause` seconds."""


def key(host: str) -> str:
    """What counts as one host."""
    host = host.lower().rstrip(".")
    return ARXIV if host == ARXIV or host.endswith(f".{ARXIV}") else host


def gap(host: str, *, private: bool) -> float:
    """Seconds between the beginnings of two requests."""
    if private:
        return 0.0
    return ARXIV_GAP if host == ARXIV else GAP


@dataclasses.dataclass
class Turn:
    """One request's turn at a host. Who asks notes whether it is private, and the pause that it wants."""

    private: bool = False
    pause: float = 0.0


class Manners:
    """What all visits of one run share."""

    def __init__(self, concurrency: int, keeper: Keeper | None = None, gap: Callable[..., float] = gap) -> None:
        self.slots = asyncio.Semaphore(concurrency)
        self.bodies = asyncio.Semaphore(concurrency)
        self.budget = _Budget(BUDGET)
        self._hosts: dict[str, _Host] = collections.defaultdict(_Host)
        self._keeper = keeper
        self._gap = gap
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "turns")

    def visit(self) -> Visit:
        """For one source."""
        return Visit(self)

    async def admit(self, source: str) -> None:
        """Wait while another process is at that source. Holds nothing meanwhile. Raises `NotDue`."""
        if self._keeper is None:
            return
        end = _time() + PATIENCE
        while (left := await self._ask(self._keeper.admit, source)) > 0:
            if _time() > end:
                raise NotDue(f"another process has been asking it for over {PATIENCE:g} s")
            await asyncio.sleep(left)

    @contextlib.asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[Turn]:
        """Wait for a host's turn and for a slot, and hold both. Raises `Paused`."""
        name = key(name)
        host = self._hosts[name]
        host.waiting += 1
        try:
            async with host.lock:
                try:
                    turn = Turn()
                    await self._mine(name, host)
                    async with self.slots:
                        began = _time()
                        try:
                            yield turn
                        finally:
                            host.next = max(began + self._gap(name, private=turn.private), _time() + turn.pause)
                finally:
                    if host.waiting == 1:
                        await self._give(name, host)
        finally:
            host.waiting -= 1
            if not host.waiting and not host.is_held and host.next <= _time():
                self._hosts.pop(name, None)

    async def _mine(self, name: str, host: _Host) -> None:
        """Wait until the host is ours and its gap is over."""
        while True:
            left = host.next - _time()
            if left > PATIENCE:
                raise Paused(left)
            if left > 0:
                await asyncio.sleep(left)
            if self._keeper is None or host.is_held:
                return
            left = await self._ask(self._keeper.take, name)
            if left <= 0:
                host.is_held = True
                return
            if left > PATIENCE:
                raise Paused(left)
            await asyncio.sleep(left)

    async def _give(self, name: str, host: _Host) -> None:
        if self._keeper is not None and host.is_held:
            host.is_held = False
            # Also when this visit is being cancelled: another process waits.
            await asyncio.shield(self._ask(self._keeper.give, name, max(host.next - _time(), 0.0)))

    def _ask(self, what: Callable[..., float | None], *given: object) -> asyncio.Future[float]:
        return asyncio.get_running_loop().run_in_executor(self._thread, lambda: what(*given) or 0.0)

    def close(self) -> None:
        """Wait for what is being given back; nothing else follows."""
        self._thread.shutdown()


@dataclasses.dataclass
class _Host:
    lock: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)
    waiting: int = 0
    next: float = 0.0  # by the loop's clock
    is_held: bool = False


def _time() -> float:
    return asyncio.get_running_loop().time()


class Visit:
    """One source's visit: its turns, and the place that its body takes in memory until `done`."""

    def __init__(self, manners: Manners) -> None:
        self.turn = manners.turn
        self._manners = manners
        self._held = contextlib.AsyncExitStack()
        self._has_place = False
        self._granted = LARGE

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.done()

    async def body(self) -> None:
        """Before a body is read; a visit has one place for all its bodies."""
        if not self._has_place:
            self._has_place = True
            await self._held.enter_async_context(self._manners.bodies)

    async def grown(self, size: int) -> None:
        """When a body has grown to so many octets."""
        while size > self._granted:
            await self._manners.budget.take(self, STEP)
            self._granted += STEP

    async def done(self) -> None:
        """What was in the body is stored, or there is none."""
        await self._held.aclose()
        await self._manners.budget.give(self)
        self._held, self._has_place, self._granted = contextlib.AsyncExitStack(), False, LARGE


class _Budget:
    """Octets for those that take them step by step. The first one gets what it asks for, so that it comes to an end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: dict[Visit, int] = {}  # in the order of their coming
        self._changed = asyncio.Condition()

    async def take(self, visit: Visit, octets: int) -> None:
        self._taken.setdefault(visit, 0)
        async with self._changed:
            await self._changed.wait_for(lambda: self._may(visit, octets))
            self._taken[visit] += octets

    def _may(self, visit: Visit, octets: int) -> bool:
        return sum(self._taken.values()) + octets <= self._most or next(iter(self._taken)) is visit

    async def give(self, visit: Visit) -> None:
        if self._taken.pop(visit, None) is not None:
            async with self._changed:
                self._changed.notify_all()
