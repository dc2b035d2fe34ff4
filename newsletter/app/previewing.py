"""The editor's page, as values: an issue as it is now, the message as one reader gets it, and who would get it.

    Desk.look      the issue, opened anew when a file or its state changed; what keeps it from being read, with how it
                   last was
    Desk.letter    the very message of `render` and `send`, made by `editing.render_message`, taken apart to be shown
    Desk.assess    what `check` says, the editions, and how many people would get each
    Desk.send_test, Desk.approve   what the page may do, each with an application of its own

It looks at files and never writes one, and makes no database where there is none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import hashlib
import itertools
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from newsletter import addresses, config, errors, subscriberfile, types, workspace
from newsletter.app import Newsletter, checking, editing, letters, reports
from newsletter.store import issues, outbox
from newsletter.types import IssueState

NAMELESS = "nameless"  # the sample reader who gave no name
EXAMPLES = "subscribers/example.csv"
MOST_EXAMPLES = 25
KEPT = 16  # looks; a page shows one
Stamp = tuple[object, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class EditionView:
    """One set of topics. `people` None: there is no database to count them; `octets` None: it cannot be rendered."""

    topics: tuple[str, ...]
    title: str
    people: int | None
    octets: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """A reader who is nobody. `key` is what the page's address has; `is_example`: of the workspace's EXAMPLES."""

    key: str
    email: str
    name: str
    is_example: bool = False


SAMPLES = (Sample("", editing.SAMPLE[0], editing.SAMPLE[1]), Sample(NAMELESS, editing.SAMPLE[0], ""))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Look:
    """An issue as it is now. With `faults` it cannot be read, and `opened` is how it last could, if ever.

    `seal` changes with the draft, the templates, the settings and the issue's state.
    """

    name: str
    path: str
    seal: str
    faults: tuple[types.Finding, ...]
    opened: editing.Opened | None
    letters: dict[tuple[tuple[str, ...], str], letters.Letter] = dataclasses.field(default_factory=dict)

    @property
    def state(self) -> IssueState:
        """Where it stands; a file without a database is a draft."""
        row = self.opened.row if self.opened else None
        return IssueState(row.state) if row is not None else IssueState.DRAFT

    @property
    def approved(self) -> tuple[str, dt.datetime | None]:
        """(who approved it, when), where it is approved."""
        row = self.opened.row if self.opened else None
        return (row.approved_by or "", row.approved_at) if row is not None else ("", None)

    @property
    def reason(self) -> str:
        """Why it is held."""
        row = self.opened.row if self.opened else None
        return row.reason or "" if row is not None else ""

    @property
    def known(self) -> bool:
        """Is it in a database, so that it can be approved?"""
        return self.opened is not None and self.opened.row is not None

    @property
    def site(self) -> str:
        """The address of the public pages."""
        return self.opened.issue.base_url if self.opened else ""


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    look: Look
    files: Stamp
    database: Stamp
    facts: Stamp


class Desk:
    """The open workspace of an editor. Safe to use from several threads."""

    def __init__(self, app: Newsletter) -> None:
        self._app = app
        self._settings = _stat(app.workspace.path / config.FILE)
        self._wrong: errors.ConfigError | None = None
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._samples: tuple[Stamp, Sequence[Sample]] | None = None
        self._assessed: tuple[Stamp, reports.CheckReport, list[EditionView]] | None = None

    def close(self) -> None:
        """Give everything back."""
        self._app.close()

    # -- what there is -------------------------------------------------------------------------------------------

    @property
    def server(self) -> str:
        """The mail server that takes a test."""
        smtp = self._app.settings.smtp
        return f"{smtp.host}:{smtp.port}"

    def names(self) -> list[str]:
        """The issues that have a draft here, newest first."""
        drafts = (f"{path.parent.name}/{path.stem}" for path in self._app.workspace.drafts())
        return sorted(drafts, key=lambda name: (name.partition("/")[2], name), reverse=True)

    def newest(self) -> str | None:
        """The newest draft; None when there is none yet."""
        return next(iter(self.names()), None)

    def find(self, name: str) -> str:
        """An issue's name, from that or from a draft's path; raises `errors.NotFound` when there is no such issue."""
        found = self._app.workspace.issue_name(name)
        if not self.has(found):
            raise errors.NotFound(self.look(found).faults[0].message)
        return found

    def has(self, name: str) -> bool:
        """Is there such an issue, as a draft or in the database?"""
        return self._app.workspace.draft(name).exists() or self.look(name).opened is not None

    def folders(self) -> list[Path]:
        """Where files lie whose change is to be seen; each is to be watched for itself, not with what is below it."""
        place = self._app.workspace
        tops = [place.path / "issues", *place.template_folders]
        below = [Path(folder) for top in tops for folder, _, _ in os.walk(top)]
        return list(dict.fromkeys([place.path, *below]))

    def samples(self) -> Sequence[Sample]:
        """The readers that an issue can be seen as without being anybody's: ours, and those of EXAMPLES."""
        path = self._app.workspace.path / EXAMPLES
        stamp = _stat(path)
        if self._samples is None or self._samples[0] != stamp:
            self._samples = (stamp, (*SAMPLES, *(_examples(path) if stamp else ())))
        return self._samples[1]

    # -- looking -------------------------------------------------------------------------------------------------

    def look(self, name: str) -> Look:
        """The issue as it is now."""
        with self._lock:
            self._reopen()
            kept = self._kept.get(name)
            files, database = self._files(name), self._database()
            if kept is not None and kept.files == files:
                if kept.database == database:
                    return kept.look
                facts = self._facts(name)
                if facts == kept.facts:
                    self._keep(name, dataclasses.replace(kept, database=database))
                    return kept.look
            facts = self._facts(name)
            look = self._open(name, _digest(files, facts), kept.look if kept else None)
            self._keep(name, _Kept(look, files, database, facts))
            return look

    def _keep(self, name: str, kept: _Kept) -> None:
        self._kept.pop(name, None)
        self._kept[name] = kept
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def _reopen(self) -> None:
        """Take new settings in. While they are wrong, the old ones stand; `_open` says what is wrong."""
        stamp = _stat(self._app.workspace.path / config.FILE)
        if stamp == self._settings:
            return
        self._settings, self._wrong = stamp, None
        try:
            settings = config.load(self._app.workspace.path)
        except errors.ConfigError as error:
            self._wrong = error
            return
        self._app.close()
        self._app = Newsletter(settings, self._app.workspace, self._app.clock)

    def _open(self, name: str, seal: str, before: Look | None) -> Look:
        path = self._app.workspace.shown(self._app.workspace.draft(name))
        last = before.opened if before else None
        try:
            if self._wrong is not None:
                raise self._wrong
            opened = editing.open_issue(self._app, name)
            if not opened.topics:
                empty = types.Finding("issue-empty", "the issue has no entry and no text; write one", path)
                return Look(name, path, seal, (empty,), last)
            look = Look(name, path, seal, (), opened)
            self._letter(look, opened, opened.topics, "")
        except errors.NewsletterError as error:
            return Look(name, path, seal, tuple(checking.unreadable(error, path)), last)
        return look

    def _files(self, name: str) -> Stamp:
        place = self._app.workspace
        folders = dict.fromkeys(folder.resolve() for folder in place.template_folders)
        paths = [Path(folder) / file for top in folders for folder, _, files in os.walk(top) for file in files]
        wanted = [place.path / config.FILE, place.draft(name), *sorted(paths)]
        return tuple((str(path), _stat(path)) for path in wanted)

    def _database(self) -> Stamp:
        """Changes with every commit: SQLite's file, and the log that a commit is written to first."""
        url = self._app.settings.database_url
        if not url.startswith("sqlite"):
            return (time.monotonic(),)
        path = url.removeprefix("sqlite:///")
        return (_stat(Path(path)), _stat(Path(f"{path}-wal")))

    def _facts(self, name: str) -> Stamp:
        """What the database says of the issue that the page shows."""
        if not editing.has_database(self._app):
            return ()
        try:
            with self._app.store.read() as session:
                row = issues.find(session, name)
        except errors.StoreError as error:
            return (str(error),)
        return () if row is None else (row.state, row.reason, row.hash, row.approved_at, row.approved_by)

    # -- the message ---------------------------------------------------------------------------------------------

    def letter(self, look: Look, topics: Sequence[str] = (), reader: str = "") -> letters.Letter:
        """The message of an edition (topics that are not there are left out), or as a subscriber gets it.

        `reader` is a key of `samples`, or a subscriber's address.

        Raises `errors.NewsletterError` when it cannot be made.
        """
        if look.opened is None:
            raise errors.NotFound(f"{look.name} could not be read yet")
        chosen = tuple(topic for topic in look.opened.topics if topic in topics) or look.opened.topics
        return self._letter(look, look.opened, chosen, reader)

    def _letter(self, look: Look, opened: editing.Opened, topics: tuple[str, ...], reader: str) -> letters.Letter:
        found = look.letters.get((topics, reader))
        if found is not None:
            return found
        sample = next((each for each in self.samples() if each.key == reader), None)
        if sample is not None:
            made, html, text = editing.render_message(
                self._app, opened, reader=None, topics=topics, email=sample.email, name=sample.name
            )
        else:
            made, html, text = editing.render_message(self._app, opened, reader=reader, topics=())
            topics = self._topics_of(opened, reader)
        letter = letters.Letter(made.octets, html, text, opened.issue, topics, opened.letterhead.sender[0])
        if reader in ("", NAMELESS):  # a subscriber may choose other topics at any time
            look.letters[topics, reader] = letter
        return letter

    def _topics_of(self, opened: editing.Opened, reader: str) -> tuple[str, ...]:
        with self._app.store.read() as session:
            person = outbox.person(session, addresses.parse(reader).norm, opened.newsletter.slug)
        return tuple(topic for topic in opened.topics if person is not None and topic in person.topics)

    # -- the checks, and who would get it ------------------------------------------------------------------------

    def assess(self, look: Look) -> tuple[reports.CheckReport, list[EditionView]]:
        """What `check` says (of an issue that cannot be read, its faults), and its editions, the whole one first."""
        stamp = (look.name, look.seal, self._database())
        kept = self._assessed
        if kept is None or kept[0] != stamp:
            report = self._report(look)
            kept = self._assessed = (stamp, report, list(self._editions(look, report)))
        return kept[1], kept[2]

    def _report(self, look: Look) -> reports.CheckReport:
        if look.faults or look.opened is None:
            return reports.CheckReport(ok=False, errors=list(look.faults), warnings=[], size={})
        try:
            return editing.check_opened(self._app, look.opened)
        except errors.NewsletterError as error:
            return reports.CheckReport(ok=False, errors=checking.unreadable(error, look.path), warnings=[], size={})

    def _editions(self, look: Look, report: reports.CheckReport) -> Iterator[EditionView]:
        """Every edition that somebody would get."""
        opened = look.opened
        if opened is None:
            return
        people: dict[tuple[str, ...], int] = {}
        if opened.row is not None:
            with self._app.store.read() as session:
                people = outbox.audience(session, opened.newsletter.slug, opened.topics, self._app.clock.now())
        titles = {section.slug: section.title for section in opened.issue.sections}
        for topics in dict.fromkeys([opened.topics, *people]):
            whole = topics == opened.topics and len(topics) > 1
            title = "all topics" if whole else ", ".join(titles[topic] for topic in topics)
            count = people.get(topics, 0) if opened.row is not None else None
            yield EditionView(topics, title, count, report.size.get(",".join(topics)))

    # -- acting --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _own(self) -> Iterator[Newsletter]:
        """An application for one act, so that the page goes on meanwhile."""
        app = Newsletter(self._app.settings, self._app.workspace, self._app.clock)
        try:
            yield app
        finally:
            app.close()

    def send_test(self, name: str, address: str) -> str | None:
        """Send the issue as it is now to one address, as `send --test` does; returns what went wrong, or None."""
        with self._own() as app:
            [(_, trouble)] = app.send_test(name, [address])
        return trouble

    def approve(self, name: str, seal: str, by: str) -> reports.ApproveReport:
        """Freeze the issue that was looked at; raises `errors.StateError` when it is not what it was then."""
        if self.look(name).seal != seal:
            raise errors.StateError(f"{name} changed while you looked at it; read it again, then approve it")
        with self._own() as app:
            return app.approve(name, by)


def _stat(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _examples(path: Path) -> Iterator[Sample]:
    """The first of a file; one that cannot be read has none, and `subscribers import` says what is wrong with it."""
    try:
        people = subscriberfile.read(path.read_bytes())
    except (OSError, errors.UsageError):
        return
    rows = (row for row in people if isinstance(row, subscriberfile.Row))
    for row in itertools.islice(rows, MOST_EXAMPLES):
        yield Sample(f"example:{row.address.email}", row.address.email, row.name, is_example=True)


def is_name(text: str) -> bool:
    """Is it an issue's name, like `weekly/2026-09-11`?"""
    return re.fullmatch(rf"[a-z0-9-]+/{workspace.PERIOD.pattern}", text) is not None
