"""The same story from several sources -> one entry. Pure.

Similar titles alone are wrong 97 times in 100 inside one feed ("Session 153", "Session 155"; measured on 6,543 real
titles, research/collect.md 4.2). So two entries tell one story only when no source showed both, they are at most seven
days apart, their titles are long enough to say something, have the same numbers, and differ in nothing but spelling:
capitals, punctuation, hyphens, small words, endings.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

SHORTEST = 25  # characters of a title
APART = dt.timedelta(days=7)
ALIKE = 88.0  # rapidfuzz's ratio, to find candidates; the guards decide
LONGEST = 400
_SMALL = frozenset("a an the of to in on at for from by with and or its is are".split())
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

    titles = [_joined(story.title) for story in stories]
    alike: dict[tuple[str, ...], list[int]] = {}
    for i, story in enumerate(stories):
        if len(" ".join(story.title.split())) >= SHORTEST:
            alike.setdefault(_exact(story.title), []).append(i)
    order = sorted(range(len(stories)), key=lambda i: stories[i].rank, reverse=True)  # stable
    place = {i: at for at, i in enumerate(order)}
    found: list[Merge] = []
    for group in alike.values():
        if len(group) < 2:
            continue
        kept: list[int] = []
        sources: dict[int, frozenset[str]] = {}
        for i in sorted(group, key=place.__getitem__):
            near = rapidfuzz.process.extract(
                titles[i], {j: titles[j] for j in kept}, scorer=rapidfuzz.fuzz.ratio, score_cutoff=ALIKE, limit=None
            )
            fitting = [j for _, _, j in near if _same(stories[i], stories[j], sources[j])]
            if fitting:
                into = min(fitting, key=place.__getitem__)
                sources[into] |= stories[i].sources
                found.append(Merge(stories[i].ref, stories[into].ref))
            else:
                kept.append(i)
                sources[i] = stories[i].sources
    return found


def _same(one: Story, other: Story, sources: frozenset[str]) -> bool:
    """`sources`: all that showed the other, with those merged into it."""
    return not one.sources & sources and abs(one.at - other.at) <= APART and same_title(one.title, other.title)


def same_title(one: str, other: str) -> bool:
    """Do two titles differ in spelling only?"""
    if _exact(one) != _exact(other):
        return False
    if _joined(one) == _joined(other):
        return True
    first, second = Counter(_words(one)), Counter(_words(other))
    left, right = first - second, second - first
    return not [word for word in (left | right) if word not in _SMALL] and sum((first & second).values()) >= 4


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
    return [_spelt(word) for word in re.findall(r"[^\W_]+", re.sub(r"['\u2019]s\b", "", _folded(title)))]


def _spelt(word: str) -> str:
    """One spelling of British and American English, without the plural."""
    word = re.sub(r"is(e[ds]?|ing|ations?)$", r"iz\1", word)
    word = re.sub(r"(?<=[a-z]{3})our$", "or", re.sub(r"(?<=[a-z]{3})tre(?=s?$)", "ter", word))
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word
