"""The HTML of one edition: its size, its structure, its colours, what mail programs lack."""

from __future__ import annotations

import itertools
import re

from newsletter import types
from newsletter.render import css, page
from newsletter.render.check import clients
from newsletter.render.check.rules import found
from newsletter.render.check.words import PLACEHOLDER, Findings, around, short

MAX_BYTES = 102_400  # Gmail clips what is longer, and with it the footer
NEAR_BYTES = 90_000
MAX_STYLE, MAX_STYLES = 8_192, 16_384  # characters of a style block, of all: Gmail drops what is more
_STYLE = re.compile(r"<style\b.*?</style>", re.IGNORECASE | re.DOTALL)


def check(seen: page.Page, html: str, leave: int) -> Findings:
    """All that is wrong with an edition's HTML. `leave`: where its first unsubscribe link stands, below 0: nowhere."""
    yield from _size(html, leave)
    yield from _styles(seen)
    yield from _structure(seen)
    yield from _images(seen)
    yield from _colours(seen)
    yield from _clients(seen)
    for what in dict.fromkeys(seen.active):
        yield found("html-active", f"{short(what)} has no place in a mail: clients drop the message or warn", "HTML")


def _size(html: str, leave: int) -> Findings:
    size = len(html.encode("utf-8", "replace"))
    if size >= NEAR_BYTES:
        code = "html-size" if size >= MAX_BYTES else "html-size-near"
        yield found(code, f"the HTML has {size:,} bytes; Gmail cuts from {MAX_BYTES:,} on", "HTML")
        if leave > len(html) // 3:
            what = f"the first unsubscribe link stands at {leave / len(html):.0%} of a mail that may be clipped"
            yield found("unsubscribe-late", what, "HTML")


def _styles(seen: page.Page) -> Findings:
    sizes = [len(block) for block in seen.blocks]
    if max(sizes, default=0) > MAX_STYLE:
        yield found("style-size", f"a style block has {max(sizes):,} characters; Gmail drops those over 8,192", "HTML")
    if sum(sizes) > MAX_STYLES:
        what = f"the style blocks have {sum(sizes):,} characters; Gmail drops what is over 16,384"
        yield found("style-size", what, "HTML")
    for block in seen.blocks:
        fault = css.parse(block).fault
        if fault is not None:
            yield found("style-broken", f"a style block has a mistake at “{short(fault)}”", "HTML")
        loads = page.remote(block)
        if loads:
            yield found("html-remote", f"a style block loads a file: “{short(loads)}”", "HTML")


def _structure(seen: page.Page) -> Findings:
    if not seen.lang or seen.lang.lower().startswith("und"):
        yield found("html-lang", "the HTML names no language", "HTML")
    if not seen.title.strip():
        yield found("html-title", "the HTML has no title", "HTML")
    if seen.headings.count(1) != 1:
        yield found("html-h1", f"the HTML has {seen.headings.count(1)} main headings", "HTML")
    skips = [f"h{one} to h{other}" for one, other in itertools.pairwise([0, *seen.headings]) if other - one > 1]
    if skips:
        what = f"heading levels skip ({short(', '.join(dict.fromkeys(skips)))})".replace("h0 to", "starts with")
        yield found("html-headings", what, "HTML")
    if not seen.dark:
        yield found("html-dark", "the HTML says nothing about dark mode", "HTML")
    if seen.bare_tables:
        yield found("html-tables", f"{seen.bare_tables} table(s) without a role", "HTML")
    if seen.unbounded:
        yield found("html-width", f"“{short(seen.unbounded)}” runs over the whole width of a screen", "HTML")
    if seen.small:
        yield found("html-small", f"“{short(seen.small)}” is smaller than {page.LEAST_SIZE} pixels", "HTML")


def _images(seen: page.Page) -> Findings:
    for source, alt, is_dot in seen.images:
        if alt is None:
            yield found("image-alt", f"an image without alt text: {short(source)}", "HTML")
        if is_dot:
            yield found("image-dot", f"an image of a pixel or two: {short(source)}", "HTML")


def _colours(seen: page.Page) -> Findings:
    codes = {"light": "contrast", "dark": "contrast-dark"}
    where = {"light": "", "dark": " in dark mode"}
    for scheme, ratio, words in seen.pale:
        yield found(codes[scheme], f"contrast {ratio:.1f}{where[scheme]} for “{short(words)}”", "HTML")


def _clients(seen: page.Page) -> Findings:
    for feature in clients.lacked(seen):
        if feature.slug not in clients.baseline():
            names, more = feature.lacking[:3], len(feature.lacking) - 3
            who = ", ".join(names) + (f" and {more} more" if more > 0 else "")
            what = f"{feature.title} is lacking in {who} (caniemail.com/features/{feature.slug}/)"
            yield found("client-support", what, "HTML")


def leftovers(html: str, text: str, said: str) -> Findings:
    """Placeholders that a template left, not those that the issue's own words hold (an article on templates, TeX)."""
    known = set(PLACEHOLDER.findall(said))
    for where, body in (("HTML", _STYLE.sub("", html)), ("text", text)):
        match = next((each for each in PLACEHOLDER.finditer(body) if each[0] not in known), None)
        if match:
            yield found("leftover", f"a template left “{around(body, match)}”", where)
        if types.MARK_OPEN in body or types.MARK_CLOSE in body:
            yield found("leftover-mark", "a personal field was not filled in", where)
