"""What a value of the settings may look like: times, sizes, rates, zones, addresses. Each says how it is written.

A ValueError's text ends up behind the key in a fault; it never holds the value, which may be secret.
"""

from __future__ import annotations

import datetime as dt
import difflib
import ipaddress
import pathlib
import re
import urllib.parse
import zoneinfo
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from newsletter import calendar, colours

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_DOMAIN = r"(?:[^\W_](?:[\w-]*[^\W_])?\.)*[^\W_](?:[\w-]*[^\W_])?"
_SCHEMES = ("http:", "https:", "arxiv:", "hn:", "hf:", "file:")
_PER = {"s": 1.0, "min": 60.0, "hour": 3600.0, "day": 86400.0}


def written_duration(span: dt.timedelta) -> str:
    """`48h`: a time as the settings write it, in the largest unit that says it in whole numbers."""
    seconds = span.total_seconds()
    unit, size = next((unit, size) for unit, size in reversed(_UNITS.items()) if unit == "s" or not seconds % size)
    return f"{seconds / size:g}{unit}"


def parse_duration(value: object) -> object:
    """`"30s"`, `"48h"`, `"30d"` -> timedelta; a timedelta stays."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", value.strip())
        if not match:
            raise ValueError('must be a time like "30s", "5m", "48h" or "7d"')
        try:
            return dt.timedelta(seconds=float(match[1]) * _UNITS[match[2]])
        except OverflowError:
            raise ValueError("is longer than any time that counts") from None
    if isinstance(value, dt.timedelta):
        return value
    raise ValueError('must be a text like "30s", "5m", "48h" or "7d"')


def _some_time(value: dt.timedelta) -> dt.timedelta:
    if not value:
        raise ValueError("must be more than 0")
    return value


def parse_size(value: object) -> object:
    """`"15MB"` -> octets (powers of 1,000)."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(B|KB|MB|GB)", value.strip()) if isinstance(value, str) else None
    if match and len(match[1]) < 16:
        return int(float(match[1]) * _SIZES[match[2]])
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError('must be a size like "15MB" or "500KB"')


def parse_rate(value: str) -> float | None:
    """`"14/s"`, `"50000/day"` -> messages a second; `"unlimited"` -> None."""
    if value == "unlimited":
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*/\s*(s|min|hour|day)", value.strip())
    if not match or not 0 < float(match[1]) < 1e9:
        raise ValueError('must be "unlimited" or a rate like "14/s", "600/min" or "50000/day"')
    return float(match[1]) / _PER[match[2]]


def _rate(value: str) -> str:
    parse_rate(value)
    return value


def _network(value: str) -> str:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        raise ValueError('must be an address or a network, like "127.0.0.1" or "10.0.0.0/8"') from None
    return value


def _regex(value: str) -> str:
    try:
        re.compile(value, re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}, in {value[:80]!r}") from None
    return value


def _zone(value: str) -> str:
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = difflib.get_close_matches(value, zoneinfo.available_timezones(), 1)
        raise ValueError("is no time zone" + (f"; did you mean {near[0]}?" if near else "")) from None
    return value


def _schedule(value: str) -> str:
    calendar.parse(value)
    return value


def _base_url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@:]+(?::\d{1,5})?(?:/[^\s?#]+)?", value) or value.endswith("/"):
        raise ValueError('must be like "https://news.example.org", without a slash at the end')
    if not _has_good_port(value):
        raise ValueError("must have a port from 1 to 65535")
    return value


def _origin(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@:;,'\"]+(?::\d{1,5})?", value):
        raise ValueError('must be like "https://www.example.org": no path, and no slash at the end')
    return value.lower()


def server_address(value: str) -> str:
    """The address of an API: `https://llm.example.org/v1`."""
    if not re.fullmatch(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", value):
        raise ValueError('must be the server\'s address, like "http://localhost:11434/v1"')
    if not _has_good_port(value):
        raise ValueError("must have a port from 1 to 65535")
    return value


def _mailbox(value: str) -> str:
    address = r"[^<>@\s,;:\"()\[\]\\]+@" + _DOMAIN
    if not re.fullmatch(rf"[^<>]*<{address}>|{address}", value):
        raise ValueError('must be like "News <news@example.org>"')
    return value


def _domain(value: str) -> str:
    if not re.fullmatch(_DOMAIN, value):
        raise ValueError('must be a domain like "example.org"')
    return value


def _one_line(value: str) -> str:
    if re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", value):
        raise ValueError("must be one line without control characters")
    return value


def _accent(value: str) -> str:
    return _readable(value, colours.PAPER, "the light paper") if value else value


def _dark_accent(value: str) -> str:
    return _readable(value, colours.DARK_PAPER, "the dark paper") if value else value


def _readable(value: str, paper: str, what: str) -> str:
    value = colours.normal(value)
    ratio = colours.contrast(value, paper)
    if ratio < colours.MIN_CONTRAST:
        raise ValueError(
            f"has a contrast of {int(ratio * 100) / 100:.2f} to {what} ({paper}); text needs {colours.MIN_CONTRAST}"
        )
    return value


def _image(value: str) -> str:
    if value and not re.fullmatch(r"https://[^\s/?#@:]+(?::\d{1,5})?/[^\s\"<>\\]*", value, re.IGNORECASE):
        raise ValueError('must be the https address of an image, like "https://news.example.org/logo.png"')
    if value and not _has_good_port(value):
        raise ValueError("must have a port from 1 to 65535")
    return value


def _address(value: str) -> str:
    if not re.fullmatch(r"(?i)https?://[^\s/?#][^\s]*|(?:arxiv|hn|hf|file):\s*\S.*", value):
        scheme = re.match(r"[A-Za-z][\w+.-]{0,19}:(?!\d)", value)  # with a digit it is a host and its port
        what = "" if not scheme or scheme[0].lower() in _SCHEMES else f" (“{scheme[0]}” is no kind of source)"
        raise ValueError(
            'must be like "https://blog.example.org/feed.xml", "arxiv:cat:cs.LG", "hn:front?points=100", "hf:papers" '
            f'or "file:inbox/*.jsonl"{what}'
        )
    if value[:5].lower() == "file:":
        _pattern(value[5:])
    if value[:4].lower() == "http" and not _has_good_port(value):
        raise ValueError("must have a port from 1 to 65535")
    return value


def _has_good_port(url: str) -> bool:
    try:
        return urllib.parse.urlsplit(url).port != 0
    except ValueError:
        return False


def _pattern(pattern: str) -> None:
    parts = pathlib.PurePosixPath(pattern).parts
    if pattern.startswith(("/", "~")) or ".." in parts or not parts:
        raise ValueError("must be a path inside the workspace, like file:inbox/*.jsonl")
    if parts[0].casefold() == "subscribers":
        raise ValueError("must not be in subscribers/: people are no entries; put files of entries into inbox/")


def _none(value: object) -> object:
    return None if value == "" else value


def _rates(value: object) -> object:
    if not isinstance(value, (str, list)):
        raise ValueError(  # noqa: TRY004 - pydantic takes a TypeError for our mistake
            'must be "unlimited", a rate like "14/s", or a list of them'
        )
    return [value] if isinstance(value, str) else value


Duration = Annotated[
    dt.timedelta, BeforeValidator(parse_duration), PlainSerializer(written_duration, return_type=str, when_used="json")
]
# Addresses of the site that are no newsletter's.
_PAGES = frozenset(
    "subscribe confirm preferences unsubscribe api healthz metrics issues search static assets feed archive".split()
)


def no_page(slug: str) -> str:
    """A newsletter's slug is the first part of its pages' addresses: it may not be another page's."""
    if slug in _PAGES:
        raise ValueError(f"is the address of another page: choose something else than {slug!r}")
    return slug


Span = Annotated[Duration, AfterValidator(_some_time)]
Size = Annotated[int, BeforeValidator(parse_size), Field(ge=1)]
Rate = Annotated[str, AfterValidator(_rate)]
Network = Annotated[str, AfterValidator(_network)]
Regex = Annotated[str, AfterValidator(_regex)]
Line = Annotated[str, AfterValidator(_one_line)]
Mailbox = Annotated[Line, AfterValidator(_mailbox)]
Domain = Annotated[Line, AfterValidator(_domain)]
Schedule = Annotated[str, AfterValidator(_schedule)]
Zone = Annotated[str, AfterValidator(_zone)]
Origin = Annotated[Line, AfterValidator(_origin)]
BaseUrl = Annotated[str, AfterValidator(_base_url)]
Accent = Annotated[str, AfterValidator(_accent)]
DarkAccent = Annotated[str, AfterValidator(_dark_accent)]
ImageAddress = Annotated[Line, AfterValidator(_image)]
SourceAddress = Annotated[Line, AfterValidator(_address)]
Rates = Annotated[list[Rate], BeforeValidator(_rates)]
OptionalMailbox = Annotated[Mailbox | None, BeforeValidator(_none)]
OptionalDomain = Annotated[Domain | None, BeforeValidator(_none)]
