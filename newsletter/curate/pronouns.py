"""The first person within a sentence -> the third, and where its capitals and full stop belong. Pure.

What "we" does, "they" does in the same form; so only a sentence's subject needs more care (`voice`). Where "they" could
be somebody else, as after "the models", it is "the authors"; of one author it is "the author". "Our" that means all of
us ("our planet") becomes "the". What stands in quotation marks is somebody's own, and stays.
"""

from __future__ import annotations

import re
from collections.abc import Container

from newsletter.curate import authors, verbs

# A number, not a person: "Type I", "Part I", "(I)".
_NO_NUMBER_ONE = (
    r"(?<!Type )(?<!Phase )(?<!Part )(?<!Class )(?<!Stage )(?<!Grade )(?<!Volume )(?<!War )(?<!type )(?<![(\[-])"
)
FIRST_PERSON = re.compile(
    r"\b(?:[Ww]e|[Oo]urs?|[Oo]urselves|us|Us|[Mm]y|me|[Mm]yself|[Mm]ine(?= (?:is|was|are|were)))\b|"
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
    "were across after all although among an another any applied as average because before between both can compared "
    "could despite during each even every few fewer for given here how however if it large larger less many masses "
    "more most much my no none not of one only motivated inspired other over several short short-term since single "
    "small some such there they three through trained training two under unlike until using what when where whether "
    "which while who with within without you we four five six seven eight nine ten eleven twelve fifteen twenty "
    "thirty forty fifty sixty eighty hundreds thousands people patients participants models methods results high low "
    "new existing current modern recent early late human deep neural unless assuming provided suppose supposing "
    "barring granting should modulo "
    "subject conditional conditionally except whenever".split()
)
_NOUNS = frozenset(
    "coverage fidelity bandwidth overhead usage memory yield efficacy risk income demand supply output employment "
    "trade fraud debt inflation remission pain weight height depth length size volume area age sex "
    "gender attendance test ours "
    "fine-tuning pretraining retrieval search inference compression decoding sampling pass success failure "
    "everything nothing nobody anybody somebody sleep noise heat light water air soil rain snow ice wind".split()
)
_PREFIX = re.compile(
    r"(?:multi|non|low|high|short|long|cross|self|semi|pre|post|anti|co|inter|intra|real|large|small|data|open)-"
)
_COMMON_END = re.compile(r"(?:ing|ly|tions?|ments?|ness|ity|ities|ance|ence|ive)$")
_GENERIC = re.compile(
    r"\b([Oo]ur|[Mm]y) (?=(?:own )?(?:planet|[Gg]alaxy|[Uu]niverse|world|society|societies|[Ss]olar [Ss]ystem|"
    r"climate|species|lives|ancestors|oceans?|era|times|century|[Ss]un|everyday|daily|brains?|atmosphere)\b|"
    r"(?:current |present )?(?:understanding|view|picture|knowledge) of\b)"
)
_QUOTED = re.compile(r"[“\"«„][^”\"»“„«]{1,600}[”\"»“]")
_ADVERB = (
    r"(?: (?:also|then|first|further|thus|never|always|often|now|still|even|only|just|here|both|all|each|[a-z]+ly))?"
)
_ACTS = re.compile(
    rf"(?:\b(?P<we>[Ww]e)|{_NO_NUMBER_ONE}(?<![A-Z][a-z] )\b(?P<i>I))\b(?P<how>{_ADVERB}) (?P<verb>(?!ourselves|"
    rf"myself)[a-z]+(?:-[a-z]+)*)\b"
)
_OWNS = re.compile(r"\b(?P<word>[Oo]ur|[Mm]y)\b(?![.-]\w)(?P<next> [\w-]+(?: [\w-]+)?)?")
_SUFFERS = re.compile(r"\b(?P<word>us|Us|me)\b")
_REST = (
    (re.compile(r"\b(?:[Oo]urs|[Mm]ine)\b"), "theirs"),
    (re.compile(r"\b(?:[Oo]urselves|[Mm]yself)\b"), "themselves"),
    (re.compile(r"\bwe\b"), "they"),
    (re.compile(r"\bWe\b"), "They"),
)
# Several of anything, to which "they" could point: "the models", "people".
_SEVERAL = re.compile(
    r"\b(?:[a-z][a-z-]*[^\W_su]s|people|children|women|men|mice|others|humans|[Tt]hose|[Bb]oth|[Mm]any|[Mm]ost|"
    r"[Ss]ome)\b|\w[A-Z]s\b"
)
_NOT_SEVERAL = frozenset(
    "analysis basis thesis bias less does has its this was always perhaps across towards besides".split()
)
_LIVING = re.compile(
    r"\b(?:people|children|women|men|mice|others|humans|(?:agent|model|user|patient|participant|student|researcher|"
    r"worker|learner|teacher|firm|compan(?:y|ie)|countr(?:y|ie)|state|bird|animal|author|reader|voter|household|"
    r"farmer|nurse|doctor|expert|reviewer|robot|critic|scholar|historian|player|team|bee|writer|judge|court|bank|"
    r"method|system)s)\b"
)
# Whose these are is never in doubt in an abstract.
_OWN_WORK = re.compile(
    r" (?:(?:new|own|proposed|main|final|best|full|simple|first|numerical|theoretical|empirical|experimental) "
    r")?(?:method|approach|model|framework|system|algorithm|results?|findings?|experiments?|analys[ie]s|work|study|"
    r"proof|theorem|data|dataset|evaluations?|technique|code|paper|survey|measurements?|bound|estimates?|simulations?|"
    r"contribution)\b"
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


def left(text: str) -> bool:
    """Is there still somebody who says "we" or "I", outside of quotation marks?"""
    return FIRST_PERSON.search(text) is not None and FIRST_PERSON.search(_QUOTED.sub("“”", text)) is not None


def they(text: str, subject: authors.Subject | None = None) -> str:
    """The first person within a sentence about `subject`, turned to the third; several authors where it is not said."""
    if not FIRST_PERSON.search(text) and not re.search(r"\bI\b", text):
        return text
    parts, at = [], 0
    for quoted in _QUOTED.finditer(text):
        parts += [_third(text[: quoted.start()], at, subject), quoted[0]]
        at = quoted.end()
    return "".join([*parts, _third(text, at, subject)])


def _third(text: str, at: int, subject: authors.Subject | None) -> str:
    """What stands from `at` on; what stands before tells to whom "they" could point."""
    before, text = text[:at], text[at:]
    one = subject is not None and not subject.plural and subject.again != "It"  # a person; a group has "its" members
    name = "the author" if one else "the authors"

    def acts(match: re.Match[str]) -> str:
        verb = {"am": "are"}.get(match["verb"], match["verb"])
        verb = "were" if match["i"] and verb == "was" else verb
        who, cased = "they", match["we"] == "We" or (match["i"] and not before and not match.start())
        if one or several(before + text[: match.start()]):
            who, verb = name, verbs.third(verb) if one else verb
        return f"{capital(who) if cased else who}{match['how']} {verb}"

    def owns(match: re.Match[str]) -> str:
        crowd = _LIVING.search(before + text[: match.start()]) and not _OWN_WORK.match(match["next"] or "")
        alone = subject is not None and not subject.plural and not one
        whose = f"{name}'s" if one and crowd else f"{name}'" if crowd else "its" if alone else "their"
        return (capital(whose) if match["word"][0].isupper() else whose) + (match["next"] or "")

    text = _GENERIC.sub(lambda match: "The " if match[1][0].isupper() else "the ", text)
    text = _OWNS.sub(owns, _ACTS.sub(acts, text))
    text = _SUFFERS.sub(lambda match: name if one or _LIVING.search(before + text[: match.start()]) else "them", text)
    for pattern, word in _REST:
        text = pattern.sub(word, text)
    return text


def several(text: str) -> bool:
    """Does a text name several of anything, to which "they" could point?"""
    return any(match[0] not in _NOT_SEVERAL and not match[0].endswith("ss") for match in _SEVERAL.finditer(text))


def small(text: str, common: Container[str] = ()) -> str:
    """Without the capital of a sentence's beginning, where that is all it was."""
    first = re.match(r"[A-Z][a-z]*(?:-[a-z]+)*(?![\w])", text)
    if not first:
        return text
    word = first[0].lower()
    if word in _SMALL or word in common or _PREFIX.match(word) or _COMMON_END.search(word):
        return text[:1].lower() + text[1:]
    return text


def is_name(text: str, common: Container[str] = ()) -> bool:
    """Does a text begin with what has a capital everywhere? `common`: words as a text writes them within sentences."""
    word = re.match(r"[\w.+-]+", text)
    return word is None or word[0] in common or re.search(r"\w[A-Z]|\d", word[0]) is not None or len(word[0]) == 1


def is_thing(name: str) -> bool:
    """Is a word that begins a sentence a name, and no noun that is written small elsewhere?"""
    return small(name) == name and name.lower() not in _NOUNS and not name.lower().endswith(("s", "er", "th"))


def capital(text: str) -> str:
    """With a capital at the beginning, unless it is a name like iPhone or a figure."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+\b(?![A-Z])", text) else text


def ended(text: str) -> str:
    text = text.rstrip(" ,;:–—-")
    return text if re.search(r"[.!?…][\"'”’)\]]*$", text) else f"{text}."
