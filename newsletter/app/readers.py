"""What readers do on the public pages, behind the doors: look, ask, say yes, choose, pause, leave.

Looking changes nothing. A token that is not ours is `None`, whoever asks; whether an address is known nobody is told.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import ipaddress
import secrets
import zoneinfo
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import calendar, config, errors, tokens
from newsletter.app import throwaway
from newsletter.store import audience, glance, intake, issues, signups, tables, throttle
from newsletter.store.signups import Proof
from newsletter.tokens import Purpose
from newsletter.types import SubscriberState

if TYPE_CHECKING:
    from newsletter.app import Newsletter

ASKING = (dt.timedelta(minutes=2), 20)  # sign-ups from one network: one in two minutes after twenty at once
HASTY = 3  # a form that was filled in faster than anybody types counts for so many
CHANGING = (dt.timedelta(seconds=2), 60)
LONGEST_PAUSE = dt.timedelta(days=366)
REASONS = ("too_many", "not_for_me", "never_asked", "other")  # why somebody leaves; as good as none is none


@dataclasses.dataclass(frozen=True, slots=True)
class Visit:
    """A request as far as it proves something: where from, and what was shown (`page` is its version)."""

    ip: str
    words: str | None = None
    page: str | None = None
    hasty: bool = False

    def proof(self, how: str = "page") -> Proof:
        """What is written down of it."""
        return Proof(how, self.ip, self.words, self.page)


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """A newsletter that may be had: (slug, title) of its topics, the local time of its next issue, who writes it."""

    slug: str
    title: str
    topics: tuple[tuple[str, str], ...]
    next_issue: dt.datetime
    sender: str
    language: str
    latest: str | None = None  # the address of the last issue that was sent


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A confirmation as its page shows it. `purpose` is subscribe or address; `done`: its button was pressed before."""

    purpose: str
    email: str
    offers: tuple[Offer, ...]  # with the topics that were asked for, no others
    done: bool
    preferences: str | None = None  # the address of the page where they choose, once it is theirs
    language: str | None = None  # the one that was asked in


@dataclasses.dataclass(frozen=True, slots=True)
class Reader:
    """A person as their own pages show them. `test`: nobody, from a test message or a preview."""

    email: str
    name: str
    language: str | None
    state: str
    topics: frozenset[str]  # newsletter/topic
    paused_until: dt.datetime | None
    suppressed: bool
    newsletter: str  # the one whose mail had the link
    preferences: str | None = None  # the address of the page where they choose
    test: bool = False


_Change = Callable[[Session, int], object]
_Who = tuple[tokens.Claims, glance.Glance | None]  # nobody, in a test message


class TooOften(errors.NewsletterError):
    """Somebody asks more often than people do. `after`: seconds until they may again."""

    def __init__(self, after: int) -> None:
        self.after = after
        super().__init__("too many requests came from here; try again in a few minutes")


# -- looking -------------------------------------------------------------------------------------------------------


def offers(app: Newsletter) -> list[Offer]:
    """What may be subscribed to."""
    with app.store.read() as session:
        return [_offer(app, session, letter) for letter in app.settings.newsletter]


def _offer(app: Newsletter, session: Session, letter: config.Newsletter, only: Sequence[str] | None = None) -> Offer:
    last = issues.latest_sent(session, letter.slug)
    return Offer(
        slug=letter.slug,
        title=letter.title,
        topics=tuple((t.slug, t.title) for t in letter.topic if only is None or t.slug in only),
        next_issue=calendar.following(letter.send, letter.timezone, app.clock.now()),
        sender=letter.sender,
        language=letter.language,
        latest=f"{app.settings.site.base_url}/{letter.slug}/{last}" if last else None,
    )


def asked(app: Newsletter, token: str) -> Asked | None:
    """What a confirmation link is about; None for a token that is not ours, or has expired."""
    with app.store.read() as session:
        found = signups.asked(session, [kept(token)], app.clock.now())
        return _asked(app, session, found) if found is not None else None


def _as_it_is(session: Session, found: signups.Asked) -> tuple[tuple[str, str], ...]:
    """The places that were asked for; of a yes long said, those that they still have."""
    if not found.used:
        return found.places
    present = intake.subscriptions(session, [found.subscriber_id])[found.subscriber_id]
    return tuple(place for place in found.places if present.get(place))


def _asked(app: Newsletter, session: Session, found: signups.Asked) -> Asked | None:
    """None also for a yes long said, of which nothing is left: who has left asks anew."""
    places = _as_it_is(session, found)
    if found.purpose == signups.SUBSCRIBE and not places:
        return None
    letters = {letter.slug: letter for letter in app.settings.newsletter}
    wanted: dict[str, list[str]] = {}
    for newsletter, topic in places:
        wanted.setdefault(newsletter, []).append(topic)
    theirs = None
    if found.used:
        person = session.get_one(tables.Subscriber, found.subscriber_id)
        theirs = _own_page(app, found.subscriber_id, person.token_version)
    return Asked(
        purpose=found.purpose,
        email=found.email,
        offers=tuple(_offer(app, session, letters[slug], only) for slug, only in wanted.items() if slug in letters),
        done=found.used,
        preferences=theirs,
        language=found.language,
    )


def _own_page(app: Newsletter, subscriber_id: int, version: int) -> str:
    token = app.signer.sign(Purpose.PREFERENCES, subscriber_id, 0, version=version)
    return f"{app.settings.site.base_url}/preferences/{token}"


def leaving(app: Newsletter, token: str) -> Reader | None:
    """Who the link to leave belongs to; None for a token that is not ours."""
    with app.store.read() as session:
        found = _leaver(app, session, token)
        return _reader(app, session, *found) if found is not None else None


def preferences(app: Newsletter, token: str) -> Reader | None:
    """Who the link to choose belongs to; None for a token that is not ours, or is of an address given up."""
    with app.store.read() as session:
        found = _chooser(app, session, token)
        return _reader(app, session, *found) if found is not None else None


def _leaver(app: Newsletter, session: Session, token: str) -> _Who | None:
    try:
        found = app.signer.read(token, Purpose.UNSUBSCRIBE)
    except errors.TokenError:
        return None
    person = glance.person(session, found.subscriber) if found.subscriber else None
    return None if found.subscriber and person is None else (found, person)


def _chooser(app: Newsletter, session: Session, token: str) -> _Who | None:
    try:
        found, _ = app.signer.peek(token, Purpose.PREFERENCES)
        person = glance.person(session, found.subscriber) if found.subscriber else None
        if found.subscriber and (person is None or person.state == SubscriberState.ERASED):
            return None
        app.signer.verify(token, found, version=person.token_version if person else 0)
    except errors.TokenError:
        return None
    return found, person


def _reader(app: Newsletter, session: Session, found: tokens.Claims, person: glance.Glance | None) -> Reader:
    newsletter = _newsletter_of(app, session, found)
    if person is None:
        return nobody(newsletter)
    paused = person.paused_until if person.paused_until and person.paused_until > app.clock.now() else None
    return Reader(
        email=person.email,
        name=person.name,
        language=person.language,
        state=person.state,
        topics=person.topics,
        paused_until=paused,
        suppressed=person.suppressed,
        newsletter=newsletter,
        preferences=_own_page(app, found.subscriber, person.token_version),
    )


def nobody(newsletter: str) -> Reader:
    """Whom the links of a test message belong to."""
    return Reader("reader@example.org", "", None, "active", frozenset(), None, False, newsletter, test=True)


def _newsletter_of(app: Newsletter, session: Session, found: tokens.Claims) -> str:
    """The newsletter whose mail had the link: by its issue; service mails have none, and speak for the first."""
    known = glance.newsletter_of(session, found.issue) if found.issue else None
    return known or app.settings.newsletter[0].slug


# -- asking --------------------------------------------------------------------------------------------------------


def ask(
    app: Newsletter, email: str, topics: Sequence[str], visit: Visit, *, name: str = "", language: str | None = None
) -> None:
    """Send a confirmation to an address, if it may be mailed; nobody is told whether it was.

    `topics` are `newsletter/topic`. Raises `errors.AddressError`, `errors.UsageError` when no topic of ours is among
    them, `TooOften` when this network asks too often.
    """
    throwaway.check(app, email)
    places = [place for place in (_place(app, topic) for topic in dict.fromkeys(topics)) if place]
    if not places:
        raise errors.UsageError("choose at least one topic")
    with app.store.write() as session:
        _count(app, session, "ask", visit, ASKING)
    token = secrets.token_urlsafe(24)
    with app.store.write() as session:
        signups.ask(
            session,
            email,
            places,
            token=token,
            digest=kept(token),
            proof=visit.proof(),
            name=name,
            language=language,
            digests=app.digests,
            now=app.clock.now(),
        )


def _place(app: Newsletter, topic: str) -> tuple[str, str] | None:
    newsletter, _, slug = topic.partition("/")
    known = {(letter.slug, each.slug) for letter in app.settings.newsletter for each in letter.topic}
    return (newsletter, slug) if (newsletter, slug) in known else None


def confirm(app: Newsletter, token: str, visit: Visit) -> Asked | None:
    """Say yes, once; a second press says how it stands. None for a token that is not ours, or has expired.

    Raises `errors.StateError` when it cannot be done any more: the address is suppressed, or somebody else's.
    """
    with app.store.write() as session:
        _count(app, session, "change", visit, CHANGING)
        found = signups.asked(session, [kept(token)], app.clock.now())
        if found is None:
            return None
        if not signups.confirm(session, found, visit.proof(), app.digests, app.clock.now()):
            raise errors.StateError("this cannot be confirmed any more")
        session.flush()
        return _asked(app, session, dataclasses.replace(found, used=True, usable=False))


# -- by a link of their own ----------------------------------------------------------------------------------------


def leave(app: Newsletter, token: str, visit: Visit, *, how: str = "page", reason: str | None = None) -> Reader | None:
    """Leave the newsletter whose mail had the link; at once, and the same a second time. None: not our token.

    `how` is page or one-click (RFC 8058), `reason` one of `REASONS`. A link of a test message changes nobody.
    """
    reader = leaving(app, token)
    if reader is None or reader.test or (reason not in REASONS and _has_left(reader)):
        return reader
    with app.store.write() as session:
        found, person = _leaver(app, session, token) or (None, None)
        if found is None or person is None:
            return None
        newsletter, now = reader.newsletter, app.clock.now()
        audience.unsubscribe(session, found.subscriber, newsletter=newsletter, now=now, how=how, ip=visit.ip)
        if reason in REASONS:
            proof = dataclasses.replace(visit.proof(how), words=reason)
            signups.prove(session, found.subscriber, "reason", proof, now)
        session.flush()
        return _reader(app, session, found, glance.person(session, found.subscriber))


def _has_left(reader: Reader) -> bool:
    """Would leaving change nothing? Who has nothing at all may be waiting still, to be let go."""
    if any(topic.partition("/")[0] == reader.newsletter for topic in reader.topics):
        return False
    return bool(reader.topics) or reader.state not in (SubscriberState.ACTIVE, SubscriberState.PENDING)


def leave_everything(app: Newsletter, token: str, visit: Visit) -> Reader | None:
    """Leave all newsletters, by a link to choose."""
    return _changed(
        app,
        token,
        visit,
        lambda session, who: audience.unsubscribe(session, who, now=app.clock.now(), how="page", ip=visit.ip),
    )


def choose(
    app: Newsletter, token: str, topics: Sequence[str], visit: Visit, *, name: str, language: str | None
) -> Reader | None:
    """Have these topics (`newsletter/topic`), this name and language from now on. None: not our token."""
    wanted = [place for place in (_place(app, topic) for topic in topics) if place]
    now = app.clock.now()

    def change(session: Session, who: int) -> None:
        for letter in app.settings.newsletter:
            mine = [topic for newsletter, topic in wanted if newsletter == letter.slug]
            signups.pick(session, who, letter.slug, mine, visit.proof(), now)
        signups.describe(session, who, name, language, now)

    return _changed(app, token, visit, change)


def pause(app: Newsletter, token: str, until: dt.date | None, visit: Visit) -> Reader | None:
    """No issue before that day, in the newsletter's zone; None ends a pause. None comes back for a foreign token.

    Raises `errors.UsageError` for a day that has passed; a day over a year ahead becomes that.
    """
    now = app.clock.now()

    def change(session: Session, who: int) -> None:
        signups.pause(session, who, _until(app, until, now), visit.proof(), now)

    return _changed(app, token, visit, change)


def _until(app: Newsletter, day: dt.date | None, now: dt.datetime) -> dt.datetime | None:
    if day is None:
        return None
    zone = app.settings.newsletter[0].timezone
    last = (now + LONGEST_PAUSE).date()
    until = calendar.instant(min(day, last), dt.time(0, 0), zoneinfo.ZoneInfo(zone))
    if until <= now:
        raise errors.UsageError("choose a day that is still to come")
    return until


def ask_address(app: Newsletter, token: str, email: str, visit: Visit) -> Reader | None:
    """Send a confirmation to a person's new address; it is theirs once that is confirmed. None: not our token.

    Raises `errors.AddressError`.
    """
    throwaway.check(app, email)
    fresh = secrets.token_urlsafe(24)

    def change(session: Session, who: int) -> None:
        signups.ask_address(
            session,
            who,
            email,
            _mail_of(app, session, who),
            token=fresh,
            digest=kept(fresh),
            proof=visit.proof(),
            digests=app.digests,
            now=app.clock.now(),
        )

    return _changed(app, token, visit, change)


def _mail_of(app: Newsletter, session: Session, who: int) -> str:
    """In whose name a service mail goes out: that of a newsletter they have, else the first."""
    topics = audience.get_by_id(session, who).topics
    return topics[0].partition("/")[0] if topics else app.settings.newsletter[0].slug


def _changed(app: Newsletter, token: str, visit: Visit, change: _Change) -> Reader | None:
    with app.store.write() as session:
        found, person = _chooser(app, session, token) or (None, None)
        if found is None:
            return None
        _count(app, session, "change", visit, CHANGING)
        if person is not None:
            change(session, found.subscriber)
            session.flush()
            person = glance.person(session, found.subscriber)
        return _reader(app, session, found, person)


# ------------------------------------------------------------------------------------------------------------------


def _count(app: Newsletter, session: Session, what: str, visit: Visit, rate: tuple[dt.timedelta, int]) -> None:
    every, burst = rate
    bucket = app.signer.digest(f"{what} {network(visit.ip)}")
    cost = HASTY if visit.hasty else 1
    for _ in range(cost):
        if not throttle.allow(session, bucket, app.clock.now(), every=every, burst=burst):
            raise TooOften(int(every.total_seconds()) * cost)


def network(ip: str) -> str:
    """Whose allowance a request counts against: an IPv4 address, or the /64 that one household has of IPv6."""
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return ip
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def kept(token: str) -> str:
    """What the database holds of a confirmation's token."""
    return hashlib.sha256(token.encode()).hexdigest()
