"""What a model's figures and names stand beside, against what they stand beside in the text. Pure.

    check        refused                                             passes
    comparator   "p < 0.62" for "p = 0.62"; "more than 38%" for      "under 250 ms" for "below 250 ms"; "p = 0.013"
                 "38%"; "by 38%" for "by up to 38%"
    rate         "5 a month" for "5 a year"                          "5 a year" for "5 annually"
    date         "3 June" for "3 May"; a month that the text lacks   "Sept." for "September"
    of           "5 of 3"; "7 of 12" for "9 of 12"                   "12 of 40" for "of 40 tasks, 12"
    order        "from 9 to 5" for "from 5 to 9"; "B beats A"        "B is beaten by A"
    owner        "A 93%, B 88%" for "A 88%, B 93%"; "latency by      words that the text does not have at all
                 38%" where 38% is of token use
    turn         "raises wages" for "lowers wages"                   either, where the text has both

A figure is looked for in the sentences of the text that hold it; one that none holds is the guard's business.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from newsletter.curate import numbers

FEW = 10  # of a sentence that says what each belongs to
MOST = 30  # figures of a sentence that are looked at
_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|\n+")
_WORD = re.compile(r"[^\W\d_][\w-]*[^\W_]")
_NAME = re.compile(r"(?<![\w-])(?:[A-Z][\w+-]*[A-Z\d][\w.+-]*\w|[A-Z]{2,}\d*|[A-Z][a-z]+-\d[\w.]*)(?![\w-])")


@dataclasses.dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and its figures with offsets into it."""

    text: str
    figures: tuple[numbers.Figure, ...]


def sentences(text: str) -> list[Sentence]:
    """The sentences of a normal text (`numbers.normal`), with their figures."""
    parts = [part for part in _END.split(text.replace("et al. ", "et al ")) if part]
    return [Sentence(part, tuple(numbers.figures(part)[:MOST])) for part in parts]


def mispaired(answer: str, source: str) -> str | None:
    """What an answer pairs otherwise than its text; None when nothing. Both are normal texts."""
    said, there = sentences(answer), sentences(source)
    held: dict[object, list[tuple[Sentence, numbers.Figure]]] = {}
    for each in there:
        for figure in each.figures:
            held.setdefault((figure.value, figure.unit), []).append((each, figure))
    for sentence in said:
        for figure in sentence.figures:
            same = held.get((figure.value, figure.unit), [])[:20]
            for check in _CHECKS if same else ():
                if fault := check(sentence, figure, same):
                    return fault
    return (
        _order(said, there)
        or _dates(answer, source)
        or _swapped(said, there)
        or _elsewhere(said, there)
        or _turned(said, there)
    )


_Same = Sequence[tuple[Sentence, numbers.Figure]]

# -- comparators ---------------------------------------------------------------------------------------------------

_COMPARED = re.compile(
    r"(?:(?P<eq>=)|(?P<low><|≤|\b(?:below|under|at most|less than|fewer than|lower than|no more than|within|"
    r"(?P<most>up to|as much as|as many as)))|(?P<high>>|≥|\b(?:above|over|at least|more than|higher than|exceed\w*|"
    r"no less than|beyond)))\s?(?:the |an? )?[$€£]?$",
    re.IGNORECASE,
)
_LOOSE = re.compile(r"\b(?:over|under|within|beyond)\s$", re.IGNORECASE)  # "averaged over 12 tasks"


def _compared(sentence: Sentence, figure: numbers.Figure) -> str:
    match = _COMPARED.search(sentence.text[max(0, figure.start - 24) : figure.start])
    if match is None:
        return ""
    return "most" if match["most"] else match.lastgroup or ""


def _comparator(sentence: Sentence, figure: numbers.Figure, same: _Same) -> str | None:
    mine = _compared(sentence, figure)
    theirs = {_compared(*each) for each in same}
    if {"low", "most"} & theirs:
        theirs |= {"low"}
    if mine == "" and theirs == {"most", "low"} and figure.unit != "s":
        return _shown(sentence, figure)
    if mine in ("low", "most") and _LOOSE.search(sentence.text, max(0, figure.start - 8), figure.start):
        return None if theirs - {"high", "eq"} else _shown(sentence, figure)
    if mine == "high" and _LOOSE.search(sentence.text, max(0, figure.start - 8), figure.start):
        return None if theirs - {"low", "most", "eq"} else _shown(sentence, figure)
    if mine == "eq":
        return None if {"eq", ""} & theirs else _shown(sentence, figure)
    return _shown(sentence, figure) if mine and mine not in theirs else None


# -- rates ---------------------------------------------------------------------------------------------------------

_TIMES = "second|minute|hour|day|night|week|month|quarter|year|decade|century"
_RATE = re.compile(
    rf"^[^.;:,()\d]{{0,40}}?(?:\b(?:per|each|every)\s(?P<per>[^\W\d_]+)|\b(?:an?)\s(?P<a>{_TIMES})\b|"
    rf"/\s?(?P<slash>{_TIMES}|person|user)\b|"
    r"\b(?P<adverb>annual(?:ly)?|yearly|daily|monthly|weekly|hourly|nightly)\b)",
    re.IGNORECASE,
)
_ADVERBS = {"annual": "year", "annually": "year", "yearly": "year", "daily": "day", "monthly": "month",
            "weekly": "week", "hourly": "hour", "nightly": "night"}  # fmt: skip
_RATE_BEFORE = re.compile(r"\b(annual|yearly|daily|monthly|weekly|hourly|nightly)\b[^.;,\d]{0,40}$", re.IGNORECASE)


def _rates(sentence: Sentence, figure: numbers.Figure) -> set[str]:
    match = _RATE.match(sentence.text[figure.end : figure.end + 70])
    found = set[str]()
    if match and (match["per"] or "").lower() != "cent":
        word = (match["per"] or match["a"] or match["slash"] or match["adverb"]).lower()
        found.add(_ADVERBS.get(word, word.removesuffix("s")))
    before = _RATE_BEFORE.search(sentence.text[: figure.start])
    return found | ({_ADVERBS[before[1].lower()]} if before else set())


def _rate(sentence: Sentence, figure: numbers.Figure, same: _Same) -> str | None:
    mine = _rates(sentence, figure)
    theirs = set[str]().union(*(_rates(*each) for each in same))
    return _shown(sentence, figure, 40) if mine and theirs and not mine & theirs else None


# -- "5 of 3" ------------------------------------------------------------------------------------------------------

_OF = re.compile(r"\s*(?:(?:out )?of|/)\s*(?:the |all |its |their |these )?$")


def _pairs(sentence: Sentence, between: re.Pattern[str]) -> Iterator[tuple[numbers.Figure, numbers.Figure]]:
    for one, other in itertools.pairwise(sentence.figures):
        if not other.unit and one.unit in ("", other.unit) and between.fullmatch(sentence.text[one.end : other.start]):
            yield one, other


def _of(sentence: Sentence, figure: numbers.Figure, same: _Same) -> str | None:
    for part, whole in _pairs(sentence, _OF):
        if figure != whole:
            continue
        if part.value > whole.value:
            return _shown(sentence, part)
        parts = {one.value for each, _ in same for one, other in _pairs(each, _OF) if other.value == whole.value}
        beside = any(one.value == part.value for each, _ in same for one in each.figures)
        if part.value not in parts and (parts or not beside):
            return _shown(sentence, part)
    return None


def _shown(sentence: Sentence, figure: numbers.Figure, more: int = 20) -> str:
    return sentence.text[max(0, figure.start - 12) : figure.end + more].strip()


_CHECKS: tuple[Callable[[Sentence, numbers.Figure, _Same], str | None], ...] = (_comparator, _rate, _of)

# -- order ---------------------------------------------------------------------------------------------------------

_TO = re.compile(r"\s*%?\s*to\s+(?:about |only |over )?[$€£]?")
_BEATS = re.compile(
    r"\b(?:outperform\w*|beat(?:s|en)?|surpass\w*|exceed\w*|overtak\w*|defeat\w*|(?:better|worse|faster|slower|higher|"
    r"lower|larger|smaller|greater|less|more|fewer|stronger|weaker|older|younger|cheaper|safer)\b[^.;,]{0,30}? than)\b"
)


def _order(said: Sequence[Sentence], there: Sequence[Sentence]) -> str | None:
    known = {(one.value, other.value) for each in there for one, other in _changes(each)}
    for each in said:
        for one, other in _changes(each):
            if (other.value, one.value) in known and (one.value, other.value) not in known:
                return each.text[max(0, one.start - 8) : other.end]
    mine, theirs = _contests(said), _contests(there)
    turned = next((pair for pair in mine if pair[::-1] in theirs and pair not in theirs), None)
    return " against ".join(turned) if turned else None


def _changes(sentence: Sentence) -> Iterator[tuple[numbers.Figure, numbers.Figure]]:
    for one, other in itertools.pairwise(sentence.figures):
        before = sentence.text[max(0, one.start - 8) : one.start]
        if re.search(r"\bfrom\s+\S?$", before) and _TO.fullmatch(sentence.text[one.end : other.start]):
            yield one, other


def _contests(found: Sequence[Sentence]) -> set[tuple[str, str]]:
    """(who is ahead, of whom), by names."""
    pairs = set()
    for each in found:
        for match in _BEATS.finditer(each.text):
            left, right = _NAME.findall(each.text[: match.start()]), _NAME.findall(each.text[match.end() :])
            if left and right:
                passive = re.match(r"\s+by\b", each.text[match.end() :])
                pairs.add((right[0], left[-1]) if passive else (left[-1], right[0]))
    return pairs


# -- dates ---------------------------------------------------------------------------------------------------------

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = re.compile(
    r"(?:(?P<day>\b\d{1,2})(?:st|nd|rd|th)?\s(?:of\s)?)?\b(?P<month>January|February|March|April|May|June|July|August|"
    r"September|October|November|December|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)(?=\.|\s\d|"
    r",))\b\.?(?:\s(?P<after>\d{1,2})(?:st|nd|rd|th)?(?!\d))?(?:,?\s(?P<year>\d{4}))?"
)
_WEEKDAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")


def _dates(answer: str, source: str) -> str | None:
    known, days, years = set[str](), set[tuple[str, str]](), set[tuple[str, str]]()
    for match in _MONTH.finditer(source):
        month = match["month"][:3].lower()
        known.add(month)
        days |= {(day, month) for day in (match["day"], match["after"]) if day}
        years |= {(match["year"], month)} if match["year"] else set()
    for match in _MONTH.finditer(answer):
        month = match["month"][:3].lower()
        if (
            month == "may"
            and not (match["day"] or match["after"] or match["year"])
            and not re.search(r"\b(?:in|since|until|by|of|from|to|last|next|early|late|mid) May\b", match.string)
        ):
            continue
        day = match["day"] or match["after"]
        if (
            month not in known
            or (day and any(other == day for other, _ in days) and (day, month) not in days)
            or (
                match["year"]
                and any(year == match["year"] for year, _ in years)
                and (match["year"], month) not in years
            )
        ):
            return match[0]
    strange = set(_WEEKDAY.findall(answer)) - set(_WEEKDAY.findall(source))
    return min(strange, default=None)


# -- owners --------------------------------------------------------------------------------------------------------

_BEHIND = re.compile(
    r"\s*(?:points? |percent |percentage points? )?\(?(?:for|by|in|on|with|among|of|at) [^.;:,()]{1,60}"
)
_PARTS = re.compile(r"[;:()]|,|\b(?:while|whereas|but|against|versus|vs\.?|compared (?:with|to)|than|and)\b")
_EMPTY = frozenset(
    "with from that this than their them they have been were which when while also only about more less into over "
    "under after before during between against across and the for was are has had its per not but all both each most "
    "very least reach reaches reached reaching achieve achieves achieved score scores scored scoring obtain obtains "
    "attain gets give gives "
    "gave yield yields took takes cost costs respectively compared percent points point times".split()
)


def _owners(sentence: Sentence) -> list[tuple[numbers.Figure, str]]:
    """Each figure with the words that it belongs to: those since the figure before, and "for X" behind it."""
    found, start = [], 0
    figures = [figure for figure in sentence.figures if figure.unit[:1] not in ("#", "~", "=") and figure.unit != "th"]
    for figure in figures:
        before = sentence.text[start : figure.start]
        behind = _BEHIND.match(sentence.text, figure.end)
        following = [other.start for other in figures if other.start >= figure.end]
        end = min([behind.end() if behind else figure.end, *following])
        if behind and end > figure.end:
            end = figure.end + len(_PARTS.split(sentence.text[figure.end : end])[0])
        found.append((figure, f"{before} {sentence.text[figure.end : end]}"))
        start = max(end, figure.end)
    return found


def _telling(text: str) -> set[str]:
    return {word.casefold()[:6] for word in _WORD.findall(text) if len(word) > 2 and word.casefold() not in _EMPTY}


def _swapped(said: Sequence[Sentence], there: Sequence[Sentence]) -> str | None:
    """A figure that the answer gives to what another figure of the same sentence belongs to."""
    if any("respectively" in each.text or len(each.figures) > FEW for each in said):
        return None
    for source in there:
        if len(source.figures) > FEW or re.search(r"\brespectively\b|\bversus\b", source.text):
            continue
        owners = [(figure, _telling(words), set(_NAME.findall(words))) for figure, words in _owners(source)]
        for (one, mine, my_names), (other, theirs, their_names) in itertools.permutations(owners, 2):
            if one.unit != other.unit or one.value == other.value:
                continue
            for sentence in said:
                for figure, words in _owners(sentence):
                    if (figure.value, figure.unit) != (one.value, one.unit) or _again(figure, there, source):
                        continue
                    told, names = _telling(words), set(_NAME.findall(words))
                    by_name = names & (their_names - my_names) and not names & my_names and my_names
                    by_words = told & (theirs - mine) and not told & (mine - theirs) and mine - theirs
                    if by_name or (by_words and _other_too(sentence, other, mine - theirs)):
                        return _shown(sentence, figure)
    return None


def _again(figure: numbers.Figure, there: Sequence[Sentence], source: Sentence) -> bool:
    """Does the text hold the figure elsewhere, too?"""
    return any(
        (other.value, other.unit) == (figure.value, figure.unit)
        for each in there
        if each is not source
        for other in each.figures
    )


def _other_too(sentence: Sentence, other: numbers.Figure, mine: set[str]) -> bool:
    """Is the other figure in the same sentence of the answer, with the first one's words?"""
    return any(
        (figure.value, figure.unit) == (other.value, other.unit) and _telling(words) & mine
        for figure, words in _owners(sentence)
    )


_MEASURED = re.compile(
    r"(?P<what>[^\W\d_][\w-]{3,}) (?:by|to|of|from) (?:about |up to |nearly |over |only |a |an |just )?$"
)
_NO_MEASURE = re.compile(
    r"(?:.*(?:ly|ing|ed)|.{0,2}|ris\w*|fall\w*|increas\w*|decreas\w*|reduc\w*|improv\w*|drop\w*|declin\w*|grow\w*|"
    r"gain\w*|up|down|cut\w*|average|total|mean|median|factor|rate|level|score|value|lead|margin|most|least|maximum|"
    r"minimum|amount\w*|compar\w*|out\w*|shrink\w*|range\w*|limit\w*|equal|close|respect|addition|set|median|majority|"
    r"group|sample|cohort|number|share|proportion|ratio)"
)
_POINTS = re.compile(
    r"\b(?:it|its|they|their|this|these|that|which|both|the (?:method|model|system|approach|drug|treatment))\b",
    re.IGNORECASE,
)


def _elsewhere(said: Sequence[Sentence], there: Sequence[Sentence]) -> str | None:
    """As of "latency by 38%", where the text speaks of latency, and gives 38% in a sentence that does not."""
    every = [_telling(each.text) for each in there]
    for sentence in said:
        for figure in sentence.figures:
            match = _MEASURED.search(sentence.text[: figure.start])
            what = match["what"].casefold() if match else ""
            if not what or figure.unit[:1] in ("", "#", "~", "=", ".") or what in _EMPTY or _NO_MEASURE.fullmatch(what):
                continue
            holding = [
                at
                for at, each in enumerate(there)
                if any((f.value, f.unit) == (figure.value, figure.unit) for f in each.figures)
            ]
            around = set[str]().union(
                *(every[at] | (every[at - 1] if at and _POINTS.search(there[at].text) else set()) for at in holding)
            )
            if holding and what[:6] not in around and any(what[:6] in words for words in every):
                return _shown(sentence, figure)
    return None


# -- turns without figures -----------------------------------------------------------------------------------------

_UP = "increas|rais|boost|strengthen|lengthen|expand|accelerat|speed|improv|enhanc|widen|deepen|promot"
_DOWN = (
    "decreas|reduc|lower|cut|weaken|shorten|shrink|slow|worsen|impair|narrow|inhibit|suppress|harm|hurt|degrad|dampen"
)
_TURN = re.compile(
    rf"\b(?:(?P<up>(?:{_UP})(?:es|e|ed|ing|s|ens|en)?|raises?)|(?P<down>(?:{_DOWN})(?:es|e|ed|ing|s|ting|t)?)) "
    rf"(?:(?:the|a|an|their|its|both|all|"
    r"overall|total|average|mean) )*(?P<what>[^\W\d_][\w-]{3,})",
    re.IGNORECASE,
)


def _turned(said: Sequence[Sentence], there: Sequence[Sentence]) -> str | None:
    known: dict[str, set[str]] = {}
    for each in there:
        for match in _TURN.finditer(each.text):
            known.setdefault(match["what"].casefold()[:6], set()).add("up" if match["up"] else "down")
    for each in said:
        for match in _TURN.finditer(each.text):
            ways = known.get(match["what"].casefold()[:6])
            if ways and ("up" if match["up"] else "down") not in ways:
                return match[0]
    return None
