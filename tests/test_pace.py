"""An even pace, for the server and for a domain, across a restart."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from newsletter.deliver import pace


class Clock:
    def __init__(self, at: float = 1_000_000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


def booked(found: pace.Pace, clock: Clock, domain: str, count: int) -> list[float]:
    """When each of so many messages goes, each waiting for its slot."""
    times = []
    for _ in range(count):
        clock.at += found.book(domain)
        times.append(clock.at)
    return times


def test_without_a_limit_nobody_waits():
    assert [pace.Pace({}, {}, Clock()).book("example.org") for _ in range(3)] == [0, 0, 0]


def test_messages_leave_evenly_and_without_a_burst():
    clock = Clock()
    times = booked(pace.Pace({pace.SERVER: 4.0}, {}, clock), clock, "example.org", 9)

    assert [after - before for before, after in itertools.pairwise(times)] == [0.25] * 8


def test_an_idle_minute_is_not_saved_up():
    clock = Clock()
    found = pace.Pace({pace.SERVER: 2.0}, {}, clock)
    found.book("example.org")
    clock.at += 60

    assert [found.book("example.org") for _ in range(3)] == [0, 0.5, 1.0]


def test_a_domain_has_its_own_rate_within_the_servers():
    clock = Clock()
    found = pace.Pace({pace.SERVER: 10.0, "slow.example": 1.0}, {}, clock)

    assert found.book("slow.example") == 0
    assert found.book("slow.example") == pytest.approx(1.0)
    assert found.book("fast.example") == pytest.approx(1.1)


def test_a_restart_goes_on_where_it_was():
    clock = Clock()
    first = pace.Pace({pace.SERVER: 0.5}, {}, clock)
    first.book("example.org")
    second = pace.Pace({pace.SERVER: 0.5}, first.remembered(), clock)

    assert second.book("example.org") == pytest.approx(2.0)


def test_a_slot_of_a_clock_that_jumped_is_not_believed():
    clock = Clock()
    found = pace.Pace({pace.SERVER: 1.0}, {pace.SERVER: clock.at + 1e6, "gone.example": clock.at}, clock)

    assert found.book("example.org") == 0
    assert set(found.remembered()) == {pace.SERVER}


def test_stop_ends_the_wait():
    async def wait() -> None:
        stop = asyncio.Event()
        found = pace.Pace({pace.SERVER: 0.0001}, {}, Clock())
        await found.wait("example.org", stop)
        waiting = asyncio.create_task(found.wait("example.org", stop))
        stop.set()
        await asyncio.wait_for(waiting, 5)

    asyncio.run(wait())


def test_several_rates_mean_the_smallest():
    assert pace.limits((14.0, 2.0), {"Gmail.com": 20.0, "free.example": None}) == {pace.SERVER: 2.0, "gmail.com": 20.0}
    assert pace.limits((), {"gmail.com": 20.0}) == {"gmail.com": 20.0}
