"""The pages where people decide: subscribe, say yes, choose, pause, leave. HTTP here; `readers` does what is done.

    GET  /subscribe, /subscribe/embed      the form; the second one in a frame of the sites in `site.embed_on`
    POST …                                 "look into your inbox", whatever the address is
    GET, POST /confirm/<token>             one button; after it the welcome
    GET, POST /preferences/<token>         topics, name, language, a pause, another address, leaving everything
    GET, POST /unsubscribe/<token>         one button; or RFC 8058 in one request, without any page
    GET  /healthz                          does the database answer?

No GET changes anything; no page sets a cookie or runs a script; no address stands in an address of the web or in a log.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import logging
import urllib.parse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from newsletter import config, errors
from newsletter.app import pages, readers, throwaway
from newsletter.web import guard

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

    from newsletter.app import Newsletter

LOOPBACK = ["127.0.0.1", "localhost", "[::1]", "::1"]
FOR_EVER = "public, max-age=31536000, immutable"
FOR_NOW = "public, max-age=300"

logger = logging.getLogger(__name__)
T = TypeVar("T")


def policy(frame: str = "'none'", images: str = "") -> str:
    """A content security policy without any script; `frame`: who may show the page in a frame."""
    return (
        f"default-src 'none'; style-src 'self'; img-src 'self' data:{images}; form-action 'self'; base-uri 'none'; "
        f"frame-ancestors {frame}"
    )


SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "browsing-topics=(), interest-cohort=()",
    "cache-control": "no-store",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """A form that came from a page of ours."""

    values: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """The first value of a field, or ""."""
        return next((value for key, value in self.values if key == name), "")

    def all(self, name: str) -> tuple[str, ...]:
        """All values of a field."""
        return tuple(value for key, value in self.values if key == name)

    @property
    def is_one_click(self) -> bool:
        """Is it what a mail program sends (RFC 8058, 3.1)?"""
        return self.get("List-Unsubscribe").strip().lower() == "one-click"


class Door:
    """What the routes share: the application, its pages, and whom to believe."""

    def __init__(self, app: Newsletter) -> None:
        self.app, self.pages = app, pages.Pages(app)
        site = app.settings.site
        parts = urllib.parse.urlsplit(site.base_url)
        self.root, self.host = parts.path, parts.hostname or "localhost"
        self.is_local = config.is_loopback(self.host)
        self.origin = f"{parts.scheme}://{parts.netloc}".lower()
        self.trusted = guard.networks(site.trusted_proxies)
        self.embed_on = " ".join(site.embed_on) or "'none'"
        logo = urllib.parse.urlsplit(app.settings.newsletter[0].logo)
        self.images = f" {logo.scheme}://{logo.netloc}" if logo.netloc else ""
        throwaway.refused_domains(app)  # a list that is not there, like a template that is broken, is told at the start
        self.pages.try_out()  # and the database is opened here: two threads must not make it at once

    @property
    def hosts(self) -> list[str]:
        """The names that we answer to."""
        return [self.host, *LOOPBACK] if self.is_local else [self.host]

    def visit(self, request: Request, shown: pages.Shown | None = None) -> readers.Visit:
        """What a request proves."""
        peer = request.client.host if request.client else ""
        ip = guard.client(peer, request.headers.getlist("x-forwarded-for"), self.trusted)
        if shown is None:
            return readers.Visit(ip)
        return readers.Visit(ip, words=shown.words, page=shown.page, hasty=shown.hasty)

    def tag(self, request: Request, *wanted: str | None) -> str:
        """The language of a page."""
        accepted = request.headers.get("accept-language", "")
        return self.pages.negotiated(accepted, *wanted, request.query_params.get("language"))

    async def form(self, request: Request) -> Form:
        """The form of a request, wherever it comes from. Raises `guard.Refused`."""
        body = await guard.body_of(request)
        return Form(tuple(guard.fields(body, request.headers.get("content-type", ""))))

    def check_from_here(self, request: Request) -> None:
        """Raise `guard.Refused` for a form of another page."""
        own = {self.origin}
        if self.is_local:  # on this machine any port will do: a tunnel, a test
            own.add(f"http://{request.headers.get('host', '')}".lower())
        if guard.foreign(request.headers.get, own):
            raise guard.Refused("foreign", 403)

    # -- what the pages do: these run in a thread ----------------------------------------------------------------------

    def subscribe(self, request: Request, *, embedded: bool) -> str:
        """The form."""
        query = request.query_params
        picked = (*query.getlist("topic"), *query.getlist("newsletter"))
        return self.pages.subscribe(self.tag(request), embedded=embedded, picked=picked)

    def subscribed(self, request: Request, form: Form, *, embedded: bool) -> tuple[str, int]:
        """(the answer to the form, its status)."""
        tag = self.tag(request, form.get("in"))
        language = self.pages.matching(form.get("language")) or tag
        filled = self._looked_at(form, language)
        if filled.email_wrong or filled.topics_wrong:
            return self.pages.subscribe(tag, embedded=embedded, filled=filled), 422
        if not form.get("homepage"):  # whoever fills that in sees no page
            shown = self.pages.shown(form.get("stamp"), "subscribe", tag)
            visit = self.visit(request, shown)
            readers.ask(self.app, filled.email, filled.topics, visit, name=filled.name, language=language)
        return self.pages.sent(tag, filled.email, embedded=embedded), 200

    def _looked_at(self, form: Form, language: str) -> pages.Filled:
        known = {f"{offer.slug}/{slug}" for offer in self.pages.offers() for slug, _ in offer.topics}
        topics = tuple(topic for topic in dict.fromkeys(form.all("topic")) if topic in known)
        email = form.get("email").strip()
        wrong = self._address_wrong(email)
        return pages.Filled(
            email=email[:400],
            name=form.get("name")[:400],
            topics=topics,
            language=language,
            email_wrong=wrong,
            topics_wrong=not topics,
        )

    def _address_wrong(self, email: str) -> str:
        try:
            throwaway.check(self.app, email)
        except throwaway.RefusedDomain:
            return "domain"
        except errors.AddressError:
            return "address"
        return ""

    def confirm(self, request: Request, token: str) -> str:
        """The page of a confirmation."""
        found = self._asked(token)
        return self.pages.confirm(self.tag(request, found.language), found)

    def confirmed(self, request: Request, token: str, form: Form) -> str:
        """The page after its button."""
        found = self._asked(token)
        if not form.get("yes"):
            raise guard.Refused("press", 400)
        tag = self.tag(request, form.get("in"))
        shown = self.pages.shown_of(form.get("stamp"), found, tag)
        visit = dataclasses.replace(self.visit(request, shown), hasty=False)  # to press a button takes no time
        try:
            done = readers.confirm(self.app, token, visit)
        except errors.StateError:
            raise guard.Refused("late", 409) from None
        return self.pages.confirm(tag, _found(done))

    def _asked(self, token: str) -> readers.Asked:
        return _found(readers.asked(self.app, token))

    def preferences(self, request: Request, token: str) -> str:
        """Everything that a person decides."""
        reader = _found(readers.preferences(self.app, token))
        return self.pages.preferences(self.tag(request, reader.language), reader)

    def preferred(self, request: Request, token: str, form: Form) -> tuple[str, int]:
        """(the page after a button of it, its status)."""
        reader = _found(readers.preferences(self.app, token))
        visit = self.visit(request)
        do = _DOES.get(form.get("do"))
        if do is None:
            raise guard.Refused("press", 400)
        reader, note, wrong = do(self, token, reader, form, visit)
        page = self.pages.preferences(self.tag(request, reader.language), reader, note=note, wrong=wrong)
        return page, 422 if wrong else 200

    def leave(self, request: Request, token: str) -> str:
        """The page of leaving."""
        reader = _found(readers.leaving(self.app, token))
        return self.pages.leaving(self.tag(request, reader.language), reader)

    def left(self, request: Request, token: str, form: Form) -> str:
        """After its button, or after what a mail program sent."""
        if not form.is_one_click and not form.get("do"):
            _found(readers.leaving(self.app, token))
            raise guard.Refused("press", 400)
        how = "one-click" if form.is_one_click else "page"
        reader = _found(readers.leave(self.app, token, self.visit(request), how=how, reason=form.get("reason") or None))
        return self.pages.left(self.tag(request, reader.language), reader)


def _found(value: T | None) -> T:
    """What a token is about; a token that is not ours is a link that does not work."""
    if value is None:
        raise guard.Refused("link", 404)
    return value


# -- the buttons of the preferences --------------------------------------------------------------------------------

_Done = tuple[readers.Reader, str, pages.Wrong | None]


def _save(door: Door, token: str, reader: readers.Reader, form: Form, visit: readers.Visit) -> _Done:
    language = form.get("language")
    kept = door.pages.matching(language) if language != reader.language else language
    if reader.language is None and kept == door.pages.language:
        kept = None  # nothing was chosen: it goes on following the newsletter
    saved = _found(
        readers.choose(door.app, token, form.all("topic"), visit, name=form.get("name"), language=kept or None)
    )
    return saved, "saved" if saved.topics or saved.test else "nothing", None


def _pause(door: Door, token: str, reader: readers.Reader, form: Form, visit: readers.Visit) -> _Done:
    try:
        day = dt.date.fromisoformat(form.get("until"))
        return _found(readers.pause(door.app, token, day, visit)), "paused", None
    except (ValueError, errors.UsageError):
        return reader, "", pages.Wrong(any=True, until=True)


def _resume(door: Door, token: str, reader: readers.Reader, form: Form, visit: readers.Visit) -> _Done:
    return _found(readers.pause(door.app, token, None, visit)), "resumed", None


def _move(door: Door, token: str, reader: readers.Reader, form: Form, visit: readers.Visit) -> _Done:
    email = form.get("email").strip()
    try:
        return _found(readers.ask_address(door.app, token, email, visit)), "asked", None
    except throwaway.RefusedDomain:
        return reader, "", pages.Wrong(any=True, email="domain", typed=email[:400])
    except errors.AddressError:
        return reader, "", pages.Wrong(any=True, email="address", typed=email[:400])


def _leave(door: Door, token: str, reader: readers.Reader, form: Form, visit: readers.Visit) -> _Done:
    return _found(readers.leave_everything(door.app, token, visit)), "left", None


_DOES: dict[str, Callable[[Door, str, readers.Reader, Form, readers.Visit], _Done]] = {
    "save": _save,
    "pause": _pause,
    "resume": _resume,
    "address": _move,
    "leave": _leave,
}


# -- the application -----------------------------------------------------------------------------------------------


def build(app: Newsletter) -> FastAPI:
    """The public pages. Others are mounted on it (`site.mount("/api/v1", …)`): what they answer gets the same headers.

    Raises `errors.TemplateError` and `errors.ConfigError`.
    """
    import fastapi
    from fastapi import responses
    from starlette import exceptions
    from starlette.middleware import trustedhost

    from newsletter.web import api

    door = Door(app)
    safe = {**SAFE, "content-security-policy": policy(images=door.images)}

    class Site(fastapi.FastAPI):
        def build_middleware_stack(self) -> Any:
            """Outside of the framework's own: its errors have the headers, too."""
            return guard.Logged(guard.SafeHeaders(guard.Rooted(super().build_middleware_stack(), door.root), safe))

    site = Site(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    site.add_middleware(trustedhost.TrustedHostMiddleware, allowed_hosts=door.hosts, www_redirect=False)

    def answer(content: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
        return responses.HTMLResponse(content.encode("utf-8", "replace"), status_code=status, headers=headers)

    def trouble(request: Request, what: str, status: int, headers: dict[str, str] | None = None) -> Response:
        embedded = str(request.scope.get("path", "")).endswith("/subscribe/embed")
        more = framed if embedded else {}
        page = door.pages.trouble(door.tag(request), what, embedded=embedded)
        return answer(page, status, {**more, **(headers or {})})

    framed = {"content-security-policy": policy(door.embed_on, door.images)}

    # -- what goes wrong ---------------------------------------------------------------------------------------------

    @site.exception_handler(guard.Refused)
    async def refused(request: Request, error: guard.Refused) -> Response:
        return trouble(request, error.what, error.status)

    @site.exception_handler(readers.TooOften)
    async def too_often(request: Request, error: readers.TooOften) -> Response:
        return trouble(request, "often", 429, {"retry-after": str(error.after)})

    @site.exception_handler(errors.StoreError)
    async def no_store(request: Request, error: errors.StoreError) -> Response:
        logger.error("the database does not answer", extra={"reason": str(error)})
        return trouble(request, "wrong", 503, {"retry-after": "30"})

    @site.exception_handler(exceptions.HTTPException)
    async def missing(request: Request, error: exceptions.HTTPException) -> Response:
        headers = dict(error.headers or {})
        return trouble(request, "missing" if error.status_code in (404, 405) else "wrong", error.status_code, headers)

    @site.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        return trouble(request, "wrong", 500)

    # -- routes ------------------------------------------------------------------------------------------------------

    def route(path: str, methods: list[str]) -> Callable[[Callable[[Request], Awaitable[Response]]], None]:
        return lambda function: site.router.add_route(path, function, methods=methods)

    def subscribing(path: str, *, embedded: bool) -> None:
        headers = framed if embedded else {}

        @route(path, ["GET"])
        async def subscribe(request: Request) -> Response:
            page = await asyncio.to_thread(door.subscribe, request, embedded=embedded)
            return answer(page, headers={**headers, "vary": "accept-language"})

        @route(path, ["POST"])
        async def subscribed(request: Request) -> Response:
            form = await door.form(request)
            door.check_from_here(request)
            page, status = await asyncio.to_thread(door.subscribed, request, form, embedded=embedded)
            return answer(page, status, headers)

    def personal(
        path: str,
        look: Callable[[Request, str], str],
        act: Callable[[Request, str, Form], str | tuple[str, int]],
    ) -> None:
        @route(path, ["GET"])
        async def looking(request: Request) -> Response:
            return answer(await asyncio.to_thread(look, request, token_of(request)))

        @route(path, ["POST"])
        async def acting(request: Request) -> Response:
            form = await door.form(request)
            if not (act == door.left and form.is_one_click):  # a mail program has no page that it could come from
                door.check_from_here(request)
            done = await asyncio.to_thread(act, request, token_of(request), form)
            return answer(done) if isinstance(done, str) else answer(*done)

    def token_of(request: Request) -> str:
        """Mail servers fold the letters of addresses, so signed tokens allow it; nobody folds an address of the web."""
        token = str(request.path_params["token"])
        if not request.url.path.startswith("/confirm/") and token != token.lower():
            raise guard.Refused("link", 404)
        return token

    subscribing("/subscribe", embedded=False)
    subscribing("/subscribe/embed", embedded=True)
    personal("/confirm/{token}", door.confirm, door.confirmed)
    personal("/preferences/{token}", door.preferences, door.preferred)
    personal("/unsubscribe/{token}", door.leave, door.left)

    @route("/style.css", ["GET"])
    async def style(request: Request) -> Response:
        kept = FOR_EVER if door.pages.is_style(request.query_params.get("v", "")) else FOR_NOW
        return responses.Response(door.pages.style, media_type="text/css", headers={"cache-control": kept})

    @route("/healthz", ["GET"])
    async def health(request: Request) -> Response:
        await asyncio.to_thread(readers.offers, app)  # it asks the database
        return responses.JSONResponse({"status": "ok"})

    site.router.routes.append(api.mounted(app))
    return site
