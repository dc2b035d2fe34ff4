"""arXiv's API: `arxiv:QUERY` -> the newest papers that a search finds (arXiv, api/user-manual.md).

    arxiv:cat:cs.LG AND all:"reinforcement learning"

Newest first, a page at a time, until a page shows nothing but what is known and settled, or is older than what is
wanted. arXiv's search runs behind its announcements, and held papers come late under their old date: the last days are
looked at again each time. A page that is empty although the search has more is an anomaly of the API and is asked for
again. What came before a fault is kept.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import re
import urllib.parse
from collections.abc import Sequence

from newsletter import dates, errors, types
from newsletter.sources import feed, visits

PAGE = 100
MOST = 2000  # the API gives slices of at most so many
TRIES = 3  # of a page that is empty and should not be
SINCE = dt.timedelta(days=30)
WAIT = 6 * 3600.0  # seconds: the search changes once a day
_TOTAL = re.compile(rb"<(?:\w+:)?totalResults\b[^>]*>\s*(\d{1,9})\s*<")
_VERSION = re.compile(r"v\d+$")


@dataclasses.dataclass(frozen=True)
class Page:
    """One page: how many papers the search has in all, and those of this page."""

    total: int
    entries: tuple[types.FoundEntry, ...]


def page_url(base: str, query: str, start: int) -> str:
    """The address of the page that begins at `start`."""
    options = {
        "search_query": query,
        "sortBy": "submittedDate",
        "sortOrder": "descending",
        "start": start,
        "max_results": PAGE,
    }
    return f"{base}?{urllib.parse.urlencode(options)}"


def read(body: bytes, *, now: dt.datetime) -> Page:
    """A page of an answer; addresses and ids without their version. Raises `errors.FeedError` for arXiv's errors."""
    _, found = feed.parse(body, url="https://export.arxiv.org/", now=now)
    total = _TOTAL.search(body)
    return Page(int(total[1]) if total else len(found), tuple(_whole(entry) for entry in found))


def _whole(entry: types.FoundEntry) -> types.FoundEntry:
    """The paper, not one of its versions."""
    url = _VERSION.sub("", (entry.url or "").replace("http://", "https://", 1))
    return dataclasses.replace(entry, url=url or None, guid=_VERSION.sub("", entry.guid or "") or None)


async def visit(ask: visits.Ask, tour: visits.Tour) -> types.Collected:
    """Search, page by page."""
    query = ask.url.partition(":")[2].strip()
    since = ask.since or tour.now - SINCE
    found: list[types.FoundEntry] = []
    note = None
    try:
        for start in range(0, MOST, PAGE):
            page = await _page(ask, tour, query, start)
            found += (entry for entry in page.entries if entry.published is None or entry.published >= since)
            if start + PAGE >= page.total or _is_enough(page.entries, ask, since):
                break
        else:
            note = f"the search has {page.total} papers; the newest {MOST} were read: narrow it"
    except (errors.FetchError, errors.FeedError) as error:
        if not found:
            raise
        wait, code = (error.retry_after, error.status) if isinstance(error, errors.FetchError) else (None, None)
        what = f"{error}; the {len(found)} papers before that are kept, the rest is asked for again"
        return types.Collected(ask.url, "failed", tuple(found), error=what, retry_after=wait, code=code)
    if not page.total:
        note = f"{types.EMPTY_SUSPICIOUS}the search finds no paper; is it spelt as arXiv's API wants it?"
    elif not found:
        note = f"{types.EMPTY_EXPECTED}the search finds no paper since {dates.written(since.date())}"
    return types.Collected(ask.url, "new", tuple(found), wait=WAIT, note=note, whole=True)


async def _page(ask: visits.Ask, tour: visits.Tour, query: str, start: int) -> Page:
    url = page_url(tour.bases.arxiv, query, start)
    for _ in range(TRIES):
        fetched = await tour.fetch(url, also={400})  # a bad query is a 400 whose body says what is wrong
        page = await tour.parse(functools.partial(read, now=tour.now), fetched.body or b"")
        if page.entries or (start >= page.total and not (start == 0 and ask.known)):
            return page
    if start or page.total:
        raise errors.FetchError(
            ask.url, f"arXiv gave an empty page {TRIES} times, though its search has {page.total} papers"
        )
    return page


def _is_enough(entries: Sequence[types.FoundEntry], ask: visits.Ask, since: dt.datetime) -> bool:
    """Is there nothing to be found on the pages that follow?"""
    oldest = min((entry.published for entry in entries if entry.published), default=None)
    if oldest is None:
        return False
    settled = ask.settled is not None and oldest < ask.settled
    return oldest < since or (settled and all(entry.guid in ask.known for entry in entries))
