"""A publication date as sources write it -> (aware UTC, is it a date without a time). Pure, and never fuzzy.

    ISO 8601 and W3C-DTF     2026-09-11T09:00:00+01:00   2026-09-11   2016/6/29 15:07:41   03-12-31   -0312
    RFC 5322 and its kin     Fri, 11 Sep 2026 09:00:00 CEST   11 sept. 2026   Sept 11th, 2026, 9:00 a.m.
    Unix time                1518478934   1518478934000

Every word must be understood, else there is no date: none is better than a wrong one. A time without a zone is UTC.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
import zoneinfo

Published = tuple[dt.datetime, bool]

EARLIEST = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)
AHEAD = dt.timedelta(days=2)
_LONGEST = 80  # no date is longer; bounds the work on hostile text

# Minutes east of Greenwich. RFC 5322, 4.3 names the American ones; the others are what feeds use. IST, CST and BST mean
# several things: CST is America's by the RFC, BST is Britain's in feeds, IST stays unknown.
_ZONES = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 60, "bst": 60,
    "met": 60, "mez": 60, "cet": 60, "mest": 120, "mesz": 120, "cest": 120, "eet": 120, "eest": 180, "msk": 180,
    "at": -240, "ast": -240, "adt": -180, "et": -300, "est": -300, "edt": -240, "ct": -360, "cst": -360, "cdt": -300,
    "mt": -420, "mst": -420, "mdt": -360, "pt": -480, "pst": -480, "pdt": -420, "akst": -540, "akdt": -480,
    "hst": -600, "kst": 540, "jst": 540, "hkt": 480, "sgt": 480, "awst": 480, "aest": 600, "aedt": 660,
    "nzst": 720, "nzdt": 780,
}  # fmt: skip

# What a month's name begins with, without accents: English, German, French, Italian, Spanish, Portuguese, Dutch,
# Nordic, Polish, Hungarian, Greek. A whole name must begin with one of these.
_MONTHS = (
    ("jan", "jän", "janv", "gen", "ene", "sty", "ιαν"),
    ("feb", "fév", "fev", "lut", "φεβ"),
    ("mar", "mär", "mrz", "maa", "mrt", "már", "μαρ", "μάρ"),
    ("apr", "avr", "abr", "kwi", "ápr", "απρ"),
    ("may", "mai", "maj", "mei", "mag", "mayo", "máj", "μαι", "μαϊ", "μάι"),
    ("jun", "juin", "giu", "cze", "jún", "ιουν", "ιούν"),
    ("jul", "juil", "lug", "lip", "júl", "ιουλ", "ιούλ"),
    ("aug", "aoû", "aou", "ago", "sie", "αυγ", "αύγ"),
    ("sep", "set", "wrz", "szept", "σεπ"),
    ("oct", "okt", "ott", "out", "paź", "οκτ"),
    ("nov", "lis", "νοε", "νοέ"),
    ("dec", "déc", "dez", "dic", "des", "gru", "δεκ"),
)

_ISO = re.compile(
    r"(?P<year>\d{4})(?:-?(?P<month>\d\d)(?:-?(?P<day>\d\d))?)?"
    r"(?:(?:T|t|\s+)(?P<hour>\d\d?):?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,]\d+)?)?"
    r"\s*(?P<zone>Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?"
)
_NUMBERED = re.compile(r"(\d{1,4})([/.-])(\d{1,2})\2(\d{1,4})")
# ISO 8601:1988 without its century; a month alone begins with a hyphen in its place.
_SHORT = re.compile(r"-(?P<y>\d\d)-?(?P<m>\d\d)|(?P<year>\d\d)-(?P<month>\d\d)-(?P<day>\d\d)")
_KOREAN = re.compile(r"(\d{4})년\s*(\d{1,2})월\s*(\d{1,2})일")
_TIME = re.compile(
    r"(?:\b(?P<before>[ap]m)\s+)?(?<![\d:])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?(?![\d:])"
    r"(?:\s*(?P<after>[ap]\.?m\.?)(?![a-z]))?",
    re.IGNORECASE,
)
_OFFSET = re.compile(r"(?:GMT|UTC)?(?P<sign>[+-])(?P<hours>\d{1,2}):?(?P<minutes>\d\d)?", re.IGNORECASE)


def parse(text: str, *, now: dt.datetime) -> Published | None:
    """The date a text names, when it can be read and believed; `now` is aware."""
    return believed(read(text, now=now), now=now)


def believed(found: Published | None, *, now: dt.datetime) -> Published | None:
    """Nothing before 1990 nor more than two days ahead: such dates are a generator's mistakes."""
    return found if found and EARLIEST <= found[0] <= now + AHEAD else None


def read(text: str, *, now: dt.datetime | None = None) -> Published | None:
    """The date a text names, whatever it is; None when it cannot be read for sure.

    `now` settles `24-05-31`: the last number is no year when that is still to come.
    """
    text = " ".join(text.split())
    if not text or len(text) > _LONGEST:
        return None
    try:
        return _unix(text) or _iso(text) or _short(text, now) or _written(text)
    except (ValueError, OverflowError):
        return None


def _unix(text: str) -> Published | None:
    if not re.fullmatch(r"\d{9,10}(?:\.\d+)?|\d{13}", text):
        return None
    seconds = float(text) / (1000 if len(text) == 13 and "." not in text else 1)
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC), False


def _iso(text: str) -> Published | None:
    match = _ISO.fullmatch(text)
    if not match or (match["month"] and not match["day"] and "-" not in text):  # 200312 is hardly a month
        return None
    date = dt.date(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))
    offset = _OFFSET.fullmatch(match["zone"] or "")
    return _instant(date, match if match["hour"] else None, "", _offset(offset) if offset else dt.UTC)


def _short(text: str, now: dt.datetime | None) -> Published | None:
    """A year of two digits first, where no other reading can be believed."""
    match = _SHORT.fullmatch(text)
    if not match:
        return None
    if match["y"]:
        return _instant(dt.date(_whole_year(match["y"]), int(match["m"]), 1), None, "", dt.UTC)
    first, month, last = match["year"], int(match["month"]), match["day"]
    if 1 <= int(first) <= 31 and (now is None or _whole_year(last) <= (now + AHEAD).year):  # 10-11-12 is any of three
        return None
    return _instant(dt.date(_whole_year(first), month, int(last)), None, "", dt.UTC)


def _whole_year(digits: str) -> int:
    """RFC 5322, 4.3: of two digits, 00 to 49 are this century."""
    return int(digits) + (0 if len(digits) == 4 else 2000 if int(digits) < 50 else 1900)


def _written(text: str) -> Published | None:
    """Words and numbers in any order that people use."""
    text = re.sub(r"\([^()]*\)", " ", text)
    plain = _KOREAN.sub(r"\1-\2-\3", text).replace("오전", "am ").replace("오후", "pm ")
    # Korean dates are local and name no zone (feedparser's forms nate and onblog).
    local = dt.UTC if plain == text else dt.timezone(dt.timedelta(hours=9))
    time = _TIME.search(plain)
    half = (time["before"] or time["after"] or "") if time else ""
    if time:
        plain = f"{plain[: time.start()]} {plain[time.end() :]}"
    plain, zone = _split_zone(re.sub(r"[,|]|\s-(?=\s|$)", " ", plain))
    words = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", plain.lower()).split()
    numbered = _NUMBERED.fullmatch(words[0]) if len(words) == 1 else None
    date = _numbered(numbered) if numbered else _named(words)
    return _instant(date, time, half, zone or local) if date else None


def _numbered(match: re.Match[str]) -> dt.date | None:
    """Year first, or day first; month first only with slashes, where nothing else is possible."""
    first, second, third = int(match[1]), int(match[3]), int(match[4])
    if len(match[1]) == 4:
        return dt.date(first, second, third)
    if len(match[4]) == 2 and match[2] == "/":
        third += 2000
    elif len(match[4]) != 4:
        return None
    if second > 12:
        return dt.date(third, first, second)
    if match[2] == "/" and first <= 12 and first != second:  # 4/5/2026 is either of two days
        return None
    return dt.date(third, second, first)


def _named(words: list[str]) -> dt.date | None:
    """A weekday at most, a month's name, a day and a year; or a weekday and three numbers, the day first."""
    numbers = [word.rstrip(".") for word in words if word[0].isdigit()]
    names = [word.rstrip(".") for word in words if not word[0].isdigit()]
    if not all(number.isdecimal() for number in numbers) or not all(name.isalpha() for name in names):
        return None
    if len(names) == 2 and words[0].rstrip(".") != names[0]:  # a weekday stands first
        return None
    months = [month for month in map(_month, names[-1:] if len(names) < 3 else []) if month]
    if len(names) == 1 and not months and len(numbers) == 3:  # Sat, 11 04 2020
        day, month, year = numbers
        return dt.date(int(year), int(month), int(day)) if len(year) == 4 else None
    if len(months) != 1 or len(numbers) != 2:
        return None
    day, year = numbers if len(numbers[0]) < 3 else reversed(numbers)
    if len(day) > 2 or len(year) not in (2, 4):
        return None
    return dt.date(_whole_year(year), months[0], int(day))


def _month(name: str) -> int | None:
    found = [number for number, starts in enumerate(_MONTHS, 1) if name.startswith(starts)]
    return found[0] if len(found) == 1 else None


def _split_zone(text: str) -> tuple[str, dt.tzinfo | None]:
    """A text and the zone that stands in it: an offset, an abbreviation, or Europe/Brussels."""
    offset = re.search(rf"(?:^|(?<=\s)){_OFFSET.pattern}(?=\s|$)", text, re.IGNORECASE)
    if offset:
        return f"{text[: offset.start()]} {text[offset.end() :]}", _offset(offset)
    head, _, last = text.rstrip().rpartition(" ")
    if last.lower() in _ZONES:
        return head, dt.timezone(dt.timedelta(minutes=_ZONES[last.lower()]))
    if last in _places():
        return head, zoneinfo.ZoneInfo(last)
    return text, None


@functools.cache
def _places() -> frozenset[str]:
    return frozenset(name for name in zoneinfo.available_timezones() if "/" in name)


def _offset(match: re.Match[str]) -> dt.tzinfo:
    """No place is beyond UTC-12 or UTC+14: an offset out of range is dropped."""
    hours, minutes = int(match["hours"]), int(match["minutes"] or 0)
    if hours > 24 or minutes > 59:
        raise ValueError("no offset")
    east = (-1 if match["sign"] == "-" else 1) * (60 * hours + minutes)
    return dt.timezone(dt.timedelta(minutes=east)) if -12 * 60 <= east <= 14 * 60 else dt.UTC


def _instant(date: dt.date, time: re.Match[str] | None, half: str, zone: dt.tzinfo) -> Published:
    """A date without a time is midnight UTC, whatever the zone: that day everywhere."""
    if time is None:
        return dt.datetime(date.year, date.month, date.day, tzinfo=dt.UTC), True
    hour, minute, second = int(time["hour"]), int(time["minute"]), int(time["second"] or 0)
    if half:
        if not 1 <= hour <= 12:
            raise ValueError("no hour of half a day")
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    # A leap second is the one before it (RFC 3339, 5.6 allows 60).
    local = dt.datetime.combine(date, dt.time(hour, minute, 59 if second == 60 else second), zone)
    return local.astimezone(dt.UTC), False
