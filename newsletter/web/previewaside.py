"""What stands beside the message on the editor's page: checks, editions, readers, acts, links, keys. Pure."""

from __future__ import annotations

import collections
import html
import re
from collections.abc import Sequence

from newsletter import types
from newsletter.app import previewing, reports
from newsletter.types import IssueState
from newsletter.web import previewsheet

CLIP = 102_400  # octets of HTML after which Gmail cuts a message
NEAR = 90_000
PLACES = 3  # of one finding, before the others are folded away


def aside(sheet: previewsheet.Sheet) -> str:
    """All of it."""
    parts = (_checks, _editions, _reader, _test, _approval, _links, _keys)
    return "".join(part(sheet) for part in parts)


def _section(name: str, title: str, body: str) -> str:
    return (
        f'<section id="{name}" data-part="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{title}</h2>{body}</section>'
    )


def _checks(sheet: previewsheet.Sheet) -> str:
    bad, warned = sheet.report.errors, sheet.report.warnings
    if sheet.look.faults:
        return _section(
            "checks", counted(sheet.report), '<p class="quiet">The rest is checked when it can be read.</p>'
        )
    if not bad and not warned:
        return _section("checks", "Checks", '<p class="good">Nothing to mend.</p>')
    told = findings(bad, "error", "checks") + findings(warned, "warning", "checks")
    stops = '<p class="quiet">Errors stop approval.</p>' if bad else ""
    return _section("checks", counted(sheet.report), told + stops)


def counted(report: reports.CheckReport) -> str:
    """How much was found."""
    counts = [
        f"{len(found)} {word}{'' if len(found) == 1 else 's'}"
        for found, word in ((report.errors, "error"), (report.warnings, "warning"))
        if found
    ]
    return ", ".join(counts) or "nothing to mend"


def findings(given: Sequence[types.Finding], kind: str, part: str) -> str:
    """What was found, the same thing at several places once."""
    places: dict[tuple[str, str], list[str]] = {}
    for found in given:
        places.setdefault((found.code, found.message), []).append(found.where)
    items = [
        f'<li class="{kind}"><span class="kind">{kind.capitalize()} · {html.escape(code)}</span> '
        f"{previewsheet.coded(message)}{_where(wheres, f'{part}-{kind}-{number}')}</li>"
        for number, ((code, message), wheres) in enumerate(places.items())
    ]
    return f'<ul class="findings">{"".join(items)}</ul>' if items else ""


def _where(places: Sequence[str], name: str) -> str:
    shown = [f'<code dir="ltr">{html.escape(place)}</code>' for place in places if place]
    first, more = shown[:PLACES], shown[PLACES:]
    rest = (
        f'<details class="where" id="{name}"><summary>{len(more)} more</summary>{", ".join(more)}</details>'
        if more
        else ""
    )
    return (f'<span class="where">{", ".join(first)}</span>' if first else "") + rest


def _editions(sheet: previewsheet.Sheet) -> str:
    if not sheet.editions:
        return _section("editions", "Editions", '<p class="quiet">None yet.</p>')
    shown = sheet.letter.topics if sheet.letter else ()
    items = []
    for edition in sheet.editions:
        topics = () if edition is sheet.editions[0] else edition.topics
        here = ' aria-current="true"' if edition.topics == shown else ""
        address = sheet.link(topics=topics, reader="")
        items.append(
            f'<li><a data-swap data-edition href="{address}"{here}>{previewsheet.bdi(edition.title)}</a>'
            f'<span class="quiet">{_facts(edition)}</span>{_bar(edition.octets)}</li>'
        )
    title = "Editions" if len(items) > 1 else "The edition"
    unknown = "" if sheet.look.known else '<p class="quiet">There is no database here to count people in.</p>'
    clip = '<p class="quiet">The bar is full at 102.4 KB of HTML, where Gmail clips.</p>'
    return _section("editions", title, f'<ul class="editions">{"".join(items)}</ul>{clip}{unknown}')


def _facts(edition: previewing.EditionView) -> str:
    size = [] if edition.octets is None else [f"{previewsheet.kilo(edition.octets)} of HTML"]
    return " · ".join([*([] if edition.people is None else [_people(edition.people)]), *size])


def _people(number: int) -> str:
    return "nobody" if not number else "1 person" if number == 1 else f"{number:,} people"


def _bar(octets: int | None) -> str:
    if octets is None:
        return ""
    share = min(1000, round(1000 * octets / CLIP))
    kind = "over" if octets >= CLIP else "near" if octets >= NEAR else "fits"
    return (
        '<svg class="bar" viewBox="0 0 1000 4" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{kind}" width="{share}" height="4"/></svg>'
    )


def _reader(sheet: previewsheet.Sheet) -> str:
    choice = sheet.choice
    ours = "".join(_sample(sheet, each) for each in sheet.samples if not each.is_example)
    examples = [each for each in sheet.samples if each.is_example]
    body = f'<ul class="samples">{ours}</ul>'
    if examples:
        opened = " open" if choice.reader in {each.key for each in examples} else ""
        body += (
            f'<details id="examples"{opened}><summary>{len(examples)} example readers</summary>'
            f'<ul class="samples">{"".join(_sample(sheet, each) for each in examples)}</ul>'
            f'<p class="quiet">They are those of <code>{previewing.EXAMPLES}</code>.</p></details>'
        )
    if sheet.look.known:
        mine = "" if any(each.key == choice.reader for each in sheet.samples) else choice.reader
        hidden = {"view": choice.view, "width": "phone" if choice.phone else ""}
        kept = "".join(
            f'<input type="hidden" name="{name}" value="{value}">' for name, value in hidden.items() if value
        )
        body += (
            f'<form id="reader-form" class="one" method="get" action="{html.escape(sheet.path)}" data-swap>{kept}'
            '<label for="as">Or a subscriber’s address</label>'
            f'<input id="as" name="as" type="email" autocomplete="off" value="{html.escape(mine)}" required>'
            '<button id="reader-button">Show</button></form>'
        )
    else:
        body += '<p class="quiet">There is no database here, so nobody else is known.</p>'
    return _section("reader", "Read as", body)


def _sample(sheet: previewsheet.Sheet, sample: previewing.Sample) -> str:
    here = ' aria-current="true"' if sample.key == sheet.choice.reader else ""
    label = previewsheet.bdi(sample.name) if sample.name else f"{html.escape(sample.email)}, who gave no name"
    return f'<li><a data-swap href="{sheet.link(reader=sample.key)}"{here}>{label}</a></li>'


def _test(sheet: previewsheet.Sheet) -> str:
    return _section(
        "test",
        "A test mail",
        f'<form id="test-form" class="one" method="post" action="{html.escape(sheet.path)}/test" data-act>'
        f'{_token(sheet)}<label for="to">My address</label>'
        '<input id="to" name="to" type="email" autocomplete="email" required>'
        '<button id="test-button">Send a test to me</button></form>'
        f'<p class="quiet">Through {html.escape(sheet.server)}. A subscriber gets what they would be sent, anybody '
        "else all topics, with links that lead to a test.</p>",
    )


def _token(sheet: previewsheet.Sheet) -> str:
    return f'<input type="hidden" name="token" value="{html.escape(sheet.token)}">'


def _approval(sheet: previewsheet.Sheet) -> str:
    look = sheet.look
    if look.state is not IssueState.DRAFT:
        by, at = look.approved
        when = f" on {at:%Y-%m-%d at %H:%M} UTC" if at else ""
        who = f"Approved by {previewsheet.bdi(by)}{when}. " if by else ""
        why = f"Why: {html.escape(look.reason)}. " if look.reason else ""
        thaw = "`newsletter unapprove` thaws it." if look.state is IssueState.APPROVED else ""
        frozen = "What you see is frozen: these bytes are what is sent, whatever happens to the draft."
        return _section(
            "approval",
            f"It is {previewsheet.STATES[look.state]}",
            f"<p>{why}{who}{frozen} {previewsheet.coded(thaw)}</p>",
        )
    if not look.known:
        text = "Approval freezes an issue in the database, which is not here: approve it where the people are."
        return _section("approval", "Approval", f'<p class="quiet">{text}</p>')
    if sheet.report.errors:
        text = "Not while there are errors: mend them first."
        return _section("approval", "Approval", f'<p class="quiet">{text}</p>')
    return _section("approval", "Approval", _approving(sheet))


def _approving(sheet: previewsheet.Sheet) -> str:
    """Whom it goes to and what is doubtful, before the button."""
    people = sum(edition.people or 0 for edition in sheet.editions)
    rows = "".join(
        f"<li>{previewsheet.bdi(edition.title)}: {_people(edition.people or 0)}</li>" for edition in sheet.editions
    )
    warned = len(sheet.report.warnings)
    doubts = f"{warned} warning{'' if warned == 1 else 's'}" if warned else "no warning"
    return (
        '<details id="approve"><summary>Approve it …</summary>'
        f"<p>{_people(people).capitalize()} would get it if it went out now:</p><ul>{rows}</ul>"
        f"<p>The checks found no error and {doubts}.</p>{findings(sheet.report.warnings, 'warning', 'approve')}"
        "<p>Approval freezes the issue: these bytes are what will be sent. Nothing is sent yet.</p>"
        f'<form id="approve-form" method="post" action="{html.escape(sheet.path)}/approve" data-act>{_token(sheet)}'
        f'<input type="hidden" name="seal" value="{html.escape(sheet.look.seal)}">'
        '<button id="approve-button">Approve and freeze</button></form></details>'
    )


def _links(sheet: previewsheet.Sheet) -> str:
    found = collections.Counter(sheet.letter.links) if sheet.letter else collections.Counter()
    items = "".join(_link(address, words, count) for (address, words), count in found.items())
    return (
        '<section id="links" data-part="links" aria-labelledby="links-title"><details id="links-all">'
        f'<summary><h2 id="links-title">{len(found)} link{"" if len(found) == 1 else "s"}</h2></summary>'
        f'<ol class="links">{items}</ol></details></section>'
    )


def _link(address: str, words: str, count: int) -> str:
    shown = html.escape(address)
    if re.match(r"(?:https?|mailto):", address, re.IGNORECASE):
        shown = f'<a href="{shown}" target="_blank" rel="noopener noreferrer">{shown}</a>'
    times = f" ({count} times)" if count > 1 else ""
    said = previewsheet.bdi(" ".join(words.split()) or "(no words)")
    return f'<li>{said}{times}<span class="where" dir="ltr">{shown}</span></li>'


def _keys(_: previewsheet.Sheet) -> str:
    keys = "".join(f"<dt><kbd>{key}</kbd></dt><dd>{label}</dd>" for label, key in previewsheet.VIEWS.values())
    return (
        '<section id="keys" aria-labelledby="keys-title"><details id="keys-all"><summary><h2 id="keys-title">Keys</h2>'
        f'</summary><dl class="keys">{keys}<dt><kbd>j</kbd> <kbd>u</kbd></dt><dd>next, previous edition</dd></dl>'
        '<p><input type="checkbox" id="keys-on" checked> <label for="keys-on">Single keys do this</label></p>'
        "</details></section>"
    )
