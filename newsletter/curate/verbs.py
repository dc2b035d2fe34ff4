"""English verbs, as far as a summary needs them: "study" -> "studies", and which of a sentence's verbs agree. Pure.

No grammar is known here: only the verbs that abstracts tell their work with, and where one of them may stand. Where a
verb could belong to another clause ("... that models learn and use the ...") it stays as it is.
"""

from __future__ import annotations

import re

from newsletter.curate import authors

MODALS = frozenset("can could may might will would shall should must cannot".split())
_IRREGULAR = {"are": "is", "have": "has", "do": "does", "were": "was", "am": "is", "be": "is", "go": "goes"}
PAST = frozenset(
    "found built wrote rewrote showed shown made took gave got ran began chose drew led held kept left met saw sent "
    "taught thought told had did was became came spent sought dealt laid grew knew won lost understood fell rose "
    "brought fed cut set put read split let bet said drove flew froze rode sold stood stuck swept swung wore "
    "bought caught fought forgot went slept felt heard paid meant ate swam sang sank shot sprang stole threw tore "
    "woke hid bent bred crept dug fled flung hung lent learnt rang shook shrank spoke spun strove struck wept "
    "withdrew withheld withstood "
    "overcame undertook foresaw".split()
)
_SAME = frozenset("cut set put read split let bet".split())  # present and past alike
_NO_PAST = frozenset("need feed exceed proceed succeed embed speed heed bleed seed breed shed wed".split())
BASE = frozenset(
    "accelerate achieve adapt add address adopt advance aim allow analyse analyze annotate announce answer apply "
    "imply rely supply argue ask assemble assess augment automate benchmark bound bridge build calculate calibrate "
    "call capture carry characterise characterize clarify classify close collect combine compare compile complement "
    "compute conclude conduct confirm conjecture connect consider construct contrast contribute couple cover create "
    "curate decompose deduce define deliver demonstrate deploy derive describe design detail detect determine develop "
    "devise discover discuss disentangle document draw employ enable encode enhance ensure establish estimate "
    "evaluate examine exhibit expand explain exploit explore extend extract find fine-tune fit focus follow formalise "
    "formalize formulate generalise generalize generate give highlight hypothesise hypothesize identify illustrate "
    "implement improve infer initiate inspect instantiate integrate interpret introduce invent investigate isolate "
    "launch leverage link list locate make map match measure mitigate model modify note observe obtain offer "
    "open-source optimise optimize outline overcome parametrise parametrize perform pinpoint pioneer plan play point "
    "pose postulate predict prepare present pretrain produce profile propose prove provide publish quantify question "
    "randomise randomize re-evaluate re-examine reach realise realize recommend reconstruct recover reduce refine "
    "reformulate relate release remove repeat replace replicate report represent reproduce resolve retrain reveal "
    "review revisit rewrite run sample scale screen search select separate show simulate sketch solve spend split "
    "state strengthen study suggest summarise summarize support survey synthesise synthesize systematise systematize "
    "tackle take target test track trace train transform translate treat try tune uncover undertake unify use utilise "
    "utilize validate verify want "
    "write".split()
)
# A method does none of these: after "and", they are the authors' even behind another clause.
_AUTHORS_OWN = frozenset(
    "show prove demonstrate find argue conclude report discuss propose describe conjecture observe establish "
    "investigate introduce outline".split()
)
_TELLING = frozenset("propose introduce prove discuss describe conclude argue report outline".split())
# ... and these, where a comma stands before the "and".
_GIVING = frozenset(
    "give present provide introduce propose describe derive release establish construct develop discuss".split()
)
_ADVERBS = frozenset(
    "also then first further thus here therefore now hence next finally instead additionally furthermore herein "
    "subsequently consequently accordingly thereby moreover lastly again".split()
)
_NO_VERBS = frozenset(
    "in on at to for from by with and or but as of than into over under between through via about after before during "
    "not only both then so yet while when where which who that the a an all also more most less even each every "
    "just without within neither either nor none some many few several ourselves humans people who "
    "against among across along near like unlike beyond except per is he she it they this these those".split()
)
_AFTER_AND = re.compile(
    r"(?P<and>(?:, and|, but|, then| and| but|,) (?:(?:also|then|further|(?!rely|apply|imply|supply)\w+ly) )?)"
    r"(?P<verb>[a-z][a-z-]{1,14})(?= (?P<next>[^\s]+))"
)
_OPENS_CLAUSE = re.compile(r"\b(?:that|which|who|whose|where|when|how|why|whether|if|while|because|what)\b")
_OPENS_INFINITIVE = re.compile(r"\b(?:to|can|could|may|might|will|would|should|must|cannot|not|help|let)\b")
_OBJECT = re.compile(
    r"(?:the|an?|that|how|why|whether|it|its|them|their|our|this|these|those|only|what|two|three|four|several|new|"
    r"novel|both|all|each|some|many|one|up|on|\d\S*|[A-Z]\S*),?"
)


def third(verb: str) -> str:
    """`study` -> `studies`; past tenses, modals and what is no word stay."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in MODALS or (verb in PAST and verb not in _SAME) or not re.fullmatch(r"[a-z]+(?:-[a-z]+)*", verb):
        return verb
    if verb.endswith("ed") and verb not in _NO_PAST:
        return verb
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def base(verb: str) -> str:
    """`studies` -> `study`, `analyses` -> `analyse`; past tenses stay."""
    known = {"has": "have", "is": "are", "was": "were", "does": "do", "goes": "go"}.get(verb)
    if known or verb.endswith("ed") or verb in PAST:
        return known or verb
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if re.search(r"(?:ss|sh|ch|x|zz)es$", verb):
        return verb[:-2]
    return verb.removesuffix("s")


def gerund_base(word: str) -> str | None:
    """`introducing` -> `introduce`; None for a verb that is not known."""
    stem = word.removesuffix("ing")
    return next((each for each in (stem, f"{stem}e", stem[:-1]) if word != stem and each in BASE), None)


def past_base(word: str) -> str | None:
    """`proposed` -> `propose`, `studied` -> `study`, `given` -> `give`; None for a verb that is not known."""
    if word == "given":
        return "give"
    if word == "shown":
        return "show"
    stem = word.removesuffix("ed")
    found = (f"{word[:-3]}y" if word.endswith("ied") else "", stem, f"{stem}e", stem[:-1])
    return next((each for each in found if word != stem and each in BASE), None)


def agree(verb: str, subject: authors.Subject) -> str:
    return verb if subject.plural else third(verb)


def predicate(rest: str, subject: authors.Subject, *, of_paper: bool = False) -> str | None:
    """A predicate with its first verb, and those that are surely coordinated with it, agreeing with the subject.

    It was said of "we" (or, `of_paper`, of "this paper"). None where its first word is no verb.
    """
    words = re.sub(r"^(\S+),? (?:instead|however|therefore|thus|hence),?(?= that\b)", r"\1", rest).split(" ")
    while len(words) > 2 and words[0].rstrip(",").lower() in _ADVERBS:
        words.pop(0)
    at = 1 if words[0].endswith("ly") and words[0] not in BASE and len(words) > 2 else 0
    if words[0] == "do" and len(words) > 2 and words[1] in BASE:
        words.pop(0)  # "we do, however, construct"
    verb, comma = words[at].removesuffix(","), words[at][-1:] == ","
    if comma and verb in ("do", "did", "does") and words[at + 1 : at + 2] == ["however,"]:
        return predicate(" ".join(words[at + 2 :]), subject, of_paper=of_paper)
    if comma and not re.match(r"[^,]{2,80}, (?:that|how|why|whether|what|an?|the|and)\b", " ".join(words[at + 1 :])):
        return None  # "Then, we show, ..."
    if (
        verb in _NO_VERBS
        or not re.fullmatch(r"[a-z]+(?:-[a-z]+)*", verb)
        or (of_paper and not re.search(r"(?:s|ed)$", verb))
    ):
        return None
    past = verb in PAST or (verb.endswith("ed") and verb not in _NO_PAST) or verb in MODALS
    words[at] = (
        agree(base(verb), subject)
        if of_paper
        else "are"
        if verb == "am" and subject.plural
        else verb
        if subject.plural
        else third(verb)
    ) + ("," if comma else "")
    head, tail = " ".join(words[: at + 1]), " ".join(words[at + 1 :])
    if past and verb not in _SAME:
        tail = re.sub(r"\b(and|but) am\b", r"\1 are" if subject.plural else r"\1 is", tail)
        return f"{head} {tail}".rstrip()
    return f"{head}{_coordinated(f' {tail}', subject, of_paper=of_paper)}".rstrip()


def _coordinated(tail: str, subject: authors.Subject, *, of_paper: bool) -> str:
    """The verbs after "and" as well."""
    tail = re.sub(r"\b(and|but) am\b", r"\1 are" if subject.plural else r"\1 is", tail)
    if subject.plural and not of_paper:
        return tail

    def agreed(match: re.Match[str]) -> str:
        verb = match["verb"]
        plain = base(verb) if of_paper and verb.endswith("s") else verb
        known = plain in BASE and (verb != plain) == of_paper
        auxiliary = plain in ("are", "have", "do") and (verb in ("is", "has", "does")) == of_paper
        opened = _OPENS_CLAUSE.search(tail, 0, match.start())
        if auxiliary:
            mine = opened is None
        elif opened or _OPENS_INFINITIVE.search(tail, 0, match.start()):
            object_ = match["next"] in ("that", "how", "why", "whether")
            after_comma = "," in match["and"] and plain in _GIVING and _OBJECT.fullmatch(match["next"]) is not None
            tells = opened is not None and plain in _TELLING and _OBJECT.fullmatch(match["next"]) is not None
            mine = known and ((plain in _AUTHORS_OWN and object_) or after_comma or tells)
        else:
            mine = known and _OBJECT.fullmatch(match["next"]) is not None
        return match["and"] + (agree(plain, subject) if mine else verb)

    return _AFTER_AND.sub(agreed, tail)
