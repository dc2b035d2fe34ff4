"""Pre-flight: what is wrong with an edition, before anybody gets it. Pure; nothing is fetched.

Errors keep an issue from going out, warnings are for the editor to weigh. Codes are stable. The rules: what mail
clients cut or refuse (Gmail shows 102,400 bytes of HTML), what readers need (WCAG 2.2: 1.1.1, 1.3.1, 1.4.3, 2.4.4,
3.1.1), what the law and the large providers ask of bulk mail (a way to leave, a postal address), and the promise that
both parts say the same.
"""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Iterator

from newsletter import types
from newsletter.render import markdown, page, seats
from newsletter.render import text as plain_text

MAX_BYTES = 102_400  # Gmail clips what is longer, and with it the footer
NEAR_BYTES = 90_000
MAX_SUBJECT = 78  # RFC 5322, 2.1.1: a line; phones show half of it
MIN_CONTRAST = 4.5  # WCAG 2.2, 1.4.3
_TEMPLATE = re.compile(r"\{\{|\}\}|\{%|%\}|\{#|#\}|<built-in|object at 0x|jinja2\.")
_MARKUP = re.compile(r"<(?:html|body|table|td|tr|style|span|div)\b[^>]*>|&nbsp;", re.IGNORECASE)
_MOJIBAKE = re.compile("\u00c3[\u0080-\u00bf]|\u00e2\u20ac|\u00c2[\u00a0-\u00bf]|\ufffd")
_URL = re.compile(r"https?://[^\s<>\"\u201c\u201d]+", re.IGNORECASE)
_LINK = re.compile(r"https?://[^\s/]|mailto:[^\s@]+@|#", re.IGNORECASE)

Findings = Iterator[types.Finding]


def check(
    edition: types.Edition, issue: types.Issue, *, html: str, text: str
) -> tuple[list[types.Finding], list[types.Finding]]:
    """(errors, warnings) of an edition of `issue`; `html` and `text` are its parts, filled in for a sample reader."""
    seen = page.read(html)
    empty = list(_empty_sections(issue, edition.topics))
    issue = seats.select(issue, edition.topics)
    errors = [
        *_subject_errors(edition.subject),
        *_size_errors(html),
        *_page_errors(seen),
        *_leftovers(html, text, issue),
        *_links_written(issue),
        *_links_errors(seen, text, issue.base_url),
        *_ways_out(edition),
        *_postal_errors(seen, text, issue),
    ]
    warnings = [
        *_subject_warnings(edition.subject),
        *_size_warnings(html),
        *_page_warnings(seen, issue),
        *_words_warnings(seen, issue),
        *_text_warnings(text),
        *_links_warnings(seen, text, issue.base_url),
        *_entry_warnings(issue),
        *empty,
        *_postal_warnings(issue),
    ]
    return list(dict.fromkeys(errors)), list(dict.fromkeys(warnings))


def _squash(text: str) -> str:
    return " ".join(text.split())


def _short(text: str) -> str:
    text = _squash(text)
    return text if len(text) <= 60 else text[:59] + "…"


# -- the subject and the size -------------------------------------------------------------------------------------


def _subject_errors(subject: str) -> Findings:
    if not subject.strip():
        yield types.Finding("subject-empty", "the subject is empty; write one in the draft's first lines", "subject")
    if re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", subject):
        yield types.Finding(
            "subject-control", "the subject holds a line break or a control character; make it one line", "subject"
        )
    if _TEMPLATE.search(subject):
        yield types.Finding("leftover", "the subject holds a placeholder; the subject is no template", "subject")


def _subject_warnings(subject: str) -> Findings:
    if subject.upper() == subject and len(re.findall(r"[A-Z]", subject)) > 5:
        yield types.Finding(
            "subject-capitals",
            "the subject is all capitals, which filters take for spam; write it as a sentence",
            "subject",
        )
    if len(subject) > MAX_SUBJECT:
        what = f"the subject has {len(subject)} characters; readers see about 50, more than {MAX_SUBJECT} are cut"
        yield types.Finding("subject-long", what, "subject")


def _size_errors(html: str) -> Findings:
    size = len(html.encode())
    if size >= MAX_BYTES:
        what = f"the HTML has {size:,} bytes; Gmail cuts from {MAX_BYTES:,} on. Take entries out or lower max_entries"
        yield types.Finding("html-size", what, "HTML")


def _size_warnings(html: str) -> Findings:
    size = len(html.encode())
    if NEAR_BYTES <= size < MAX_BYTES:
        what = f"the HTML has {size:,} bytes; Gmail cuts from {MAX_BYTES:,} on. Consider taking entries out"
        yield types.Finding("html-size-near", what, "HTML")


# -- the HTML ------------------------------------------------------------------------------------------------------


def _page_errors(seen: page.Page) -> Findings:
    if not seen.lang or seen.lang.lower().startswith("und"):
        yield types.Finding("html-lang", 'the HTML names no language; write <mjml lang="{{ issue.language }}">', "HTML")
    if not seen.title.strip():
        yield types.Finding("html-title", "the HTML has no title; write <mj-title> in <mj-head>", "HTML")
    if seen.headings.count(1) != 1:
        what = f"the HTML has {seen.headings.count(1)} main headings; it needs exactly one <h1>"
        yield types.Finding("html-h1", what, "HTML")
    levels = [0, *seen.headings]
    skips = [f"h{one} to h{other}" for one, other in itertools.pairwise(levels) if other - one > 1]
    if skips:
        what = f"heading levels skip ({_short(', '.join(skips))}); screen readers lose the thread"
        yield types.Finding("html-headings", what.replace("h0 to", "starts with"), "HTML")
    for source in seen.without_alt:
        yield types.Finding(
            "image-alt", f'an image without alt text: {_short(source)}; alt="" if it only adorns', "HTML"
        )
    for what in seen.active:
        yield types.Finding(
            "html-active", f"{_short(what)} has no place in a mail: clients drop the message or warn", "HTML"
        )
    for ratio, words in seen.pale:
        what = f"contrast {ratio:.1f} for “{_short(words)}”; make it at least {MIN_CONTRAST}"
        yield types.Finding("contrast", what, "HTML")
    for href, words in seen.links:
        if not _LINK.match(href):
            what = f"the link “{_short(words)}” leads to {_short(href)!r}; write a whole https:// address"
            yield types.Finding("link-relative", what, "HTML")


def _page_warnings(seen: page.Page, issue: types.Issue) -> Findings:
    told: dict[str, set[str]] = collections.defaultdict(set)
    for href, words in seen.links:
        told[_squash(words).casefold()].add(href)
    for words, hrefs in told.items():
        if words and len(hrefs) > 1:
            what = f"{len(hrefs)} links read “{_short(words)}” but lead to different places; word them apart"
            yield types.Finding("link-text-twice", what, "HTML")
        if not words:
            yield types.Finding("link-empty", f"a link without words, to {_short(min(hrefs))}", "HTML")
    if not seen.dark:
        yield types.Finding("html-dark", "the HTML says nothing about dark mode; include parts/head.mjml", "HTML")


def _leftovers(html: str, text: str, issue: types.Issue) -> Findings:
    """Placeholders that a template left, not those that the issue's own words hold (an article on templates, TeX)."""
    said = set(_TEMPLATE.findall(_all_words(issue)))
    for where, body in (("HTML", re.sub(r"(?is)<style\b.*?</style>", "", html)), ("text", text)):
        for match in _TEMPLATE.finditer(body):
            if match[0] not in said:
                around = body[max(0, match.start() - 20) : match.end() + 30]
                yield types.Finding("leftover", f"a template left “{_short(around)}”; mend the template", where)
                break
        if types.MARK_OPEN in body or types.MARK_CLOSE in body:
            yield types.Finding("leftover-mark", "a personal field was not filled in; mend the template", where)


def _words_warnings(seen: page.Page, issue: types.Issue) -> Findings:
    for where, words in _written(issue):
        match = _TEMPLATE.search(words)
        if match:
            around = words[max(0, match.start() - 20) : match.end() + 30]
            yield types.Finding(
                "placeholder", f"“{_short(around)}” looks like a placeholder; the draft's text is no template", where
            )
    broken = _MOJIBAKE.search(seen.words)
    if broken:
        around = seen.words[max(0, broken.start() - 25) : broken.end() + 25]
        yield types.Finding(
            "broken-letters", f"“{_short(around)}” was decoded wrongly; write the letters again", "HTML"
        )


# -- the text ------------------------------------------------------------------------------------------------------


def _text_warnings(text: str) -> Findings:
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > plain_text.WIDTH and " " in line.strip() and not _URL.search(line):
            what = f"line {number} has {len(line)} characters, over {plain_text.WIDTH}; use the filter wrap"
            yield types.Finding("text-width", what, "text")
        if line != line.rstrip():
            yield types.Finding("text-blank", f"line {number} ends with a blank", "text")
    if len(text.split()) < 5:
        yield types.Finding("text-empty", "the text part says nothing; filters take that for spam", "text")
    if _MARKUP.search(text):
        yield types.Finding("text-markup", "the text part holds HTML; readers of plain text see the tags", "text")


# -- links ---------------------------------------------------------------------------------------------------------


def _links_written(issue: types.Issue) -> Findings:
    """Links that were left out because they lead nowhere in a mail."""
    for where, text in _texts(issue):
        for href in markdown.links(markdown.parse(text)):
            if not markdown.safe_url(href):
                what = f"the link to {_short(href)!r} is left out; write a whole https:// or mailto: address"
                yield types.Finding("link-relative", what, where)
    for where, entry in _entries(issue):
        if entry.url and not markdown.safe_url(entry.url):
            what = f"its link {_short(entry.url)!r} is left out; write a whole https:// address"
            yield types.Finding("link-relative", what, where)


def _links_errors(seen: page.Page, text: str, base_url: str) -> Findings:
    for link in _foreign(_in_html(seen), base_url):
        if link not in text:
            yield types.Finding("links-differ", f"{_short(link)} is a link that the text part does not show", "text")


def _links_warnings(seen: page.Page, text: str, base_url: str) -> Findings:
    for link in _foreign(_in_text(seen, text) - _in_html(seen), base_url):
        yield types.Finding("link-unlinked", f"{_short(link)} can be read but is no link in the HTML", "HTML")


def _foreign(links: set[str], base_url: str) -> list[str]:
    """What leads to the service itself (personal links, the archive) may differ between the parts."""
    return sorted(link for link in links if _host(link) != _host(base_url))


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition("?")[0].lower()


def _in_html(seen: page.Page) -> set[str]:
    return {href for href, _ in seen.links if href.lower().startswith("http")}


def _in_text(seen: page.Page, text: str) -> set[str]:
    known = _in_html(seen)
    found = set()
    for link in _URL.findall(text):
        if len(link) > markdown.MAX_URL:
            continue
        while link not in known and link[-1] in ".,;:!?)]}'’*>":
            link = link[:-1]  # noqa: PLW2901 - punctuation after an address is not part of it
        found.add(link)
    return found


def _ways_out(edition: types.Edition) -> Findings:
    leave = types.mark("unsubscribe_url")
    for where, body in (("HTML", edition.html), ("text", edition.text)):
        if leave not in body:
            what = "there is no way to unsubscribe; write {{ reader.unsubscribe_url }} in the template"
            yield types.Finding("unsubscribe-missing", what, where)


def _postal_errors(seen: page.Page, text: str, issue: types.Issue) -> Findings:
    address = _squash(issue.postal_address)
    for where, body in (("HTML", seen.words), ("text", _squash(text))):
        if address and address not in body:
            what = "the postal address is missing; write {{ issue.postal_address }} in the template"
            yield types.Finding("postal-missing", what, where)


def _postal_warnings(issue: types.Issue) -> Findings:
    if not issue.postal_address.strip():
        what = "no postal_address is set in newsletter.toml; the law of many places asks for one in bulk mail"
        yield types.Finding("postal-unset", what, "newsletter.toml")


# -- entries -------------------------------------------------------------------------------------------------------


def _entry_warnings(issue: types.Issue) -> Findings:
    urls: collections.Counter[str] = collections.Counter()
    bodies: collections.Counter[str] = collections.Counter()
    for where, entry in _entries(issue):
        if not re.search(r"\b\d{4}\b", entry.byline):
            what = "has no date; write it under the heading, like “6 Sept 2026”"
            yield types.Finding("entry-undated", what, where)
        if not _squash(entry.body):
            yield types.Finding("entry-empty", "has no summary; write a sentence or take it out", where)
        for seen, key in ((urls, entry.url or ""), (bodies, _squash(entry.body))):
            seen[key] += bool(key)
            if key and seen[key] == 2:
                yield types.Finding("entry-twice", f"stands in this issue twice: {_short(key)}; take one out", where)
    for where, text in _texts(issue):
        for source in markdown.images(markdown.parse(text)):
            what = f"the image {_short(source)!r} is left out: mails are type only"
            yield types.Finding("image-left-out", what, where)


def _empty_sections(issue: types.Issue, topics: tuple[str, ...]) -> Findings:
    for section in issue.sections:
        if section.drafted and section.slug in topics and not section.entries:
            yield types.Finding("section-empty", "has no entries; take its heading out", section.slug)


def _entries(issue: types.Issue) -> Iterator[tuple[str, types.IssueEntry]]:
    for section in issue.sections:
        for entry in section.entries:
            yield entry.ref or f"{section.slug}: {_short(entry.title or entry.body)}", entry


def _texts(issue: types.Issue) -> Iterator[tuple[str, str]]:
    """(where, Markdown) of everything that may hold a link."""
    yield "introduction", issue.intro
    for section in issue.sections:
        yield section.slug, section.text
    for where, entry in _entries(issue):
        yield where, entry.body


def _written(issue: types.Issue) -> Iterator[tuple[str, str]]:
    yield from _texts(issue)
    for where, entry in _entries(issue):
        yield where, f"{entry.title or ''} {entry.byline}"
    yield "preheader", issue.preheader
    for section in issue.sections:
        yield section.slug, section.title
    yield "title", issue.title


def _all_words(issue: types.Issue) -> str:
    return " ".join((issue.subject, issue.postal_address, *(words for _, words in _written(issue))))
