"""How a date is written for people: by the rules of the language that it stands in.

English has the house form, `11 Sept 2026`, `24 July 2026`, `3 June 2026`: months of four letters or fewer in full, the
others cut to three, September to "Sept"; American readers get the month first, `Sept 11, 2026`. Every other language
has the long form of Unicode's CLDR, `11. September 2026`, `11 septembre 2026`, in the digits of its country. A language
that CLDR does not know has the ISO date, which is read the same everywhere.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
import unicodedata
import zoneinfo
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import babel

MONTHS = ("Jan", "Feb", "March", "April", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Where English has the month first: the United States, and who learnt to write dates from them (CLDR, en-*).
MONTH_FIRST = frozenset("AS GU MH MP PH PR UM US VI".split())
# CLDR's numbering systems: what 0 looks like; the other digits follow it.
_ZEROS = {
    "arab": "\u0660", "arabext": "\u06f0", "beng": "\u09e6", "cakm": "\U00011136", "deva": "\u0966",
    "mymr": "\u1040", "olck": "\u1c50", "tibt": "\u0f20",
}  # fmt: skip
_FOUR_STAY = frozenset(("es", "pl"))  # four digits are not grouped (CLDR's minimumGroupingDigits, which Babel lacks)
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_DAY = re.compile(r"(?<!\d)\d{1,2}(?!\d)")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MOST_WORDS = 3  # of a date: "11 de septiembre de 2026"


def written(date: dt.date, language: str = "en") -> str:
    """`11 Sept 2026`, `11. September 2026`, `11 septembre 2026`."""
    if _is_english(language):
        if _month_first(language):
            return f"{MONTHS[date.month - 1]} {date.day}, {date.year}"
        return f"{date.day} {MONTHS[date.month - 1]} {date.year}"
    return _by_cldr(date, language, "long")


def with_weekday(date: dt.date, language: str = "en") -> str:
    """`Friday 11 Sept 2026`, `Freitag, 11. September 2026`, `vendredi 11 septembre 2026`."""
    if _is_english(language):
        comma = "," if _month_first(language) else ""
        return f"{DAYS[date.weekday()]}{comma} {written(date, language)}"
    return _by_cldr(date, language, "full")


def number(value: int, language: str = "en") -> str:
    """`1,234`, `1.234`, `1 234`, in the language's digits."""
    if _is_english(language):
        return f"{value:,}"
    locale = locale_of(language)
    if locale is None:
        return str(value)
    from babel import numbers

    grouped = value >= 10_000 or locale.language not in _FOUR_STAY
    text = numbers.format_decimal(value, locale=locale, numbering_system="default", group_separator=grouped)
    return _in_digits(text, locale)


def local_day(moment: dt.datetime, zone: str, *, is_date: bool) -> dt.date:
    """The day of an instant in a zone; a date without a time is that day everywhere."""
    return moment.date() if is_date else moment.astimezone(zoneinfo.ZoneInfo(zone)).date()


def stands_in(line: str) -> bool:
    """Is one of the parts of a line (they stand between middle dots) a date, or does it end with a year?

    A date has a year, a day, and few words, in whatever language: a sentence that tells of a day is none.
    """
    return any(map(_is_date, line.split("·")))


def _is_date(part: str) -> bool:
    part = part.strip()
    years = [found for found in _YEAR.finditer(part) if 1800 <= int(found[0]) < 2100]
    if not years:
        return False
    if years[-1].end() == len(part) or re.search(r"(?:^|\s)\d{4}-\d\d-\d\d$", part):
        return years[-1].start() == 0 or not part[years[-1].start() - 1].isalnum()
    rest = part[: years[0].start()] + " " + part[years[0].end() :]
    return bool(_DAY.search(rest)) and len(_WORD.findall(part)) <= _MOST_WORDS


@functools.lru_cache(maxsize=64)
def locale_of(language: str) -> babel.Locale | None:
    """What CLDR knows of a language tag (BCP 47), or of as much of its beginning as it knows: `de-1996` is `de`."""
    import babel

    parts = language.split("-")
    for end in range(len(parts), 0, -1):
        try:
            return babel.Locale.parse("-".join(parts[:end]), sep="-")
        except (babel.UnknownLocaleError, ValueError):
            continue
    return None


def language_name(tag: str) -> str:
    """What a language calls itself: `Deutsch`, `Español`, `العربية`; its tag where CLDR does not know it."""
    locale = locale_of(tag)
    name = (locale.get_language_name() if locale else None) or tag
    return name[:1].upper() + name[1:]


def _is_english(language: str) -> bool:
    return language.partition("-")[0].lower() == "en"


def _month_first(language: str) -> bool:
    return not MONTH_FIRST.isdisjoint(language.upper().split("-")[1:])


def _by_cldr(date: dt.date, language: str, form: str) -> str:
    locale = locale_of(language)
    if locale is None:
        return date.isoformat()
    from babel import dates

    text = dates.format_date(date, form, locale)
    if locale.language == "fr" and date.day == 1:
        text = re.sub(r"(?<!\d)1(?= )", "1er", text, count=1)  # CLDR has no ordinals; no French editor writes "1 mai"
    return _in_digits(unicodedata.normalize("NFC", text), locale)


def _in_digits(text: str, locale: babel.Locale) -> str:
    zero = _ZEROS.get(locale.default_numbering_system)
    if zero is None:
        return text
    return text.translate({ord("0") + digit: chr(ord(zero) + digit) for digit in range(10)})
