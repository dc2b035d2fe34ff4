"""Collecting: sources -> decisions -> entries that wait. Each source in a transaction of its own."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import hashlib
import random
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sqlmodel import Session

from newsletter import collect as deciding
from newsletter import config, errors, types
from newsletter import sources as visiting
from newsletter.app import reports
from newsletter.sources import plain, rows
from newsletter.store import claims, entries, owners, sources, tables

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

IMPORT = "import:"  # what an imported entry's source is called; with the topic, so that ids mean something
SETTLED = dt.timedelta(days=3)  # arXiv announces Friday's papers on Monday, and its search runs behind that
LONGEST_SUMMARY = 1_500  # characters, in a listing of many
Place = tuple[str, str]
P = ParamSpec("P")
T = TypeVar("T")
Wanted = dict[str, tuple[config.Source, list[Place]]]


def wanted(app: App, newsletter: str | None, topic: str | None) -> Wanted:
    """Source address -> (source, the topics it feeds), of a newsletter, of a topic, or of all."""
    if topic is not None:
        chosen = app.settings.topic_places(topic, newsletter)
    elif newsletter is not None:
        found = app.settings.newsletter_of(newsletter)
        chosen = [(found, each) for each in found.topic]
    else:
        chosen = [(found, each) for found in app.settings.newsletter for each in found.topic]
    addresses = {source.url for _, each in chosen for source in each.sources}
    result: Wanted = {}
    for found in app.settings.newsletter:  # a source that others share feeds all of them, whoever asks for it
        for each in found.topic:
            for source in each.sources:
                if source.url in addresses:
                    result.setdefault(source.url, (source, []))[1].append((found.slug, each.slug))
    return result


async def collect(
    app: App,
    chosen: Wanted,
    *,
    everything: bool,
    backfill: dt.timedelta | None,
    progress: Callable[[int, int], None] | None,
) -> reports.CollectReport:
    """Visit what is due and store what is new; one source's fault is its own."""
    now = app.clock.started
    with app.store.read() as session:
        known = sources.known(session, list(chosen))
        due = [
            url
            for url in chosen
            if sources.is_due(known.get(url), now) or (everything and not sources.asked_to_wait(known.get(url), now))
        ]
        asks = [_ask(session, url, chosen[url], known.get(url), now, backfill) for url in due]
    found = {url: _skipped(url, known.get(url)) for url in chosen}
    if not asks:
        return reports.CollectReport(list(found.values()), 0)
    done = 0
    keeper = _Keeper(app)
    try:
        visits = visiting.visit(
            asks,
            app.settings.collect,
            folder=app.workspace.path,
            user_agent=app.user_agent,
            now=now,
            keeper=keeper,
        )
        async with contextlib.aclosing(visits) as answers:
            async for collected in answers:
                places = chosen[collected.url][1]
                found[collected.url] = await asyncio.to_thread(
                    keeper.alone, _store, app, collected, places, now, backfill
                )
                done += 1
                if progress is not None:
                    progress(done, len(asks))
    finally:
        keeper.close()
    return reports.CollectReport(list(found.values()), sum(source.entries_new for source in found.values()))


def _skipped(url: str, row: tables.SourceState | None) -> reports.SourceReport:
    """Of a source that is not asked; what is gone says so each time."""
    return reports.SourceReport(url, "skipped", 0, 0, row.last_error if row and row.gone_at else None)


def _ask(
    session: Session,
    url: str,
    wanted: tuple[config.Source, list[Place]],
    row: tables.SourceState | None,
    now: dt.datetime,
    backfill: dt.timedelta | None,
) -> visiting.Ask:
    """What to ask a source with. A 304 would hide entries from a backfill, and from a topic that got it later."""
    source, places = wanted
    since = now - (backfill or deciding.FIRST_FETCH)
    if row is None:
        return visiting.Ask(url, source.name, since=since)
    ask = visiting.Ask(
        url,
        source.name,
        resolved=row.moved_to,
        pauses=sources.pauses(row),
        empty=bool(row.note and row.note.startswith((types.EMPTY_EXPECTED, types.EMPTY_SUSPICIOUS))),
        since=since,
    )
    if backfill or not sources.has_fed(row, places):
        return ask
    searched = url.partition(":")[0].lower() == "arxiv"
    return dataclasses.replace(
        ask,
        validators=sources.validators(row, now),
        hash=row.body_hash,
        known=sources.guids(session, row, since - deciding.FIRST_FETCH) if searched else frozenset(),
        settled=row.last_ok_at - SETTLED if row.last_ok_at else None,
    )


class _Keeper:
    """Keeps the turns of hosts in the database, by the machine's clock: a rehearsal does not govern them."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._writing = threading.Lock()
        self._owner = owners.Owner(app.locks)

    def take(self, host: str) -> float:
        """As `manners.Keeper.take`."""
        with self._writing, self._app.store.write() as session:
            return sources.take_turn(session, host, self._owner.id, self._app.wall_clock(), self._is_dead)

    def _is_dead(self, owner: str) -> bool:
        dead = self._app.is_dead(owner)
        if dead:
            owners.bury(self._app.locks, owner)
        return dead

    def give(self, host: str, pause: float) -> None:
        """As `manners.Keeper.give`."""
        with self._writing, self._app.store.write() as session:
            sources.give_turn(session, host, self._owner.id, self._app.wall_clock(), pause)

    def alone(self, store: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Store something while no turn is taken: two threads of ours need not find the database busy."""
        with self._writing:
            return store(*given, **named)

    def close(self) -> None:
        """No more turns."""
        self._owner.release()


def _store(
    app: App, collected: types.Collected, places: Sequence[Place], now: dt.datetime, backfill: dt.timedelta | None
) -> reports.SourceReport:
    """One source's entries and how its visit went, in one transaction."""
    if collected.status == "skipped":
        return reports.SourceReport(collected.url, "skipped", 0, 0, collected.error)
    with app.store.write() as session:
        row = sources.ensure(session, [collected.url])[collected.url]
        first = row.last_ok_at is None
        saved = _save(
            session, collected.entries, row.id or 0, collected.url, places, now, first=first, backfill=backfill
        )
        changed = bool(saved.new or saved.changed)
        sources.record(session, collected, now, places=places, changed=changed, jitter=random.random(), row=row)
    status = collected.status
    if status == "new" and not changed and not first:
        status = "unchanged"
    return reports.SourceReport(collected.url, status, len(collected.entries), saved.new, collected.error)


def _save(
    session: Session,
    found: Sequence[types.FoundEntry],
    source_id: int,
    url: str,
    places: Sequence[Place],
    now: dt.datetime,
    *,
    first: bool = False,
    backfill: dt.timedelta | None = None,
    ages: bool = True,
) -> entries.Saved:
    guids, keys = deciding.guids_and_keys(found, url)
    decided = deciding.decide(
        found,
        known=entries.lookup(session, source_id, guids, keys),
        source_url=url,
        first_fetch=first,
        now=now,
        backfill=backfill,
        ages=ages,
    )
    return entries.apply(session, decided, source_id=source_id, places=places, now=now)


def import_entries(app: App, data: bytes, topics: Sequence[str], newsletter: str | None) -> reports.ImportReport:
    """Take entries from JSON Lines into topics; an explicit import knows no age rule."""
    chosen = [app.settings.topic_place(slug, newsletter) for slug in topics]
    places = [(found.slug, topic.slug) for found, topic in chosen]
    if not places:
        raise errors.UsageError("say for which topic: --topic SLUG")
    now = app.clock.started
    good, bad = rows.read_jsonlines(data, now=now)
    found = [entry for _, entry in good]
    url = IMPORT + hashlib.sha256(repr(sorted(places)).encode()).hexdigest()[:12]
    with app.store.write() as session:
        row = sources.ensure(session, [url])[url]
        saved = _save(session, found, row.id or 0, url, places, now, ages=False)
    total = len(good) + len(bad)
    return reports.ImportReport(total, saved.new, saved.changed, len(good) - saved.new - saved.changed, bad)


def entries_listing(
    app: App, *, newsletter: str | None, topic: str | None, state: str | None, ref: str | None
) -> list[dict[str, Any]]:
    """Entries as JSON shows them; a date without a time is midnight UTC. Only `ref` shows a long summary whole."""
    slug = topic
    if topic is not None:
        places = app.settings.topic_places(topic, newsletter)
        slug = places[0][1].slug
        newsletter = places[0][0].slug if len(places) == 1 else newsletter
    elif newsletter is not None:
        app.settings.newsletter_of(newsletter)
    with app.store.read() as session:
        listed = claims.listing(session, newsletter=newsletter, topic=slug, state=state, ref=ref)
    found = []
    for row in listed:
        values = {field.name: reports.plain(getattr(row, field.name)) for field in dataclasses.fields(row)}
        values.pop("published_is_date")
        if ref is None:
            values["summary"] = plain.shorten(row.summary, LONGEST_SUMMARY)
        found.append(values)
    return found


def drop(app: App, refs: Sequence[str], reason: str, newsletter: str | None, *, dry_run: bool) -> tuple[int, list[str]]:
    """Drop entries that wait or are held, in one newsletter."""
    slug = app.settings.newsletter_of(newsletter).slug
    with contextlib.suppress(_DryRun), app.store.write() as session:
        done, refused = claims.drop(session, slug, refs, reason, app.clock.now())
        if dry_run:
            raise _DryRun
    return done, refused


class _DryRun(Exception):
    """Rolls a transaction back."""


def sources_listing(app: App) -> list[reports.SourceView]:
    """The sources of the settings, and how they fare."""
    chosen = wanted(app, None, None)
    with app.store.read() as session:
        known = sources.known(session, list(chosen))
        counts = sources.entry_counts(session)
    return [
        reports.SourceView(
            url=url,
            topics=[f"{newsletter}/{topic}" for newsletter, topic in places],
            last_ok=row.last_ok_at if (row := known.get(url)) else None,
            last_error=row.last_error if row else None,
            failures=row.failures if row else 0,
            next_check=row.next_check_at if row else None,
            entries=counts.get(row.id or 0, 0) if row else 0,
        )
        for url, (_, places) in chosen.items()
    ]
