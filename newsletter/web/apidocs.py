"""The API's description (OpenAPI 3.1): what FastAPI derives from the code, and what it does not know of: problems,
the key that is needed, the topics that there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from newsletter.web import apimodels
from newsletter.web.apiproblems import MEDIA

ALWAYS = {401: "No key that is known.", 429: "Too many.", 500: "Our mistake.", 503: "The database is not there."}
OF_BODIES = {400: "No JSON.", 409: "A no forbids it.", 413: "Over 64 KiB.", 415: "Not application/json."}
PROBLEM = {
    "title": "Problem",
    "description": "RFC 9457. Nothing of the request is echoed.",
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "format": "uri-reference"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["detail"],
                "properties": {
                    "pointer": {"type": "string", "description": "RFC 6901, as a URI fragment: `#/email`."},
                    "parameter": {"type": "string"},
                    "detail": {"type": "string"},
                },
            },
        },
    },
}


def document(api: FastAPI, topics: list[str]) -> dict[str, Any]:
    """The whole description; `topics` are those of the settings."""
    found: dict[str, Any] = get_openapi(
        title=api.title,
        version=api.version,
        description=api.description,
        routes=api.routes,
        servers=api.servers,
        openapi_version=api.openapi_version,
    )
    parts = found["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    parts["schemas"]["Problem"] = PROBLEM
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "newsletter api-keys add"}}
    found["security"] = [{"key": []}]
    for path, item in found["paths"].items():
        for method, operation in item.items():
            _add_problems(operation, reads=method == "get", has_place="{" in path)
    known = {apimodels.TOPIC: topics, apimodels.NEWSLETTER: sorted({topic.partition("/")[0] for topic in topics})}
    for schema in _schemas(found):
        if schema.get("format") in known:
            schema["enum"] = known[schema.pop("format")]
    if len(topics) > 1:
        new = parts["schemas"]["NewSubscriber"]
        new["required"].append("topics")
        new["properties"]["topics"] = {**new["properties"]["topics"].pop("anyOf")[0], **new["properties"]["topics"]}
    return found


def _add_problems(operation: dict[str, Any], *, reads: bool, has_place: bool) -> None:
    statuses = dict(ALWAYS)
    if not reads:
        statuses[403] = "The key may only read."
        statuses[413] = OF_BODIES[413]
        statuses[409] = OF_BODIES[409]
    if "requestBody" in operation:
        statuses |= OF_BODIES
    if has_place:
        statuses[404] = "There is none."
    if operation["responses"].pop("422", None):
        statuses[422] = "Something in it cannot be taken."
    content = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, text in sorted(statuses.items()):
        operation["responses"][str(status)] = {"description": text, "content": content}


def _schemas(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
        for each in list(part.values()):
            yield from _schemas(each)
    elif isinstance(part, list):
        for each in part:
            yield from _schemas(each)
