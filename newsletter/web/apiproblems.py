"""How the API says no: problem documents (RFC 9457) that echo nothing of what came in, and name nobody."""

from __future__ import annotations

import http
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi import Response

from newsletter import errors
from newsletter.app import apianswers, apikeys, readers

logger = logging.getLogger(__name__)

MEDIA = "application/problem+json"
REALM = 'Bearer realm="newsletter"'

# code -> (status, title, what it means and what to do); the code ends the problem's type, which is a page of its own
KINDS: dict[str, tuple[int, str, str]] = {
    "left": (
        409,
        "This person has left",
        "They unsubscribed, gave it up, complained, or the address is dead. Only they can come back: on the pages.",
    ),
    "suppressed": (
        409,
        "This address is suppressed",
        "It must not be mailed, by any newsletter or by this one. An admin can say why, and take it back.",
    ),
    "consent": (
        409,
        "Consent is needed",
        "A topic is new to this person. Send `consent` along: the words they saw, and when they said yes to them.",
    ),
    "malformed": (400, "This is no JSON", "The body could not be read as JSON (RFC 8259), in UTF-8."),
    "scope": (403, "This key may only read", "Make one that may write: newsletter api-keys add NAME --scope write."),
    "invalid": (
        422,
        "A member or parameter cannot be taken",
        "`errors` has a line for each: `pointer` is its place in the body (RFC 6901), `parameter` its name elsewhere.",
    ),
    "key-reused": (
        422,
        "This Idempotency-Key belongs to another request",
        "The key was sent before, with another body or to another place. Take a new one for a new request.",
    ),
    "too-often": (429, "Too many requests", "Wait as many seconds as Retry-After says."),
}


class Problems:
    """Words answers for one site; `base` is where its API is."""

    def __init__(self, base: str) -> None:
        self.base = base

    def document(self, code: str | int, detail: str | None = None, **more: Any) -> dict[str, Any]:
        """A problem of `KINDS`, or one that is no more than its status."""
        if isinstance(code, int):
            found: dict[str, Any] = {"type": "about:blank", "title": _phrase(code), "status": code}
        else:
            status, title, _ = KINDS[code]
            found = {"type": f"{self.base}/problems/{code}", "title": title, "status": status}
        return {**found, **({"detail": detail} if detail else {}), **more}

    def answer(
        self, code: str | int, detail: str | None = None, headers: Mapping[str, str] | None = None, **more: Any
    ) -> Response:
        """The same as an answer."""
        found = self.document(code, detail, **more)
        return Response(json.dumps(found), found["status"], headers, MEDIA)

    def invalid(self, mistakes: Sequence[Mapping[str, str]]) -> Response:
        """What cannot be taken, member by member."""
        return self.answer("invalid", errors=list(mistakes))

    def of(self, error: errors.NewsletterError) -> Response | None:
        """What to answer for an error that a request can cause; None for what is our own mistake."""
        match error:
            case apikeys.Unknown():
                return self.answer(401, headers={"WWW-Authenticate": REALM})
            case apikeys.Beyond():
                more = f'{REALM}, error="insufficient_scope", scope="write"'
                return self.answer("scope", headers={"WWW-Authenticate": more})
            case readers.TooOften():
                return self.answer("too-often", headers={"Retry-After": str(error.after)})
            case apianswers.Refused():
                return self.answer(error.why.value, str(error))
            case apianswers.KeyReused():
                return self.answer("key-reused")
            case apianswers.Invalid():
                return self.invalid([{"pointer": f"#/{error.member}", "detail": str(error)}])
            case errors.AddressError():
                return self.invalid([{"pointer": "#/email", "detail": "this is no address that can be mailed"}])
            case errors.StateError():
                return self.answer("left")
            case errors.StoreError():
                logger.error("the database does not answer", extra={"reason": str(error)})
                return self.answer(503, "the database cannot be reached now", headers={"Retry-After": "30"})
        return None


def _phrase(status: int) -> str:
    return "Content Too Large" if status == 413 else http.HTTPStatus(status).phrase  # RFC 9110, 15.5.14


def mistakes(found: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What validation found, without what came in: a member that is not ours is not named."""
    lines = []
    for each in list(found)[:20]:
        place, *inner = each["loc"]
        if each["type"] == "extra_forbidden":
            inner = inner[:-1]
        where = "/".join(str(part) for part in inner)
        if place == "body":
            lines.append({"pointer": f"#/{where}" if where else "#", "detail": _detail(each)})
        else:
            lines.append({**({"parameter": where} if where else {}), "detail": _detail(each)})
    return lines


def _detail(found: Mapping[str, Any]) -> str:
    if found["type"] == "extra_forbidden":
        return "there is a name that is not known"
    return str(found["msg"]).removeprefix("Value error, ")


def page(code: str) -> str | None:
    """What a problem's type means; None for one that there is not."""
    if code not in KINDS:
        return None
    status, title, text = KINDS[code]
    return f"{title} ({status})\n\n{text}\n"
