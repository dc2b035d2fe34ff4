"""An issue as templates see it: every value ready to be printed. Two kinds, with the same names in both.

For `.mjml` the texts are HTML without style (the filter `styled` puts it in); for `.txt` they are lines of at most 72
characters. The fields of these classes are the variables that `templates/README.md` lists; a test compares them.
"""

from __future__ import annotations

import collections
import dataclasses
import re
from collections.abc import Sequence

import markupsafe
from markdown_it.token import Token

from newsletter import dates, types
from newsletter.render import markdown, words
from newsletter.render import text as plain_text

WORDS_A_MINUTE = 230  # silent reading of English non-fiction: 238, less some for names and numbers (Brysbaert 2019)
PREHEADER = 100  # what phones show of one
RIGHT_TO_LEFT = frozenset("ar dv fa he ps sd ug ur yi".split())
# Link texts of the shipped templates: no handle may read like one of them.
_SPOKEN_FOR = ("Choose your topics", "Leave", "Read on the web", "Change topics", "Unsubscribe")


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One article. `title`, `url` and `link` are None where there is none."""

    title: str | None
    url: str | None
    body: str
    byline: str
    link: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """One topic with its articles."""

    slug: str
    title: str
    text: str
    entries: tuple[Entry, ...]
    count: int
    more: int
    url: str


@dataclasses.dataclass(frozen=True, slots=True)
class Issue:
    """What is read, in order."""

    title: str
    subject: str
    preheader: str
    newsletter: str
    period: str
    language: str
    direction: str
    date: str
    number: int | None
    minutes: int
    count: int
    intro: str
    sections: tuple[Section, ...]
    url: str
    base_url: str
    postal_address: str


@dataclasses.dataclass(frozen=True, slots=True)
class Parsed:
    """An issue with its Markdown parsed, for both kinds of view: a list of tokens for each text."""

    issue: types.Issue
    intro: list[Token]
    texts: tuple[list[Token], ...]
    bodies: tuple[tuple[list[Token], ...], ...]


def parse(issue: types.Issue) -> Parsed:
    """Parse every text of an issue once."""
    return Parsed(
        issue,
        markdown.parse(issue.intro),
        tuple(markdown.parse(section.text) for section in issue.sections),
        tuple(tuple(markdown.parse(entry.body) for entry in section.entries) for section in issue.sections),
    )


def as_html(parsed: Parsed) -> Issue:
    """The issue for `issue.mjml`."""
    handles = _handles(parsed)
    rtl = _direction(parsed.issue) == "rtl"
    sections = []
    for i, section in enumerate(parsed.issue.sections):
        entries = []
        for j, entry in enumerate(section.entries):
            tokens, handle = parsed.bodies[i][j], handles.get((i, j))
            url = markdown.safe_url(entry.url)
            body = markupsafe.Markup(markdown.html(tokens, handle, rtl=rtl))  # noqa: S704 - escaped there
            link = _address(url) if url and not _title(entry) and not (handle and handle.url) else None
            byline = markupsafe.Markup(markdown.linked(_byline(entry, tokens)))  # noqa: S704
            entries.append(Entry(_title(entry), url, body, byline, link))
        text = markupsafe.Markup(markdown.html(parsed.texts[i], rtl=rtl))  # noqa: S704
        sections.append(_section(parsed.issue, section, text, entries))
    return _issue(parsed, markupsafe.Markup(markdown.html(parsed.intro, rtl=rtl)), sections)  # noqa: S704


def as_text(parsed: Parsed) -> Issue:
    """The issue for `issue.txt`."""
    sections = []
    for i, section in enumerate(parsed.issue.sections):
        entries = []
        for tokens, entry in zip(parsed.bodies[i], section.entries, strict=True):
            title = _title(entry)
            entries.append(
                Entry(
                    title=plain_text.wrap(title) if title else None,
                    url=markdown.safe_url(entry.url),
                    body=markdown.plain(tokens),
                    byline=plain_text.wrap(_byline(entry, tokens)),
                    link=None,
                )
            )
        sections.append(_section(parsed.issue, section, markdown.plain(parsed.texts[i]), entries))
    return _issue(parsed, markdown.plain(parsed.intro), sections)


def _section(issue: types.Issue, section: types.IssueSection, text: str, entries: Sequence[Entry]) -> Section:
    return Section(
        slug=section.slug,
        title=_line(section.title),
        text=text,
        entries=tuple(entries),
        count=len(entries),
        more=section.more,
        url=f"{issue.base_url}/{issue.newsletter}/topics/{section.slug}",
    )


def _issue(parsed: Parsed, intro: str, sections: Sequence[Section]) -> Issue:
    issue = parsed.issue
    return Issue(
        title=_line(issue.title),
        subject=_line(issue.subject),
        preheader=_preheader(parsed),
        newsletter=issue.newsletter,
        period=issue.period,
        language=issue.language,
        direction=_direction(issue),
        date=dates.with_weekday(issue.date, issue.language),
        number=issue.number,
        minutes=_minutes(parsed),
        count=sum(section.count for section in sections),
        intro=intro,
        sections=tuple(sections),
        url=f"{issue.base_url}/{issue.newsletter}/{issue.period}",
        base_url=issue.base_url,
        postal_address=_line(issue.postal_address),
    )


def _direction(issue: types.Issue) -> str:
    return "rtl" if issue.language.partition("-")[0].lower() in RIGHT_TO_LEFT else "ltr"


def _line(text: str) -> str:
    return " ".join(markdown.clean(text).split())


def _title(entry: types.IssueEntry) -> str | None:
    title = _line(entry.title or "")
    return title if title not in ("", "·") else None


def _byline(entry: types.IssueEntry, tokens: Sequence[Token]) -> str:
    """The quiet line: the byline as it stands, without authors that the summary itself begins with."""
    byline = _line(entry.byline)
    begins = markdown.lead(tokens)[0]
    return " · ".join(part for part in byline.split(" · ") if not words.said(part, begins))


def _address(url: str) -> str:
    """An address as a link's words: without its scheme, and not longer than half a line."""
    shown = re.sub(r"^(?:https?://(?:www\.)?|mailto:)", "", url, flags=re.IGNORECASE).rstrip("/")
    return shown if len(shown) <= 60 else shown[:59] + "…"


def _minutes(parsed: Parsed) -> int:
    texts = [parsed.intro, *parsed.texts, *(body for bodies in parsed.bodies for body in bodies)]
    titles = [entry.title or "" for section in parsed.issue.sections for entry in section.entries]
    count = sum(len(text.split()) for text in (*map(markdown.words, texts), *titles))
    return max(1, round(count / WORDS_A_MINUTE))


def _preheader(parsed: Parsed) -> str:
    """The editor's, else how the first article of this edition begins."""
    given = _line(parsed.issue.preheader)
    if given:
        return given
    texts = [markdown.words(body) for bodies in parsed.bodies for body in bodies]
    titles = [_title(entry) or "" for section in parsed.issue.sections for entry in section.entries]
    text = next(filter(None, (*texts, *titles, markdown.words(parsed.intro))), "")
    if len(text) <= PREHEADER:
        return text
    cut = text[:PREHEADER].rsplit(" ", 1)[0] if " " in text[:PREHEADER] else text[:PREHEADER]
    return cut.rstrip(" ,;:–—-") + "…"


# -- handles -----------------------------------------------------------------------------------------------------


def _handles(parsed: Parsed) -> dict[tuple[int, int], markdown.Handle]:
    """Where the eye lands in each entry without a title. The words of links are unique in an edition.

    A phrase that begins several linked entries ("The authors") takes in one word more in each of them until they
    differ: a list of links must make sense by itself (WCAG 2.2, 2.4.4 and 2.4.9).
    """
    handles, choices, urls = {}, {}, {}
    taken = {words_.casefold() for words_ in _SPOKEN_FOR}
    for i, section in enumerate(parsed.issue.sections):
        for j, entry in enumerate(section.entries):
            title, url = _title(entry), markdown.safe_url(entry.url)
            if title:
                taken.add(title.casefold())
                continue
            text, whole = markdown.lead(parsed.bodies[i][j])
            ends = list(dict.fromkeys(markdown.snap(end, whole) for end in words.ends(text)))
            if ends and url:
                choices[i, j] = [(end, text[:end].casefold()) for end in ends]
                urls[i, j] = url
            elif ends:
                handles[i, j] = markdown.Handle(ends[0], None)
    at = dict.fromkeys(choices, 0)
    while True:
        count = collections.Counter(choices[key][at[key]][1] for key in at)
        again = [
            key
            for key in at
            if (count[choices[key][at[key]][1]] > 1 or choices[key][at[key]][1] in taken)
            and at[key] + 1 < len(choices[key])
        ]
        if not again:
            break
        for key in again:
            at[key] += 1
    for key, place in at.items():
        handles[key] = markdown.Handle(choices[key][place][0], urls[key])
    return handles
