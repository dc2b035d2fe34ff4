"""The octets of a message, as a server would receive them, against what bulk mail must be.

    fields    RFC 5322 (3.6: how often, 2.2: which octets), 2047 (encoded words), Message-ID, Date, one recipient
    list      RFC 2369, 2919 and 8058, Feedback-ID; RFC 6376 (5.4): what a signature must cover
    body      RFC 2045, 2046: lines, boundary, text before HTML, UTF-8, an encoding that survives
    copies    what a second try must not change, and what no two readers may share

Nothing is parsed with `email`: it mends in silence what is looked for here.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime as dt
import quopri
import re
from email.utils import parsedate_to_datetime

from newsletter import config, types
from newsletter.render.check.rules import found
from newsletter.render.check.words import Findings, host_of, short

MAX_LINE = 998  # RFC 5322, 2.1.1
MAX_WORD = 75  # RFC 2047, 2
MAX_BOUNDARY = 70  # RFC 2046, 5.1.1
LEAST_TOKEN = 22  # characters of base64 that hold 128 bits
_ONCE = (
    "From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type", "List-Id", "List-Unsubscribe",
    "List-Unsubscribe-Post", "List-Archive", "Feedback-ID", "Precedence",
)  # fmt: skip
_AT_MOST_ONCE = ("Reply-To", "Sender", "Auto-Submitted")
_NEVER = ("Bcc", "Cc")
_COVERED = (
    "from", "to", "subject", "date", "message-id", "mime-version", "content-type", "list-id", "list-unsubscribe",
    "list-unsubscribe-post",
)  # fmt: skip
_COVERED_IF_THERE = ("reply-to", "cfbl-address")  # RFC 9477, 3.1.1
_OVERSIGNED = ("from", "subject", "to", "list-unsubscribe")
_OF_ALL = ("from", "list-id", "list-archive", "list-unsubscribe-post", "feedback-id", "precedence")
_OF_ONE = ("message-id", "list-unsubscribe")
_OF_A_TIME = ("date", "dkim-signature")
_NO_WORDS = ("message-id", "list-unsubscribe", "list-unsubscribe-post", "list-archive", "feedback-id", "dkim-signature")
_NAME = re.compile(rb"[!-9;-~]+")
_ENCODED = re.compile(r"=\?([^?\s]*)\?([^?\s]*)\?([^?\s]*)\?=")
_ATOMS = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+"
_MESSAGE_ID = re.compile(rf"<{_ATOMS}@([A-Za-z0-9.-]+)>")
_PHRASE = r"(?:\"(?:[^\"\\]|\\.)*\"|[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]+)"
_MAILBOX = re.compile(rf"(?:{_PHRASE}\s+)?<({_ATOMS}|\"[^\"]*\")@([A-Za-z0-9.-]+|\[[^\]]*\])>")
_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} "
    r"\d\d:\d\d:\d\d [+-]\d{4}"
)
_LIST_ID = re.compile(r"(?:.*\s)?<[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+>", re.DOTALL)
_FEEDBACK = re.compile(r"[^\s:@]*(?::[^\s:@]*){0,2}:[^\s:@]{3,}")


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A header field: its name, in lower case, and its unfolded value."""

    name: str
    value: str
    raw: bytes


def of_message(octets: bytes, now: dt.datetime) -> list[types.Finding]:
    """What is wrong with the octets of one message that is made `now`."""
    head, _, body = octets.partition(b"\r\n\r\n")
    fields = _fields(head)
    findings = [
        *_lines(octets),
        *_form(head, fields),
        *_counts(fields),
        *_words(fields),
        *_identity(fields, now),
        *_list(fields),
        *_signatures(fields),
        *_body(fields, body),
    ]
    return list(dict.fromkeys(findings))


def of_copies(octets: bytes, later: bytes, other: bytes) -> list[types.Finding]:
    """What is wrong between messages of one edition: `later` is tried again, `other` is another reader's.

    A second try has the same name and the same words (RFC 5322, 3.6.4: a name means one version of one message); a
    reader's way out is theirs alone (RFC 8058, 3), and nothing that all share tells who reads (RFC 2919, 2).
    """
    return list(dict.fromkeys([*_tries(octets, later), *_readers(octets, other)]))


def _tries(octets: bytes, later: bytes) -> Findings:
    for name in _differing(octets, later):
        if name not in _OF_A_TIME:
            code = "message-id" if name == "message-id" else "message-again"
            yield found(code, f"a second try would have another {name.title()}", name)
    if octets.partition(b"\r\n\r\n")[2] != later.partition(b"\r\n\r\n")[2]:
        yield found("message-again", "a second try would have other words", "message")


def _readers(octets: bytes, other: bytes) -> Findings:
    differing = _differing(octets, other)
    for name in _OF_ONE:
        if name not in differing:
            yield found(name, f"two readers share one {name.title()}", name)
    for name in _OF_ALL:
        if name in differing:
            code = name if name in ("list-id", "feedback-id") else "header-form"
            yield found(code, f"{name.title()} is not the same for all readers", name)


def _differing(octets: bytes, other: bytes) -> list[str]:
    """The fields that are not the same in two messages."""
    one, two = (
        {field.name: field.value for field in reversed(_fields(each.partition(b"\r\n\r\n")[0]))}
        for each in (octets, other)
    )
    return [name for name in {**one, **two} if one.get(name) != two.get(name)]


def _fields(head: bytes) -> list[Field]:
    whole = re.split(rb"\r\n(?![ \t])", head)
    found_ = []
    for raw in whole:
        name, _, value = raw.partition(b":")
        text = re.sub(rb"\r\n(?=[ \t])", b"", value).decode("latin-1").strip()
        found_.append(Field(name.decode("latin-1").lower(), text, raw))
    return found_


def _values(fields: list[Field], name: str) -> list[str]:
    return [field.value for field in fields if field.name == name.lower()]


def _one(fields: list[Field], name: str) -> str:
    return next(iter(_values(fields, name)), "")


def _lines(octets: bytes) -> Findings:
    if b"\n" in octets.replace(b"\r\n", b"") or b"\r" in octets.replace(b"\r\n", b""):
        yield found("message-lines", "a line ends with CR or LF alone", "message")
    longest = max(map(len, octets.split(b"\r\n")))
    if longest > MAX_LINE:
        yield found("message-lines", f"a line has {longest:,} octets, over {MAX_LINE}", "message")
    if not octets.endswith(b"\r\n"):
        yield found("message-lines", "the last line has no CRLF", "message")


def _form(head: bytes, fields: list[Field]) -> Findings:
    for field in fields:
        name = field.raw.partition(b":")[0]
        if b":" not in field.raw or not _NAME.fullmatch(name):
            yield found("header-form", f"{short(field.raw[:60].decode('latin-1'))!r} is no header field", "header")
    for what, pattern in (("octets above 127", rb"[\x80-\xff]"), ("a control character", rb"[\x00-\x08\x0b-\x1f\x7f]")):
        match = re.search(pattern, head.replace(b"\r\n", b"  "))
        if match:
            line = head[: match.start()].count(b"\r\n")
            yield found("header-form", f"the header holds {what} in line {line + 1}", "header")


def _counts(fields: list[Field]) -> Findings:
    names = [field.name for field in fields]
    for name in _ONCE:
        count = names.count(name.lower())
        if count != 1:
            yield found("header-count", f"{name} stands {count} times, not once", name)
    for name in _AT_MOST_ONCE:
        if names.count(name.lower()) > 1:
            yield found("header-count", f"{name} stands {names.count(name.lower())} times", name)
    for name in _NEVER:
        if name.lower() in names:
            yield found("message-to", f"there is a {name}", name)


def _words(fields: list[Field]) -> Findings:
    for field in fields:
        for match in _ENCODED.finditer(field.value):
            if len(match[0]) > MAX_WORD:
                yield found("header-words", f"an encoded word of {len(match[0])} characters, over 75", field.name)
            elif field.name in _NO_WORDS:
                yield found("header-words", "an encoded word where an address or a URI stands", field.name)
            elif not _is_whole(match):
                yield found("header-words", f"{short(match[0])!r} cannot be decoded by itself", field.name)
        if re.search(r"@[^\s>,]*=\?|=\?[^\s<]*\?=@", field.value):
            yield found("header-words", "an encoded word inside an address", field.name)


def _is_whole(match: re.Match[str]) -> bool:
    """Does an encoded word hold whole characters, and can it be decoded?"""
    charset, encoding, text = match.groups()
    try:
        if encoding.lower() == "b":
            octets = base64.b64decode(text, validate=True)
        else:
            octets = quopri.decodestring(text.replace("_", " ").encode("latin-1"))
        octets.decode(charset)
    except (ValueError, LookupError):
        return False
    return True


def _identity(fields: list[Field], now: dt.datetime) -> Findings:
    sender = _MAILBOX.fullmatch(_plain(_one(fields, "From")))
    domain = sender[2].lower() if sender else ""
    identity = _MESSAGE_ID.fullmatch(_one(fields, "Message-ID"))
    if not sender:
        yield found("header-form", f"From is not one mailbox: {short(_one(fields, 'From'))!r}", "From")
    elif not identity or identity[1].lower() != domain:
        yield found(
            "message-id", f"Message-ID {short(_one(fields, 'Message-ID'))!r} is no name at {domain}", "Message-ID"
        )
    for name in ("Reply-To", "Sender"):
        for value in _values(fields, name):
            if not _MAILBOX.fullmatch(_plain(value)):
                yield found("header-form", f"{name} is not one mailbox: {short(value)!r}", name)
    to = _one(fields, "To")
    if not _MAILBOX.fullmatch(_plain(to)):
        yield found("message-to", f"To is not one recipient: {short(to)!r}", "To")
    date = _one(fields, "Date")
    if not _DATE.fullmatch(date):
        yield found("message-date", f"Date is {short(date)!r}", "Date")
    elif parsedate_to_datetime(date) > now + dt.timedelta(minutes=1):
        yield found("message-date", f"Date is {date}, which is not yet", "Date")


def _plain(mailbox: str) -> str:
    """A mailbox with the encoded words of its name taken for atoms."""
    return _ENCODED.sub("name", mailbox)


def _list(fields: list[Field]) -> Findings:
    value = _one(fields, "List-Unsubscribe")
    uris = re.findall(r"<([^<>\s]+)>", value)
    rest = re.sub(r"<[^<>\s]+>", "", value).replace(",", "").strip()
    web = [uri for uri in uris if uri.lower().startswith(("https:", "http:"))]
    mails = [uri for uri in uris if uri.lower().startswith("mailto:")]
    if rest or len(web) != 1 or uris[:1] != web or uris[1:] != mails or len(mails) > 1:
        yield found("list-unsubscribe", f"List-Unsubscribe is {short(value)!r}", "List-Unsubscribe")
    else:
        if not web[0].lower().startswith("https:") and not config.is_loopback(host_of(web[0])):
            yield found(
                "list-unsubscribe",
                "the one-click address is not https",
                "List-Unsubscribe",
                "set an https:// address as site.base_url in newsletter.toml",
            )
        if len(re.split(r"[/?=]", web[0])[-1]) < LEAST_TOKEN:
            yield found(
                "list-unsubscribe", "the one-click address has no token that is hard to guess", "List-Unsubscribe"
            )
    post = _one(fields, "List-Unsubscribe-Post")
    if post != "List-Unsubscribe=One-Click":
        yield found("list-one-click", f"List-Unsubscribe-Post is {short(post)!r}", "List-Unsubscribe-Post")
    if not _LIST_ID.fullmatch(_one(fields, "List-Id")):
        yield found("list-id", f"List-Id is {short(_one(fields, 'List-Id'))!r}", "List-Id")
    if _one(fields, "Precedence").lower() not in ("bulk", "list"):
        yield found("header-form", f"Precedence is {short(_one(fields, 'Precedence'))!r}, not bulk", "Precedence")
    if not _FEEDBACK.fullmatch(_one(fields, "Feedback-ID")):
        yield found("feedback-id", f"Feedback-ID is {short(_one(fields, 'Feedback-ID'))!r}", "Feedback-ID")


def _signatures(fields: list[Field]) -> Findings:
    for value in _values(fields, "DKIM-Signature"):
        tags = dict(part.strip().partition("=")[::2] for part in value.split(";") if "=" in part)
        names = [name.strip().lower() for name in tags.get("h", "").split(":")]
        wanted = [*_COVERED, *(name for name in _COVERED_IF_THERE if _values(fields, name))]
        bare = [name for name in wanted if name not in names]
        bare += [f"{name} (twice)" for name in _OVERSIGNED if names.count(name) < 2]
        if bare:
            yield found("dkim-fields", f"a signature does not cover {', '.join(bare)}", "DKIM-Signature")
        if "l" in tags or tags.get("a", "").strip() not in ("rsa-sha256", "ed25519-sha256"):
            yield found("dkim-fields", "a signature has l= or an algorithm that is not trusted", "DKIM-Signature")


# -- the body ------------------------------------------------------------------------------------------------------


def _body(fields: list[Field], body: bytes) -> Findings:
    kind = _one(fields, "Content-Type")
    match = re.search(r'(?i)^multipart/alternative\s*;.*boundary="?([^";]+)"?', kind)
    if not match:
        yield found("message-parts", f"the message is {short(kind)!r}, not multipart/alternative", "Content-Type")
        return
    mark = b"--" + match[1].encode("latin-1")
    pieces = re.split(rb"(?:^|\r\n)" + re.escape(mark) + rb"(?:--)?[ \t]*(?=\r\n|$)", body)
    parts = [piece.removeprefix(b"\r\n") for piece in pieces[1:-1]]
    if len(match[1]) > MAX_BOUNDARY or body.count(mark) != len(parts) + 1:
        yield found("message-parts", "the boundary is too long, or stands in the body", "message")
    kinds = []
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        mine = _fields(head)
        told = _one(mine, "Content-Type").lower()
        kinds.append(told.partition(";")[0].strip())
        if not re.search(r'charset="?utf-8"?', told):
            yield found("message-parts", f"the part {kinds[-1]} is not in UTF-8", kinds[-1])
        encoding = _one(mine, "Content-Transfer-Encoding").lower()
        octets = _unpacked(content, encoding)
        if octets is None:
            yield found(
                "message-parts", f"the part {kinds[-1]} cannot be decoded ({encoding or 'no encoding'})", kinds[-1]
            )
        elif not octets.strip():
            yield found("message-parts", f"the part {kinds[-1]} is empty", kinds[-1])
    if kinds != ["text/plain", "text/html"]:
        yield found("message-parts", f"the parts are {', '.join(kinds) or 'none'}, not text and HTML", "message")


def _unpacked(content: bytes, encoding: str) -> str | None:
    """A part's text; None for what is no text, or in an encoding that servers may damage."""
    if encoding not in ("quoted-printable", "base64"):
        return None
    try:
        octets = quopri.decodestring(content) if encoding == "quoted-printable" else base64.b64decode(content)
        return octets.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
