"""The same story from several sources -> one entry. Pure.

Similar titles alone are wrong 97 times in 100 inside one feed ("Session 153", "Session 155"; measured on 6,543 real
titles, research/collect.md 4.2). So two entries tell one story only when no source showed both, they are at most seven
days apart, their titles are long enough to say something, have the same numbers, and differ in nothing but spelling:
capitals, punctuation, hyphens, articles, endings, and what sites put around a title: "Show HN: ", " | TechCrunch".
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import unicodedata
from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

SHORTEST = 25  # characters of a title
APART = dt.timedelta(days=7)
ALIKE = 88.0  # rapidfuzz's ratio; the words decide
LONGEST = 400
_SMALL = frozenset("a an the its is are".split())  # not "to" and "from": the one is the other's contrary
_BEFORE = re.compile(
    r"(?i)\s*(?:(?:show|launch|tell) hn\s*[:–-]|\[(?:r|n|p|d|pdf|video)\]|(?:breaking|exclusive|just in|watch "
    r"live)\s*:|"
    r"(?:introducing|announcing|meet)\s+(?=\S+(?:\s\S+){0,3}?\s*[:,–—-]\s))\s*"
)
_TAG_BEHIND = re.compile(r"(?i)\s*[\[(](?:pdf|video|r|n|p|d)[\])]\s*$")
_SITE = re.compile(r"\s+(?:[|·•»]|[-–—]{1,2}|::)\s+(?P<site>[^|·•»]{2,40})$")
# A word by which a name behind a title is a publication's: "- The Verge", "| BBC News", "- Nature".
_PUBLICATION = re.compile(
    r"(?i)\b(?:the verge|techcrunch|wired|ars technica|engadget|reuters|bloomberg|guardian|bbc|cnn|cnbc|npr|axios|"
    r"politico|"
    r"washington post|new york times|nytimes|financial times|wall street journal|wsj|forbes|fortune|venturebeat|"
    r"zdnet|cnet|"
    r"the register|hacker ?noon|medium|substack|github|youtube|arxiv|phys\.org|nature|science|new scientist|mit "
    r"technology "
    r"review|quanta magazine|ieee spectrum|associated press|ap news|sky news|al jazeera|le monde|der spiegel|"
    r"heise(?: online)?|"
    r"golem\.de|tagesschau|the information|the atlantic|the economist|the independent|the hill|vox|slate|9to5mac|"
    r"9to5google|"
    r"macrumors|techradar|gizmodo|mashable|the next web|tnw|slashdot|lwn\.net|infoq|hugging ?face|google news|"
    r"yahoo(?: news)?)\b"
    r"|\b(?:news|times|post|journal|magazine|gazette|herald|tribune|blog)$|\.(?:com|org|net|io|dev)$"
)
_ROMAN = re.compile(r"[ivx]+")


@dataclasses.dataclass(frozen=True, slots=True)
class Story:
    """What is compared of an entry. `rank`: of one story's entries the highest stays; the first of equals."""

    ref: str
    title: str
    sources: frozenset[str]
    at: dt.datetime
    rank: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Merge:
    """`gone` tells the same story as `kept`."""

    gone: str
    kept: str


def merges(stories: Sequence[Story]) -> list[Merge]:
    """Which entries tell the story of another one that stays. The same again gives the same again."""
    import rapidfuzz

    bare = [told(story.title, story.sources) for story in stories]
    titles = [_joined(title) for title in bare]
    alike: dict[tuple[str, ...], list[int]] = {}
    for i, title in enumerate(bare):
        if len(title) >= SHORTEST:
            alike.setdefault(_exact(title), []).append(i)
    order = sorted(range(len(stories)), key=lambda i: (stories[i].at, stories[i].ref))
    order.sort(key=lambda i: stories[i].rank, reverse=True)  # stable
    place = {i: at for at, i in enumerate(order)}
    found: list[Merge] = []
    for group in alike.values():
        if len(group) < 2:
            continue
        kept: dict[tuple[str, ...], list[int]] = {}  # what may be the same title -> those that stay
        sources: dict[int, frozenset[str]] = {}
        for i in sorted(group, key=place.__getitem__):
            fitting = [
                j
                for key in _keys(bare[i])
                for j in kept.get(key, ())
                if _near(stories[i], stories[j], sources[j])
                and rapidfuzz.fuzz.ratio(titles[i], titles[j]) >= ALIKE
                and same_title(bare[i], bare[j])
            ]
            if fitting:
                into = min(fitting, key=place.__getitem__)
                sources[into] |= stories[i].sources
                found.append(Merge(stories[i].ref, stories[into].ref))
            else:
                for key in _keys(bare[i]):
                    kept.setdefault(key, []).append(i)
                sources[i] = stories[i].sources
    refs = {story.ref: at for at, story in enumerate(stories)}
    return sorted(found, key=lambda merge: refs[merge.gone])


def _near(one: Story, other: Story, sources: frozenset[str]) -> bool:
    """`sources`: all that showed the other, with those merged into it."""
    return not one.sources & sources and abs(one.at - other.at) <= APART


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
