"""Quoted-printable (RFC 2045, 6.7) whose body is canonical for DKIM as it stands, with slots for personal values.

No two blanks in a row, no blank before a line's end, no line that begins with a dot: relaxed and simple
canonicalisation (RFC 6376, 3.4) are then the same octets, and SMTP's dot-stuffing (RFC 5321, 4.5.2) has nothing to do.
A slot stands on lines of its own between soft line breaks, so that a value of any length fits.
"""

from __future__ import annotations

import re

LIMIT = 76
_UNSAFE = re.compile(rb"[^ !-<>-~]")
_ESCAPES = [f"={octet:02X}".encode() for octet in range(256)]


def encode(text: str) -> bytes:
    """A text with LF line ends, from the beginning of a line on. CRLF stands where LF stood, at the end too."""
    return b"\r\n".join(_line(line.encode()) for line in text.split("\n"))


def value(text: str) -> bytes:
    """A personal value for a slot: no line breaks but soft ones, no blank at either end."""
    octets = _UNSAFE.sub(lambda found: _ESCAPES[found[0][0]], text.encode()).replace(b"  ", b" =20")
    if octets[:1] == b" ":
        octets = b"=20" + octets[1:]
    if octets[-1:] == b" ":
        octets = octets[:-1] + b"=20"
    return _wrap(octets)


def _line(line: bytes) -> bytes:
    octets = _UNSAFE.sub(lambda found: _ESCAPES[found[0][0]], line)
    octets = re.sub(rb"(?<= ) ", b"=20", octets)
    if octets[-1:] == b" ":
        octets = octets[:-1] + b"=20"
    return _wrap(octets)


def _wrap(octets: bytes) -> bytes:
    """Soft line breaks where a line would pass 76; an escape is never cut, a dot never begins a line."""
    if len(octets) < LIMIT and octets[:1] != b".":
        return octets
    lines, at = [], 0
    while True:
        room = LIMIT - 1
        head = b""
        if octets[at : at + 1] == b".":
            head, at, room = b"=2E", at + 1, room - 3
        if len(octets) - at <= room:
            lines.append(head + octets[at:])
            return b"=\r\n".join(lines)
        end = at + room
        cut = octets.rfind(b"=", end - 2, end)
        if cut > at:
            end = cut
        lines.append(head + octets[at:end])
        at = end
