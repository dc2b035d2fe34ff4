"""The text part of one edition, and what must stand in both parts: a way to leave, a postal address."""

from __future__ import annotations

import html as html_library
import re

from newsletter import types
from newsletter.render import page
from newsletter.render import text as plain_text
from newsletter.render.check import spam
from newsletter.render.check.markup import NEAR_BYTES
from newsletter.render.check.rules import found
from newsletter.render.check.words import Findings, squash

_MARKUP = re.compile(r"<(?:html|body|table|td|tr|style|span|div)\b[^<>]{0,400}>|&nbsp;", re.IGNORECASE)
_URL = re.compile(r"https?://", re.IGNORECASE)


def check(seen: page.Page, html: str, text: str, issue: types.Issue) -> Findings:
    """All that is wrong with the text part, and with what both must hold."""
    yield from _text(text)
    address = squash(issue.postal_address)
    for where, body in (("HTML", seen.words), ("text", squash(text))):
        if address and address not in body:
            yield found("postal-missing", "the postal address is missing", where)
    if address:
        yield from _late(html, address)
    for what in spam.in_text(seen.words):
        yield found("spam-words", what, "HTML")


def _text(text: str) -> Findings:
    wide = [
        (number, plain_text.columns(line))
        for number, line in enumerate(text.split("\n"), 1)
        if plain_text.columns(line) > plain_text.WIDTH and " " in line.strip() and not _URL.search(line)
    ]
    if wide:
        (number, width), more = wide[0], len(wide) - 1
        what = f"line {number} has {width} characters, over {plain_text.WIDTH}" + (f", and {more} more" if more else "")
        yield found("text-width", what, "text")
    blank = next((number for number, line in enumerate(text.split("\n"), 1) if line != line.rstrip()), None)
    if blank:
        yield found("text-blank", f"line {blank} ends with a blank", "text")
    if len(text.split()) < 5:
        yield found("text-empty", "the text part says nothing; filters take that for spam", "text")
    markup = _MARKUP.search(text)
    if markup:
        yield found(
            "text-markup", f"the text part holds {markup[0][:40]!r}; readers of plain text see the tags", "text"
        )


def ways_out(seen: page.Page, text: str, edition: types.Edition, leave: str) -> Findings:
    """Can the unsubscribe address `leave` be seen in the HTML, as a link or written out, and does the text have it?

    Without `leave`: do the two parts have its mark at all?
    """
    mark = types.mark("unsubscribe_url")
    linked = any(href == leave and words.strip() for href, words in seen.links)
    shown = linked or leave in seen.words if leave else mark in edition.html
    told = leave in text if leave else mark in edition.text
    for where, there in (("HTML", shown), ("text", told)):
        if not there:
            yield found("unsubscribe-missing", "there is no way to unsubscribe that can be seen", where)


def _late(html: str, address: str) -> Findings:
    """Gmail clips a large mail, and what stands at its end with it."""
    if len(html.encode("utf-8", "replace")) < NEAR_BYTES:
        return
    shown = html_library.unescape(html)
    place = shown.find(address)
    if place > len(shown) // 3:
        what = f"the postal address first stands at {place / len(shown):.0%} of a mail that may be clipped"
        yield found("postal-late", what, "HTML")
