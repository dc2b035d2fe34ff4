"""The editor's verbs: check, approve, render. All of them, and sending, build a message in the same way.

opening     an issue with all that its messages are made from
checking    what is wrong with it, as it would be sent
here        approve, thaw, what changed since, and the message of one reader
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from newsletter import addresses, deliver, errors, issuefile, types
from newsletter.app import reports
from newsletter.app.checking import audience_of, check, check_opened
from newsletter.app.opening import FROZEN, SAMPLE, Opened, drift, has_database, open_issue, sample
from newsletter.deliver import message
from newsletter.store import claims, issues, outbox
from newsletter.tokens import Purpose
from newsletter.types import IssueState

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

__all__ = [
    "FROZEN", "SAMPLE", "Opened", "approve", "audience", "check", "check_opened", "drift", "has_database", "open_issue",
    "render_issue", "render_message", "unapprove",
]  # fmt: skip


def audience(app: App, name: str) -> Mapping[str, int]:
    """Edition -> how many people would get it now."""
    return {",".join(topics): count for topics, count in audience_of(app, open_issue(app, name)).items()}


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
        sets = outbox.audience(session, opened.newsletter.slug, opened.topics, now)
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
        approved_by=by,
        approved_at=now,
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


# -- render --------------------------------------------------------------------------------------------------------


def render_message(
    app: App,
    opened: Opened,
    *,
    reader: str | None,
    topics: Sequence[str],
    email: str | None = None,
    name: str | None = None,
) -> tuple[message.Message, str, str]:
    """(message, HTML, text): for a subscriber, or for a sample reader of `topics` (none: of all), at `email`."""
    if reader is not None:
        return _for_subscriber(app, opened, reader)
    for topic in topics:
        opened.newsletter.topic_of(topic)
    chosen = tuple(slug for slug in opened.topics if slug in topics) if topics else opened.topics
    if not chosen:
        raise errors.NotFound(f"{opened.name} has nothing for {', '.join(topics) or 'anybody'}")
    recipient = sample(app, opened, email, name=name)
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
