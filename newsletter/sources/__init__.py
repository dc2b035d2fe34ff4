"""Bytes from the world -> entries. `visit` asks many sources at once; each answers for itself.

    kind        read by
    http(s):    fetch (limits, guard) -> feed (RSS, Atom, RDF) or jsonfeed
    file:       files inside the workspace: JSON Lines, CSV, Markdown, or a feed
    arxiv:      arxiv: a search of arXiv's API
    hn:         hackernews: its front page, or a search
    hf:         huggingface: the papers of the day

    manners     one connection and a gap a host; timing: when to ask again

A source's fault is a value (`status` failed, `error` in words), never an exception: one bad source costs no other its
turn.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import functools
import http
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path

from newsletter import config, errors, types
from newsletter.sources import (
    arxiv,
    feed,
    files,
    hackernews,
    huggingface,
    manners,
    octets,
    plain,
    reading,
    rows,
    visits,
)
from newsletter.sources.visits import Ask, Bases

__all__ = ["Ask", "Bases", "visit"]
log = logging.getLogger(__name__)

_GONE = "it is not asked any more: take it out of newsletter.toml, or give its new address (--all asks once more)"
MOST_NAMED = 5  # bad rows of a file that are named; the rest is counted
_Visitor = Callable[[Ask, visits.Tour], Awaitable[types.Collected]]


async def visit(
    asks: Sequence[Ask],
    limits: config.Collect,
    *,
    folder: Path,
    user_agent: str,
    now: dt.datetime,
    keeper: manners.Keeper | None = None,
    bases: Bases = visits.BASES,
) -> AsyncGenerator[types.Collected, None]:
    """Each source's result, as it is ready: status new, unchanged, failed, or skipped because its host wants a pause.

    Who asks for the next result has stored the last: what is read ahead waits in bounded memory. At most
    `limits.concurrency` are asked at once, and a host one at a time, by all processes that share a `keeper`. `folder`
    is the workspace.
    """
    house = manners.Manners(limits.concurrency, keeper)
    reader = reading.Reader(limits.deadline.total_seconds(), len(asks))

    async def one(ask: Ask) -> tuple[types.Collected, manners.Visit]:
        guest = house.visit()
        return await _outcome(ask, visits.Tour(limits, folder, user_agent, now, reader, guest, bases), house), guest

    tasks = {asyncio.create_task(one(ask)) for ask in asks}
    ready: asyncio.Queue[asyncio.Task[tuple[types.Collected, manners.Visit]]] = asyncio.Queue()
    for each in tuple(tasks):
        each.add_done_callback(tasks.discard)  # a task keeps its result: nothing may keep the task
        each.add_done_callback(ready.put_nowait)
        del each
    try:
        for _ in asks:
            collected, guest = (await ready.get()).result()
            yield collected
            del collected
            await guest.done()  # who asks for the next has stored this one, or keeps it small
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        reader.close()
        house.close()


async def _outcome(ask: Ask, tour: visits.Tour, house: manners.Manners) -> types.Collected:
    kind = ask.url.partition(":")[0].lower() if ":" in ask.url else ""
    try:
        await house.admit(ask.url)
        return await _KINDS.get(kind, _unknown)(ask, tour)
    except manners.NotDue as other:
        return types.Collected(ask.url, "skipped", error=str(other))
    except manners.Paused as pause:
        until = tour.now + dt.timedelta(seconds=pause.seconds)
        return types.Collected(ask.url, "skipped", error=f"its host asked for a pause, until {until:%F %H:%M} UTC")
    except errors.FetchError as error:
        wait, code = error.retry_after, error.status
        what = f"{error}; {_GONE}" if code == http.HTTPStatus.GONE else str(error)
        return types.Collected(ask.url, "failed", error=what, retry_after=wait, code=code)
    except errors.NewsletterError as error:
        return types.Collected(ask.url, "failed", error=str(error))
    except Exception:
        log.exception("a source could not be read", extra={"source": ask.url})
        return types.Collected(ask.url, "failed", error="it could not be read, by a fault of ours; the log has more")


async def _web(ask: Ask, tour: visits.Tour) -> types.Collected:
    fetched, moved_to = await _fetched(ask, tour)
    read = functools.partial(feed.parse, url=fetched.url, now=tour.now, content_type=fetched.content_type)
    note = functools.partial(feed.note, content_type=fetched.content_type)
    return await visits.answer(ask, tour, fetched, read, moved_to, note)


async def _fetched(ask: Ask, tour: visits.Tour) -> tuple[types.Fetched, str | None]:
    """The answer, and where all permanent hops lead. A new home that is gone sends us back to the old one."""
    if not ask.resolved:
        fetched = await tour.fetch(ask.url, ask.validators)
        return fetched, fetched.moved_to
    try:
        fetched = await tour.fetch(ask.resolved, ask.validators)
        return fetched, fetched.moved_to or ask.resolved
    except errors.FetchError as error:
        if error.status not in (None, 404, 410):
            raise
    fetched = await tour.fetch(ask.url)
    return fetched, fetched.moved_to


async def _file(ask: Ask, tour: visits.Tour) -> types.Collected:
    paths = files.find(ask.url.partition(":")[2], tour.folder)
    validators = types.Validators(etag=files.stamp(paths))
    notes = [] if paths else [f"no file of the workspace matches {ask.url}"]
    notes += [] if paths and ask.validators == validators else files.left_out(ask.url.partition(":")[2], tour.folder)
    if not paths or ask.validators == validators:
        return types.Collected(ask.url, "unchanged", validators=validators, note=_listed(notes), whole=not paths)
    entries: list[types.FoundEntry] = []
    problems: list[str] = []
    read = 0
    for path in paths:
        name = path.relative_to(tour.folder).as_posix()
        try:
            found, bad, note = await _read(path, tour)
        except (errors.FeedError, OSError) as fault:
            problems.append(f"{name}: {fault.strerror if isinstance(fault, OSError) else fault}")
            continue
        read += 1
        entries += found
        problems += [f"{name}:{row.line}: {row.reason}" for row in bad]
        notes += [note] if note else []
    return types.Collected(
        ask.url,
        "failed" if paths and not read else "new",
        tuple(entries),
        validators=validators,
        error=_listed(problems),
        note=_listed(notes),
        whole=True,
    )


def _listed(lines: Sequence[str]) -> str | None:
    more = [f"and {len(lines) - MOST_NAMED} more"] if len(lines) > MOST_NAMED else []
    return "\n".join([*lines[:MOST_NAMED], *more]) or None


_Read = tuple[Sequence[types.FoundEntry], Sequence[types.BadRow], str | None]


async def _read(path: Path, tour: visits.Tour) -> _Read:
    name, reader = path.relative_to(tour.folder).as_posix(), files.reader(path)
    await tour.guest.body()
    body = await asyncio.to_thread(files.read, path, tour.limits.max_bytes)
    await tour.guest.grown(len(body))
    if reader is None:
        read = functools.partial(feed.parse, url="", now=tour.now)
        (_, entries), note = await tour.parse(functools.partial(visits.noted, read, feed.note), body)
        return entries, (), f"{name}: {note}" if note else None
    (good, bad), assumed = await tour.parse(functools.partial(_in_utf8, reader, name=name, now=tour.now), body)
    return [entry for _, entry in good], bad, f"{name}:{assumed.line}: {assumed}" if assumed else None


def _in_utf8(
    reader: files.Reader, body: bytes, *, name: str, now: dt.datetime
) -> tuple[rows.Rows, octets.Assumed | None]:
    text, assumed = octets.in_utf8(body)
    return reader(text, name=name, now=now), assumed


async def _unknown(ask: Ask, tour: visits.Tour) -> types.Collected:
    kinds = ", ".join(f"{kind}:" for kind in _KINDS)
    scheme = plain.line(ask.url.partition(":")[0], 20) if ":" in ask.url else ""
    what = f"“{scheme}:” is no kind of source" if scheme else "this is no source"
    raise errors.FetchError(ask.url, f"{what}; it must begin with one of {kinds}")


_KINDS: dict[str, _Visitor] = {
    "https": _web,
    "http": _web,
    "file": _file,
    "arxiv": arxiv.visit,
    "hn": hackernews.visit,
    "hf": huggingface.visit,
}
