"""The editor's page: a draft as its readers will get it, live, on this machine only.

    GET  /                          the newest draft, or the issue that was named at the start
    GET  /weekly/2026-09-11         an issue; ?view= &width= &edition= &as= choose what is shown of it
    GET  …/message                  its HTML for the frame, under a policy of its own; …/message.eml, .txt the files
    GET  /events?issue=             server-sent events: one when the page would not be the same any more
    POST …/test, …/approve          what an editor may do here; only from this page, and only with this start's token

It answers to this machine's own names alone (a foreign site may resolve to 127.0.0.1), and no GET changes anything.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hmac
import secrets
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from newsletter import errors
from newsletter.app import letters, previewing
from newsletter.web import guard, previewframe, previewpage, previewsheet, watching

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

HOSTS = ["127.0.0.1", "localhost", "[::1]", "::1"]
BODY = guard.BODY
QUIET = 15  # seconds without an event after which a comment shows that the connection lives
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Page:
    """What the routes share: the desk, the watch on its files, and the token of this start."""

    def __init__(self, desk: previewing.Desk, issue: str | None, by: str) -> None:
        self.desk, self.issue, self.by = desk, issue, by
        self.token = secrets.token_urlsafe(24)
        self.start = secrets.token_hex(4)  # a page of another start has another token: it is to be loaded again
        self.watch = watching.Watch(desk.folders)

    def stamp(self, name: str | None) -> str:
        """Changes when the page of an issue would."""
        names = zlib.crc32("\n".join(self.desk.names()).encode())
        return f"{self.start}-{names:x}-{self.desk.look(name).seal if name else ''}"

    def shown(self, name: str, choice: previewsheet.Choice, note: str = "", *, failed: bool = False) -> str:
        """The page of an issue."""
        stamp, look = self.stamp(name), self.desk.look(name)
        letter, choice, trouble = self._letter(look, choice)
        note, failed = (note, failed) if note or not trouble else (trouble, True)
        report, editions = self.desk.assess(look)
        return previewpage.page(
            previewsheet.Sheet(
                look=look,
                letter=letter,
                report=report,
                editions=editions,
                names=self.desk.names(),
                samples=self.desk.samples(),
                choice=choice,
                stamp=stamp,
                token=self.token,
                server=self.desk.server,
                note=note,
                failed=failed,
            )
        )

    def message(self, name: str, choice: previewsheet.Choice) -> letters.Letter | None:
        """The message that the page shows for this choice; None when there is none to show."""
        return self._letter(self.desk.look(name), choice)[0]

    def _letter(
        self, look: previewing.Look, choice: previewsheet.Choice
    ) -> tuple[letters.Letter | None, previewsheet.Choice, str]:
        """(the message, for which choice, why not for the one asked for): without the reader, then with all topics."""
        if look.opened is None:
            return None, choice, ""
        choice = _possible(look, choice)
        trouble = ""
        for tried in (
            choice,
            dataclasses.replace(choice, reader=""),
            dataclasses.replace(choice, reader="", topics=()),
        ):
            try:
                return self.desk.letter(look, tried.topics, tried.reader), tried, trouble
            except errors.NewsletterError as error:
                trouble = trouble or str(error)
        return None, choice, trouble

    def test(self, name: str, to: str) -> tuple[str, bool]:
        """Send a test: (what to say, did it fail?)."""
        try:
            trouble = self.desk.send_test(name, to)
        except errors.NewsletterError as error:
            return str(error), True
        return (f"{to} did not get it: {trouble}", True) if trouble else (f"A test is on its way to {to}.", False)

    def approve(self, name: str, seal: str) -> tuple[str, bool]:
        """Approve what was looked at: (what to say, did it fail?)."""
        try:
            report = self.desk.approve(name, seal, self.by)
        except errors.NewsletterError as error:
            return str(error), True
        people = sum(report.audience.values())
        return f"{report.issue} is approved, for {people:,} {'person' if people == 1 else 'people'}.", False

    async def events(self, name: str | None) -> AsyncIterator[str]:
        """The stamp, now and whenever it changes."""
        told, quiet = "", 0.0
        async for _ in self.watch.changes():
            stamp = await asyncio.to_thread(self.stamp, name)
            quiet = 0.0 if stamp != told else quiet + watching.SECONDS
            if stamp != told:
                yield f"data: {stamp}\n\n"
            elif quiet >= QUIET:
                quiet = 0.0
                yield ": still here\n\n"
            told = stamp


def _possible(look: previewing.Look, choice: previewsheet.Choice) -> previewsheet.Choice:
    """Without topics that the issue does not have, or has no more."""
    there = look.opened.topics if look.opened else ()
    topics = tuple(topic for topic in there if topic in choice.topics)
    return dataclasses.replace(choice, topics=() if topics == there else topics)


def chosen(view: str = "desktop", width: str = "", edition: str = "", reader: str = "") -> previewsheet.Choice:
    """What an address asks for; what it asks for in vain is left out."""
    known = view if view in previewsheet.VIEWS else "desktop"
    topics = tuple(topic for topic in edition.split(",") if topic)
    return previewsheet.Choice(known, known == "phone" or width == "phone", topics, reader.strip())


def refusal(headers: Callable[[str], str | None], form: dict[str, str], token: str) -> str | None:
    """Why a POST is not taken: it must come from this very page (Origin, Sec-Fetch-Site), with the token in it."""
    if guard.foreign(headers, {f"http://{headers('host')}"}):
        return "this request comes from another page"
    if not hmac.compare_digest(form.get("token", "").encode(), token.encode()):
        return "this page is of an earlier start; load it again"
    return None


def preview_app(desk: previewing.Desk, issue: str | None = None, *, by: str = "unknown") -> FastAPI:
    """The application. `issue`: what `/` shows, else the newest draft; `by`: who approves from this page.

    Its `state.closing` ends the event streams, so that the server can stop.
    """
    import fastapi
    from fastapi import responses
    from starlette.middleware import trustedhost

    page = Page(desk, issue, by)
    app = fastapi.FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.closing = page.watch.close
    app.add_middleware(trustedhost.TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False)
    app.add_middleware(guard.SafeHeaders, headers=SAFE)
    here = Path(__file__).parent
    files = {name: (here / name).read_text("utf-8") for name in ("preview.css", "preview.js")}

    def get(path: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        return app.api_route(path, methods=["GET", "HEAD"])

    def answer(content: str, status: int = 200) -> responses.Response:
        return responses.HTMLResponse(content.encode("utf-8", "replace"), status_code=status)

    def named(newsletter: str, period: str) -> str | None:
        name = f"{newsletter}/{period}"
        return name if previewing.is_name(name) else None

    @app.exception_handler(404)
    async def missing(request: Request, _: Exception) -> responses.Response:
        return answer(previewpage.missing(request.url.path), 404)

    @get("/")
    def index() -> responses.Response:
        name = page.issue or desk.newest()
        if name is None:
            return answer(previewpage.empty(page.stamp(None)))
        return answer(page.shown(name, previewsheet.Choice()))

    @get("/preview.css")
    def css() -> responses.Response:
        return responses.Response(files["preview.css"], media_type="text/css")

    @get("/preview.js")
    def script() -> responses.Response:
        return responses.Response(files["preview.js"], media_type="text/javascript")

    @app.get("/events")
    async def events(issue: str = "") -> responses.Response:
        name = issue if previewing.is_name(issue) else None
        return responses.StreamingResponse(page.events(name), media_type="text/event-stream")

    @get("/{newsletter}/{period}")
    def one(
        newsletter: str,
        period: str,
        view: str = "desktop",
        width: str = "",
        edition: str = "",
        reader: str = fastapi.Query("", alias="as"),
    ) -> responses.Response:
        name = named(newsletter, period)
        if name is None or not desk.has(name):
            return answer(previewpage.missing(f"/{newsletter}/{period}"), 404)
        return answer(page.shown(name, chosen(view, width, edition, reader)))

    @get("/{newsletter}/{period}/message")
    def framed(
        newsletter: str,
        period: str,
        scheme: str = "light",
        edition: str = "",
        reader: str = fastapi.Query("", alias="as"),
    ) -> responses.Response:
        name = named(newsletter, period)
        letter = page.message(name, chosen(edition=edition, reader=reader)) if name and desk.has(name) else None
        if name is None or letter is None:
            return answer(previewpage.missing(f"/{newsletter}/{period}/message"), 404)
        known = scheme if scheme in previewframe.SCHEMES else "light"
        response = answer(previewframe.shown(letter.html, known))
        response.headers["content-security-policy"] = previewframe.policy(known, desk.look(name).site)
        return response

    @get("/{newsletter}/{period}/message.{kind}")
    def file(
        newsletter: str,
        period: str,
        kind: str,
        edition: str = "",
        reader: str = fastapi.Query("", alias="as"),
    ) -> responses.Response:
        name = named(newsletter, period)
        letter = page.message(name, chosen(edition=edition, reader=reader)) if name and desk.has(name) else None
        contents = {"eml": letter.octets, "txt": letter.text.encode()} if letter else {}
        if name is None or kind not in contents:
            return answer(previewpage.missing(f"/{newsletter}/{period}/message.{kind}"), 404)
        kept = {"content-disposition": f'attachment; filename="{name.replace("/", "-")}.{kind}"'}
        media = "message/rfc822" if kind == "eml" else "text/plain; charset=utf-8"
        return responses.Response(contents[kind], media_type=media, headers=kept)

    async def form_of(request: Request) -> dict[str, str]:
        try:
            body = await guard.body_of(request)
        except guard.Refused:
            return {}
        return dict(guard.fields(body, request.headers.get("content-type", "")))

    def act(
        do: Callable[[str, dict[str, str]], tuple[str, bool]],
    ) -> Callable[[Request], Awaitable[responses.Response]]:
        async def acted(request: Request) -> responses.Response:
            form = await form_of(request)
            why = refusal(request.headers.get, form, page.token)
            if why is not None:
                return responses.PlainTextResponse(why, status_code=403)
            name = named(request.path_params["newsletter"], request.path_params["period"])
            if name is None or not await asyncio.to_thread(desk.has, name):
                return answer(previewpage.missing(request.url.path), 404)
            note, failed = await asyncio.to_thread(do, name, form)
            asked = dict(request.query_params)
            choice = chosen(*(asked.get(key, "") for key in ("view", "width", "edition", "as")))
            content = await asyncio.to_thread(page.shown, name, choice, note, failed=failed)
            return answer(content, 409 if failed else 200)

        return acted

    test = act(lambda name, form: page.test(name, form.get("to", "")))
    approve = act(lambda name, form: page.approve(name, form.get("seal", "")))
    app.router.add_route("/{newsletter}/{period}/test", test, methods=["POST"])
    app.router.add_route("/{newsletter}/{period}/approve", approve, methods=["POST"])
    return app
