"""What stands in the cells of files of people: text <-> times, tags, topics, suppressions. Pure.

Each `…_of` reads what other services write, too; its `…_text` writes what it reads. Whether a person may be mailed is
read strictly, elsewhere (`subscribercolumns.state_of`); what only describes them is read as far as it can be believed.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence

from newsletter import addresses, errors

TRUE = frozenset(("1", "true", "yes", "y", "t", "ja", "oui", "si", "sí", "x"))
FALSE = frozenset(("0", "false", "no", "n", "f", "nein", "non", "nej"))
NOTHING = FALSE | frozenset(("", "null", "none", "na", "00000000", "00000000000000"))

LEFT = "(left)"  # behind a topic: the person had it and gave it up
EVERYWHERE = "*"  # the suppression that holds for all newsletters
TAG_CHARACTERS = 100
TAGS = 100  # of one person
EARLIEST = dt.datetime(1990, 1, 1, tzinfo=dt.UTC)  # before the web nobody subscribed

_SCOPED = re.compile(r"([a-z0-9-]+|\*): (.+)", re.DOTALL)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_ZONE = re.compile(r"\s*([+-]\d{2}:?\d{2})?\s*(?:UTC|GMT)?$")
_DAY_FIRST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[ T,]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?")
# `"Berlin, Mitte",VIP`, and what parts one word from the next, Google's " ::: " among it
_WORD = re.compile(r'\s*(?:"((?:[^"]|"")*)"|((?:(?!:::)[^,;|])*))\s*(?:[,;|]|:::|$)')
_PARTS = re.compile(r'[,;|"]|:::')


def key(text: str) -> str:
    """A heading or a word as the tables have it: "E-mail 1 - Value" is "email1value"."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFC", text)).lower()


# -- languages, times, network addresses ---------------------------------------------------------------------------


def language_of(text: str) -> str | None:
    """A language tag (BCP 47), or None for what is none: a person counts for more than the language they read."""
    tag = text.strip().replace("_", "-")
    return tag if _LANGUAGE.fullmatch(tag) else None


def since_of(text: str) -> dt.datetime | None:
    """An ISO 8601 time, without a zone in UTC. Raises `errors.UsageError` for what is none."""
    text = text.strip()
    if not text:
        return None
    try:
        return _aware(dt.datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise errors.UsageError(f"{text!r} is no time; write it like 2026-09-11T09:00:00+00:00") from None


def time_of(text: str) -> dt.datetime | None:
    """A time as services write it; None for what is none, or might be two days: `03/04/2024` is one of them.

    Without a zone it is UTC, as Mailchimp's are. `25-12-2024 09:30` and `03.04.2024` have the day first.
    """
    text = text.strip()
    if not 8 <= len(text) <= 40 or not text[0].isdigit():
        return None
    try:
        moment = _aware(_day_first(text) or dt.datetime.fromisoformat(_ZONE.sub(r"\1", text)))
    except (ValueError, OverflowError):
        return None
    return moment if moment >= EARLIEST else None


def _day_first(text: str) -> dt.datetime | None:
    found = _DAY_FIRST.fullmatch(text)
    if not found:
        return None
    day, month = int(found[1]), int(found[3])
    if found[2] == "/" and day != month:
        if max(day, month) <= 12:
            raise ValueError(text)
        day, month = max(day, month), min(day, month)
    hour, minute, second = (int(part or 0) for part in found.groups()[4:])
    return dt.datetime(int(found[4]), month, day, hour, minute, second, tzinfo=dt.UTC)


def _aware(moment: dt.datetime) -> dt.datetime:
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)


def ip_of(text: str) -> str | None:
    """A network address in its usual form, or None for what is none."""
    try:
        return str(ipaddress.ip_address(text.strip()))
    except ValueError:
        return None


# -- tags and groups -----------------------------------------------------------------------------------------------


def tag_of(text: str) -> str:
    """A tag on one line, as it is kept; "" for what is none."""
    return addresses.clean_name(text)[:TAG_CHARACTERS].strip()


def words_of(text: str) -> tuple[str, ...]:
    """The tags or groups that a cell names, each once: parted by commas, semicolons or bars, in quotes, or as JSON."""
    text = text.strip()
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list):
            return _tags(item for item in listed if isinstance(item, str))
    if not _PARTS.search(text):
        return _tags([text])
    return _tags((found[1] or "").replace('""', '"') or found[2] or "" for found in _WORD.finditer(text))


def _tags(words: Iterable[str]) -> tuple[str, ...]:
    tags = (tag_of(word.strip().removeprefix("* ")) for word in words)  # Google's own groups begin so
    return tuple(dict.fromkeys(tag for tag in tags if tag and tag != "*"))[:TAGS]


def words_text(words: Sequence[str]) -> str:
    """The cell that `words_of` reads."""
    return ";".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    plain = not _PARTS.search(word) and not word.startswith(("[", "*"))
    return word if plain else '"' + word.replace('"', '""') + '"'


# -- topics --------------------------------------------------------------------------------------------------------


def topics_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The topics that a cell names, and those it says were left."""
    names = [name.strip() for name in re.split(r"[;|,]", text) if name.strip()]
    has = tuple(dict.fromkeys(name for name in names if not name.endswith(LEFT)))
    return has, tuple(dict.fromkeys(name.removesuffix(LEFT).strip() for name in names if name.endswith(LEFT)))


def topics_text(topics: Sequence[str], left: Sequence[str]) -> str:
    """The cell that `topics_of` reads."""
    return ";".join([*topics, *(f"{name} {LEFT}" for name in left)])


# -- suppressions --------------------------------------------------------------------------------------------------


def suppressed_of(text: str) -> tuple[tuple[str, str], ...]:
    """The suppressions that a cell names, as (newsletter or "", reason); other services just say yes or no."""
    text = text.strip()
    if not _SCOPED.fullmatch(text):  # else a reason like "no" would be taken for the other services' word
        if key(text) in NOTHING:
            return ()
        if key(text) in TRUE:
            return (("", "imported"),)
    found = []
    for part in text.split(" | "):
        scoped = _SCOPED.fullmatch(part.strip())
        newsletter, reason = (scoped[1], scoped[2]) if scoped else (EVERYWHERE, part.strip())
        found.append(("" if newsletter == EVERYWHERE else newsletter, re.sub(r"\\([\\|])", r"\1", reason)))
    return tuple(found)


def suppressed_text(suppressions: Sequence[tuple[str, str]]) -> str:
    """The cell that `suppressed_of` reads: "complaint", or "weekly: asked by phone"."""
    parts = []
    for newsletter, reason in suppressions:
        plain = re.sub(r"([\\|])", r"\\\1", reason.strip()) or "suppressed"  # a bar parts one from the next
        clear = not newsletter and not _SCOPED.fullmatch(plain) and key(plain) not in TRUE | NOTHING
        parts.append(plain if clear else f"{newsletter or EVERYWHERE}: {plain}")
    return " | ".join(parts)
