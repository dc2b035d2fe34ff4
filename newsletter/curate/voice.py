"""A sentence of authors about themselves -> one about them: "We introduce X" -> "Liu et al. introduce X". Pure.

opening() makes the sentence that begins with the author phrase; following() the one after it. Where no pattern fits,
"Liu et al. report that …" always does. Verbs agree with the phrase; what was in the past stays there.
"""

from __future__ import annotations

import re

from newsletter.curate import authors

FIRST_PERSON = re.compile(
    r"\b(?:[Ww]e|[Oo]urs?|[Oo]urselves|us|[Mm]y|myself)\b|(?<!Type )(?<!Phase )(?<!Part )(?<!Class "
    r")(?<!Stage )\bI(?:'[a-z]+)? (?=[a-z])"
)
_PAPER = (
    "(?:paper|work|article|study|letter|report|thesis|survey|review|manuscript|chapter|post|note|contribution|analysis|"
    "research)"
)
SELF = re.compile(
    rf"(?:In |Through |With )?(?:[Tt]his|[Tt]he present|[Tt]he current|[Oo]ur|[Tt]he new)(?: \w+)? {_PAPER}\b"
)
_LABEL = re.compile(
    r"\W{0,3}(?P<label>TL;?DR|TLDR|Abstract|Summary|Background|Introduction|Context|Objectives?|Aims?|"
    r"Purpose|Motivation|"
    r"Methods?|Design|Methodology|Materials and Methods|Setting|Participants|Interventions?|Results?|Main "
    r"Results|Findings|"
    r"Conclusions?|Interpretation|Significance|Discussion|Limitations|What is new)\s?(?::|\.\s(?=[A-Z])|"
    r"\s[-–—]\s|—)\s*",
    re.IGNORECASE,
)
_THREAD = re.compile(
    r"(?:Moreover|Furthermore|In addition|Additionally|Finally|However|Specifically|Notably|In particular|As a result|"
    r"As a corollary|"
    r"Overall|Consequently|Thus|Hence|Therefore|Importantly|Remarkably|Surprisingly|Interestingly|"
    r"In contrast|In summary|"
    r"In conclusion|To conclude|Taken together|In short|Crucially|Lastly|Also|Besides|Concretely|Here|Accordingly|"
    r"To this end|To (?:address|overcome|tackle|solve|fill|bridge|close|remedy|mitigate) (?:this|these|the|that) "
    r"(?:\w+ )?(?:issues?|gaps?|problems?|challenges?|limitations?|needs?|questions?|shortcomings?|bottlenecks?)|"
    r"(?:Motivated|Inspired) by (?:this|these|that)(?: \w+){0,3}|For this purpose|"
    rf"(?:In|Through|With) (?:this|the present|our|the current)(?: \w+)? {_PAPER}),?\s+"
)
_WITH_CLAUSE = re.compile(
    r"(?P<clause>[A-Z][^,;:.()]{3,120}(?:\([^()]{1,60}\)[^,;:.()]{0,60})?), (?:we|I) (?P<rest>.+)", re.DOTALL
)
_SUBJECT = re.compile(r"(?:We|I|we) (?P<rest>.+)", re.DOTALL)
_CONTRACTED = {"'re": " are", "'ve": " have", "'ll": " will", "'d": " would", "'m": " am"}
_ADVERBS = frozenset(
    "also then first further thus here therefore now hence next finally instead additionally furthermore".split()
)
_MODALS = frozenset("can could may might will would shall should must cannot".split())
_IRREGULAR = {"are": "is", "have": "has", "do": "does", "were": "was", "am": "is", "be": "is", "go": "goes"}
_PAST = frozenset(
    "found built wrote rewrote showed shown made took gave got ran began chose drew led held kept left met saw sent "
    "taught thought told had did was became came spent sought dealt laid grew knew won lost understood "
    "brought fed".split()
)
_NO_PAST = frozenset("need feed exceed proceed succeed embed speed heed bleed seed breed shed wed".split())
_PASSIVE = re.compile(
    r"(?P<what>(?:An?|The|This|These|Two|Three|Several|Some|New|Novel|[A-Z][\w-]*)\b[^,;:.()]{1,200}?) "
    r"(?P<be>is|are|was|were|has been|have been) "
    r"(?P<adverb>\w+ly )?(?P<verb>presented|proposed|introduced|studied|investigated|described|developed|"
    r"analy[sz]ed|examined|"
    r"considered|explored|evaluated|discussed|derived|demonstrated|reported|compared|given|reviewed|"
    r"tested)\b(?P<rest>.*)",
    re.DOTALL,
)
_BASE = {
    "studied": "study", "given": "give", "proposed": "propose", "introduced": "introduce",
    "investigated": "investigate",
    "described": "describe", "analysed": "analyse", "analyzed": "analyze", "examined": "examine", "derived": "derive",
    "explored": "explore", "evaluated": "evaluate", "demonstrated": "demonstrate", "compared": "compare",
}  # fmt: skip
_SELF_VERB = re.compile(
    rf"(?:This|The present|The current|Our|The new|A new|The)(?: \w+)? {_PAPER}(?: \w+ly| also| then| "
    rf"first)? (?P<verb>[a-z]+(?:s|ed))\b(?P<rest>.*)",
    re.DOTALL,
)
_AIM = re.compile(
    rf"(?:The|Our) (?:main |primary )?(?:aim|goal|objective|purpose)s? of (?:this|the present|our) "
    rf"{_PAPER} (?:is|was|are|were) (?P<rest>to .*)",
    re.DOTALL,
)
_TO = re.compile(r"To [a-z]+ [^,;]*")  # an objective without a verb of its own
_ANSWER = re.compile(r"(?:answer|address|tackle)(?P<s>s?) this(?: question| problem| gap| issue)? with (?=[A-Z])")
_IT_THAT = re.compile(
    r"(?:It|They) (?P<verb>find|show|demonstrate|reveal|suggest|report|argue|prove|conclude)s? "
    r"(?P<rest>(?:that|how|why)\b.*)",
    re.DOTALL,
)
_IT_IS_SHOWN = re.compile(
    r"It (?:is|was) (?P<verb>shown|found|demonstrated|argued|proved|proven|reported|observed) (?P<rest>that\b.*)",
    re.DOTALL,
)
_SHOWN = {"shown": "show", "found": "find", "demonstrated": "demonstrate", "argued": "argue", "proved": "prove",
          "proven": "prove", "reported": "report", "observed": "observe"}  # fmt: skip
_THE_AUTHORS = re.compile(r"(?:The|These) (?:authors|researchers) (?P<rest>.+)", re.DOTALL)
_COLLEAGUES = re.compile(r"(?:,? et al\.|,? and (?:colleagues|co-?authors))")
# Words that are written small within a sentence, whatever they begin.
_SMALL = frozenset(
    "a an the this that these those its their his her our in on at to for from by with and or but as is "
    "are was were across "
    "after all although among an another any applied as average because before between both can compared could despite "
    "during each even every few for given here how if it large many masses more most much no none not of "
    "one only motivated inspired other "
    "over several short short-term since single small some such there they three through trained training two under "
    "unlike until using what when where whether which while who with within without you we".split()
)
_VERB_AFTER_AND = re.compile(
    r"(?P<and>(?:,| and|, and) (?:also |then |further )?)(?P<verb>[a-z]{2,14})(?= (?:the|a|an|that|how|"
    r"whether|it|them|their|this|these|only|what|its)\b)"
)
_NO_VERBS = frozenset(
    "in on at to for from by with and or but as of than into over under between through via about after before during "
    "not only both then so yet while when where which who that the a an all also more most less even "
    "just without within "
    "against among across along near like unlike beyond except per is are was were has have had can "
    "could may might will".split()
)


def without_label(sentence: str) -> tuple[str, str]:
    """(the sentence without "RESULTS:", "TL;DR:" and the like, that label in small letters or "")."""
    match = _LABEL.match(sentence)
    if not match or match.end() == len(sentence):
        return sentence, ""
    label = match["label"].lower().replace("tldr", "tl;dr")
    if sentence[match.end("label") :].lstrip()[:1] == "." and not match["label"].isupper():
        return sentence, ""  # "Results." may be the end of a sentence
    return capital(sentence[match.end() :]), label


def opening(sentence: str, subject: authors.Subject) -> str:
    """The sentence, beginning with the author phrase."""
    text = _unthreaded(_expanded(sentence))
    body = _about(text, subject)
    if body is None:
        body = f"{_agree('report', subject)} that {_small(text)}"
    return _ended(f"{subject.phrase} {_they(body)}")


def following(sentence: str, subject: authors.Subject) -> str:
    """The sentence as the second one of a summary."""
    text = _unthreaded(_expanded(sentence))
    match = _SUBJECT.fullmatch(text) or _THE_AUTHORS.fullmatch(text)
    if match:
        return _ended(f"{subject.again} {_they(_verbs(match['rest'], subject))}")
    return _ended(capital(_they(text)))


def _about(text: str, subject: authors.Subject) -> str | None:
    """What follows the author phrase; None when no pattern fits."""
    if authors.begins(text, subject):
        end = len(subject.phrase.removesuffix(" et al."))
        mates = _COLLEAGUES.match(text, end)
        return text[mates.end() if mates else end :].lstrip()
    match = _SUBJECT.fullmatch(text) or _THE_AUTHORS.fullmatch(text)
    if match:
        return _verbs(match["rest"], subject)
    match = _TO.fullmatch(text)
    if match:
        return f"{_agree('set', subject)} out {_small(text)}"
    match = _AIM.fullmatch(text)
    if match:
        return f"{_agree('aim', subject)} {match['rest']}"
    match = _IT_THAT.fullmatch(text)
    if match:
        return f"{_agree(match['verb'], subject)} {match['rest']}"
    match = _IT_IS_SHOWN.fullmatch(text)
    if match:
        return f"{_agree(_SHOWN[match['verb']], subject)} {match['rest']}"
    match = _SELF_VERB.fullmatch(text)
    if match and match["verb"] not in ("is", "was", "has", "does"):
        return _agree(_base(match["verb"]), subject) + match["rest"]
    match = _PASSIVE.fullmatch(text)
    if match and " that " not in match["what"][:8] and not FIRST_PERSON.search(match["what"]):
        return _active(match, subject)
    match = _WITH_CLAUSE.fullmatch(text)
    return _with_clause(match, subject) if match else None


def _active(match: re.Match[str], subject: authors.Subject) -> str:
    """As from `A scheme is presented` to `present a scheme`."""
    past = match["be"] in ("was", "were", "has been", "have been")
    base = _BASE.get(match["verb"], match["verb"].removesuffix("ed"))
    verb = ("gave" if base == "give" else match["verb"]) if past else _agree(base, subject)
    rest = match["rest"]
    adverb = match["adverb"] or ""
    return f"{adverb}{verb} {_small(match['what'])}{rest}"


def _with_clause(match: re.Match[str], subject: authors.Subject) -> str | None:
    """As from `Using X, we show Y` to `show Y, using X`; None for clauses that carry the meaning ("If …")."""
    clause, rest = match["clause"], _verbs(match["rest"], subject)
    head = clause.split()[0].lower()
    if head == "to" and len(rest.split()) >= 8:
        return rest
    if head in (
        "using",
        "by",
        "with",
        "through",
        "across",
        "on",
        "over",
        "from",
        "based",
        "in",
        "applying",
        "drawing",
        "motivated",
        "inspired",
    ):
        return f"{rest.rstrip('.')}, {_small(clause)}." if len(clause.split()) <= 9 and "," not in rest else rest
    return None


def _verbs(rest: str, subject: authors.Subject) -> str:
    """The predicate with its first verb, and those coordinated with it, agreeing with the subject."""
    words = rest.split(" ")
    while len(words) > 2 and words[0].rstrip(",").lower() in _ADVERBS:
        words.pop(0)
    if _ANSWER.match(" ".join(words)):  # "this" is in a sentence that the reader does not see
        words = _ANSWER.sub("present ", " ".join(words)).split(" ")
    if subject.plural:
        first = "are" if words[0] == "am" else words[0]
        return " ".join([first, *words[1:]])
    at = 1 if words[0].endswith("ly") and len(words) > 1 else 0
    present = words[at]
    words[at] = third(present)
    text = " ".join(words)
    if words[at] != present and present not in _IRREGULAR:
        text = _VERB_AFTER_AND.sub(lambda m: m["and"] + (m["verb"] if _no_verb(m["verb"]) else third(m["verb"])), text)
    return text


def _no_verb(word: str) -> bool:
    return word in _NO_VERBS or word.endswith(("s", "ing", "ly", "ed"))


def third(verb: str) -> str:
    """`study` -> `studies`; past tenses, modals and what is no word stay."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in _MODALS or verb in _PAST or not verb.isalpha() or not verb.islower():
        return verb
    if verb.endswith("ed") and verb not in _NO_PAST:
        return verb
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _base(verb: str) -> str:
    """`studies` -> `study`, `analyses` -> `analyse`; past tenses stay."""
    if verb.endswith("ed"):
        return verb
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if re.search(r"(?:ss|sh|ch|x)es$", verb):
        return verb[:-2]
    return verb.removesuffix("s")


def _agree(base: str, subject: authors.Subject) -> str:
    return base if subject.plural else third(base)


def _expanded(text: str) -> str:
    """`we've` -> `we have`, with either apostrophe."""
    return re.sub(r"\b([Ww]e|I)['’](re|ve|ll|d|m)\b", lambda match: match[1] + _CONTRACTED["'" + match[2]], text)


def _unthreaded(text: str) -> str:
    """Without the words that tie a sentence to the one before it."""
    for _ in range(2):
        match = _THREAD.match(text)
        if not match or len(text) - match.end() < 12:
            break
        text = capital(text[match.end() :])
    return text


def _they(text: str) -> str:
    """The first person within a sentence, turned to the third."""
    if not FIRST_PERSON.search(text) and not re.search(r"\bI\b", text):
        return text
    text = re.sub(r"\bI am\b|\bI was\b", lambda m: "they are" if m[0] == "I am" else "they were", text)
    for pattern, word in (
        (r"\b[Ww]e\b", "they"),
        (r"\bOur(?= )", "Their"),
        (r"\bour(?= )", "their"),
        (r"\b[Oo]urs\b", "theirs"),
        (r"\b[Oo]ur\b", "their"),
        (r"\b[Oo]urselves\b|\bmyself\b", "themselves"),
        (r"\bus\b", "them"),
        (r"\bMy\b", "Their"),
        (r"\bmy\b", "their"),
        (r"(?<!Type )(?<!Phase )(?<!Part )(?<!Class )(?<!Stage )\bI(?= [a-z])", "they"),
    ):
        text = re.sub(pattern, word, text)
    return text


def _small(text: str) -> str:
    """Without the capital of a sentence's beginning, where that is all it was."""
    first = re.match(r"[A-Za-z]+(?:-[a-z]+)?", text)
    if first and (first[0].lower() in _SMALL or first[0].lower().endswith(("ing", "ly"))):
        return text[:1].lower() + text[1:]
    return text


def capital(text: str) -> str:
    """With a capital at the beginning, unless it is a name like iPhone or a figure."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+\b(?![A-Z])", text) else text


def _ended(text: str) -> str:
    text = text.rstrip(" ,;:–—-")
    return text if re.search(r"[.!?…][\"'”’)\]]*$", text) else f"{text}."
