"""Whether links answer: each is asked once, without its body, as politely and as guardedly as sources are."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable, Sequence

from newsletter import config, errors
from newsletter.sources import fetch, manners

MOST_SECONDS = 15.0  # for one link, over all its hops, not counting the wait for its host's turn
AT_ONCE = 16


async def ask(
    urls: Sequence[str],
    limits: config.Collect,
    *,
    user_agent: str,
    now: dt.datetime,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, errors.FetchError | None]:
    """address -> None when it answers, else why not. Private addresses are refused unless the settings open them."""
    seconds = min(limits.deadline.total_seconds(), MOST_SECONDS)
    limits = limits.model_copy(update={"deadline": dt.timedelta(seconds=seconds)})
    hosts = manners.Manners(min(limits.concurrency, AT_ONCE))
    answers: dict[str, errors.FetchError | None] = dict.fromkeys(urls)

    async def one(url: str) -> None:
        try:
            await fetch.probe(url, limits, user_agent=user_agent, now=now, guest=hosts.visit())
        except errors.FetchError as error:
            answers[url] = error
        except manners.Paused as pause:
            answers[url] = errors.FetchError(
                url, f"its host asks to be left alone for {pause.seconds:.0f} s", status=429
            )

    try:
        for done, task in enumerate(asyncio.as_completed([one(url) for url in answers]), 1):
            await task
            if progress is not None:
                progress(done, len(answers))
    finally:
        hosts.close()
    return answers
