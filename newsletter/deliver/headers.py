"""Header fields by hand, on octets.

The standard library's `policy.SMTP` turns any header token of 76 characters or more into an encoded word, which
destroys List-Unsubscribe in silence; so fields are written here: folded at 78 (RFC 5322, 2.1.1), encoded words of at
most 75 characters with whole characters in them (RFC 2047, 2 and 5), and a refusal of whatever could inject a field.
"""

from __future__ import annotations

import base64
import datetime as dt
import re

from newsletter import errors

WIDTH = 78
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"  # RFC 5322, 3.2.3
_PHRASE = re.compile(rf"{_ATOM}(?: {_ATOM})*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_WORD_OCTETS = 45  # 12 for =?utf-8?b?…?= and 60 of base64 make 72
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def line(value: str) -> str:
    """A value that may stand in a header; raises `errors.HeaderError` for line breaks and control characters."""
    found = _CONTROL.search(value)
    if found:
        raise errors.HeaderError(f"a header may not hold the character U+{ord(found[0]):04X}: {value[:60]!r}")
    return " ".join(value.split())


def field(name: str, tokens: list[str]) -> bytes:
    """`Name: token token`, folded before a token that would pass column 78; ends with CRLF."""
    out = name + ":"
    column = len(out)
    for i, token in enumerate(tokens):
        if i and column + 1 + len(token) > WIDTH:
            out += "\r\n"
            column = 0
        out += " " + token
        column += 1 + len(token)
    return out.encode() + b"\r\n"


def unstructured(value: str) -> list[str]:
    """The tokens of a text for people (Subject): words, or encoded words when it is not plain ASCII."""
    value = line(value)
    words = value.split(" ")
    if value.isascii() and "=?" not in value and all(len(word) < 900 for word in words):
        return words
    return encoded_words(value)


def phrase(name: str) -> list[str]:
    """The tokens of a display name: atoms, a quoted string, or encoded words (RFC 5322, 3.4; RFC 2047, 5)."""
    name = line(name)
    if not name:
        return []
    if "=?" not in name and len(name) <= 64:
        if _PHRASE.fullmatch(name):
            return name.split(" ")
        if name.isascii():
            return ['"' + re.sub(r'(["\\])', r"\\\1", name) + '"']
    return encoded_words(name)


def encoded_words(text: str) -> list[str]:
    """A text as RFC 2047 encoded words, each of whole characters and at most 75 long."""
    words, part = [], b""
    for char in text:
        octets = char.encode()
        if len(part) + len(octets) > _WORD_OCTETS:
            words.append(part)
            part = b""
        part += octets
    words.append(part)
    return [f"=?utf-8?b?{base64.b64encode(word).decode()}?=" for word in words]


def mailbox(name: str, address: str) -> list[str]:
    """The tokens of `name <address>`."""
    if re.search(r"[\s<>,;:\x00-\x1f\x7f]", address):
        raise errors.HeaderError(f"{address!r} may not stand in a header")
    return [*phrase(name), f"<{address}>"]


def split_mailbox(text: str) -> tuple[str, str]:
    """(name, address) of `News <news@example.org>` as the settings give it."""
    match = re.fullmatch(r'\s*"?(.*?)"?\s*<([^<>]+)>\s*', text)
    return (match[1].strip(), match[2].strip()) if match else ("", text.strip())


def date(moment: dt.datetime) -> str:
    """An aware time as RFC 5322 (3.3) writes it, with its own offset."""
    offset = moment.utcoffset() or dt.timedelta()
    minutes = int(offset.total_seconds() // 60)
    sign = "-" if minutes < 0 else "+"
    zone = f"{sign}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"
    day = f"{_DAYS[moment.weekday()]}, {moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
    return f"{day} {moment:%H:%M:%S} {zone}"
