"""Bytes from the world -> entries. `visit` asks many sources at once; each answers for itself.

    kind        read by
    http(s):    fetch (limits, guard) -> feed (RSS, Atom, RDF) or jsonfeed
    file:       files inside the workspace: JSON Lines, or a feed

A source's fault is a value (`status` failed, `error` in words), never an exception: one bad source costs no other its
turn.
"""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import contextlib
import dataclasses
import datetime as dt
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from newsletter import config, errors, types
from newsletter.sources import feed, fetch, files, plain

log = logging.getLogger(__name__)

_NO_VALIDATORS = types.Validators()
MOST_NAMED = 5  # bad rows of a file that are named; the rest is counted


@dataclasses.dataclass(frozen=True)
class Ask:
    """One source to visit. `resolved` is the address it moved to for good, asked instead; `url` stays its name."""

    url: str
    name: str = ""
    validators: types.Validators = _NO_VALIDATORS
    resolved: str | None = None


@dataclasses.dataclass(frozen=True)
class _Tour:
    """What all visits of one run share. Parsing is pure Python: one thread does it, and one document is in memory."""

    limits: config.Collect
    folder: Path
    user_agent: str
    now: dt.datetime
    parser: concurrent.futures.Executor


_Visitor = Callable[[Ask, _Tour], Awaitable[types.Collected]]


async def visit(
    asks: Sequence[Ask], limits: config.Collect, *, folder: Path, user_agent: str, now: dt.datetime
) -> AsyncGenerator[types.Collected, None]:
    """Each source's result, as it is ready: status new, unchanged or failed.

    At most `limits.concurrency` are asked at once, and a host one at a time. `folder` is the workspace.
    """
    slots = asyncio.Semaphore(limits.concurrency)
    hosts: dict[str, asyncio.Lock] = collections.defaultdict(asyncio.Lock)
    parser = concurrent.futures.ThreadPoolExecutor(1, "parse")
    tour = _Tour(limits, folder, user_agent, now, parser)

    async def one(ask: Ask) -> types.Collected:
        async with hosts[_host(ask.resolved or ask.url)], slots:
            return await _outcome(ask, tour)

    tasks = [asyncio.create_task(one(ask)) for ask in asks]
    try:
        for done in asyncio.as_completed(tasks):
            yield await done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        parser.shutdown(wait=False, cancel_futures=True)  # who leaves early need not wait for a document


def _host(url: str) -> str:
    """What is asked one at a time: a host, or the source itself."""
    with contextlib.suppress(ValueError):
        return urlsplit(url).hostname or url
    return url


async def _outcome(ask: Ask, tour: _Tour) -> types.Collected:
    kind = ask.url.partition(":")[0].lower() if ":" in ask.url else ""
    try:
        return await _KINDS.get(kind, _unknown)(ask, tour)
    except errors.FetchError as error:
        return types.Collected(ask.url, "failed", error=str(error), retry_after=error.retry_after)
    except errors.NewsletterError as error:
        return types.Collected(ask.url, "failed", error=str(error))
    except Exception:
        log.exception("a source could not be read", extra={"source": ask.url})
        return types.Collected(ask.url, "failed", error="it could not be read, by a fault of ours; the log has more")


async def _web(ask: Ask, tour: _Tour) -> types.Collected:
    fetched, moved_to = await _fetched(ask, tour)
    if fetched.body is None:
        return types.Collected(ask.url, "unchanged", validators=fetched.validators, moved_to=moved_to)
    title, entries = await _parsed(fetched.body, fetched.url, tour)
    return types.Collected(ask.url, "new", entries, title=title, validators=fetched.validators, moved_to=moved_to)


async def _fetched(ask: Ask, tour: _Tour) -> tuple[types.Fetched, str | None]:
    """The answer, and the address to ask the next time. A new home that is gone sends us back to the old one."""

    def ask_at(url: str, validators: types.Validators) -> Awaitable[types.Fetched]:
        return fetch.fetch(url, tour.limits, user_agent=tour.user_agent, now=tour.now, validators=validators)

    if not ask.resolved:
        fetched = await ask_at(ask.url, ask.validators)
        return fetched, fetched.moved_to
    try:
        fetched = await ask_at(ask.resolved, ask.validators)
        return fetched, fetched.moved_to or ask.resolved
    except errors.FetchError as error:
        if error.status not in (None, 404, 410):
            raise
    fetched = await ask_at(ask.url, _NO_VALIDATORS)
    return fetched, fetched.moved_to


async def _parsed(body: bytes, url: str, tour: _Tour) -> feed.Parsed:
    return await asyncio.get_running_loop().run_in_executor(
        tour.parser, lambda: feed.parse(body, url=url, now=tour.now)
    )


async def _file(ask: Ask, tour: _Tour) -> types.Collected:
    paths = files.find(ask.url.partition(":")[2], tour.folder)
    validators = types.Validators(etag=files.stamp(paths))
    if ask.validators == validators:
        return types.Collected(ask.url, "unchanged", validators=validators)
    entries: list[types.FoundEntry] = []
    problems: list[str] = []
    read = 0
    for path in paths:
        name = path.relative_to(tour.folder).as_posix()
        try:
            found, bad = await _read(path, tour)
        except (errors.FeedError, OSError) as fault:
            problems.append(f"{name}: {fault.strerror if isinstance(fault, OSError) else fault}")
            continue
        read += 1
        entries += found
        problems += [f"{name}:{row.line}: {row.reason}" for row in bad]
    if len(problems) > MOST_NAMED:
        problems[MOST_NAMED:] = [f"and {len(problems) - MOST_NAMED} more"]
    status = "failed" if paths and not read else "new"
    return types.Collected(ask.url, status, tuple(entries), validators=validators, error="\n".join(problems) or None)


async def _read(path: Path, tour: _Tour) -> tuple[Sequence[types.FoundEntry], Sequence[types.BadRow]]:
    body = await asyncio.to_thread(files.read, path, tour.limits.max_bytes)
    if path.suffix.lower() == ".jsonl":
        good, bad = files.read_jsonlines(body, now=tour.now)
        return [entry for _, entry in good], bad
    _, entries = await _parsed(body, "", tour)
    return entries, ()


async def _arxiv(ask: Ask, tour: _Tour) -> types.Collected:
    category = re.search(r"\bcat:([A-Za-z-]+(?:\.[A-Za-z-]+)?)", ask.url)
    raise errors.FetchError(
        ask.url,
        "searches of arXiv (arxiv:) cannot be read; take the category's feed, "
        f"https://rss.arxiv.org/atom/{category[1] if category else 'cs.LG'}",
    )


async def _unknown(ask: Ask, tour: _Tour) -> types.Collected:
    kinds = ", ".join(f"{kind}:" for kind in _KINDS if kind != "arxiv")
    scheme = plain.line(ask.url.partition(":")[0], 20) if ":" in ask.url else ""
    what = f"“{scheme}:” is no kind of source" if scheme else "this is no source"
    raise errors.FetchError(ask.url, f"{what}; it must begin with one of {kinds}")


_KINDS: dict[str, _Visitor] = {"https": _web, "http": _web, "file": _file, "arxiv": _arxiv}
