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

from newsletter import colours, config, dates, types
from newsletter.render import language, markdown, words
from newsletter.render import text as plain_text

# Silent reading of English non-fiction: 238 words a minute, less some for names and numbers (Brysbaert 2019). Other
# languages say the same in other numbers of words, in about the same time: in proportion to the speeds of IReST
# (Trauzettel-Klosinski and Dietz 2012), English 228, German 179, French 195, Spanish 218, Arabic 138 and so on.
WORDS_A_MINUTE = {
    "en": 230, "ar": 140, "de": 180, "es": 220, "fi": 160, "fr": 195, "he": 190, "it": 190, "nl": 200, "pl": 170,
    "pt": 180, "ru": 185, "sl": 180, "sv": 200, "tr": 165,
}  # fmt: skip
LETTERS_A_MINUTE = {"zh": 255, "ja": 355}  # the same source, in characters, for what is written without blanks
PREHEADER = 100  # columns: what phones show of one
# Link texts of the shipped templates: no handle may read like one of them.
SPOKEN_FOR = ("Choose your topics", "Leave", "Read on the web", "Change topics", "Unsubscribe")


@dataclasses.dataclass(frozen=True, slots=True)
class Newsletter:
    """What all mails of a newsletter share: how it looks and who it is."""

    slug: str
    title: str
    language: str
    direction: str
    accent: str
    dark_accent: str
    logo: str
    logo_alt: str
    footer: str
    postal_address: str
    url: str
    base_url: str


@dataclasses.dataclass(frozen=True, slots=True)
class Mail:
    """What a service mail is about. `url` is where its one link leads; `hours` is how long that works.

    `next_issue` is a day in words, `sender` the address that issues come from.
    """

    url: str
    topics: tuple[str, ...]
    hours: int
    next_issue: str
    sender: str


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
    intro: Sequence[Token]
    texts: tuple[Sequence[Token], ...]
    bodies: tuple[tuple[Sequence[Token], ...], ...]


def newsletter(of: types.Issue | config.Newsletter, base_url: str) -> Newsletter:
    """How a newsletter looks: as it is set, or as it was when an issue was approved."""
    slug = of.newsletter if isinstance(of, types.Issue) else of.slug
    return Newsletter(
        slug=slug,
        title=_line(of.title),
        language=of.language,
        direction=_direction(of),
        accent=of.accent,
        dark_accent=of.dark_accent or (colours.for_dark(of.accent) if of.accent else ""),
        logo=of.logo,
        logo_alt=_line(of.logo_alt),
        footer=_line(of.footer),
        postal_address=_line(of.postal_address),
        url=f"{base_url}/{slug}/",
        base_url=base_url,
    )


def parse(issue: types.Issue) -> Parsed:
    """Parse every text of an issue once."""
    return Parsed(
        issue,
        markdown.parse(issue.intro),
        tuple(markdown.parse(section.text) for section in issue.sections),
        tuple(tuple(markdown.parse(entry.body) for entry in section.entries) for section in issue.sections),
    )


def as_html(parsed: Parsed, spoken_for: Sequence[str] = SPOKEN_FOR) -> Issue:
    """The issue for `issue.mjml`. `spoken_for` are the words of the links that its template has itself."""
    handles = _handles(parsed, spoken_for)
    page = _direction(parsed.issue)
    sections = []
    for i, section in enumerate(parsed.issue.sections):
        entries = []
        for j, entry in enumerate(section.entries):
            tokens, handle = parsed.bodies[i][j], handles.get((i, j))
            url = markdown.safe_url(entry.url)
            body = markupsafe.Markup(markdown.html(tokens, handle, page=page))  # noqa: S704 - escaped there
            link = _address(url) if url and not _title(entry) and not (handle and handle.url) else None
            byline = markupsafe.Markup(markdown.quiet(_byline(entry, tokens), page))  # noqa: S704
            entries.append(Entry(_title(entry), url, body, byline, link))
        text = markupsafe.Markup(markdown.html(parsed.texts[i], page=page))  # noqa: S704
        sections.append(_section(parsed.issue, section, text, entries))
    return _issue(parsed, markupsafe.Markup(markdown.html(parsed.intro, page=page)), sections)  # noqa: S704


def as_text(parsed: Parsed) -> Issue:
    """The issue for `issue.txt`."""
    sections = []
    for i, section in enumerate(parsed.issue.sections):
        entries = []
        for tokens, entry in zip(parsed.bodies[i], section.entries, strict=True):
            title = _title(entry)
            entries.append(
                Entry(
                    title=plain_text.wrap(language.isolated(title)) if title else None,
                    url=markdown.safe_url(entry.url),
                    body=markdown.plain(tokens),
                    byline=plain_text.wrap(language.isolated(_byline(entry, tokens))),
                    link=None,
                )
            )
        sections.append(_section(parsed.issue, section, markdown.plain(parsed.texts[i]), entries))
    return _issue(parsed, markdown.plain(parsed.intro), sections)


def reading(parsed: Parsed) -> tuple[int, int]:
    """(how many entries, how many minutes they take)."""
    return sum(len(section.entries) for section in parsed.issue.sections), _minutes(parsed)


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
        date=_capital(dates.with_weekday(issue.date, issue.language)),
        number=issue.number,
        minutes=_minutes(parsed),
        count=sum(section.count for section in sections),
        intro=intro,
        sections=tuple(sections),
        url=f"{issue.base_url}/{issue.newsletter}/{issue.period}",
        base_url=issue.base_url,
        postal_address=_line(issue.postal_address),
    )


def _direction(of: types.Issue | config.Newsletter) -> str:
    return language.direction(of.language) if of.direction == "auto" else of.direction


def _capital(text: str) -> str:
    """As it begins a line."""
    return text[:1].upper() + text[1:]


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
    return reading_minutes((*map(markdown.words, texts), *titles), parsed.issue.language)


def reading_minutes(texts: Sequence[str], tag: str) -> int:
    """How long it takes to read texts in a language, at least 1."""
    first = tag.partition("-")[0].lower()
    count = letters = 0
    for text in texts:
        unspaced = 0 if text.isascii() else len(plain_text.UNSPACED.findall(text))
        letters += unspaced
        count += len((plain_text.UNSPACED.sub(" ", text) if unspaced else text).split())
    minutes = count / WORDS_A_MINUTE.get(first, 200) + letters / LETTERS_A_MINUTE.get(first, 255)
    return max(1, round(minutes))


def _preheader(parsed: Parsed) -> str:
    """The editor's, else how the first article of this edition begins."""
    given = _line(parsed.issue.preheader)
    if given:
        return given
    begins = (
        _title(entry) or markdown.words(body)
        for section, bodies in zip(parsed.issue.sections, parsed.bodies, strict=True)
        for entry, body in zip(section.entries, bodies, strict=True)
    )
    text = next(filter(None, (*begins, markdown.words(parsed.intro))), "")
    if plain_text.columns(text) <= PREHEADER:
        return text
    first = plain_text.wrap(text[: 2 * PREHEADER], width=PREHEADER).partition("\n")[0]
    cut = first if plain_text.columns(first) <= PREHEADER else first[:PREHEADER]
    return cut.rstrip(" ,;:،؛、，–—-") + "…"


# -- handles -----------------------------------------------------------------------------------------------------


def _handles(parsed: Parsed, spoken_for: Sequence[str]) -> dict[tuple[int, int], markdown.Handle]:
    """Where the eye lands in each entry without a title. The words of links are unique in an edition.

    A phrase that begins several linked entries ("The authors") takes in one word more in each of them until they
    differ: a list of links must make sense by itself (WCAG 2.2, 2.4.4 and 2.4.9).
    """
    handles, choices, urls = {}, {}, {}
    taken = {words_.casefold() for words_ in spoken_for}
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
