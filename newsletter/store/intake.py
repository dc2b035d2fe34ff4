"""Imports: rows of a file -> people, without ever undoing a no.

    chunk of rows -> what is on file for them -> one decision a row (pure: `decide`) -> a few executemany

A no that the database has (a state, a suppression, an ended subscription) beats every yes of a file; a no that the file
has is taken over. A file's yes makes nobody active who waits for confirmation: only `state` says that.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session

from newsletter import addresses, subscribercolumns, subscriberfile, types
from newsletter.store import tables

CHUNK = 2000  # rows looked up and written together; well under SQLite's 32,766 variables a statement

Place = tuple[str, str]  # (newsletter, topic)
ACTIVE, PENDING = types.SubscriberState.ACTIVE, types.SubscriberState.PENDING
UNSUBSCRIBED = types.SubscriberState.UNSUBSCRIBED
NOES, STRENGTH = subscribercolumns.NOES, subscribercolumns.STRENGTH

_subscriber = tables.metadata.tables["subscriber"]
_subscription = tables.metadata.tables["subscription"]
_consent = tables.metadata.tables["consent"]
_suppression = tables.metadata.tables["suppression"]


@dataclasses.dataclass(frozen=True, slots=True)
class Imported:
    """What became of the rows of a file: the counts and `rejected` add up to `rows`.

    `suppressed` rows ask for a yes that a no on file forbids.
    """

    rows: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    suppressed: int = 0
    rejected: tuple[types.BadRow, ...] = ()

    def __add__(self, other: Imported) -> Imported:
        return Imported(*(getattr(self, f.name) + getattr(other, f.name) for f in dataclasses.fields(self)))


def import_rows(
    session: Session,
    rows: Iterable[subscriberfile.Row | types.BadRow],
    *,
    places: Sequence[Place] = (),
    state: types.SubscriberState | None = None,
    now: dt.datetime,
    how: str,
    dry_run: bool = False,
) -> Imported:
    """Take rows in; `how` is the proof's source, such as the file's name.

    `places` is what everybody gets, or the rows' own topics (`newsletter/topic`) when empty. `state` is active or
    pending; without it the file's own state holds for new people, else pending. `dry_run` does everything and rolls
    the session's transaction back: its numbers are exact.
    """
    totals: dict[str, int] = dict.fromkeys(("added", "updated", "unchanged", "suppressed"), 0)
    rejected: list[types.BadRow] = []
    todo = iter(rows)
    count = 0
    while chunk := list(itertools.islice(todo, CHUNK)):
        count += len(chunk)
        good = [row for row in chunk if isinstance(row, subscriberfile.Row)]
        rejected.extend(row for row in chunk if isinstance(row, types.BadRow))
        people = _on_file(session, good)
        for row in good:
            wanted = places or tuple(_place(topic) for topic in row.topics or ())
            totals[decide(people[row.address.norm], row, wanted, state)] += 1
        _write(session, people.values(), now=now, how=how)
    if dry_run:
        session.rollback()
    return Imported(count, rejected=tuple(rejected), **totals)


# -- deciding: pure --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(slots=True)
class Person:
    """Somebody as they are on file (`state` is None for a stranger), and what a chunk of rows changes."""

    address: addresses.Address
    id: int | None = None
    state: types.SubscriberState | None = None
    name: str = ""
    language: str | None = None
    topics: dict[Place, bool] = dataclasses.field(default_factory=dict)  # whether it is a present one
    suppressed: dict[str, str] = dataclasses.field(default_factory=dict)  # newsletter or "" -> why
    since: dt.datetime | None = None
    begun: list[Place] = dataclasses.field(default_factory=list)
    ended: list[Place] = dataclasses.field(default_factory=list)
    forbidden: list[str] = dataclasses.field(default_factory=list)
    is_new: bool = True
    state_changed: bool = False
    details_changed: bool = False

    def becomes(self, state: types.SubscriberState) -> None:
        self.state_changed = self.state_changed or not self.is_new
        self.state = state

    def describe(self, row: subscriberfile.Row) -> bool:
        """Take name and language over; a file that does not give them changes nothing."""
        name, language = row.name or self.name, row.language or self.language
        changed = (name, language) != (self.name, self.language)
        self.name, self.language = name, language
        self.details_changed = self.details_changed or (changed and not self.is_new)
        return changed

    def begin(self, places: Iterable[Place]) -> bool:
        new = [place for place in places if place not in self.topics]
        self.topics.update(dict.fromkeys(new, True))
        self.begun.extend(new)
        return bool(new)

    def end(self, places: Iterable[Place]) -> bool:
        over = [place for place in places if self.topics.get(place, True)]
        self.topics.update(dict.fromkeys(over, False))
        self.ended.extend(over)
        return bool(over)

    def forbid(self, suppressed: Iterable[tuple[str, str]]) -> bool:
        new = [(newsletter, why) for newsletter, why in reversed(list(suppressed)) if newsletter not in self.suppressed]
        self.suppressed.update(new)  # of two reasons the first holds
        self.forbidden.extend(newsletter for newsletter in dict(new))
        return bool(new)

    def refuses(self, place: Place) -> bool:
        """Has this person given up the topic, or all that they had of its newsletter?"""
        if place in self.topics:
            return not self.topics[place]
        of_it = [current for (newsletter, _), current in self.topics.items() if newsletter == place[0]]
        return bool(of_it) and not any(of_it)


def decide(
    person: Person, row: subscriberfile.Row, places: Sequence[Place], state: types.SubscriberState | None
) -> str:
    """Change `person` by a row; returns added, updated, unchanged or suppressed."""
    left = [_place(topic) for topic in row.left]
    if row.state in NOES:
        return _take_no(person, row, left)
    before, told = set(person.suppressed), {newsletter for newsletter, _ in row.suppressed}
    forbidden = bool(told) and person.forbid(row.suppressed)
    refused = [place for place in places if person.refuses(place) or place[0] in before - told]
    wanted = [place for place in places if place not in refused and place not in left]
    blocked = "" in before or (bool(refused) and not wanted)
    if person.state is None:
        if blocked or (told and row.state is None and not left):  # nobody's row: a suppression moves along
            return "suppressed"
        person.becomes(_asked(row, state))
        _settle(person, row, wanted, left)
        return "added"
    blocked = blocked or person.state in NOES
    changed = [forbidden, not blocked and _take_yes(person, row, wanted, state), bool(left) and _leave(person, left)]
    if blocked and not ("" in before and "" in told):
        return "suppressed"
    return "updated" if any(changed) else "unchanged"


def _asked(row: subscriberfile.Row, state: types.SubscriberState | None) -> types.SubscriberState:
    """Nobody is more than the file says, where it says that somebody waits or is suppressed."""
    if row.state is PENDING or row.suppressed:
        return row.state or PENDING
    return state or row.state or PENDING


def _settle(person: Person, row: subscriberfile.Row, wanted: Sequence[Place], left: Sequence[Place]) -> None:
    person.since = row.since
    person.describe(row)
    person.begin(wanted)
    if left:
        person.end(left)


def _take_no(person: Person, row: subscriberfile.Row, left: Sequence[Place]) -> str:
    said = row.state
    assert said
    new = person.state is None
    changed = False
    if person.state is None or STRENGTH[said] > STRENGTH[person.state]:
        person.becomes(said)
        changed = True
    if new:
        _settle(person, row, (), left)
    present = [place for place, current in person.topics.items() if current]
    why = list(row.suppressed) + ([("", said.value)] if said is not UNSUBSCRIBED else [])
    changed |= any([person.end([*present, *left]), person.forbid(why)])
    return "added" if new else "updated" if changed else "unchanged"


def _take_yes(
    person: Person, row: subscriberfile.Row, wanted: Sequence[Place], state: types.SubscriberState | None
) -> bool:
    changed = [person.describe(row), person.begin(wanted)]
    if state is ACTIVE and person.state is PENDING and _asked(row, state) is ACTIVE:
        person.becomes(ACTIVE)
        changed.append(True)
    return any(changed)


def _leave(person: Person, places: Sequence[Place]) -> bool:
    """End topics; whose last present one ends is unsubscribed, who had none waits as before."""
    had_some = any(person.topics.values())
    changed = person.end(places)
    if had_some and person.state not in NOES and not any(person.topics.values()):
        person.becomes(UNSUBSCRIBED)
    return changed


def _place(topic: str) -> Place:
    newsletter, _, slug = topic.partition("/")
    return newsletter, slug


# -- reading and writing ---------------------------------------------------------------------------------------------


def subscriptions(session: Session, ids: Sequence[int]) -> dict[int, dict[Place, bool]]:
    """A subscriber -> place -> whether it is a present one, for each of `ids`."""
    found: dict[int, dict[Place, bool]] = {number: {} for number in ids}
    c = _subscription.c
    chosen = sa.select(c.subscriber_id, c.newsletter, c.topic, c.until.is_(None)).where(c.subscriber_id.in_(ids))
    for number, newsletter, topic, current in session.execute(chosen.order_by(c.newsletter, c.topic)) if ids else ():
        found[number][newsletter, topic] = bool(current)
    return found


def suppressions(session: Session, norms: Sequence[str]) -> dict[str, dict[str, str]]:
    """An address -> newsletter ("" for all) -> why, for those of `norms` that have any."""
    found: dict[str, dict[str, str]] = {}
    c = _suppression.c
    for norm, newsletter, why in session.execute(
        sa.select(c.address, c.newsletter, c.reason).where(c.address.in_(norms))
    ):
        found.setdefault(norm, {})[newsletter] = why
    return found


def end(session: Session, places: Sequence[tuple[int, Place]], now: dt.datetime) -> None:
    """End present subscriptions: (subscriber, place)."""
    c = _subscription.c
    session.execute(
        sa.update(_subscription)
        .where(
            c.subscriber_id == sa.bindparam("who"),
            c.newsletter == sa.bindparam("letter"),
            c.topic == sa.bindparam("what"),
            c.until.is_(None),
        )
        .values(until=sa.bindparam("then")),
        [{"who": who, "letter": letter, "what": topic, "then": now} for who, (letter, topic) in places],
    )


def insert(session: Session, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows; one that is there already stays as it is."""
    if rows:
        session.execute(_insert(session, table), list(rows))


def _insert(session: Session, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    if session.get_bind().dialect.name == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    return postgresql.insert(table).on_conflict_do_nothing()


def _on_file(session: Session, rows: Sequence[subscriberfile.Row]) -> dict[str, Person]:
    people = {row.address.norm: Person(row.address) for row in rows}
    c = _subscriber.c
    ids: dict[int, Person] = {}
    for number, norm, name, language, state in session.execute(
        sa.select(c.id, c.email_norm, c.name, c.language, c.state).where(c.email_norm.in_(people))
    ):
        person = ids[number] = people[norm]
        person.id, person.is_new, person.name, person.language = number, False, name, language
        person.state = types.SubscriberState(state)
    for number, topics in subscriptions(session, list(ids)).items():
        ids[number].topics = topics
    for norm, found in suppressions(session, list(people)).items():
        people[norm].suppressed = found
    return people


def _write(session: Session, people: Iterable[Person], *, now: dt.datetime, how: str) -> None:
    """Write what the decisions changed; the states last, each only over a state that it may change."""
    people = list(people)
    _write_new(session, [person for person in people if person.is_new and person.state], now)
    insert(
        session,
        _suppression,
        [
            {"address": person.address.norm, "newsletter": letter, "reason": person.suppressed[letter], "since": now}
            for person in people
            for letter in person.forbidden
        ],
    )
    _write_begun(session, people, now, how)
    over = [(person, place) for person in people for place in person.ended]
    if over:
        insert(session, _subscription, [_ended(person, place, now, how) for person, place in over])
        end(session, [(person.id, place) for person, place in over if person.id], now)
    _write_changes(session, people, now)
    insert(session, _consent, [proof for person in people for proof in _proofs(person, now, how)])


def _write_new(session: Session, new: Sequence[Person], now: dt.datetime) -> None:
    if not new:
        return
    rows = [
        {
            "email": person.address.email,
            "email_norm": person.address.norm,
            "name": person.name,
            "language": person.language,
            "state": person.state.value if person.state else None,
            "token_version": 0,
            "created_at": _since(person, now),
        }
        for person in new
    ]
    insert(session, _subscriber, rows)
    c = _subscriber.c
    by_norm = {person.address.norm: person for person in new}
    for number, norm in session.execute(sa.select(c.id, c.email_norm).where(c.email_norm.in_(by_norm))):
        by_norm[norm].id = number


def _write_changes(session: Session, people: Sequence[Person], now: dt.datetime) -> None:
    c = _subscriber.c
    details = [
        {"who": person.id, "new_name": person.name, "new_language": person.language}
        for person in people
        if person.details_changed
    ]
    if details:
        session.execute(
            sa.update(_subscriber)
            .where(c.id == sa.bindparam("who"))
            .values(name=sa.bindparam("new_name"), language=sa.bindparam("new_language"), changed_at=now),
            details,
        )
    for state in STRENGTH:
        changed = [{"who": person.id} for person in people if person.state_changed and person.state == state]
        if changed:
            # A no that came meanwhile stays: who is made active must still be waiting.
            still = c.state == PENDING.value if state == ACTIVE else c.state != types.SubscriberState.ERASED.value
            session.execute(
                sa.update(_subscriber)
                .where(c.id == sa.bindparam("who"), still)
                .values(state=state.value, changed_at=now),
                changed,
            )


def _write_begun(session: Session, people: Sequence[Person], now: dt.datetime, how: str) -> None:
    """Subscriptions and their proofs, by INSERT .. SELECT: the same for everybody who begins a topic."""
    groups: dict[tuple[Place, bool], list[int]] = {}
    for person in people:
        for place in person.begun:
            groups.setdefault((place, person.is_new), []).append(person.id or 0)
    c = _subscriber.c
    at = sa.literal(now, _consent.c.at.type)
    for ((newsletter, topic), is_new), ids in groups.items():
        since = c.created_at if is_new else at
        chosen = sa.select(c.id, sa.literal(newsletter), sa.literal(topic), since, sa.literal(how))
        columns = ["subscriber_id", "newsletter", "topic", "since", "how"]
        session.execute(_insert(session, _subscription).from_select(columns, chosen.where(c.id.in_(ids))))
        chosen = sa.select(c.id, sa.literal("imported"), sa.literal(newsletter), sa.literal(topic), at, sa.literal(how))
        columns = ["subscriber_id", "what", "newsletter", "topic", "at", "how"]
        session.execute(_insert(session, _consent).from_select(columns, chosen.where(c.id.in_(ids))))


def _ended(person: Person, place: Place, now: dt.datetime, how: str) -> dict[str, Any]:
    return {
        "subscriber_id": person.id,
        "newsletter": place[0],
        "topic": place[1],
        "since": _since(person, now),
        "until": now,
        "how": how,
    }


def _since(person: Person, now: dt.datetime) -> dt.datetime:
    return min(person.since, now) if person.since else now


def _proofs(person: Person, now: dt.datetime, how: str) -> Iterable[dict[str, Any]]:
    """The noes for the records of consent; the yeses are written with the subscriptions."""
    base = {"subscriber_id": person.id, "at": now, "how": how}
    if person.state and person.state in NOES and (person.state_changed or person.is_new):
        yield {**base, "what": person.state.value, "newsletter": None, "topic": None}
    for newsletter, topic in person.ended:
        yield {**base, "what": "unsubscribed", "newsletter": newsletter, "topic": topic}
