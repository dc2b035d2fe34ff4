"""The application: opens settings, workspace and store, and has one method a verb. The only place where rooms meet."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from newsletter import __version__, config, errors, store, tokens, types, workspace
from newsletter.app import reports
from newsletter.store import owners

if TYPE_CHECKING:
    from newsletter.app import curating
    from newsletter.deliver import message
    from newsletter.store import intake, outbox


class Clock:
    """The time, or a rehearsal's: it begins at `now` and runs like the real one. All times are aware UTC.

    `started` is when the command began: what it collects was first seen then, so that a command that follows at the
    same pretended instant finds it.
    """

    def __init__(self, now: dt.datetime | None = None) -> None:
        self._shift = now.astimezone(dt.UTC) - dt.datetime.now(dt.UTC) if now else dt.timedelta()
        self.started = now.astimezone(dt.UTC) if now else dt.datetime.now(dt.UTC)

    def now(self) -> dt.datetime:
        """The time; never before `started`."""
        return max(dt.datetime.now(dt.UTC) + self._shift, self.started)


def open_app(folder: Path | None = None, now: dt.datetime | None = None) -> Newsletter:
    """Open the workspace (see `workspace.find`). Raises `errors.ConfigError` for settings that are wrong."""
    place = workspace.find(folder)
    return Newsletter(config.load(place.path), place, Clock(now))


class Newsletter:
    """One workspace, opened. The database is connected when it is first needed."""

    def __init__(self, settings: config.Settings, place: workspace.Workspace, clock: Clock) -> None:
        self.settings, self.workspace, self.clock = settings, place, clock
        self._signer: tuple[object, tokens.Signer] | None = None

    @cached_property
    def store(self) -> store.Store:
        """The database; made when it is not there. Raises `errors.StoreError` when it seems to be lost.

        A workspace with drafts has had one: an empty one in its place would forget who must not be mailed.
        """
        url = self.settings.database_url
        path = Path(url.removeprefix("sqlite:///"))
        if url.startswith("sqlite") and not path.exists() and any(self.workspace.drafts()):
            raise errors.StoreError(
                f"there are drafts in issues/, but no database at {path}: restore it (it knows who must not be "
                "mailed), or set site.database right; `newsletter db upgrade` makes an empty one"
            )
        return store.connect(url)

    @property
    def signer(self) -> tokens.Signer:
        """What signs links; a key file that changed is read again, so that a long run knows the keys of new mails."""
        stamp = self.settings.secret_stamp()
        if self._signer is None or self._signer[0] != stamp:
            self._signer = stamp, tokens.Signer(self.settings.secret_keys())
        return self._signer[1]

    @signer.setter
    def signer(self, signer: tokens.Signer) -> None:
        self._signer = self.settings.secret_stamp(), signer

    def digests(self, text: str) -> list[str]:
        """What may be kept of an address whose person is erased, by each key that there is or was."""
        return self.signer.digests(text)

    @property
    def user_agent(self) -> str:
        """How we call ourselves when fetching."""
        return self.settings.collect.user_agent or f"newsletter/{__version__} (+{self.settings.site.base_url})"

    @property
    def locks(self) -> Path:
        """Where senders hold their locks."""
        return owners.folder_of(Path(self.store.engine.url.database or "newsletter.db"))

    def is_dead(self, owner: str) -> bool:
        """Has the process that held a lease ended?"""
        return owners.is_dead(self.locks, owner)

    def close(self) -> None:
        """Give everything back."""
        if "store" in self.__dict__:
            self.store.close()

    # -- sources and entries -------------------------------------------------------------------------------------

    def collect(
        self,
        newsletter: str | None = None,
        topic: str | None = None,
        *,
        everything: bool = False,
        backfill: dt.timedelta | None = None,
        as_seen: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> reports.CollectReport:
        """Fetch what is due (`everything`: all) and store what is new. `progress`: sources done, of how many.

        `as_seen`, for moving in: ask all, then drop what waits of them, since readers know it.
        """
        from newsletter.app import collecting, sourcing

        if as_seen:
            sourcing.refuse_after_first_issue(self, newsletter, topic)
        wanted = collecting.wanted(self, newsletter, topic)
        report = asyncio.run(
            collecting.collect(
                self,
                wanted,
                everything=everything or as_seen or backfill is not None,
                backfill=backfill,
                progress=progress,
            )
        )
        if not as_seen:
            return report
        return dataclasses.replace(report, as_seen=sourcing.mark_as_seen(self, newsletter, topic))

    def import_entries(self, data: bytes, topics: Sequence[str], newsletter: str | None = None) -> reports.ImportReport:
        """Take entries from JSON Lines; rows that are refused are named, the rest goes on."""
        from newsletter.app import collecting

        return collecting.import_entries(self, data, topics, newsletter)

    def entries(
        self,
        *,
        newsletter: str | None = None,
        topic: str | None = None,
        state: str | None = None,
        ref: str | None = None,
    ) -> list[dict[str, Any]]:
        """Entries as the listings and their JSON show them, newest first."""
        from newsletter.app import entries

        return entries.listing(self, newsletter=newsletter, topic=topic, state=state, ref=ref)

    def drop_entries(
        self, refs: Sequence[str], reason: str, newsletter: str | None = None, *, dry_run: bool = False
    ) -> tuple[int, list[str]]:
        """Drop entries that wait or are held: (how many, those that cannot be)."""
        from newsletter.app import entries

        return entries.drop(self, refs, reason, newsletter, dry_run=dry_run)

    def restore_entries(
        self, refs: Sequence[str], newsletter: str | None = None, *, dry_run: bool = False
    ) -> tuple[int, list[str]]:
        """Bring dropped and held entries back: (how many, those that cannot be)."""
        from newsletter.app import entries

        return entries.restore(self, refs, newsletter, dry_run=dry_run)

    def sources(self) -> list[reports.SourceView]:
        """The sources of the settings, and how they fare."""
        from newsletter.app import collecting

        return collecting.sources_listing(self)

    def check_sources(
        self, urls: Sequence[str] = (), progress: Callable[[int, int], None] | None = None
    ) -> list[reports.SourceCheck]:
        """What sources give just now (none named: those of the settings); nothing is stored."""
        from newsletter.app import sourcing

        return sourcing.check(self, urls, progress)

    def discover(self, url: str) -> reports.DiscoverReport:
        """The feeds of a page."""
        from newsletter.app import sourcing

        return sourcing.discover(self, url)

    def import_opml(
        self, data: bytes, topic: str | None = None, newsletter: str | None = None, *, dry_run: bool = False
    ) -> reports.OpmlReport:
        """Write the feeds of an OPML file into newsletter.toml; the settings in this object stay as they were."""
        from newsletter.app import sourcing

        return sourcing.import_opml(self, data, topic, newsletter, dry_run=dry_run)

    def export_opml(self, newsletter: str | None = None) -> tuple[str, int, list[str]]:
        """(OPML, how many feeds are in it, sources that are none for other programs)."""
        from newsletter.app import sourcing

        return sourcing.export_opml(self, newsletter)

    def test_topic(
        self, topic: str, newsletter: str | None = None, *, weeks: int = 4, **rules: Unpack[curating.Rules]
    ) -> list[curating.TopicTest]:
        """What the present rules, or these, would do to a topic's last weeks, newest first; changes nothing."""
        from newsletter.app import curating

        return curating.rehearse(self, topic, newsletter, weeks, rules)

    # -- issues --------------------------------------------------------------------------------------------------

    def compose(
        self, newsletter: str | None = None, *, refresh: bool = False, special: str | None = None
    ) -> reports.ComposeReport:
        """Claim what waits and write the draft of the next issue."""
        from newsletter.app import composing

        return composing.compose(self, self.settings.newsletter_of(newsletter), refresh=refresh, special=special)

    def check(
        self,
        issue: str,
        *,
        online: bool = False,
        spam: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> reports.CheckReport:
        """Look for mistakes in every edition: of the draft, or of what is frozen.

        `online`: try the links as well; `spam`: ask SpamAssassin.
        """
        from newsletter.app import editing

        name = self.workspace.issue_name(issue)
        return editing.check(self, name, online=online, spam=spam, progress=progress)

    def approve(self, issue: str, by: str) -> reports.ApproveReport:
        """Freeze the draft: these bytes are what will be sent. Raises `errors.CheckError` when there are errors."""
        from newsletter.app import editing

        return editing.approve(self, self.workspace.issue_name(issue), by)

    def unapprove(self, issue: str) -> None:
        """Thaw it, as long as nothing is planned."""
        from newsletter.app import editing

        editing.unapprove(self, self.workspace.issue_name(issue))

    def render(
        self, issue: str, *, reader: str | None = None, topics: Sequence[str] = ()
    ) -> tuple[message.Message, str, str]:
        """(message, HTML, text) as `reader` gets it, or as a sample reader of `topics` (all of them) would."""
        from newsletter.app import editing

        return editing.render_issue(self, self.workspace.issue_name(issue), reader=reader, topics=topics)

    def issues(self, newsletter: str | None = None) -> list[reports.IssueView]:
        """All issues, newest first."""
        from newsletter.app import issues

        return issues.listing(self, newsletter)

    # -- sending -------------------------------------------------------------------------------------------------

    def send(
        self,
        issue: str,
        *,
        frozen: bool = False,
        wait: bool = False,
        progress: Callable[[dict[str, int]], None] | None = None,
    ) -> reports.StatusReport:
        """Plan an approved issue if it is not planned, and deliver what is due. Signals drain it."""
        from newsletter.app import sending

        return sending.send(self, self.workspace.issue_name(issue), frozen=frozen, wait=wait, progress=progress)

    def send_test(self, issue: str, addresses: Sequence[str]) -> list[tuple[str, str | None]]:
        """Send a message as it is now to any addresses, outside the ledger: (address, what went wrong or None)."""
        from newsletter.app import sending

        return sending.send_test(self, self.workspace.issue_name(issue), addresses)

    def audience(self, issue: str) -> Mapping[str, int]:
        """Edition -> how many people would get it now."""
        from newsletter.app import editing

        return editing.audience(self, self.workspace.issue_name(issue))

    def status(self, issue: str) -> reports.StatusReport:
        """How far an issue is."""
        from newsletter.app import sending

        return sending.status(self, self.workspace.issue_name(issue))

    def deliveries(self, issue: str, state: str | None = None) -> list[outbox.DeliveryView]:
        """Who got it, who did not, and why."""
        from newsletter.app import sending

        return sending.deliveries(self, self.workspace.issue_name(issue), state)

    def retry(self, issue: str, state: str) -> int:
        """Let failed or doubtful deliveries go out again at the next `send`. Returns how many."""
        from newsletter.app import sending

        return sending.retry(self, self.workspace.issue_name(issue), state)

    def hold(self, issue: str, reason: str) -> None:
        """Stop an issue, also while it is being sent."""
        from newsletter.app import sending

        sending.hold(self, self.workspace.issue_name(issue), reason)

    def release(self, issue: str) -> str:
        """Let a held issue go on; returns its new state."""
        from newsletter.app import sending

        return sending.release(self, self.workspace.issue_name(issue))

    def cancel(self, issue: str, *, dry_run: bool = False) -> int:
        """Give an issue up before its first mail; its entries wait again. Returns how many."""
        from newsletter.app import issues

        return issues.cancel(self, self.workspace.issue_name(issue), dry_run=dry_run)

    # -- people --------------------------------------------------------------------------------------------------

    def import_subscribers(
        self,
        path: str | Path,
        newsletter: str | None = None,
        topics: Sequence[str] = (),
        state: str | None = None,
    ) -> intake.Imported:
        """As `subscribers import`."""
        from newsletter.app import people

        wanted = types.SubscriberState(state) if state else None
        return people.import_file(self, str(path), newsletter=newsletter, topics=topics, state=wanted)

    # -- the clock -----------------------------------------------------------------------------------------------

    def schedule(self, newsletter: str | None, start: dt.datetime, end: dt.datetime) -> list[reports.Event]:
        """What the schedule says will happen between two instants, in order."""
        from newsletter.app import issues

        return issues.schedule(self, newsletter, start, end)

    # -- the house -----------------------------------------------------------------------------------------------

    def doctor(self) -> list[reports.Line]:
        """Is everything in order? One line a thing."""
        from newsletter.app import health

        return health.doctor(self)

    def wall_clock(self) -> float:
        """Seconds since 1970 by the machine's clock: for leases and rates, which a rehearsal does not govern."""
        return time.time()


__all__ = ["Clock", "Newsletter", "errors", "open_app", "reports"]
