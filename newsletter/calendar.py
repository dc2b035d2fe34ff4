"""The schedule language, and the instants that it names. Pure: no clock, no state.

    "Friday 09:00"   "Mon,Thu 09:00"   "daily 07:00"   "monthly 1 09:00"   "first Monday 09:00"   "last Friday 17:30"

Times are local to a zone. A time that a change of the clocks leaves out (gap) is the first instant after it; one that
comes twice (overlap) is the first of the two: each occurrence is exactly one instant. A day of the month that a month
lacks ("monthly 31") is its last day.
"""

from __future__ import annotations

import calendar as _calendar
import dataclasses
import datetime as dt
import re
import zoneinfo
from collections.abc import Iterator

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1}
_HOW = 'must be like "Friday 09:00", "Mon,Thu 09:00", "daily 07:00", "monthly 1 09:00" or "first Monday 09:00"'


@dataclasses.dataclass(frozen=True, slots=True)
class Schedule:
    """When something happens. One of `weekdays` (0 is Monday), `day` of the month, or `nth` weekday of the month."""

    time: dt.time
    weekdays: frozenset[int] = frozenset()
    day: int | None = None
    nth: tuple[int, int] | None = None  # (which of them: 0.. or -1, weekday)

    def on(self, date: dt.date) -> bool:
        """Does it happen on that day?"""
        if self.weekdays:
            return date.weekday() in self.weekdays
        last = _calendar.monthrange(date.year, date.month)[1]
        if self.day is not None:
            return date.day == min(self.day, last)
        if self.nth is None or date.weekday() != self.nth[1]:
            return False
        which = self.nth[0]
        return date.day + 7 > last if which == -1 else (date.day - 1) // 7 == which


def parse(text: str) -> Schedule:
    """Read the schedule language; raises ValueError that says how it is written."""
    words = text.strip().lower().split()
    if len(words) < 2:
        raise ValueError(_HOW)
    *when, clock = words
    match = re.fullmatch(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", clock)
    if not match:
        raise ValueError(f"{clock!r} is no time of day; " + _HOW)
    time = dt.time(int(match[1]), int(match[2]))
    if when == ["daily"]:
        return Schedule(time, weekdays=frozenset(range(7)))
    if when[0] == "monthly" and len(when) == 2 and re.fullmatch(r"[1-9]|[12][0-9]|3[01]", when[1]):
        return Schedule(time, day=int(when[1]))
    if when[0] in ORDINALS and len(when) == 2:
        return Schedule(time, nth=(ORDINALS[when[0]], _weekday(when[1])))
    days = frozenset(_weekday(word) for word in "".join(when).split(","))
    if len(when) > 1 and not all(part.endswith(",") for part in when[:-1]):
        raise ValueError(_HOW)
    return Schedule(time, weekdays=days)


def _weekday(word: str) -> int:
    found = [i for i, day in enumerate(DAYS) if len(word) >= 3 and day.startswith(word)]
    if len(found) != 1:
        raise ValueError(f"{word!r} is no day of the week; " + _HOW)
    return found[0]


def instant(date: dt.date, time: dt.time, zone: zoneinfo.ZoneInfo) -> dt.datetime:
    """The UTC instant of a local time: the first one of an overlap, the first after a gap."""
    local = dt.datetime.combine(date, time, zone)  # fold=0: the first of an overlap
    utc = local.astimezone(dt.UTC)
    if utc.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return utc
    # In a gap, fold=0 uses the offset before it: go back to the change itself, by halves, to the second.
    before, after = utc - dt.timedelta(days=1), utc
    offset = before.astimezone(zone).utcoffset()
    while after - before > dt.timedelta(seconds=1):
        middle = before + (after - before) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def occurrences(schedule: Schedule, zone: zoneinfo.ZoneInfo, start: dt.datetime) -> Iterator[dt.datetime]:
    """The instants (aware UTC) at or after `start`, in order, each once, without end.

    A zone may skip a whole day (Samoa, 30 December 2011): its time falls on the next day's first instant.
    """
    date = start.astimezone(zone).date() - dt.timedelta(days=2)
    last = start - dt.timedelta(microseconds=1)
    while date < dt.date.max:
        if schedule.on(date):
            at = instant(date, schedule.time, zone)
            if at > last:
                yield at
                last = at
        date += dt.timedelta(days=1)


def following(text: str, zone: str, start: dt.datetime) -> dt.datetime:
    """The first instant at or after `start`, in the zone (so that `.date()` is the local day)."""
    place = zoneinfo.ZoneInfo(zone)
    return next(occurrences(parse(text), place, start)).astimezone(place)
