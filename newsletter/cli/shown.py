"""How people are shown: as JSON, as lines, as one person's story."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

from newsletter.cli import output

if TYPE_CHECKING:
    from newsletter.app import people as app


def emit(people: Iterable[dict[str, Any]], stream: TextIO) -> int:
    """One JSON document, a person a line: a million of them are never in memory at once."""
    count = 0
    stream.write('{"subscribers": [')
    for person in people:
        stream.write(("," if count else "") + "\n" + json.dumps(person, ensure_ascii=False))
        count += 1
    stream.write("]}\n")
    return count


def person(view: app.SubscriberView) -> dict[str, Any]:
    """A person as all JSON has them."""
    return {
        "email": view.email,
        "name": view.name,
        "state": view.state,
        "language": view.language,
        "topics": list(view.topics),
        "suppressed": view.suppressed,
        "since": view.since.isoformat(),
        "tags": list(view.tags),
        "paused_until": _when(view.paused_until),
    }


def _when(moment: dt.datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def table(found: Iterable[app.SubscriberView]) -> None:
    """People as lines."""
    rows = (
        (
            view.email,
            view.name,
            view.state,
            ", ".join(view.topics),
            ", ".join(view.tags),
            view.suppressed,
            view.since.date(),
        )
        for view in found
    )
    output.table(("email", "name", "state", "topics", "tags", "suppressed", "since"), rows)


_TITLES = {
    "consent": "consent",
    "subscription": "subscriptions",
    "suppression": "suppressions",
    "confirmation": "waits for a yes",
    "service_mail": "service mails",
    "delivery": "deliveries",
    "feedback": "feedback",
}


def tell(records: app.Record) -> None:
    """One person's records, kind by kind."""
    if records["paused_until"]:
        output.result(f"paused until {records['paused_until']:%F}")
    for kind, title in _TITLES.items():
        if records[kind]:
            output.result(f"\n{title}")
        for record in records[kind]:
            output.result("  " + "  ".join(_words(record)))


def _words(record: app.Record) -> Iterator[str]:
    """The values of a record that say something, a time to the second; long ones shortened."""
    for name, value in record.items():
        if isinstance(value, dt.datetime):
            yield f"{name} {value:%F %T}"
        elif value not in (None, "", {}, []):
            text = " ".join(str(value).split())
            yield f"{name} {text if len(text) <= 100 else text[:99] + '…'}"
