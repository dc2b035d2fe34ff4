"""How hosts are treated, against real servers."""

import asyncio
import datetime as dt
import time

import pytest
from httpd import Reply, serve

from newsletter import config, errors
from newsletter.sources import fetch, manners

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
LIMITS = config.Collect(allow_private=["127.0.0.0/8"], deadline=dt.timedelta(seconds=5))


class Book:
    """A keeper that writes down what it is asked; `answers` are what it says to `take`, the last for ever."""

    def __init__(self, *answers):
        self.answers, self.log = list(answers) or [0.0], []

    def admit(self, source):
        return 0.0

    def take(self, host):
        self.log.append(("take", host))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def give(self, host, pause):
        self.log.append(("give", host))


def run(*urls, keeper=None, gap=manners.gap, concurrency=8):
    async def all_of_them():
        house = manners.Manners(concurrency, keeper, gap)

        async def one(url):
            async with house.visit() as guest:
                return await fetch.fetch(url, LIMITS, user_agent="x", now=NOW, guest=guest)

        try:
            return await asyncio.gather(*map(one, urls), return_exceptions=True)
        finally:
            house.close()

    return asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("arxiv.org", "arxiv.org"),
        ("export.arxiv.org", "arxiv.org"),
        ("RSS.arXiv.org.", "arxiv.org"),
        ("notarxiv.org", "notarxiv.org"),
    ],
)
def test_all_of_arxiv_is_one_host(host, name):
    assert manners.key(host) == name


def test_gaps_are_for_public_hosts():
    assert manners.gap("arxiv.org", private=False) == 3.0
    assert manners.gap("blog.test", private=False) == 1.0
    assert manners.gap("127.0.0.1", private=True) == 0.0


def test_requests_to_one_host_keep_their_gap_and_other_hosts_do_not_wait():
    # From the end of one answer, which the client cannot see before it is written, to the beginning of the next
    # request: a loaded machine only makes that longer. The gap runs from the beginning of a request, a little earlier.
    ended, gaps = [], []

    def note(_):
        if ended:
            gaps.append(time.monotonic() - ended[-1])
        return Reply(b"x", pieces=answer, headers={"Content-Length": "1"})

    def answer():
        ended.append(time.monotonic())
        yield b"x"

    with serve({f"/{i}": note for i in range(4)}) as one, serve({"/": Reply(b"x")}, host="127.0.0.2") as other:
        run(*(one.url(f"/{i}") for i in range(4)), other.url(), gap=lambda _, private: 0.5)
        assert len(gaps) == 3
        assert min(gaps) > 0.2  # half a second, but for what one request may take on a busy machine
        assert len(other.asked) == 1


def test_a_redirect_waits_for_its_own_hosts_turn():
    with serve(host="127.0.0.1") as one, serve(host="127.0.0.2") as other:
        for server, target in ((one, other), (other, one)):
            for i in range(5):
                server.routes[f"/go{i}"] = Reply(status=302, headers={"Location": target.url("/end")})
            server.routes["/end"] = Reply(b"x")
        urls = [server.url(f"/go{i}") for i in range(5) for server in (one, other)]
        found = run(*urls, concurrency=2)
        assert [fetched.body for fetched in found] == [b"x"] * 10
        assert (one.busiest, other.busiest) == (1, 1)


def test_a_host_is_taken_once_for_all_that_wait_and_given_back():
    book = Book()
    with serve({f"/{i}": Reply(b"x") for i in range(5)}) as server:
        run(*(server.url(f"/{i}") for i in range(5)), keeper=book)
    assert book.log == [("take", "127.0.0.1"), ("give", "127.0.0.1")]


def test_who_holds_a_host_is_waited_for():
    book = Book(0.01, 0.01, 0.0)
    with serve({"/": Reply(b"x")}) as server:
        assert run(server.url(), keeper=book)[0].body == b"x"
    assert [what for what, _ in book.log] == ["take", "take", "take", "give"]


def test_a_host_that_wants_a_long_pause_is_not_waited_for():
    with serve({"/": Reply(b"x")}) as server:
        (paused,) = run(server.url(), keeper=Book(5000.0))
        assert isinstance(paused, manners.Paused)
        assert paused.seconds == 5000
        assert not server.asked


def test_a_host_is_given_back_after_a_fault():
    book = Book()
    with serve({"/": Reply(status=500)}) as server:
        assert isinstance(run(server.url(), keeper=book)[0], errors.FetchError)
    assert book.log[-1] == ("give", "127.0.0.1")


def test_a_pause_that_a_public_host_asks_for_holds_for_all_of_it():
    async def turns():
        house = manners.Manners(2)
        async with house.turn("blog.test") as turn:
            turn.pause = 5000.0
        with pytest.raises(manners.Paused):
            async with house.turn("blog.test"):
                raise AssertionError
        async with house.turn("other.test"):
            pass
        house.close()

    asyncio.run(turns())


def test_turns_at_a_host_begin_a_gap_apart_whatever_they_last():
    began = []

    async def turns():
        house = manners.Manners(8, gap=lambda _, private: 0.05)

        async def one(seconds):
            async with house.turn("blog.test"):
                began.append(asyncio.get_running_loop().time())
                await asyncio.sleep(seconds)

        await asyncio.gather(one(0), one(0.08), one(0))
        house.close()

    asyncio.run(turns())
    first, second, third = began
    assert second - first >= 0.05 - 1e-6
    assert third - second >= 0.08 - 1e-6


def test_small_bodies_need_no_leave_and_the_first_large_one_always_comes_to_its_end():
    async def grow():
        house = manners.Manners(8)
        first, second, small = house.visit(), house.visit(), house.visit()
        await first.grown(manners.LARGE + 1)
        await second.grown(manners.LARGE + manners.BUDGET - manners.STEP)
        waiting = asyncio.ensure_future(second.grown(manners.LARGE + manners.BUDGET))
        await small.grown(manners.LARGE)
        await asyncio.wait_for(first.grown(manners.LARGE + 3 * manners.BUDGET), 5)  # beyond the budget
        assert not waiting.done()
        await first.done()
        await asyncio.wait_for(waiting, 5)
        house.close()

    asyncio.run(grow())


def test_a_visit_has_one_place_for_all_its_bodies():
    async def bodies():
        house = manners.Manners(1)
        visit, other = house.visit(), house.visit()
        await visit.body()
        await asyncio.wait_for(visit.body(), 5)
        waiting = asyncio.ensure_future(other.body())
        await asyncio.sleep(0)
        assert not waiting.done()
        await visit.done()
        await asyncio.wait_for(waiting, 5)
        house.close()

    asyncio.run(bodies())


class Elsewhere(Book):
    """A keeper whose sources another process is asking, for so many looks; then they are due, or not."""

    def __init__(self, looks, *, is_due):
        super().__init__()
        self.looks, self.is_due = looks, is_due

    def admit(self, source):
        self.looks -= 1
        if self.looks >= 0:
            return 0.01
        if not self.is_due:
            raise manners.NotDue("it was asked")
        return 0.0


@pytest.mark.parametrize("is_due", [True, False])
def test_a_source_that_another_process_asks_is_waited_for_without_a_turn(is_due):
    async def admit():
        house = manners.Manners(1, Elsewhere(3, is_due=is_due))
        await house.admit("https://blog.test/feed")
        house.close()

    if is_due:
        asyncio.run(admit())
    else:
        with pytest.raises(manners.NotDue):
            asyncio.run(admit())


def test_a_source_that_another_process_is_stuck_at_is_left_alone(monkeypatch):
    monkeypatch.setattr(manners, "PATIENCE", 0.05)

    async def admit():
        house = manners.Manners(1, Elsewhere(10_000, is_due=True))
        await house.admit("https://blog.test/feed")

    with pytest.raises(manners.NotDue, match="another process"):
        asyncio.run(admit())
