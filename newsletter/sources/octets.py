"""A feed's octets, put right before a parser sees them: encodings that lie, forbidden characters, slow text. Pure.

What is right stays as it is, octet for octet.
"""

from __future__ import annotations

import codecs
import re

# XML 1.0, 2.2 forbids these, as octets and as references; a strict parser gives up on the first.
_CONTROLS = bytes([*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20)])
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|&#")
_CONTROL_REFERENCE = re.compile(rb"&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01])|x0*(?:[0-8bcBC]|[eEfF]|1[0-9a-fA-F]));")
_DECLARED = re.compile(rb"(<\?xml[^<>]{0,100}?encoding\s*=\s*[\"'])([\w.:-]{1,40})", re.IGNORECASE)
_MANY = 200  # references to "<" that make text slow: a parser hands it over in pieces, one more for each
_TAG_AND_TEXT = re.compile(
    rb"<!\[CDATA\[.*?\]\]>|<!--.*?-->|(<[/A-Za-z][^<>\"']*(?:\"[^\"<]*\"[^<>\"']*|'[^'<]*'[^<>\"']*)*>)([^<]+)",
    re.DOTALL,
)
_REFERENCE = re.compile(rb"&(?:#\w{1,10}|\w{1,40});")
_PREDEFINED = {b"&lt;": b"<", b"&gt;": b">", b"&amp;": b"&", b"&quot;": b'"', b"&apos;": b"'"}  # XML 1.0, 4.6


def repaired(body: bytes) -> bytes:
    """The same document, such that a parser reads what was meant."""
    if body[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in body[:8]:  # UTF-16 and UTF-32
        return body
    return _with_cdata(_without_controls(_as_utf8(body)))


def _as_utf8(body: bytes) -> bytes:
    """UTF-8 where a document is in it, whatever it says, and where it is so but for a few octets of Windows-1252."""
    if body.isascii():
        return body
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        text = _mostly_utf8(body)
        if text is None:
            return body
        body = text.encode()
    return _DECLARED.sub(rb"\1utf-8", body[:300], count=1) + body[300:]


def _mostly_utf8(body: bytes) -> str | None:
    """The text, if it has more of UTF-8's characters than octets that are none."""
    strays = 0

    def as_windows(error: UnicodeError) -> tuple[str, int]:
        nonlocal strays
        if not isinstance(error, UnicodeDecodeError):
            raise error
        strays += error.end - error.start
        return error.object[error.start : error.end].decode("cp1252", "replace"), error.end

    codecs.register_error("newsletter.as_windows", as_windows)
    text = body.decode("utf-8", "newsletter.as_windows")
    foreign = sum(not character.isascii() for character in text) - strays
    return text if foreign > strays else None


def _without_controls(body: bytes) -> bytes:
    if not _CONTROL.search(body):  # no second copy of a large document
        return body
    spared = b"\x1b" if b"iso-2022" in body[:200].lower() else b""  # its shifts begin with ESC
    return _CONTROL_REFERENCE.sub(b"", body.translate(None, _CONTROLS.replace(spared, b"") if spared else _CONTROLS))


def _with_cdata(body: bytes) -> bytes:
    """HTML that is escaped tag by tag, as CDATA: the same to a parser, and several times faster."""
    return _TAG_AND_TEXT.sub(_unescaped, body) if body.count(b"&lt;") > _MANY else body


def _unescaped(match: re.Match[bytes]) -> bytes:
    tag, text = match[1], match[2]
    if tag is None or text.count(b"&lt;") < 5 or b"]]" in text:
        return match[0]
    inner = _REFERENCE.sub(lambda found: _PREDEFINED.get(found[0]) or b"]]>" + found[0] + b"<![CDATA[", text)
    return tag + b"<![CDATA[" + inner + b"]]>"
