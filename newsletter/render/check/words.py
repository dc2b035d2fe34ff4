"""What an editor wrote: subject, preheader, introduction, entries. Looked at once an issue, not once an edition."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from collections.abc import Iterator

from newsletter import config, dates, types
from newsletter.render import markdown
from newsletter.render.check import spam
from newsletter.render.check.places import Places
from newsletter.render.check.rules import found

MAX_SUBJECT = 78  # RFC 5322, 2.1.1: a line; phones show half of it
MAX_PREHEADER = 150
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{%|%\}|\{#|#\}|<built-in|object at 0x|jinja2\.")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MOJIBAKE = re.compile("\u00c3[\u0080-\u00bf]|\u00e2\u20ac|\u00c2[\u00a0-\u00bf]|\ufffd")

Findings = Iterator[types.Finding]


def squash(text: str) -> str:
    """In one line."""
    return " ".join(text.split())


def short(text: str) -> str:
    """In one line that is not too long to be read in a message."""
    text = squash(text[:400])
    return text if len(text) <= 60 else text[:59] + "…"


def around(text: str, match: re.Match[str]) -> str:
    """What was found, with a little of what stands about it."""
    return short(text[max(0, match.start() - 20) : match.end() + 30])


def check(issue: types.Issue, places: Places) -> Findings:
    """All that is wrong with the words of an issue."""
    yield from subject(issue.subject, places.of_key("subject"))
    for slug, text in issue.subjects:
        yield from subject(text, places.of_key(slug))
    yield from _preheader(issue, places)
    yield from _sections(issue, places)
    yield from _entries(issue, places)
    yield from _texts(issue, places)
    if not issue.postal_address.strip():
        yield found("postal-unset", "there is no postal address, which the law of many places wants", config.FILE)


def subject(text: str, where: str) -> Findings:
    """What is wrong with a subject."""
    if not text.strip():
        yield found("subject-empty", "the subject is empty", where)
    if _CONTROL.search(text):
        yield found("subject-control", "the subject holds a line break or a control character", where)
    if PLACEHOLDER.search(text):
        yield found("leftover", "the subject holds a placeholder", where, "the subject is no template; write it out")
    if text.upper() == text and len(re.findall(r"[A-Z]", text)) > 5:
        yield found("subject-capitals", "the subject is all capitals, which filters take for spam", where)
    if len(text) > MAX_SUBJECT:
        what = f"the subject has {len(text)} characters; more than {MAX_SUBJECT} are cut"
        yield found("subject-long", what, where)
    for what in spam.in_subject(text):
        yield found("subject-spam", f"the subject {what}", where)


def _preheader(issue: types.Issue, places: Places) -> Findings:
    if len(issue.preheader) > MAX_PREHEADER:
        what = f"the preheader has {len(issue.preheader)} characters; inboxes show about 100"
        yield found("preheader-long", what, places.of_key("preheader"))


def _sections(issue: types.Issue, places: Places) -> Findings:
    for number, section in enumerate(issue.sections):
        if section.drafted and not section.entries:
            what = f"the section “{short(section.title)}” has no entries"
            yield found("section-empty", what, places.of_section(number, section))


def _entries(issue: types.Issue, places: Places) -> Findings:
    seen: dict[tuple[str, str], str] = {}
    for where, entry in each(issue, places):
        if not dates.stands_in(entry.byline):
            yield found("entry-undated", "this entry has no date", where)
        if not entry.body.strip():
            yield found("entry-empty", "this entry has no summary", where)
        for kind, key in (("link", same_page(entry.url)), ("text", squash(entry.body)), ("title", _same_title(entry))):
            if key and (kind, key) in seen:
                what = f"this entry has the {kind} of the one at {seen[kind, key]}: {short(key)}"
                yield found("entry-twice", what, where)
                break
            if key:
                seen[kind, key] = where
        if entry.url and not markdown.safe_url(entry.url):
            what = f"its link {short(entry.url)!r} is left out"
            yield found("link-relative", what, where)


def same_page(url: str | None) -> str:
    """What two links have in common that lead to one page."""
    if not url:
        return ""
    return re.sub(r"^https?://(www\.)?", "", url.partition("#")[0], flags=re.IGNORECASE).rstrip("/")


def _same_title(entry: types.IssueEntry) -> str:
    """A title long enough that nobody writes it twice by chance."""
    title = squash(entry.title or "").casefold()
    return title if len(title.split()) > 3 else ""


def each(issue: types.Issue, places: Places) -> Iterator[tuple[str, types.IssueEntry]]:
    for number, section in enumerate(issue.sections):
        for place, entry in enumerate(section.entries):
            yield places.of_entry(number, place, section), entry


def texts(issue: types.Issue, places: Places) -> Iterator[tuple[str, str]]:
    """(where, Markdown) of everything that may hold a link."""
    yield places.of_intro(), issue.intro
    for number, section in enumerate(issue.sections):
        yield places.of_section(number, section), section.text
    for where, entry in each(issue, places):
        yield where, entry.body


def _texts(issue: types.Issue, places: Places) -> Findings:
    for where, text in texts(issue, places):
        tokens = markdown.parse(text)
        for href in dict.fromkeys(markdown.links(tokens)):
            if not markdown.safe_url(href):
                yield found("link-relative", f"the link to {short(href)!r} is left out", where)
        for source in dict.fromkeys(markdown.images(tokens)):
            yield found("image-left-out", f"the image {short(source)!r} is left out: mails are type only", where)
    for where, words in _written(issue, places):
        match = PLACEHOLDER.search(words)
        if match:
            yield found("placeholder", f"“{around(words, match)}” looks like a placeholder", where)
        match = _MOJIBAKE.search(words)
        if match:
            yield found("broken-letters", f"“{around(words, match)}” was decoded wrongly", where)


def _written(issue: types.Issue, places: Places) -> Iterator[tuple[str, str]]:
    yield from texts(issue, places)
    for where, entry in each(issue, places):
        yield where, f"{entry.title or ''} {entry.byline}"
    yield places.of_key("preheader"), issue.preheader
    for number, section in enumerate(issue.sections):
        yield places.of_section(number, section), section.title
    yield config.FILE, issue.title


def linked(issue: types.Issue, places: Places) -> dict[str, str]:
    """The address of a link, without its fragment -> the first place that has it."""
    found_at: dict[str, str] = {}
    for where, text in texts(issue, places):
        for href in markdown.links(markdown.parse(text)):
            found_at.setdefault((markdown.safe_url(href) or "").partition("#")[0], where)
    for where, entry in each(issue, places):
        found_at.setdefault((markdown.safe_url(entry.url) or "").partition("#")[0], where)
    return found_at


def all_words(issue: types.Issue) -> str:
    """Every word of an issue: what a template did not write itself."""
    return " ".join(
        (issue.subject, issue.postal_address, issue.footer, *(text for _, text in _written(issue, Places())))
    )


def private_host(host: str) -> bool:
    """Is it a host that only the editor's own network has?"""
    host = host.rstrip(".")
    try:
        return not ipaddress.ip_address(host.strip("[]")).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan", ".home.arpa", ".test"))


def host_of(url: str) -> str:
    """The host of an address, "" where there is none."""
    try:
        return (urllib.parse.urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
