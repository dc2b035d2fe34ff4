"""Why a feed that can be read may have no entry: for a reason that it gives, or for none. Pure.

skipDays, skipHours    it says itself that it is not written now (RSS 2.0)
arXiv's feeds          hold one day's announcements, and none on a Saturday, a Sunday and the holidays; also those that
                       a mirror hands on, which are known by what they say of themselves
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Iterator
from urllib.parse import urlsplit

from newsletter import types
from newsletter.sources import timing

_HEAD = 4_000  # octets of an empty feed in which it says whose it is
# <link>, <id>, rdf:about, rel="self" of a channel: where it comes from. Not a mere mention in a description.
_FROM_ARXIV = re.compile(
    rb"""<(?:\w+:)?(?:link|id)\b[^<>]*>\s*https?://(?:[\w-]+\.)?arxiv\.org/"""
    rb"""|\b(?:href|rdf:about)\s*=\s*["']https?://(?:[\w-]+\.)?arxiv\.org/""",
    re.IGNORECASE,
)
_ARXIV_TITLE = re.compile(r"\bupdates on arXiv\.org$")  # what a 304 leaves us to know it by
EASTERN = zoneinfo.ZoneInfo("America/New_York")  # arXiv's announcements go by its clock


def why(url: str, title: str | None, body: bytes | None, pauses: types.Pauses, now: dt.datetime) -> str:
    """A note on a feed without entries; `body` is None where a 304 says that it is as before."""
    # A day of the feed's own zone may begin or end half a day from ours.
    for moment in (now, now - dt.timedelta(hours=12)):
        if timing.is_paused(pauses, moment):
            by = "skipDays" if moment.weekday() in pauses.days else "skipHours"
            return f"{types.EMPTY_EXPECTED}it says that it is not written on a {moment:%A} at this hour ({by})"
    if is_arxiv(url, title, body) and (rest := arxiv_rests(now)):
        return f"{types.EMPTY_EXPECTED}arXiv announces nothing on {rest}"
    return f"{types.EMPTY_SUSPICIOUS}it can be read, and has no entry"


def is_arxiv(url: str, title: str | None, body: bytes | None) -> bool:
    """Is this one of arXiv's own feeds, wherever it was fetched?"""
    host = urlsplit(url).hostname or ""
    says_so = _FROM_ARXIV.search(body[:_HEAD]) if body is not None else _ARXIV_TITLE.search(title or "")
    return host == "arxiv.org" or host.endswith(".arxiv.org") or bool(says_so)


def arxiv_rests(now: dt.datetime) -> str | None:
    """The day of rest that arXiv's feed of this instant is of, in words; None on a day of announcements.

    The feed of a day is made about midnight there and may come some hours late: until six it is still yesterday's.
    """
    for moment in (now, now - dt.timedelta(hours=6)):
        day = moment.astimezone(EASTERN).date()
        if day.weekday() >= 5:
            return f"a {day:%A}"
        if day in set(_holidays(day.year)):
            return "a holiday there, or the day after one"
    return None


def _holidays(year: int) -> Iterator[dt.date]:
    """Days without a mailing, as arXiv lists them for a year (info.arxiv.org/help/availability.html); most move.

    A deferred mailing is missing from the feed of the day after, so that day counts too.
    """
    for day in (
        dt.date(year, 1, 1),
        _nth(year, 1, 0, 3),  # Martin Luther King's
        _nth(year, 6, 0, 1) - dt.timedelta(days=7),  # Memorial Day, the last Monday of May
        dt.date(year, 6, 19),
        dt.date(year, 7, 4),
        _nth(year, 9, 0, 1),  # Labor Day
        _nth(year, 11, 3, 4),  # Thanksgiving
        dt.date(year, 12, 24),
        dt.date(year, 12, 25),
        dt.date(year, 12, 31),
    ):
        yield day
        yield day + dt.timedelta(days=1)


def _nth(year: int, month: int, weekday: int, which: int) -> dt.date:
    first = dt.date(year, month, 1)
    return first + dt.timedelta(days=(weekday - first.weekday()) % 7 + 7 * (which - 1))
