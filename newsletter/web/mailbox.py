"""A catch-all mail server that stores every message in a Maildir, and the page to read them.

    SMTP -> CatchAll -> Maildir -> mailbox_app -> a browser on this machine

It is no mail server for the world: it takes whatever it is given, from anyone who can reach its port, and delivers
nothing. Messages are stored exactly as they came, octet for octet, no header added: a file can be compared with what
`newsletter render` writes. The page only reads; what is in a message is never trusted.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import email.errors
import email.header
import email.message
import email.parser
import email.utils
import html
import ipaddress
import itertools
import os
import re
import socket
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import aiosmtpd.smtp

from newsletter import __version__, dates, errors
from newsletter.web import serving

if TYPE_CHECKING:
    from fastapi import FastAPI

SIZE_LIMIT = 33_554_432  # octets of one message, announced as SIZE (RFC 1870)
PAGE = 100  # messages on one page of the list
HEAD = 65_536  # octets of a message that the list reads
SHOWN = 400_000  # octets of a source or a text that the page shows; the whole is a click away
KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=-]{0,200}")

# -- the mail server ---------------------------------------------------------------------------------------------


class CatchAll:
    """A running SMTP server in a thread of its own, as a context manager; `port` is the one it listens on.

    Raises `errors.NewsletterError` when the port is taken or the folder cannot be made.
    """

    def __init__(self, maildir: Path, host: str = "127.0.0.1", port: int = 0) -> None:
        self.maildir = maildir
        self.host = host
        self.port = port
        self._numbers = itertools.count(1)
        self._machine = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()) or "localhost"
        self._sessions: weakref.WeakSet[aiosmtpd.smtp.SMTP] = weakref.WeakSet()

    def __enter__(self) -> Self:
        try:
            for name in ("tmp", "new", "cur"):
                (self.maildir / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise errors.NewsletterError(f"{self.maildir} cannot be made a mailbox: {error.strerror}") from None
        self._socket = serving.listen(self.host, self.port)
        self.port = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="catch-all", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await self._loop.create_server(self._session, sock=self._socket)
        await self._stop.wait()
        server.close()
        for session in list(self._sessions):
            if isinstance(session.transport, asyncio.Transport):
                session.transport.abort()
        await asyncio.sleep(0)  # the transports close their sockets in the next round of the loop

    def _session(self) -> aiosmtpd.smtp.SMTP:
        session = aiosmtpd.smtp.SMTP(
            self,
            enable_SMTPUTF8=True,
            data_size_limit=SIZE_LIMIT,
            hostname=_announced(self.host),
            ident=f"newsletter {__version__} catch-all: takes everything, delivers nothing",
            loop=self._loop,
        )
        self._sessions.add(session)
        return session

    async def handle_DATA(  # noqa: N802 - aiosmtpd finds its hooks by these names
        self, server: aiosmtpd.smtp.SMTP, session: aiosmtpd.smtp.Session, envelope: aiosmtpd.smtp.Envelope
    ) -> str:
        """Store a message; the reply tells the key under which the page shows it."""
        try:
            key = self._store(envelope.original_content or b"")
        except OSError as error:
            return f"452 4.3.1 Not stored: {error.strerror}"
        return f"250 2.0.0 Stored as {key}"

    def _store(self, content: bytes) -> str:
        seconds, rest = divmod(time.time_ns(), 1_000_000_000)
        # Maildir's own names (cr.yp.to/proto/maildir.html): the time first, so that names sort as messages came.
        key = f"{seconds}.M{rest // 1000:06}P{os.getpid()}Q{next(self._numbers)}.{self._machine}"
        path = self.maildir / "tmp" / key
        path.write_bytes(content)
        path.rename(self.maildir / "new" / key)
        return key


def _announced(host: str) -> str:
    """How the server calls itself: a host's name, or an address literal (RFC 5321, 4.1.3)."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return f"[IPv6:{host}]" if address.version == 6 else f"[{host}]"


# -- the Maildir, read -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Stored:
    """A message in the Maildir: `key` is its name without the flags that a mail reader adds."""

    key: str
    path: Path


@dataclasses.dataclass(frozen=True, slots=True)
class Letter:
    """A message, taken apart as far as that goes. `broken` says why it went no further; `to` is (name, address)."""

    headers: tuple[tuple[str, str], ...] = ()
    to: tuple[str, str] = ("", "")
    html: str | None = None
    text: str | None = None
    broken: str = ""

    def header(self, name: str) -> str:
        """The first header of that name, decoded; "" without one."""
        return next((value for key, value in self.headers if key.lower() == name), "")


def stored(maildir: Path) -> list[Stored]:
    """What is in a Maildir, newest first."""
    found = []
    for name in ("new", "cur"):
        with contextlib.suppress(FileNotFoundError), os.scandir(maildir / name) as entries:
            for entry in entries:
                key = entry.name.partition(":")[0]
                if KEY.fullmatch(key) and entry.is_file(follow_symlinks=False):
                    found.append(Stored(key, Path(entry.path)))
    return sorted(found, key=lambda message: message.key, reverse=True)


def take_apart(raw: bytes) -> Letter:
    """A message's headers and its first HTML and text part, all decoded; never raises, whatever came."""
    try:
        message = email.parser.BytesParser().parsebytes(raw)
        lines = [(name, _unfolded(str(value))) for name, value in message.raw_items()]
        # Taken apart before it is decoded: an encoded word may hide a comma (RFC 2047, 6.2).
        to = email.utils.parseaddr(next((line for name, line in lines if name.lower() == "to"), ""))
        parts: dict[str, str] = {}
        for part in message.walk():
            kind = part.get_content_type()
            if kind in ("text/html", "text/plain") and part.get_content_disposition() != "attachment":
                parts.setdefault(kind, _content(part))
    except Exception as error:  # noqa: BLE001 - hostile mail has made every part of `email` raise something
        return Letter(broken=f"{type(error).__name__}: {error}")
    headers = tuple((name, _decoded(line)) for name, line in lines)
    return Letter(headers, (_decoded(to[0]), to[1]), parts.get("text/html"), parts.get("text/plain"))


def _content(part: email.message.Message) -> str:
    payload = part.get_payload(decode=True)
    octets = payload if isinstance(payload, bytes) else b""
    try:
        return octets.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:
        return octets.decode("utf-8", "replace")


def _unfolded(value: str) -> str:
    """A header on one line; octets that are no ASCII read as UTF-8 (RFC 6532)."""
    return re.sub(r"\r?\n(?=[ \t])", "", value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _decoded(line: str) -> str:
    """A header as people read it: its encoded words (RFC 2047) decoded, where that can be done."""
    try:
        return str(email.header.make_header(email.header.decode_header(line)))
    except (LookupError, ValueError, email.errors.HeaderParseError):
        return line


def _summary(message: Stored) -> Letter:
    try:
        with message.path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return Letter(broken="gone")
    return take_apart(re.split(rb"\r?\n\r?\n", head, maxsplit=1)[0] + b"\r\n\r\n")


def _arrived(message: Stored) -> dt.datetime | None:
    try:
        return dt.datetime.fromtimestamp(message.path.stat().st_mtime, tz=dt.UTC).astimezone()
    except OSError:
        return None


# -- the page ----------------------------------------------------------------------------------------------------

PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# A letter's own HTML: no script, no network, nothing but its words and styles, whatever is in it.
LETTER_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox"
)
_SAFE = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def mailbox_app(maildir: Path, host: str = "127.0.0.1") -> FastAPI:
    """The page on a Maildir: `/` the list, `/m/KEY` a message, `/m/KEY/html` its HTML part, `/m/KEY/raw` the file.

    It answers to this machine's own names and to `host`, and to GET and HEAD alone.
    """
    import fastapi
    from fastapi import responses
    from starlette.middleware import trustedhost

    app = fastapi.FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    names = ["127.0.0.1", "localhost", "::1", "[::1]", host]
    app.add_middleware(trustedhost.TrustedHostMiddleware, allowed_hosts=names, www_redirect=False)

    @app.middleware("http")
    async def safe(request: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        response = await call_next(request)
        for name, value in _SAFE.items():
            response.headers.setdefault(name, value)
        return response

    style = (Path(__file__).parent / "mailbox.css").read_text("utf-8")

    def answer(content: str, *, status: int = 200, policy: str = PAGE_POLICY) -> responses.Response:
        return responses.HTMLResponse(content, status_code=status, headers={"Content-Security-Policy": policy})

    def missing() -> responses.Response:
        body = '<header><p class="back"><a href="/">Mailbox</a></p><h1>There is no such message</h1></header>'
        return answer(_page("Not found", body), status=404)

    def found(key: str) -> tuple[Stored, bytes] | None:
        for message in stored(maildir):
            if message.key == key:
                with contextlib.suppress(OSError):
                    return message, message.path.read_bytes()
        return None

    @app.api_route("/", methods=["GET", "HEAD"])
    def index(page: int = 1) -> responses.Response:
        return answer(_list(stored(maildir), maildir, page))

    @app.api_route("/style.css", methods=["GET", "HEAD"])
    def css() -> responses.Response:
        return responses.Response(style, media_type="text/css")

    @app.api_route("/m/{key}", methods=["GET", "HEAD"])
    def message(key: str) -> responses.Response:
        messages = stored(maildir)
        for number, one in enumerate(messages):
            if one.key == key:
                newer = messages[number - 1].key if number else None
                older = messages[number + 1].key if number + 1 < len(messages) else None
                with contextlib.suppress(OSError):
                    return answer(_message(one, one.path.read_bytes(), newer, older))
        return missing()

    @app.api_route("/m/{key}/html", methods=["GET", "HEAD"])
    def letter(key: str) -> responses.Response:
        one = found(key)
        content = take_apart(one[1]).html if one else None
        return missing() if content is None else answer(_opening_links_outside(content), policy=LETTER_POLICY)

    @app.api_route("/m/{key}/raw", methods=["GET", "HEAD"])
    def raw(key: str) -> responses.Response:
        one = found(key)
        if one is None:
            return missing()
        headers = {"Content-Disposition": f'attachment; filename="{one[0].key}.eml"'}
        return responses.Response(one[1], media_type="message/rfc822", headers=headers)

    return app


def _opening_links_outside(content: str) -> str:
    """A letter whose links open in a tab of their own: the frame may not go anywhere."""
    base = '<base target="_blank">'
    head = re.search(r"<head(?:\s[^>]*)?>", content, re.IGNORECASE)
    return content[: head.end()] + base + content[head.end() :] if head else base + content


def _page(title: str, body: str, *, refresh: bool = False) -> str:
    again = '<meta http-equiv="refresh" content="5">' if refresh else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{again}'
        f'<meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/style.css"></head>'
        f"<body>{body}</body></html>"
    )


def _list(messages: list[Stored], maildir: Path, page: int) -> str:
    count = f"{len(messages):,} message" + ("s" if len(messages) != 1 else "")
    head = (
        f'<header><p class="count">{count}</p><h1>Mailbox</h1><p class="quiet">{html.escape(str(maildir))}</p></header>'
    )
    pages = max(1, -(-len(messages) // PAGE))
    page = min(max(page, 1), pages)
    rows = "".join(_row(message) for message in messages[(page - 1) * PAGE : page * PAGE])
    body = f'<ol class="messages">{rows}</ol>' if rows else _EMPTY
    steps = [f'<a href="/?page={page - 1}" rel="prev">Newer</a>'] if page > 1 else []
    steps += [f'<a href="/?page={page + 1}" rel="next">Older</a>'] if page < pages else []
    turn = f'<nav class="turn" aria-label="Pages">{"".join(steps)}</nav>' if steps else ""
    return _page(f"Mailbox ({len(messages):,})", f"{head}<main>{body}{turn}</main>", refresh=page == 1)


_EMPTY = (
    '<p class="empty">Nothing has come yet. Point the workspace’s <code>[smtp]</code> at this server and send: '
    "what arrives shows up here by itself.</p>"
)


def _row(message: Stored) -> str:
    letter = _summary(message)
    name, address = letter.to
    whole = letter.header("to") or "(nobody named)"
    to, below = (name or address, address if name else "") if "@" in address else (whole, "")
    subject = letter.header("subject") or "(no subject)"
    return (
        f'<li><a href="/m/{html.escape(message.key)}"><span class="to">{_bdi(to)}</span> '
        f'<span class="address">{_bdi(below) if below else ""}</span> <span class="subject">{_bdi(subject)}</span> '
        f"{_time(_arrived(message))}</a></li>"
    )


def _message(message: Stored, raw: bytes, newer: str | None, older: str | None) -> str:
    letter = take_apart(raw)
    subject = letter.header("subject") or ("A message that cannot be read" if letter.broken else "(no subject)")
    facts = [f"{name} {_bdi(letter.header(name.lower()))}" for name in ("To", "From") if letter.header(name.lower())]
    facts += [_time(_arrived(message)), f"{len(raw) / 1000:,.1f} KB"]
    steps = "".join(
        f'<a href="/m/{html.escape(key)}" rel="{rel}">{name}</a>'
        for key, rel, name in ((newer, "prev", "Newer"), (older, "next", "Older"))
        if key
    )
    head = (
        f'<header><nav class="back" aria-label="Mailbox"><a href="/">Mailbox</a><span class="turn">{steps}</span></nav>'
        f'<h1 class="subject">{_bdi(subject)}</h1><p class="quiet facts">'
        + " ".join(f"<span>{fact}</span>" for fact in facts)
        + "</p></header>"
    )
    return _page(subject, f'{head}<main class="wide">{_views(message.key, letter, raw)}</main>')


def _views(key: str, letter: Letter, raw: bytes) -> str:
    """The message's views and the radio buttons that choose one: no script is needed."""
    rows = "".join(f'<tr><th scope="row">{html.escape(k)}</th><td>{_bdi(v)}</td></tr>' for k, v in letter.headers)
    note = f'<p class="note">This message cannot be taken apart ({html.escape(letter.broken)}): here is what came.</p>'
    cut = f'<p class="note">The first {SHOWN:,} of {len(raw):,} octets.</p>' if len(raw) > SHOWN else ""
    source = (note if letter.broken else "") + cut + f"<pre>{_escaped(raw[:SHOWN])}</pre>"
    source += f'<p class="note"><a href="/m/{html.escape(key)}/raw">Save the file</a></p>'
    panels: dict[str, str] = {}
    if letter.html is not None:
        frame = (
            f'<iframe src="/m/{html.escape(key)}/html" title="The letter" '
            'sandbox="allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer"></iframe>'
        )
        panels |= {"Desktop": frame, "Phone": ""}  # one frame, two widths
    if letter.text is not None:
        panels["Text"] = f"<pre>{html.escape(letter.text[:SHOWN])}</pre>"
    if rows:
        panels["Headers"] = f'<table role="presentation">{rows}</table>'
    panels["Source"] = source
    first = next(iter(panels))
    choices = "".join(
        f'<input type="radio" name="view" id="{name.lower()}"{" checked" if name == first else ""}>'
        f'<label for="{name.lower()}">{name}</label>'
        for name in panels
    )
    shown = "".join(f'<div class="view {name.lower()}">{panel}</div>' for name, panel in panels.items() if panel)
    return f'<div class="views" role="group" aria-label="View">{choices}{shown}</div>'


def _escaped(octets: bytes) -> str:
    return html.escape(octets.decode("utf-8", "replace"))


def _bdi(text: str) -> str:
    """Somebody else's text, escaped and kept from turning the line around it from right to left."""
    return f"<bdi>{html.escape(text)}</bdi>"


def _time(moment: dt.datetime | None) -> str:
    if moment is None:
        return ""
    shown = f'<span class="day">{dates.written(moment.date())}, </span>{moment:%H:%M:%S}'
    return f'<time datetime="{moment.isoformat(timespec="seconds")}">{shown}</time>'
