"""The same story from several sources -> one entry. Pure.

Similar titles alone are wrong 97 times in 100 inside one feed ("Session 153", "Session 155"; measured on 6,543 real
titles, research/collect.md 4.2). So two entries tell one story only when no source showed both, they are at most seven
days apart, their titles have the same numbers, and either

    titles    are long enough to say something, and differ in nothing but spelling: capitals, punctuation, hyphens,
              articles, endings, and what sites put around a title: "Show HN: ", " | TechCrunch", "[2609.01234v2]";
              but not where texts that are long enough have next to no words in common, as under "Morning briefing",
              nor where one of the sources gives that title to entries of several days
    texts     are long, by the same authors, and the same: then the title may be another one, but for one word in its
              place, as series have it ("Weather for London"); or nearly the same: then the title may have its words
              in another order, or one letter wrong

Or they have a name in common, of the work or the page, that no source gives to two: both had come before it was known.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from newsletter.curate import credited

SHORTEST = 25  # characters of a title
APART = dt.timedelta(days=7)
ALIKE = 88.0  # rapidfuzz's ratio; the words decide
LONGEST = 400
LONG_TEXT, LONGEST_TEXT = 200, 4000  # letters and digits of texts that are compared
SAME_TEXT = 90.0  # rapidfuzz's ratio of texts: a later version of an abstract
FEWEST_WORDS, SHARED_WORDS = 6, 0.12  # of texts that can tell two stories under one title apart
_EDGE = 60  # letters at either end by which nearly equal texts are found
_SMALL = frozenset("a an the its is are".split())  # not "to" and "from": the one is the other's contrary
_ID = r"(?:arxiv\s*:\s*)?(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?(?:\s?\[[a-z-]+(?:\.[A-Z-]+)?\])?"
_BEFORE = re.compile(
    r"(?i)\s*(?:(?:show|launch|tell) hn\s*[:–-]|[\[(](?:r|n|p|d|pdf|video|v\d{1,2}|updated?|preprint)[\])]|"
    rf"[\[(]?(?<!\w){_ID}[\])]?\s*[:–—-]?(?=\s)|"
    r"(?:breaking|exclusive|just in|watch live)\s*:|(?:introducing|announcing|"
    r"meet)\s+(?=\S+(?:\s\S+){0,3}?\s*[:,–—-]\s))\s*"
)
_TAG_BEHIND = re.compile(rf"(?i)\s*[\[(](?:pdf|video|r|n|p|d|v\d{{1,2}}|updated?|preprint|{_ID})[\])]\s*\.?$")
_CALENDAR = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|"
    r"novem|decem)ber|spring|summer|autumn|winter|morning|evening|north|south|east|west|first|second|third|last|next"
)
_SITE = re.compile(r"\s+(?:[|·•»]|[-–—]{1,2}|::)\s+(?P<site>[^|·•»]{2,40})$")
# A word by which a name behind a title is a publication's: "- The Verge", "| BBC News", "- Nature".
_PUBLICATION = re.compile(
    r"(?i)\b(?:the verge|techcrunch|wired|ars technica|engadget|reuters|bloomberg|guardian|bbc|cnn|cnbc|npr|axios|"
    r"politico|washington post|new york times|nytimes|financial times|wall street journal|wsj|forbes|fortune|"
    r"venturebeat|zdnet|cnet|the register|hacker ?noon|medium|substack|github|youtube|arxiv|phys\.org|nature|science|"
    r"new scientist|mit technology review|quanta magazine|ieee spectrum|associated press|ap news|sky news|al jazeera|"
    r"le monde|der spiegel|heise(?: online)?|golem\.de|tagesschau|the information|the atlantic|the economist|the "
    r"independent|the hill|vox|slate|9to5mac|9to5google|macrumors|techradar|gizmodo|mashable|the next web|tnw|"
    r"slashdot|lwn\.net|infoq|hugging ?face|google news|yahoo(?: news)?)\b"
    r"|\b(?:news|times|post|journal|magazine|gazette|herald|tribune|blog)$|\.(?:com|org|net|io|dev)$"
)
_ROMAN = re.compile(r"[ivx]+")


@dataclasses.dataclass(frozen=True, slots=True)
class Story:
    """What is compared of an entry. `rank`: of one story's entries the highest stays; the first of equals.

    `names` are the works and pages that it is known by, such as "doi:10.5555/lake.77" or "url:blog.test/bridge".
    """

    ref: str
    title: str
    sources: frozenset[str]
    at: dt.datetime
    rank: tuple[int, ...] = ()
    authors: frozenset[str] = frozenset()
    text: str = ""
    names: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Merge:
    """`gone` tells the same story as `kept`."""

    gone: str
    kept: str


def merges(stories: Sequence[Story]) -> list[Merge]:
    """Which entries tell the story of another one that stays. The same again gives the same again."""
    telling = [_Telling(story) for story in stories]
    standing = _standing(telling, stories)
    names = _names(stories)
    order = sorted(range(len(stories)), key=lambda i: (stories[i].at, stories[i].ref))
    order.sort(key=lambda i: stories[i].rank, reverse=True)  # stable
    place = {i: at for at, i in enumerate(order)}
    kept: dict[tuple[str, ...], list[int]] = {}  # what may be the same story -> those that stay
    named: dict[str, int] = {}  # name -> the one that stays
    sources: dict[int, frozenset[str]] = {}
    found: list[Merge] = []
    for i in order:
        fitting = {
            j
            for key in telling[i].keys
            for j in kept.get(key, ())
            if _near(stories[i], stories[j], sources[j])
            and telling[i].joined not in standing
            and _same(telling[i], telling[j])
        }
        others = {named[name] for name in names[i] if name in named}
        fitting |= {j for j in others if not stories[i].sources & sources[j]}
        if fitting:
            into = min(fitting, key=place.__getitem__)
            sources[into] |= stories[i].sources
            found.append(Merge(stories[i].ref, stories[into].ref))
        else:
            into, sources[i] = i, stories[i].sources
            for key in telling[i].keys:
                kept.setdefault(key, []).append(i)
        for name in names[i]:
            named.setdefault(name, into)
    refs = {story.ref: at for at, story in enumerate(stories)}
    return sorted(found, key=lambda merge: refs[merge.gone])


def _standing(telling: Sequence[_Telling], stories: Sequence[Story]) -> set[str]:
    """The titles under which one source tells another thing each day or week: "Weekly notes"."""
    days: dict[tuple[str, str], set[dt.date]] = {}
    for each, story in zip(telling, stories, strict=True):
        for source in story.sources:
            days.setdefault((each.joined, source), set()).add(story.at.date())
    return {title for (title, _), dates in days.items() if len(dates) > 1}


def _names(stories: Sequence[Story]) -> list[frozenset[str]]:
    """Each story's names, but for those that a source gives to two stories: they are nobody's."""
    given = Counter((name, source) for story in stories for name in story.names for source in story.sources)
    shared = {name for (name, _), times in given.items() if times > 1}
    return [story.names - shared for story in stories]


class _Telling:
    """A story as it is compared. Two that may be the same have one of their `keys` in common."""

    __slots__ = ("authors", "joined", "keys", "said", "text", "title")

    def __init__(self, story: Story) -> None:
        self.title = told(story.title, story.sources)
        self.joined = _joined(self.title)
        self.authors = tuple(sorted(author.casefold() for author in story.authors))
        self.text = re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", story.text)[: 2 * LONGEST_TEXT].casefold())
        self.text = self.text[:LONGEST_TEXT] if self.authors and len(self.text) >= LONG_TEXT else ""
        words = re.findall(r"[^\W\d_]{5,}", _folded(self.title) + "\n" + story.text[:LONGEST_TEXT].casefold())
        self.said = frozenset(words) - frozenset(re.findall(r"[^\W\d_]{5,}", _folded(self.title)))
        titles = _keys(self.title) if len(self.title) >= SHORTEST else ()
        edges = (("<", self.text[:_EDGE]), (">", self.text[-_EDGE:])) if self.text else ()
        keys = (*titles, *((*self.authors, *edge) for edge in edges))
        exact = sorted(_exact(self.title))
        self.keys: tuple[tuple[str, ...], ...] = tuple((*key, "", *exact) for key in keys)


def _same(one: _Telling, other: _Telling) -> bool:
    import rapidfuzz

    long = len(one.title) >= SHORTEST and len(other.title) >= SHORTEST
    if long and rapidfuzz.fuzz.ratio(one.joined, other.joined) >= ALIKE and same_title(one.title, other.title):
        return not _of_other_things(one, other)
    if not one.text or not other.text or one.authors != other.authors:
        return False
    mine, theirs = _words(one.title), _words(other.title)
    if sorted(filter(_CALENDAR.fullmatch, mine)) != sorted(filter(_CALENDAR.fullmatch, theirs)):
        return False
    if one.text == other.text and not _one_word_apart(mine, theirs):
        return True
    return _misspelt(mine, theirs) and rapidfuzz.fuzz.ratio(one.text, other.text) >= SAME_TEXT


def _of_other_things(one: _Telling, other: _Telling) -> bool:
    """Do two texts under one title share next to no words? Words of under five letters are in every text."""
    fewer = min(len(one.said), len(other.said))
    same_people = bool(one.authors) and one.authors == other.authors
    return fewer >= FEWEST_WORDS and not same_people and len(one.said & other.said) < SHARED_WORDS * fewer


def _one_word_apart(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Is one word another one in its place? So have series it: "Weather for London", "Weather for Paris"."""
    different = [pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]]
    return len(mine) == len(theirs) and len(different) == 1 and not _one_letter_apart(*different[0])


def _misspelt(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """The same words in any order, but for one with a letter wrong?"""
    only, others = Counter(mine) - Counter(theirs), Counter(theirs) - Counter(mine)
    if not only and not others:
        return len(mine) >= 4
    return only.total() == others.total() == 1 and _one_letter_apart(*only, *others)


def _one_letter_apart(one: str, other: str) -> bool:
    import rapidfuzz

    return min(len(one), len(other)) >= 4 and rapidfuzz.distance.OSA.distance(one, other, score_cutoff=1) <= 1


def _near(one: Story, other: Story, sources: frozenset[str]) -> bool:
    """`sources`: all that showed the other, with those merged into it."""
    return not one.sources & sources and abs(one.at - other.at) <= APART


def who(fields: Sequence[str]) -> frozenset[str]:
    """The authors of a story, as far as they are compared: by the names that summaries call them."""
    return frozenset(each.name for each in credited.read(fields).named)


def told(title: str, sources: Collection[str] = ()) -> str:
    """A title without what a site puts before and behind it; a site is known by its name or address."""
    text = " ".join(title[:LONGEST].split())
    for _ in range(2):
        text = _BEFORE.sub("", text, count=1) if _BEFORE.match(text) else text
        text = _TAG_BEHIND.sub("", text)
        match = _SITE.search(text)
        if match and _is_site(match["site"], sources):
            text = text[: match.start()]
    return text


def _is_site(name: str, sources: Collection[str]) -> bool:
    squashed = re.sub(r"^the|[\W_]+", "", name.casefold())
    hosts = [re.sub(r"[\W_]+", "", urlsplit(source).hostname or "") for source in sources if "//" in source]
    if len(squashed) >= 4 and any(squashed in host for host in hosts):
        return True
    return len(name.split()) <= 4 and name[:1].isupper() | name[:1].isdigit() and _PUBLICATION.search(name) is not None


def same_title(one: str, other: str) -> bool:
    """Do two titles differ in spelling only?"""
    if _exact(one) != _exact(other):
        return False
    if _joined(one) == _joined(other):
        return True
    first, second = _words(one), _words(other)
    return first == second and len(first) >= 4


def _keys(title: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Titles that are the same have one of these in common."""
    return (_joined(title),), ("", *_words(title))


def _exact(title: str) -> tuple[str, ...]:
    """What must be equal to the letter: numbers, words with # or +, Roman numerals, single letters."""
    found = re.findall(r"[^\W_]+[#+]+|\d+(?:[.,]\d+)*%?|[^\W\d_]+", _folded(title))
    return tuple(
        word
        for word in found
        if word[0].isdigit()
        or word[-1] in "#+"
        or _ROMAN.fullmatch(word)
        or (len(word) == 1 and word not in ("a", "s"))
    )


def _folded(title: str) -> str:
    return unicodedata.normalize("NFKC", title)[:LONGEST].casefold()


def _joined(title: str) -> str:
    """The letters and digits alone: "data-centre", "data centre" and "datacentre" are one word."""
    return re.sub(r"[\W_]+", "", _folded(title))


def _words(title: str) -> list[str]:
    plain = re.sub(r"\s&\s", " and ", re.sub(r"['\u2019]s\b", "", _folded(title)))
    return [_spelt(word) for word in re.findall(r"[^\W_]+", plain) if word not in _SMALL]


def _spelt(word: str) -> str:
    """One spelling of British and American English, without the plural."""
    word = re.sub(r"is(e[ds]?|ing|ations?)$", r"iz\1", word)
    word = re.sub(r"(?<=[a-z]{3})our$", "or", re.sub(r"(?<=[a-z]{3})tre(?=s?$)", "ter", word))
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word
