"""The way into the API: a key first, whatever is asked for; then a body that ends. HEAD is asked as GET.

Nothing of a request is looked at before its key: who has none learns not even which pages there are.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from newsletter import errors
from newsletter.app import Newsletter, apikeys
from newsletter.web import guard
from newsletter.web.apiproblems import Problems

BODY = 65_536  # octets: a hundred topics, a name and a page of consent are less
KEY = "newsletter.key"  # where a request's scope has its key
READING = ("GET", "HEAD")


class Gate:
    """Lets requests in (ASGI). `is_open` says which paths need no key."""

    def __init__(self, inner: guard.Asgi, app: Newsletter, problems: Problems, is_open: Callable[[str], bool]) -> None:
        self._inner, self._app, self._problems, self._is_open = inner, app, problems, is_open
        self._trusted = guard.networks(app.settings.site.trusted_proxies)

    async def __call__(self, scope: guard.Scope, receive: guard.Receive, send: guard.Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request = Request(scope, receive)
        scope.pop("endpoint", None)  # the mount's: what has no route of ours is logged without its path
        try:
            if not self._is_open(scope["path"].removeprefix(scope.get("root_path", ""))):
                scope[KEY] = await self._key(request)
            if request.method not in READING:
                receive = _again(await guard.body_of(request, BODY))
        except errors.NewsletterError as error:
            answer = self._problems.of(error)
            if answer is None:
                raise
            await answer(scope, receive, send)
            return
        except guard.Refused as refused:
            await self._problems.answer(refused.status)(scope, receive, send)
            return
        if request.method != "HEAD":
            await self._inner(scope, receive, send)
            return
        asked = {**scope, "method": "GET"}  # the server leaves the body away: it knows its own scope
        await self._inner(asked, receive, send)
        scope.update({name: asked[name] for name in ("endpoint", "path_params") if name in asked})

    async def _key(self, request: Request) -> apikeys.ApiKeyView:
        peer = request.client.host if request.client else ""
        ip = guard.client(peer, request.headers.getlist("x-forwarded-for"), self._trusted)
        writes = request.method not in READING
        return await run_in_threadpool(apikeys.admit, self._app, _bearer(request), ip, writes=writes)


def _bearer(request: Request) -> str | None:
    """The token of the one Authorization header (RFC 6750, 2.1), from nowhere else."""
    given = request.headers.getlist("authorization")
    if len(given) != 1:
        return None
    scheme, _, token = given[0].partition(" ")
    return token.strip(" ") if scheme.lower() == "bearer" else None


def _again(body: bytes) -> guard.Receive:
    """The body once more, for whoever reads it next."""
    messages: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> MutableMapping[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive
