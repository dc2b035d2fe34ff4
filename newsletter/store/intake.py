"""Imports: rows of a file -> people, without ever undoing a no.

    chunk of rows -> what is on file for them -> one decision a row (`decisions`) -> a few executemany

Also what other modules need to read and write many subscriptions, tags and suppressions at once.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session

from newsletter import subscriberfile, types
from newsletter.store import decisions, tables
from newsletter.store.decisions import ACTIVE, NOES, PENDING, STRENGTH, Outcome, Person

CHUNK = 2000  # rows looked up and written together; well under SQLite's 32,766 variables a statement

Place = decisions.Place
Digests = Callable[[str], Sequence[str]]  # a normalised address -> what is kept of it, by each key
ERASED_AS = "erased:"  # begins a suppression whose address is a keyed hash; no address has a colon before its @

_subscriber = tables.metadata.tables["subscriber"]
_subscription = tables.metadata.tables["subscription"]
_consent = tables.metadata.tables["consent"]
_suppression = tables.metadata.tables["suppression"]
_tag = tables.metadata.tables["tag"]


@dataclasses.dataclass(frozen=True, slots=True)
class Imported:
    """What became of the rows of a file: the counts and `rejected` add up to `rows`.

    `suppressed` rows are of people who must not be mailed: a no on file forbids it, or (`noted` of them) the file says
    so of somebody new. `idle`: how many of those added have no topic, and so get nothing. `unmapped`: values that are
    no topic here, and how many rows had each.
    """

    rows: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    suppressed: int = 0
    rejected: tuple[types.BadRow, ...] = ()
    noted: int = 0
    idle: int = 0
    unmapped: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def __add__(self, other: Imported) -> Imported:
        names = [f.name for f in dataclasses.fields(self) if f.name != "unmapped"]
        totals = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Imported(**totals, unmapped=self.unmapped or other.unmapped)


def import_rows(
    session: Session,
    rows: Iterable[subscriberfile.Row | types.BadRow],
    *,
    places: Sequence[Place] = (),
    state: types.SubscriberState | None = None,
    now: dt.datetime,
    how: str,
    dry_run: bool = False,
    digests: Digests | None = None,
) -> Imported:
    """Take rows in; `how` is the proof's source, such as the file's name.

    `digests` finds those who were erased: they stay away.

    `places` is what everybody gets, or the rows' own topics (`newsletter/topic`) when empty. `state` is active or
    pending; without it the file's own state holds for new people, else pending. `dry_run` does everything and rolls
    the session's transaction back: its numbers are exact.
    """
    totals = dict.fromkeys(Outcome, 0)
    rejected: list[types.BadRow] = []
    todo = iter(rows)
    count = idle = 0
    while chunk := list(itertools.islice(todo, CHUNK)):
        count += len(chunk)
        good = [row for row in chunk if isinstance(row, subscriberfile.Row)]
        rejected.extend(row for row in chunk if isinstance(row, types.BadRow))
        people = _on_file(session, good, digests)
        for row in good:
            wanted = places or tuple(decisions.place_of(topic) for topic in row.topics or ())
            totals[decisions.decide(people[row.address.norm], row, wanted, state)] += 1
        _write(session, people.values(), now=now, how=how)
        idle += sum(person.is_new and person.is_idle for person in people.values())
    if dry_run:
        session.rollback()
    return Imported(
        rows=count,
        added=totals[Outcome.ADDED],
        updated=totals[Outcome.UPDATED],
        unchanged=totals[Outcome.UNCHANGED],
        suppressed=totals[Outcome.SUPPRESSED] + totals[Outcome.NOTED],
        rejected=tuple(rejected),
        noted=totals[Outcome.NOTED],
        idle=idle,
    )


# -- reading and writing ---------------------------------------------------------------------------------------------


def subscriptions(session: Session, ids: Sequence[int]) -> dict[int, dict[Place, bool]]:
    """A subscriber -> place -> whether it is a present one, for each of `ids`."""
    found: dict[int, dict[Place, bool]] = {number: {} for number in ids}
    c = _subscription.c
    chosen = sa.select(c.subscriber_id, c.newsletter, c.topic, c.until.is_(None)).where(c.subscriber_id.in_(ids))
    for number, newsletter, topic, current in session.execute(chosen.order_by(c.newsletter, c.topic)) if ids else ():
        found[number][newsletter, topic] = bool(current)
    return found


def suppressions(session: Session, norms: Sequence[str], digests: Digests | None = None) -> dict[str, dict[str, str]]:
    """An address -> newsletter ("" for all) -> why, for those of `norms` that have any.

    `digests` makes of an address what is kept of it when its person is erased; without it those are not found.
    """
    found: dict[str, dict[str, str]] = {}
    c = _suppression.c
    names = {norm: norm for norm in norms}
    if digests is not None and has_digests(session):
        names |= {ERASED_AS + digest: norm for norm in norms for digest in digests(norm)}
    asked = list(names)
    for start in range(0, len(asked), CHUNK):
        rows = session.execute(
            sa.select(c.address, c.newsletter, c.reason).where(c.address.in_(asked[start : start + CHUNK]))
        )
        for name, newsletter, why in rows:
            found.setdefault(names[name], {})[newsletter] = why
    return found


def has_digests(session: Session) -> bool:
    """Was anybody erased?"""
    c = _suppression.c
    found = sa.select(c.id).where(c.address >= ERASED_AS, c.address < ERASED_AS[:-1] + ";").limit(1)
    return session.execute(found).first() is not None


def begin(session: Session, subscriber_id: int, places: Sequence[Place], now: dt.datetime, how: str) -> None:
    """Let a person have these topics from now on, also those that they had given up."""
    c = _subscription.c
    key = {"subscriber_id": subscriber_id}
    rows = [{**key, "newsletter": letter, "topic": topic, "since": now, "how": how} for letter, topic in places]
    insert(session, _subscription, rows)
    for letter, topic in places:
        session.execute(
            sa.update(_subscription)
            .where(c.subscriber_id == subscriber_id, c.newsletter == letter, c.topic == topic, c.until.is_not(None))
            .values(since=now, until=None, how=how)
        )


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


def tags(session: Session, ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """A subscriber -> tags in their order, for those of `ids` that have any."""
    found: dict[int, list[str]] = {}
    chosen = sa.select(_tag.c.subscriber_id, _tag.c.name).where(_tag.c.subscriber_id.in_(ids))
    for number, name in session.execute(chosen.order_by(_tag.c.subscriber_id, _tag.c.name)) if ids else ():
        found.setdefault(number, []).append(name)
    return {number: tuple(names) for number, names in found.items()}


def _on_file(session: Session, rows: Sequence[subscriberfile.Row], digests: Digests | None) -> dict[str, Person]:
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
    for norm, found in suppressions(session, list(people), digests).items():
        people[norm].suppressed = found
    if any(row.tags for row in rows):
        for number, names in tags(session, list(ids)).items():
            ids[number].tags.update(names)
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
    insert(session, _tag, [{"subscriber_id": p.id, "name": name} for p in people for name in p.tagged])
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
            "paused_until": person.paused_until,
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
    """The noes for the records of consent, and what the person said elsewhere.

    The yeses to our topics are written with the subscriptions; whoever came without any has one record of that.
    """
    if not (person.proofs or person.ended or person.state in NOES or (person.is_new and person.is_idle)):
        return  # nearly everybody
    base = {"subscriber_id": person.id, "how": how, "newsletter": None, "topic": None, "ip": None, "words": None}
    for proof in person.proofs:
        at = proof.at or _since(person, now)
        if at <= now:  # a clock that is ahead proves nothing
            yield {**base, "what": proof.what, "at": at, "ip": proof.ip}
    if person.state and person.state in NOES and (person.state_changed or person.is_new):
        at = min(person.left_at or now, now)
        yield {**base, "what": person.state.value, "at": at, "words": person.left_why}
    elif person.is_new and person.is_idle and not person.ended:
        yield {**base, "what": "imported", "at": now}
    for newsletter, topic in person.ended:
        yield {**base, "what": "unsubscribed", "at": now, "newsletter": newsletter, "topic": topic}
