"""A document's octets, put right before anything reads them: encodings that lie or are not told, forbidden characters,
slow text. Pure.

What is right stays as it is, octet for octet.
"""

from __future__ import annotations

import codecs
import dataclasses
import re

from newsletter.sources import charset

# XML 1.0, 2.2 forbids these, as octets and as references; a strict parser gives up on the first.
_CONTROLS = bytes([*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20)])
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|&#")
_CONTROL_REFERENCE = re.compile(rb"&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01])|x0*(?:[0-8bcBC]|[eEfF]|1[0-9a-fA-F]));")
_DECLARED = re.compile(rb"(<\?xml[^<>]{0,100}?encoding\s*=\s*[\"'])([\w.:-]{1,40})", re.IGNORECASE)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FEW = 10  # a document is in the encoding that it names if one character in so many is broken, or fewer
# What is written under these names is more than Python's codecs of them take (WHATWG Encoding, 4.2).
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs"}
_MANY = 200  # references to "<" that make text slow: a parser hands it over in pieces, one more for each
_TAG_AND_TEXT = re.compile(
    rb"<!\[CDATA\[.*?\]\]>|<!--.*?-->|(<[/A-Za-z][^<>\"']*(?:\"[^\"<]*\"[^<>\"']*|'[^'<]*'[^<>\"']*)*>)([^<]+)",
    re.DOTALL,
)
# XML 1.0, 4.6 names five; "&amp;" is the last to be replaced, since what it leaves may look like another.
_PREDEFINED = {b"&lt;": b"<", b"&gt;": b">", b"&quot;": b'"', b"&apos;": b"'", b"&amp;": b"&"}
_OTHER_REFERENCE = re.compile(rb"&(?!(?:lt|gt|amp|quot|apos);)(?:#\w{1,10}|\w{1,40});")


@dataclasses.dataclass(frozen=True, slots=True)
class Assumed:
    """The encoding that a file was read in though it does not say so, and the first line that is not UTF-8."""

    encoding: str
    line: int

    def __str__(self) -> str:
        return f"not UTF-8; the file is read as {self.encoding}: save it as UTF-8 if something looks wrong"


def in_utf8(data: bytes) -> tuple[bytes, Assumed | None]:
    """A text file in UTF-8, and what was assumed to get there; None where the file itself says what it is."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace").encode("utf-8", "replace"), None
    if shifted := charset.shifted(data) if data.isascii() else None:
        return data.decode(shifted).encode(), Assumed(shifted, data.count(b"\n", 0, data.index(b"\x1b")) + 1)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        text, encoding = _mostly_utf8(data), charset.WESTERN
        if text is None:
            encoding = charset.guess(data)
            text = data.decode(encoding, "replace")
        return text.encode(), Assumed(encoding, data.count(b"\n", 0, error.start) + 1)
    return data, None


def repaired(body: bytes, served: str = "") -> bytes:
    """The same document, such that a parser reads what was meant. `served` is the encoding that came with it."""
    if body[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in body[:8]:  # UTF-16 and UTF-32
        return body
    clean = _without_controls(body)
    text = _as_utf8(clean, served)
    return _with_cdata(text if text is clean else _without_controls(text))


def note(body: bytes, served: str = "") -> str | None:
    """What a person should know of a document's encoding: that it was guessed."""
    encoding = assumed(body, served)
    if encoding is None:
        return None
    return f"its encoding is not told, or not truly; it is read as {encoding}: look whether its accents are right"


def assumed(body: bytes, served: str = "") -> str | None:
    """The encoding that `repaired` reads a document in, or some octets of it, though nothing tells it; None if told."""
    if body[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in body[:8]:
        return None
    found = _read_in(_without_controls(body), served)
    return found.encoding if found.is_guess else None


@dataclasses.dataclass(frozen=True, slots=True)
class _ReadIn:
    """The encoding of a document and what it says in it; without a text that is left to the parser."""

    encoding: str
    text: str | None = None
    is_guess: bool = False


def _read_in(body: bytes, served: str) -> _ReadIn:
    """UTF-8 where a document is in it, whatever it says, and where it is so but for a few octets of Windows-1252.

    What names another encoding is left to the parser, if it decodes; else it is in the one that came with it, or in its
    own with a few faults. What names none, or lies, is in the one that came with it, else in what it looks like.
    """
    declared = _DECLARED.search(body[:300])
    named = _codec(declared[2].decode("ascii", "replace")) if declared else None
    if body.isascii():
        shifted = charset.shifted(body)
        if shifted is None:
            return _ReadIn("ascii")
        return _ReadIn(shifted, body.decode(shifted), is_guess=shifted not in (named, _codec(served)))
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        text = _mostly_utf8(body)
    else:
        return _ReadIn("utf-8")
    if text is not None:
        return _ReadIn(charset.WESTERN, text, is_guess=True)
    if named is not None and not named.startswith(("utf", "ascii")):
        named = _WIDER.get(named, named)
        if _decoded(body, named) is not None:
            return _ReadIn(named)
    else:
        named = None
    came = _codec(served)
    if came not in (None, "utf-8", "ascii", "iso8859-1", "cp1252"):  # Latin-1 is what many say of whatever they serve
        came = _WIDER.get(came, came)
        text = _decoded(body, came)
        if text is not None:
            return _ReadIn(came, text)
    if named is not None:
        text = body.decode(named, "replace")
        if text.count("\ufffd") * _FEW <= _foreign(text):
            return _ReadIn(named, text)
    guessed = charset.guess(body)
    return _ReadIn(guessed, body.decode(guessed, "replace"), is_guess=True)


def _as_utf8(body: bytes, served: str) -> bytes:
    if body.isascii() and b"\x1b" not in body:
        return body
    found = _read_in(body, served)
    if found.text is not None:
        body = found.text.encode()
    elif found.encoding != "utf-8":
        return body
    return _DECLARED.sub(rb"\1utf-8", body[:300], count=1) + body[300:]


def _decoded(body: bytes, codec: str) -> str | None:
    try:
        return body.decode(codec)
    except UnicodeError:
        return None


def _codec(name: str) -> str | None:
    """Python's name of a text encoding; None when there is none of that name."""
    try:
        b"    ".decode(name)  # or "base64" would be one
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        return None


def _mostly_utf8(body: bytes) -> str | None:
    """The text, if it has more of UTF-8's characters than octets that are none."""
    text = body.decode("utf-8", "replace")
    least = text.count("\ufffd") - body.count("\ufffd".encode())
    if _foreign(text) - least <= least:  # known at once: octet for octet it takes a second for half a megabyte
        return None
    strays = 0

    def as_windows(error: UnicodeError) -> tuple[str, int]:
        nonlocal strays
        if not isinstance(error, UnicodeDecodeError):
            raise error
        strays += error.end - error.start
        return error.object[error.start : error.end].decode("cp1252", "replace"), error.end

    codecs.register_error("newsletter.as_windows", as_windows)
    text = body.decode("utf-8", "newsletter.as_windows")
    return text if _foreign(text) - strays > strays else None


def _foreign(text: str) -> int:
    """How many of its characters are not ASCII."""
    return len(text) - len(text.encode("ascii", "ignore"))


def _without_controls(body: bytes) -> bytes:
    if not _CONTROL.search(body):  # no second copy of a large document
        return body
    if b"iso-2022" in body[:200].lower() or (body.isascii() and charset.shifted(body)):
        return _CONTROL_REFERENCE.sub(b"", body.translate(None, _CONTROLS.translate(None, b"\x0e\x0f\x1b")))
    return _CONTROL_REFERENCE.sub(b"", body.translate(None, _CONTROLS))


def _with_cdata(body: bytes) -> bytes:
    """HTML that is escaped tag by tag, as CDATA: the same to a parser, and several times faster."""
    return _TAG_AND_TEXT.sub(_unescaped, body) if body.count(b"&lt;") > _MANY else body


def _unescaped(match: re.Match[bytes]) -> bytes:
    tag, text = match[1], match[2]
    if tag is None or text.count(b"&lt;") < 5 or b"]]" in text:
        return match[0]
    text = _OTHER_REFERENCE.sub(rb"]]>\g<0><![CDATA[", text)
    for reference, character in _PREDEFINED.items():
        text = text.replace(reference, character)
    return tag + b"<![CDATA[" + text + b"]]>"
