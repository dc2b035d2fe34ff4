"""The tables. `UNIQUE` constraints, not code, keep "nothing twice".

Times are plain `dt.datetime` fields: UTC-aware on every database. States are short texts (`newsletter.types`), not
native enums: a native type outlives a downgrade. Indexes are on columns, never on expressions: Alembic skips those on
SQLite.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import JSON, CheckConstraint, Index, MetaData, UniqueConstraint
from sqlmodel import Field, SQLModel

NAMING = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = MetaData(naming_convention=NAMING)


class Table(SQLModel):
    """What all tables share: the naming of constraints, which migrations on SQLite need."""

    metadata = metadata


# -- sources and entries ----------------------------------------------------------------------------------------


class SourceState(Table, table=True):
    """What is known of one source, by the address that the settings give it."""

    __tablename__ = "source_state"
    id: int | None = Field(default=None, primary_key=True)
    url: str = Field(unique=True)
    title: str | None = None
    places: list[str] | None = Field(default=None, sa_type=JSON)  # the topics that its last good visit fed
    # where it is asked: `moved_to` once every hop was permanent on several visits, `moving_to` until then
    moved_to: str | None = None
    moving_to: str | None = None
    moving_since: dt.datetime | None = None
    moving_visits: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    # what it is asked with, and whether that can be believed
    etag: str | None = None
    last_modified: str | None = None
    body_hash: str | None = None
    whole_at: dt.datetime | None = None  # when a body came last, not just a 304
    unchanged_visits: int = Field(default=0, sa_column_kwargs={"server_default": "0"})  # the 304s since then
    # its validators stayed while its content changed
    distrusted: bool = Field(default=False, sa_column_kwargs={"server_default": "0"})
    # when it is asked
    next_check_at: dt.datetime | None = None
    wait_until: dt.datetime | None = None  # a Retry-After: not even `--all` asks before
    pauses: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # as `types.Pauses`
    # how it fares
    last_checked_at: dt.datetime | None = None
    last_ok_at: dt.datetime | None = None
    last_error: str | None = None
    failures: int = 0
    gone_at: dt.datetime | None = None  # it answered 410: only `--all` asks again
    note: str | None = None  # why its last good answer was empty: begins with one of `types.EMPTY_*`


class Host(Table, table=True):
    """A host's turns: one process asks it at a time, with a gap. Seconds since 1970, by the machine's clock."""

    __tablename__ = "host"
    host: str = Field(primary_key=True)
    next_at: float = 0.0  # nobody asks before
    owner: str | None = None  # who asks now
    held_until: float = 0.0  # an owner that is not heard of by then is taken for dead


class Entry(Table, table=True):
    """An article of the world. `key` says which; `ref` (hex) is its short name in drafts, as `e-<ref>`."""

    __tablename__ = "entry"
    id: int | None = Field(default=None, primary_key=True)
    key: str = Field(unique=True)
    ref: str = Field(unique=True)
    title: str | None = None
    url: str | None = None
    authors: list[str] = Field(default_factory=list, sa_type=JSON)
    categories: list[str] = Field(default_factory=list, sa_type=JSON)
    summary: str = ""
    published_at: dt.datetime | None = None
    published_is_date: bool = False
    first_seen_at: dt.datetime  # set once; lowered when the clock had been ahead
    changed_at: dt.datetime | None = None
    # the work that it shows, by whatever key it was first known; a work may have been taken for two before its DOI came
    arxiv: str | None = Field(default=None, index=True)
    doi: str | None = Field(default=None, index=True)
    journal: str | None = None


class EntrySource(Table, table=True):
    """Which sources showed an entry, and what each calls it: a source that changes all of it shows another entry.

    `page` and `said` are the keys of its address and of its words (`works.page`, `works.said`).
    """

    __tablename__ = "entry_source"
    __table_args__ = (
        UniqueConstraint("entry_id", "source_id"),
        Index("ix_entry_source_guid", "source_id", "guid"),
        Index("ix_entry_source_said", "source_id", "said"),
    )
    id: int | None = Field(default=None, primary_key=True)
    entry_id: int = Field(foreign_key="entry.id", ondelete="CASCADE")
    source_id: int = Field(foreign_key="source_state.id")
    guid: str | None = None
    url: str | None = None
    page: str | None = Field(default=None, index=True)
    said: str | None = None
    title: str | None = None
    published_at: dt.datetime | None = None
    published_is_date: bool = Field(default=False, sa_column_kwargs={"server_default": "0"})
    seen_at: dt.datetime


class EntryTopic(Table, table=True):
    """The topics that an entry waits for."""

    __tablename__ = "entry_topic"
    __table_args__ = (
        UniqueConstraint("entry_id", "newsletter", "topic"),
        Index("ix_entry_topic_topic", "newsletter", "topic"),
    )
    id: int | None = Field(default=None, primary_key=True)
    entry_id: int = Field(foreign_key="entry.id", ondelete="CASCADE")
    newsletter: str
    topic: str
    score: float | None = None
    why: str | None = None


class Issue(Table, table=True):
    """One dated number of a newsletter. `period` is its date, with `-slug` for a special one."""

    __tablename__ = "issue"
    __table_args__ = (UniqueConstraint("newsletter", "period"),)
    id: int | None = Field(default=None, primary_key=True)
    newsletter: str
    period: str
    number: int | None = None
    cutoff_at: dt.datetime  # never recomputed
    state: str = "draft"
    reason: str | None = None
    subject: str = ""
    created_at: dt.datetime
    approved_at: dt.datetime | None = None
    approved_by: str | None = None
    planned_at: dt.datetime | None = None
    sent_at: dt.datetime | None = None
    draft_text: str | None = None  # what was approved, to compare with and to show the difference
    frozen: str | None = None  # the parsed issue as JSON
    templates: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # name -> source
    hash: str | None = None


class Claim(Table, table=True):
    """UNIQUE(newsletter, entry): an entry is in one issue of a newsletter, or held, or dropped. No row: it waits."""

    __tablename__ = "claim"
    __table_args__ = (
        UniqueConstraint("newsletter", "entry_id"),
        CheckConstraint("state in ('waiting', 'in_issue', 'held', 'dropped')", name="state"),
    )
    id: int | None = Field(default=None, primary_key=True)
    newsletter: str
    entry_id: int = Field(foreign_key="entry.id")
    issue_id: int | None = Field(default=None, foreign_key="issue.id", index=True)
    state: str
    why: str | None = None
    at: dt.datetime
    block_hash: str | None = None  # of the draft block as we wrote it: an unchanged one may be written anew


class Edition(Table, table=True):
    """The issue as one set of topics gets it, rendered, checked, frozen. `topics` is comma-joined, in their order."""

    __tablename__ = "edition"
    __table_args__ = (UniqueConstraint("issue_id", "topics"),)
    id: int | None = Field(default=None, primary_key=True)
    issue_id: int = Field(foreign_key="issue.id", ondelete="CASCADE")
    topics: str
    subject: str
    html: str
    text: str
    hash: str


# -- people --------------------------------------------------------------------------------------------------------


class Subscriber(Table, table=True):
    """A person: one address, one row. `email` as given, `email_norm` for comparing."""

    __tablename__ = "subscriber"
    __table_args__ = (
        CheckConstraint(
            "state in ('pending', 'active', 'unsubscribed', 'bounced', 'complained', 'erased')", name="state"
        ),
    )
    id: int | None = Field(default=None, primary_key=True)
    email: str
    email_norm: str = Field(unique=True)
    name: str = ""
    language: str | None = None
    state: str = "pending"
    token_version: int = 0
    paused_until: dt.datetime | None = None  # no issue until then, by their own wish
    created_at: dt.datetime
    changed_at: dt.datetime | None = None


class Tag(Table, table=True):
    """What an admin calls people by, to find them again. Nobody is mailed because of it."""

    __tablename__ = "tag"
    __table_args__ = (UniqueConstraint("subscriber_id", "name"), Index("ix_tag_name", "name", "subscriber_id"))
    id: int | None = Field(default=None, primary_key=True)
    subscriber_id: int = Field(foreign_key="subscriber.id", ondelete="CASCADE")
    name: str


class Subscription(Table, table=True):
    """That person's yes to one topic of one newsletter; over when `until` is set."""

    __tablename__ = "subscription"
    __table_args__ = (
        UniqueConstraint("subscriber_id", "newsletter", "topic"),
        Index("ix_subscription_topic", "newsletter", "topic", "subscriber_id"),
    )
    id: int | None = Field(default=None, primary_key=True)
    subscriber_id: int = Field(foreign_key="subscriber.id", ondelete="CASCADE")
    newsletter: str
    topic: str
    since: dt.datetime
    until: dt.datetime | None = None
    how: str


class Consent(Table, table=True):
    """Append-only: who said what, when, from where, in which words."""

    __tablename__ = "consent"
    id: int | None = Field(default=None, primary_key=True)
    subscriber_id: int = Field(foreign_key="subscriber.id", index=True)
    what: str  # subscribed, confirmed, unsubscribed, imported, …
    newsletter: str | None = None
    topic: str | None = None
    at: dt.datetime
    how: str  # cli, import, page, one-click, mail
    ip: str | None = None
    words: str | None = None
    page: str | None = None  # the version of the page that showed the words


class Confirmation(Table, table=True):
    """What waits for the yes of whoever reads an address's mail: a subscription, or a new address for a person.

    Its token is random and kept as a hash. It may be used again until it expires: scanners and back buttons do.
    """

    __tablename__ = "confirmation"
    __table_args__ = (CheckConstraint("purpose in ('subscribe', 'address')", name="purpose"),)
    id: int | None = Field(default=None, primary_key=True)
    subscriber_id: int = Field(foreign_key="subscriber.id", ondelete="CASCADE", index=True)
    purpose: str
    token_hash: str = Field(unique=True)
    wanted: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)  # topics, name, language, email: what they asked
    words: str | None = None
    page: str | None = None
    ip: str | None = None
    asked_at: dt.datetime
    expires_at: dt.datetime
    used_at: dt.datetime | None = None


class ServiceMail(Table, table=True):
    """A mail to one person about their subscription. It waits here until the relay has taken it, or never will.

    `facts` is what its template says; it is emptied once the mail is gone: a confirmation's link is nobody else's.
    """

    __tablename__ = "service_mail"
    __table_args__ = (
        CheckConstraint("state in ('queued', 'sending', 'sent', 'failed')", name="state"),
        Index("ix_service_mail_due", "state", "next_at"),
        Index("ix_service_mail_person", "subscriber_id", "kind", "created_at"),
    )
    id: int | None = Field(default=None, primary_key=True)
    kind: str  # confirm, welcome, goodbye, address
    subscriber_id: int = Field(foreign_key="subscriber.id", ondelete="CASCADE")
    newsletter: str
    facts: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    state: str = "queued"
    attempts: int = 0
    created_at: dt.datetime
    next_at: dt.datetime
    sent_at: dt.datetime | None = None
    reply: str | None = None


class Throttle(Table, table=True):
    """How often something was asked: `free_at` is when the bucket will be empty (GCRA), in seconds since 1970."""

    __tablename__ = "throttle"
    bucket: str = Field(primary_key=True)  # a keyed hash: whose it is cannot be read from it
    free_at: float = Field(index=True)


class ApiKey(Table, table=True):
    """A program's right to ask the API; the token itself is kept nowhere."""

    __tablename__ = "api_key"
    __table_args__ = (CheckConstraint("scope in ('read', 'write')", name="scope"),)
    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    token_hash: str = Field(unique=True)
    scope: str
    created_at: dt.datetime
    used_at: dt.datetime | None = None
    revoked_at: dt.datetime | None = None


class ApiAnswer(Table, table=True):
    """What a request with an Idempotency-Key was answered: asked again, it is answered the same and done once."""

    __tablename__ = "api_answer"
    __table_args__ = (UniqueConstraint("api_key_id", "key"),)
    id: int | None = Field(default=None, primary_key=True)
    api_key_id: int = Field(foreign_key="api_key.id", ondelete="CASCADE")
    key: str
    request_hash: str
    status: int
    body: str
    at: dt.datetime = Field(index=True)


class Suppression(Table, table=True):
    """An address that must not be mailed. It beats everything else.

    `address` is an `email_norm`, or its keyed hash for an erased person. `newsletter` "" means all of them: a NULL
    would not be unique.
    """

    __tablename__ = "suppression"
    __table_args__ = (UniqueConstraint("address", "newsletter"),)
    id: int | None = Field(default=None, primary_key=True)
    address: str
    newsletter: str = ""
    reason: str
    since: dt.datetime


# -- deliveries ----------------------------------------------------------------------------------------------------


class Batch(Table, table=True):
    """A part of an issue's deliveries, leased by one sender at a time. Done when no row of it is queued or sending."""

    __tablename__ = "batch"
    __table_args__ = (
        UniqueConstraint("issue_id", "k"),
        CheckConstraint("state in ('open', 'done')", name="state"),
        Index("ix_batch_state", "issue_id", "state"),
    )
    id: int | None = Field(default=None, primary_key=True)
    issue_id: int = Field(foreign_key="issue.id", ondelete="CASCADE")
    k: int
    state: str = "open"
    lease_owner: str | None = None
    lease_until: dt.datetime | None = None


class Delivery(Table, table=True):
    """UNIQUE(issue, subscriber): one issue for one subscriber. The ledger's row.

    `sending_at` (Date and DKIM's t=), `rcpt_name` and `token_key` are what the message was made from, so that a second
    copy of one in doubt has the same bytes.
    """

    __tablename__ = "delivery"
    __table_args__ = (
        UniqueConstraint("issue_id", "subscriber_id"),
        CheckConstraint(
            "state in ('queued', 'sending', 'sent', 'deferred', 'failed', 'skipped', 'in_doubt')", name="state"
        ),
        Index("ix_delivery_batch", "issue_id", "batch", "state"),
        Index("ix_delivery_state", "issue_id", "state", "next_at"),
        Index("ix_delivery_subscriber", "subscriber_id"),
    )
    id: int | None = Field(default=None, primary_key=True)
    issue_id: int = Field(foreign_key="issue.id")
    subscriber_id: int = Field(foreign_key="subscriber.id")
    edition_id: int = Field(foreign_key="edition.id")
    batch: int | None = None  # `k` of the batch it was dealt into; none while it waits for its time
    state: str = "queued"
    attempts: int = 0
    first_at: dt.datetime | None = None
    sending_at: dt.datetime | None = None
    next_at: dt.datetime | None = None
    done_at: dt.datetime | None = None
    message_id: str | None = None
    rcpt_name: str | None = None
    token_key: int | None = None
    smtp_code: int | None = None
    enhanced_code: str | None = None
    reply: str | None = None  # shortened


class Pace(Table, table=True):
    """When the next message may go to a server or a recipient domain: a rate survives a restart."""

    __tablename__ = "pace"
    bucket: str = Field(primary_key=True)
    next_at: float  # seconds since 1970, by the machine's clock: --now never governs a rate
    slowed_until: float = 0.0


class Feedback(Table, table=True):
    """What came back, for whom, and what it was taken to mean."""

    __tablename__ = "feedback"
    id: int | None = Field(default=None, primary_key=True)
    fingerprint: str = Field(unique=True)  # a replayed report counts once
    subscriber_id: int | None = Field(default=None, foreign_key="subscriber.id", index=True)
    delivery_id: int | None = Field(default=None, foreign_key="delivery.id")
    kind: str
    permanent: bool | None = None
    status: str | None = None
    action: str
    at: dt.datetime
    raw: str | None = None


# -- words ---------------------------------------------------------------------------------------------------------


class ModelAnswer(Table, table=True):
    """What a language model made of a text: asked once for each text, model and wording of the question."""

    __tablename__ = "model_answer"
    __table_args__ = (UniqueConstraint("text_hash", "model", "prompt_hash"),)
    id: int | None = Field(default=None, primary_key=True)
    text_hash: str
    model: str
    prompt_hash: str
    answer: str
    tokens: int = 0
    at: dt.datetime
