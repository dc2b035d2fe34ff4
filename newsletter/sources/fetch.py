"""One source over HTTP: conditional, limited in time, in size and in where it may lead. The only room with httpx2.

    url -> look up, check (`reach`) -> connect to that address -> 304 | body, unpacked within limits | the next hop

- The deadline is for everything together: names, hops, TLS, body.
- The cap is on *unpacked* octets; we unpack piece by piece, so that memory stays flat (a gzip bomb of 292 KB gives
  httpx one piece of 67 MB).
- Each hop is checked like the first; at most five. No proxy, no password file, no setting from the environment.
- Cookies live for one visit, within one host: some sites send a visitor round until theirs comes back.
- Each hop waits for its host's turn (`manners`); no wait for others counts against the deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import functools
import http
import io
import re
import ssl
from collections.abc import AsyncIterator, Awaitable
from collections.abc import Set as AbstractSet

import httpx2

from newsletter import config, errors, types
from newsletter.sources import manners, reach, timing, unpack

MOST_HOPS = 5
_CONNECT = 10.0  # seconds for one address, so that a dead one leaves time for the next
_ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
    "application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.5"
)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT = frozenset({301, 308})  # RFC 9110, 15.4
_SLOW_DOWN = frozenset({403, 429, 503})  # said of the host as much as of the source; Reddit says 403 (FreshRSS#8928)


async def fetch(
    url: str,
    limits: config.Collect,
    *,
    user_agent: str,
    now: dt.datetime,
    validators: types.Validators | None = None,
    guest: manners.Visit | None = None,
    also: AbstractSet[int] = frozenset(),
) -> types.Fetched:
    """What a source answers. Raises `errors.FetchError` with one line for a person.

    `now` is for servers that state when to come back as a date. `moved_to` is set when every hop was permanent. `also`
    are statuses of faults whose body is wanted all the same. Raises `manners.Paused` when the host is not to be asked.
    """
    seconds = limits.deadline.total_seconds()
    visit = guest or manners.Manners(1).visit()
    try:
        async with asyncio.timeout(seconds) as deadline:
            known = validators or types.Validators()
            return await _Visit(limits, user_agent, now, known, _Guest(visit, deadline), also).run(url)
    except TimeoutError:
        raise errors.FetchError(url, f"there was no whole answer within {seconds:g} s") from None


async def probe(
    url: str, limits: config.Collect, *, user_agent: str, now: dt.datetime, guest: manners.Visit | None = None
) -> str:
    """Where an address leads in the end, without its body: by HEAD, and by GET where HEAD gets no good answer.

    As `fetch` in what it raises and in where it may lead.
    """
    seconds = limits.deadline.total_seconds()
    visit = guest or manners.Manners(1).visit()
    try:
        async with asyncio.timeout(seconds) as deadline:
            waiting, none = _Guest(visit, deadline), types.Validators()
            try:
                found = await _Visit(limits, user_agent, now, none, waiting, frozenset(), "HEAD").run(url)
            except errors.FetchError:  # many servers answer HEAD with an error, or by breaking off
                found = await _Visit(limits, user_agent, now, none, waiting, frozenset(), "GET").run(url)
            return found.url
    except TimeoutError:
        raise errors.FetchError(url, f"there was no answer within {seconds:g} s") from None


class _Guest:
    """A visit whose waits for others do not count against its deadline."""

    def __init__(self, visit: manners.Visit, deadline: asyncio.Timeout) -> None:
        self._visit, self._deadline = visit, deadline

    async def _wait(self, what: Awaitable[None]) -> None:
        began, ends = asyncio.get_running_loop().time(), self._deadline.when()
        self._deadline.reschedule(None)
        await what
        if ends is not None:
            self._deadline.reschedule(ends + asyncio.get_running_loop().time() - began)

    @contextlib.asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[manners.Turn]:
        async with contextlib.AsyncExitStack() as held:
            turns: list[manners.Turn] = []

            async def take() -> None:
                turns.append(await held.enter_async_context(self._visit.turn(host)))

            await self._wait(take())
            yield turns[0]

    async def body(self) -> None:
        await self._wait(self._visit.body())

    async def grown(self, size: int) -> None:
        if size > manners.LARGE:
            await self._wait(self._visit.grown(size))


class _Visit:
    """One fetch, over all its hops. With a `bare` method (HEAD, GET) the body is left unread: an address is tried."""

    def __init__(
        self,
        limits: config.Collect,
        user_agent: str,
        now: dt.datetime,
        validators: types.Validators,
        guest: _Guest,
        also: AbstractSet[int],
        bare: str | None = None,
    ) -> None:
        self.limits = limits
        self.bare = bare
        self.allowed = reach.networks(limits.allow_private)
        self.now = now
        self.validators = validators
        self.guest = guest
        self.also = also
        accept = "*/*" if bare else _ACCEPT
        self.headers = {"User-Agent": user_agent, "Accept": accept, "Accept-Encoding": unpack.ENCODINGS}
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
                async with self.guest.turn(hop.host) as turn:
                    response = await self._ask(client, hop, url, turn)
                    try:
                        location = response.headers.get("Location")
                        if response.status_code not in _REDIRECTS or not location:
                            return await self._answer(response, hop, url, turn, moved=permanent and hops > 0)
                    finally:
                        await response.aclose()
                following = _parsed(location, url, hop)
                permanent = permanent and response.status_code in _PERMANENT
                permanent = permanent and not (hop.scheme == "https" and following.scheme == "http")
                if following.host != hop.host:
                    client.cookies.clear()
                hop = following
        raise errors.FetchError(url, f"it sends on more than {MOST_HOPS} times, perhaps in a circle")

    async def _ask(self, client: httpx2.AsyncClient, hop: httpx2.URL, url: str, turn: manners.Turn) -> httpx2.Response:
        """Send the request to a checked address; the name goes into Host and, for TLS, into SNI and the check."""
        port = hop.port or (443 if hop.scheme == "https" else 80)
        try:
            checked = await reach.addresses(hop.host, port, self.allowed)
        except reach.Unreachable as error:
            raise errors.FetchError(url, str(error)) from None
        turn.private = reach.is_private(checked)
        for i, address in enumerate(checked):
            request = client.build_request(
                self.bare or "GET",
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

    async def _answer(
        self, response: httpx2.Response, hop: httpx2.URL, url: str, turn: manners.Turn, *, moved: bool
    ) -> types.Fetched:
        moved_to = str(hop.copy_with(fragment=None)) if moved else None
        status, fresh = response.status_code, timing.fresh_for(response.headers, self.now)
        if status == http.HTTPStatus.NOT_MODIFIED and (self.validators.etag or self.validators.last_modified):
            return types.Fetched(
                url=str(hop), body=None, validators=self.validators, moved_to=moved_to, fresh_for=fresh
            )
        is_good = response.is_success and status != http.HTTPStatus.PARTIAL_CONTENT  # no part was asked for
        if not is_good and status not in self.also:
            wait = timing.retry_after(response.headers, self.now) if status >= 400 else None
            if status in _SLOW_DOWN and not turn.private:
                turn.pause = wait or 0.0
            raise errors.FetchError(url, _refusal(response, hop.host), status=status, retry_after=wait)
        if self.bare:
            return types.Fetched(url=str(hop), body=None, moved_to=moved_to)
        await self.guest.body()
        try:
            body = await _unpacked(response, self.limits.max_bytes, url, self.guest)
        except httpx2.HTTPError as error:
            raise errors.FetchError(url, _why(error, hop.host, hop.port or 0)) from None
        return types.Fetched(
            url=str(hop),
            body=body,
            content_type=response.headers.get("Content-Type", ""),
            validators=_validators(response.headers, self.now),
            moved_to=moved_to,
            fresh_for=fresh,
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
    if parsed.port is not None and not 0 < parsed.port < 65_536:
        what = "it sends on to" if base is not None else "this names"
        raise errors.FetchError(url, f"{what} port {parsed.port}, and there is none; ports go from 1 to 65535")
    return parsed


@functools.cache
def _tls() -> ssl.SSLContext:
    """Made once: reading the authorities' certificates takes 20 ms."""
    return httpx2.create_ssl_context(trust_env=False)


# -- the body ------------------------------------------------------------------------------------------------------


async def _unpacked(response: httpx2.Response, most: int, url: str, guest: _Guest) -> bytes:
    """The body without its Content-Encoding, at most `most` octets. Raises `errors.FetchError`."""
    too_large = errors.FetchError(url, f"it is larger than {most / 1e6:g} MB (max_bytes in [collect])")
    length = response.headers.get("Content-Length", "")
    if length.isdecimal() and len(length) < 20 and int(length) > most:
        raise too_large
    codings = [word.strip().lower() for word in response.headers.get("Content-Encoding", "").split(",")]
    codings = [word for word in codings if word not in ("", "identity")]
    unpacker = unpack.unpacker(codings[0], most) if len(codings) == 1 else None
    if codings and not unpacker:
        raise errors.FetchError(url, f"it is packed in a way that was not asked for ({', '.join(codings)[:60]})")
    body, received = io.BytesIO(), 0  # which gives its octets away without a copy
    try:
        async for piece in response.aiter_raw():
            received += len(piece)
            body.write(unpacker.unpack(piece) if unpacker else piece)
            if max(body.tell(), received) > most:
                raise too_large
            await guest.grown(body.tell())
        if unpacker and received and not unpacker.whole:
            raise errors.FetchError(url, "the packed answer breaks off in the middle")
        found = body.getvalue()
        if found[:3] == b"\x1f\x8b\x08":  # a file that was packed before it was put there
            found = unpack.Zlib(most).unpack(found)
            await guest.grown(len(found))
    except unpack.Damaged:
        raise errors.FetchError(url, "the packed answer is damaged") from None
    except OverflowError:
        raise too_large from None
    return found


# -- headers -------------------------------------------------------------------------------------------------------


def _validators(headers: httpx2.Headers, now: dt.datetime) -> types.Validators:
    """ETag and Last-Modified of one answer. A date in the future would keep us away until then."""
    etag, modified = headers.get("ETag"), headers.get("Last-Modified")
    moment = timing.http_date(modified or "")
    if moment is None or moment > now + dt.timedelta(days=1):
        modified = None
    return types.Validators(etag=etag if etag and _is_plain(etag) else None, last_modified=modified)


def _is_plain(value: str) -> bool:
    return len(value) <= 1000 and value.isascii() and value.isprintable()


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
        206: "sends a part, though all was asked for",
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
