"""Which of an article's sentences say what was done, and what came out of it. Pure.

Marks, not grammar: a sentence's verb, the heading that it stands under, its figures, what it points back to. What
others did or said, and what a reader could not understand without the sentence before, loses.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from newsletter.curate import authors, guard, pronouns, tex, verbs, voice

LONG = 420  # characters
NEVER = -50.0

_DOES = re.compile(
    r"(?P<who>\b(?:[Ww]e|I|(?:[Mm]y|[Oo]ur) (?:colleagues|co-authors|students?) and (?:I|we)|"
    r"(?:[Tt]he|[Tt]hese) (?:authors|researchers)|et al\.|"
    rf"(?:[Tt]his|[Tt]he present|[Tt]he current|[Oo]ur|[Tt]he){voice.KIND} {voice.PAPER}))(?:, [^,]{{2,60}},)?"
    r"(?: (?:(?!apply|rely|imply|supply)\w+ly|also|then|first|further|here|therefore|thus|now|finally|next|have|"
    r"has|do|can|are able to|aim to|aims to|"
    r"are|is|am|set out to|try to|want to|will|hereby))* (?P<verb>[a-z][a-z-]+)\b"
)
_TOP = frozenset("introduce present propose".split())
_HIGH = frozenset(
    "develop design build create prove derive establish formulate construct launch announce invent "
    "devise pioneer".split()
)
_MIDDLE = frozenset(
    "show demonstrate study investigate describe examine explore evaluate compare analyse analyze benchmark "
    "report survey "
    "review address tackle answer revisit test measure estimate train conduct collect find identify discover rewrite "
    "replace argue extend formalise formalize quantify characterise characterize generate trace determine model assess "
    "reveal improve solve randomise randomize assign recruit follow repeat replicate reproduce offer split summarise "
    "summarize synthesise synthesize search reconstruct detect map predict settle".split()
)
_IDLE = frozenset(
    "hope believe expect plan assume note recall see want think know hypothesise hypothesize speculate release "
    "recommend "
    "encourage thank suggest call refer denote let need".split()
)
_PASSIVE = re.compile(
    r"\b(?:is|are|was|were) (?:\w+ly )?(?:presented|proposed|introduced|studied|investigated|described|developed|"
    r"analy[sz]ed|"
    r"examined|assigned|randomi[sz]ed|derived|reported|evaluated|explored|discussed|reviewed|designed|established)\b"
)
_SET_UP = re.compile(r"(?:We|I|They)(?: \w+ly| also| then| further)? (?:evaluated?|test|tested|validated?|conduct|"
    r"conducted|perform|performed|apply|"
                     r"applied|compared?|experiment|use|used|implement|implemented|discuss|outline)\b")  # fmt: skip
_HERE = re.compile(
    rf"(?:In|Through|With|Throughout) (?:[Tt]his|the present|our|the current)(?: \w+)? {voice.PAPER}\b|"
    rf"Here(?:in)?\b|For the first time|"
    r"To (?:address|overcome|tackle|solve|fill|bridge|close|remedy|mitigate|this end)\b"
)
_LATER = re.compile(
    r"(?:Moreover|Furthermore|In addition|Additionally|Finally|Lastly|Also|Besides|Then|Next|First|Second|Third|"
    r"In particular|"
    r"Specifically|As a|More (?:specifically|precisely)|We (?:also|further|then|finally|additionally|first|next)|"
    r"The paper also)\b"
)
_FINDING = re.compile(
    r"\b(?:outperform\w*|improv\w*|reduc\w*|increas\w*|decreas\w*|achiev\w*|reach\w*|rais\w*|cut[s]?|lower\w*|"
    r"gain\w*|surpass\w*|"
    r"exceed\w*|match\w*|yield\w*|falls?|fell|rises?|rose|drop\w*|grew|doubl\w*|halv\w*|faster|slower|better|"
    r"worse|fewer|"
    r"less|more|higher|finds?|found|shows? that|showed|excluded|observed|report that|success|accuracy|error|"
    r"speed-?ups?|"
    r"reveal\w*|demonstrate[sd]? that|confirm\w*|none of|save[sd]?|speeds?|beats?|finish\w*|conclude|identified|"
    r"indicat\w*)\b",
)
_MEASURE = re.compile(
    r"\d\s?(?:%|percent|per cent|percentage points?|points?\b|[x×](?!\w)|times\b|-fold|fold\b|TeV|GeV|MeV|eV\b|"
    r"dB\b|ms\b|km\b|"
    r"million\b|billion\b|years?\b|hours?\b|minutes?\b|seconds?\b|σ)|\d\.\d+ (?:mAP|BLEU|F1|FPS|AUC|IoU|on [A-Z])|"
    r"\b(?:ratio|score|accuracy|AUC|F1|BLEU|mAP|"
    r"pass@\w+|of|to|by|from) (?:score )?(?:of )?\d+\.\d", re.IGNORECASE,
)  # fmt: skip
_CHANGE = re.compile(
    r"\bby (?:up to |about |over |nearly )?\d|\bfrom \S{0,3}\d\S* to \S{0,3}\d|\d\s?[x×](?!\w)|\d-fold|\d times\b|"
    r"\d+% of\b",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\b(?:[Cc]odes?|[Dd]ata|[Mm]odels?|[Dd]atasets?|[Tt]asks?|[Cc]hecker|[Gg]uidelines|[Ii]mplementation|"
    r"[Ww]eights|[Bb]enchmark)\b[^.]{0,60}"
    r"\b(?:available|released?|public(?:ly)?|open-sourced?)\b"
    r"|\bhttps?://|\bwww\.|github\.com|\b[Ww]e (?:also |will |plan to )*(?:release|open-source|hope|thank|believe|"
    r"expect)\b"
    r"|\b(?:costs? \S*\d\S* (?:euros?|dollars?|pounds?) each|accepted (?:at|to|by)|[Ss]upplementary)\b|\?$"
    r"|\b[Ww]e (?:close|conclude|end|finish) (?:with|by)\b|\b(?:future (?:work|research|studies)|[Ff]urther "
    r"(?:work|research|studies)|remains? (?:open|to be)|I would love|hear from you|[Ss]ubscribe)\b"
)
_BACKGROUND = re.compile(
    r"\b(?:[Rr]ecent(?:ly)?|[Ee]xisting|[Pp]revious(?:ly)?|[Pp]rior|[Ee]arlier (?:work|studies|methods)|"
    r"often|usual(?:ly)?|has long been|have long been|[Hh]owever|remains?|suggested that|challeng\w+|little is known|"
    r"well[- ]known|are known|is known|in recent years|increasingly|widely|has become|have become|typically|commonly|"
    r"traditional(?:ly)?|most current|is (?:an? )?(?:important|essential|critical|crucial|key|fundamental|central)|"
    r"are (?:important|essential|critical|crucial|key|fundamental|central))\b"
)
# What others did, or are said to have done, is never this article's own result.
_OTHERS = re.compile(
    r"\b[Ss]tate[- ]of[- ]the[- ]art (?:methods|models|systems|approaches) (?:achieve|reach|obtain|attain|get)\b"
    r"|\bhas been (?:claimed|reported|suggested|argued|shown|demonstrated|proposed)\b|\bhave been (?:proposed|"
    r"shown|reported|suggested)\b"
    r"|\b[Ii]t (?:was|has been|is) (?:shown|demonstrated|claimed|proved|reported|known|believed|thought|said) "
    r"(?:by|in \[|previously|recently|that .* \[\d)"
    r"|\b(?:has|have|had|was|were) (?:previously|already|recently) (?:reported|shown|been|found|proposed)\b"
    r"|^(?!We\b|I\b|Results\b|Experiments\b)(?:[A-Z][\w-]+ )+(?:(?:\(\d{4}\)|et al\.) )?(?:reports?|reported|"
    r"claims?|claimed|says?|said|wrote|showed|proposed|found|introduced|proved) "
    r"(?:that|an?|the)\b"
    r"|\b(?:[Pp]revious|[Pp]rior|[Ee]arlier|[Rr]ecent|[Oo]ther) (?:work|works|studies|study|papers?|authors?|"
    r"methods|research|approaches|results)\b"
    r"(?! by | in our)[^,;]{0,60}? (?:showed?|shows|found|finds?|reports?|reported|suggests?|suggested|claims?|"
    r"claimed|achieves?|achieved|reache[sd]?|has|have|demonstrated?)\b"
    r"|\b[Uu]nlike (?:us|our)\b|\b[Ii]n (?:our|my) (?:previous|earlier|prior)\b"
)
# A result that somebody else is named for, or that would only be.
_CITED = re.compile(
    r"^(?!(?:We|Our|I|My)\b).*\b[A-Z][\w'’-]+(?: et al\b| (?:and [A-Z][\w'’-]+ )?\(\d{4}[a-z]?\))"
    r"|^(?:If|Were|Had)\b.*\bwould\b"
)
_ASKS = re.compile(
    r"(?:To (?:what|which|whom)|Who|What|Which|Why|When|Where|How|Can|Could|Is|Are|Do|Does|Did|Will)\b.*\?$"
)
_ROUND_ABOUT = re.compile(
    r"(?i)(?:however, )?(?:recent|existing|current|previous|prior|earlier|older|modern|state-of-the-art|"
    r"traditional|many|most|today)\b"
)
_POINTS = re.compile(
    r"(?:It|They|He|She|These|Those|This|Such|Both|Its|Their|The (?:former|latter|same|two|other|others|resulting|"
    r"above|second|third))\b"
    r"|(?:Then|So|Otherwise|Again|Similarly|Likewise|Consistent with (?:this|these|that)|Of (?:these|them|those)|"
    r"In (?:both|each|this|these|that|such) |For (?:example|instance|both|each|this|these)|Among (?:these|them|"
    r"others?)|Among other|"
    r"Using (?:this|these|it|them)|With (?:this|these|it)|Based on (?:this|these)|On (?:this|these|both)|At "
    r"(?:this|these) )"
)
_SELF_POINT = re.compile(rf"This{voice.KIND} {voice.PAPER}\b")
# "We extend it": the reader has not seen what.
_DANGLES = re.compile(
    r"^\S+(?: et al\.)?(?: (?:were|was|are|is) (?:not )?able to)?(?: [\w-]+){1,3}?(?: that| how| whether| if| why|"
    r" for| with| of| on| by| to| in| both| also| few| many)* "
    r"(?:it|them|this(?! (?:paper|work|article|study|is the first|is an?)\b)|these|those|such(?! as| that)|its|"
    r"their own|the (?:former|latter|same))\b"
    r"|^\S+ \w+ (?:that|how|whether|if|why) (?:their|they)\b"
)
_SUCH = re.compile(r"\bsuch (?!as\b|that\b|an?\b)\w+|\b(?:these|those) (?:two |three )?[a-z]+s\b")
_GENERIC_WE = re.compile(
    r"\b(?:the ways? (?:in which )?|how )we (?:live|work|think|search|communicate|eat|travel|learn|shop|see|"
    r"consume|interact|age|move|sleep|"
    r"understand|perceive)\b|\bas we (?:know it|age|approach|enter)\b|\bworld we\b|\b(?:all|most|many|some|each|"
    r"none|both) of us\b|"
    r"\b[Ww]e (?:all|humans|as a|need to|must|should|live in)\b|\b[Ll]et(?: us|['’]s)\b|\bus all\b"
)
_WE = re.compile(r"\b(?:[Ww]e|us|[Ll]et)\b")
_STOP_WITHIN = re.compile(r"[.!?]\s")
_INNER_END = re.compile(r"(?:[^\W\d_]{4}|[A-Z]{2}|[\d)])[.!?]\s+[A-Z]|\b[a-z][.!?]\s+[A-Z][a-z]+\s[a-z]|[?!]\s+[A-Z]")
_ROLES = {
    "result": 2.0, "results": 2.0, "findings": 2.0, "main results": 2.0, "key results": 2.0, "main findings": 2.0,
    "key findings": 2.0, "conclusion": 1.0, "conclusions": 1.0, "interpretation": 0.5,
    "background": -3.0, "introduction": -3.0, "context": -3.0, "motivation": -3.0, "limitations": -3.0,
    "abbreviations": -50.0, "keywords": -50.0, "key words": -50.0, "availability": -5.0, "availability and "
        "implementation": -5.0, "significance": -1.0, "significance statement": -1.0,
    "highlight": -0.5, "highlights": -0.5, "summary": -0.5, "one sentence summary": -0.5,
}  # fmt: skip
_AIMS = frozenset(
    [
        "methods",
        "method",
        "objective",
        "objectives",
        "aim",
        "aims",
        "purpose",
        "design",
        "tl;dr",
        "what is new",
        "methodology",
    ]
)


# Where to find the code is no part of what was found.
_ADDRESSES = re.compile(
    r"(?i)\s*\((?:[^()]{0,60}\s)?https?://[^()\s]*\)|(?:,| and|, and) (?:our |the |all )?(?:source )?(?:codes?|"
    r"data|models?)[^,.]{0,40} (?:is|are|can be) "
    r"[^,.]{0,40}https?://\S+(?=[.]?$)"
)
_LABEL_ALONE = re.compile(
    r"(?i)(Background|Introduction|Context|Objectives?|Aims?|Methods?|Results?|Findings|"
    r"Conclusions?|Limitations)[.:]"
)


def labelled(found: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the sentences without labels, the label that each stands under)."""
    plain, roles, role = [], [], ""
    for each in found:
        alone = _LABEL_ALONE.fullmatch(each)
        if alone:
            role = alone[1].lower()
        text, label = voice.without_label(_ADDRESSES.sub("", each))
        role = label or role
        plain.append(text)
        roles.append(role)
    return plain, roles


@functools.lru_cache(maxsize=1024)
def _has(mark: re.Pattern[str], text: str) -> bool:
    """Has a sentence a mark? Each is asked for several times."""
    return mark.search(text) is not None


def usable(text: str) -> bool:
    """Can a sentence be shown at all?"""
    says = len(text.split()) > 2 and any(char.islower() for char in text[1:])
    return says and not guard.ORDERS.search(text) and not _ASKS.match(text)


@functools.lru_cache(maxsize=128)
def broken(text: str) -> float:
    """What a sentence loses for being no sentence of its own."""
    loss = 0.0
    if tex.left(text):
        loss += 6
    if text.count("(") != text.count(")") or text.count('"') % 2 or text.count("“") != text.count("”"):
        loss += 3
    if (_STOP_WITHIN.search(text) and _INNER_END.search(text)) or (_WE.search(text) and _GENERIC_WE.search(text)):
        loss += 4
    if re.match(r"[^\w“\"(]|\(?[ivx\d]{1,3}[).]|[a-z]+\b(?![A-Z])", text) or re.search(r"(?:…|\.\.\.|[:,;])$", text):
        loss += 2.5
    return loss + (1.5 if len(text) > LONG else 0)


def contributes(text: str, role: str, at: int, subject: authors.Subject) -> float:
    """How well a sentence says what was done."""
    if _has(_OTHERS, text):
        return NEVER
    plain = voice.unthreaded(text)
    score = _said(plain, subject) - 0.12 * at - broken(text)
    if _HERE.match(text) or _SELF_POINT.match(text):
        score += 1.2
    elif _LATER.match(text):
        score -= 1.2
    if role in _AIMS:
        score += 1.5
    elif _ROLES.get(role, 0) < -1 or (_BACKGROUND.search(plain) and not _HERE.match(text) and not _leads(plain)):
        score -= 1.5
    if _has(_WEAK, text):
        score -= 4
    if text.endswith("?"):
        score -= 6
    if dangles(text):
        score -= 2.5
    if _SUCH.search(plain, 0, 90):
        score -= 1.5
    if len(plain.split()) < 4:
        score -= 3
    if re.match(r"To [a-z]+ [^,]*$", text):  # "OBJECTIVE: To test whether ..." is no sentence
        score -= 2
    return score


def dangles(text: str) -> bool:
    """Does a sentence say "We extend it", of something that stands in another one?"""
    plain = voice.unthreaded(text)
    does = _DOES.search(plain)
    return _DANGLES.match(plain[does.start() if does else 0 :]) is not None and not voice.addresses(plain)


def _leads(plain: str) -> bool:
    """Does a sentence begin with what its authors do?"""
    match = _DOES.match(plain)
    return match is not None and verbs.base(match["verb"]) in (_TOP | _HIGH | _MIDDLE)


def _said(plain: str, subject: authors.Subject) -> float:
    match = _DOES.search(plain)
    if match:
        verb = match["verb"]
        known = verbs.base(verb)
        known = known if known in verbs.BASE or known in _IDLE else verbs.past_base(verb) or _REGULAR.get(verb, known)
        score = (
            6.2
            if known in _TOP
            else 5.3
            if known in _HIGH
            else 4.5
            if known in _MIDDLE
            else 0.5
            if known in _IDLE
            else 3.0
        )
        return score - min(2.0, 0.01 * match.start())
    if authors.begins(plain, subject):
        return 4
    if _PASSIVE.search(plain) or re.match(r"It (?:is|was) (?:shown|proved|proven|argued|demonstrated) that\b", plain):
        return 3
    if pronouns.FIRST_PERSON.search(plain):
        return 1.5
    if re.match(r"(?:It|They|The (?:new |present )?(?:analysis|study|paper|results?)) \w+s? that\b", plain):
        return 2.5
    return 0


_REGULAR = {"found": "find", "built": "build", "showed": "show", "wrote": "write", "rewrote": "rewrite", "made": "make",
            "ran": "run", "took": "take", "used": "use", "drew": "draw", "split": "split"}  # fmt: skip


def tells(text: str, role: str, at: int, first: int, count: int, *, linked: bool = False) -> float:
    """How well a sentence says what came out; under 0 it is better left away.

    `linked`: all that stands between the first sentence and this one speaks of the same thing.
    """
    if _has(_OTHERS, text) or _has(_CITED, text):
        return NEVER
    score = _ROLES.get(role, 0.0) + 0.4 * at / max(1, count) - broken(text)
    digits = re.search(r"\d", text) is not None
    if digits and _has(_MEASURE, text):
        score += 3
    elif digits:
        score += 1
    elif _SET_UP.match(text) and not _has(_FINDING, text.lower()):
        score -= 1.5
    if digits and _CHANGE.search(text):
        score += 1.5
    if _has(_FINDING, text.lower()):
        score += 1.5
    if _has(_WEAK, text):
        score -= 4
    if _has(_BACKGROUND, text):
        score -= 1
    if at < first:  # told before what was done: background, but for an abstract that ends with what was done
        own = re.search(r"\b[Oo]ur (?:results|findings|experiments)\b|^(?:Experiments|Results)\b", text) or _HERE.match(
            text
        )
        late = first >= 0.7 * count and at >= 0.35 * count
        if not own and (not late or _has(_BACKGROUND, text) or _ROUND_ABOUT.match(text)):
            return NEVER
        score -= 1.5
    if text.startswith("To "):
        score -= 1.2
    if points(text):
        score += 0.3 if at == first + 1 else -0.5 if linked else -5  # who knows what it points to
    elif at == first + 1:
        score += 0.6  # it goes on from there
    return score


def states(text: str, role: str, at: int, count: int) -> float:
    """How well a sentence without its authors could follow "report that"; under 1 not at all."""
    plain, here = voice.unthreaded(text), _HERE.match(text) is not None
    if (
        _has(_OTHERS, text)
        or _has(_CITED, text)
        or points(plain)
        or re.search(r"\b(?:[Ww]e|I|us)\b", plain)
        or text.endswith("?")
    ):
        return NEVER
    if (
        not here
        and not re.match(r"(?:Our|My)\b", plain)
        and (
            _has(_BACKGROUND, text)
            or _ROLES.get(role, 0) < 0
            or not (_has(_FINDING, text.lower()) or _has(_MEASURE, text))
        )
    ):
        return NEVER
    own = here or re.search(r"\b[Oo]ur\b", plain) or role in ("results", "findings", "conclusions", "conclusion")
    early = 1.5 if at < 0.4 * count and not own else 0.0  # there stands what is known
    return (
        (
            3.0
            if re.match(r"(?:Our|My) (?!results|findings|work|study|data|analys|insights?)", plain)
            else 2.0
            if own
            else 0.0
        )
        - early
        + tells(text, role, at, 0, count)
        - 1.5
    )


def goes_on(text: str) -> bool:
    """Does a sentence speak on of what the first one introduced?"""
    return (
        re.match(
            r"(?:It|Its|The (?:proposed |resulting |new )?(?:approach|method|model|system|algorithm|tool|"
            r"scheme))\b",
            text,
        )
        is not None
    )


def points(text: str) -> bool:
    """Does a sentence begin with what only the one before it explains?"""
    return _POINTS.match(text) is not None and not _SELF_POINT.match(text)
