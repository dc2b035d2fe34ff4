"""What the API takes and gives, as JSON: members, their forms and limits. What is not named here is refused."""

from __future__ import annotations

import datetime as dt
import ipaddress
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

TOPIC, NEWSLETTER = "newsletter-topic", "newsletter-slug"  # formats whose values the OpenAPI document lists
MOST = 500  # rows of a page
ROWS = 2**63 - 1


def _ip(text: str) -> str:
    return str(ipaddress.ip_address(text))


def _text_first(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("a text is wanted (RFC 3339)")  # noqa: TRY004 - what pydantic tells the client
    return value


Topic = Annotated[str, Field(max_length=200, json_schema_extra={"format": TOPIC})]
Email = Annotated[str, Field(min_length=3, max_length=320, json_schema_extra={"format": "email"})]
Language = Annotated[
    str, Field(max_length=35, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", description="BCP 47, like `en-GB`.")
]
Name = Annotated[str, Field(max_length=200, description="One line; what cannot be seen is taken out.")]
Slug = Annotated[str, Field(max_length=100, json_schema_extra={"format": NEWSLETTER})]
Ip = Annotated[
    str,
    Field(max_length=45, json_schema_extra={"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}),
    pydantic.AfterValidator(_ip),
]
Moment = Annotated[pydantic.AwareDatetime, pydantic.BeforeValidator(_text_first)]
Number = Annotated[int, Field(ge=1, le=ROWS)]
State = Literal["pending", "active", "unsubscribed", "bounced", "complained"]
DeliveryState = Literal["queued", "sending", "sent", "deferred", "failed", "skipped", "in_doubt"]
IssueState = Literal["draft", "approved", "sending", "sent", "held", "cancelled"]


class Taken(pydantic.BaseModel):
    """What comes in: a member that is not ours is a mistake."""

    model_config = pydantic.ConfigDict(extra="forbid")


class Given(pydantic.BaseModel):
    """What goes out, from the values of the app."""

    model_config = pydantic.ConfigDict(from_attributes=True)


# -- what comes in -------------------------------------------------------------------------------------------------


class Consent(Taken):
    """A person's yes, as it will be asked for one day: which words they saw, when, from where."""

    text: str = Field(min_length=1, max_length=2000, description="The words beside the box or button.")
    at: Moment = Field(
        description="When, with an offset; 2000 at the earliest, not in the future.", examples=["2026-09-11T09:00:00Z"]
    )
    ip: Ip | None = Field(None, description="Where they came from.")
    page: str | None = Field(None, max_length=500, description="The address, or the version, of the page.")


class NewSubscriber(Taken):
    """A person to be put on file."""

    model_config = pydantic.ConfigDict(
        json_schema_extra={
            "if": {"properties": {"state": {"const": "active"}}, "required": ["state"]},
            "then": {"properties": {"consent": {"type": "object"}}, "required": ["consent"]},
        }
    )
    email: Email = Field(examples=["anna@example.org"])
    topics: list[Topic] | None = Field(
        None, min_length=1, max_length=100, description="May be left out when there is only one."
    )
    name: Name = ""
    language: Language | None = None
    state: Literal["pending", "active"] = Field(
        "pending", description="`active`: the person has said yes, and `consent` proves it; nobody is mailed."
    )
    confirm: pydantic.StrictBool = Field(
        True, description="Mail whoever is pending a link to say yes. No: they wait, unmailed."
    )
    consent: Consent | None = Field(None, description="Needed for `active`.")

    @pydantic.model_validator(mode="after")
    def _is_proved(self) -> NewSubscriber:
        if self.state == "active" and self.consent is None:
            raise ValueError("active needs consent")
        return self


class SubscriberChange(Taken):
    """What is to be changed; a member that is left out stays as it is (RFC 7396)."""

    name: Name = ""
    language: Language | None = None
    topics: list[Topic] = Field(
        [], max_length=100, description="All that they have from now on; none: everything is left, which holds."
    )
    consent: Consent | None = Field(None, description="Needed where a topic is new to them.")


class NewSuppression(Taken):
    """An address that must not be mailed."""

    email: Email = Field(examples=["bo@example.org"])
    newsletter: Slug | None = Field(None, description="By this one only; left out: by none.")
    reason: str = Field("asked by a program", min_length=1, max_length=200)


# -- which rows ----------------------------------------------------------------------------------------------------


class Paged(Taken):
    """A page of a listing."""

    limit: int = Field(100, ge=1, le=MOST, description="Rows of a page.")
    cursor: str | None = None

    @property
    def after(self) -> int:
        """The row that the cursor stands at; 0 without one."""
        return int(self.cursor[1:], 16) if self.cursor else 0


def _cursor(letter: str) -> Any:
    """Each listing has a letter of its own: a cursor of another one is a mistake."""
    about = "`next` of the page before. Opaque; it does not expire."
    return Field(None, pattern=f"^{letter}[0-9a-f]{{1,15}}$", description=about)


def cursor(which: type[Paged], after: int | None) -> str | None:
    """The cursor of the page after a row."""
    letter = which.model_fields["cursor"].metadata[0].pattern[1]
    return f"{letter}{after:x}" if after is not None else None


class WhichSubscribers(Paged):
    """Which people."""

    cursor: str | None = _cursor("p")
    email: str | None = Field(None, max_length=320, description="In any spelling.")
    topic: Topic | None = Field(None, description="Who has this topic now.")
    state: State | None = None


class WhichSubscriptions(Paged):
    """Which yeses."""

    cursor: str | None = _cursor("s")
    subscriber: Number | None = None
    topic: Topic | None = None
    current: bool | None = Field(None, description="`true`: those that hold; `false`: those that are over.")


class WhichSuppressions(Paged):
    """Which suppressions."""

    cursor: str | None = _cursor("x")
    email: str | None = Field(None, max_length=320, description="In any spelling; finds erased people's, too.")
    newsletter: str | None = Field(None, max_length=100)


class WhichIssues(Paged):
    """Which issues."""

    cursor: str | None = _cursor("i")
    newsletter: str | None = Field(None, max_length=100)
    state: IssueState | None = None


class WhichDeliveries(Paged):
    """Which deliveries."""

    cursor: str | None = _cursor("d")
    issue: str | None = Field(None, max_length=200, description="Like `weekly/2026-09-11`.")
    subscriber: Number | None = None
    state: DeliveryState | None = None


class HowToDelete(Taken):
    """How far a person is taken away."""

    erase: bool = Field(False, description="Forget the person, too; a keyed hash of the address stays suppressed.")


# -- what goes out -------------------------------------------------------------------------------------------------


class Subscriber(Given):
    """A person. `suppressed` says why they must not be mailed, or is null; `topics` are those they have now."""

    id: int
    email: str
    name: str
    language: str | None
    state: State
    topics: list[str]
    suppressed: str | None
    paused_until: dt.datetime | None
    since: dt.datetime
    changed: dt.datetime | None


class CreatedSubscriber(Subscriber):
    """A person as they are now. `mailed`: a link to say yes is on its way to them."""

    mailed: bool


class Subscription(Given):
    """A person's yes to a topic; over since `until`."""

    id: int
    subscriber: int
    topic: str
    since: dt.datetime
    until: dt.datetime | None
    how: str


class Suppression(Given):
    """An address that must not be mailed, by `newsletter` or (null) by all. `email` null: the hash of one erased."""

    id: int
    email: str | None
    newsletter: str | None
    reason: str
    since: dt.datetime


class TopicView(Given):
    """What people pick."""

    topic: str
    newsletter: str
    title: str


class Issue(Given):
    """A number of a newsletter."""

    issue: str
    newsletter: str
    period: str
    number: int | None
    state: IssueState
    reason: str | None
    subject: str
    entries: int
    cutoff: dt.datetime
    approved: dt.datetime | None
    sent: dt.datetime | None


class StandingIssue(Issue):
    """A number of a newsletter, and how many of its deliveries are in which state."""

    deliveries: dict[str, int]


class Delivery(Given):
    """One issue for one subscriber. `email` null: they were erased."""

    id: int
    issue: str
    subscriber: int
    email: str | None
    state: DeliveryState
    attempts: int
    code: int | None
    reason: str | None
    message_id: str | None
    at: dt.datetime | None


class Subscribers(Given):
    """A page; `next` is null on the last."""

    subscribers: list[Subscriber]
    next: str | None


class Subscriptions(Given):
    """A page; `next` is null on the last."""

    subscriptions: list[Subscription]
    next: str | None


class Suppressions(Given):
    """A page; `next` is null on the last."""

    suppressions: list[Suppression]
    next: str | None


class Topics(Given):
    """All topics."""

    topics: list[TopicView]


class Issues(Given):
    """A page; `next` is null on the last."""

    issues: list[Issue]
    next: str | None


class Deliveries(Given):
    """A page; `next` is null on the last."""

    deliveries: list[Delivery]
    next: str | None
