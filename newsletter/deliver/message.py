"""Edition -> segments, once; segments + recipient -> the octets of a message, as often as there are people.

No e-mail object, no template and no encoder runs for a recipient: the constant header block and the body are encoded
once an edition, and a message is a join of those segments with the personal fields, then (if wanted) DKIM.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import html
import re
import urllib.parse
import zoneinfo
from collections.abc import Sequence

import idna

from newsletter import config, errors, types
from newsletter.deliver import dkim, headers, quoted

_MARK = re.compile(f"{types.MARK_OPEN}([a-z_]+){types.MARK_CLOSE}")


@dataclasses.dataclass(frozen=True, slots=True)
class Letterhead:
    """What every message of one issue shares. `zone`: the offset that Date is written with."""

    issue: str
    sender: tuple[str, str]  # name, address
    reply_to: tuple[str, str] | None
    bounce_domain: str | None
    title: str
    base_url: str
    zone: str
    keys: tuple[dkim.Key, ...] = ()

    @property
    def newsletter(self) -> str:
        """`weekly`."""
        return self.issue.partition("/")[0]

    @property
    def domain(self) -> str:
        """The sending domain: of From, in ASCII."""
        return ascii_domain(self.sender[1].rpartition("@")[2])

    @property
    def host(self) -> str:
        """The host of the public pages."""
        return urllib.parse.urlsplit(self.base_url).hostname or "localhost"


def letterhead(issue: types.Issue, keys: Sequence[dkim.Key]) -> Letterhead:
    """The letterhead of an issue, frozen with it; only keys aligned with From sign."""
    sender = headers.split_mailbox(issue.sender)
    domain = sender[1].rpartition("@")[2]
    return Letterhead(
        issue=issue.name,
        sender=(sender[0] or issue.title, ascii_address(sender[1])),
        reply_to=_reply_to(issue.reply_to),
        bounce_domain=ascii_domain(issue.bounce_domain) if issue.bounce_domain else None,
        title=issue.title,
        base_url=issue.base_url,
        zone=issue.timezone,
        keys=tuple(key for key in keys if dkim.aligned(key.domain, domain)),
    )


def letterhead_of(newsletter: config.Newsletter, base_url: str, keys: Sequence[dkim.Key]) -> Letterhead:
    """The letterhead of a newsletter's service mails, as it is set now. They have no bounce domain: nobody's token."""
    sender = headers.split_mailbox(newsletter.sender)
    domain = sender[1].rpartition("@")[2]
    return Letterhead(
        issue=newsletter.slug,
        sender=(sender[0] or newsletter.title, ascii_address(sender[1])),
        reply_to=_reply_to(newsletter.reply_to),
        bounce_domain=None,
        title=newsletter.title,
        base_url=base_url,
        zone=newsletter.timezone,
        keys=tuple(key for key in keys if dkim.aligned(key.domain, domain)),
    )


def _reply_to(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    name, address = headers.split_mailbox(text)
    return name, ascii_address(address)


def ascii_domain(domain: str) -> str:
    """A domain as the mail system writes it (IDNA, UTS 46). Raises `errors.HeaderError` for what is none."""
    try:
        return idna.encode(domain, uts46=True).decode() if not domain.isascii() else domain.lower()
    except idna.IDNAError:
        raise errors.HeaderError(f"{domain!r} is no domain") from None


def ascii_address(address: str) -> str:
    """An address whose domain is in ASCII; the local part stays."""
    local, _, domain = address.rpartition("@")
    return f"{local}@{ascii_domain(domain)}"


@dataclasses.dataclass(frozen=True, slots=True)
class Encoded:
    """An edition in segments: `head` and `body` are octets with, between them, the names of personal values.

    `canonical` holds the constant fields for DKIM; `start` is the SHA-256 state after the body's first segment.
    """

    letterhead: Letterhead
    topics: tuple[str, ...]
    top: bytes  # From, Reply-To
    middle: bytes  # Subject … List-Id
    bottom: bytes  # List-Id … and the empty line
    body: tuple[bytes | tuple[str, bool], ...]  # octets, or (field, is it in HTML?)
    canonical: dict[str, bytes]
    is_service: bool = False  # nobody subscribed to it: it has no List-Unsubscribe


def encode(edition: types.Edition, letterhead: Letterhead) -> Encoded:
    """Encode an edition once. Raises `errors.HeaderError` for a value that may not stand in a header."""
    archive = f"{letterhead.base_url}/{letterhead.newsletter}/"
    list_id = f"<{letterhead.newsletter}.{letterhead.host}>"
    feedback = f"{letterhead.issue.partition('/')[2]}:{letterhead.newsletter}:issue:{letterhead.domain}"
    own = (
        headers.field("List-Id", [*headers.phrase(letterhead.title), list_id]),
        headers.field("List-Unsubscribe-Post", ["List-Unsubscribe=One-Click"]),  # RFC 8058, 3.1
        headers.field("List-Archive", [f"<{archive}>"]),
        headers.field("Feedback-ID", [feedback]),
        headers.field("Precedence", ["bulk"]),
    )
    return _encoded(edition, letterhead, b"".join(own), is_service=False)


def encode_service(edition: types.Edition, letterhead: Letterhead) -> Encoded:
    """Encode a mail to one person about their subscription: Auto-Submitted (RFC 3834, 5), and no List-Unsubscribe."""
    own = headers.field("Auto-Submitted", ["auto-generated"])
    return _encoded(edition, letterhead, own, is_service=True)


def _encoded(edition: types.Edition, letterhead: Letterhead, own: bytes, *, is_service: bool) -> Encoded:
    boundary = "=_" + hashlib.sha256((edition.text + edition.html).encode()).hexdigest()[:24]  # never in QP: "=_"
    top = headers.field("From", headers.mailbox(*letterhead.sender))
    if letterhead.reply_to:
        top += headers.field("Reply-To", headers.mailbox(*letterhead.reply_to))
    middle = headers.field("Subject", headers.unstructured(edition.subject))
    bottom = b"".join(
        (
            own,
            headers.field("MIME-Version", ["1.0"]),
            headers.field("Content-Type", ["multipart/alternative;", f'boundary="{boundary}"']),
        )
    )
    part = (
        f"--{boundary}\r\nContent-Type: text/{{}}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    )
    body: list[bytes | tuple[str, bool]] = [part.format("plain").encode()]
    body += _segments(edition.text, is_html=False)
    body += [b"\r\n" + part.format("html").encode()]
    body += _segments(edition.html, is_html=True)
    body += [f"\r\n--{boundary}--\r\n".encode()]  # the CRLF before a boundary is the boundary's (RFC 2046, 5.1.1)
    fields = re.findall(rb"[^\r\n]+\r\n(?:[ \t][^\r\n]*\r\n)*", top + middle + bottom)
    return Encoded(
        letterhead=letterhead,
        topics=edition.topics,
        top=top,
        middle=middle,
        bottom=bottom + b"\r\n",
        body=tuple(_joined(body)),
        canonical={field.partition(b":")[0].decode().lower(): dkim.relaxed(field) for field in fields},
        is_service=is_service,
    )


def _segments(text: str, *, is_html: bool) -> list[bytes | tuple[str, bool]]:
    """A part's text, encoded, with its slots; each slot between soft line breaks."""
    found: list[bytes | tuple[str, bool]] = []
    pieces = _MARK.split(text.replace("\r\n", "\n"))
    for i, piece in enumerate(pieces):
        if i % 2:
            if piece not in types.PERSONAL:
                raise errors.HeaderError(f"an edition holds an unknown personal field {piece!r}")
            found.append((piece, is_html))
            continue
        octets = quoted.encode(piece)
        last = i == len(pieces) - 1
        if i and not octets.startswith(b"\r\n"):
            octets = b"=\r\n" + octets
        if not last and octets and not octets.endswith(b"\r\n"):
            octets += b"=\r\n"
        found.append(octets)
    return found


def _joined(parts: list[bytes | tuple[str, bool]]) -> list[bytes | tuple[str, bool]]:
    joined: list[bytes | tuple[str, bool]] = []
    for part in parts:
        if isinstance(part, bytes) and joined and isinstance(joined[-1], bytes):
            joined[-1] += part
        elif part:
            joined.append(part)
    return joined


@dataclasses.dataclass(frozen=True, slots=True)
class Message:
    """The octets of one message, with its envelope. `octets` have no leading dots in the body (see `quoted`)."""

    mail_from: str
    rcpt_to: str
    message_id: str
    octets: bytes


def build(encoded: Encoded, recipient: types.Recipient, *, message_token: str, at: dt.datetime) -> Message:
    """The message for one recipient. `at` is Date (whole seconds) and DKIM's t=.

    Raises `errors.HeaderError` when a name or an address may not stand in a header.
    """
    letterhead = encoded.letterhead
    links = personal_links(letterhead, recipient)
    message_id = f"<{message_token}@{letterhead.domain}>"
    leave = [f"<{links['unsubscribe_url']}>,", f"<{_mailto(letterhead, recipient)}>"]
    personal = {
        "to": headers.field("To", headers.mailbox(recipient.name, recipient.email)),
        "date": headers.field("Date", [headers.date(at.astimezone(zoneinfo.ZoneInfo(letterhead.zone)))]),
        "message-id": headers.field("Message-ID", [message_id]),
    }
    if not encoded.is_service:
        personal["list-unsubscribe"] = headers.field("List-Unsubscribe", leave)
    values: dict[tuple[str, bool], bytes] = {}
    parts: list[bytes] = []
    for segment in encoded.body:
        if isinstance(segment, bytes):
            parts.append(segment)
            continue
        if segment not in values:
            text = links[segment[0]]
            values[segment] = quoted.value(_escaped(text) if segment[1] else text)
        parts.append(values[segment])
    body = b"".join(parts)
    head = [
        encoded.top,
        personal["to"],
        encoded.middle,
        personal["date"],
        personal["message-id"],
        personal.get("list-unsubscribe", b""),
        encoded.bottom,
    ]
    if letterhead.keys:
        fields = {**encoded.canonical, **{name: dkim.relaxed(field) for name, field in personal.items()}}
        digest = hashlib.sha256(body).digest()
        head = [dkim.sign(fields, digest, key, at) for key in letterhead.keys] + head
    bounce = (
        f"bounce+{recipient.bounce_token}@{letterhead.bounce_domain}"
        if letterhead.bounce_domain
        else letterhead.sender[1]
    )
    return Message(bounce, recipient.email, message_id, b"".join((*head, body)))


def personal_links(letterhead: Letterhead, recipient: types.Recipient) -> dict[str, str]:
    """The values of the marks, as plain text."""
    return {
        "email": recipient.email,
        "name": recipient.name,
        "unsubscribe_url": f"{letterhead.base_url}/unsubscribe/{recipient.unsubscribe_token}",
        "preferences_url": f"{letterhead.base_url}/preferences/{recipient.preferences_token}",
    }


def filled(edition: types.Edition, letterhead: Letterhead, recipient: types.Recipient) -> tuple[str, str]:
    """(HTML, text) of an edition with the marks filled in: what `build` sends, before encoding."""
    links = personal_links(letterhead, recipient)
    page = _MARK.sub(lambda found: _escaped(links[found[1]]), edition.html)
    return page, _MARK.sub(lambda found: links[found[1]], edition.text)


def _escaped(text: str) -> str:
    """For a text and for an attribute in double quotes, which are the only ones that MJML writes."""
    return html.escape(text, quote=False).replace('"', "&quot;")


def _mailto(letterhead: Letterhead, recipient: types.Recipient) -> str:
    token = recipient.unsubscribe_token
    if letterhead.bounce_domain:
        return f"mailto:unsubscribe+{token}@{letterhead.bounce_domain}"
    return f"mailto:{urllib.parse.quote(letterhead.sender[1], safe='@+')}?subject=unsubscribe%20{token}"
