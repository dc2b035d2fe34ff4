"""A file of people becomes transactions: topics are resolved here, the rules are the store's.

file -> rows (`subscriberfile`) -> topics and groups as newsletter/topic -> 10,000 rows a transaction
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from newsletter import errors, subscribercolumns, subscriberfile, types
from newsletter.store import intake

if TYPE_CHECKING:
    from newsletter.app import Newsletter
    from newsletter.store import Store

ROWS_A_TRANSACTION = 10_000  # read before it begins: a slow pipe must not keep a running send from writing
UNMAPPED = 1000  # different values that are no topic: so many are named
OTHERS = "(others)"
STDIN = "-"

Place = intake.Place
Rows = Iterator[subscriberfile.Row | types.BadRow]


@dataclasses.dataclass(frozen=True, slots=True)
class Groups:
    """`column` holds what topics are made of; `topics`: value -> topic, "" for one that is left out on purpose."""

    column: str | None = None
    topics: Mapping[str, str] = dataclasses.field(default_factory=dict)


def import_file(
    app: Newsletter,
    path: str,
    *,
    newsletter: str | None = None,
    topics: Sequence[str] = (),
    state: types.SubscriberState | None = None,
    mapping: Mapping[str, str] | None = None,
    groups: Groups | None = None,
    dry_run: bool = False,
) -> intake.Imported:
    """Take the people of a CSV file in ("-" is stdin), good rows even where others are bad.

    Without `topics` the file's own column holds, else the only topic there is; `groups` come on top of `topics`. Raises
    `errors.UsageError` when the file cannot be read at all, or nothing says which topic is meant. Killed half-way, it
    is run again: nothing is doubled.
    """
    groups = groups or Groups()
    places = named_places(app, topics, newsletter)
    columns = {**(mapping or {}), **({"groups": groups.column} if groups.column else {})}
    resolver = _Resolver(app, newsletter, groups, places if topics and places else [])
    with opened(path) as stream:
        people = subscriberfile.read(stream, mapping=columns, name=Path(path).name)
        if groups.column or (not topics and people.has_topics):
            places = []
        if places is None:
            raise errors.UsageError(say_topic(app, newsletter))
        rows = people.rows if places else map(resolver.resolve, people.rows)
        total = _Taking(app, places, state, "stdin" if path == STDIN else Path(path).name).run(rows, dry_run=dry_run)
    return dataclasses.replace(total, unmapped=resolver.unmapped)


@dataclasses.dataclass(frozen=True, slots=True)
class _Taking:
    """How rows are taken in: the same for each transaction."""

    app: Newsletter
    places: Sequence[Place]
    state: types.SubscriberState | None
    how: str

    def run(self, rows: Rows, *, dry_run: bool) -> intake.Imported:
        head = list(itertools.islice(rows, ROWS_A_TRANSACTION))
        if not dry_run or len(head) < ROWS_A_TRANSACTION:
            return self._all(self.app.store, itertools.chain(head, rows), dry_run=dry_run)
        from newsletter.store import rehearsal

        with rehearsal.rehearsal(self.app.store) as copy:
            return self._all(copy, itertools.chain(head, rows), dry_run=False)

    def _all(self, store: Store, rows: Rows, *, dry_run: bool) -> intake.Imported:
        total, now = intake.Imported(), self.app.clock.now()
        while chunk := list(itertools.islice(rows, ROWS_A_TRANSACTION)):
            with store.write() as session:
                total += intake.import_rows(
                    session,
                    chunk,
                    places=self.places,
                    state=self.state,
                    now=now,
                    how=self.how,
                    dry_run=dry_run,
                    digests=self.app.digests,
                )
        return total


# -- which topics are meant ----------------------------------------------------------------------------------------


def named_places(app: Newsletter, topics: Sequence[str], newsletter: str | None) -> list[Place] | None:
    """What `--topic` and `--newsletter` mean; None when there are several topics and none is named."""
    letters = [app.settings.newsletter_of(newsletter)] if newsletter else app.settings.newsletter
    every = [(letter.slug, topic.slug) for letter in letters for topic in letter.topic]
    if topics:
        found = [app.settings.topic_place(name, newsletter) for name in topics]
        return list(dict.fromkeys((letter.slug, topic.slug) for letter, topic in found))
    return every if len(every) == 1 else None


def say_topic(app: Newsletter, newsletter: str | None) -> str:
    """What to say when a topic should be named."""
    letters = [app.settings.newsletter_of(newsletter)] if newsletter else app.settings.newsletter
    names = ", ".join(f"{letter.slug}/{topic.slug}" for letter in letters for topic in letter.topic)
    return f"there are several topics; say which with --topic: {names}"


class _Resolver:
    """Rows -> the same with topics as `newsletter/topic`; `unmapped` counts the values that are none."""

    def __init__(self, app: Newsletter, newsletter: str | None, groups: Groups, always: Sequence[Place]) -> None:
        self._app, self._newsletter = app, newsletter
        self._by_group = groups.column is not None
        self._always = tuple("/".join(place) for place in always)
        self._known: dict[str, str] = {}  # a name -> newsletter/topic, "" for what is left out
        for value, topic in groups.topics.items():
            self._known[value.strip().casefold()] = self._named(topic) if topic else ""
        if self._by_group:
            self._add_titles()
        self.unmapped: dict[str, int] = {}

    def resolve(self, row: subscriberfile.Row | types.BadRow) -> subscriberfile.Row | types.BadRow:
        """One row; of one without any topic of ours a bad one."""
        if isinstance(row, types.BadRow):
            return row
        try:
            if self._by_group:
                return dataclasses.replace(row, topics=self._of_groups(row), left=())
            if row.topics or row.left:
                return dataclasses.replace(row, topics=self._names(row.topics or ()), left=self._names(row.left))
        except (errors.NotFound, errors.UsageError) as error:
            return types.BadRow(row.line, row.address.email, f"{row.address.email}: {error}")
        return row

    def _of_groups(self, row: subscriberfile.Row) -> tuple[str, ...]:
        known = [self._known.get(value.casefold()) for value in row.groups]
        for value, topic in zip(row.groups, known, strict=True):
            if topic is None:
                name = value if value in self.unmapped or len(self.unmapped) < UNMAPPED else OTHERS
                self.unmapped[name] = self.unmapped.get(name, 0) + 1
        found = tuple(dict.fromkeys([*self._always, *filter(None, known)]))
        if not found and None in known and row.state not in subscribercolumns.NOES:
            values = ", ".join(repr(value) for value in row.groups[:3])
            raise errors.NotFound(
                f"none of its groups is a topic here ({values}); --map-topic 'GROUP=TOPIC' says which"
            )
        return found

    def _names(self, topics: Iterable[str]) -> tuple[str, ...]:
        for topic in topics:
            if topic.casefold() not in self._known:
                self._known[topic.casefold()] = self._named(topic)
        return tuple(dict.fromkeys(filter(None, (self._known[topic.casefold()] for topic in topics))))

    def _named(self, topic: str) -> str:
        letter, found = self._app.settings.topic_place(topic, None if "/" in topic else self._newsletter)
        if self._newsletter not in (None, letter.slug):
            raise errors.NotFound(f"newsletter {self._newsletter} has no topic {topic!r}")
        return f"{letter.slug}/{found.slug}"

    def _add_titles(self) -> None:
        """A group that is called as one topic of ours, by slug or title, is that topic."""
        letters = [n for n in self._app.settings.newsletter if self._newsletter in (None, n.slug)]
        meant: dict[str, set[str]] = {}
        for letter in letters:
            for topic in letter.topic:
                place = f"{letter.slug}/{topic.slug}"
                for name in (topic.slug, topic.title, place):
                    meant.setdefault(name.casefold(), set()).add(place)
        for name, places in meant.items():
            if len(places) == 1:
                self._known.setdefault(name, *places)


@contextlib.contextmanager
def opened(path: str) -> Iterator[subscriberfile.Readable]:
    """A file of people, or stdin. Raises `errors.UsageError`."""
    if path == STDIN:
        yield sys.stdin.buffer
        return
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(path).open("rb"))
        except OSError as error:
            raise errors.UsageError(f"{path} cannot be read: {error.strerror}") from None
        yield stream
