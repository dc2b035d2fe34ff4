"""What people decide for themselves: asking, the yes, what they pick, a pause, another address.

    ask       a form names an address -> a confirmation that waits, and one mail about it
    confirm   whoever reads that address's mail says yes -> the subscription begins, with its proof
    pick, describe, pause, ask_address, move      by a link of their own

Functions on a session; they never commit. Nothing here says whether an address is known: the doors answer all alike.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from newsletter import addresses, types
from newsletter.store import audience, intake, servicemail, tables
from newsletter.types import SubscriberState

WORKS_FOR = dt.timedelta(hours=72)  # a confirmation
MAILS_A_DAY = 3  # to one address that somebody typed
DAY = dt.timedelta(days=1)
SUBSCRIBE, ADDRESS = "subscribe", "address"
MOVED = "moved away"  # why an address that somebody gave up is suppressed: old lists hold it still

Place = intake.Place
Digests = Callable[[str], Sequence[str]]


@dataclasses.dataclass(frozen=True, slots=True)
class Proof:
    """Where a person stood when they said something: the address they came from, the words they saw, on which page."""

    how: str
    ip: str | None = None
    words: str | None = None
    page: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A confirmation as it is looked at. `usable`: its button does something still; `used`: it has done it."""

    id: int
    subscriber_id: int
    purpose: str
    email: str
    places: tuple[Place, ...]
    asked_at: dt.datetime
    used: bool
    usable: bool
    language: str | None = None


# -- asking --------------------------------------------------------------------------------------------------------


def ask(
    session: Session,
    email: str,
    places: Sequence[Place],
    *,
    token: str,
    digest: str,
    proof: Proof,
    name: str = "",
    language: str | None = None,
    digests: Digests,
    now: dt.datetime,
) -> bool:
    """Let a subscription wait for its yes, and queue the mail that asks for it; False where nobody is mailed.

    Nobody is mailed whose address is suppressed, or who was asked three times within a day. `digest` is what is kept of
    `token`. Raises `errors.AddressError`.
    """
    address = addresses.parse(email)
    letters = {newsletter for newsletter, _ in places}
    forbidden = _forbidden(session, address.norm, digests)
    if "" in forbidden or letters <= forbidden.keys():
        return False
    person = _person(session, address, now)
    if servicemail.recent(session, person, ("confirm", "address"), now - DAY) >= MAILS_A_DAY:
        return False
    wanted = [place for place in places if place[0] not in forbidden]
    session.add(
        tables.Confirmation(
            subscriber_id=person,
            purpose=SUBSCRIBE,
            token_hash=digest,
            wanted={
                "topics": ["/".join(place) for place in wanted],
                "name": addresses.clean_name(name),
                "language": language,
            },
            words=proof.words,
            page=proof.page,
            ip=proof.ip,
            asked_at=now,
            expires_at=now + WORKS_FOR,
        )
    )
    facts = {"token": token, "topics": ["/".join(place) for place in wanted], "language": language}
    servicemail.queue(session, "confirm", person, wanted[0][0], facts, now)
    return True


def _forbidden(session: Session, norm: str, digests: Digests) -> dict[str, str]:
    """As `audience.suppressions_of`, for who asks themselves: they may come back to an address that they gave up."""
    found = audience.suppressions_of(session, norm, digests)
    return {newsletter: why for newsletter, why in found.items() if why != MOVED}


def _person(session: Session, address: addresses.Address, now: dt.datetime) -> int:
    """The subscriber of an address; a stranger is put on file, pending, without any topic."""
    row = select(tables.Subscriber.id).where(tables.Subscriber.email_norm == address.norm)
    found = session.exec(row).first()
    if found is None:
        values = {"email": address.email, "email_norm": address.norm, "name": "", "state": "pending"}
        intake.insert(session, audience.SUBSCRIBER, [{**values, "token_version": 0, "created_at": now}])
        found = session.exec(row).one()
    assert found is not None
    return found


def ask_address(
    session: Session,
    subscriber_id: int,
    email: str,
    newsletter: str,
    *,
    token: str,
    digest: str,
    proof: Proof,
    digests: Digests,
    now: dt.datetime,
) -> bool:
    """Let a person's new address wait for the yes of whoever reads its mail; False where nobody is mailed.

    That an address is somebody else's already is told to nobody: the page says the same.
    """
    address = addresses.parse(email)
    if _forbidden(session, address.norm, digests):
        return False
    if servicemail.recent(session, subscriber_id, ("confirm", "address"), now - DAY) >= MAILS_A_DAY:
        return False
    session.add(
        tables.Confirmation(
            subscriber_id=subscriber_id,
            purpose=ADDRESS,
            token_hash=digest,
            wanted={"email": address.email},
            words=proof.words,
            page=proof.page,
            ip=proof.ip,
            asked_at=now,
            expires_at=now + WORKS_FOR,
        )
    )
    servicemail.queue(session, "address", subscriber_id, newsletter, {"token": token, "email": address.email}, now)
    return True


# -- the yes -------------------------------------------------------------------------------------------------------


def asked(session: Session, hashes: Sequence[str], now: dt.datetime) -> Asked | None:
    """The confirmation of a token, by what is kept of it; None when there is none, or it has expired unused."""
    found = session.exec(
        select(tables.Confirmation, tables.Subscriber.email, tables.Subscriber.state)
        .join(tables.Subscriber, col(tables.Subscriber.id) == tables.Confirmation.subscriber_id)
        .where(col(tables.Confirmation.token_hash).in_(hashes))
    ).first()
    if found is None or found[2] == SubscriberState.ERASED:
        return None
    row, email, _ = found
    used = row.used_at is not None
    if not used and row.expires_at < now:
        return None
    return Asked(
        id=row.id or 0,
        subscriber_id=row.subscriber_id,
        purpose=row.purpose,
        email=row.wanted.get("email") or email,
        places=tuple(_place(topic) for topic in row.wanted.get("topics", ())),
        asked_at=row.asked_at,
        used=used,
        usable=not used,
        language=row.wanted.get("language"),
    )


def confirm(session: Session, found: Asked, proof: Proof, digests: Digests, now: dt.datetime) -> bool:
    """Carry out what was asked for, once: a second press changes nothing. False when it cannot be done any more.

    It cannot when the address was suppressed meanwhile, or when a new address has become somebody else's.
    """
    row = session.get_one(tables.Confirmation, found.id)
    if row.used_at is not None:
        return True
    if row.purpose == ADDRESS:
        done = _take_address(session, row, proof, digests, now)
    else:
        done = _take_topics(session, row, found.places, proof, digests, now)
    if done:
        row.used_at = now
        session.add(row)
    return done


def _take_topics(
    session: Session,
    row: tables.Confirmation,
    wanted: Sequence[Place],
    proof: Proof,
    digests: Digests,
    now: dt.datetime,
) -> bool:
    person = session.get_one(tables.Subscriber, row.subscriber_id)
    forbidden = _forbidden(session, person.email_norm, digests)
    places = [place for place in wanted if place[0] not in forbidden]
    if "" in forbidden or not places:
        return False
    was = Proof(proof.how, row.ip, row.words, row.page)
    for place in places:
        prove(session, person.id or 0, "subscribed", was, row.asked_at, place)
        prove(session, person.id or 0, "confirmed", proof, now, place)
    if person.state == SubscriberState.PENDING:  # what else an import left waiting has no yes still
        waiting = intake.subscriptions(session, [person.id or 0])[person.id or 0]
        left = [(person.id or 0, place) for place, current in waiting.items() if current and place not in places]
        if left:
            intake.end(session, left, now)
    intake.begin(session, person.id or 0, places, now, proof.how)
    _let_back(session, person.email_norm)
    person.state, person.changed_at = SubscriberState.ACTIVE.value, now
    person.name = row.wanted.get("name") or person.name
    person.language = row.wanted.get("language") or person.language
    session.add(person)
    topics = ["/".join(place) for place in places]
    servicemail.queue(session, "welcome", person.id or 0, places[0][0], {"topics": topics}, now)
    return True


def _take_address(session: Session, row: tables.Confirmation, proof: Proof, digests: Digests, now: dt.datetime) -> bool:
    address = addresses.parse(row.wanted["email"])
    if _forbidden(session, address.norm, digests):
        return False
    if not move(session, row.subscriber_id, address, proof, now):
        return False
    person = session.get_one(tables.Subscriber, row.subscriber_id)
    if person.state == SubscriberState.BOUNCED:  # at the old address; this one is read by whoever said yes
        person.state = SubscriberState.ACTIVE.value
    return True


# -- by a link of their own ----------------------------------------------------------------------------------------


def pick(
    session: Session, subscriber_id: int, newsletter: str, topics: Sequence[str], proof: Proof, now: dt.datetime
) -> tuple[str, ...]:
    """Have exactly these topics of a newsletter from now on; returns those that are new.

    Without any of them the newsletter is left. Who had left comes back by this: it is their own yes, by a link of
    theirs. It has no force against a suppression, and no effect on somebody erased.
    """
    present = intake.subscriptions(session, [subscriber_id])[subscriber_id]
    has = [topic for (letter, topic), current in present.items() if letter == newsletter and current]
    over = [topic for topic in has if topic not in topics]
    new = [topic for topic in topics if topic not in has]
    person = session.get_one(tables.Subscriber, subscriber_id)
    if audience.suppressions_of(session, person.email_norm, None).keys() & {"", newsletter}:
        new = []
    if new and person.state in (SubscriberState.ACTIVE, SubscriberState.UNSUBSCRIBED):
        places = [(newsletter, topic) for topic in new]
        for place in places:
            prove(session, subscriber_id, "subscribed", proof, now, place)
        intake.begin(session, subscriber_id, places, now, proof.how)
        person.state, person.changed_at = SubscriberState.ACTIVE.value, now
        session.add(person)
        session.flush()
    if over:
        audience.unsubscribe(
            session, subscriber_id, newsletter=newsletter, topics=over, now=now, how=proof.how, ip=proof.ip
        )
    return tuple(new)


def describe(session: Session, subscriber_id: int, name: str, language: str | None, now: dt.datetime) -> bool:
    """Take a name and a language over; False when that is what they were."""
    person = session.get_one(tables.Subscriber, subscriber_id)
    name = addresses.clean_name(name)
    if (person.name, person.language) == (name, language):
        return False
    person.name, person.language, person.changed_at = name, language, now
    session.add(person)
    return True


def pause(session: Session, subscriber_id: int, until: dt.datetime | None, proof: Proof, now: dt.datetime) -> bool:
    """No issue before `until`; None ends a pause. False when that is how it was."""
    person = session.get_one(tables.Subscriber, subscriber_id)
    if person.paused_until == until:
        return False
    person.paused_until, person.changed_at = until, now
    session.add(person)
    words = f"until {until.isoformat()}" if until else None
    what = "paused" if until else "resumed"
    prove(session, subscriber_id, what, dataclasses.replace(proof, words=words), now)
    return True


def move(session: Session, subscriber_id: int, address: addresses.Address, proof: Proof, now: dt.datetime) -> bool:
    """Give a person another address; False when it is somebody else's. Links to the old one's preferences end.

    Suppressions are of an address and stay with the old one, which is suppressed from now on: an old list would make a
    second person of it, whom no no of theirs reaches.
    """
    person = session.get_one(tables.Subscriber, subscriber_id)
    taken = session.exec(select(tables.Subscriber.id).where(tables.Subscriber.email_norm == address.norm)).first()
    if taken not in (None, subscriber_id) or person.state == SubscriberState.ERASED:
        return False
    if person.email_norm != address.norm:
        person.token_version += 1
    old, old_norm = person.email, person.email_norm
    _give_up(session, old_norm, address.norm, now)
    person.email, person.email_norm, person.changed_at = address.email, address.norm, now
    session.add(person)
    prove(session, subscriber_id, "moved", dataclasses.replace(proof, words=f"from {old} to {address.email}"), now)
    return True


def _let_back(session: Session, norm: str) -> None:
    table = tables.metadata.tables["suppression"]
    session.execute(sa.delete(table).where(table.c.address == norm, table.c.reason == MOVED))


def _give_up(session: Session, old: str, new: str, now: dt.datetime) -> None:
    """Suppress the address that is left, and let the one in that they come back to."""
    _let_back(session, new)
    if old != new and "" not in audience.suppressions_of(session, old, None):
        session.add(tables.Suppression(address=old, reason=MOVED, since=now))


def prove(
    session: Session, subscriber_id: int, what: str, proof: Proof, at: dt.datetime, place: Place | None = None
) -> None:
    """Write down that somebody said something."""
    session.add(
        tables.Consent(
            subscriber_id=subscriber_id,
            what=what,
            newsletter=place[0] if place else None,
            topic=place[1] if place else None,
            at=at,
            how=proof.how,
            ip=proof.ip,
            words=proof.words,
            page=proof.page,
        )
    )


def forget_expired(session: Session, now: dt.datetime) -> int:
    """Drop confirmations that nobody answered, and the strangers that they put on file. Returns how many people."""
    gone = now - WORKS_FOR
    table: Any = tables.metadata.tables["confirmation"]
    session.execute(sa.delete(table).where(table.c.used_at.is_(None), table.c.expires_at < gone))
    c = audience.SUBSCRIBER.c
    known: Mapping[str, sa.Table] = tables.metadata.tables
    kept = [
        ~sa.exists().where(known[name].c.subscriber_id == c.id)
        for name in ("subscription", "consent", "confirmation", "delivery", "feedback", "tag")
    ]
    waiting = c.state == types.SubscriberState.PENDING.value
    done = session.execute(sa.delete(audience.SUBSCRIBER).where(waiting, c.created_at < gone, *kept))
    return int(done.rowcount)  # type: ignore[attr-defined]  # a CursorResult


def _place(topic: str) -> Place:
    newsletter, _, slug = topic.partition("/")
    return newsletter, slug
