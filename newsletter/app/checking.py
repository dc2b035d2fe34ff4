"""`check`: an issue and every edition of it that somebody would get, as they would be sent, and what is around them.

    the issue's words, once          render.check.of_issue
    each edition, each message       render.check.of_edition, of_message: on the octets that `send` would hand over
    what the rest knows              settings, audience, sources, earlier issues, what changed after approval
    only when asked                  reaching (do links answer?), judging (SpamAssassin)

`approve` and `send` look too, without the last line. Nothing here makes a database where there is none.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from newsletter import compose as composition
from newsletter import config, errors, issuefile, types
from newsletter.app import health, holders, judging, reports
from newsletter.app.opening import FROZEN, Opened, drift, open_issue, sample
from newsletter.deliver import message
from newsletter.render import check as preflight
from newsletter.render.check import places
from newsletter.render.check.rules import found
from newsletter.store import issues, outbox
from newsletter.tokens import Purpose
from newsletter.types import IssueState

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

Findings = Iterator[types.Finding]
Topics = tuple[str, ...]
RETRIED = dt.timedelta(days=1)
CHANGE, FEW = 0.2, 10  # a share of the people, and how many of an edition's it takes
_EXAMPLE = re.compile(
    r"(?:.*\.)?(?:example\.(?:com|net|org)|example|test|invalid|localhost)", re.IGNORECASE
)  # RFC 2606
_EXAMPLE_STREET = re.compile(r"\b1 example street\b", re.IGNORECASE)  # what `init` writes


def check(
    app: App,
    name: str,
    *,
    online: bool = False,
    spam: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> reports.CheckReport:
    """Every edition that somebody would get now, and the one with all topics; or what is wrong with the files.

    `online`: try every link (`progress` is told how many are done), and ask SpamAssassin where it is installed;
    `spam`: ask SpamAssassin.
    """
    try:
        opened = open_issue(app, name)
        report = check_opened(app, opened)
    except (errors.DraftError, errors.TemplateError, errors.HeaderError) as error:
        draft = app.workspace.shown(app.workspace.draft(name))
        return reports.CheckReport(ok=False, errors=unreadable(error, draft), warnings=[], size={})
    if not opened.topics:
        return report
    more: list[types.Finding] = []
    if online:
        from newsletter.app import reaching  # brings HTTP, which takes a tenth of a second to load

        more += reaching.check(app, _texts(app, opened), opened.issue, where_of(app, opened), progress)
    score = None
    if spam or (online and judging.installed()):
        encoded = message.encode(opened.edition(opened.topics), opened.letterhead)
        made = _built(app, opened, encoded, 0, app.clock.now())
        score, said = judging.check(made.octets)
        more += said
    return dataclasses.replace(report, warnings=list(dict.fromkeys([*report.warnings, *more])), spam=score)


def unreadable(error: errors.NewsletterError, path: str) -> list[types.Finding]:
    """What keeps an issue from being opened or rendered, each with its file and line as far as that is known.

    `path` is its draft's.
    """
    match error:
        case errors.DraftError():
            return [types.Finding("draft", what, f"{error.path}:{line}") for line, what in error.problems]
        case errors.TemplateError():
            where = f"templates/{error.name}" + (f":{error.line}" if error.line else "")
            return [types.Finding("template", str(error).removeprefix(f"{where}: "), where)]
        case errors.ConfigError():
            return [types.Finding("settings", problem, config.FILE) for problem in error.problems]
        case errors.HeaderError():
            return [types.Finding("header", str(error), "header")]
        case errors.StoreError():
            return [types.Finding("database", str(error))]
    return [types.Finding("issue", str(error), path)]


def check_opened(app: App, opened: Opened) -> reports.CheckReport:
    """As `check`, of an issue that is open, without what is only looked at when asked."""
    if not opened.topics:
        empty = found("issue-empty", "the issue has no entry and no text", opened.name)
        return reports.CheckReport(ok=False, errors=[empty], warnings=[], size={})
    where = places_of(app, opened)
    audience = audience_of(app, opened)
    size: dict[str, int] = {}
    seen: dict[types.Finding, list[Topics]] = {}
    for topics in dict.fromkeys([opened.topics, *audience]):
        said, size[",".join(topics)] = _edition(app, opened, opened.edition(topics), where)
        for finding in said:
            seen.setdefault(finding, []).append(topics)
    mistakes, doubts = preflight.parted(
        [
            *preflight.of_issue(opened.issue, where),
            *(_placed(finding, topics, len(size)) for finding, topics in seen.items()),
            *_relay(app, opened),
            *_audience(app, opened, audience),
            *_gone(app, opened),
            *_again(app, opened, where),
            *_changes(app, opened),
            *_silences(app, opened),
        ]
    )
    return reports.CheckReport(ok=not mistakes, errors=mistakes, warnings=doubts, size=size)


def refuse_bad(app: App, opened: Opened, edition: types.Edition) -> None:
    """Raise `errors.CheckError` when an edition that is first needed during a send may not go out."""
    mistakes, _ = preflight.parted(_edition(app, opened, edition, places_of(app, opened))[0])
    if mistakes:
        raise errors.CheckError(opened.name, [f"  {each.code}: {each.message}" for each in mistakes])


def _edition(app: App, opened: Opened, edition: types.Edition, where: places.Places) -> tuple[list[types.Finding], int]:
    """(what is to be said of an edition and of the octets it is sent as, the size of its HTML)."""
    reader = sample(app, opened)
    page, text = message.filled(edition, opened.letterhead, reader)
    leave = message.personal_links(opened.letterhead, reader)["unsubscribe_url"]
    said = preflight.of_edition(edition, opened.issue, html=page, text=text, leave=leave, places=where)
    return [*said, *_message(app, opened, edition)], len(page.encode())


def _placed(finding: types.Finding, editions: list[Topics], of: int) -> types.Finding:
    """A finding with the editions that it is about, unless that is all of them."""
    if len(editions) == of:
        return finding
    named = ", ".join("+".join(topics) for topics in editions[:3]) + (" …" if len(editions) > 3 else "")
    return dataclasses.replace(finding, where=f"{finding.where}, edition {named}")


def places_of(app: App, opened: Opened) -> places.Places:
    """Where the issue's parts stand in its draft, as long as the file is what was approved."""
    draft = opened.draft
    if draft is None and opened.row is not None and opened.row.draft_text and drift(app, opened.row) is None:
        draft = issuefile.read(opened.row.draft_text, opened.name)
    return places.of(draft, app.workspace.shown(app.workspace.draft(opened.name))) if draft else places.Places()


def where_of(app: App, opened: Opened) -> dict[str, str]:
    """The address of a link -> where the draft has it."""
    return preflight.linked(opened.issue, places_of(app, opened))


# -- one edition's message -----------------------------------------------------------------------------------------


def _message(app: App, opened: Opened, edition: types.Edition) -> Findings:
    """The octets of three messages: a sample reader's, the same tried again the next day, and another reader's."""
    now = app.clock.now()
    try:
        encoded = message.encode(edition, opened.letterhead)
        made, again, other = (
            _built(app, opened, encoded, number, at) for number, at in ((0, now), (0, now + RETRIED), (1, now))
        )
    except errors.HeaderError as error:
        yield types.Finding("header", str(error), "header")
        return
    yield from preflight.of_message(made.octets, now)
    yield from preflight.of_copies(made.octets, again.octets, other.octets)


def _built(app: App, opened: Opened, encoded: message.Encoded, number: int, at: dt.datetime) -> message.Message:
    """What the sample reader of that number would get."""
    token = app.signer.sign(Purpose.MESSAGE_ID, number, opened.issue_id)
    return message.build(encoded, sample(app, opened, number=number), message_token=token, at=at)


def _texts(app: App, opened: Opened) -> list[str]:
    """The HTML of every edition."""
    sets = dict.fromkeys([opened.topics, *audience_of(app, opened)])
    return [message.filled(opened.edition(topics), opened.letterhead, sample(app, opened))[0] for topics in sets]


# -- the settings --------------------------------------------------------------------------------------------------


def _relay(app: App, opened: Opened) -> Findings:
    """What a mail server that is not this machine must not be given: a workspace as `init` left it."""
    if config.is_loopback(app.settings.smtp.host):
        return
    head = opened.letterhead
    mailboxes = {
        "from": head.sender[1].rpartition("@")[2],
        "reply_to": head.reply_to[1].rpartition("@")[2] if head.reply_to else "",
        "bounce_domain": head.bounce_domain or "",
    }
    relay = app.settings.smtp.host
    for key, domain in mailboxes.items():
        if _EXAMPLE.fullmatch(domain):
            what = f"{key} is at {domain}, an example's domain, and {relay} is a real mail server"
            yield found("example-sender", what, config.FILE, f"set {key} in {config.FILE}")
    if _EXAMPLE_STREET.search(opened.issue.postal_address):
        what = f"postal_address is still {opened.issue.postal_address!r}, and {relay} is a real mail server"
        yield found("example-address", what, config.FILE)
    if config.is_loopback(head.host):
        what = f"site.base_url is {head.base_url}, this very machine, and {relay} is a real mail server"
        yield found("loopback-url", what, config.FILE)
    elif _EXAMPLE.fullmatch(head.host):
        what = f"site.base_url is {head.base_url}, an example's, and {relay} is a real mail server"
        yield found("example-url", what, config.FILE)


# -- the database --------------------------------------------------------------------------------------------------


def audience_of(app: App, opened: Opened) -> dict[Topics, int]:
    """Set of topics -> how many people would get that edition now; empty where there is no database."""
    if opened.row is None:
        return {}
    with app.store.read() as session:
        return outbox.audience(session, opened.newsletter.slug, opened.topics, app.clock.now())


def _audience(app: App, opened: Opened, now: dict[Topics, int]) -> Findings:
    """Who would get it, against who got the last one."""
    if opened.row is None or opened.row.state == IssueState.SENT:
        return
    if not any(now.values()):
        what = f"nobody would get this issue: no active subscriber has one of its topics ({', '.join(opened.topics)})"
        yield found("audience-empty", what, opened.name)
        return
    drafted = [section.slug for section in opened.issue.sections if section.slug in opened.topics and section.entries]
    for slug in drafted:
        if not any(slug in topics for topics in now):
            yield found("audience-topic", f"nobody who would get this issue has the topic {slug}", opened.name)
    with app.store.read() as session:
        last = issues.last_sent(session, opened.newsletter.slug, opened.name)
    if last is None:
        return
    name, before = last
    yield from _change(opened.name, "this issue", sum(now.values()), name, sum(before.values()), least=1)
    for topics in now.keys() & before.keys():
        edition = f"its edition {'+'.join(topics)}"
        yield from _change(opened.name, edition, now[topics], name, before[topics], least=FEW)


def _change(where: str, what: str, now: int, name: str, before: int, *, least: int) -> Findings:
    if before and abs(now - before) > CHANGE * before and abs(now - before) >= least:
        told = f"{now:,} would get {what}, {before:,} got {name}: {(now - before) / before:+.0%}"
        yield found("audience-changed", told, where)


def _gone(app: App, opened: Opened) -> Findings:
    """Topics that people hold and the settings have no more: who holds them would get nothing."""
    if opened.row is None or opened.row.state != IssueState.DRAFT:
        return
    with app.store.read() as session:
        gone = holders.gone(session, app.settings, opened.newsletter.slug)
    for place, people in gone.items():
        yield found("topic-gone", holders.say_gone(place, people, app.settings), config.FILE)


def _again(app: App, opened: Opened, where: places.Places) -> Findings:
    """A subject that readers know already."""
    if opened.row is None or opened.row.state == IssueState.SENT:
        return
    with app.store.read() as session:
        earlier = issues.with_subject(session, opened.newsletter.slug, opened.issue.subject, opened.name)
    if earlier is not None:
        yield found("subject-again", f"{earlier} had the same subject", where.of_key("subject"))


def _changes(app: App, opened: Opened) -> Findings:
    """What changed since the approval: it changes nothing that is sent, and that should be known."""
    if opened.row is None or opened.row.state not in FROZEN:
        return
    advice = "what was approved is sent; `newsletter unapprove` thaws it as long as nothing is planned"
    path = app.workspace.draft(opened.name)
    shown = app.workspace.shown(path)
    if not path.exists():
        yield found("draft-missing", "the draft is gone", shown, advice)
    elif drift(app, opened.row) is not None:
        yield found("draft-differs", "the draft was edited after approval", shown, advice)
    now = composition.identity(opened.newsletter, app.settings.site.base_url)
    names = {"sender": "from", "base_url": "site.base_url"}
    changed = [names.get(field, field) for field, value in now.items() if getattr(opened.issue, field) != value]
    if changed:
        yield found("settings-differ", f"{', '.join(changed)} changed after approval", config.FILE, advice)


def _silences(app: App, opened: Opened) -> Findings:
    """Sources that may have kept something from an issue that is not sent yet."""
    if opened.row is None or opened.row.state == IssueState.SENT:
        return
    with app.store.read() as session:
        silent = health.silent(session, opened.newsletter, opened.row.cutoff_at, opened.name)
    for source in silent:
        what = f"{source.url} ({', '.join(source.topics)}): {source.why}; the issue may lack something of it"
        yield found("source-silent", what, health.place(app, source.url))
