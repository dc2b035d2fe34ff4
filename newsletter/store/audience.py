"""People: who is on file, for which topics, and who must not be mailed. The import is in `intake`.

Functions on a session; they never commit. Columns in, values out: no ORM object a person on a path that sees many.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import sqlalchemy as sa
from sqlmodel import Session

from newsletter import addresses, errors, subscribercells, subscribercolumns, subscriberfile, types
from newsletter.store import intake, tables

Digests = intake.Digests
Imported = intake.Imported
import_rows = intake.import_rows

PAGE = 1000

SUBSCRIBER = _subscriber = tables.metadata.tables["subscriber"]
_subscription = tables.metadata.tables["subscription"]
_consent = tables.metadata.tables["consent"]
_suppression = tables.metadata.tables["suppression"]
_tag = tables.metadata.tables["tag"]


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
    tags: tuple[str, ...] = ()
    paused_until: dt.datetime | None = None


class Filters(TypedDict, total=False):
    """Whom to list. All that are given must hold; None is as if it were not given."""

    newsletter: str | None  # has any topic of it now
    topic: str | None  # has it now
    state: types.SubscriberState | None
    since: dt.datetime | None  # came then or later
    source: str | None  # how any of their subscriptions or records of consent came to be, such as a file's name
    match: str | None  # in the address or the name, whatever its case
    tag: str | None


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


def get_by_id(session: Session, number: int) -> SubscriberView:
    """As `get`, by the row's id."""
    found = next((_view(*page) for page in _pages(session, [_subscriber.c.id == number])), None)
    if found is None:
        raise errors.NotFound(f"there is no subscriber {number}")
    return found


def listing(session: Session, **filters: Unpack[Filters]) -> Iterator[SubscriberView]:
    """Everybody, or who fits, in the order in which they came; erased people only when asked for."""
    for page in _pages(session, _conditions(filters), filters.get("match")):
        yield _view(*page)


def export(session: Session, **filters: Unpack[Filters]) -> Iterator[subscriberfile.Row]:
    """Rows for `subscriberfile.write`, the same from which `import_rows` makes these people again.

    Without a filter also the suppressions of strangers: their no moves along.
    """
    for _, row in _pages(session, _conditions(filters), filters.get("match"), proofs=True):
        yield row
    if not any(filters.values()):
        yield from _strangers(session)


def suppressions_of(session: Session, norm: str, digests: Digests | None) -> dict[str, str]:
    """Newsletter ("" for all) -> why an address must not be mailed; `digests` finds one whose person was erased."""
    return intake.suppressions(session, [norm], digests).get(norm, {})


def is_suppressed(session: Session, address: str, newsletter: str = "", digests: Digests | None = None) -> str | None:
    """Why an address must not be mailed, at all or by this newsletter; None if it may."""
    found = suppressions_of(session, addresses.parse(address).norm, digests)
    return found.get("", found.get(newsletter))


def _conditions(wanted: Filters) -> list[sa.ColumnElement[bool]]:
    c, of = _subscriber.c, _subscription.c
    state, since, source = wanted.get("state"), wanted.get("since"), wanted.get("source")
    conditions = [c.state == state.value if state else c.state != types.SubscriberState.ERASED.value]
    held = [of[name] == wanted[name] for name in ("newsletter", "topic") if wanted.get(name)]
    if held:
        conditions.append(sa.exists().where(of.subscriber_id == c.id, of.until.is_(None), *held))
    if since is not None:
        conditions.append(c.created_at >= since)
    if source:
        came = [
            sa.exists().where(table.c.subscriber_id == c.id, sa.func.lower(table.c.how) == source.lower())
            for table in (_subscription, _consent)
        ]
        conditions.append(sa.or_(*came))
    if wanted.get("tag"):
        conditions.append(sa.exists().where(_tag.c.subscriber_id == c.id, _tag.c.name == wanted["tag"]))
    return conditions


def _pages(
    session: Session, conditions: Sequence[sa.ColumnElement[bool]], match: str | None = None, *, proofs: bool = False
) -> Iterator[tuple[int, subscriberfile.Row]]:
    """(id, the person), page by page by id: memory is flat, and a page costs the same wherever it is."""
    last = 0
    wanted = _folded(match) if match else ""
    while True:
        people = session.execute(
            sa.select(_subscriber).where(_subscriber.c.id > last, *conditions).order_by(_subscriber.c.id).limit(PAGE)
        ).all()
        if not people:
            return
        last = people[-1].id
        if wanted:  # here, not in SQL: SQLite folds the case of ASCII only
            people = [p for p in people if wanted in _folded(f"{p.email}\n{p.email_norm}\n{p.name}")]
        ids = [person.id for person in people]
        topics, tags = intake.subscriptions(session, ids), intake.tags(session, ids)
        said = _proofs(session, ids) if proofs else {}
        suppressions = intake.suppressions(session, [person.email_norm for person in people])
        for person in people:
            row = _row(person, topics.get(person.id, {}), suppressions.get(person.email_norm, {}))
            if person.id in tags or person.id in said:
                row = dataclasses.replace(row, tags=tags.get(person.id, ()), proofs=said.get(person.id, ()))
            yield person.id, row


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _proofs(session: Session, ids: Sequence[int]) -> Mapping[int, tuple[subscriberfile.Proof, ...]]:
    """The last time that each person asked, and that they confirmed."""
    found: dict[int, dict[str, subscriberfile.Proof]] = {}
    c = _consent.c
    chosen = sa.select(c.subscriber_id, c.what, c.at, c.ip).where(
        c.subscriber_id.in_(ids), c.what.in_(("subscribed", "confirmed"))
    )
    for number, what, at, ip in session.execute(chosen.order_by(c.at, c.id)) if ids else ():
        found.setdefault(number, {})[what] = subscriberfile.Proof(what, at, ip)
    return {number: tuple(said.values()) for number, said in found.items()}


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
        paused_until=person.paused_until,
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
        suppressed=subscribercells.suppressed_text(row.suppressed) or None,
        since=row.since,
        tags=row.tags,
        paused_until=row.paused_until,
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
    digests: Digests | None = None,
) -> tuple[SubscriberView, str]:
    """Put one person on file, or add to who is there; returns them and what happened: added, updated or unchanged.

    Raises `errors.AddressError`, and `errors.StateError` for somebody who left or is suppressed: only they themselves
    can come back.
    """
    row = subscriberfile.Row(0, addresses.parse(email), addresses.clean_name(name), language=language)
    result = import_rows(session, [row], places=places, state=state, now=now, how=how, digests=digests)
    if result.suppressed:
        found = find(session, email)
        reason = is_suppressed(session, email, digests=digests)
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

    With the last one the person is `unsubscribed`. A second time changes nothing. What they asked for before and never
    confirmed is void: that yes would be older than this no. Raises `errors.NotFound`.
    """
    state = session.execute(sa.select(_subscriber.c.state).where(_subscriber.c.id == subscriber_id)).scalar()
    if state is None:
        raise errors.NotFound(f"there is no subscriber {subscriber_id}")
    asked = tables.metadata.tables["confirmation"]
    session.execute(
        sa.delete(asked).where(
            asked.c.subscriber_id == subscriber_id, asked.c.purpose == "subscribe", asked.c.used_at.is_(None)
        )
    )
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


def refuse(session: Session, subscriber_id: int, places: Sequence[intake.Place], now: dt.datetime, how: str) -> None:
    """Write a no to topics down that a person never had, so that no list begins them later."""
    had = intake.subscriptions(session, [subscriber_id])[subscriber_id]
    base = {"subscriber_id": subscriber_id, "how": how}
    new = [place for place in places if place not in had]
    rows = [{**base, "newsletter": letter, "topic": topic, "since": now, "until": now} for letter, topic in new]
    intake.insert(session, _subscription, rows)
    proofs = [
        {**base, "what": "unsubscribed", "newsletter": letter, "topic": topic, "at": now} for letter, topic in new
    ]
    intake.insert(session, _consent, proofs)


def suppress(
    session: Session,
    address: str,
    *,
    newsletter: str = "",
    reason: str,
    now: dt.datetime,
    digests: Digests | None = None,
) -> bool:
    """Forbid to mail an address, known or not; False if it was forbidden already. Raises `errors.AddressError`."""
    norm = addresses.parse(address).norm
    if newsletter in suppressions_of(session, norm, digests):
        return False
    row = {"address": norm, "newsletter": newsletter, "reason": addresses.clean_name(reason), "since": now}
    intake.insert(session, _suppression, [row])
    return True


def unsuppress(session: Session, address: str, *, newsletter: str = "", digests: Digests | None = None) -> bool:
    """Take a suppression back; False if there was none. Who left or bounced stays so. Raises `errors.AddressError`."""
    norm = addresses.parse(address).norm
    hashed = digests(norm) if digests and intake.has_digests(session) else ()
    names = [norm, *(intake.ERASED_AS + digest for digest in hashed)]
    taken = session.execute(
        sa.delete(_suppression)
        .where(_suppression.c.address.in_(names), _suppression.c.newsletter == newsletter)
        .returning(_suppression.c.id)
    ).all()
    return bool(taken)
