"""SMTP on kept connections. aiosmtplib connects (TLS, AUTH); then the live transport is ours.

Ours, because three things must be told apart that a general client hides: a reply to RCPT from one to the last dot, a
connection lost before the body from one lost after it, and the moment between 354 and the body, at which the ledger is
written. A connection is closed on every timeout, cancel and reply out of step: the next message must never get the
answer to this one.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import re
import socket
import ssl

import aiosmtplib

from newsletter import config, errors, types
from newsletter.deliver import message as messages
from newsletter.deliver import verdicts

# Seconds, by RFC 5321 4.5.3.2: what a server may take at each stage.
CONNECT, COMMAND, DATA, FINAL_DOT, RSET, QUIT = 30.0, 300.0, 120.0, 600.0, 60.0, 5.0
MAX_REPLY = 64 * 1024
_names: dict[str, str] = {}  # host -> what we call ourselves there: a slow name server is asked once a process
_REPLY = re.compile(rb"(\d{3})([ -]?)(.*)", re.DOTALL)


class Lost(Exception):
    """The connection is gone, late, or out of step."""


class Wire(asyncio.Protocol):
    """Replies as they come, one after the other, on a transport that was handed over."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self._buffer = bytearray()
        self._lines: list[bytes] = []
        self._replies: collections.deque[tuple[int, str]] = collections.deque()
        self._waiter: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.gone = asyncio.Event()
        self.lost = ""

    def data_received(self, data: bytes) -> None:
        """Collect lines into replies (RFC 5321, 4.2)."""
        self._buffer += data
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end]).rstrip(b"\r")
            del self._buffer[: end + 1]
            self._line(line)
        if len(self._buffer) + sum(map(len, self._lines)) > MAX_REPLY:
            self._fail("the server's reply has no end")

    def _line(self, line: bytes) -> None:
        match = _REPLY.fullmatch(line)
        if not match:
            self._fail(f"the server says {line[:60]!r}, which is no SMTP reply")
            return
        self._lines.append(match[3])
        if match[2] != b"-":
            text = b"\n".join(self._lines).decode("utf-8", "replace")
            self._lines = []
            self._replies.append((int(match[1]), text))
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Whoever waits learns it; whoever has a reply in the queue still gets that."""
        self.gone.set()
        self._fail(f"the server closed the connection{f' ({exc})' if exc else ''}", close=False)

    def pause_writing(self) -> None:
        """The transport's buffer is full."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It has room again."""
        self._writable.set()

    def _fail(self, why: str, *, close: bool = True) -> None:
        self.lost = self.lost or why
        self._writable.set()
        if close:
            self.transport.abort()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def reply(self, seconds: float) -> tuple[int, str]:
        """The next reply. Raises `Lost`; then, and on cancel, the connection is closed."""
        try:
            async with asyncio.timeout(seconds):
                while not self._replies:
                    if self.lost:
                        raise Lost(self.lost)
                    self._waiter = asyncio.get_running_loop().create_future()
                    await self._waiter
        except TimeoutError:
            self._fail(f"the server did not answer within {seconds:.0f} s")
            raise Lost(self.lost) from None
        except asyncio.CancelledError:
            self._fail("stopped")
            raise
        return self._replies.popleft()

    async def write(self, octets: bytes, seconds: float) -> None:
        """Send octets; waits while the transport is full. Raises `Lost`."""
        if self.lost or self._replies:
            unasked = f"the server said {self._replies[0][0]} unasked" if self._replies and not self.lost else ""
            self._fail(unasked or self.lost)
            raise Lost(self.lost)
        self.transport.write(octets)
        try:
            async with asyncio.timeout(seconds):
                await self._writable.wait()
        except TimeoutError:
            self._fail(f"the server took nothing for {seconds:.0f} s")
        except asyncio.CancelledError:
            self._fail("stopped")
            raise
        if self.lost and not self._replies:
            raise Lost(self.lost)


class Connection:
    """One connection that is ready for mail. `extensions`: EHLO keyword (lower case) -> its parameters."""

    def __init__(self, wire: Wire, extensions: dict[str, str]) -> None:
        self.wire = wire
        self.extensions = extensions
        size = extensions.get("size", "")
        self.max_size = int(size) if size.isdigit() else 0
        self.open = True

    async def envelope(self, message: messages.Message) -> types.Outcome | None:
        """MAIL and RCPT; None when the server will take a body. A refused one leaves the connection ready again."""
        unfit = self._unfit(message)
        if unfit is not None:
            return unfit
        options = f" SIZE={len(message.octets)}" if "size" in self.extensions else ""
        if not message.octets.isascii():
            options += " BODY=8BITMIME"
        if _needs_utf8(message):
            options += " SMTPUTF8"
        mail = f"MAIL FROM:<{message.mail_from}>{options}\r\n".encode()
        rcpt = f"RCPT TO:<{message.rcpt_to}>\r\n".encode()
        stage = "mail"
        answers: list[tuple[int, str]] = []
        try:
            if "pipelining" in self.extensions:  # RFC 2920, 3.1
                await self.wire.write(mail + rcpt, COMMAND)
                answers.append(await self.wire.reply(COMMAND))
                stage = "rcpt" if verdicts.is_yes(answers[0][0]) else "mail"
                answers.append(await self.wire.reply(COMMAND))
            else:
                await self.wire.write(mail, COMMAND)
                answers.append(await self.wire.reply(COMMAND))
                if verdicts.is_yes(answers[0][0]):
                    stage = "rcpt"
                    await self.wire.write(rcpt, COMMAND)
                    answers.append(await self.wire.reply(COMMAND))
        except Lost as lost:
            if stage == "rcpt" or not answers:  # else it has said no to MAIL, and that is the answer
                return self._lost(stage, lost)
        if all(verdicts.is_yes(code) for code, _ in answers) and len(answers) == 2:
            return None
        refused = ("rcpt", answers[1]) if verdicts.is_yes(answers[0][0]) else ("mail", answers[0])
        outcome = verdicts.outcome(refused[0], *refused[1])
        if outcome.verdict is types.Verdict.SERVER:
            self.close()
        else:
            await self.reset()
        return outcome

    async def data(self) -> types.Outcome | None:
        """DATA; None when the server waits for the body (354)."""
        try:
            await self.wire.write(b"DATA\r\n", DATA)
            answer = await self.wire.reply(DATA)
        except Lost as lost:
            return self._lost("data", lost)
        if answer[0] == 354:
            return None
        outcome = verdicts.outcome("data", *answer)
        if outcome.verdict is types.Verdict.SERVER:
            self.close()
        else:
            await self.reset()
        return outcome

    async def body(self, message: messages.Message) -> types.Outcome:
        """The message after a 354. No answer means in doubt: it may have been taken."""
        try:
            await self.wire.write(message.octets + b".\r\n", FINAL_DOT)
            answer = await self.wire.reply(FINAL_DOT)
        except Lost as lost:
            return self._lost("body", lost)
        outcome = verdicts.outcome("body", *answer)
        if outcome.verdict in (types.Verdict.SERVER, types.Verdict.DOUBT):
            self.close()
        return outcome

    async def quit(self) -> None:
        """Take leave politely, but not for long."""
        if self.open:
            with contextlib.suppress(Lost):
                await self.wire.write(b"QUIT\r\n", QUIT)
                await self.wire.reply(QUIT)
        self.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):  # a loop that ends now would leave the socket open
                await self.wire.gone.wait()

    def close(self) -> None:
        """Drop the connection."""
        self.open = False
        self.wire.transport.abort()

    async def reset(self) -> None:
        """Give an envelope up (RFC 5321, 4.1.1.5); the connection is closed when the server will not."""
        try:
            await self.wire.write(b"RSET\r\n", RSET)
            code, _ = await self.wire.reply(RSET)
        except Lost:
            code = 0
        if code != 250:
            self.close()

    def _unfit(self, message: messages.Message) -> types.Outcome | None:
        """Why this server cannot take this message, before asking it."""
        if _needs_utf8(message) and "smtputf8" not in self.extensions:  # RFC 6531, 3.2
            text = "the address needs SMTPUTF8, which the mail server does not offer"
            return types.Outcome(types.Verdict.NEVER, "mail", 0, "5.6.7", text)
        if self.max_size and len(message.octets) > self.max_size:  # RFC 1870, 6.1
            text = f"the message has {len(message.octets):,} octets, the mail server takes {self.max_size:,}"
            return types.Outcome(types.Verdict.POLICY, "mail", 0, "5.3.4", text)  # it would be so for everybody
        return None

    def _lost(self, stage: str, lost: Lost) -> types.Outcome:
        self.close()
        return types.Outcome(verdicts.verdict(stage, 0, ""), stage, 0, "", str(lost)[: verdicts.REPLY_LENGTH])


def _needs_utf8(message: messages.Message) -> bool:
    return not (message.mail_from.isascii() and message.rcpt_to.isascii())


async def connect(smtp: config.Smtp) -> Connection:
    """Connect, encrypt, log in. Raises `errors.ServerError` with what a person can do about it."""
    where = f"{smtp.host}:{smtp.port}"
    client = aiosmtplib.SMTP(
        hostname=smtp.host,
        port=smtp.port,
        local_hostname=await ehlo_name(smtp),
        timeout=CONNECT,
        use_tls=smtp.security == "tls",
        start_tls=smtp.security == "starttls",
        tls_context=ssl.create_default_context() if smtp.security != "none" else None,
    )
    try:
        await client.connect()
        await client._ehlo_or_helo_if_needed()  # noqa: SLF001 - the public ehlo() has no fallback to HELO
        if smtp.username:
            await client.login(smtp.username, smtp.password.get_secret_value())
        transport, extensions = client.transport, dict(client.esmtp_extensions)
        if not isinstance(transport, asyncio.Transport) or client.protocol is None:
            raise errors.ServerError(f"the mail server {where} closed the connection")
    except aiosmtplib.SMTPAuthenticationError as error:
        client.close()
        raise errors.ServerError(
            f"the mail server {where} refuses the login of {smtp.username!r} ({error.code}); "
            "see smtp.username and NEWSLETTER_SMTP__PASSWORD"
        ) from None
    except ssl.SSLCertVerificationError as error:
        raise errors.ServerError(
            f"the mail server {where} has a certificate that cannot be trusted: {error.verify_message}"
        ) from None
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        client.close()
        raise errors.ServerError(f"the mail server {where} cannot be reached: {_reason(error, smtp)}") from None
    except asyncio.CancelledError:
        client.close()
        raise
    wire = Wire(transport)
    transport.set_protocol(wire)
    client.protocol = client.transport = None  # ours now: the client must not close it
    return Connection(wire, {name.lower(): value for name, value in extensions.items()})


def _reason(error: Exception, smtp: config.Smtp) -> str:
    text = " ".join(str(error).split())
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            hint = "; `newsletter mailbox` is a server for trying things out" if config.is_loopback(smtp.host) else ""
            return "nothing listens there; see [smtp] in newsletter.toml" + hint
        if isinstance(cause, socket.gaierror):
            return "there is no host of that name"
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate cannot be trusted: {cause.verify_message}"
        if isinstance(cause, TimeoutError):
            return f"it did not answer within {CONNECT:.0f} s"
        cause = cause.__cause__ or cause.__context__
    return text or type(error).__name__


async def ehlo_name(smtp: config.Smtp) -> str:
    """What we call ourselves (RFC 5321, 4.1.1.1): a full host name, else an address literal; never `localhost`."""
    if smtp.ehlo:
        return smtp.ehlo
    if smtp.host not in _names:
        _names[smtp.host] = await _own_name(smtp)
    return _names[smtp.host]


async def _own_name(smtp: config.Smtp) -> str:
    name = socket.gethostname()
    if "." not in name:
        with contextlib.suppress(TimeoutError, OSError):
            name = await asyncio.wait_for(asyncio.to_thread(socket.getfqdn), 2)
    if "." in name and not name.startswith("localhost") and re.fullmatch(r"[A-Za-z0-9.-]+", name):
        return name
    with contextlib.suppress(OSError):
        family = socket.AF_INET6 if ":" in smtp.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:  # connecting a datagram socket sends nothing
            probe.connect((smtp.host, smtp.port))
            address = probe.getsockname()[0]
            return f"[IPv6:{address}]" if ":" in address else f"[{address}]"
    return "[127.0.0.1]"
