"""Documents that cost too much to read cost a process, and nobody else anything."""

import asyncio
import functools
import time

import pytest

from newsletter import errors
from newsletter.sources import feed, reading

SMALL, LARGE = 10, reading.LARGE + 1


def run(*calls, sources=1, seconds=30.0):
    """What became of (function of no argument, size) pairs: values and exceptions, in order."""

    async def all_of_them():
        reader = reading.Reader(seconds, sources)
        try:
            return await asyncio.gather(*(reader.read(*each) for each in calls), return_exceptions=True)
        finally:
            reader.close()

    return asyncio.run(all_of_them())


def hoard(octets):
    return len(b"x" * octets)


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return "read"


def refuse():
    raise errors.FeedError("no feed")


def break_down():
    raise ZeroDivisionError


@pytest.mark.parametrize(("size", "sources"), [(SMALL, 1), (SMALL, reading.MANY), (LARGE, 1)])
def test_a_document_is_read_wherever_that_happens(size, sources):
    body = b'<rss version="2.0"><channel><title>T</title><item><title>A</title></item></channel></rss>'
    call = functools.partial(feed.parse, body, url="https://a.test/", now=None)
    good, bad = run((call, size), (refuse, size), sources=sources)
    assert (good[0], [entry.title for entry in good[1]]) == ("T", ["A"])
    assert isinstance(bad, errors.FeedError)
    assert str(bad) == "no feed"


def test_too_much_memory_is_told_and_the_next_document_is_read():
    first, second = run((functools.partial(hoard, 2 * reading.MEMORY), LARGE), (functools.partial(hoard, 10), LARGE))
    assert isinstance(first, errors.FeedError)
    assert "150 MB of memory" in str(first)
    assert second == 10


def test_too_much_time_is_told_and_small_documents_do_not_wait_for_it():
    slow, small, large = run(
        (functools.partial(spin, 30), LARGE),
        (functools.partial(spin, 0), SMALL),
        (functools.partial(spin, 0), LARGE),
        seconds=0.5,
    )
    assert isinstance(slow, errors.FeedError)
    assert "longer than 0.5 s" in str(slow)
    assert (small, large) == ("read", "read")


def test_a_fault_of_ours_is_told_as_one():
    (found,) = run((break_down, LARGE))
    assert isinstance(found, RuntimeError)
    assert "ZeroDivisionError" in str(found)


def test_leaving_ends_what_is_being_read():
    async def leave():
        reader = reading.Reader(60)
        task = asyncio.ensure_future(reader.read(functools.partial(spin, 60), LARGE))
        await asyncio.sleep(0.5)
        reader.close()
        with pytest.raises(errors.FeedError):
            await asyncio.wait_for(task, 20)

    asyncio.run(leave())
