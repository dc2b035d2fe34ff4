"""Does a sentence speak of what only the one before it names: "protects against it", "raise this", "the claim"? Pure.

No grammar is known here. A pronoun is bound where a noun of its number stands before it in its sentence, and it is no
object of the verb whose subject that noun is. What is not bound is better not shown than guessed at.
"""

from __future__ import annotations

import re

from newsletter.curate import bare, pronouns

_NEAR = 110  # characters after the verb; farther on, a sentence has named what it speaks of

# "raise this to 9", "why this works"
_BARE = re.compile(
    r"^(?:[^,;:]|,(?=\d))*?\b(?<!like )(?:this|these|those)(?=[,.;:]|$| (?:is|are|was|were|works?|holds?|to|by|with|"
    r"in|from|for|and|can|may|happens?|fails?|leads?|means?|gives?|into|as|using|through|via|on|at|when|while|without|"
    r"further|again|instead|also)\b)"
)
# "this puzzle", "such models", where no puzzle and no model stands before
_KIND = re.compile(
    r"^(?:[^,;:]|,(?=\d))*?\b(?:this|these|those|such(?! as\b| that\b| an?\b))(?: (?:[\w-]+(?:al|ic|ed|ing|ous|ive|"
    r"ble|new|old)))? (?P<noun>[a-z][a-z-]{2,})\b"
)
_OWN_NOUNS = frozenset(
    "paper work article study letter report thesis survey review manuscript chapter note analysis research essay year "
    "week month way kind end purpose century decade time who with whose".split()
)
# "a gene that protects against it", "our algorithm predicts it": no gene protects against itself
_OBJECT = re.compile(
    r"\b(?:that|which|who) (?!it\b|they\b)(?:[a-z]+ ){1,2}(?:it|them)\b(?! \w+(?:s|ed)\b)"
    r"|^(?:Our|My|The|This|A|An) (?:[\w-]+ ){1,3}?[a-z]+(?:s|ed) (?:it|them)\b"
)
# "prove that none can do better": none of what?
_NONE = re.compile(
    r"^(?:\S+ ){1,4}?that (?:none|neither|either|both|each|most|all|\d+|two|three) (?!of\b|the\b|such\b|"
    r"[a-z]+s\b)(?:can|do|suffices?|does|is|are|have|has|fail|hold|may|will)\b"
    r"|^(?:We|I) [a-z]+ (?:one|some|both|none|neither|several|many|two|three)(?=[.,;:])"
)
_BOTH = re.compile(r"\b(?:with|of|than|to|from|for|in) (?:both|either|neither)(?=[.,;]|$)")
_THEM = re.compile(r"\b(?:they|them|theirs?)\b")
_IT = re.compile(
    r"\b(?:it|its)\b(?! (?:is|was|has been) (?:\w+ly )?(?:shown|found|clear|possible|known|important|unclear|hard|"
    r"easy|not)\b)"
)
_ONE = re.compile(
    r"\b(?:an?|the|each|every|one|no|another|this|our|my|its|their|any|how|what|whether|which) (?!same\b|latter\b)\w|"
    r"\b[A-Z]\w|\w+(?:tion|ment|ness|ity|ing|ance|ence|ism|acy|age|ure)\b"
)
# "withdraw the claim", "give a proof": of what?
_WHAT = re.compile(
    r"^(?:\S+ ){1,5}?(?:that )?(?:the|another|a|an|their own|a new|an alternative|a short|a simple)(?: (?:earlier|"
    r"previous|original|old|first|other))? (?:claim|answer|question|problem|puzzle|gap|hypothesis|conjecture|"
    r"phenomenon|issue|debate|matter|discrepancy|disagreement|proof|counterexample|explanation|generali[sz]ation|"
    r"claims|questions|problems|case)(?=[,.;:]| (?:lies|is|are|was|were|because|and|by|in the (?:negative|"
    r"affirmative)|with)\b| (?:that|which) (?:uses?|needs?|dates?|solves?|does|has|avoids?|works)\b)"
)


_POINTS = re.compile(
    r"(?:It|They|He|She|Ours|Mine|These|Those(?! who\b| with\b| whose\b)|This|Such|Both|Its|Their|The (?:former|"
    r"latter|same|two|other|others|resulting|above|second|third))\b"
    r"|(?:Not (?:all|so|every|one|always|yet|quite|really|necessarily|entirely|only that)\b|Then|So|Otherwise|Again|"
    r"Similarly|Likewise|Consistent with (?:this|these|that)|Of (?:these|them|those)|In (?:both|each|this|these|that|"
    r"such) |For (?:example|instance|both|each|this|these)|Among (?:these|them|others?)|Among other|Using (?:this|"
    r"these|it|them)|With (?:this|these|it)|Based on (?:this|these)|On (?:this|these|both)|At (?:this|these) )"
)
_POINTS_LATER = re.compile(
    r"(?:Drawing|Using|By|With|In|From|After|Through|Based|Despite)\b[^,;]{3,90}, (?:it|they|this|these)\b(?! is "
    r"(?:shown|found))"
)
# "In our sample it lowers recall": a phrase that begins a sentence names nothing that "it" could be.
_FRONTED = re.compile(
    r"(?:In|On|With|Without|For|At|Among|Across|Over|Under|After|Before|During|From|Within|By|Using|Contrary to|Unlike|"
    r"Compared (?:with|to)|Despite)\b(?:(?!\b(?:that|which|where|when|if|as|how|whether|what|because|while|than|and|of|"
    r"to|by|for|before|after|since|until|once|whenever)\s(?:it|they)\b)[^;:.]){2,90}?,? (?:it|they)\b(?! (?:is|was) "
    r"(?:\w+ly )?(?:shown|found|possible|clear|known|important|hard|easy|necessary))"
)
SELF_POINT = re.compile(rf"This{bare.KIND} {bare.PAPER}\b")


def points_back(said: str) -> bool:
    """`said`: a sentence from the one who does it on; what stands before may be left out when it is told."""
    if _BARE.search(said, 0, _NEAR) or _OBJECT.search(said, 0, _NEAR) or _WHAT.match(said) or _NONE.match(said):
        return True
    kind = _KIND.search(said, 0, _NEAR)
    if kind and kind["noun"][:5] not in said[: kind.start("noun") - 1].casefold() and kind["noun"] not in _OWN_NOUNS:
        return True
    them = _THEM.search(said, 0, _NEAR)
    if them and not pronouns.several(_verbless(said[: them.start()])):
        return True
    both = _BOTH.search(said)
    if both and " and " not in said[: both.start()]:
        return True
    it = _IT.search(said, 0, 70)
    return bool(it and not _ONE.search(_verbless(said[: it.start()])))


def _verbless(text: str) -> str:
    """Without who does it, and the verb: "This paper argues", "We find"."""
    text = text[:1].lower() + text[1:]
    doer = rf"(?:(?:this|the|our|my)(?: \w+){{0,2}}? {bare.PAPER}|we|i)\b(?: \w+ly)?(?: \w+)?"
    return re.sub(rf"^{doer}", "", text)


def points(text: str) -> bool:
    """Does a sentence begin with what only the one before it explains?"""
    return (_POINTS.match(text) is not None and not SELF_POINT.match(text)) or _POINTS_LATER.match(text) is not None


def goes_on(text: str) -> bool:
    """Does a sentence speak on of what the first one introduced?"""
    return (
        re.match(
            r"(?:It|Its|The (?:proposed |resulting |new )?(?:approach|method|model|system|algorithm|tool|scheme))\b",
            text,
        )
        is not None
    )


def unnamed(text: str) -> bool:
    """Does a sentence say "it" or "they" of what only sentences before it name?"""
    plain = bare.unthreaded(text)
    return points(plain) or points_back(plain) or _FRONTED.match(plain) is not None
