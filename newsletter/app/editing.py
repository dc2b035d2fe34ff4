"""The editor's verbs: check, approve, render. All of them, and sending, build a message in the same way."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import addresses, config, deliver, errors, issuefile, render, types
from newsletter import compose as composition
from newsletter.app import composing, health, reports
from newsletter.deliver import dkim, message
from newsletter.render import check as preflight
from newsletter.store import claims, issues, outbox, tables
from newsletter.tokens import Purpose
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
    newsletter = app.settings.newsletter_of(name.partition("/")[0])
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


# -- check ---------------------------------------------------------------------------------------------------------


def check(app: App, name: str) -> reports.CheckReport:
    """Every edition that somebody would get now, and the one with all topics; or what is wrong with the files."""
    try:
        return check_opened(app, open_issue(app, name))
    except errors.DraftError as error:
        bad = [types.Finding("draft", what, f"{error.path}:{line}") for line, what in error.problems]
    except errors.TemplateError as error:
        bad = [types.Finding("template", str(error), f"templates/{error.name}")]
    return reports.CheckReport(ok=False, errors=bad, warnings=[], size={})


def check_opened(app: App, opened: Opened) -> reports.CheckReport:
    """As `check`."""
    sets = dict.fromkeys([opened.topics, *_audience(app, opened)])
    bad: dict[types.Finding, None] = {}
    warned: dict[types.Finding, None] = {}
    size: dict[str, int] = {}
    if not opened.topics:
        bad[
            types.Finding("issue-empty", "the issue has no entry and no text; write one, or cancel it", opened.name)
        ] = None
        return reports.CheckReport(ok=False, errors=list(bad), warnings=[], size={})
    for topics in sets:
        edition = opened.edition(topics)
        page, text = message.filled(edition, opened.letterhead, _sample(app, opened))
        size[",".join(topics)] = len(page.encode())
        try:
            message.build(
                message.encode(edition, opened.letterhead),
                _sample(app, opened),
                message_token=app.signer.sign(Purpose.MESSAGE_ID, 0, opened.issue_id),
                at=app.clock.now(),
            )
        except errors.HeaderError as error:
            bad[types.Finding("header", str(error), opened.name)] = None
        mistakes, doubts = preflight.check(edition, opened.issue, html=page, text=text)
        bad.update(dict.fromkeys(mistakes))
        warned.update(dict.fromkeys(doubts))
    if opened.row is not None and not any(_audience(app, opened).values()):
        nobody = f"nobody would get this issue: no active subscriber has one of its topics ({', '.join(opened.topics)})"
        warned[types.Finding("audience-empty", nobody, opened.name)] = None
    warned.update(dict.fromkeys(_changes(app, opened)))
    warned.update(dict.fromkeys(_silences(app, opened)))
    return reports.CheckReport(ok=not bad, errors=list(bad), warnings=list(warned), size=size)


def _changes(app: App, opened: Opened) -> Iterator[types.Finding]:
    """What changed since the approval: it changes nothing that is sent, and that should be known."""
    if opened.row is None or opened.row.state not in FROZEN:
        return
    path = app.workspace.draft(opened.name)
    advice = "what was approved is sent; `newsletter unapprove` thaws it as long as nothing is planned"
    if not path.exists():
        yield types.Finding("draft-missing", f"the draft is gone; {advice}", app.workspace.shown(path))
    elif drift(app, opened.row) is not None:
        yield types.Finding(
            "draft-differs", f"the draft was edited after approval; {advice}", app.workspace.shown(path)
        )
    now = opened.newsletter
    before = opened.issue
    pairs = {
        "from": (before.sender, now.sender),
        "reply_to": (before.reply_to, now.reply_to),
        "bounce_domain": (before.bounce_domain, now.bounce_domain),
        "title": (before.title, now.title),
        "postal_address": (before.postal_address, now.postal_address),
        "site.base_url": (before.base_url, app.settings.site.base_url),
    }
    changed = [key for key, (was, is_now) in pairs.items() if was != is_now]
    if changed:
        yield types.Finding(
            "settings-differ", f"{', '.join(changed)} changed after approval; {advice}", "newsletter.toml"
        )


def _silences(app: App, opened: Opened) -> Iterator[types.Finding]:
    """Sources that may have kept something from an issue that is not sent yet."""
    if opened.row is None or opened.row.state == IssueState.SENT:
        return
    with app.store.read() as session:
        found = health.silent(session, opened.newsletter, opened.row.cutoff_at, opened.name)
    for source in found:
        text = f"{source.url} ({', '.join(source.topics)}): {source.why}; the issue may lack something of it"
        yield types.Finding("source-silent", text, health.place(app, source.url))


def _audience(app: App, opened: Opened) -> dict[tuple[str, ...], int]:
    if opened.row is None:
        return {}
    with app.store.read() as session:
        return outbox.audience(session, opened.newsletter.slug, opened.topics)


def audience(app: App, name: str) -> Mapping[str, int]:
    """Edition -> how many people would get it now."""
    return {",".join(topics): count for topics, count in _audience(app, open_issue(app, name)).items()}


# -- approve -------------------------------------------------------------------------------------------------------


def approve(app: App, name: str, by: str) -> reports.ApproveReport:
    """Freeze the draft, the templates and every edition of the present audience."""
    with app.store.read() as session:
        issues.require(issues.get(session, name), [IssueState.DRAFT], "only a draft can be approved")
    opened = open_issue(app, name)
    found = check_opened(app, opened)
    if not found.ok or opened.draft is None or opened.text is None:
        raise errors.CheckError(name, [_line(finding) for finding in found.errors])
    refs = {block.ref for section in opened.draft.sections for block in section.blocks if block.ref}
    now = app.clock.now()
    with app.store.write() as session:
        row = issues.get(session, name)
        issues.require(row, [IssueState.DRAFT], "only a draft can be approved")
        sets = outbox.audience(session, opened.newsletter.slug, opened.topics)
        _, dropped = claims.settle(session, row, refs, now)
        issues.freeze(
            session,
            row,
            draft_text=opened.text,
            frozen=issuefile.freeze(opened.issue),
            templates=opened.templates.as_dict(),
            editions=[opened.edition(topics) for topics in dict.fromkeys([opened.topics, *sets])],
            subject=opened.issue.subject,
            by=by,
            now=now,
        )
        digest = row.hash or ""
    return reports.ApproveReport(
        issue=name,
        state=IssueState.APPROVED.value,
        hash=digest,
        entries=sum(len(section.entries) for section in opened.issue.sections),
        dropped=dropped,
        audience={",".join(topics): count for topics, count in sets.items()},
        warnings=found.warnings,
    )


def _line(finding: types.Finding) -> str:
    return f"  {finding.code}: {finding.message}" + (f" ({finding.where})" if finding.where else "")


def unapprove(app: App, name: str) -> None:
    """Thaw an approved issue, as long as nothing is planned."""
    with app.store.write() as session:
        row = issues.get(session, name)
        issues.require(row, [IssueState.APPROVED], "only an approved issue that is not being sent can be thawed")
        claims.unsettle(session, row, app.clock.now())
        issues.thaw(session, row)


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


# -- render --------------------------------------------------------------------------------------------------------


def render_message(
    app: App, opened: Opened, *, reader: str | None, topics: Sequence[str], email: str | None = None
) -> tuple[message.Message, str, str]:
    """(message, HTML, text): for a subscriber, or for a sample reader (at `email`) of `topics` (none: of all)."""
    if reader is not None:
        return _for_subscriber(app, opened, reader)
    for topic in topics:
        opened.newsletter.topic_of(topic)
    chosen = tuple(slug for slug in opened.topics if slug in topics) if topics else opened.topics
    if not chosen:
        raise errors.NotFound(f"{opened.name} has nothing for {', '.join(topics) or 'anybody'}")
    recipient = _sample(app, opened, email)
    token = app.signer.sign(Purpose.MESSAGE_ID, 0, opened.issue_id)
    return _built(opened, opened.edition(chosen), recipient, token, app.clock.now())


def render_issue(app: App, name: str, *, reader: str | None, topics: Sequence[str]) -> tuple[message.Message, str, str]:
    """As `render_message`, by the issue's name."""
    return render_message(app, open_issue(app, name), reader=reader, topics=topics)


def _for_subscriber(app: App, opened: Opened, reader: str) -> tuple[message.Message, str, str]:
    """The very octets that this subscriber got, or would get now."""
    if opened.row is None:
        raise errors.NotFound(f"there is no database here, so {reader!r} is not known; --topics renders for a sample")
    norm = addresses.parse(reader).norm
    with app.store.read() as session:
        found = outbox.person(session, norm, opened.newsletter.slug)
        if found is None:
            raise errors.NotFound(f"{reader} is no subscriber; `newsletter subscribers list` shows them")
        made = outbox.made(session, opened.issue_id, found.id)
        if made is not None:
            edition = next(
                (each for each_id, each in issues.editions(session, opened.row).values() if each_id == made.edition_id),
                None,
            )
        else:
            edition = None
    if edition is None:
        chosen = tuple(topic for topic in opened.topics if topic in found.topics)
        if not chosen:
            raise errors.NotFound(f"{reader} has none of this issue's topics ({', '.join(opened.topics)})")
        edition = opened.edition(chosen)
    at = made.sending_at if made is not None and made.sending_at else app.clock.now()
    recipient = deliver.recipient_of(
        app.signer,
        opened.issue_id,
        subscriber_id=found.id,
        email=found.email,
        name=made.rcpt_name if made is not None and made.rcpt_name is not None else found.name,
        version=found.token_version,
        key_id=made.token_key if made is not None else None,
    )
    if made is not None and made.message_id:
        token = made.message_id.strip("<>").rpartition("@")[0]
    else:
        token = app.signer.sign(Purpose.MESSAGE_ID, found.id, opened.issue_id)
    return _built(opened, edition, recipient, token, at)


def _built(
    opened: Opened, edition: types.Edition, recipient: types.Recipient, token: str, at: dt.datetime
) -> tuple[message.Message, str, str]:
    encoded = message.encode(edition, opened.letterhead)
    made = message.build(encoded, recipient, message_token=token, at=at.replace(microsecond=0))
    return made, *message.filled(edition, opened.letterhead, recipient)


def _sample(app: App, opened: Opened, email: str | None = None) -> types.Recipient:
    """Nobody: subscriber 0, whose links say that this is a test."""
    return deliver.recipient_of(
        app.signer, opened.issue_id, subscriber_id=0, email=email or SAMPLE[0], name="" if email else SAMPLE[1]
    )
