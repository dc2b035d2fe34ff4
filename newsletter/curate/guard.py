"""What a model's summary may say: the rules it must pass, else the extracted words stand. Pure.

    rule                   refused                                      passes
    form                   empty, over 900 characters, three            one or two sentences that end like sentences
                           sentences, no full stop
    characters             control, bidi override, zero-width,          any letters; joiners in Indic and Arabic words
                           unassigned, variation selectors
    markup and links       HTML, Markdown, templates, TeX, URLs with    "Node.js", "mAP@0.5", "p < 0.05", "$5"
                           or without a scheme, domains, addresses
    orders                 "ignore ...", "system prompt", "as an AI";   "Liu et al. study prompts"
                           "you", "please", "Click ..."
    author phrase          another beginning; the first person          "Liu and colleagues" for "Liu et al."
    figures                a value that the text lacks, or has of       "12%" for "12 per cent", "nine" for "9", "twice"
                           something else: %, points, x, seconds, $,    for "2x", "1.5 s" for "1,500 ms", "3.2M" for
                           sign, name, ordinal (see `numbers`)          "3.2 million"; "two" for "A and B"
    counted                "7 tasks" where the text has "4 tasks" and   "12 rulings" for "12 annotated court rulings"
                           7 of something else
    direction              "rises by 5%" for "falls by 5%"; faster and  "fell by 5%" for "5% lower"; what is better on
                           slower, better and worse, above and below    one axis and less on another
    pairs                  "5 of 3", "p < 0.62" for "p = 0.62", "a month"  "12 of 40" for "of 40 tasks, 12",
                           for "a year", scores exchanged (`pairing`)      "annually" for "a year"
    negation               "improves" where the text only has "does     any word that the text has both ways
                           not improve", and the other way round
    subject matter         under 0.34 of a sentence's longer words are  paraphrase: true ones have 0.64 and more
                           the text's (by their beginnings)
    instructions followed  words and figures that stand only in a       what the rest of the text says as well
                           sentence that orders a model about

These are rules about words, not understanding: a lie in the text's own words and numbers, each used as the text uses
it, gets through; the editor reads every draft.
"""

from __future__ import annotations

import collections
import decimal
import re
import unicodedata
from collections.abc import Mapping, Sequence
from fractions import Fraction

from newsletter.curate import authors, numbers, pairing, sentences

OVERLAP = decimal.Decimal("0.34")  # Agentic-FinSearch#302: right summaries had 0.64 and more, wrong ones 0.07
LONGEST = 900  # characters of an answer
figures = numbers.figures

# -- patterns ------------------------------------------------------------------------------------------------------

_JOINERS = re.compile("(?<=[\u0600-\u0dff])[\u200c\u200d](?=[\u0600-\u0dff])")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef\u115f\u1160\u3164\u2800]")
_TLDS = (
    "com|org|net|io|ai|app|dev|co|info|biz|edu|gov|me|xyz|ru|cn|uk|de|fr|nl|it|es|eu|us|ly|to|tv|gg|sh|page|link|site|"
    "online|top|shop|store|club|live|news|blog|tech|cloud|pro|icu|vip|zip|mov|example|test|рф|xn--[a-z0-9-]+"
)
_MARKUP = re.compile(
    r"<[a-z/!?|]|&#?\w+;|\]\(|\]\s?\[|!\[|\[[^\]]*\]:|\[/?inst|\{\{|\{%|\{#|\+\+\+|\*\*|__|~~|```|`|\\[a-z(\[]"
    r"|\$[^$\d\s][^$]*\$|(?<![\w*_])[*_][^\W_][^*_]*[*_](?![\w*_])|^\s*(?:[#>*+|-]|\d+[.)])\s|\s\|\s"
    r"|\w://|\b(?:javascript|vbscript|data|mailto|tel|sms|file|magnet):\S|\bwww\.\w"
    r"|[\w.+-]+@[\w-]+\.[^\W\d_]|\b[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}/\w"
    rf"|(?<![\w.])[\w-]+(?:\.[\w-]+)*\.(?:{_TLDS})(?![\w-]|\.\w)|[\[({{<]\s?(?:\.|dot)\s?[\])}}>]|"
    rf"\w[\s-]+dot[\s-]+(?:{_TLDS})\b",
    re.IGNORECASE | re.MULTILINE,
)
ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules|above|guidelines)\b"
    r"|\bsystem prompt\b|\bas an ai\b|\blanguage model,? i\b|\byou are (?:now|an? (?:ai|assistant|language))\b"
    r"|\b(?:reply|respond|answer|output) (?:only )?with\b|\bnew instructions?\b|\b(?:jailbreak|developer) mode\b"
    r"|(?:^|[.!?]\s+)\W{0,3}(?-i:SYSTEM|ASSISTANT|USER|HUMAN|INSTRUCTIONS?)\s?:",
    re.IGNORECASE,
)
# One of these stands in every order; to look for them costs a tenth.
_ORDERLY = re.compile(
    r"[Ii]nstr|[Pp]rompt|[Rr]ule|[Aa]bove|[Gg]uidel|[Aa]n [Aa][Ii]\b|[Mm]odel,? [Ii]|[Yy]ou are|with|[Mm]ode\b|"
    r"[A-Z]\s?:|[A-Z]{3}"
)


def orders(text: str) -> bool:
    """Does a text tell its reader, or a model, what to do?"""
    return _ORDERLY.search(text) is not None and ORDERS.search(text) is not None


_TO_A_MODEL = re.compile(
    r"(?:^|[.!?]\s)\W{0,9}(?:please\s+)?(?:write|say|include|insert|append|repeat|print|mention|tell|reply|respond|"
    r"praise|recommend)\b"
    r"|\b(?:you must|you should|please) (?:\w+ )?(?:write|say|include|insert|append|repeat|print|mention|tell|reply"
    r"|respond|praise|recommend|state|claim|begin|end)\b"
    r"|\b(?:in|to|of|into) your (?:reply|answer|response|summary|output)\b|\bcanary\b"
    r"|\b(?:note|message|attention|instructions?) (?:to|for) (?:the |all |any )?(?:ai|llm|model|assistant|"
    r"summari[sz]er)s?\b",
    re.IGNORECASE | re.MULTILINE,
)
_TO_THE_READER = re.compile(
    r"\b(?:you|your|yours|yourself)\b|\bdear (?:reader|friend|user|subscriber|customer|assistant)s?\b"
    r"|\bplease\b|\bclick (?:here|this|on|the)\b"
    r"|(?:^|[.!?]\s+)(?-i:Click|Visit|Subscribe|Ignore|Reply|Respond|Send|Call|Buy|Download|Contact|Follow|Remember"
    r"|Note that|Do not|Don't|Go to|Sign up|Log in|Enter|Write|Say|Print|Repeat|Use|Try|Get|Read|See)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:[Ww]e|[Oo]urs?|us|I(?= [a-z])|[Mm]y)\b")
_END = re.compile(r"[.!?…。؟।][\"'’”)\]]*$")
_SMALL_START = re.compile(r"\b(?!al\b|vs\b|approx\b|resp\b|incl\b|etc\b|fig\b|figs\b|eqs?\b)[a-z]{3,}[.!?]\s+(?=[a-z])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def refusal(answer: str, source: str, subject: authors.Subject | None) -> str | None:
    """Why a model's answer cannot be used; None when it can.

    `source` is all that the model was shown. `subject` None: no author phrase is asked for.
    """
    answer = answer.strip()
    return _formless(answer) or _bad_manners(answer, subject) or _untrue(answer, source, subject)


def unsupported(summary: str, source: str) -> list[str]:
    """The figures of a summary that its source does not hold, as the summary writes them."""
    said = figures(summary)
    if not said:
        return []
    source = numbers.normal(source)
    return _made_up(numbers.normal(summary), said, source, figures(source))


# -- form and manners ----------------------------------------------------------------------------------------------


def _formless(answer: str) -> str | None:
    if not answer:
        return "the answer is empty"
    if len(answer) > LONGEST:
        return f"the answer is longer than {LONGEST} characters"
    plain = unicodedata.normalize("NFKC", answer)
    if not _JOINERS.sub("", plain).isprintable() or _SELECTORS.search(answer):
        return "the answer has control characters"
    if _MARKUP.search(plain):
        return "the answer has markup or a link"
    return None


def _bad_manners(answer: str, subject: authors.Subject | None) -> str | None:
    plain = unicodedata.normalize("NFKC", answer)
    if ORDERS.search(plain) or _TO_THE_READER.search(plain):
        return "the answer has instructions in it"
    if subject is not None and not authors.begins(answer, subject):
        return "the answer does not begin with the author phrase"  # one reason, whoever it is
    if len(sentences.split(answer)) + len(_SMALL_START.findall(answer)) > sentences.MOST:
        return f"the answer has more than {sentences.MOST} sentences"
    if not _END.search(answer):
        return "the answer does not end like a sentence"
    if subject is not None and _FIRST_PERSON.search(answer):
        return "the answer speaks in the first person"
    return None


# -- is it what the text says? -------------------------------------------------------------------------------------


def _untrue(answer: str, source: str, subject: authors.Subject | None) -> str | None:
    source, orders = _without_orders(numbers.normal(source))
    plain = numbers.normal(answer)
    said, there = figures(plain), figures(source)
    if made_up := _made_up(plain, said, source, there):
        return f"the answer has figures that the text does not hold: {', '.join(made_up)}"
    if miscounted := _miscounted(plain, said, source, there):
        return f"the answer counts something else than the text: {miscounted}"
    if turned := _turned(plain, said, source, there):
        return f"the answer turns the direction round: {turned}"
    if flipped := _flipped(plain, source) or _denial_lost(plain, source):
        return f"the answer says the opposite of the text: {flipped}"
    if mispaired := pairing.mispaired(plain, source):
        return f"the answer puts together what the text does not: {mispaired}"
    phrase = subject.phrase if subject else ""
    known = set(_stems(source))
    for part in (plain, *_parts(plain)):
        share = _share(part.removeprefix(phrase), known)
        if share < OVERLAP and (part == plain or len(_stems(part)) > 3):
            measured = f"{share:.2f} of its words are the text's, at least {OVERLAP} must be"
            return f"the answer is about something else: {measured}"
    if orders and (obeyed := {*_words(plain)} & {*_words(orders)} - {*_words(source), *_words(phrase)}):
        return f"the answer repeats what an instruction in the text says: {min(obeyed)}"
    return None


def _without_orders(source: str) -> tuple[str, str]:
    """(the text without, the text of) the sentences that tell a model what to do."""
    if not (ORDERS.search(source) or _TO_A_MODEL.search(source)):
        return source, ""
    kept: list[str] = []
    orders: list[str] = []
    for part in _SENTENCE.split(source):
        (orders if ORDERS.search(part) or _TO_A_MODEL.search(part) else kept).append(part)
    return "\n".join(kept), "\n".join(orders)


def _share(answer: str, known: set[str]) -> decimal.Decimal:
    """The share of an answer's longer words, by their beginnings, that are known."""
    mine = _stems(answer)
    if not mine:
        return decimal.Decimal(0)
    return decimal.Decimal(sum(stem in known for stem in mine)) / len(mine)


def _stems(text: str) -> list[str]:
    return [word[:5] for word in re.findall(r"[^\W\d_]{4,}", text.casefold())] or re.findall(r"[^\W\d_]", text)


def _words(text: str) -> list[str]:
    return re.findall(r"\w[\w-]{3,}", text.casefold())


def _parts(text: str) -> list[str]:
    return [part for part in _SENTENCE.split(re.sub(r"\bet al\.\s", "et al ", text)) if part]


# -- figures -------------------------------------------------------------------------------------------------------

_WORD = r"[^\s,.;:()]{1,40}"
_LIST = re.compile(rf"(?<![^\s,.;:()])((?:{_WORD}(?: {_WORD}){{0,3}}, ){{0,5}}){_WORD},? (?:and|or|&) \w")
_SMALL = 6  # what a reader counts in "A, B and C" himself
_OF = re.compile(r"\s+(?:out\s+)?of\s+(?:the\s+|all\s+|its\s+|their\s+|these\s+)?")
_NOUN = re.compile(r"[\s-]+([^\W\d_][^\W_]*)")
_NO_NOUN = frozenset(
    "a about above after against all among an and are as at be because been before below between both but by can "
    "compared could did do does during each for from had has have if in into is it its less may more most not of on "
    "only or other out over per relative respectively since so such than that the their them then there these they "
    "this those through to under up using versus via was were when where whereas whether which while who will with "
    "within without would year years".split()
)


def _made_up(plain: str, said: Sequence[numbers.Figure], source: str, there: Sequence[numbers.Figure]) -> list[str]:
    units: dict[Fraction, set[str]] = collections.defaultdict(set)
    for figure in there:
        units[figure.value].add(figure.unit)
        if figure.lent and figure.unit == "share":
            units[figure.value * 100].add("")
    starts = _starts(said)
    missing = [figure for figure in said if not _holds(units, figure, counts=bool(_nouns(plain, figure, starts)))]
    if any(_could_be_listed(figure) for figure in missing):
        most = max((match[1].count(", ") + 2 for match in _LIST.finditer(source)), default=0)
        missing = [figure for figure in missing if not (_could_be_listed(figure) and figure.value <= most)]
    return [figure.shown for figure in missing]


def _holds(units: Mapping[Fraction, set[str]], figure: numbers.Figure, *, counts: bool) -> bool:
    """Has the source this figure? A bare one may have lost its % or x, when it counts nothing else instead."""
    has = units.get(figure.value, set())
    if figure.unit in has:
        return True
    if figure.unit == "":
        lost = not counts and ({"x", "point", "$", "€", "£", "¥"} & has or "share" in units.get(figure.value / 100, ()))
        return bool(lost) or f"#{figure.before}" in has
    if figure.unit == "point":
        return bool({"", "pp"} & has)
    return figure.unit.startswith("#") and "" in has


def _could_be_listed(figure: numbers.Figure) -> bool:
    return figure.spelled and not figure.unit and 2 <= figure.value <= _SMALL


def _starts(found: Sequence[numbers.Figure]) -> dict[int, numbers.Figure]:
    return {figure.start: figure for figure in found}


def _nouns(text: str, figure: numbers.Figure, others: Mapping[int, numbers.Figure]) -> list[str]:
    """What a bare figure counts, by the beginnings of the words after it: "4 hard tasks", "three of the four tasks"."""
    at = figure.end
    if of := _OF.match(text, at):
        at = others[of.end()].end if of.end() in others else at
    found: list[str] = []
    while len(found) < 3 and (match := _NOUN.match(text, at)):
        if match.start(1) in others or match[1].lower() in _NO_NOUN:
            break
        found.append(match[1].lower().rstrip("s")[:6])
        at = match.end()
    return found


def _miscounted(plain: str, said: Sequence[numbers.Figure], source: str, there: Sequence[numbers.Figure]) -> str | None:
    counted: dict[str, set[Fraction]] = collections.defaultdict(set)
    mine = [figure for figure in said if not figure.unit]
    starts = _starts(there)
    for figure in there if mine else ():
        if not figure.unit:
            for noun in _nouns(source, figure, starts):
                counted[noun].add(figure.value)
    starts = _starts(said)
    for figure in mine:
        of = _OF.match(plain, figure.end)
        whole = starts.get(of.end()) if of else None
        if whole and any(whole.value in counted[noun] for noun in _nouns(plain, whole, starts) if noun in counted):
            continue  # of how many it is a part, `pairing` looks at
        known = [counted[noun] for noun in _nouns(plain, figure, starts) if noun in counted]
        if known and figure.value not in set().union(*known):
            return plain[figure.start : figure.end + 30].strip()
    return None


# -- direction and negation ----------------------------------------------------------------------------------------

_TURNS = re.compile(
    r"\b(?:(?P<amount_up>increas\w*|ris(?:e|es|en|ing)|rose|grow\w*|grew|rais\w*|higher|more|climb\w*|up(?!\s?to\b))"
    r"|(?P<amount_down>decreas\w*|reduc\w*|fall(?:s|en|ing)?|fell|drop\w*|declin\w*|lower\w*|less|fewer|cut(?:s|ting)?"
    r"|shr[aiu]nk\w*|down)"
    r"|(?P<worth_up>improv\w*|gain\w*|better)|(?P<worth_down>worse\w*|degrad\w*|los(?:e|es|t|s|ses|ing)\b|hurt\w*)"
    r"|(?P<speed_up>faster|quicker|speed\w*|accelerat\w*)|(?P<speed_down>slow\w*))\b",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?:(?P<bound_up>above|at least|more than|over|exceed\w*|[>≥])"
    r"|(?P<bound_down>below|under|at most|less than|fewer than|up to|[<≤]))\s?[$€£]?$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;:,()]\s|\b(?:and|but|while|whereas|though|although|yet)\b", re.IGNORECASE)
_AFTER = re.compile(r"[.;:,()\d]|\b(?:and|but|while|with|by|from|to|than|in|on|at|of|for)\b", re.IGNORECASE)


def _directions(text: str, figure: numbers.Figure) -> dict[str, str]:
    """Axis -> "up" or "down" of a figure: the words right behind it, else the nearest before it in its clause."""
    left = _CLAUSE.split(text[max(0, figure.start - 90) : figure.start])[-1]
    right = " ".join(_AFTER.split(text[figure.end : figure.end + 50], maxsplit=1)[0].split()[:3])
    found: dict[str, str] = {}
    nearest = [*_TURNS.finditer(left)][::-1]
    for match in (_BOUND.search(left), *_TURNS.finditer(right), *nearest):
        if match and match.lastgroup:
            axis, _, sign = match.lastgroup.partition("_")
            found.setdefault(axis, sign)
    return found


def _turned(plain: str, said: Sequence[numbers.Figure], source: str, there: Sequence[numbers.Figure]) -> str | None:
    """The figure that goes up in the answer and only ever down in the text, or the other way round."""
    same: dict[tuple[Fraction, str], list[numbers.Figure]] = collections.defaultdict(list)
    for figure in there:
        same[figure.value, figure.unit].append(figure)
    for figure in said:
        mine = _directions(plain, figure)
        theirs: dict[str, set[str]] = collections.defaultdict(set)
        for other in same[figure.value, figure.unit][:20] if mine else ():
            for axis, sign in _directions(source, other).items():
                theirs[axis].add(sign)
        if any(axis in theirs and sign not in theirs[axis] for axis, sign in mine.items()):
            return figure.shown
    return None


_NEGATOR = re.compile(
    r"\b(?:not|no|never|nor|neither|none|nothing|without|cannot|hardly|barely|unable|lack\w*|fail\w*|only|free|little|"
    r"less|fewer|rather|instead|avoid\w*|prevent\w*|eliminat\w*|remov\w*|absen\w+|un\w{4,})\b|n['’]t\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|no|cannot|without|hardly|barely|unable to|fail(?:s|ed)? to)|n['’]t)\s+(?!(?:only|just|merely|"
    r"solely|necessarily|always|more|less|fewer|until)\b)(?:(?:be|been|being|is|are|to|a|an|the|any|have|has|yet|even|"
    r"[a-z]+ly)\s+)*([^\W\d_]{4,})",
    re.IGNORECASE,
)
_EVERYWHERE = frozenset(
    "that this with from have been such what when than much many very well into also their there these those which "
    "other were does they them then some most both".split()
)


_PAST = {"rose": "rise", "risen": "rise", "fell": "fall", "grew": "grow", "found": "find", "won": "win", "lost": "lose",
         "held": "hold", "beat": "beat", "showed": "show", "shown": "show", "led": "lead", "kept": "keep"}  # fmt: skip


def _root(word: str) -> str:
    word = _PAST.get(word.casefold(), word)
    return re.sub(r"(?:ing|ed|es|e|s)$", "", word.casefold())[:6]


def _roots(text: str) -> list[str]:
    return [_root(word) for word in re.findall(r"[^\W\d_]{4,}", text)]


def _flipped(plain: str, source: str) -> str | None:
    """The word that the text always denies and the answer does not, or that only the answer denies."""
    word: str
    denied = collections.Counter(_root(match[1]) for match in _DENIED.finditer(source))
    parts = [(part, _NEGATOR.search(part) is not None) for part in _parts(plain)]
    if not denied and not any(negative for _, negative in parts):
        return None
    all_of = collections.Counter(_roots(source))
    affirmed, doubted = set[str](), set[str]()
    for part in _SENTENCE.split(source) if any(negative for _, negative in parts) else ():
        (doubted if _NEGATOR.search(part) else affirmed).update(_roots(part))
    for part, negative in parts:
        for word in re.findall(r"[^\W\d_]{4,}", part.casefold()) if not negative else ():
            if word not in _EVERYWHERE and 0 < denied[_root(word)] == all_of[_root(word)]:
                return word
        for match in _DENIED.finditer(part) if negative else ():
            root = _root(match[1])
            if match[1].casefold() not in _EVERYWHERE and root in affirmed and root not in doubted:
                return str(match[0])
    return None


_DENIES = re.compile(
    r"(?:\b(?P<no>no|without(?: any)?|neither|absence of|lack of)|(?:\b(?:not|never|cannot|hardly|barely|unable to|"
    r"fail(?:s|ed)? to)|n['’]t)(?! (?:only|just|merely|solely|necessarily|always|more|less|fewer|"
    r"until)\b))\s+(?P<rest>[^.;:,()\d]{3,60})",
    re.IGNORECASE,
)
_STOPS = re.compile(
    r"\b(?:in|of|on|at|to|for|with|by|from|between|among|that|and|or|but|than|after|when|if|as|was|were|is|are)\b"
)


def _denied_in(sentence: str) -> set[str]:
    """The roots of the words that a sentence denies: what stands behind "no", the first one behind "not"."""
    found = set[str]()
    for match in _DENIES.finditer(sentence):
        rest = _STOPS.split(match["rest"], maxsplit=1)[0].casefold()
        words = [
            word for word in re.findall(r"[^\W\d_]{4,}", rest) if word not in _EVERYWHERE and not word.endswith("ly")
        ]
        found |= {_root(word) for word in (words[:3] if match["no"] else words[:1])}
    return found


def _denial_lost(plain: str, source: str) -> str | None:
    """The word that the text denies in the sentence with the answer's figures, and the answer does not, or turned."""
    there = [each for each in pairing.sentences(source) if each.figures]
    for part in pairing.sentences(plain):
        mine = {(figure.value, figure.unit) for figure in part.figures if figure.value not in (1, 2)}
        about = [each for each in there if mine & {(figure.value, figure.unit) for figure in each.figures}]
        if not about:
            continue
        words = set(_roots(part.text)) - {_root(word) for word in _EVERYWHERE}
        denied = set[str].intersection(*(_denied_in(each.text) for each in about))
        affirmed = collections.Counter(root for each in about for root in _roots(each.text))
        if not _NEGATOR.search(part.text):
            lost = sorted(root for root in denied & words if affirmed[root] <= len(about))
            if lost:
                return lost[0]
        elif not any(_NEGATOR.search(each.text) for each in about):
            turned = sorted(_denied_in(part.text) & set(affirmed))
            if turned:
                return f"not {turned[0]}"
    return None
