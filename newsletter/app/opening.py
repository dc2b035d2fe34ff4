"""An issue opened: what is frozen when it is approved, else its draft, with all that its messages are made from."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import compose as composition
from newsletter import config, deliver, errors, issuefile, render, tokens, types
from newsletter.app import composing
from newsletter.deliver import dkim, message
from newsletter.store import issues, tables
from newsletter.types import IssueState

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

SAMPLE = ("reader@example.org", "A Reader")
FROZEN = (IssueState.APPROVED, IssueState.SENDING, IssueState.SENT, IssueState.HELD)


@dataclasses.dataclass(frozen=True, slots=True)
class Opened:
    """An issue with all that its messages are made from. `row` None: there is no database, only the file."""

    name: str
    newsletter: config.Newsletter
    issue: types.Issue
    templates: render.Templates
    letterhead: message.Letterhead
    row: tables.Issue | None
    draft: types.Draft | None = None
    text: str | None = None
    editions: dict[tuple[str, ...], types.Edition] = dataclasses.field(default_factory=dict)

    @property
    def issue_id(self) -> int:
        """The row's id; 0 in a clone without a database."""
        return self.row.id or 0 if self.row is not None else 0

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that have something in this issue: those of the settings when it was approved, in its order."""
        slugs = [section.slug for section in self.issue.sections]
        return tuple(slug for slug in slugs if render.select(self.issue, (slug,)).sections)

    def edition(self, topics: Sequence[str]) -> types.Edition:
        """The frozen edition, else one rendered now (from what is frozen, if the issue is)."""
        key = tuple(topics)
        found = self.editions.get(key)
        if found is None:
            found = self.editions[key] = render.edition(self.issue, key, self.templates)
        return found


def open_issue(app: App, name: str) -> Opened:
    """Open an issue: what is frozen when it is approved, else its draft."""
    try:
        newsletter = app.settings.newsletter_of(name.partition("/")[0])
    except errors.UnknownNewsletter as error:  # an issue that is not there, rather than an option that makes no sense
        raise errors.NotFound(str(error)) from None
    lend_key(app)
    row: tables.Issue | None = None
    if has_database(app):
        with app.store.read() as session:
            row = issues.find(session, name)
            if row is not None and row.state in FROZEN and row.frozen is not None:
                return _frozen(app, session, name, newsletter, row)
            if row is not None and row.state == IssueState.CANCELLED:
                raise errors.StateError(f"{name} is cancelled")
            known = composing.claimed(session, newsletter, row) if row is not None else {}
    path = app.workspace.draft(name)
    shown = app.workspace.shown(path)
    if row is None and not path.exists():
        raise errors.NotFound(f"there is no issue {name}; `newsletter issues` lists them")
    data = composing.read_draft(app, path)
    draft = issuefile.read_bytes(data, shown)
    issue = composition.issue_of(
        draft,
        newsletter,
        period=name.partition("/")[2],
        base_url=app.settings.site.base_url,
        path=shown,
        claims=known if row is not None else None,
    )
    templates = render.Templates.load(app.workspace.template_folders)
    return Opened(name, newsletter, issue, templates, _letterhead(app, issue), row, draft, data.decode())


def _frozen(app: App, session: Session, name: str, newsletter: config.Newsletter, row: tables.Issue) -> Opened:
    issue = issuefile.thaw(row.frozen or "")
    return Opened(
        name,
        newsletter,
        issue,
        render.Templates(row.templates or {}),
        _letterhead(app, issue),
        row,
        editions={topics: edition for topics, (_, edition) in issues.editions(session, row).items()},
    )


def has_database(app: App) -> bool:
    """Is there a database yet? Looking at a draft must not make one."""
    path = app.settings.database_url.removeprefix("sqlite:///")
    return "store" in app.__dict__ or not app.settings.database_url.startswith("sqlite") or Path(path).exists()


def _letterhead(app: App, issue: types.Issue) -> message.Letterhead:
    keys = [dkim.load(key.domain, key.selector, app.workspace.path / key.key_file) for key in app.settings.dkim]
    return message.letterhead(issue, keys)


def lend_key(app: App) -> None:
    """A clone has no key, and nothing in it was ever signed: its samples are signed with any."""
    try:
        _ = app.signer
    except errors.WorkspaceError:
        if has_database(app):
            raise
        app.signer = tokens.Signer([secrets.token_bytes(32)])


def sample(
    app: App, opened: Opened, email: str | None = None, *, name: str | None = None, number: int = 0
) -> types.Recipient:
    """Nobody: subscriber 0, whose links say that this is a test. `number` tells samples apart that are compared."""
    shown = name if name is not None else "" if email else SAMPLE[1]
    return deliver.recipient_of(app.signer, opened.issue_id, subscriber_id=number, email=email or SAMPLE[0], name=shown)


def drift(app: App, row: tables.Issue) -> list[str] | None:
    """The difference between a draft and what was approved, as the lines of a diff; None when there is none."""
    import difflib

    name = f"{row.newsletter}/{row.period}"
    path = app.workspace.draft(name)
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None  # what was approved is in the database
    if _canonical(text) == _canonical(row.draft_text or ""):
        return None
    shown = app.workspace.shown(path)
    old, new = _canonical(row.draft_text or "").splitlines(), _canonical(text).splitlines()
    return list(difflib.unified_diff(old, new, f"{shown} (approved)", f"{shown} (now)", lineterm="", n=1))


def _canonical(text: str) -> str:
    return text.lstrip("\ufeff").replace("\r\n", "\n").rstrip("\n")
