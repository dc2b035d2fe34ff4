"""The values that cross rooms: frozen, without behaviour beyond what follows from their fields.

    FoundEntry       an article as a source shows it                (sources -> collect)
    Collected        what one source gave in one visit              (sources, collect -> app)
    Claimed          an entry that an issue has taken                (store -> compose)
    Draft            an issue's Markdown file, taken apart           (issuefile)
    Issue            what is rendered: sections of entries           (compose, issuefile -> render)
    Edition          the issue as one set of topics gets it          (render -> deliver)
    Recipient        who gets a message, and the links in it         (store -> deliver)
    Outcome          what became of one delivery attempt             (deliver -> store)

Standard library only.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum

# -- words that the database and the JSON share ---------------------------------------------------------------


class EntryState(enum.StrEnum):
    """Where an entry stands with a newsletter."""

    WAITING = "waiting"  # for the next issue
    IN_ISSUE = "in_issue"  # claimed by one
    HELD = "held"  # kept out by a rule: too old, or too many
    DROPPED = "dropped"  # cut by an editor, or told so


class IssueState(enum.StrEnum):
    """Where an issue stands."""

    DRAFT = "draft"
    APPROVED = "approved"  # its bytes are frozen
    SENDING = "sending"  # its deliveries are planned
    SENT = "sent"  # every delivery is sent, failed or skipped
    HELD = "held"  # stopped, with a reason
    CANCELLED = "cancelled"


class SubscriberState(enum.StrEnum):
    """Where a person stands. Only `active` people are mailed."""

    PENDING = "pending"  # has not confirmed
    ACTIVE = "active"
    UNSUBSCRIBED = "unsubscribed"
    BOUNCED = "bounced"  # the address does not exist
    COMPLAINED = "complained"
    ERASED = "erased"


class DeliveryState(enum.StrEnum):
    """Where one issue for one subscriber stands."""

    QUEUED = "queued"
    SENDING = "sending"  # committed before the first octet of the body
    SENT = "sent"  # the server said 250
    DEFERRED = "deferred"  # the server said "later"
    FAILED = "failed"  # the server said "never"
    SKIPPED = "skipped"  # left, paused or was suppressed after the plan
    IN_DOUBT = "in_doubt"  # the process died while the message was being handed over


FINAL = frozenset({DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.SKIPPED})

# -- entries ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class FoundEntry:
    """An article as a source shows it.

    `summary` is plain text. `published` is aware UTC, at midnight when `published_is_date`: a date without a time.
    `guid` is what the source itself calls it. `arxiv` (without its version) and `doi` name the work, wherever it is
    shown; `journal` is where it was printed.
    """

    summary: str = ""
    title: str | None = None
    url: str | None = None
    authors: tuple[str, ...] = ()
    published: dt.datetime | None = None
    published_is_date: bool = False
    guid: str | None = None
    categories: tuple[str, ...] = ()
    arxiv: str | None = None
    doi: str | None = None
    journal: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Validators:
    """What a server gave to ask again with (RFC 9110, 8.8); a pair, never mixed from two answers."""

    etag: str | None = None
    last_modified: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Fetched:
    """A source's answer. `body` is None when the server said 304 (nothing new); `fresh_for` is in seconds."""

    url: str
    body: bytes | None
    content_type: str = ""
    validators: Validators = Validators()
    moved_to: str | None = None  # every hop there was permanent (301, 308)
    fresh_for: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Pauses:
    """When a feed says that it is not written (RSS 2.0).

    `ttl` is in minutes; `hours` of the day and `days` (Monday is 0) are GMT's.
    """

    ttl: int | None = None
    hours: tuple[int, ...] = ()
    days: tuple[int, ...] = ()


# What a note on a visit that found nothing begins with: a reason to worry, or none.
EMPTY_EXPECTED = "empty, as expected: "
EMPTY_SUSPICIOUS = "empty, which is suspicious: "


@dataclasses.dataclass(frozen=True, slots=True)
class Collected:
    """What one source gave in one visit. `status`: new, unchanged, failed or skipped; `error` says why it failed.

    A failed visit may have entries: what came before the fault. `title` is what the source calls itself; `retry_after`
    and `wait` (when asking again makes sense) are in seconds; `code` is the HTTP status of a failure; `hash` tells
    whether the next body is the same; `note` is on an empty answer; `pauses` None: the visit did not see them.
    """

    url: str
    status: str
    entries: tuple[FoundEntry, ...] = ()
    title: str | None = None
    validators: Validators = Validators()
    moved_to: str | None = None
    error: str | None = None
    retry_after: float | None = None
    code: int | None = None
    wait: float | None = None
    hash: str | None = None
    pauses: Pauses | None = None
    note: str | None = None
    whole: bool = False  # a body was read, not just a 304

    @property
    def gone(self) -> bool:
        """Did the server say that the source is gone for good (410)?"""
        return self.status == "failed" and self.code == 410


@dataclasses.dataclass(frozen=True, slots=True)
class BadRow:
    """A row of an imported file that was refused: line (from 1), what it held, and why."""

    line: int
    value: str
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Claimed:
    """An entry that an issue has taken: `ref` is its name in a draft, `topics` are in the newsletter's order.

    `source` is the address of the source that showed it first, `source_name` what to call it, `also` are the names of
    others that told the same story. `wanted`: an editor brought it back; no rule and no cap keeps it out.
    """

    ref: str
    title: str | None
    url: str | None
    authors: tuple[str, ...]
    summary: str
    published: dt.datetime | None
    published_is_date: bool
    first_seen: dt.datetime
    topics: tuple[str, ...]
    source_name: str | None = None
    categories: tuple[str, ...] = ()
    source: str | None = None
    score: float = 0.0  # how well it fits the best of its topics
    also: tuple[str, ...] = ()
    wanted: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Words:
    """What an entry's block begins with, as plain text. `who`: how its authors are called, "" for nobody known."""

    text: str
    who: str = ""


# -- the draft and the issue -------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """An entry in a draft. `raw` is the text from its heading to the next one; the rest is what stands in it.

    `ref` is None for an entry written by hand. `byline` is the line under the heading when it looks like one, else
    "". `body` is Markdown. `line` is the heading's, counted from 1.
    """

    raw: str
    ref: str | None
    title: str | None
    url: str | None
    byline: str
    body: str
    line: int


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """A topic in a draft: `raw` is its heading and what stands before its first entry; `text` is that as Markdown."""

    raw: str
    slug: str
    title: str
    text: str
    blocks: tuple[Block, ...]
    line: int


@dataclasses.dataclass(frozen=True, slots=True)
class Draft:
    """An issue's Markdown file, taken apart without loss: the raws in order are the file.

    `raw` is everything before the first section: front matter and introduction.
    """

    raw: str
    newsletter: str
    date: str
    cutoff: dt.datetime
    subject: str
    preheader: str
    number: int | None
    more: tuple[tuple[str, int], ...]  # topic -> how many entries `max_entries` left out
    intro: str
    sections: tuple[Section, ...]
    subjects: tuple[tuple[str, str], ...] = ()  # topic -> the subject of editions that begin with it


@dataclasses.dataclass(frozen=True, slots=True)
class IssueEntry:
    """An entry as it will be read. `topics`: where it may stand; the first is the section it stands in.

    `body` and `byline` as in the draft. `published` puts a guest of another section in its place.
    """

    ref: str | None
    title: str | None
    url: str | None
    byline: str
    body: str
    topics: tuple[str, ...]
    published: dt.datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class IssueSection:
    """A topic of an issue: `text` is free Markdown before its entries; `more` counts what `max_entries` left out."""

    slug: str
    title: str
    text: str
    entries: tuple[IssueEntry, ...]
    more: int = 0
    drafted: bool = True  # False: the draft has no such section; it is there for guests from others


@dataclasses.dataclass(frozen=True, slots=True)
class Issue:
    """Everything that an edition is rendered from; frozen, as JSON, when it is approved.

    `period` is the date, or date-slug for a special issue. `base_url` has no trailing slash.
    """

    newsletter: str
    period: str
    title: str
    language: str
    date: dt.date
    number: int | None
    subject: str
    preheader: str
    intro: str
    sections: tuple[IssueSection, ...]
    base_url: str
    postal_address: str = ""
    sender: str = ""  # From, Reply-To and the rest as they were when it was approved
    reply_to: str | None = None
    bounce_domain: str | None = None
    timezone: str = "UTC"
    direction: str = "auto"
    accent: str = ""  # "": the templates' own; so in issues frozen before there was a choice
    dark_accent: str = ""
    logo: str = ""
    logo_alt: str = ""
    footer: str = ""
    subjects: tuple[tuple[str, str], ...] = ()  # topic -> the subject of editions that begin with it, but lack others

    @property
    def name(self) -> str:
        """`weekly/2026-09-11`."""
        return f"{self.newsletter}/{self.period}"


@dataclasses.dataclass(frozen=True, slots=True)
class Edition:
    """The issue as one set of topics gets it. `html` and `text` hold marks where something personal will stand."""

    topics: tuple[str, ...]
    subject: str
    html: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: `code` is stable, `where` is a file and line, an entry or an edition."""

    code: str
    message: str
    where: str = ""


# -- what is personal ----------------------------------------------------------------------------------------

PERSONAL = ("email", "name", "unsubscribe_url", "preferences_url")
MARK_OPEN, MARK_CLOSE = "\ue000", "\ue001"  # private use: in no text that people write; stripped from what comes in


def mark(field: str) -> str:
    """What stands in a rendered edition where `field` of the recipient will be filled in."""
    return f"{MARK_OPEN}{field}{MARK_CLOSE}"


@dataclasses.dataclass(frozen=True, slots=True)
class Recipient:
    """Who gets a message. `email` as it will stand in RCPT: the domain in ASCII (IDNA)."""

    subscriber_id: int
    email: str
    name: str
    unsubscribe_token: str
    preferences_token: str
    bounce_token: str


# -- deliveries ------------------------------------------------------------------------------------------------


class Verdict(enum.StrEnum):
    """What a server's answer means for this delivery."""

    SENT = "sent"
    LATER = "later"  # 4yz: try again
    NEVER = "never"  # 5yz about the address
    POLICY = "policy"  # 5yz, but not the person's fault
    SERVER = "server"  # no answer, or one that is about the server: try again, and back off the server
    DOUBT = "doubt"  # all was handed over and no answer came: it may have been taken


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attempt. `code` 0: there was no reply. `stage`: connect, mail, rcpt, data or body."""

    verdict: Verdict
    stage: str
    code: int = 0
    enhanced: str = ""
    reply: str = ""
