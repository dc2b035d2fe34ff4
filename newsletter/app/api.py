"""What programs change through the API. The rules are the store's: no program undoes what a person has said no to.

    create      an address -> a confirmation by mail, or a yes that the program has the proof of
    update      name, language, topics
    leave       everything; `erase`: be forgotten
    suppress    an address is never mailed; `unsuppress`: taken back

All of what a request asks for is done, or nothing of it.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import addresses, errors
from newsletter.app import apikeys, people, readers, throwaway
from newsletter.app.apianswers import Again, Answer, Invalid, Refused, Why, once
from newsletter.store import audience, decisions, intake, pages, signups
from newsletter.store.apikeys import ApiKeyView
from newsletter.store.pages import Subscriber, Suppression
from newsletter.types import SubscriberState

if TYPE_CHECKING:
    from newsletter.app import Newsletter

ASKING = (dt.timedelta(seconds=1), 600)  # confirmations by one key: a stolen one must not become a mail bomb
AHEAD = dt.timedelta(days=1)  # how far a program's clock may be ahead of ours
THEIRS = ("complained", "erased")  # reasons of a suppression that only the person can take back
EARLIEST = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)  # a program that says 1970 does not know when
ROWS = 2**63  # ids are smaller

Place = tuple[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """A person's yes as a program has it: the words that they saw, when, from where, on which page."""

    text: str
    at: dt.datetime
    ip: str | None = None
    page: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """A subscriber to be made. `topics` None: the only one there is. `confirm`: who is pending is asked by mail."""

    email: str
    topics: Sequence[str] | None = None
    name: str = ""
    language: str | None = None
    active: bool = False
    confirm: bool = True
    said: Said | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """What is to be changed of a subscriber; what is not in `members` stays."""

    members: frozenset[str]
    name: str = ""
    language: str | None = None
    topics: Sequence[str] = ()
    said: Said | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A subscriber as they are now. `added`: they were not on file; `mailed`: a confirmation is on its way."""

    subscriber: Subscriber
    added: bool
    mailed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Forbidden:
    """A suppression; `added`: it is new."""

    suppression: Suppression
    added: bool


Outcome = Made | Forbidden | Refused
Saying = Callable[[Outcome], Answer]


# -- making --------------------------------------------------------------------------------------------------------


def create(app: Newsletter, key: ApiKeyView, wanted: Wanted, again: Again | None, saying: Saying) -> Answer:
    """Make a subscriber, or take one further who is on file; `saying` words the answer.

    A no on file refuses it (`Refused` is an outcome, too, and kept with the key). Raises `errors.AddressError` (also
    for a provider of which this site takes nobody, when that address is to be asked),
    `Invalid`, `KeyReused`, and `readers.TooOften` when this key has asked too many people.
    """
    address = addresses.parse(wanted.email)
    if wanted.confirm and not wanted.active:
        throwaway.check(app, wanted.email)
    places = _places(app, wanted.topics)
    _check_said(app, wanted.said)
    return once(app, key, again, saying, lambda session: _create(app, session, key, wanted, address, places))


def _create(
    app: Newsletter,
    session: Session,
    key: ApiKeyView,
    wanted: Wanted,
    address: addresses.Address,
    places: Sequence[Place],
) -> Made:
    before = pages.subscriber(session, norm=address.norm)
    _refuse(app, session, address, before, places)
    if wanted.active or not wanted.confirm:
        was_active = before is not None and before.state is SubscriberState.ACTIVE
        if was_active and wanted.said is None and _new(before, places):  # they would get it from now on
            raise Refused(Why.UNPROVED, "a topic that is new to this person needs their consent")
        state = SubscriberState.ACTIVE if wanted.active else SubscriberState.PENDING
        after = _add(app, session, key, wanted, places, state)
        if wanted.said is not None:
            _prove(session, key, wanted.said, after.id, places, before, after)
        return Made(after, added=before is None)
    if before is not None and before.state is SubscriberState.ACTIVE and not _new(before, places):
        return Made(before, added=False)
    mailed = _ask(app, session, key, wanted, places)
    asked = pages.subscriber(session, norm=address.norm)
    assert asked is not None
    return Made(asked, added=before is None, mailed=mailed)


def _add(
    app: Newsletter,
    session: Session,
    key: ApiKeyView,
    wanted: Wanted,
    places: Sequence[Place],
    state: SubscriberState,
) -> Subscriber:
    found, _ = audience.add(
        session,
        wanted.email,
        name=wanted.name,
        language=wanted.language,
        places=places,
        state=state,
        now=app.clock.now(),
        how=_how(key),
        digests=app.digests,
    )
    return _read(session, found.id)


def _ask(app: Newsletter, session: Session, key: ApiKeyView, wanted: Wanted, places: Sequence[Place]) -> bool:
    apikeys.count(app, session, app.signer.digest(f"api ask {key.id}"), ASKING)
    token = secrets.token_urlsafe(24)
    said = wanted.said
    return signups.ask(
        session,
        wanted.email,
        places,
        token=token,
        digest=readers.kept(token),
        proof=signups.Proof(_how(key), said.ip, said.text, said.page) if said else signups.Proof(_how(key)),
        name=wanted.name,
        language=wanted.language,
        digests=app.digests,
        now=app.clock.now(),
    )


def _refuse(
    app: Newsletter,
    session: Session,
    address: addresses.Address,
    person: Subscriber | None,
    places: Sequence[Place],
) -> None:
    """Raise `Refused` where anything that is asked for was said no to: all of it is done, or nothing."""
    forbidden = audience.suppressions_of(session, address.norm, app.digests)
    if "" in forbidden or {newsletter for newsletter, _ in places} & forbidden.keys():
        raise Refused(Why.SUPPRESSED, "this address is suppressed and is not mailed")
    if person is None:
        return
    if person.state in decisions.NOES:
        raise Refused(Why.LEFT, f"this person is {person.state.value}; only they themselves can come back")
    known = decisions.Person(address, topics=intake.subscriptions(session, [person.id])[person.id])
    refused = ["/".join(place) for place in places if known.refuses(place)]
    if refused:
        raise Refused(Why.LEFT, f"this person has left {', '.join(refused)}; only they themselves can come back")


def _new(person: Subscriber | None, places: Sequence[Place]) -> list[Place]:
    return [place for place in places if person is None or "/".join(place) not in person.topics]


def _prove(
    session: Session,
    key: ApiKeyView,
    said: Said,
    number: int,
    places: Sequence[Place],
    before: Subscriber | None,
    after: Subscriber,
) -> None:
    """Write down what a program says that a person said: of the topics that are new, or all that wake with them."""
    proof = signups.Proof(_how(key), said.ip, _plain(said.text), _plain(said.page) if said.page else None)
    woken = after.state is SubscriberState.ACTIVE and (before is None or before.state is not SubscriberState.ACTIVE)
    for place in places if woken else _new(before, places):
        signups.prove(session, number, "subscribed", proof, said.at, place)


# -- changing ------------------------------------------------------------------------------------------------------


def update(app: Newsletter, key: ApiKeyView, ref: str, change: Change) -> Subscriber | None:
    """Change a person's name, language or topics; None for a stranger.

    `topics` are those they have from now on: the others are left, which holds. Raises `Invalid`, and `Refused` for a
    new topic without `said`, one that was given up, and any new one for an address that must not be mailed.
    """
    places = _places(app, change.topics) if change.topics else []
    with app.store.write() as session:
        person = _find(session, ref)
        if person is None:
            return None
        if "topics" in change.members:
            _choose(app, session, key, person, places, change.said)
        name = change.name if "name" in change.members else person.name
        language = change.language if "language" in change.members else person.language
        signups.describe(session, person.id, name, language, app.clock.now())
        session.flush()
        return _read(session, person.id)


def _choose(
    app: Newsletter,
    session: Session,
    key: ApiKeyView,
    person: Subscriber,
    places: Sequence[Place],
    said: Said | None,
) -> None:
    new = _new(person, places)
    if new:
        if said is None:
            raise Refused(Why.UNPROVED, "a topic that is new to this person needs their consent")
        _check_said(app, said)
        _refuse(app, session, addresses.parse(person.email), person, new)
        wanted = Wanted(person.email, name=person.name, language=person.language)
        after = _add(app, session, key, wanted, new, SubscriberState.PENDING)
        _prove(session, key, said, person.id, new, person, after)
    over = [topic for topic in person.topics if topic not in {"/".join(place) for place in places}]
    for topic in over:
        newsletter, _, slug = topic.partition("/")
        audience.unsubscribe(
            session, person.id, newsletter=newsletter, topics=[slug], now=app.clock.now(), how=_how(key)
        )


def leave(app: Newsletter, key: ApiKeyView, ref: str) -> bool:
    """End all that a person has; it holds against every import. The same a second time; False for a stranger."""
    with app.store.write() as session:
        person = _find(session, ref)
        if person is not None:
            audience.unsubscribe(session, person.id, now=app.clock.now(), how=_how(key))
        return person is not None


def erase(app: Newsletter, ref: str) -> bool:
    """Forget a person; the keyed hash of their address stays suppressed. False for a stranger."""
    with app.store.read() as session:
        person = _find(session, ref)
    if person is None:
        return False
    try:
        people.erase(app, person.email)
    except errors.NotFound:  # somebody else was faster
        return False
    return True


# -- suppressions --------------------------------------------------------------------------------------------------


def suppress(
    app: Newsletter,
    key: ApiKeyView,
    email: str,
    *,
    newsletter: str | None,
    reason: str,
    again: Again | None,
    saying: Saying,
) -> Answer:
    """Forbid to mail an address, known or not. Raises `errors.AddressError`, `Invalid`, `KeyReused`."""
    norm = addresses.parse(email).norm
    letter = newsletter or ""
    if letter and letter not in {each.slug for each in app.settings.newsletter}:
        raise Invalid("newsletter", "there is no such newsletter")

    def work(session: Session) -> Forbidden:
        new = audience.suppress(
            session, email, newsletter=letter, reason=reason, now=app.clock.now(), digests=app.digests
        )
        kept = [norm, *(intake.ERASED_AS + digest for digest in app.digests(norm))]
        found = pages.suppressions(session, pages.Span(), addresses=kept, newsletter=letter)
        return Forbidden(found[0], added=new)

    return once(app, key, again, saying, work)


def unsuppress(app: Newsletter, number: int) -> bool:
    """Take a suppression back; False where there is none. Who left or bounced stays so.

    Raises `Refused` for one that is a person's own no: they complained, or asked to be forgotten.
    """
    with app.store.write() as session:
        found = pages.suppressions(session, pages.Span(), number=number)
        if found and found[0].reason in THEIRS:
            raise Refused(Why.SUPPRESSED, f"this address {found[0].reason}: no program takes that back")
        return bool(found) and pages.remove_suppression(session, number)


# -- in common -----------------------------------------------------------------------------------------------------


def find(app: Newsletter, ref: str) -> Subscriber | None:
    """One person, by id or address, in any spelling; None for a stranger."""
    with app.store.read() as session:
        return _find(session, ref)


def _find(session: Session, ref: str) -> Subscriber | None:
    if ref.isascii() and ref.isdigit():
        return pages.subscriber(session, number=int(ref)) if len(ref) < 20 and int(ref) < ROWS else None
    try:
        return pages.subscriber(session, norm=addresses.parse(ref).norm)
    except errors.AddressError:
        return None


def _read(session: Session, number: int) -> Subscriber:
    found = pages.subscriber(session, number=number)
    assert found is not None
    return found


def _places(app: Newsletter, topics: Sequence[str] | None) -> list[Place]:
    letters = app.settings.newsletter
    known = {f"{letter.slug}/{each.slug}": (letter.slug, each.slug) for letter in letters for each in letter.topic}
    if topics is None:
        if len(known) > 1:
            raise Invalid("topics", "there are several topics: say which")
        return list(known.values())
    if not all(topic in known for topic in topics):
        raise Invalid("topics", "there is no such topic")
    return [known[topic] for topic in dict.fromkeys(topics)]


def _check_said(app: Newsletter, said: Said | None) -> None:
    if said is not None and not EARLIEST <= said.at <= app.clock.now() + AHEAD:
        raise Invalid("consent/at", "a time since 2000 is wanted, not in the future")


def _how(key: ApiKeyView) -> str:
    return f"api {key.name}"


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
