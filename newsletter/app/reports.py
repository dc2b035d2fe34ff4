"""What each verb answers: values for the command line, with `as_json` for programs. Times are ISO 8601 with offset."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

from newsletter import types


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


class Report:
    """A dataclass that becomes one JSON document."""

    def as_json(self) -> dict[str, Any]:
        """Its fields."""
        found: dict[str, Any] = plain(self)
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class SourceReport(Report):
    """One source of a `collect`. `status`: new, unchanged, failed or skipped."""

    url: str
    status: str
    entries_seen: int
    entries_new: int
    error: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class CollectReport(Report):
    """What `collect` found."""

    sources: list[SourceReport]
    entries_new: int


@dataclasses.dataclass(frozen=True, slots=True)
class ImportReport(Report):
    """What `entries import` did. `held`: kept out by a rule."""

    rows: int
    added: int
    updated: int
    unchanged: int
    rejected: list[types.BadRow]


@dataclasses.dataclass(frozen=True, slots=True)
class ComposeReport(Report):
    """What `compose` did. `issue` None: nothing, and `reason` says why. `dropped` and `held`: what was left out."""

    issue: str | None
    path: str | None = None
    state: str | None = None
    topics: dict[str, int] = dataclasses.field(default_factory=dict)
    entries: int = 0
    reason: str | None = None
    held: int = 0
    dropped: int = 0
    added: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class CheckReport(Report):
    """What `check` found. `size`: edition (`a,b`) -> octets of its HTML."""

    ok: bool
    errors: list[types.Finding]
    warnings: list[types.Finding]
    size: dict[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class ApproveReport(Report):
    """What was frozen. `audience`: edition -> how many people get it, if it went out now."""

    issue: str
    state: str
    hash: str
    entries: int
    dropped: int
    audience: dict[str, int]
    warnings: list[types.Finding]


@dataclasses.dataclass(frozen=True, slots=True)
class StatusReport(Report):
    """How far an issue is. The counts add up to `audience`; `reason` says why it is held."""

    issue: str
    state: str
    counts: dict[str, int]
    in_doubt: list[str]
    audience: int
    reason: str | None = None
    next_due: dt.datetime | None = None
    stopped: bool = False
    trouble: str | None = None

    @property
    def complete(self) -> bool:
        """Is every delivery sent or skipped?"""
        return all(not count for state, count in self.counts.items() if state not in ("sent", "skipped"))


@dataclasses.dataclass(frozen=True, slots=True)
class IssueView(Report):
    """An issue as the listing shows it."""

    issue: str
    state: str
    subject: str
    entries: int
    path: str
    number: int | None = None
    cutoff: dt.datetime | None = None
    approved_at: dt.datetime | None = None
    approved_by: str | None = None
    sent_at: dt.datetime | None = None
    reason: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SourceView(Report):
    """A source as the listing shows it."""

    url: str
    topics: list[str]
    last_ok: dt.datetime | None
    last_error: str | None
    failures: int
    next_check: dt.datetime | None
    entries: int


@dataclasses.dataclass(frozen=True, slots=True)
class Event(Report):
    """Something that the schedule says. `kind`: compose or send; `at` in the newsletter's zone."""

    newsletter: str
    kind: str
    at: dt.datetime
    period: str


@dataclasses.dataclass(frozen=True, slots=True)
class TopicView(Report):
    """A topic as the listing shows it; `subscribers` would get it now."""

    newsletter: str
    topic: str
    title: str
    sources: list[str]
    subscribers: int


@dataclasses.dataclass(frozen=True, slots=True)
class DatabaseReport(Report):
    """What `db check` found: its schema, the one that this program wants, and what is wrong."""

    ok: bool
    schema: str | None
    wanted: str
    problems: list[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Line(Report):
    """A line of `doctor`: OK, WARN or FAIL, and what to do."""

    level: str
    what: str
    text: str
