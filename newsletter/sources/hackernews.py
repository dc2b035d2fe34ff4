"""Hacker News by way of Algolia's search (hn.algolia.com/api).

hn:front?points=100      what is on the front page, with at least so many points
hn:"policy gradient"     the newest stories that the words find; ?points= and ?comments= as above
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import re
import urllib.parse
from typing import Any

from newsletter import errors, types
from newsletter.sources import plain, visits

MOST = 500  # Algolia gives at most 1,000 (algolia/hn-search#230)
SINCE = dt.timedelta(days=7)
_ITEM = "https://news.ycombinator.com/item?id="
_OPTION = re.compile(r"(points|comments)=(\d{1,6})")


def search_url(base: str, source: str, since: dt.datetime) -> str:
    """Where to ask for `source` (what follows `hn:`). Raises `errors.FetchError` for an option that there is not."""
    words, mark, tail = source.strip().rpartition("?")
    words, options = (words, tail.split("&")) if mark else (tail, [])
    filters = []
    for option in options:
        match = _OPTION.fullmatch(option)
        if not match:
            raise errors.FetchError(
                f"hn:{source}", f"“{plain.line(option, 40)}” is no option; there is points=, comments="
            )
        filters.append(f"{'num_comments' if match[1] == 'comments' else 'points'}>={match[2]}")
    asked: dict[str, str | int] = {"hitsPerPage": MOST}
    if words.strip() == "front":
        verb, asked["tags"] = "search", "front_page"
    else:
        # Whole days: the same question all day long.
        midnight = since.replace(hour=0, minute=0, second=0, microsecond=0)
        verb, asked["tags"], asked["query"] = "search_by_date", "story", words.strip()
        filters.append(f"created_at_i>={int(midnight.timestamp())}")
    if filters:
        asked["numericFilters"] = ",".join(filters)
    return f"{base}/{verb}?{urllib.parse.urlencode(asked)}"


def read(body: bytes, *, now: dt.datetime) -> visits.Document:
    """The stories of an answer. Raises `errors.FeedError` for anything else."""
    try:
        hits = json.loads(body)["hits"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise errors.FeedError("not an answer of Hacker News' search: JSON with “hits”") from None
    if not isinstance(hits, list):
        raise errors.FeedError("not an answer of Hacker News' search: its “hits” are no list")
    found = (_story(hit, now) for hit in hits if isinstance(hit, dict))
    return "Hacker News", tuple(story for story in found if story)


def _story(hit: dict[str, Any], now: dt.datetime) -> types.FoundEntry | None:
    number, title = str(hit.get("objectID") or ""), plain.line(str(hit.get("title") or ""))
    if not (number.isdecimal() and title):
        return None
    made, text = hit.get("created_at_i"), hit.get("story_text")
    believed = isinstance(made, int) and 0 < made <= now.timestamp() + 86400
    return types.FoundEntry(
        title=title,
        url=plain.address(str(hit.get("url") or "")) or _ITEM + number,
        summary=plain.from_html(text) if isinstance(text, str) else "",
        published=dt.datetime.fromtimestamp(made, dt.UTC) if believed and isinstance(made, int) else None,
        guid=_ITEM + number,
    )


async def visit(ask: visits.Ask, tour: visits.Tour) -> types.Collected:
    """One search."""
    url = search_url(tour.bases.hackernews, ask.url.partition(":")[2], ask.since or tour.now - SINCE)
    fetched = await tour.fetch(url, ask.validators)
    return await visits.answer(ask, tour, fetched, functools.partial(read, now=tour.now))
