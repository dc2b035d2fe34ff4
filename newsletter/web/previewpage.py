"""The editor's page as HTML, whole, for every view: it works without a script, and `preview.js` exchanges its parts.

What stands in an element with `data-part` is replaced when it changed; the frame with the message is loaded anew beside
the old one. Every text that comes from a draft or a message is escaped here. Pure.
"""

from __future__ import annotations

import html

from newsletter.app import letters
from newsletter.web import previewaside, previewframe, previewsheet

SHOWN = 400_000  # characters of a text or a source that the page shows; the whole is a click away


def page(sheet: previewsheet.Sheet) -> str:
    """The whole page."""
    title = sheet.letter.subject if sheet.letter else sheet.look.name
    main = f"{_fault(sheet)}{_views(sheet)}{_stage(sheet)}"
    return _document(
        title,
        f'<a class="skip" href="#stage">Skip to the message</a>{_top(sheet)}'
        f'<div class="desk"><main>{main}</main>'
        f'<aside aria-label="About this issue">{previewaside.aside(sheet)}</aside></div>',
        issue=sheet.look.name,
        stamp=sheet.stamp,
    )


def empty(stamp: str) -> str:
    """The page of a workspace without a draft."""
    body = (
        '<header class="top"><p class="count">Preview</p><h1>No draft yet</h1></header>'
        '<main><p class="empty">'
        + previewsheet.coded("`newsletter compose` writes one from what was collected; it shows up here by itself.")
        + "</p></main>"
    )
    return _document("No draft yet", body, issue="", stamp=stamp)


def missing(name: str) -> str:
    """The page of an address that leads nowhere."""
    body = (
        '<header class="top"><p class="count"><a href="/">Preview</a></p><h1>Not found</h1></header>'
        f'<main><p class="empty">There is nothing at {previewsheet.bdi(name)}.</p></main>'
    )
    return _document("Not found", body, issue=None, stamp="")


def _document(title: str, body: str, *, issue: str | None, stamp: str) -> str:
    live = f' data-issue="{html.escape(issue)}" data-stamp="{html.escape(stamp)}"' if issue is not None else ""
    return (
        f'<!doctype html><html lang="en"{live}><head><meta charset="utf-8">'
        f"<title>{html.escape(title)} – preview</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        '<link rel="stylesheet" href="/preview.css"><script src="/preview.js" defer></script></head>'
        f"<body>{body}</body></html>"
    )


# -- above the message ---------------------------------------------------------------------------------------------


def _top(sheet: previewsheet.Sheet) -> str:
    look = sheet.look
    others = [name for name in sheet.names if name != look.name]
    switch = ""
    if others:
        items = "".join(f'<li><a href="/{html.escape(name)}">{html.escape(name)}</a></li>' for name in others)
        switch = f'<details id="issues" class="issues"><summary>Other issues</summary><ul>{items}</ul></details>'
    state = previewsheet.STATES[look.state]
    return (
        '<header class="top" data-part="top" id="top">'
        f'<div class="name"><p class="count">Preview · {state}</p>{switch}</div>'
        f"<h1>{html.escape(look.name)}</h1>{_inbox(sheet)}</header>"
        f'<p id="note" data-part="note" class="note{" failed" if sheet.failed else ""}" role="status">'
        f"{previewsheet.coded(sheet.note)}</p>"
    )


def _inbox(sheet: previewsheet.Sheet) -> str:
    """One line of an inbox, and what there is to read behind it."""
    letter = sheet.letter
    if letter is None:
        return ""
    count, minutes = letter.reading
    articles = f"{count} article{'' if count == 1 else 's'}"
    checks = f'<a href="#checks">{previewaside.counted(sheet.report)}</a>'
    return (
        '<p class="inbox"><span class="hidden">In an inbox: </span>'
        f'<span class="from">{previewsheet.bdi(letter.sender)}</span> '
        f'<span class="line"><b>{previewsheet.bdi(letter.subject or "(no subject)")}</b> '
        f'<span class="snippet">{previewsheet.bdi(letter.snippet)}</span></span></p>'
        f'<p class="quiet">{articles} · {minutes} min to read · {previewsheet.kilo(len(letter.octets))} on the wire · '
        f"{checks}</p>"
    )


def _fault(sheet: previewsheet.Sheet) -> str:
    if not sheet.look.faults:
        return '<div id="fault" data-part="fault" role="alert"></div>'
    below = "Below is how it last was." if sheet.letter else "There is nothing to show until that is mended."
    return (
        '<div id="fault" data-part="fault" class="fault" role="alert"><h2>It cannot be read as it is now</h2>'
        f'{previewaside.findings(sheet.look.faults, "error", "fault")}<p class="quiet">{below}</p></div>'
    )


def _views(sheet: previewsheet.Sheet) -> str:
    links = []
    for name, (label, key) in previewsheet.VIEWS.items():
        phone = name == "phone" or (sheet.choice.phone and name != "desktop")
        here = ' aria-current="true"' if name == sheet.choice.view else ""
        links.append(
            f'<li><a id="view-{name}" data-swap data-key="{key}" href="{sheet.link(view=name, phone=phone)}"{here}>'
            f"{label}</a></li>"
        )
    return f'<nav id="views" data-part="views" class="views" aria-label="View"><ul>{"".join(links)}</ul></nav>'


def _stage(sheet: previewsheet.Sheet) -> str:
    choice, letter = sheet.choice, sheet.letter
    if letter is None:
        shown = '<p class="empty">Nothing to show yet.</p>'
    elif choice.view in previewsheet.FRAMED:
        shown = _frame(sheet)
    elif choice.view == "text":
        shown = _long(letter.text, "The text part", sheet.source("message.txt"))
    elif choice.view == "headers":
        shown = _headers(letter)
    else:
        shown = _long(letter.octets.decode("utf-8", "replace"), "The raw source", sheet.source("message.eml"))
    kind = "framed" if choice.view in previewsheet.FRAMED else choice.view
    return (
        f'<section id="stage" data-part="stage" class="stage {kind}" aria-label="The message" tabindex="-1">'
        f"{shown}</section>"
    )


def _frame(sheet: previewsheet.Sheet) -> str:
    width = "phone" if sheet.choice.phone else "wide"
    label = previewsheet.VIEWS[sheet.choice.view][0]
    address = sheet.source("message", scheme=sheet.choice.scheme)
    return (
        f'<div class="frame {width}"><iframe title="The message: {label}" src="{html.escape(address)}" '
        f'data-stamp="{html.escape(sheet.stamp)}" sandbox="{previewframe.SANDBOX}" referrerpolicy="no-referrer">'
        "</iframe></div>"
    )


def _long(text: str, label: str, address: str) -> str:
    cut = f"The first {SHOWN:,} of {len(text):,} characters. " if len(text) > SHOWN else ""
    return (
        f'<p class="quiet">{cut}<a href="{html.escape(address)}" download>Save it</a></p>'
        f'<pre tabindex="0" role="region" aria-label="{label}" dir="auto">\n{html.escape(text[:SHOWN])}</pre>'
    )


def _headers(letter: letters.Letter) -> str:
    rows = []
    for header in letter.headers:
        folded = " ".join(header.sent.split())
        sent = f'<span class="sent">{html.escape(folded)}</span>' if folded != header.value else ""
        rows.append(
            f'<tr><th scope="row">{html.escape(header.name)}</th><td>{previewsheet.bdi(header.value)}{sent}</td></tr>'
        )
    return (
        '<table><caption class="hidden">The headers, decoded; below, in grey, as they are sent</caption>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
