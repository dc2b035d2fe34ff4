"""What the doors ask about people: topics are resolved, a file becomes transactions. The rules are the store's."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from newsletter import errors, subscriberfile, types
from newsletter.store import audience

if TYPE_CHECKING:
    from newsletter.app import Newsletter

ROWS_A_TRANSACTION = 10_000  # read before it begins: a slow pipe must not keep a running send from writing
STDIN = "-"

Place = tuple[str, str]  # (newsletter, topic)


def add(
    app: Newsletter,
    email: str,
    *,
    name: str = "",
    language: str | None = None,
    newsletter: str | None = None,
    topics: Sequence[str] = (),
    state: types.SubscriberState = types.SubscriberState.PENDING,
) -> tuple[audience.SubscriberView, str]:
    """Put one person on file; returns them and "added", "updated" or "unchanged".

    Raises `errors.AddressError`, and `errors.StateError` for somebody who left or is suppressed.
    """
    places = _places(app, topics, newsletter)
    if places is None:
        raise errors.UsageError(_say_topic(app, newsletter))
    with app.store.write() as session:
        return audience.add(
            session,
            email,
            name=name,
            language=language,
            places=places,
            state=state,
            now=app.clock.now(),
            how="cli",
        )


def import_file(
    app: Newsletter,
    path: str,
    *,
    newsletter: str | None = None,
    topics: Sequence[str] = (),
    state: types.SubscriberState | None = None,
    mapping: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> audience.Imported:
    """Take the people of a CSV file in ("-" is stdin), good rows even where others are bad.

    Without `topics` the file's own column holds, else the only topic there is. Raises `errors.UsageError` when the file
    cannot be read at all, or nothing says which topic is meant. Killed half-way, it is run again: nothing is doubled.
    """
    places = _places(app, topics, newsletter)
    with _opened(path) as stream:
        people = subscriberfile.read(stream, mapping=mapping)
        if not topics and people.has_topics:
            places = []
        if places is None:
            raise errors.UsageError(_say_topic(app, newsletter))
        rows = people.rows if places else _resolved(app, people, newsletter)
        how, now = "stdin" if path == STDIN else Path(path).name, app.clock.now()
        total = audience.Imported()
        while chunk := list(rows if dry_run else itertools.islice(rows, ROWS_A_TRANSACTION)):
            with app.store.write() as session:
                total += audience.import_rows(
                    session, chunk, places=places, state=state, now=now, how=how, dry_run=dry_run
                )
        return total


def show(app: Newsletter, email: str) -> audience.SubscriberView:
    """One person, by any spelling of the address; raises `errors.NotFound`."""
    with app.store.read() as session:
        return audience.get(session, email)


def listing(
    app: Newsletter,
    *,
    newsletter: str | None = None,
    topic: str | None = None,
    state: types.SubscriberState | None = None,
) -> Iterator[audience.SubscriberView]:
    """Everybody, or who has a topic or a newsletter, or is in a state."""
    if newsletter is not None:
        app.settings.newsletter_of(newsletter)
    if topic is not None:
        places = app.settings.topic_places(topic, newsletter)
        topic = places[0][1].slug
        newsletter = places[0][0].slug if len(places) == 1 else newsletter
    with app.store.read() as session:
        yield from audience.listing(session, newsletter=newsletter, topic=topic, state=state)


def export(app: Newsletter, stream: TextIO, *, state: types.SubscriberState | None = None) -> int:
    """Write everybody, or those in a state, as CSV that `import_file` takes back; returns how many rows."""
    with app.store.read() as session:
        return subscriberfile.write(audience.export(session, state=state), stream)


def unsubscribe(
    app: Newsletter,
    email: str,
    *,
    newsletter: str | None = None,
    topics: Sequence[str] = (),
    dry_run: bool = False,
) -> tuple[str, ...]:
    """End subscriptions: all, a newsletter's, or some topics; returns those that ended, as `newsletter/topic`.

    Raises `errors.NotFound` for a stranger.
    """
    if newsletter is not None:
        app.settings.newsletter_of(newsletter)
    places = [app.settings.topic_place(name, newsletter) for name in topics]
    now = app.clock.now()
    ended: list[str] = []
    with app.store.write() as session:
        person = audience.get(session, email)
        if not topics:
            ended += audience.unsubscribe(session, person.id, newsletter=newsletter, now=now, how="cli")
        for letter, topic in places:
            ended += audience.unsubscribe(
                session, person.id, newsletter=letter.slug, topics=[topic.slug], now=now, how="cli"
            )
        if dry_run:
            session.rollback()
    return tuple(ended)


def suppress(app: Newsletter, email: str, *, newsletter: str | None = None, reason: str = "by hand") -> bool:
    """Forbid to mail an address, known or not; False if it was forbidden already. Raises `errors.AddressError`."""
    letter = app.settings.newsletter_of(newsletter).slug if newsletter else ""
    with app.store.write() as session:
        return audience.suppress(session, email, newsletter=letter, reason=reason, now=app.clock.now())


def unsuppress(app: Newsletter, email: str, *, newsletter: str | None = None) -> None:
    """Allow to mail an address again; raises `errors.NotFound` if it was not suppressed."""
    letter = app.settings.newsletter_of(newsletter).slug if newsletter else ""
    with app.store.write() as session:
        if not audience.unsuppress(session, email, newsletter=letter):
            raise errors.NotFound(f"{email} is not suppressed" + (f" for {letter}" if letter else ""))


def _places(app: Newsletter, topics: Sequence[str], newsletter: str | None) -> list[Place] | None:
    """What `--topic` and `--newsletter` mean; None when there are several topics and none is named."""
    letters = [app.settings.newsletter_of(newsletter)] if newsletter else app.settings.newsletter
    every = [(letter.slug, topic.slug) for letter in letters for topic in letter.topic]
    if topics:
        found = [app.settings.topic_place(name, newsletter) for name in topics]
        return list(dict.fromkeys((letter.slug, topic.slug) for letter, topic in found))
    return every if len(every) == 1 else None


def _say_topic(app: Newsletter, newsletter: str | None) -> str:
    letters = [app.settings.newsletter_of(newsletter)] if newsletter else app.settings.newsletter
    names = ", ".join(f"{letter.slug}/{topic.slug}" for letter in letters for topic in letter.topic)
    return f"there are several topics; say which with --topic: {names}"


def _resolved(
    app: Newsletter, rows: Iterable[subscriberfile.Row | types.BadRow], newsletter: str | None
) -> Iterator[subscriberfile.Row | types.BadRow]:
    """The rows with the topics of their own column as `newsletter/topic`; a topic that is not ours makes a bad row."""
    known: dict[str, tuple[str, ...]] = {}

    def names(topics: Iterable[str]) -> tuple[str, ...]:
        for topic in topics:
            if topic not in known:
                places = [app.settings.topic_place(topic, None if "/" in topic else newsletter)]
                if newsletter not in (None, *(letter.slug for letter, _ in places)):
                    raise errors.NotFound(f"newsletter {newsletter} has no topic {topic!r}")
                known[topic] = tuple(f"{letter.slug}/{found.slug}" for letter, found in places)
        return tuple(dict.fromkeys(name for topic in topics for name in known[topic]))

    for row in rows:
        if isinstance(row, types.BadRow) or not (row.topics or row.left):
            yield row
            continue
        try:
            yield dataclasses.replace(row, topics=names(row.topics or ()), left=names(row.left))
        except (errors.NotFound, errors.UsageError) as error:
            yield types.BadRow(row.line, row.address.email, f"{row.address.email}: {error}")


@contextlib.contextmanager
def _opened(path: str) -> Iterator[subscriberfile.Readable]:
    if path == STDIN:
        yield sys.stdin.buffer
        return
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(path).open("rb"))
        except OSError as error:
            raise errors.UsageError(f"{path} cannot be read: {error.strerror}") from None
        yield stream
