"""What every page has: safe headers whatever its status, forms from itself alone, bodies that end. No page is here.

Guarded          headers on every answer; one line a request in the log, without address, token or query
body_of, fields  a form, urlencoded or multipart, of a bounded size
foreign          does a form come from another page?
client           where a request comes from, behind proxies that are trusted
"""

from __future__ import annotations

import asyncio
import email.message
import email.parser
import email.policy
import ipaddress
import logging
import time
import traceback
import urllib.parse
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import Request

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

BODY = 16_384  # octets of a form
DRAINED = 8_000_000  # octets that are read and thrown away, so that the answer is heard
PATIENCE = 20  # seconds for a body to come
MOST_FIELDS = 200

logger = logging.getLogger(__name__)


class Refused(Exception):
    """A request that is not taken: `what` it is about, and the status that says so."""

    def __init__(self, what: str, status: int) -> None:
        self.what, self.status = what, status
        super().__init__(what)


class SafeHeaders:
    """Gives every answer the headers that it does not bring itself (ASGI)."""

    def __init__(self, app: Asgi, headers: Mapping[str, str]) -> None:
        self._app = app
        self._more = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in self._more if each[0] not in given)]
            await send(message)

        await self._app(scope, receive, sending)


class Rooted:
    """Takes the path of `base_url` off, where a proxy leaves it on (ASGI)."""

    def __init__(self, app: Asgi, root: str) -> None:
        self._app, self._root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        path = scope.get("path", "")
        if self._root and path.startswith(f"{self._root}/"):
            scope["path"] = path.removeprefix(self._root)
        await self._app(scope, receive, send)


class Logged:
    """Writes a line a request: method, route, status, time. What fails is told without its values: they name people."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 0, time.perf_counter()

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:  # the edge: told here, so that no server prints the error's values
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.filename}:{where.lineno}"
            failed = {"route": route_of(scope), "error": type(error).__name__, "place": place}
            logger.error("a page failed", extra=failed)
            if not status:
                raise
        if logger.isEnabledFor(logging.INFO):
            took = round((time.perf_counter() - began) * 1000)
            about = {"method": scope["method"], "route": route_of(scope), "status": status, "ms": took}
            logger.info("request", extra=about)


def route_of(scope: Scope) -> str:
    """The path as its route has it, `/confirm/{token}`: what people write into an address may be theirs alone."""
    if "endpoint" not in scope:
        return "(no page)"
    path = str(scope["path"])
    for name, value in scope.get("path_params", {}).items():
        path = path.replace(str(value), f"{{{name}}}") if str(value) else path
    return path


# -- forms ---------------------------------------------------------------------------------------------------------


async def body_of(request: Request, most: int = BODY) -> bytes:
    """A request's body. Raises `Refused` for one that is too large (it is heard, not kept), or does not come."""
    from starlette.requests import ClientDisconnect

    body, seen = bytearray(), 0
    try:
        async with asyncio.timeout(PATIENCE):
            async for chunk in request.stream():
                seen += len(chunk)
                if seen <= most:
                    body += chunk
                elif seen > DRAINED:
                    break
    except (TimeoutError, ClientDisconnect):
        raise Refused("press", 408) from None
    if seen > most:
        raise Refused("large", 413)
    return bytes(body)


def fields(body: bytes, content_type: str) -> list[tuple[str, str]]:
    """The fields of a form, in order; what is no form has none. Never raises, whatever came."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return _multipart(body, content_type)
    if kind not in ("application/x-www-form-urlencoded", ""):
        return []
    try:
        text = body.decode("utf-8", "replace")
        return urllib.parse.parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="replace")
    except ValueError:  # more fields than any form of ours has
        return []


def _multipart(body: bytes, content_type: str) -> list[tuple[str, str]]:
    """RFC 7578, with the parser of mail: files are no fields of ours."""
    head = b"Content-Type: " + content_type.encode("latin-1", "replace").replace(b"\n", b"").replace(b"\r", b"")
    try:
        message = email.parser.BytesParser(policy=email.policy.compat32).parsebytes(head + b"\r\n\r\n" + body)
        parts = message.get_payload()
    except (ValueError, LookupError):
        return []
    found = []
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, email.message.Message):
            continue
        name = part.get_param("name", header="content-disposition")
        octets = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(octets, bytes):
            found.append((name, octets.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")))
    return found[:MOST_FIELDS]


def foreign(headers: Callable[[str], str | None], origins: Collection[str]) -> bool:
    """Does a form come from a page that is not ours, by Origin and Sec-Fetch-Site (W3C Fetch Metadata)?

    A client that sends neither is no browser of these years, and nobody's page can make it send anything.
    """
    origin, site = headers("origin"), headers("sec-fetch-site")
    if site not in (None, "same-origin"):
        return True
    # Origin is "null" where the page sends no referrer (Fetch, "append a request Origin header").
    return origin is not None and origin.lower() not in origins and (origin, site) != ("null", "same-origin")


# -- where from ----------------------------------------------------------------------------------------------------


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """The networks of a setting."""
    return tuple(ipaddress.ip_network(text, strict=False) for text in texts)


def client(peer: str, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """Who asks: the peer, or behind trusted proxies the last address of X-Forwarded-For that no such proxy has."""
    hops = [hop.strip() for line in forwarded for hop in line.split(",")]
    found = peer
    while hops and _is_in(found, trusted):
        hop = _address(hops.pop())
        if hop is None:
            break
        found = hop
    return found


def _address(text: str) -> str | None:
    """An address as proxies write it, perhaps with a port: `[2001:db8::1]:4711`."""
    bare = text.partition("]")[0].removeprefix("[") if text.startswith("[") else text
    bare = bare.partition(":")[0] if bare.count(":") == 1 else bare
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return None


def _is_in(text: str, trusted: Sequence[Network]) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return any(address in network for network in trusted)
