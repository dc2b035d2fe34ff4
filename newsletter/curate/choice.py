"""Which of an article's sentences say what was done, and what came out of it. Pure.

Marks, not grammar: a sentence's verb, the heading that it stands under, its figures, what it points back to. What
others did or said, and what a reader could not understand without the sentence before, loses.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from newsletter.curate import authors, bare, guard, others, pronouns, tex, unbound, verbs, voice

LONG = 420  # characters
NEVER = -50.0

_DOES = re.compile(
    r"(?P<who>\b(?:[Ww]e|I|(?:[Mm]y|[Oo]ur) (?:colleagues|co-authors|students?) and (?:I|we)|(?:[Tt]he|[Tt]hese) "
    r"(?:authors|researchers)|et al\.|"
    rf"(?:[Tt]his|[Tt]he present|[Tt]he current|[Oo]ur|[Tt]he){bare.KIND} {bare.PAPER}))(?:, [^,]{{2,60}},)?"
    r"(?: (?:(?!apply|rely|imply|supply)\w+ly|also|then|first|further|here|therefore|thus|now|finally|next|have|"
    r"has|do|can|are able to|aim to|aims to|are|is|am|set out to|try to|want to|will|hereby))* (?P<verb>[a-z][a-z-]+)\b"
)
_TOP = frozenset("introduce present propose".split())
_HIGH = frozenset(
    "develop design build create prove derive establish formulate construct launch announce invent "
    "devise pioneer".split()
)
_MIDDLE = frozenset(
    "show demonstrate study investigate describe examine explore evaluate compare analyse analyze benchmark "
    "report survey review address tackle answer revisit test measure estimate train conduct collect find identify "
    "discover rewrite replace argue extend formalise formalize quantify characterise characterize generate trace "
    "determine model assess consider give reveal improve solve randomise randomize assign recruit follow repeat "
    "replicate reproduce offer split summarise "
    "summarize synthesise synthesize search reconstruct detect map predict settle".split()
)
_IDLE = frozenset(
    "hope believe expect plan assume note recall see want think know hypothesise hypothesize speculate release "
    "recommend "
    "encourage thank suggest call refer denote let need urge caution advocate".split()
)
_PASSIVE = re.compile(rf"\b(?:is|are|was|were) (?:\w+ly )?(?:{voice.DONE}|assigned|randomi[sz]ed)\b")
_SET_UP = re.compile(r"(?:We|I|They)(?: \w+ly| also| then| further)? (?:evaluated?|test|tested|validated?|conduct|"
    r"conducted|perform|performed|apply|"
                     r"applied|compared?|experiment|use|used|implement|implemented|discuss|outline)\b")  # fmt: skip
_HERE = re.compile(
    rf"(?:In|Through|With|Throughout) (?:[Tt]his|the present|our|the current)(?: \w+)? {bare.PAPER}\b|Here(?:in)?\b|"
    rf"For the first time|"
    r"To (?:address|overcome|tackle|solve|fill|bridge|close|remedy|mitigate|this end)\b"
)
_LATER = re.compile(
    r"(?:Moreover|Furthermore|In addition|Additionally|Finally|Lastly|Also|Besides|Then|Next|First|Second|Third|"
    r"In particular|Specifically|As a|More (?:specifically|precisely)|We (?:also|further|then|finally|additionally|"
    r"first|next)|The paper also)\b"
)
_FINDING = re.compile(
    r"\b(?:outperform\w*|improv\w*|reduc\w*|increas\w*|decreas\w*|achiev\w*|reach\w*|rais\w*|cut[s]?|lower\w*|"
    r"gain\w*|surpass\w*|exceed\w*|match\w*|yield\w*|falls?|fell|rises?|rose|drop\w*|grew|doubl\w*|halv\w*|faster|"
    r"slower|better|worse|fewer|less|more|higher|finds?|found|shows? that|showed|excluded|observed|report that|"
    r"success|accuracy|error|speed-?ups?|reveal\w*|demonstrate[sd]? that|confirm\w*|none of|save[sd]?|speeds?|beats?|"
    r"finish\w*|conclude|identified|indicat\w*|as (?:good|well|fast|accurate\w*|effective\w*|often|likely) as|the "
    r"same)\b",
)
# Nothing found is a result too.
NOTHING = re.compile(
    r"\b(?:no|little|neither|without(?: any)?) (?:(?:clear|strong|robust|convincing|credible|statistically|significant|"
    r"meaningful|measurable|detectable|compelling|systematic|consistent|overall|direct|such|further|new) )*(?:evidence|"
    r"difference|effect|association|correlation|excess|relation(?:ship)?|link|change|improvement|benefit|signal|"
    r"increase|decrease|gain|impact|influence|trend|deviation|support|advantage)s?\b"
    r"|\b(?:did|does|do|was|were|is|are) not (?:\w+ly )?(?:differ\w*|improve|increase|decrease|reduce|change|affect|"
    r"predict|associated|correlated|related|replicate|support\w*|significant\w*|find|detect\w*|observed?|outperform|"
    r"help|hold)\b"
    r"|\bnull (?:result|finding|effect)s?\b|\b(?:indistinguishable from|fail(?:s|ed)? to (?:replicate|find|detect|"
    r"reject|improve|outperform|reproduce))\b"
)
_MEASURE = re.compile(
    r"\d\s?(?:%|percent|per cent|percentage points?|points?\b|[x×](?!\w)|times\b|-fold|fold\b|TeV|GeV|MeV|eV\b|"
    r"dB\b|ms\b|km\b|million\b|billion\b|years?\b|hours?\b|minutes?\b|seconds?\b|σ)|\d\.\d+ (?:mAP|BLEU|F1|FPS|AUC|"
    r"IoU|on [A-Z])|\b(?:ratio|score|accuracy|AUC|F1|BLEU|mAP|pass@\w+|of|to|by|from) (?:score )?(?:of "
    r")?\d+\.\d", re.IGNORECASE,
)  # fmt: skip
_CHANGE = re.compile(
    r"\bby (?:up to |about |over |nearly )?\d|\bfrom \S{0,3}\d\S* to \S{0,3}\d|\d\s?[x×](?!\w)|\d-fold|\d times\b|"
    r"\d+% of\b",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\b(?:[Cc]odes?|[Dd]ata|[Mm]odels?|[Dd]atasets?|[Tt]asks?|[Cc]hecker|[Gg]uidelines|[Ii]mplementation|"
    r"[Ww]eights|[Bb]enchmark)\b[^.]{0,60}\b(?:available|released?|public(?:ly)?|open-sourced?)\b"
    r"|\bhttps?://|\bwww\.|github\.com|\b[Ww]e (?:also |will |plan to )*(?:release|open-source|hope|thank|believe|"
    r"expect)\b"
    r"|\b(?:costs? \S*\d\S* (?:euros?|dollars?|pounds?) each|accepted (?:at|to|by)|[Ss]upplementary)\b|\?$"
    r"|\b[Ww]e (?:close|conclude|end|finish) (?:with|by)\b|\b(?:future (?:work|research|studies)|[Ff]urther "
    r"(?:work|research|studies)|remains? (?:open|to be)|I would love|hear from you|[Ss]ubscribe)\b"
)
_BACKGROUND = re.compile(
    r"\b(?:[Rr]ecent(?:ly)?|[Ee]xisting|[Pp]revious(?:ly)?|[Pp]rior|[Ee]arlier (?:work|studies|methods)|often|"
    r"usual(?:ly)?|has long been|have long been|[Hh]owever|remains?|suggested that|challeng\w+|little is known|"
    r"well[- ]known|are known|is known|in recent years|increasingly|widely|has become|have become|typically|commonly|"
    r"traditional(?:ly)?|most current|is (?:an? )?(?:important|essential|critical|crucial|key|fundamental|central)|"
    r"are (?:important|essential|critical|crucial|key|fundamental|central))\b"
)
_ELLIPTIC = re.compile(r"(?!We\b|I\b)\w+ (?:do|does|did|can|will)[:;,.]")  # "Tusks do: the price of ..."
_CONCLUDES = re.compile(r"\b(?:therefore|thus|hence|consequently|instead|accordingly)\b")
_WILL = re.compile(rf"(?:{voice.SELF.pattern}|[Ww]e|I) will\b")
_AIM = re.compile(
    r"(?:The |Our )?(?:main |primary |principal )?(?:[Aa]im|[Gg]oal|[Oo]bjective|[Pp]urpose)s? of (?:this|the|our) "
)
_CLOSES = re.compile(
    r"(?:We|I) (?:also |then |finally |further )?(?:discuss|outline|hope|close|conclude|end|comment|speculate|sketch)\b"
)
_RELEASES = re.compile(r"(?:We|I) (?:release|open-source|publish) (?!(?:our|the|all|my) (?:code|data)\b)")
# "The median was 62 dB": of what?
_BARE_MEASURE = re.compile(
    r"(?:(?:On|In|At|With|For|Over) [^,]{2,30},? )?[Tt]he (?:median|mean|average|speed-?up|gain|effect|difference|"
    r"ratio|rate|error|accuracy|improvement|reduction|increase|bound|constant|range|score|total|counterexample|result|"
    r"proof|speed|price|cost|time|size|number|value|temperature|algorithm|method|model)s?(?:, [^,]{1,30},)? "
    r"(?:is|are|was|were|shows?|has|had|reaches|reached|fell|rose|drops?|uses?)\b"
)
_ASKS = re.compile(
    r"(?:To (?:what|which|whom)|Who|What|Which|Why|When|Where|How|Can|Could|Is|Are|Do|Does|Did|Will)\b.*\?$"
)
_ROUND_ABOUT = re.compile(
    r"(?i)(?:however, )?(?:recent|existing|current|previous|prior|earlier|older|modern|state-of-the-art|traditional|"
    r"many|most|today)\b"
)
# "We extend it": the reader has not seen what.
_DANGLES = re.compile(
    r"^\S+(?: et al\.)?(?: (?:were|was|are|is) (?:not )?able to)?(?: [\w-]+){1,3}?(?: that| how| whether| if| why|"
    r" for| with| of| on| by| to| in| both| also| few| many)* (?:it|them|this(?! (?:paper|work|article|study|is the "
    r"first|is an?)\b)|these|those|such(?! as| that)|its|their own|the (?:former|latter|same))\b"
    r"|^\S+ \w+ (?:that|how|whether|if|why) (?:their|they)\b"
)
_SUCH = re.compile(r"\bsuch (?!as\b|that\b|an?\b)\w+|\b(?:these|those) (?:two |three )?[a-z]+s\b")
_GENERIC_WE = re.compile(
    r"\b(?:the ways? (?:in which )?|how )we (?:live|work|think|search|communicate|eat|travel|learn|shop|see|"
    r"consume|interact|age|move|sleep|understand|perceive)\b|\bas we (?:know it|age|approach|enter)\b|\bworld we\b|"
    r"\b(?:all|most|many|some|each|none|both) of us\b|\b[Ww]e (?:all|humans|as a|need to|must|should|live in)\b|"
    r"\b[Ll]et(?: us|['’]s)\b|\bus all\b"
)
_WE = re.compile(r"\b(?:[Ww]e|us|[Ll]et)\b")
_STOP_WITHIN = re.compile(r"[.!?]\s")
_INNER_END = re.compile(r"(?:[^\W\d_]{4}|[A-Z]{2}|[\d)])[.!?]\s+[A-Z]|\b[a-z][.!?]\s+[A-Z][a-z]+\s[a-z]|[?!]\s+[A-Z]")
# "This paper contributes to the literature on tariffs" says where it stands, not what was done.
_ADDS_TO = re.compile(
    r"\b(?:contribut|add|build|speak|relat|belong)\w* (?:up)?(?:on|to) (?:the |an? |our |this |several |two |three |"
    r"existing |growing |recent |large |small |long |broader )*(?:[\w-]+ ){0,3}?(?:literatures?|debates?|strands?|"
    r"bod(?:y|ies) of|discussions?|scholarship|lines? of)\b"
)
# A sponsor's words, and what asks its readers for something.
ADVERT = re.compile(
    r"\b(?:[Uu]se|[Ee]nter|[Ww]ith) (?:the |our |my )?(?:promo |coupon |discount |offer )?code [A-Z\d“\"]|\b[Pp]romo "
    r"code\b|(?:[$€£]\s?\d+|\d+\s?%) off\b|\b[Ss]ponsor(?:ed|s|ing)? (?:by|of|this|for)\b|\b[Tt]oday['’]s sponsors?\b|"
    r"\b[Jj]oin (?:the author|us|me|our|the (?:newsletter|mailing|community))\b|\b[Ss]ubscribe (?:to|now|here|"
    r"on|for|today)\b|\b[Ss]ign up (?:for|to|now|here|today)\b|\bfree trial\b|\b[Bb]uy (?:now|tickets)\b|"
    r"\b[Ff]ollow (?:us|me) "
    r"on\b|\b(?:brought to you by|[Ss]upport (?:us|me|the (?:show|podcast)) (?:on|at|by)|[Ll]earn more at|"
    r"[Hh]ead (?:over )?to "
    r"\S+\.\w{2,})"
)
_ROLES = {
    "conclusions and relevance": 1.0, "conclusion and relevance": 1.0, "conclusions & relevance": 1.0,
    "importance": -3.0,
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
    r"data|models?)[^,.]{0,40} (?:is|are|can be) [^,.]{0,40}https?://\S+(?=[.]?$)"
)
_LABEL_ALONE = re.compile(
    r"(?i)(Background|Introduction|Context|Objectives?|Aims?|Methods?|Results?|Findings|Conclusions?|Limitations)[.:]"
)


def labelled(found: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the sentences without labels, the label that each stands under)."""
    plain, roles, role = [], [], ""
    for each in found:
        alone = _LABEL_ALONE.fullmatch(each)
        if alone:
            role = alone[1].lower()
        text, label = bare.without_label(_ADDRESSES.sub("", each))
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
    if _ELLIPTIC.match(text):
        return False
    says = len(text.split()) > 2 and any(char.islower() for char in text[1:])
    return says and not ADVERT.search(text) and not guard.orders(text) and not _ASKS.match(text)


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
    plain = bare.unthreaded(text)
    said = _said(plain, subject)
    if said <= 0 and role not in _AIMS and not _HERE.match(text):
        return said - 0.12 * at - 1
    if others.of_others(text) and not authors.begins(plain, subject):
        return NEVER
    if _ADDS_TO.search(plain):
        said -= 6
    score = said - 0.12 * at - broken(text)
    if _HERE.match(text) or unbound.SELF_POINT.match(text):
        score += 1.2
    elif _LATER.match(text):
        score -= 1.2
    if role in _AIMS:
        score += 1.5
    elif _ROLES.get(role, 0) < -1 or (_BACKGROUND.search(plain) and not _HERE.match(text) and not _leads(plain)):
        score -= 1.5
    if _has(_WEAK, text) and not (at == 0 and _RELEASES.match(text)):
        score -= 4
    if text.endswith("?"):
        score -= 6
    if dangles(text):
        score -= 2.5
    if _SUCH.search(plain, 0, 90):
        score -= 1.5
    if _CLOSES.match(plain):
        score -= 2
    if len(plain.split()) < (6 if _CONCLUDES.search(text) else 4):
        score -= 3
    if re.match(r"To [a-z]+ [^,]*$", text):  # "OBJECTIVE: To test whether ..." is no sentence
        score -= 2
    return score


def dangles(text: str) -> bool:
    """Does a sentence say "We extend it", of something that stands in another one?"""
    plain = bare.unthreaded(text)
    if voice.addresses(plain):
        return False
    does = _DOES.search(plain)
    said = plain[does.start() if does else 0 :]
    return _DANGLES.match(said) is not None or unbound.points_back(said)


def _leads(plain: str) -> bool:
    """Does a sentence begin with what its authors do?"""
    match = _DOES.match(plain)
    return match is not None and verbs.base(match["verb"]) in (_TOP | _HIGH | _MIDDLE)


def _said(plain: str, subject: authors.Subject) -> float:
    match = _DOES.search(plain)
    if match:
        verb = match["verb"]
        if verb == "not":
            return 0.5
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
    if _PASSIVE.search(plain) or re.match(
        r"It (?:is|was) (?:here )?(?:shown|proved|proven|argued|demonstrated) (?:here )?that\b", plain
    ):
        return 3
    if _AIM.match(plain):
        return 3.2
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
    if others.of_others(text) or ADVERT.search(text):
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
    if _has(NOTHING, text):
        score += 2.5
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
    if _WILL.match(text):
        score -= 3
    if unbound.points(text):
        score += 0.3 if at == first + 1 else -0.5 if linked else -5  # who knows what it points to
    elif at == first + 1:
        score += 0.6  # it goes on from there
    elif unbound.points_back(bare.unthreaded(text)):
        score -= 2.5 if re.search(r"\b(?:its?|this)\b", text) else 1.2
    return score


def states(text: str, role: str, at: int, count: int) -> float:
    """How well a sentence without its authors could follow "report that"; under 1 not at all."""
    plain, here = bare.unthreaded(text), _HERE.match(text) is not None
    if unbound.points_back(plain):
        return NEVER
    if (
        others.of_others(text)
        or others.comparator(text)
        or unbound.points(plain)
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
            or not (_has(_FINDING, text.lower()) or _has(_MEASURE, text) or _has(NOTHING, text))
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
        - (1.5 if _BARE_MEASURE.match(plain) else 0.0)
        - (1.5 if len(plain.split()) < 7 else 0.0)
        + tells(text, role, at, 0, count)
        - 1.5
    )


def begins_anew(text: str) -> bool:
    """Can a sentence be understood alone, and is it not what others did?"""
    told_by_others = others.of_others(text) and not others.own_earlier(text)
    return not (unbound.points(text) or told_by_others or guard.orders(text))


SHOWN = re.compile(r"(?:These|This|The) (?:results?|findings?|data|effects?|difference)\b")
