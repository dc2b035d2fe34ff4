"""The API, `/api/v1`: people, their topics, suppressions; issues and deliveries to read. Its rules are in `app.api`.

    request -> safe headers -> key, body (`apigate`) -> a route here -> the app -> JSON, or a problem (`apiproblems`)

No page, no cookie, no other site (CORS): programs ask, from servers.
"""

from __future__ import annotations

import dataclasses
import json
import re
import urllib.parse
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Mount

from newsletter import __version__, errors, types
from newsletter.app import Newsletter, apianswers, apikeys, apireading
from newsletter.app import api as asked
from newsletter.web import apidocs, apigate, guard
from newsletter.web import apimodels as models
from newsletter.web.apiproblems import MEDIA, Problems, mistakes, page

PLACE = "/api/v1"
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
ABOUT = (
    "Subscribers, their topics and suppressions; issues and deliveries to read. A no is never undone: who left or is "
    "suppressed comes back only by their own yes. Errors are problem documents (RFC 9457)."
)


def _key(request: Request) -> apikeys.ApiKeyView:
    found: apikeys.ApiKeyView = request.scope[apigate.KEY]
    return found


Found = TypeVar("Found")
Key = Annotated[apikeys.ApiKeyView, Depends(_key)]
Ref = Annotated[
    str,
    Path(
        min_length=1,
        max_length=320,
        description="A subscriber's id, or their e-mail address.",
        examples=["anna@example.org"],
    ),
]
Once = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern="^[!-~]+$",
        description="The same key and body within a day: done once, answered the same.",
    ),
]


class _Api(FastAPI):
    def build_middleware_stack(self) -> Any:
        """Outside of the framework's own: its errors have the headers, too."""
        return guard.SafeHeaders(super().build_middleware_stack(), HEADERS)


class _Everything(Mount):
    """All that is below a path, also with line breaks in it, which the usual pattern's dot does not match."""

    def __init__(self, path: str, app: FastAPI) -> None:
        super().__init__(path, app)
        self.path_regex = re.compile(self.path_regex.pattern, re.DOTALL)


class _Lost(Exception):
    """There is no such thing."""


def mounted(app: Newsletter) -> Mount:
    """The API of a workspace, as a route of its site."""
    return _Everything(PLACE, build(app))


def build(app: Newsletter) -> FastAPI:
    """The API of a workspace, to be mounted at `/api/v1`."""
    place = urllib.parse.urlsplit(app.settings.site.base_url).path.rstrip("/") + PLACE
    problems = Problems(app.settings.site.base_url + PLACE)
    api = _Api(
        title="newsletter",
        version=__version__,
        description=ABOUT,
        servers=[{"url": place}],
        root_path_in_servers=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    document = None

    @api.get("/openapi.json", include_in_schema=False)
    def openapi() -> dict[str, Any]:
        nonlocal document
        document = document or apidocs.document(api, [each.topic for each in apireading.topics(app)])
        return document

    @api.get("/problems/{code}", include_in_schema=False)
    def problem(code: str) -> Response:
        text = page(code)
        if text is None:
            raise _Lost
        return Response(text, media_type="text/plain; charset=utf-8")

    _subscribers(api, app, problems)
    _suppressions(api, app, problems)
    _reading(api, app)
    _handlers(api, problems)
    api.add_middleware(apigate.Gate, app=app, problems=problems, is_open=_is_open)
    return api


# -- people --------------------------------------------------------------------------------------------------------


def _subscribers(api: FastAPI, app: Newsletter, problems: Problems) -> None:
    @api.get("/subscribers", tags=["subscribers"])
    def list_subscribers(which: Annotated[models.WhichSubscribers, Query()]) -> models.Subscribers:
        """People, in the order in which they came."""
        state = types.SubscriberState(which.state) if which.state else None
        found = apireading.subscribers(app, _span(which), email=which.email, topic=which.topic, state=state)
        rows = [models.Subscriber.model_validate(row) for row in found.rows]
        return models.Subscribers(subscribers=rows, next=models.cursor(models.WhichSubscribers, found.next))

    @api.post("/subscribers", tags=["subscribers"], **_created(models.CreatedSubscriber))
    def create_subscriber(request: Request, key: Key, body: models.NewSubscriber, once: Once = None) -> Response:
        """Put a person on file, or take one further who is on file; all of it, or nothing.

        Pending people are mailed a link to say yes, three times a day at most; until then they have no topics.
        """
        wanted = asked.Wanted(
            email=body.email,
            topics=body.topics,
            name=body.name,
            language=body.language,
            active=body.state == "active",
            confirm=body.confirm,
            said=_said(body.consent),
        )
        answer = asked.create(app, key, wanted, _again(request, once, body), _saying(problems))
        return _answer(answer, problems.base + "/subscribers")

    @api.get("/subscribers/{subscriber:path}", tags=["subscribers"])
    def get_subscriber(subscriber: Ref) -> models.Subscriber:
        """One person."""
        return models.Subscriber.model_validate(_there(asked.find(app, subscriber)))

    @api.patch("/subscribers/{subscriber:path}", tags=["subscribers"])
    def update_subscriber(subscriber: Ref, key: Key, body: models.SubscriberChange) -> models.Subscriber:
        """Change name, language or topics. A topic that they gave up is refused."""
        change = asked.Change(
            members=frozenset(body.model_fields_set),
            name=body.name,
            language=body.language,
            topics=body.topics,
            said=_said(body.consent),
        )
        return models.Subscriber.model_validate(_there(asked.update(app, key, subscriber, change)))

    @api.delete("/subscribers/{subscriber:path}", tags=["subscribers"], status_code=204)
    def delete_subscriber(subscriber: Ref, key: Key, how: Annotated[models.HowToDelete, Query()]) -> Response:
        """Unsubscribe a person from everything, which holds, also a second time; or forget them (`erase`)."""
        done = asked.erase(app, subscriber) if how.erase else asked.leave(app, key, subscriber)
        if not done:
            raise _Lost
        return Response(status_code=204)


def _suppressions(api: FastAPI, app: Newsletter, problems: Problems) -> None:
    @api.get("/suppressions", tags=["suppressions"])
    def list_suppressions(which: Annotated[models.WhichSuppressions, Query()]) -> models.Suppressions:
        """Addresses that must not be mailed."""
        found = apireading.suppressions(app, _span(which), email=which.email, newsletter=which.newsletter)
        rows = [models.Suppression.model_validate(row) for row in found.rows]
        return models.Suppressions(suppressions=rows, next=models.cursor(models.WhichSuppressions, found.next))

    @api.post("/suppressions", tags=["suppressions"], **_created(models.Suppression))
    def create_suppression(request: Request, key: Key, body: models.NewSuppression, once: Once = None) -> Response:
        """Never mail an address, on file or not."""
        answer = asked.suppress(
            app,
            key,
            body.email,
            newsletter=body.newsletter,
            reason=body.reason,
            again=_again(request, once, body),
            saying=_saying(problems),
        )
        return _answer(answer)

    @api.delete("/suppressions/{suppression}", tags=["suppressions"], status_code=204)
    def delete_suppression(suppression: Annotated[int, Path(ge=1, le=models.ROWS)], key: Key) -> Response:
        """Take one back, but for the person's own: who complained or was erased. Who left or bounced stays so."""
        if not asked.unsuppress(app, suppression):
            raise _Lost
        return Response(status_code=204)


# -- to read -------------------------------------------------------------------------------------------------------


def _reading(api: FastAPI, app: Newsletter) -> None:
    @api.get("/subscriptions", tags=["subscriptions"])
    def list_subscriptions(which: Annotated[models.WhichSubscriptions, Query()]) -> models.Subscriptions:
        """Each yes to a topic, also those that are over. They are changed at the subscriber."""
        found = apireading.subscriptions(
            app,
            _span(which),
            subscriber=which.subscriber,
            topic=which.topic,
            current=which.current,
        )
        rows = [models.Subscription.model_validate(row) for row in found.rows]
        return models.Subscriptions(subscriptions=rows, next=models.cursor(models.WhichSubscriptions, found.next))

    @api.get("/topics", tags=["topics"])
    def list_topics() -> models.Topics:
        """What people pick."""
        return models.Topics(topics=[models.TopicView.model_validate(each) for each in apireading.topics(app)])

    @api.get("/issues", tags=["issues"])
    def list_issues(which: Annotated[models.WhichIssues, Query()]) -> models.Issues:
        """Issues, in the order in which they were begun."""
        found = apireading.issues(app, _span(which), newsletter=which.newsletter, state=which.state)
        rows = [models.Issue.model_validate(row) for row in found.rows]
        return models.Issues(issues=rows, next=models.cursor(models.WhichIssues, found.next))

    @api.get("/issues/{newsletter}/{period}", tags=["issues"])
    def get_issue(
        newsletter: Annotated[str, Path(examples=["weekly"])], period: Annotated[str, Path(examples=["2026-09-11"])]
    ) -> models.StandingIssue:
        """One issue, and how far it is."""
        found = _there(apireading.issue(app, newsletter, period))
        return models.StandingIssue(**dataclasses.asdict(found.issue), deliveries=found.deliveries)

    @api.get("/deliveries", tags=["deliveries"])
    def list_deliveries(which: Annotated[models.WhichDeliveries, Query()]) -> models.Deliveries:
        """Who got what, who did not, and why."""
        state = types.DeliveryState(which.state) if which.state else None
        found = apireading.deliveries(app, _span(which), issue=which.issue, subscriber=which.subscriber, state=state)
        rows = [models.Delivery.model_validate(row) for row in found.rows]
        return models.Deliveries(deliveries=rows, next=models.cursor(models.WhichDeliveries, found.next))


# -- in common -----------------------------------------------------------------------------------------------------


def _is_open(path: str) -> bool:
    """Is this for everybody? What the API is like, and what its problems mean, is no secret."""
    return path == "/openapi.json" or path.startswith("/problems/")


def _created(model: type[models.Given]) -> dict[str, Any]:
    was_there = {"model": model, "description": "It was there."}
    return {"status_code": 201, "response_model": model, "responses": {200: was_there}}


def _span(which: models.Paged) -> apireading.Span:
    return apireading.Span(which.after, which.limit)


def _there(found: Found | None) -> Found:
    if found is None:
        raise _Lost
    return found


def _said(consent: models.Consent | None) -> asked.Said | None:
    if consent is None:
        return None
    return asked.Said(consent.text, consent.at, consent.ip, consent.page)


def _again(request: Request, once: str | None, body: models.Taken) -> apianswers.Again | None:
    """The key as it is meant: the draft has it as a string in quotes (RFC 9651, 3.3.3), most clients leave them out."""
    if once is None:
        return None
    bare = once[1:-1] if len(once) > 2 and once[0] == once[-1] == '"' else once
    return apianswers.Again(bare, f"{request.method} {request.url.path} {body.model_dump_json()}")


def _saying(problems: Problems) -> Callable[[asked.Outcome], apianswers.Answer]:
    def say(outcome: asked.Outcome) -> apianswers.Answer:
        match outcome:
            case asked.Made():
                made = models.CreatedSubscriber(**dataclasses.asdict(outcome.subscriber), mailed=outcome.mailed)
                return apianswers.Answer(201 if outcome.added else 200, made.model_dump_json())
            case asked.Forbidden():
                kept = models.Suppression.model_validate(outcome.suppression)
                return apianswers.Answer(201 if outcome.added else 200, kept.model_dump_json())
            case apianswers.Refused():
                found = problems.document(outcome.why.value, str(outcome))
                return apianswers.Answer(found["status"], json.dumps(found))

    return say


def _answer(answer: apianswers.Answer, place: str | None = None) -> Response:
    """`place` is where things of this kind are, each by its id."""
    if answer.status >= 400:
        return Response(answer.body, answer.status, media_type=MEDIA)
    made = answer.status == 201 and place is not None
    headers = {"location": f"{place}/{json.loads(answer.body)['id']}"} if made else {}
    return Response(answer.body, answer.status, headers, "application/json")


def _handlers(api: FastAPI, problems: Problems) -> None:
    @api.exception_handler(_Lost)
    async def lost(request: Request, error: Exception) -> Response:
        return problems.answer(404)

    @api.exception_handler(errors.NewsletterError)
    async def foreseen(request: Request, error: errors.NewsletterError) -> Response:
        if isinstance(error, apianswers.Invalid) and request.method == "GET":
            return problems.invalid([{"parameter": error.member, "detail": str(error)}])
        answer = problems.of(error)
        if answer is None:
            raise error
        return answer

    @api.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()
        if any(each["type"] == "json_invalid" for each in found):
            return problems.answer("malformed")
        if any(each["loc"] == ("body",) for each in found) and not _is_json(request) and await request.body():
            return problems.answer(415, headers={"Accept": "application/json"})
        return problems.invalid(mistakes(found))

    @api.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        if error.status_code == 405:
            return problems.answer(405, headers={"Allow": ", ".join(_allowed(api, request))})
        return problems.answer("malformed" if error.status_code == 400 else error.status_code)

    @api.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return problems.answer(500)


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _allowed(api: FastAPI, request: Request) -> list[str]:
    """The methods of a place, whichever routes have them (RFC 9110, 10.2.1)."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    routes = [route for route in api.routes if isinstance(route, APIRoute) and route.path_regex.match(path)]
    found = {method for route in routes for method in route.methods or ()}
    return sorted(found | ({"HEAD"} if "GET" in found else set()))
