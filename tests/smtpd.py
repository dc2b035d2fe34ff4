"""A scripted SMTP server on a free loopback port: strict where a sender can err, and as nasty as a test asks for.

A fault is chosen by what stands before the first dot of the recipient's local part (`grey.anna@example.org`), or by
`faults={"anna@example.org": "grey"}`. What it takes is in `taken` before the reply is sent: the truth about what a
recipient got. What a sender does out of order is in `objections`.
"""

from __future__ import annotations

import asyncio
import base64
import collections
import contextlib
import dataclasses
import re
import ssl
import threading
from collections.abc import Callable, Iterator

KEYWORDS = ("PIPELINING", "SIZE", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES")
PATH = re.compile(rb"(?:FROM|TO):<([^<>\r\n]*)>((?: [^ ]+)*)", re.IGNORECASE)
AT_RCPT = {  # fault -> (times, None: always; the reply; close after it)
    "nobody": (None, b"550 5.1.1 no such user\r\n", False),
    "policy": (None, b"550 5.7.1 not allowed by policy\r\n", False),
    "full": (None, b"452 4.2.2 mailbox full\r\n", False),
    "plain550": (None, b"550 no\r\n", False),
    "grey": (1, b"451 4.7.1 greylisted\r\n", False),
    "busy": (1, b"421 4.3.2 too busy\r\n", True),
    "garbage": (1, b"what?\r\n", False),
    "badcode": (1, b"999 what\r\n", False),
    "half": (1, b"250 2.1.5 o", True),
    "many": (None, b"250-2.1.5 one\r\n250-2.1.5 two\r\n250 2.1.5 ok\r\n", False),
    "forward": (None, b"251 2.1.5 will forward\r\n", False),
    "endless": (1, b"250-" + b"x" * 70_000 + b"\r\n", False),
}
AT_END = {
    "spam": (None, b"550 5.7.26 unauthenticated mail is not accepted\r\n"),
    "refused": (None, b"554 5.6.0 message refused\r\n"),
    "later": (1, b"451 4.3.0 try again later\r\n"),
    "odd": (1, b"299 taken, in our own words\r\n"),
    "nonsense": (1, b"354 more?\r\n"),
}
OTHER = {"at_data", "in_body", "after_body", "octets", "farewell", "always_after_body"}


@dataclasses.dataclass(frozen=True)
class Taken:
    mail_from: str
    rcpt: str
    octets: bytes

    def header(self, name: str) -> str:
        """The raw value of a field, unfolded; fails when it is not there exactly once."""
        head = self.octets.partition(b"\r\n\r\n")[0].decode() + "\r\n"
        (value,) = re.findall(rf"(?im)^{re.escape(name)}:[ \t]*((?:.*\r\n)(?:[ \t].*\r\n)*)", head)
        return re.sub(r"\r\n[ \t]?", " ", value).strip()


@dataclasses.dataclass
class Server:
    port: int = 0
    keywords: tuple[str, ...] = KEYWORDS
    size: int = 0
    helo_only: bool = False
    max_connections: int = 0
    tls: ssl.SSLContext | None = None  # offers STARTTLS
    login: str | None = None  # "user password": offers AUTH PLAIN, and wants it
    greeting: bytes = b"220 mx.test ESMTP\r\n"
    mail_reply: bytes | None = None  # to every MAIL, and close
    faults: dict[str, str] = dataclasses.field(default_factory=dict)
    every: str | None = None  # a fault for everybody
    on_data: Callable[[str], None] | None = None  # called with the recipient, in the server's thread, before the 354
    held: set[str] = dataclasses.field(default_factory=set)  # whose last reply waits for `let_go`
    taken: list[Taken] = dataclasses.field(default_factory=list)
    commands: list[str] = dataclasses.field(default_factory=list)
    asked: list[str] = dataclasses.field(default_factory=list)  # everybody whom a RCPT named
    objections: list[str] = dataclasses.field(default_factory=list)
    connections: int = 0
    open: int = 0
    seen: collections.Counter[tuple[str, str]] = dataclasses.field(default_factory=collections.Counter)
    waiting: threading.Event = dataclasses.field(default_factory=threading.Event)
    _gate: threading.Event = dataclasses.field(default_factory=threading.Event)
    _stop: asyncio.Event | None = None

    def got(self) -> list[str]:
        return sorted(each.rcpt for each in self.taken)

    def let_go(self) -> None:
        self._gate.set()

    def first(self, fault: str, rcpt: str, times: int | None = 1) -> bool:
        self.seen[fault, rcpt] += 1
        return times is None or self.seen[fault, rcpt] <= times

    def fault_of(self, rcpt: str) -> str | None:
        prefix = rcpt.partition("@")[0].partition(".")[0]
        known = prefix in AT_RCPT or prefix in AT_END or prefix in OTHER
        return self.every or self.faults.get(rcpt) or (prefix if known else None)


class Closed(Exception):
    pass


class Session:
    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        self.greeted = self.eight_bit = self.utf8 = self.secure = False
        self.known = server.login is None
        self.sender: str | None = None
        self.rcpt: str | None = None
        self.fault: str | None = None

    async def say(self, reply: bytes, *, close: bool = False) -> None:
        pieces = [bytes((octet,)) for octet in reply] if self.fault == "octets" else [reply]
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(0)
        if close:
            raise Closed

    async def object(self, reply: bytes, what: str) -> None:
        self.server.objections.append(what)
        await self.say(reply)

    async def talk(self) -> None:
        server = self.server
        if server.max_connections and server.open > server.max_connections:
            await self.say(b"421 4.3.2 too many connections\r\n", close=True)
        await self.say(server.greeting, close=not server.greeting.startswith(b"220"))
        while True:
            line = await self.reader.readuntil(b"\r\n")
            verb, _, rest = line[:-2].partition(b" ")
            server.commands.append(line[:-2].decode("utf-8", "replace"))
            if self.reader._buffer and ("PIPELINING" not in server.keywords or verb == b"DATA"):
                await self.object(b"503 5.5.0 that was not asked for\r\n", "pipelining")
                raise Closed
            await getattr(self, "do_" + verb.decode("ascii", "replace").lower(), self.do_unknown)(rest)

    async def do_unknown(self, rest: bytes) -> None:
        await self.object(b"500 5.5.1 unknown\r\n", "syntax")

    async def do_ehlo(self, rest: bytes) -> None:
        if self.server.helo_only:
            await self.say(b"502 5.5.1 no\r\n")
            return
        self.greeted = True
        lines = ["mx.test", *(f"SIZE {self.server.size}" if k == "SIZE" else k for k in self.server.keywords)]
        lines += ["STARTTLS"] * (self.server.tls is not None and not self.secure)
        lines += ["AUTH PLAIN"] * (not self.known)
        reply = "".join(f"250{' ' if i == len(lines) - 1 else '-'}{text}\r\n" for i, text in enumerate(lines))
        await self.say(reply.encode())

    async def do_starttls(self, rest: bytes) -> None:
        await self.say(b"220 2.0.0 go ahead\r\n")
        await self.writer.start_tls(self.server.tls)
        self.secure, self.greeted = True, False

    async def do_auth(self, rest: bytes) -> None:
        given = base64.b64decode(rest.removeprefix(b"PLAIN ")).decode().lstrip("\0").replace("\0", " ")
        self.known = given == self.server.login
        await self.say(b"235 2.7.0 welcome\r\n" if self.known else b"535 5.7.8 wrong\r\n")

    async def do_helo(self, rest: bytes) -> None:
        self.greeted = True
        await self.say(b"250 mx.test\r\n")

    async def do_quit(self, rest: bytes) -> None:
        await self.say(b"221 2.0.0 bye\r\n", close=True)

    async def do_rset(self, rest: bytes) -> None:
        self.sender = self.rcpt = self.fault = None
        await self.say(b"250 2.0.0 ok\r\n")

    async def do_mail(self, rest: bytes) -> None:
        self.fault = None
        found = PATH.fullmatch(rest)
        if self.server.mail_reply is not None:
            await self.say(self.server.mail_reply, close=True)
        if found is None or not self.greeted:
            await self.object(b"501 5.5.4 MAIL FROM:<address>\r\n", "syntax")
            return
        if not self.known:
            await self.object(b"530 5.7.0 log in\r\n", "login")
            return
        if self.sender is not None:
            await self.object(b"503 5.5.1 nested MAIL\r\n", "nested")
            return
        self.eight_bit = self.utf8 = False
        for word in found[2].split():
            name, _, value = word.upper().partition(b"=")
            keyword = {b"SIZE": "SIZE", b"BODY": "8BITMIME", b"SMTPUTF8": "SMTPUTF8"}.get(name)
            if keyword not in self.server.keywords or self.server.helo_only:
                await self.object(b"555 5.5.4 unknown parameter\r\n", f"parameter {word.decode()}")
                return
            if name == b"SIZE" and self.server.size and int(value) > self.server.size:
                await self.object(b"552 5.3.4 too big\r\n", "size")
                return
            self.eight_bit |= value == b"8BITMIME"
            self.utf8 |= name == b"SMTPUTF8"
        if not found[1].isascii() and not self.utf8:
            await self.object(b"553 5.6.7 SMTPUTF8 is needed\r\n", "utf8")
            return
        self.sender = found[1].decode()
        await self.say(b"250 2.1.0 ok\r\n")

    async def do_rcpt(self, rest: bytes) -> None:
        found = PATH.fullmatch(rest)
        if found is None or self.sender is None:
            await self.object(b"503 5.5.1 MAIL first\r\n", "syntax")
            return
        if not found[1].isascii() and not self.utf8:
            await self.object(b"553 5.6.7 SMTPUTF8 is needed\r\n", "utf8")
            return
        rcpt = found[1].decode()
        self.server.asked.append(rcpt)
        self.fault = self.server.fault_of(rcpt)
        if self.fault in AT_RCPT:
            times, reply, close = AT_RCPT[self.fault]
            if self.server.first(self.fault, rcpt, times):
                if reply.startswith(b"25") and reply.endswith(b"\r\n"):
                    self.rcpt = rcpt
                await self.say(reply, close=close)
                return
        self.rcpt = rcpt
        await self.say(b"250 2.1.5 ok\r\n")

    async def do_data(self, rest: bytes) -> None:
        if self.sender is None or self.rcpt is None:
            await self.object(b"503 5.5.1 RCPT first\r\n", "DATA without RCPT")
            return
        server, rcpt, fault = self.server, self.rcpt, self.fault
        if server.on_data is not None:
            await asyncio.to_thread(server.on_data, rcpt)
        if fault == "at_data" and server.first(fault, rcpt):
            raise Closed
        await self.say(b"354 go ahead\r\n")
        if fault == "in_body" and server.first(fault, rcpt):
            await self.reader.readexactly(200)
            raise Closed
        octets = b""
        while not octets.endswith(b"\r\n.\r\n"):
            octets += await self.reader.readuntil(b"\r\n")
            if octets == b".\r\n":
                break
        octets = re.sub(rb"(?m)^\.", b"", octets[:-3])
        if not octets.isascii() and not self.eight_bit:
            await self.object(b"554 5.6.1 8-bit data without BODY=8BITMIME\r\n", "8bit")
        elif fault in AT_END and AT_END[fault][1][:1] != b"2" and server.first(fault, rcpt, AT_END[fault][0]):
            await self.say(AT_END[fault][1])
        else:
            server.taken.append(Taken(self.sender, rcpt, octets))
            if fault == "always_after_body" or (fault == "after_body" and server.first(fault, rcpt)):
                raise Closed
            if rcpt in server.held:
                server.waiting.set()
                await asyncio.to_thread(server._gate.wait, 30)
            farewell = b"421 4.7.0 enough for one connection\r\n" if fault == "farewell" else b""
            reply = AT_END[fault][1] if fault in AT_END and server.first(fault, rcpt) else b"250 2.0.0 ok\r\n"
            self.sender = self.rcpt = None
            await self.say(reply + farewell, close=bool(farewell))
        self.sender = self.rcpt = None


@contextlib.contextmanager
def serve(**options: object) -> Iterator[Server]:
    """A running server; `options` are the fields of `Server`."""
    server = Server(**options)  # type: ignore[arg-type]
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        server.open += 1
        try:
            await Session(server, reader, writer).talk()
        except (Closed, asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            server.open -= 1
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def main() -> None:
        tasks: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = loop.create_task(client(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        listener = await asyncio.start_server(accept, "127.0.0.1", server.port, limit=1 << 20)
        server.port = listener.sockets[0].getsockname()[1]
        server._stop = asyncio.Event()
        ready.set()
        await server._stop.wait()
        listener.close()
        await listener.wait_closed()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), name="smtpd")
    thread.start()
    ready.wait(10)
    try:
        yield server
    finally:
        server.let_go()
        loop.call_soon_threadsafe(server._stop.set)
        thread.join(10)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
