"""The first person within a sentence -> the third, and where its capitals and full stop belong. Pure.

What "we" does, "they" does in the same form; so only a sentence's subject needs more care (`voice`). "Our" that means
all of us ("our planet") becomes "the".
"""

from __future__ import annotations

import re
from collections.abc import Container

# A number, not a person: "Type I", "Part I", "(I)".
_NO_NUMBER_ONE = (
    r"(?<!Type )(?<!Phase )(?<!Part )(?<!Class )(?<!Stage )(?<!Grade )(?<!Volume )(?<!War )(?<!type )(?<![(\[-])"
)
FIRST_PERSON = re.compile(
    r"\b(?:[Ww]e|[Oo]urs?|[Oo]urselves|us|Us|[Mm]y|[Mm]yself)\b|"
    + _NO_NUMBER_ONE
    + r"\bI(?:['’][a-z]+)?(?:, [^,]{2,40},)? (?=[a-z])"
)
_CONTRACTED = {"re": " are", "ve": " have", "ll": " will", "d": " would", "m": " am"}
# Words that are written small within a sentence, whatever they begin.
_SMALL = frozenset(
    "accuracy recall precision error errors loss losses latency throughput performance returns mortality survival "
    "scores score costs cost training inference memory energy temperature pressure prices price rates speed growth "
    "agents humans users workers patients mice rats cells neurons transformers networks planners robots students "
    "a an the this that these those its their his her our in on at to for from by with and or but as is are was "
    "were across "
    "after all although among an another any applied as average because before between both can compared could despite "
    "during each even every few fewer for given here how however if it large larger less many masses more most "
    "much my no none "
    "not of one only motivated inspired other over several short short-term since single small some such there "
    "they three "
    "through trained training two under unlike until using what when where whether which while who with within "
    "without you we "
    "four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty eighty hundreds "
    "thousands people patients participants models methods results high low new existing current "
    "modern recent early late human deep neural".split()
)
_PREFIX = re.compile(
    r"(?:multi|non|low|high|short|long|cross|self|semi|pre|post|anti|co|inter|intra|real|large|"
    r"small|data|open)-"
)
_COMMON_END = re.compile(r"(?:ing|ly|tions?|ments?|ness|ity|ities|ance|ence|ive)$")
_GENERIC = re.compile(
    r"\b([Oo]ur|[Mm]y) (?=(?:own )?(?:planet|[Gg]alaxy|[Uu]niverse|world|society|societies|[Ss]olar [Ss]ystem|"
    r"climate|species|"
    r"lives|ancestors|oceans?|era|times|century|[Ss]un|everyday|daily|brains?|atmosphere)\b|(?:current |present )?"
    r"(?:understanding|view|picture|knowledge) of\b)"
)
_PRONOUNS = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (r"\bI am\b", "they are"),
        (r"\bI was\b", "they were"),
        (r"\bwe\b", "they"),
        (r"\bWe\b", "They"),
        (r"\b(?:our|my)\b(?![.-]\w)", "their"),
        (r"\b(?:Our|My)\b", "Their"),
        (r"\b[Oo]urs\b", "theirs"),
        (r"\b[Oo]urselves\b|\b[Mm]yself\b", "themselves"),
        (r"\bus\b", "them"),
        (_NO_NUMBER_ONE + r"(?<![A-Z][a-z] )\bI\b(?= [a-z])", "they"),
    )
)


def expanded(text: str) -> str:
    """`we've` -> `we have`, `we don't` -> `we do not`, with either apostrophe."""
    if "'" not in text and "’" not in text:
        return text
    text = re.sub(r"\b([Ww]e|I)['’](re|ve|ll|d|m)\b", lambda match: match[1] + _CONTRACTED[match[2]], text)
    text = re.sub(r"\b([Ww]e|I) can['’]t\b", r"\1 cannot", text)
    text = re.sub(r"\b([Ww]e|I) won['’]t\b", r"\1 will not", text)
    have = "do|have|are|did|had|were|was|could|would|should"
    return re.sub(rf"\b([Ww]e|I)((?: \w+)?) ({have})n['’]t\b", r"\1\2 \3 not", text)


def they(text: str) -> str:
    """The first person within a sentence, turned to the third."""
    if not FIRST_PERSON.search(text) and not re.search(r"\bI\b", text):
        return text
    text = _GENERIC.sub(lambda match: "The " if match[1][0].isupper() else "the ", text)
    for pattern, word in _PRONOUNS:
        text = pattern.sub(word, text)
    return text


def small(text: str, common: Container[str] = ()) -> str:
    """Without the capital of a sentence's beginning, where that is all it was."""
    first = re.match(r"[A-Z][a-z]*(?:-[a-z]+)*(?![\w])", text)
    if not first:
        return text
    word = first[0].lower()
    if word in _SMALL or word in common or _PREFIX.match(word) or _COMMON_END.search(word):
        return text[:1].lower() + text[1:]
    return text


def capital(text: str) -> str:
    """With a capital at the beginning, unless it is a name like iPhone or a figure."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+\b(?![A-Z])", text) else text


def ended(text: str) -> str:
    text = text.rstrip(" ,;:–—-")
    return text if re.search(r"[.!?…][\"'”’)\]]*$", text) else f"{text}."
