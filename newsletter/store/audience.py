"""People: who is on file, for which topics, and who must not be mailed. The import is in `intake`.

Functions on a session; they never commit. Columns in, values out: no ORM object a person on a path that sees many.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from newsletter import addresses, errors, subscribercolumns, subscriberfile, types
from newsletter.store import intake, tables

Imported = intake.Imported
import_rows = intake.import_rows

PAGE = 1000

_subscriber = tables.metadata.tables["subscriber"]
_subscription = tables.metadata.tables["subscription"]
_consent = tables.metadata.tables["consent"]
_suppression = tables.metadata.tables["suppression"]


@dataclasses.dataclass(frozen=True, slots=True)
class SubscriberView:
    """A person as listed: `topics` are present ones, as `newsletter/topic`; `suppressed` says why, or is None."""

    id: int
    email: str
    name: str
    state: types.SubscriberState
    language: str | None
    topics: tuple[str, ...]
    suppressed: str | None
    since: dt.datetime


# -- looking -------------------------------------------------------------------------------------------------------


def find(session: Session, email: str) -> SubscriberView | None:
    """The person of an address, in any spelling; raises `errors.AddressError`."""
    norm = addresses.parse(email).norm
    return next((_view(*page) for page in _pages(session, [_subscriber.c.email_norm == norm])), None)


def get(session: Session, email: str) -> SubscriberView:
    """As `find`; raises `errors.NotFound` for a stranger."""
    found = find(session, email)
    if found is None:
        raise errors.NotFound(f"{email} is not on file; `newsletter subscribers list` shows who is")
    return found


def listing(
    session: Session,
    *,
    newsletter: str | None = None,
    topic: str | None = None,
    state: types.SubscriberState | None = None,
) -> Iterator[SubscriberView]:
    """Everybody, or who has a topic now, in the order in which they came; erased people only when asked for."""
    for page in _pages(session, _filters(newsletter, topic, state)):
        yield _view(*page)


def export(session: Session, *, state: types.SubscriberState | None = None) -> Iterator[subscriberfile.Row]:
    """Rows for `subscriberfile.write`, the same from which `import_rows` makes these people again.

    Without `state` also the suppressions of strangers: their no moves along.
    """
    for _, row in _pages(session, _filters(None, None, state)):
        yield row
    if state is None:
        yield from _strangers(session)


def is_suppressed(session: Session, address: str, newsletter: str = "") -> str | None:
    """Why an address must not be mailed, at all or by this newsletter; None if it may."""
    norm = addresses.parse(address).norm
    found: str | None = session.execute(
        sa.select(_suppression.c.reason)
        .where(_suppression.c.address == norm, _suppression.c.newsletter.in_({"", newsletter}))
        .order_by(_suppression.c.newsletter)
    ).scalar()
    return found


def _filters(
    newsletter: str | None, topic: str | None, state: types.SubscriberState | None
) -> list[sa.ColumnElement[bool]]:
    erased = types.SubscriberState.ERASED
    filters = [_subscriber.c.state == state.value if state else _subscriber.c.state != erased.value]
    if newsletter or topic:
        has = sa.select(_subscription.c.id).where(
            _subscription.c.subscriber_id == _subscriber.c.id, _subscription.c.until.is_(None)
        )
        has = has.where(_subscription.c.newsletter == newsletter) if newsletter else has
        has = has.where(_subscription.c.topic == topic) if topic else has
        filters.append(has.exists())
    return filters


def _pages(session: Session, filters: Sequence[sa.ColumnElement[bool]]) -> Iterator[tuple[int, subscriberfile.Row]]:
    """(id, the person), page by page by id: memory is flat, and a page costs the same wherever it is."""
    last = 0
    while True:
        people = session.execute(
            sa.select(_subscriber).where(_subscriber.c.id > last, *filters).order_by(_subscriber.c.id).limit(PAGE)
        ).all()
        if not people:
            return
        last = people[-1].id
        topics = intake.subscriptions(session, [person.id for person in people])
        suppressions = intake.suppressions(session, [person.email_norm for person in people])
        for person in people:
            yield person.id, _row(person, topics.get(person.id, {}), suppressions.get(person.email_norm, {}))


def _row(person: sa.Row[Any], topics: dict[intake.Place, bool], suppressions: dict[str, str]) -> subscriberfile.Row:
    return subscriberfile.Row(
        line=0,
        address=addresses.Address(person.email, person.email_norm),
        name=person.name,
        state=types.SubscriberState(person.state),
        language=person.language,
        topics=tuple("/".join(place) for place, current in topics.items() if current),
        left=tuple("/".join(place) for place, current in topics.items() if not current),
        since=person.created_at,
        suppressed=tuple(sorted(suppressions.items())),
    )


def _view(number: int, row: subscriberfile.Row) -> SubscriberView:
    assert row.state
    assert row.since
    return SubscriberView(
        id=number,
        email=row.address.email,
        name=row.name,
        state=row.state,
        language=row.language,
        topics=row.topics or (),
        suppressed=subscribercolumns.suppressed_text(row.suppressed) or None,
        since=row.since,
    )


def _strangers(session: Session) -> Iterator[subscriberfile.Row]:
    """Suppressions of addresses that are not on file; those of erased people are hashes and stay here."""
    on_file = sa.select(_subscriber.c.id).where(_subscriber.c.email_norm == _suppression.c.address)
    found = session.execute(
        sa.select(_suppression.c.address, _suppression.c.newsletter, _suppression.c.reason)
        .where(_suppression.c.address.contains("@"), ~on_file.exists())
        .order_by(_suppression.c.address, _suppression.c.newsletter)
        .execution_options(yield_per=PAGE)
    )
    for norm, group in itertools.groupby(found, key=lambda row: str(row.address)):
        suppressed = tuple((row.newsletter, row.reason) for row in group)
        yield subscriberfile.Row(line=0, address=addresses.Address(norm, norm), suppressed=suppressed)


# -- changing ------------------------------------------------------------------------------------------------------


def add(
    session: Session,
    email: str,
    *,
    name: str = "",
    language: str | None = None,
    places: Sequence[intake.Place],
    state: types.SubscriberState,
    now: dt.datetime,
    how: str,
) -> tuple[SubscriberView, str]:
    """Put one person on file, or add to who is there; returns them and what happened: added, updated or unchanged.

    Raises `errors.AddressError`, and `errors.StateError` for somebody who left or is suppressed: only they themselves
    can come back.
    """
    row = subscriberfile.Row(0, addresses.parse(email), addresses.clean_name(name), language=language)
    result = import_rows(session, [row], places=places, state=state, now=now, how=how)
    if result.suppressed:
        found = find(session, email)
        reason = is_suppressed(session, email)
        why = f"is suppressed ({reason})" if reason else f"is {found.state}" if found else "is suppressed there"
        if found and not reason and found.state not in subscribercolumns.NOES:
            why = "has left that topic or newsletter"
        raise errors.StateError(f"{email} {why}; a no holds until that person says yes again")
    return get(session, email), "added" if result.added else "updated" if result.updated else "unchanged"


def unsubscribe(
    session: Session,
    subscriber_id: int,
    *,
    newsletter: str | None = None,
    topics: Sequence[str] | None = None,
    now: dt.datetime,
    how: str,
    ip: str | None = None,
) -> tuple[str, ...]:
    """End a person's subscriptions, all or those of a newsletter or of topics; returns those that ended now.

    With the last one the person is `unsubscribed`. A second time changes nothing. Raises `errors.NotFound`.
    """
    state = session.execute(sa.select(_subscriber.c.state).where(_subscriber.c.id == subscriber_id)).scalar()
    if state is None:
        raise errors.NotFound(f"there is no subscriber {subscriber_id}")
    present = [
        place for place, current in intake.subscriptions(session, [subscriber_id])[subscriber_id].items() if current
    ]
    ended = [
        (letter, topic)
        for letter, topic in present
        if newsletter in (None, letter) and (topics is None or topic in topics)
    ]
    if ended:
        intake.end(session, [(subscriber_id, place) for place in ended], now)
    proofs = [{"newsletter": letter, "topic": topic} for letter, topic in ended]
    if len(ended) == len(present) and state in (types.SubscriberState.ACTIVE, types.SubscriberState.PENDING):
        session.execute(
            sa.update(_subscriber)
            .where(_subscriber.c.id == subscriber_id)
            .values(state=types.SubscriberState.UNSUBSCRIBED.value, changed_at=now)
        )
        proofs = proofs or [{"newsletter": newsletter or "", "topic": ""}]
    for proof in proofs:
        session.execute(
            sa.insert(_consent).values(
                subscriber_id=subscriber_id,
                what="unsubscribed",
                newsletter=proof["newsletter"] or None,
                topic=proof["topic"] or None,
                at=now,
                how=how,
                ip=ip,
            )
        )
    return tuple("/".join(place) for place in ended)


def suppress(session: Session, address: str, *, newsletter: str = "", reason: str, now: dt.datetime) -> bool:
    """Forbid to mail an address, known or not; False if it was forbidden already. Raises `errors.AddressError`."""
    norm = addresses.parse(address).norm
    if newsletter in intake.suppressions(session, [norm]).get(norm, {}):
        return False
    row = {"address": norm, "newsletter": newsletter, "reason": addresses.clean_name(reason), "since": now}
    intake.insert(session, _suppression, [row])
    return True


def unsuppress(session: Session, address: str, *, newsletter: str = "") -> bool:
    """Take a suppression back; False if there was none. Who left or bounced stays so. Raises `errors.AddressError`."""
    norm = addresses.parse(address).norm
    taken = session.execute(
        sa.delete(_suppression)
        .where(_suppression.c.address == norm, _suppression.c.newsletter == newsletter)
        .returning(_suppression.c.id)
    ).all()
    return bool(taken)
