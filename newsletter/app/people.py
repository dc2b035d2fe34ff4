"""What the doors ask about people: names are resolved, and one person or many are changed. The rules are the store's.

A verb that is for one address or for many is an `Act`; `one` does it, `many` does it for each, and goes on past those
whom it does not fit. The import of files is in `importing`.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, Unpack

from sqlmodel import Session

from newsletter import addresses, errors, subscribercells, subscriberfile, types
from newsletter.app import importing
from newsletter.store import audience, forgetting, intake, signups, story, tags

if TYPE_CHECKING:
    from newsletter.app import Newsletter

import_file = importing.import_file
as_json = story.as_json
SubscriberView = audience.SubscriberView
Record = story.Record
Filters = audience.Filters
Facts = dict[str, Any]
Act = Callable[[Session, str], Facts]  # raises `errors.NewsletterError` for an address that it does not fit

AT_ONCE = 500  # addresses a transaction: a running send waits no longer
_ADDRESS = re.compile(rb"[^\s,;|\"'<>():]+@[^\s,;|\"'<>()]+")


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """What was done: facts about each address, and those whom it did not fit."""

    results: list[Facts]
    refused: list[types.BadRow]


# -- looking -------------------------------------------------------------------------------------------------------


def show(app: Newsletter, email: str) -> SubscriberView:
    """One person, by any spelling of the address; raises `errors.NotFound`."""
    with app.store.read() as session:
        return audience.get(session, email)


def show_story(app: Newsletter, email: str) -> tuple[SubscriberView, Record]:
    """One person and all their records; raises `errors.NotFound`."""
    with app.store.read() as session:
        person = audience.get(session, email)
        return person, story.story(session, person.id)


def everything_about(app: Newsletter, email: str) -> tuple[SubscriberView | None, Record]:
    """As `show_story`, also of an address that is only suppressed: for the person themselves (GDPR, art. 15 and 20)."""
    with app.store.read() as session:
        norm = addresses.parse(email).norm
        person = audience.find(session, email)
        if person is not None:
            return person, story.story(session, person.id)
        found = audience.suppressions_of(session, norm, app.digests)
        if not found:
            raise errors.NotFound(f"nothing is stored about {email}")
        kept = story.suppressions(session, norm)
        return None, {"suppression": kept or [{"newsletter": n or None, "reason": why} for n, why in found.items()]}


def listing(app: Newsletter, **filters: Unpack[Filters]) -> Iterator[SubscriberView]:
    """Everybody, or whom the filters let through."""
    wanted = _resolved(app, filters)
    with app.store.read() as session:
        yield from audience.listing(session, **wanted)


def exported(app: Newsletter, **filters: Unpack[Filters]) -> Iterator[subscriberfile.Row]:
    """As `listing`, with what an import takes back; without filters also the suppressions of strangers."""
    wanted = _resolved(app, filters)
    with app.store.read() as session:
        yield from audience.export(session, **wanted)


def export(app: Newsletter, stream: TextIO, **filters: Unpack[Filters]) -> int:
    """Write `exported` as CSV that `import_file` takes back; returns how many rows."""
    return subscriberfile.write(exported(app, **filters), stream)


def record(row: subscriberfile.Row) -> Facts:
    """A row as JSON has it: the columns of the CSV, lists as lists."""
    said = {proof.what: proof for proof in row.proofs}
    nothing = subscriberfile.Proof("", None)
    asked, confirmed = said.get("subscribed", nothing), said.get("confirmed", nothing)
    facts = {
        "email": row.address.email,
        "name": row.name,
        "state": row.state,
        "language": row.language,
        "topics": row.topics or (),
        "left": row.left,
        "suppressed": subscribercells.suppressed_text(row.suppressed) or None,
        "since": row.since,
        "tags": row.tags,
        "paused_until": row.paused_until,
        "optin_time": asked.at,
        "optin_ip": asked.ip,
        "confirm_time": confirmed.at,
        "confirm_ip": confirmed.ip,
    }
    return {name: as_json(value) for name, value in facts.items()}


def _resolved(app: Newsletter, filters: Filters) -> Filters:
    newsletter, topic = filters.get("newsletter"), filters.get("topic")
    if newsletter is not None:
        app.settings.newsletter_of(newsletter)
    if topic is None:
        return filters
    places = app.settings.topic_places(topic, newsletter)
    letter = places[0][0].slug if len(places) == 1 else newsletter
    return {**filters, "topic": places[0][1].slug, "newsletter": letter}


# -- one or many ---------------------------------------------------------------------------------------------------


def one(app: Newsletter, email: str, act: Act, *, dry_run: bool = False) -> Facts:
    """Do it for one address; what it raises is raised."""
    with app.store.write() as session:
        facts = act(session, email)
        if dry_run:
            session.rollback()
    return facts


def many(
    app: Newsletter, emails: Iterable[str | types.BadRow], act: Act, *, dry_run: bool = False, erases: bool = False
) -> Done:
    """Do it for each address, once; those whom it does not fit are named, the others are done."""
    done = Done([], [])
    todo = _each_once(emails)
    while chunk := list(itertools.islice(todo, AT_ONCE)):
        with app.store.erase() if erases and not dry_run else app.store.write() as session:
            for email in chunk:
                if isinstance(email, types.BadRow):
                    done.refused.append(email)
                    continue
                try:
                    with session.begin_nested():
                        done.results.append(act(session, email))
                except errors.NewsletterError as error:
                    done.refused.append(types.BadRow(0, email, str(error)))
            if dry_run:
                session.rollback()
    return done


def _each_once(emails: Iterable[str | types.BadRow]) -> Iterator[str | types.BadRow]:
    seen: set[str | None] = set()
    for email in emails:
        try:
            norm = addresses.parse(email).norm if isinstance(email, str) else None
        except errors.AddressError as error:
            yield types.BadRow(0, error.value[:200], str(error))
            continue
        if norm is None or norm not in seen:
            seen.add(norm)
            yield email


def addresses_in(path: str) -> Iterator[str | types.BadRow]:
    """The addresses of a file or of stdin ("-"): a line each, or a CSV's column. Raises `errors.UsageError`."""
    with importing.opened(path) as stream:
        for row in subscriberfile.read(stream):
            yield row if isinstance(row, types.BadRow) else row.address.email


# -- changing ------------------------------------------------------------------------------------------------------


def add(
    app: Newsletter,
    email: str,
    *,
    name: str = "",
    language: str | None = None,
    newsletter: str | None = None,
    topics: Sequence[str] = (),
    state: types.SubscriberState = types.SubscriberState.PENDING,
    dry_run: bool = False,
) -> tuple[SubscriberView, str]:
    """Put one person on file; returns them and "added", "updated" or "unchanged".

    Raises `errors.AddressError`, and `errors.StateError` for somebody who left or is suppressed.
    """
    places = importing.named_places(app, topics, newsletter)
    if places is None:
        raise errors.UsageError(importing.say_topic(app, newsletter))
    with app.store.write() as session:
        person, what = audience.add(
            session,
            email,
            name=name,
            language=language,
            places=places,
            state=state,
            now=app.clock.now(),
            how="cli",
            digests=app.digests,
        )
        if dry_run:
            session.rollback()
    return person, what


def unsubscribing(app: Newsletter, newsletter: str | None = None, topics: Sequence[str] = ()) -> Act:
    """End subscriptions: all, a newsletter's, or some topics; the act raises `errors.NotFound` for a stranger."""
    letter = app.settings.newsletter_of(newsletter) if newsletter is not None else None
    places = [app.settings.topic_place(name, newsletter) for name in topics]
    meant = places or [(letter, topic) for topic in letter.topic] if letter else places
    now = app.clock.now()

    def act(session: Session, email: str) -> Facts:
        who = audience.get(session, email).id
        ended: list[str] = []
        if not topics:
            ended += audience.unsubscribe(session, who, newsletter=newsletter, now=now, how="cli")
        for letter, topic in places:
            ended += audience.unsubscribe(session, who, newsletter=letter.slug, topics=[topic.slug], now=now, how="cli")
        audience.refuse(session, who, [(letter.slug, topic.slug) for letter, topic in meant], now, "cli")
        return {"email": email, "ended": ended}

    return act


def unsubscribe(
    app: Newsletter, email: str, *, newsletter: str | None = None, topics: Sequence[str] = (), dry_run: bool = False
) -> tuple[str, ...]:
    """As `unsubscribing`, for one; returns what ended, as `newsletter/topic`."""
    return tuple(one(app, email, unsubscribing(app, newsletter, topics), dry_run=dry_run)["ended"])


def suppressing(app: Newsletter, newsletter: str | None = None, reason: str = "by hand") -> Act:
    """Forbid to mail an address, known or not; `changed` says whether it was allowed before."""
    letter = app.settings.newsletter_of(newsletter).slug if newsletter else ""
    now = app.clock.now()

    def act(session: Session, email: str) -> Facts:
        new = audience.suppress(session, email, newsletter=letter, reason=reason, now=now, digests=app.digests)
        return {"email": email, "suppressed": True, "changed": new}

    return act


def suppress(app: Newsletter, email: str, *, newsletter: str | None = None, reason: str = "by hand") -> bool:
    """Forbid to mail an address, known or not; False if it was forbidden already. Raises `errors.AddressError`."""
    return bool(one(app, email, suppressing(app, newsletter, reason))["changed"])


def unsuppressing(app: Newsletter, newsletter: str | None = None) -> Act:
    """Allow to mail an address again; the act raises `errors.NotFound` if it was not suppressed."""
    letter = app.settings.newsletter_of(newsletter).slug if newsletter else ""

    def act(session: Session, email: str) -> Facts:
        if not audience.unsuppress(session, email, newsletter=letter, digests=app.digests):
            raise errors.NotFound(f"{email} is not suppressed" + (f" for {letter}" if letter else ""))
        return {"email": email, "suppressed": False, "changed": True}

    return act


def unsuppress(app: Newsletter, email: str, *, newsletter: str | None = None) -> None:
    """Allow to mail an address again; raises `errors.NotFound` if it was not suppressed."""
    one(app, email, unsuppressing(app, newsletter))


def tagging(names: Sequence[str], *, off: bool = False) -> Act:
    """Tag people, or take tags off them; raises `errors.UsageError` for what is no tag."""
    wanted = [subscribercells.tag_of(name) for name in names]
    if not all(wanted):
        raise errors.UsageError("a tag is a word or a few, such as donor")

    def act(session: Session, email: str) -> Facts:
        who = audience.get(session, email).id
        changed = (tags.remove if off else tags.add)(session, who, wanted)
        return {
            "email": email,
            "changed": list(changed),
            "tags": list(intake.tags(session, [who]).get(who, ())),
        }

    return act


def move(app: Newsletter, old: str, new: str, *, dry_run: bool = False) -> SubscriberView:
    """Give a person another address. Raises `errors.NotFound`, and `errors.StateError` when a no stands against it."""
    address = addresses.parse(new)
    with app.store.write() as session:
        person = audience.get(session, old)
        norm = addresses.parse(person.email).norm
        if norm != address.norm:
            _refuse_suppressed(app, session, address.norm, new, but=signups.MOVED)
            _refuse_suppressed(app, session, norm, old, but=types.SubscriberState.BOUNCED)
        proof = signups.Proof(how="cli")
        if not signups.move(session, person.id, address, proof, app.clock.now()):
            raise errors.StateError(f"{new} is somebody else's address: they are on file themselves")
        session.flush()
        moved = audience.get_by_id(session, person.id)
        if dry_run:
            session.rollback()
    return moved


def _refuse_suppressed(app: Newsletter, session: Session, norm: str, email: str, but: str | None = None) -> None:
    found = audience.suppressions_of(session, norm, app.digests)
    reasons = [why for why in found.values() if why != but]
    if reasons:
        raise errors.StateError(f"{email} is suppressed ({', '.join(reasons)}); only they themselves can change that")


def erasing(app: Newsletter) -> Act:
    """Forget a person for good; their address stays suppressed by its keyed hash. Raises `errors.NotFound`."""

    def act(session: Session, email: str) -> Facts:
        person = audience.get(session, email)
        forgetting.erase(session, person.id, app.signer.digest, app.clock.now())
        return {"email": email, "erased": True}

    return act


def erase(app: Newsletter, email: str) -> None:
    """As `erasing`, for one."""
    with app.store.erase() as session:
        erasing(app)(session, email)


def files_with(app: Newsletter, emails: Iterable[str]) -> list[str]:
    """The files in `subscribers/` that still hold one of these addresses: nobody but the admin may delete them."""
    wanted = {email.strip().lower().encode() for email in emails}
    folder = app.workspace.path / "subscribers"
    database = app.store.engine.url.database or ""
    return [
        app.workspace.shown(path)
        for path in sorted(folder.rglob("*") if folder.is_dir() else ())
        if path.is_file() and path.name != "README.md" and not str(path.resolve()).startswith(database)
        if _holds(path, wanted)
    ]


def _holds(path: Path, wanted: set[bytes]) -> bool:
    with path.open("rb") as stream:
        return any(not wanted.isdisjoint(_ADDRESS.findall(line.lower())) for line in stream)
