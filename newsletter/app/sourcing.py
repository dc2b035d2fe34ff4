"""Moving in, and looking at sources without storing anything: OPML in and out, `discover`, `check`, `--as-seen`."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from newsletter import config, errors, settingsfile, types
from newsletter import sources as visiting
from newsletter.app import collecting, editing, reports, turns
from newsletter.sources import discover as looking
from newsletter.sources import manners, opml
from newsletter.store import claims, issues, sources

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

BEFORE = "before the first issue"
Progress = Callable[[int, int], None]


# -- looking -------------------------------------------------------------------------------------------------------


def check(app: App, urls: Sequence[str], progress: Progress | None) -> list[reports.SourceCheck]:
    """What each source gives now (none named: those of the settings), in order; nothing is stored."""
    wanted = list(dict.fromkeys(urls or collecting.wanted(app, None, None)))
    found = asyncio.run(_seen(app, wanted, progress))
    return [found[url] for url in wanted]


async def _seen(app: App, urls: Sequence[str], progress: Progress | None) -> dict[str, reports.SourceCheck]:
    web = [url for url in urls if re.match(r"(?i)https?://", url)]
    asks = [visiting.Ask(url) for url in urls if url not in web]
    found: dict[str, reports.SourceCheck] = {}
    with _visitor(app) as visitor:
        async with contextlib.aclosing(looking.look(web, visitor)) as looks:
            async for seen in looks:
                found[seen.asked] = _looked(seen.asked, seen.title, seen.entries, seen.moved_to, seen.notes, seen.error)
                if progress is not None:
                    progress(len(found), len(urls))
    with _turns(app) as keeper:
        visits = visiting.visit(
            asks,
            app.settings.collect,
            folder=app.workspace.path,
            user_agent=app.user_agent,
            now=app.clock.started,
            keeper=keeper,
        )
        async for each in visits:
            notes = [note for note in (each.error, each.note) if note]
            failed = each.status in ("failed", "skipped")
            notes += [] if failed or each.note else looking.notes_on(each.entries)
            error = each.error if failed else None
            found[each.url] = _looked(each.url, each.title, each.entries, each.moved_to, () if failed else notes, error)
            if progress is not None:
                progress(len(found), len(urls))
    return found


def _looked(
    url: str,
    title: str | None,
    entries: Sequence[types.FoundEntry],
    moved_to: str | None,
    notes: Sequence[str],
    error: str | None,
) -> reports.SourceCheck:
    newest = max((entry.published for entry in entries if entry.published), default=None)
    return reports.SourceCheck(url, error is None, title, len(entries), newest, moved_to, list(notes), error)


def discover(app: App, url: str) -> reports.DiscoverReport:
    """The feeds of a page, each asked and read. Raises `errors.FetchError` when the page cannot be had."""

    async def search() -> looking.Discovered:
        with _visitor(app) as visitor:
            return await looking.discover(url, visitor)

    found = asyncio.run(search())
    return reports.DiscoverReport(
        [reports.FoundFeed(seen.asked, seen.title, len(seen.entries)) for seen in found.feeds],
        [(seen.asked, seen.error or "") for seen in found.failed],
        found.missing,
    )


@contextlib.contextmanager
def _visitor(app: App) -> Iterator[looking.Visitor]:
    with _turns(app) as keeper:
        house = manners.Manners(app.settings.collect.concurrency, keeper)
        try:
            yield looking.Visitor(app.settings.collect, app.user_agent, app.clock.started, house)
        finally:
            house.close()


@contextlib.contextmanager
def _turns(app: App) -> Iterator[turns.Turns | None]:
    """The turns of hosts that the database keeps; None where there is none: a look makes none."""
    keeper = turns.Turns(app) if editing.has_database(app) else None
    try:
        yield keeper
    finally:
        if keeper is not None:
            keeper.close()


# -- moving in -----------------------------------------------------------------------------------------------------


def refuse_after_first_issue(app: App, newsletter: str | None, topic: str | None) -> None:
    """Raises `errors.StateError` where issues were made: what waits then is news to somebody."""
    with app.store.read() as session:
        for slug in _asked(app, newsletter, topic):
            made = [row for row, _ in issues.listing(session, slug) if row.state != types.IssueState.CANCELLED]
            if made:
                raise errors.StateError(
                    f"{slug} has issues already ({slug}/{made[0].period}); --as-seen is for moving in, before the "
                    "first one. Run `newsletter collect` without it: of a new source, what is over 30 days old is "
                    "held, and `newsletter entries drop` leaves out what readers know"
                )


def mark_as_seen(app: App, newsletter: str | None, topic: str | None) -> int:
    """Drop what waits of the sources asked for, since readers know it. Returns how many.

    An entry that also waits for a topic that was not asked for stays, and so does one that was imported by hand. A
    source that was marked before is left alone: what it shows since is news, and this may be run again for others.
    """
    chosen = collecting.wanted(app, newsletter, topic)
    asked = _asked(app, newsletter, topic)
    now = app.clock.now()
    done = 0
    with app.store.write() as session:
        for slug, topics in asked.items():
            known = [each.slug for each in app.settings.newsletter_of(slug).topic]
            before = claims.sources_of_dropped(session, slug, BEFORE)
            fresh = set(chosen) - before
            waiting = claims.waiting(session, slug, known, now, {})
            dropped = [entry for entry in waiting if entry.source in fresh and topics.issuperset(entry.topics)]
            rows = [(entry, types.EntryState.DROPPED, BEFORE, None) for entry in dropped]
            claims.claim(session, slug, rows, issue=None, now=now)
            done += len(dropped)
    return done


def _asked(app: App, newsletter: str | None, topic: str | None) -> dict[str, set[str]]:
    """Newsletter -> the topics of it that a command names."""
    if topic is not None:
        places = app.settings.topic_places(topic, newsletter)
    else:
        chosen = [app.settings.newsletter_of(newsletter)] if newsletter else app.settings.newsletter
        places = [(found, each) for found in chosen for each in found.topic]
    asked: dict[str, set[str]] = {}
    for found, each in places:
        asked.setdefault(found.slug, set()).add(each.slug)
    return asked


@dataclasses.dataclass
class _Target:
    """A topic that an import gives feeds to."""

    newsletter: str
    slug: str
    title: str
    folder: str
    new: bool
    has: set[str]  # the addresses that it has, as `opml.same` writes them
    feeds: int = 0
    rows: list[settingsfile.Row] = dataclasses.field(default_factory=list)

    def take(self, feed: opml.Feed) -> bool:
        """Add a feed; False when it is there."""
        self.feeds += 1
        name = opml.same(feed.url)
        if name in self.has:
            return False
        self.has.add(name)
        self.rows.append((feed.url, feed.title))
        return True


def import_opml(
    app: App, data: bytes, topic: str | None, newsletter: str | None, *, dry_run: bool
) -> reports.OpmlReport:
    """Write the feeds of an OPML file into newsletter.toml; nothing is fetched. All into `topic`, else one a folder."""
    found = opml.read(data)
    targets = _targets(app, found.feeds, topic, newsletter)
    doubles = sum(not targets[_folder(feed, topic)].take(feed) for feed in found.feeds)
    distinct = list({id(target): target for target in targets.values()}.values())
    additions = [
        settingsfile.Addition(target.newsletter, target.slug, target.title, tuple(target.rows))
        for target in distinct
        if target.rows
    ]
    if additions:
        old = settingsfile.read(app.workspace.path)
        new = settingsfile.with_sources(old, additions)
        if not dry_run:
            settingsfile.replace(app.workspace.path, old, new)
    return reports.OpmlReport(
        feeds=len(found.feeds),
        added=sum(len(target.rows) for target in distinct),
        doubles=doubles,
        topics=[
            reports.OpmlTopic(each.newsletter, each.slug, each.title, each.folder, each.new, each.feeds, len(each.rows))
            for each in distinct
        ],
        rejected=list(found.rejected),
        fault=found.fault,
    )


def _folder(feed: opml.Feed, topic: str | None) -> str:
    return "" if topic is not None else " / ".join(feed.folder)


def _targets(app: App, feeds: Sequence[opml.Feed], topic: str | None, newsletter: str | None) -> Mapping[str, _Target]:
    """Folder -> where its feeds go: the topic of that title, else of that slug, else a new one.

    Feeds without a folder go into the newsletter's first topic.
    """
    if topic is not None:
        chosen, given = app.settings.topic_place(topic, newsletter)
        return {"": _target(chosen, given, "")}
    chosen = app.settings.newsletter_of(newsletter)
    folders = list(dict.fromkeys(_folder(feed, None) for feed in feeds))
    by_title = {each.title.casefold(): each for each in chosen.topic}
    by_slug = {each.slug: each for each in chosen.topic}
    titled = {folder: by_title[folder.casefold()] for folder in folders if folder.casefold() in by_title}
    free = by_slug.keys() - {each.slug for each in titled.values()}
    slugs = set(by_slug)
    targets: dict[str, _Target] = {}
    made: dict[str, _Target] = {}
    for folder in folders:
        slug = slug_of(folder)
        if not folder:
            known: config.Topic | None = chosen.topic[0]
        elif folder in titled:
            known = titled[folder]
        else:
            known = by_slug[slug] if slug in free else None
        if known is not None:
            targets[folder] = made.setdefault(known.slug, _target(chosen, known, folder))
            free = free - {known.slug}
            continue
        new = made.get(f"title:{folder.casefold()}")
        if new is None:
            slug = next(each for each in _numbered(slug) if each not in slugs)
            slugs.add(slug)
            new = made[f"title:{folder.casefold()}"] = _Target(chosen.slug, slug, folder, folder, new=True, has=set())
        targets[folder] = new
    return targets


def _target(newsletter: config.Newsletter, topic: config.Topic, folder: str) -> _Target:
    has = {opml.same(each.url) for each in topic.sources if re.match(r"(?i)https?://", each.url)}
    return _Target(newsletter.slug, topic.slug, topic.title, folder, new=False, has=has)


def slug_of(title: str) -> str:
    """A topic's slug from its title: Latin letters without accents, digits, hyphens; "topic" where none is left."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:50].rstrip("-") or "topic"


def _numbered(slug: str) -> Iterator[str]:
    yield slug
    yield from (f"{slug}-{number}" for number in range(2, 10_000_000))


def export_opml(app: App, newsletter: str | None) -> tuple[str, int, list[str]]:
    """(OPML, how many feeds are in it, sources that are none for other programs): a folder a topic."""
    chosen = app.settings.newsletter_of(newsletter)
    listed = [source for topic in chosen.topic for source in topic.sources]
    titles: dict[str, str] = {}
    if editing.has_database(app):
        with app.store.read() as session:
            known = sources.known(session, [source.url for source in listed])
            titles = {url: row.title for url, row in known.items() if row.title}
    folders = []
    for topic in chosen.topic:
        feeds = [
            opml.Feed(source.url, source.name or titles.get(source.url, ""))
            for source in topic.sources
            if re.match(r"(?i)https?://", source.url)
        ]
        if feeds:
            folders.append((topic.title, feeds))
    left_out = [source.url for source in listed if not re.match(r"(?i)https?://", source.url)]
    text = opml.write(chosen.title, folders)
    return text, sum(len(feeds) for _, feeds in folders), list(dict.fromkeys(left_out))
