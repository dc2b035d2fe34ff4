"""What a row of a file makes of a person. Pure: values in, one word and a changed `Person` out.

A no that the database has (a state, a suppression, an ended subscription) beats every yes of a file; a no that the file
has is taken over. A file's yes makes nobody active who waits for confirmation: only the importer's `state` says that.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections.abc import Iterable, Sequence

from newsletter import addresses, subscribercolumns, subscriberfile, types

Place = tuple[str, str]  # (newsletter, topic)
ACTIVE, PENDING = types.SubscriberState.ACTIVE, types.SubscriberState.PENDING
UNSUBSCRIBED = types.SubscriberState.UNSUBSCRIBED
NOES, STRENGTH = subscribercolumns.NOES, subscribercolumns.STRENGTH


class Outcome(enum.StrEnum):
    """What became of a row."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    SUPPRESSED = "suppressed"  # it asks for a yes that a no on file forbids
    NOTED = "noted"  # a stranger, of whom the file itself says no: kept, so that no other file brings them in


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
    tags: set[str] = dataclasses.field(default_factory=set)
    tagged: list[str] = dataclasses.field(default_factory=list)
    paused_until: dt.datetime | None = None
    proofs: list[subscriberfile.Proof] = dataclasses.field(default_factory=list)
    left_at: dt.datetime | None = None
    left_why: str | None = None
    is_new: bool = True
    state_changed: bool = False
    details_changed: bool = False

    @property
    def is_idle(self) -> bool:
        """Does this person get nothing, although nothing is against it?"""
        return self.state in (ACTIVE, PENDING) and not any(self.topics.values())

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

    def tag(self, tags: Iterable[str]) -> bool:
        new = [tag for tag in tags if tag not in self.tags]
        self.tags.update(new)
        self.tagged.extend(new)
        return bool(new)

    def prove(self, row: subscriberfile.Row) -> None:
        self.proofs.extend(proof for proof in row.proofs if proof not in self.proofs)

    def refuses(self, place: Place) -> bool:
        """Has this person given up the topic, or all that they had of its newsletter?"""
        if place in self.topics:
            return not self.topics[place]
        of_it = [current for (newsletter, _), current in self.topics.items() if newsletter == place[0]]
        return bool(of_it) and not any(of_it)


def decide(
    person: Person, row: subscriberfile.Row, places: Sequence[Place], state: types.SubscriberState | None
) -> Outcome:
    """Change `person` by a row; returns what became of it."""
    left = [place_of(topic) for topic in row.left]
    if row.state in NOES:
        return _take_no(person, row, left)
    before, told = set(person.suppressed), {newsletter for newsletter, _ in row.suppressed}
    forbidden = bool(told) and person.forbid(row.suppressed)
    refused = [place for place in places if person.refuses(place) or place[0] in before - told]
    wanted = [place for place in places if place not in refused and place not in left]
    blocked = "" in before or (bool(refused) and not wanted)
    if person.state is None:
        if told and row.state is None and not left:  # nobody's row: a suppression moves along
            return Outcome.NOTED if forbidden else Outcome.SUPPRESSED
        if blocked:
            return Outcome.SUPPRESSED
        person.becomes(_asked(row, state))
        _settle(person, row, wanted, left)
        return Outcome.ADDED
    blocked = blocked or person.state in NOES
    changed = [forbidden, not blocked and _take_yes(person, row, wanted, state), bool(left) and _leave(person, left)]
    if blocked and not ("" in before and "" in told):
        return Outcome.SUPPRESSED
    return Outcome.UPDATED if any(changed) else Outcome.UNCHANGED


def _asked(row: subscriberfile.Row, state: types.SubscriberState | None) -> types.SubscriberState:
    """Nobody is more than the file says, where it says that somebody waits or is suppressed."""
    if row.state is PENDING or row.suppressed:
        return row.state or PENDING
    return state or row.state or PENDING


def _settle(person: Person, row: subscriberfile.Row, wanted: Sequence[Place], left: Sequence[Place]) -> None:
    person.since, person.paused_until = row.since, row.paused_until
    person.describe(row)
    if row.tags:
        person.tag(row.tags)
    if row.proofs:
        person.prove(row)
    person.begin(wanted)
    if left:
        person.end(left)


def _take_no(person: Person, row: subscriberfile.Row, left: Sequence[Place]) -> Outcome:
    said = row.state
    assert said
    new = person.state is None
    changed = False
    if person.state is None or STRENGTH[said] > STRENGTH[person.state]:
        person.becomes(said)
        person.left_at, person.left_why = row.left_at, row.left_why
        changed = True
    if new:
        _settle(person, row, (), left)
    present = [place for place, current in person.topics.items() if current]
    why = list(row.suppressed) + ([("", said.value)] if said is not UNSUBSCRIBED else [])
    changed |= any([person.end([*present, *left]), person.forbid(why)])
    return Outcome.NOTED if new else Outcome.UPDATED if changed else Outcome.UNCHANGED


def _take_yes(
    person: Person, row: subscriberfile.Row, wanted: Sequence[Place], state: types.SubscriberState | None
) -> bool:
    changed = [person.describe(row), person.tag(row.tags), person.begin(wanted)]
    if state is ACTIVE and person.state is PENDING and _asked(row, state) is ACTIVE:
        person.becomes(ACTIVE)
        changed.append(True)
    if changed[2] or len(changed) > 3:  # a new yes: with what the person said where the file is from
        person.prove(row)
    return any(changed)


def _leave(person: Person, places: Sequence[Place]) -> bool:
    """End topics; whose last present one ends is unsubscribed, who had none waits as before."""
    had_some = any(person.topics.values())
    changed = person.end(places)
    if had_some and person.state not in NOES and not any(person.topics.values()):
        person.becomes(UNSUBSCRIBED)
    return changed


def place_of(topic: str) -> Place:
    """(newsletter, topic) of `newsletter/topic`."""
    newsletter, _, slug = topic.partition("/")
    return newsletter, slug
