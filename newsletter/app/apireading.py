"""What programs read through the API: pages of people, their topics, issues, deliveries and suppressions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from sqlmodel import Session

from newsletter import addresses, errors
from newsletter.app.apianswers import Invalid
from newsletter.store import intake, outbox, pages
from newsletter.store.pages import Delivery, Issue, Span, Subscriber, Subscription, Suppression
from newsletter.types import DeliveryState, SubscriberState

if TYPE_CHECKING:
    from newsletter.app import Newsletter

__all__ = [
    "Page", "Span", "Standing", "Topic", "deliveries", "issue", "issues", "subscribers", "subscriptions",
    "suppressions", "topics",
]  # fmt: skip

Row = TypeVar("Row", Subscriber, Subscription, Suppression, Issue, Delivery)


@dataclasses.dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows; `next` is the row after which the next page begins, None on the last."""

    rows: Sequence[Row]
    next: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the settings, by its name `newsletter/topic`."""

    topic: str
    newsletter: str
    title: str


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """An issue, and how many of its deliveries are in which state."""

    issue: Issue
    deliveries: dict[str, int]


def subscribers(
    app: Newsletter, span: Span, *, email: str | None, topic: str | None, state: SubscriberState | None
) -> Page[Subscriber]:
    """People, in the order in which they came; nobody has what is no address, and nobody erased is shown."""
    newsletter, slug = _split(app, topic)
    try:
        norm = addresses.parse(email).norm if email is not None else None
    except errors.AddressError:
        return Page((), None)
    return _page(
        app,
        span,
        lambda session, one_more: pages.subscribers(
            session, one_more, norm=norm, newsletter=newsletter, topic=slug, state=state
        ),
    )


def subscriptions(
    app: Newsletter, span: Span, *, subscriber: int | None, topic: str | None, current: bool | None
) -> Page[Subscription]:
    """Each yes to a topic, also those that are over."""
    newsletter, slug = _split(app, topic)
    return _page(
        app,
        span,
        lambda session, one_more: pages.subscriptions(
            session, one_more, subscriber_id=subscriber, newsletter=newsletter, topic=slug, current=current
        ),
    )


def suppressions(app: Newsletter, span: Span, *, email: str | None, newsletter: str | None) -> Page[Suppression]:
    """Addresses that must not be mailed; one whose person was erased is found by it, but not shown."""
    try:
        norm = addresses.parse(email).norm if email is not None else None
    except errors.AddressError:
        return Page((), None)
    forms = [norm, *(intake.ERASED_AS + each for each in app.digests(norm))] if norm is not None else None
    return _page(
        app,
        span,
        lambda session, one_more: pages.suppressions(session, one_more, addresses=forms, newsletter=newsletter),
    )


def topics(app: Newsletter) -> list[Topic]:
    """The topics that people pick."""
    return [
        Topic(f"{letter.slug}/{topic.slug}", letter.slug, topic.title)
        for letter in app.settings.newsletter
        for topic in letter.topic
    ]


def issues(app: Newsletter, span: Span, *, newsletter: str | None, state: str | None) -> Page[Issue]:
    """Issues, in the order in which they were begun."""
    return _page(
        app, span, lambda session, one_more: pages.issues(session, one_more, newsletter=newsletter, state=state)
    )


def issue(app: Newsletter, newsletter: str, period: str) -> Standing | None:
    """One issue, and how far it is; None where there is none."""
    with app.store.read() as session:
        found = next(iter(pages.issues(session, Span(), newsletter=newsletter, period=period)), None)
        if found is None:
            return None
        return Standing(found, outbox.standing(session, found.id, app.is_dead).counts)


def deliveries(
    app: Newsletter, span: Span, *, issue: str | None, subscriber: int | None, state: DeliveryState | None
) -> Page[Delivery]:
    """Who got what, in the order in which it was planned."""
    newsletter, _, period = (issue or "").partition("/")
    with app.store.read() as session:
        found = pages.issues(session, Span(), newsletter=newsletter, period=period) if issue is not None else []
        if issue is not None and not found:
            return Page((), None)
        number = found[0].id if found else None
        rows, following = pages.deliveries(
            session, span, issue_id=number, subscriber_id=subscriber, state=state, is_dead=app.is_dead
        )
    return Page(rows, following)


def _page(app: Newsletter, span: Span, read: Callable[[Session, Span], list[Row]]) -> Page[Row]:
    """One row more than is wanted tells whether there is another page."""
    with app.store.read() as session:
        rows = read(session, dataclasses.replace(span, limit=span.limit + 1))
    return Page(rows[: span.limit], rows[span.limit - 1].id if len(rows) > span.limit else None)


def _split(app: Newsletter, topic: str | None) -> tuple[str | None, str | None]:
    if topic is None:
        return None, None
    if topic not in {each.topic for each in topics(app)}:
        raise Invalid("topic", "there is no such topic")
    newsletter, _, slug = topic.partition("/")
    return newsletter, slug
