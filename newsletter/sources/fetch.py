"""One source over HTTP: conditional, limited in time, in size and in where it may lead. The only room with httpx2.

    url -> look up, check (`reach`) -> connect to that address -> 304 | body, unpacked within limits | the next hop

- The deadline is for everything together: names, hops, TLS, body.
- The cap is on *unpacked* octets; we unpack piece by piece, so that memory stays flat (a gzip bomb of 292 KB gives
  httpx one piece of 67 MB).
- Each hop is checked like the first; at most five. No proxy, no password file, no setting from the environment.
- Cookies live for one visit, within one host: some sites send a visitor round until theirs comes back.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import email.utils
import functools
import http
import re
import ssl
import zlib

import httpx2

from newsletter import config, errors, types
from newsletter.sources import reach

MOST_HOPS = 5
LONGEST_WAIT = 31 * 86400.0  # seconds: a Retry-After beyond a month is a mistake
_CONNECT = 10.0  # seconds for one address, so that a dead one leaves time for the next
_ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.5"
)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT = frozenset({301, 308})  # RFC 9110, 15.4


async def fetch(
    url: str,
    limits: config.Collect,
    *,
    user_agent: str,
    now: dt.datetime,
    validators: types.Validators | None = None,
) -> types.Fetched:
    """What a source answers. Raises `errors.FetchError` with one line for a person.

    `now` is for servers that state when to come back as a date. `moved_to` is set when every hop was permanent.
    """
    seconds = limits.deadline.total_seconds()
    try:
        async with asyncio.timeout(seconds):
            return await _Visit(limits, user_agent, now, validators or types.Validators()).run(url)
    except TimeoutError:
        raise errors.FetchError(url, f"there was no whole answer within {seconds:g} s") from None


class _Visit:
    """One fetch, over all its hops."""

    def __init__(self, limits: config.Collect, user_agent: str, now: dt.datetime, validators: types.Validators) -> None:
        self.limits = limits
        self.allowed = reach.networks(limits.allow_private)
        self.now = now
        self.validators = validators
        self.headers = {"User-Agent": user_agent, "Accept": _ACCEPT, "Accept-Encoding": "gzip, deflate"}
        if validators.etag:
            self.headers["If-None-Match"] = validators.etag
        if validators.last_modified:
            self.headers["If-Modified-Since"] = validators.last_modified

    async def run(self, url: str) -> types.Fetched:
        hop, permanent = _parsed(url, url), True
        async with httpx2.AsyncClient(
            verify=_tls(), trust_env=False, follow_redirects=False, timeout=httpx2.Timeout(None, connect=_CONNECT)
        ) as client:
            for hops in range(MOST_HOPS + 1):
                response = await self._ask(client, hop, url)
                try:
                    location = response.headers.get("Location")
                    if response.status_code not in _REDIRECTS or not location:
                        return await self._answer(response, hop, url, moved=permanent and hops > 0)
                    following = _parsed(location, url, hop)
                    permanent = permanent and response.status_code in _PERMANENT
                    permanent = permanent and not (hop.scheme == "https" and following.scheme == "http")
                    if following.host != hop.host:
                        client.cookies.clear()
                    hop = following
                finally:
                    await response.aclose()
        raise errors.FetchError(url, f"it sends on more than {MOST_HOPS} times, perhaps in a circle")

    async def _ask(self, client: httpx2.AsyncClient, hop: httpx2.URL, url: str) -> httpx2.Response:
        """Send the request to a checked address; the name goes into Host and, for TLS, into SNI and the check."""
        port = hop.port or (443 if hop.scheme == "https" else 80)
        try:
            checked = await reach.addresses(hop.host, port, self.allowed)
        except reach.Unreachable as error:
            raise errors.FetchError(url, str(error)) from None
        for i, address in enumerate(checked):
            request = client.build_request(
                "GET",
                hop.copy_with(host=address, fragment=None),
                headers={**self.headers, "Host": hop.netloc.decode("ascii")},
                extensions={"sni_hostname": hop.raw_host.decode("ascii")},
            )
            try:
                return await client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                if i + 1 == len(checked):
                    raise errors.FetchError(url, _why(error, hop.host, port)) from None
            except httpx2.HTTPError as error:
                raise errors.FetchError(url, _why(error, hop.host, port)) from None
        raise errors.FetchError(url, f"{hop.host} has no address")

    async def _answer(self, response: httpx2.Response, hop: httpx2.URL, url: str, *, moved: bool) -> types.Fetched:
        moved_to = str(hop.copy_with(fragment=None)) if moved else None
        status = response.status_code
        if status == http.HTTPStatus.NOT_MODIFIED and (self.validators.etag or self.validators.last_modified):
            return types.Fetched(url=str(hop), body=None, validators=self.validators, moved_to=moved_to)
        if not response.is_success:
            wait = _retry_after(response.headers, self.now) if status >= 400 else None
            raise errors.FetchError(url, _refusal(response, hop.host), status=status, retry_after=wait)
        try:
            body = await _unpacked(response, self.limits.max_bytes, url)
        except httpx2.HTTPError as error:
            raise errors.FetchError(url, _why(error, hop.host, hop.port or 0)) from None
        return types.Fetched(
            url=str(hop),
            body=body,
            content_type=response.headers.get("Content-Type", ""),
            validators=_validators(response.headers, self.now),
            moved_to=moved_to,
        )


def _parsed(link: str, url: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """An address, or where a hop leads; raises `errors.FetchError` unless it is http(s)."""
    try:
        parsed = base.join(link) if base is not None else httpx2.URL(link)
        host = parsed.host
    except (httpx2.InvalidURL, ValueError, TypeError):
        what = "it sends on to an address that cannot be read" if base is not None else "this is no web address"
        raise errors.FetchError(url, what) from None
    if parsed.scheme not in ("http", "https"):
        scheme = re.sub(r"[^\w+.-]", "", parsed.scheme)[:20]
        what = f"it sends on to a “{scheme}:” address" if base is not None else f"this is a “{scheme}:” address"
        raise errors.FetchError(url, f"{what}; only http: and https: are fetched")
    if not host:
        raise errors.FetchError(url, "this web address names no host")
    return parsed


@functools.cache
def _tls() -> ssl.SSLContext:
    """Made once: reading the authorities' certificates takes 20 ms."""
    return httpx2.create_ssl_context(trust_env=False)


# -- the body ------------------------------------------------------------------------------------------------------


async def _unpacked(response: httpx2.Response, most: int, url: str) -> bytes:
    """The body without its Content-Encoding, at most `most` octets. Raises `errors.FetchError`."""
    too_large = errors.FetchError(url, f"it is larger than {most / 1e6:g} MB (max_bytes in [collect])")
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and len(length) < 20 and int(length) > most:
        raise too_large
    codings = [word.strip().lower() for word in response.headers.get("Content-Encoding", "").split(",")]
    codings = [word for word in codings if word not in ("", "identity")]
    if len(codings) > 1 or not set(codings) <= {"gzip", "x-gzip", "deflate"}:
        raise errors.FetchError(url, f"it is packed in a way that was not asked for ({', '.join(codings)[:60]})")
    unpacker = _Unpacker(most) if codings else None
    body, received = bytearray(), 0
    try:
        async for piece in response.aiter_raw():
            received += len(piece)
            body += unpacker.unpack(piece) if unpacker else piece
            if max(len(body), received) > most:
                raise too_large
        if unpacker and received and not unpacker.whole:
            raise errors.FetchError(url, "the packed answer breaks off in the middle")
        if body[:3] == b"\x1f\x8b\x08":  # a file that was packed before it was put there
            return _Unpacker(most).unpack(bytes(body))
    except zlib.error:
        raise errors.FetchError(url, "the packed answer is damaged") from None
    except OverflowError:
        raise too_large from None
    return bytes(body)


class _Unpacker:
    """gzip and deflate, a piece at a time, at most `most` octets in all; raises `OverflowError` beyond them."""

    def __init__(self, most: int) -> None:
        self.left = most
        self.whole = False
        self._held = b""  # half of what may be the next member's mark
        self._head: bytes | None = b""  # what was fed while it may still be "deflate" without a header
        self._stream = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header

    def unpack(self, piece: bytes) -> bytes:
        out = bytearray()
        piece, self._held = self._held + piece, b""
        while piece:
            if self.whole:  # a gzip file may have several members (RFC 1952, 2.2); padding may follow
                if piece == b"\x1f":
                    self._held = piece
                    break
                if not piece.startswith(b"\x1f\x8b"):
                    break
                self._stream, self._head, self.whole = zlib.decompressobj(wbits=31), None, False
            out += self._some(piece)
            if self.left < 0:
                raise OverflowError
            piece = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            self.whole = self._stream.eof
        return bytes(out)

    def _some(self, piece: bytes) -> bytes:
        fed = None if self._head is None else self._head + piece
        try:
            found = self._stream.decompress(piece, self.left + 1)
        except zlib.error:
            if fed is None:
                raise
            self._stream = zlib.decompressobj(wbits=-15)  # without its zlib header (RFC 9110, 8.4.1.2)
            found = self._stream.decompress(fed, self.left + 1)
            fed = None
        self._head = fed if fed is not None and len(fed) < 2 else None  # a header shows by its second octet
        self.left -= len(found)
        return found


# -- headers -------------------------------------------------------------------------------------------------------


def _validators(headers: httpx2.Headers, now: dt.datetime) -> types.Validators:
    """ETag and Last-Modified of one answer. A date in the future would keep us away until then."""
    etag, modified = headers.get("ETag"), headers.get("Last-Modified")
    moment = _http_date(modified or "")
    if moment is None or moment > now + dt.timedelta(days=1):
        modified = None
    return types.Validators(etag=etag if etag and _is_plain(etag) else None, last_modified=modified)


def _is_plain(value: str) -> bool:
    return len(value) <= 1000 and value.isascii() and value.isprintable()


def _retry_after(headers: httpx2.Headers, now: dt.datetime) -> float | None:
    """Seconds to stay away (RFC 9110, 10.2.3): a number, or a date by the server's own clock."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal() and len(value) < 12:
        return min(float(value), LONGEST_WAIT)
    moment = _http_date(value)
    if moment is None:
        return None
    there = _http_date(headers.get("Date", "")) or now
    return min(max((moment - there).total_seconds(), 0.0), LONGEST_WAIT)


def _http_date(value: str) -> dt.datetime | None:
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment


# -- what went wrong, in words ------------------------------------------------------------------------------------


def _refusal(response: httpx2.Response, host: str) -> str:
    status = response.status_code
    try:
        phrase = f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        phrase = str(status)
    if response.headers.get("cf-mitigated") == "challenge":
        return f"{host} asks visitors to prove that they are no robots (Cloudflare): {phrase}"
    words = {
        304: "says that nothing is new, though nothing was asked before",
        401: "wants a user name and a password",
        403: "refuses to give it",
        404: "has nothing at this address",
        410: "says that it is gone for good",
        429: "says that it was asked too often",
        503: "is overloaded or being mended",
    }
    if status in _REDIRECTS:
        return f"{host} sends on, but does not say where: {phrase}"
    return f"{host} {words.get(status, 'has a fault' if status >= 500 else 'refuses the request')}: {phrase}"


def _why(error: Exception, host: str, port: int) -> str:
    """The reason at the bottom of a network error."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate of {host} is not valid: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"no secure connection to {host} is possible (TLS: {cause.reason or 'it does not speak TLS'})"
        if isinstance(cause, ConnectionRefusedError):
            return f"{host} refuses the connection at port {port}"
    if isinstance(error, httpx2.ConnectTimeout):
        return f"{host} does not answer within {_CONNECT:g} s"
    if isinstance(error, httpx2.ConnectError):
        return f"{host} cannot be reached at port {port}"
    if isinstance(error, httpx2.RemoteProtocolError):
        return f"{host} breaks off, or does not speak HTTP"
    return f"the connection to {host} broke"


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
