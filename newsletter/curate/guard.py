"""Every number is in the source: what a summary may not say. Pure.

A figure is its value and what it counts: "5%" is not "5 points", "3.2 million" is not "3.2 billion", "twice" is "2x".
So a source that says "12 percent" holds "12%", and one that says 12,480 holds "12480", but none of their digits.
"""

from __future__ import annotations

import dataclasses
import decimal
import re
import unicodedata

from newsletter.curate import authors, sentences

OVERLAP = decimal.Decimal("0.34")  # Agentic-FinSearch#302: right summaries had 0.64 and more, wrong ones 0.07
LONGEST = 900  # characters of an answer
_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_SCALES = {"thousand": "thousand", "million": "million", "billion": "billion", "trillion": "trillion",
           "thousands": "thousand", "millions": "million", "billions": "billion", "hundred": "hundred"}  # fmt: skip
_MULTIPLES = {"twice": 2, "double": 2, "doubles": 2, "doubled": 2, "doubling": 2, "twofold": 2, "thrice": 3,
              "triple": 3, "triples": 3, "tripled": 3, "tripling": 3, "threefold": 3, "quadruple": 4, "quadruples": 4,
              "quadrupled": 4, "fourfold": 4, "fivefold": 5, "tenfold": 10}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<digits>\d+(?:[.,\u066b\u066c]\d+)*(?:[eE][-+\u2212]?\d+(?![\w]))?)"
    r"(?:(?P<unit>\s?(?:%|\u066a|percent|per cent|percentage points?|pp\b)|\s?(?:[x\u00d7](?![\w])|times\b)|-?fold\b"
    r"|[\s-](?:hundred|thousand|million|billion|trillion)s?\b))?"
    r"|\b(?P<word>" + "|".join(sorted({*_WORDS, *_MULTIPLES}, key=len, reverse=True)) + r")\b"
    r"(?:[\s-](?P<scale>hundred|thousand|million|billion|trillion|percent|per cent|times|fold)s?\b)?",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*(?:to|and|or|vs\.?|versus|[-\u2013\u2014/,(])\s*")
_MARKUP = re.compile(
    r"<[A-Za-z/!?]|&#?\w+;|\]\(|!\[|\[[^\]]*\]:|\{\{|\{%|\{#|\+\+\+|\*\*|__|```|`|https?://|www\.|javascript:"
    r"|^\s*(?:[#>*+-]|\d+[.)])\s", re.IGNORECASE | re.MULTILINE,
)  # fmt: skip
ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules|above|guidelines)\b"
    r"|\bsystem prompt\b|\bas an ai\b|\blanguage model,? i\b|\byou are (?:now|an? (?:ai|assistant|language))\b"
    r"|\b(?:reply|respond|answer|output) (?:only )?with\b|\bnew instructions?\b|\b(?:jailbreak|developer) mode\b",
    re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """A number in a text: its value, and %, x, a scale or "" for a bare one. `shown` is how it is written."""

    value: decimal.Decimal
    unit: str
    shown: str


def figures(text: str) -> list[Figure]:
    """The figures of a text, in order; "one" is a word, not a figure."""
    found: list[Figure] = []
    ends: list[tuple[int, int]] = []
    for match in _NUMBER.finditer(unicodedata.normalize("NFKC", text)):
        if match["digits"]:
            figure = Figure(_value(match["digits"]), _unit(match["unit"] or ""), match[0])
        else:
            word = match["word"].lower()
            if word == "one" and not match["scale"]:
                continue
            value = _WORDS.get(word, _MULTIPLES.get(word, 0))
            unit = "x" if word in _MULTIPLES else _unit(match["scale"] or "")
            figure = Figure(decimal.Decimal(value), unit, match[0])
        found.append(figure)
        ends.append(match.span())
    normal = unicodedata.normalize("NFKC", text)
    for i in range(len(found) - 2, -1, -1):  # "41.2 to 58.9%": the unit is said once
        between = normal[ends[i][1] : ends[i + 1][0]]
        if not found[i].unit and found[i + 1].unit and len(between) < 12 and _RANGE.fullmatch(between):
            found[i] = dataclasses.replace(found[i], unit=found[i + 1].unit)
    return found


def unsupported(summary: str, source: str) -> list[str]:
    """The figures of a summary that its source does not hold, as the summary writes them."""
    there: dict[decimal.Decimal, set[str]] = {}
    for figure in figures(source):
        there.setdefault(figure.value, set()).add(figure.unit)
    return [figure.shown.strip() for figure in figures(summary) if not _holds(there.get(figure.value, set()), figure)]


def _holds(units: set[str], figure: Figure) -> bool:
    if figure.unit in units:
        return True
    # "5 points" out of "5% ..." would be a lie the other way round; a bare figure may have lost a harmless unit only.
    return not figure.unit and bool(units & {"x", "%"})


def _value(digits: str) -> decimal.Decimal:
    plain = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in digits)
    plain = plain.replace("\u066c", ",").replace("\u066b", ".").replace("\u2212", "-")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?:[eE][-+]?\d+)?", plain):
        plain = plain.replace(",", "")
    try:
        value = decimal.Decimal(plain)
    except decimal.InvalidOperation:  # a version, a date, a decimal comma: itself and nothing else
        value = decimal.Decimal(int.from_bytes(plain.encode(), "big")) + decimal.Decimal("0.123456789")
    return value.normalize() if abs(value.adjusted()) < 400 else value


def _unit(text: str) -> str:
    text = text.strip(" -").lower()
    if text in ("%", "\u066a", "percent", "per cent", "pp") or text.startswith("percentage point"):
        return "%"
    if text in ("x", "\u00d7", "times", "fold"):
        return "x"
    return _SCALES.get(text, _SCALES.get(text.rstrip("s"), ""))


def refusal(answer: str, source: str, subject: authors.Subject | None) -> str | None:
    """Why a model's answer cannot be used; None when it can.

    `source` is all that the model was shown. `subject` None: no author phrase is asked for.
    """
    if not answer.strip():
        return "the answer is empty"
    if len(answer) > LONGEST:
        return f"the answer is longer than {LONGEST} characters"
    if any(unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs") and char not in "\u200c\u200d" for char in answer):
        return "the answer has control characters"
    if _MARKUP.search(answer):
        return "the answer has markup or a link"
    if ORDERS.search(answer):
        return "the answer has instructions in it"
    if subject is not None and not authors.begins(answer, subject):
        return f"the answer does not begin with {subject.phrase!r}"
    if len(sentences.split(answer)) > sentences.MOST:
        return f"the answer has more than {sentences.MOST} sentences"
    if not re.search(r"[.!?\u2026\u3002\u061f\u0964][\"'\u2019\u201d)\]]*$", answer.strip()):
        return "the answer does not end like a sentence"
    if subject is not None and re.search(r"\b(?:[Ww]e|[Oo]urs?|us|I(?= [a-z])|[Mm]y)\b", answer):
        return "the answer speaks in the first person"
    made_up = unsupported(answer, source)
    if made_up:
        return f"the answer has figures that the text does not hold: {', '.join(made_up)}"
    share = overlap(answer, source, subject.phrase if subject else "")
    if share < OVERLAP:
        return (
            f"the answer is about something else: {share:.2f} of its words are the text's, at least {OVERLAP} must be"
        )
    return None


def overlap(answer: str, source: str, phrase: str = "") -> decimal.Decimal:
    """The share of an answer's longer words, without its author phrase, that its source has, by their beginnings."""
    known = set(_stems(source))
    mine = _stems(answer.removeprefix(phrase))
    if not mine:
        return decimal.Decimal(0)
    return decimal.Decimal(sum(stem in known for stem in mine)) / len(mine)


def _stems(text: str) -> list[str]:
    return [word[:5] for word in re.findall(r"[^\W\d_]{4,}", text.casefold())] or re.findall(r"[^\W\d_]", text)
