"""Collecting: sources -> decisions -> entries that wait. Each source in a transaction of its own."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import hashlib
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import collect as deciding
from newsletter import config, errors, types
from newsletter import sources as visiting
from newsletter.app import reports, turns
from newsletter.sources import manners, octets, rows, timing
from newsletter.store import entries, sources, tables

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

log = logging.getLogger(__name__)

IMPORT = "import:"  # what an imported entry's source is called; with the topic, so that ids mean something
MOST_ANSWERS, MOST_TEXT = 32, 1_000_000  # answers, and characters, that are stored by one commit
LINGER = 0.2  # seconds that an answer may wait for others
_LEAST = 500  # characters that an entry counts for at least
SETTLED = dt.timedelta(days=3)  # arXiv announces Friday's papers on Monday, and its search runs behind that
Place = tuple[str, str]
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
    run = _Run(app, chosen, app.clock.started, everything=everything, backfill=backfill)
    try:
        asks, found = run.begin()
        if asks:
            answered = visiting.visit(
                asks,
                app.settings.collect,
                folder=app.workspace.path,
                user_agent=app.user_agent,
                now=run.now,
                keeper=run,
            )
            shelf = _Shelf(run)
            async with contextlib.aclosing(answered) as answers:
                try:
                    async for collected in answers:
                        await shelf.put(collected)
                        del collected  # else it is kept while the next is read
                        if progress is not None:
                            progress(len(shelf.reports), len(asks))
                finally:
                    await shelf.close()
            if progress is not None:
                progress(len(asks), len(asks))
            found |= {report.url: report for report in shelf.reports}
    finally:
        run.close()
    listed = [found[url] for url in chosen]
    return reports.CollectReport(
        listed,
        sum(source.entries_new for source in listed),
        entries_released=sum(source.entries_released for source in listed),
    )


def _skipped(url: str, row: tables.SourceState | None, now: dt.datetime) -> reports.SourceReport:
    """Of a source that is not asked; what is gone, or asked to be left alone, says so each time."""
    why = None
    if row and row.gone_at:
        why = row.last_error
    elif row and sources.asked_to_wait(row, now):
        why = f"its server asked to be left alone until {row.wait_until:%F %H:%M} UTC"
    return reports.SourceReport(url, "skipped", 0, 0, why)


def is_due(row: tables.SourceState | None, now: dt.datetime) -> bool:
    """Is it time to ask a source? The slack of a timer counts for nothing in an hour in which it is not written."""
    if not sources.is_due(row, now):
        return False
    if row is None or row.next_check_at is None or row.next_check_at <= now:
        return True
    return not timing.is_paused(sources.pauses(row), now)


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
        title=row.title,
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


class _Run(turns.Turns):
    """One run: its turns at hosts, and its claims on the sources that it asks.

    A source that another process is asking is waited for, and then asked only if it is still due.
    """

    def __init__(
        self, app: App, chosen: Wanted, now: dt.datetime, *, everything: bool, backfill: dt.timedelta | None
    ) -> None:
        super().__init__(app)
        self.chosen, self.now, self.backfill = chosen, now, backfill
        self._everything = everything
        self._mine: set[str] = set()

    def begin(self) -> tuple[list[visiting.Ask], dict[str, reports.SourceReport]]:
        """What to ask, and what is said of the rest."""
        with self.app.store.write() as session:
            known = sources.known(session, list(self.chosen))
            due = [url for url in self.chosen if self._is_wanted(known.get(url))]
            self._mine = sources.claim(session, due, self.owner.id, self.is_dead)
            asks = [_ask(session, url, self.chosen[url], known.get(url), self.now, self.backfill) for url in due]
        rest = [url for url in self.chosen if url not in set(due)]
        return asks, {url: _skipped(url, known.get(url), self.now) for url in rest}

    def _is_wanted(self, row: tables.SourceState | None) -> bool:
        return is_due(row, self.now) or (self._everything and not sources.asked_to_wait(row, self.now))

    def admit(self, source: str) -> float:
        """As `manners.Keeper.admit`."""
        if source in self._mine or self._everything:
            return 0.0
        with self.writing, self.app.store.write() as session:
            if not sources.claim(session, [source], self.owner.id, self.is_dead):
                return sources.LOOK_AGAIN
            if not is_due(sources.known(session, [source]).get(source), self.now):
                sources.unclaim(session, self.owner.id, [source])
                raise manners.NotDue("another process has just asked it; --all asks it again")
            self._mine.add(source)
            return 0.0

    def store(self, batch: Sequence[types.Collected]) -> list[reports.SourceReport]:
        """What became of each. A source that cannot be stored costs the others of its batch nothing."""
        with self.writing:
            return self._stored_or_told(batch)

    def _stored_or_told(self, batch: Sequence[types.Collected]) -> list[reports.SourceReport]:
        try:
            return self._stored(batch)
        except errors.StoreError:
            raise
        except Exception:
            if len(batch) > 1:
                return [report for each in batch for report in self._stored_or_told([each])]
            log.exception("a source could not be stored", extra={"source": batch[0].url})
            what = "what it gave could not be stored, by a fault of ours; the log has more"
            return self._stored([types.Collected(batch[0].url, "failed", error=what)])

    def _stored(self, batch: Sequence[types.Collected]) -> list[reports.SourceReport]:
        visited = [each.url for each in batch if each.status != "skipped"]
        with self.app.store.write() as session:
            rows = sources.ensure(session, visited)
            found = [self._one(session, each, rows.get(each.url)) for each in batch]
            sources.unclaim(session, self.owner.id, [each.url for each in batch])
        return found

    def _one(
        self, session: Session, collected: types.Collected, row: tables.SourceState | None
    ) -> reports.SourceReport:
        if row is None:
            return reports.SourceReport(collected.url, "skipped", 0, 0, collected.error)
        places = self.chosen[collected.url][1]
        newsletters = list({newsletter for newsletter, _ in places})
        first = row.last_ok_at is None
        held = sources.held_for_age(session, row, newsletters) if self.backfill else frozenset()
        saved = _save(
            session,
            collected.entries,
            row.id or 0,
            collected.url,
            places,
            self.now,
            first=first,
            backfill=self.backfill,
        )
        released = len(held - sources.held_for_age(session, row, newsletters)) if held else 0
        changed = bool(saved.new or saved.changed)
        sources.record(session, collected, self.now, places=places, changed=changed, jitter=random.random(), row=row)
        status = collected.status
        if status == "new" and not (changed or first or released):
            status = "unchanged"
        return reports.SourceReport(
            collected.url, status, len(collected.entries), saved.new, collected.error, released, collected.note
        )

    def close(self) -> None:
        """Give back what is still claimed."""
        try:
            if self._mine:
                with self.writing, self.app.store.write() as session:
                    sources.unclaim(session, self.owner.id)
        finally:
            super().close()


class _Shelf:
    """Gathers answers for a moment, so that many are stored by one commit; a large one is stored at once."""

    def __init__(self, run: _Run) -> None:
        self.reports: list[reports.SourceReport] = []
        self._run = run
        self._batch: list[types.Collected] = []
        self._soon: asyncio.Task[None] | None = None
        self._storing = asyncio.Lock()

    async def put(self, collected: types.Collected) -> None:
        """Take an answer; returns when there is room for another."""
        self._batch.append(collected)
        size = sum(_LEAST + len(entry.summary) for each in self._batch for entry in each.entries)
        if self._soon and self._soon.done():
            await self._soon  # it may have failed
        if size > MOST_TEXT or len(self._batch) >= MOST_ANSWERS:
            await self._store()
        elif self._soon is None or self._soon.done():
            self._soon = asyncio.create_task(self._later())

    async def _later(self) -> None:
        await asyncio.sleep(LINGER)
        await self._store()

    async def _store(self) -> None:
        async with self._storing:
            batch, self._batch = self._batch, []
            if batch:
                self.reports += await asyncio.to_thread(self._run.store, batch)

    async def close(self) -> None:
        """Store the rest."""
        await self._store()
        if self._soon:
            await self._soon


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
    data, assumed = octets.in_utf8(data)
    good, bad = rows.read_jsonlines(data, now=now)
    found = [entry for _, entry in good]
    url = IMPORT + hashlib.sha256(repr(sorted(places)).encode()).hexdigest()[:12]
    with app.store.write() as session:
        row = sources.ensure(session, [url])[url]
        saved = _save(session, found, row.id or 0, url, places, now, ages=False)
    total = len(good) + len(bad)
    notes = [f"line {assumed.line}: {assumed}"] if assumed else []
    unchanged = len(good) - saved.new - saved.changed
    return reports.ImportReport(total, saved.new, saved.changed, unchanged, bad, notes)


def sources_listing(app: App) -> list[reports.SourceView]:
    """The sources of the settings, and how they fare."""
    chosen = wanted(app, None, None)
    with app.store.read() as session:
        known = sources.known(session, list(chosen))
        counts = sources.entry_counts(session)
        return [
            _view(url, [f"{newsletter}/{topic}" for newsletter, topic in places], known.get(url), counts)
            for url, (_, places) in chosen.items()
        ]


def _view(url: str, topics: list[str], row: tables.SourceState | None, counts: Mapping[int, int]) -> reports.SourceView:
    if row is None:
        return reports.SourceView(url, topics, None, None, 0, None, 0)
    asked = "ok" if row.last_checked_at else "new"
    return reports.SourceView(
        url=url,
        topics=topics,
        last_ok=row.last_ok_at,
        last_error=row.last_error,
        failures=row.failures,
        next_check=row.next_check_at,
        entries=counts.get(row.id or 0, 0),
        state="gone" if row.gone_at else "failing" if row.failures else asked,
        title=row.title,
        moved_to=row.moved_to,
        gone_since=row.gone_at,
        wait_until=row.wait_until,
        note=row.note,
    )
