"""How a date is written for people. English has the house form: `11 Sept 2026`, `24 July 2026`, `3 June 2026`.

Months of four letters or fewer in full, the others cut to three, September to "Sept": day, month, year.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo

MONTHS = ("Jan", "Feb", "March", "April", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def written(date: dt.date, language: str = "en") -> str:
    """`11 Sept 2026`. A language other than English gets the ISO date, which is read the same everywhere."""
    if language.partition("-")[0].lower() != "en":
        return date.isoformat()
    return f"{date.day} {MONTHS[date.month - 1]} {date.year}"


def with_weekday(date: dt.date, language: str = "en") -> str:
    """`Friday 11 Sept 2026`."""
    if language.partition("-")[0].lower() != "en":
        return date.isoformat()
    return f"{DAYS[date.weekday()]} {written(date, language)}"


def local_day(moment: dt.datetime, zone: str, *, is_date: bool) -> dt.date:
    """The day of an instant in a zone; a date without a time is that day everywhere."""
    return moment.date() if is_date else moment.astimezone(zoneinfo.ZoneInfo(zone)).date()
