"""What each verb answers: values for the command line, with `as_json` for programs. Times are ISO 8601 with offset."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

from newsletter import errors, types


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if isinstance(value, str):
        return errors.masked(value)
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
    """One source of a `collect`. `status`: new, unchanged, failed or skipped.

    `entries_seen`: how many its answer held; 0 where the server or the content said that all is as before, since it is
    not read again then. `entries_released`: how many a backfill let wait that an age rule had held. `note`: why there
    was nothing in it.
    """

    url: str
    status: str
    entries_seen: int
    entries_new: int
    error: str | None
    entries_released: int = 0
    note: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class CollectReport(Report):
    """What `collect` found. `as_seen`: how many were dropped because `--as-seen` says that readers know them."""

    sources: list[SourceReport]
    entries_new: int
    as_seen: int = 0
    entries_released: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class ImportReport(Report):
    """What `entries import` did. `notes`: what was assumed of the file."""

    rows: int
    added: int
    updated: int
    unchanged: int
    rejected: list[types.BadRow]
    notes: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class SilentSource(Report):
    """A source that may have kept something from the next issue; `why` says since when and by what fault."""

    url: str
    topics: list[str]
    last_ok: dt.datetime | None
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class ComposeReport(Report):
    """What `compose` did. `issue` None: nothing, and `reason` says why.

    What was left out: `dropped` match no rule, `merged` tell a story that another entry tells, `held` did not fit.
    `stays`: blocks that an editor changed and that stay, though the rules now leave them out (id -> why). `silent`:
    sources without a good fetch since the issue before. `extracted`: why summaries are not by the model that should
    have written them (reason -> how many). `older`: drafts before this one that are not approved, and how many entries
    each holds.
    """

    issue: str | None
    path: str | None = None
    state: str | None = None
    topics: dict[str, int] = dataclasses.field(default_factory=dict)
    entries: int = 0
    reason: str | None = None
    held: int = 0
    dropped: int = 0
    merged: int = 0
    added: int = 0
    stays: dict[str, str] = dataclasses.field(default_factory=dict)
    extracted: dict[str, int] = dataclasses.field(default_factory=dict)
    older: dict[str, int] = dataclasses.field(default_factory=dict)
    silent: list[SilentSource] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class SpamScore(Report):
    """SpamAssassin's points, from how many on a mail is spam to it, and the rules that gave or took some."""

    score: float
    required: float
    rules: dict[str, float]


@dataclasses.dataclass(frozen=True, slots=True)
class CheckReport(Report):
    """What `check` found. `size`: edition (`a,b`) -> octets of its HTML; `spam` only when it was asked for."""

    ok: bool
    errors: list[types.Finding]
    warnings: list[types.Finding]
    size: dict[str, int]
    spam: SpamScore | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ApproveReport(Report):
    """What was frozen, by whom and when. `audience`: edition -> how many people get it, if it went out now."""

    issue: str
    state: str
    hash: str
    entries: int
    dropped: int
    audience: dict[str, int]
    warnings: list[types.Finding]
    approved_by: str = ""
    approved_at: dt.datetime | None = None


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
    """A source as the listing shows it.

    `state`: new (never asked), ok, failing, or gone (it answered 410). `moved_to`: where it is asked, since it moved
    for good. `wait_until`: the end of its server's Retry-After. `note`: why its last answer was empty.
    """

    url: str
    topics: list[str]
    last_ok: dt.datetime | None
    last_error: str | None
    failures: int
    next_check: dt.datetime | None
    entries: int
    state: str = "new"
    title: str | None = None
    moved_to: str | None = None
    gone_since: dt.datetime | None = None
    wait_until: dt.datetime | None = None
    note: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SourceCheck(Report):
    """What a source gives just now. `newest` is its newest date, `notes` are troubles that cost no entry."""

    url: str
    ok: bool
    title: str | None
    entries: int
    newest: dt.datetime | None
    moved_to: str | None
    notes: list[str]
    error: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class FoundFeed(Report):
    """A feed of a page; it was asked and read."""

    url: str
    title: str | None
    entries: int


@dataclasses.dataclass(frozen=True, slots=True)
class DiscoverReport(Report):
    """The feeds of a page, and what else was tried: (address, why it is none). `missing`: why there is no such page."""

    feeds: list[FoundFeed]
    tried: list[tuple[str, str]]
    missing: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class OpmlTopic(Report):
    """What an import gave one topic; `folder` is its name in the file, "" for feeds without one."""

    newsletter: str
    topic: str
    title: str
    folder: str
    new: bool
    feeds: int
    added: int


@dataclasses.dataclass(frozen=True, slots=True)
class OpmlReport(Report):
    """What `sources import-opml` did. `doubles`: named more than once, or there already. `fault`: of the whole file."""

    feeds: int
    added: int
    doubles: int
    topics: list[OpmlTopic]
    rejected: list[types.BadRow]
    fault: str | None


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
class Spread(Report):
    """Times of many things, in ms."""

    median: float
    p90: float
    max: float
    total: float


@dataclasses.dataclass(frozen=True, slots=True)
class Peer(Report):
    """Another program at the same work. `ratio`: our time, as a share of its."""

    cpu_ms: Spread
    ratio: float


@dataclasses.dataclass(frozen=True, slots=True)
class Run(Report):
    """What a whole process took, with those that it started. `peak_mb` is None where the system does not tell."""

    seconds: float
    cpu_s: float
    peak_mb: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class PollPeer(Report):
    """Another program at the same sources. `ratio`: our CPU time at the first visit, as a share of its."""

    run: Run
    ratio: float


@dataclasses.dataclass(frozen=True, slots=True)
class PollBench(Report):
    """How many sources were asked: at first, and again when nothing had changed.

    `limit_s` is what the latency alone takes, with one connection a host and as many at once as the settings' default.
    """

    sources: int
    hosts: int
    latency_ms: int
    entries: int
    failed: int
    limit_s: float
    first: Run
    again: Run
    peers: dict[str, PollPeer]


@dataclasses.dataclass(frozen=True, slots=True)
class ImportBench(Report):
    """What `bench import` measured: the first import, and the same again. The counts are the first one's."""

    rows: int
    added: int
    unchanged: int
    suppressed: int
    rows_per_second: int
    first: Run
    again: Run


@dataclasses.dataclass(frozen=True, slots=True)
class FeedBench(Report):
    """What `bench feeds` measured. `refused`: files that are no feed. `polling` is None when it was left out."""

    files: int
    refused: int
    entries: int
    cpu_ms: Spread
    slowest: str
    seconds: float
    peak_mb: float
    peers: dict[str, Peer]
    polling: PollBench | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Line(Report):
    """A line of `doctor`: OK, WARN or FAIL, and what to do."""

    level: str
    what: str
    text: str
