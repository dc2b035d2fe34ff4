"""What belongs to a topic, and how well: rules over an entry's words, and a BM25 score; each decision explained. Pure.

belongs()   include and exclude rules
Scorer      scores against a topic's title and words and, weaker, the words of what editors kept before
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import regex

from newsletter import errors

FLAGS = regex.IGNORECASE | regex.MULTILINE
RULE_SECONDS = 0.5  # for one rule on one entry: a rule like (a+)+$ would never end
LONGEST = 20_000  # characters of one entry that rules and scores look at

# Okapi BM25 with the usual constants (Robertson and Zaragoza 2009, 3.2).
K1, B = 1.2, 0.75
KEPT_TERMS, KEPT_WEIGHT = 24, 0.35  # how many words of the kept entries count, and how much beside the topic's own
TITLE_TIMES = 2  # a word in a title counts as often
_TOKEN = re.compile(r"[^\W_]+(?:[+#]+)?")
_STOP = frozenset(
    "a about after all also an and any are as at be been both but by can do each for from had has have "
    "how if in into is "
    "it its may more most new no not of on one only or other our over such than that the their them then there these "
    "they this those through to two under up use used using via was we were what when where which while who will with "
    "within without would you your paper show shows propose present introduce method methods approach "
    "results based".split()
)


def _search(rule: str, text: str) -> regex.Match[str] | None:
    try:
        return regex.search(rule, text, FLAGS, timeout=RULE_SECONDS)
    except TimeoutError:
        raise errors.ConfigError(
            f"newsletter.toml: the rule {rule!r} takes too long on {text[:60]!r}; write it without repeats in repeats"
        ) from None
    except regex.error as error:
        raise errors.ConfigError(f"newsletter.toml: the rule {rule!r} is no regular expression: {error}") from None


def valid(rules: Iterable[str]) -> None:
    """Raises `errors.ConfigError` for a rule that is no regular expression."""
    for rule in rules:
        try:
            regex.compile(rule, FLAGS)
        except regex.error as error:
            raise errors.ConfigError(f"the rule {rule!r} is no regular expression: {error}") from None


def belongs(words: Sequence[str], include: Sequence[str], exclude: Sequence[str]) -> tuple[bool, str | None]:
    """Does an entry with these words (title, summary, authors, categories, source and its host) belong? And why.

    Rules are regular expressions, case-insensitive; `^` and `$` are the ends of each of the words. Without `include`,
    everything belongs that no `exclude` matches.
    """
    text = "\n".join(word[:LONGEST] for word in words)
    for rule in exclude:
        found = _search(rule, text)
        if found:
            return False, f"excluded: {found[0][:80]!r}"
    if not include:
        return True, None
    matched = [found[0] for rule in include if (found := _search(rule, text))]
    if matched:
        return True, "matched: " + ", ".join(dict.fromkeys(word.lower()[:80] for word in matched))
    return False, "matched no include rule"


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """What is scored: an entry's title and the rest of its words."""

    title: str
    body: str


@dataclasses.dataclass(frozen=True, slots=True)
class Score:
    """How well an entry fits, by which of the topic's words, and by which of entries that were kept (`learnt`)."""

    value: float
    matched: tuple[str, ...]
    learnt: tuple[str, ...] = ()


class Scorer:
    """Scores of one topic over a collection: what is rare in it tells more."""

    def __init__(self, query: Iterable[str], collection: Sequence[Text], kept: Sequence[Text] = ()) -> None:
        self._texts = collection
        self._counts = [_counts(text) for text in collection]
        old = [_counts(text) for text in kept]
        every = self._counts + old
        self._documents = max(1, len(every))
        self._length = (sum(sum(counts.values()) for counts in every) / self._documents) or 1.0
        self._frequency = Counter(term for counts in every for term in counts)
        mine = dict.fromkeys((stem(token) for part in query for token in tokens(part)), 1.0)
        self._weights: dict[str, float] = self._learnt(old, mine) | mine
        self._own = mine

    def _learnt(self, old: Sequence[Mapping[str, int]], mine: Mapping[str, float]) -> dict[str, float]:
        """The words by which kept entries stand out, weighted by how many of them have each."""
        if len(old) < 3:
            return {}
        among = Counter(term for counts in old for term in counts)
        telling = {
            term: count / len(old) * self._idf(term)
            for term, count in among.items()
            if count > 1 and term not in mine and not term.isdigit()
        }
        best = sorted(telling.items(), key=lambda item: (-item[1], item[0]))[:KEPT_TERMS]
        return {term: KEPT_WEIGHT * among[term] / len(old) for term, _ in best}

    def _idf(self, term: str) -> float:
        there = self._frequency[term]
        return math.log(1 + (self._documents - there + 0.5) / (there + 0.5))

    def scores(self) -> list[Score]:
        """A score for each text of the collection, in its order; 0 and up."""
        return [self._score(text, counts) for text, counts in zip(self._texts, self._counts, strict=True)]

    def _score(self, text: Text, counts: Mapping[str, int]) -> Score:
        length = sum(counts.values()) / self._length
        parts = {}
        for term, weight in self._weights.items():
            count = counts.get(term, 0)
            if count:
                parts[term] = weight * self._idf(term) * count * (K1 + 1) / (count + K1 * (1 - B + B * length))
        telling = sorted(parts, key=lambda term: (-parts[term], term))
        forms = _forms(text) if telling else {}
        own = tuple(forms[term] for term in telling if term in self._own)
        learnt = tuple(forms[term] for term in telling if term not in self._own)
        return Score(round(sum(parts.values()), 2), own, learnt)


def tokens(text: str) -> list[str]:
    """The words of a text that mean something, in small letters."""
    return [token for token in _TOKEN.findall(text[:LONGEST].casefold()) if token not in _STOP and len(token) > 1]


def stem(token: str) -> str:
    """A word without its ending, so that "agents" and "agentic" find "agent": light, and the same for both sides."""
    for ending in (
        "isation",
        "ization",
        "ations",
        "ation",
        "ically",
        "ical",
        "ing",
        "ies",
        "ic",
        "ers",
        "er",
        "es",
        "ed",
        "ly",
        "s",
        "e",
    ):
        if token.endswith(ending) and len(token) - len(ending) >= 4:
            return token[: -len(ending)]
    return token


def _counts(text: Text) -> Counter[str]:
    found = Counter(map(stem, tokens(text.body)))
    for token in tokens(text.title):
        found[stem(token)] += TITLE_TIMES
    return found


def _forms(text: Text) -> dict[str, str]:
    """Stem -> the word as it first stands in the text."""
    return {stem(token): token for token in reversed([*tokens(text.title), *tokens(text.body)])}


def explained(why: str | None, score: Score) -> str:
    """As `matched: agentic, policy optimisation; score 7.1`, or `like what you kept: tide, coast; score 0.3`."""
    if why is None and score.matched:
        why = "matched: " + ", ".join(score.matched[:5])
    learnt = "like what you kept: " + ", ".join(score.learnt[:5]) if score.learnt and not score.matched else None
    return "; ".join([*filter(None, (why, learnt)), f"score {score.value:.1f}"])
