"""When it makes sense to ask a source again, by what its server and its document say. Pure.

    Retry-After                      how long to stay away (RFC 9110, 10.2.3), up to 31 days
    Cache-Control, Expires, Age      how long the answer stays fresh (RFC 9111, 4.2)
    ttl                              minutes that a feed may be kept (RSS 2.0)
    skipHours, skipDays              hours and days, in GMT, in which a feed is not written (RSS 2.0)

Freshness and ttl keep a source from being asked for a day at most, a Retry-After for 31: longer ones are mistakes. The
pauses have no such cap; they end by themselves, since hours or days that leave no time at all are not believed.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import re
from collections.abc import Mapping

from newsletter import types

LONGEST_WAIT = 31 * 86400.0  # seconds: a Retry-After beyond a month is a mistake
LONGEST_HINT = 86400.0  # seconds
_LONGEST_TTL = 999_999  # minutes, nearly two years: a number that any database holds
SOONEST = 3600.0  # seconds: nobody is asked more often, so that a skipped hour begins to count there
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HEAD = 20_000  # octets of a document in which its pauses stand, before its items
_ITEM = re.compile(rb"<(?:item|entry)[\s>]", re.IGNORECASE)


def retry_after(headers: Mapping[str, str], now: dt.datetime) -> float | None:
    """Seconds to stay away: a number, or a date by the server's own clock."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return min(float(value), LONGEST_WAIT)
    moment = http_date(value)
    if moment is None:
        return None
    there = http_date(headers.get("Date", "")) or now
    return min(max((moment - there).total_seconds(), 0.0), LONGEST_WAIT)


def fresh_for(headers: Mapping[str, str], now: dt.datetime) -> float | None:
    """Seconds for which an answer stays fresh; None when the server does not say, or says not at all."""
    control = headers.get("Cache-Control", "").lower()
    if re.search(r"\bno-(?:cache|store)\b", control):
        return None
    stated = re.search(r'\bmax-age\s*=\s*"?(\d+)', control)
    if stated:
        age = headers.get("Age", "").strip()
        left = float(stated[1]) - (float(age) if age.isdecimal() else 0.0)
    else:  # max-age beats Expires (RFC 9111, 5.3)
        ends = http_date(headers.get("Expires", ""))
        if ends is None:
            return None
        left = (ends - (http_date(headers.get("Date", "")) or now)).total_seconds()
    return min(left, LONGEST_HINT) if left > 0 else None


def pauses(body: bytes) -> types.Pauses:
    """The ttl, skipHours and skipDays of a feed; nothing of one that has none, or is no RSS."""
    head = body[:_HEAD]
    item = _ITEM.search(head)
    head = head[: item.start()] if item else head
    ttl = re.search(rb"<ttl>\s*(\d{1,400})\s*</ttl>", head)
    hours = {int(hour) % 24 for hour in re.findall(rb"<hour>\s*(\d{1,2})\s*</hour>", head) if int(hour) <= 24}
    names = (name.decode("ascii").lower() for name in re.findall(rb"<day>\s*([A-Za-z]{6,9})\s*</day>", head))
    days = {DAYS.index(name) for name in names if name in DAYS}
    # All of them would mean never: nobody means that.
    return types.Pauses(
        ttl=min(int(ttl[1]), _LONGEST_TTL) if ttl else None,
        hours=tuple(sorted(hours)) if len(hours) < 24 else (),
        days=tuple(sorted(days)) if len(days) < 7 else (),
    )


def wait(fresh: float | None, pauses: types.Pauses, now: dt.datetime) -> float | None:
    """Seconds until it makes sense to ask again; None when nothing is said.

    That is after what stays fresh, a day at most, and then at the next full hour that is in no pause.
    """
    if fresh is None and pauses == types.Pauses():
        return None
    first = min(max(fresh or 0.0, (pauses.ttl or 0) * 60.0, SOONEST), LONGEST_HINT)
    return (written_next(pauses, now + dt.timedelta(seconds=first)) - now).total_seconds()


def written_next(pauses: types.Pauses, moment: dt.datetime) -> dt.datetime:
    """The first instant from `moment` on that is neither in a skipped hour nor on a skipped day (both are GMT's)."""
    if len(set(pauses.hours)) >= 24 or len(set(pauses.days)) >= 7:
        return moment
    while is_paused(pauses, moment):  # at most a week of hours
        moment = moment.astimezone(dt.UTC).replace(minute=0, second=0, microsecond=0) + dt.timedelta(hours=1)
    return moment


def is_paused(pauses: types.Pauses, moment: dt.datetime) -> bool:
    """Does a feed say that it is not written then?"""
    moment = moment.astimezone(dt.UTC)
    return moment.hour in pauses.hours or moment.weekday() in pauses.days


def http_date(value: str) -> dt.datetime | None:
    """A date of a header, aware; None when it is none."""
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment
