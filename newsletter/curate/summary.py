"""An entry's text -> its two sentences in the house's voice: who did what, and the one number that matters. Pure.

    written()     what an editor or a source has already put in two sentences stays, word for word
    extracted()   a paper: its contribution sentence and its best result sentence, in the third person, beginning with
                  the author phrase
    lead()        news, a blog, another language: its first two sentences, in its own words

Nothing is made up: the words are the text's, but for the author phrase, "report that" and the pronouns.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from newsletter.curate import authors, guard, sentences, voice

SHORT = 600  # characters: two long sentences
LONGEST = 1200  # two "sentences" of a text without full stops may be its whole
LONG_SENTENCE = 420

AS_IT_CAME, EXTRACTED, LEAD = "as it came", "extracted", "its first sentences"


@dataclasses.dataclass(frozen=True, slots=True)
class Article:
    """What a summary is made from. `by_hand`: an editor gave the text, and may have finished it."""

    text: str
    authors: tuple[str, ...] = ()
    title: str = ""
    url: str = ""
    categories: tuple[str, ...] = ()
    by_hand: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """The words, where they came from, and the author phrase that they must begin with (None: none is asked for)."""

    text: str
    origin: str
    subject: authors.Subject | None = None


def summarise(article: Article) -> Summary:
    """At most two sentences, offline and always the same for the same article."""
    if article.by_hand and _finished(article):
        return Summary(" ".join(article.text.split()), AS_IT_CAME)
    text = sentences.tidy(article.text)
    found = sentences.split(text)
    if not found:
        return Summary("", AS_IT_CAME)
    if len(found) <= sentences.MOST and len(text) <= SHORT and not _to_rewrite(text, found):
        return Summary(text, AS_IT_CAME)
    if not sentences.is_english(text):
        return Summary(_fitted(found[: sentences.MOST], text), LEAD)
    if _QUOTED_WE.search(text):
        return Summary(lead(found), LEAD)
    first_person = voice.FIRST_PERSON.search(text) is not None
    paper = is_paper(article, text)
    if not paper and not (first_person and any(name.strip() for name in article.authors)):
        return Summary(lead(found), LEAD)
    subject = authors.subject(article.authors)
    words = extracted(found, subject)
    if not words or len(words) > LONGEST or guard.unsupported(words, f"{text} {subject.phrase}"):
        return Summary(lead(found), LEAD, subject)
    return Summary(words, EXTRACTED, subject)


def _finished(article: Article) -> bool:
    """Is a text that was given by hand ready to be printed?"""
    text = " ".join(article.text.split())
    if len(text) > SHORT or "<" in text:
        return False
    plain = sentences.tidy(text)
    found = sentences.split(plain)
    return not _to_rewrite(plain, found) and (len(found) <= sentences.MOST or not is_paper(article, plain))


def _to_rewrite(text: str, found: Sequence[str]) -> bool:
    """Does a short text speak in the first person, of itself as a paper, or under labels?"""
    if not sentences.is_english(text):
        return False
    return bool(
        voice.FIRST_PERSON.search(text)
        or any(voice.SELF.match(voice.without_label(each)[0]) for each in found)
        or voice.without_label(text)[1]
    )


# -- is it a paper? ------------------------------------------------------------------------------------------------

_PLACE = re.compile(
    r"(?i)\b(?:arxiv\.org|doi\.org|biorxiv|medrxiv|openreview\.net|aclanthology|ssrn\.com|pubmed|hal\.science)\b"
)
_CATEGORY = re.compile(
    r"(?:cs|math|stat|eess|physics|astro-ph|cond-mat|q-bio|q-fin|econ|nlin|hep-\w+|quant-ph|gr-qc)(?:\.[A-Z-]{2,})?"
)
_SIGNS: tuple[tuple[int, re.Pattern[str]], ...] = (
    (3, re.compile(r"\b(?:[Ww]e|I)(?: \w+ly| also| then| first| further| here)? (?:introduce|present|propose|prove|"
                   r"study|"
                   r"investigate|describe|develop|repeat|evaluate|examine|analy[sz]e|demonstrate|benchmark|show that|"
                   r"find that|derive|formali[sz]e|establish|argue|survey|review|report|answer this)d?\b")),
    (3, re.compile(r"\b(?:[Tt]his|[Oo]ur|[Tt]he present) (?:paper|work|article|study|letter|thesis|survey|"
                   r"review|manuscript|"
                   r"report|analysis)\b")),
    (3, re.compile(r"\b(?:METHODS?|RESULTS?|CONCLUSIONS?|FINDINGS)\s*:|\b(?:Methods?|Results?|Conclusions?):")),
    (2, re.compile(r"\b(?:is|are|was|were) (?:presented|proposed|introduced|studied|investigated|analy[sz]ed|derived|"
                   r"demonstrated|evaluated|examined)\b")),
    (2, re.compile(r"\bThe (?:authors|researchers)\b|\bet al\.")),
    (1, re.compile(r"\bThe (?:new|present|proposed|resulting) (?:analysis|method|approach|study|model|"
                   r"algorithm|framework|"
                   r"dataset|scheme)\b")),
    (1, re.compile(r"\b(?:It|They|The analysis|The study) (?:finds?|shows?|demonstrates?|reveals?|suggests?) that\b")),
    (1, re.compile(r"\bstate-of-the-art\b|\bbaselines?\b|\bbenchmarks?\b|\bdatasets?\b|\btheorem\b|\bproofs?\b")),
    (1, re.compile(r"\bp ?[=<] ?0?\.\d|\bCI\b|\brandomi[sz]ed\b|\bconfidence (?:level|interval)\b|"
                   r"\b\d+ (?:patients|participants)\b")),
)  # fmt: skip


def is_paper(article: Article, text: str) -> bool:
    """Does this look like research, whose authors did what it tells?"""
    if _PLACE.search(article.url) or any(_CATEGORY.fullmatch(name) for name in article.categories):
        return True
    return sum(weight for weight, sign in _SIGNS if sign.search(text)) >= 2


# -- which sentences -----------------------------------------------------------------------------------------------

_CONTRIBUTION = re.compile(
    r"\b(?:[Ww]e|I|(?:[Tt]he|[Tt]hese) authors|et al\.|[Tt]his (?:paper|work|article|study|letter|report|"
    r"survey|review|thesis)|"
    r"[Oo]ur (?:paper|work|study))"
    r"(?: \w+ly| also| then| first| further| here| therefore| thus| now)* "
    r"(?P<verb>introduces?|presents?|proposes?|develop(?:s|ed)?|describes?|design(?:s|ed)?|buil(?:d|ds|t)|"
    r"prov(?:e|es)|show(?:s|ed)?|"
    r"study|studies|investigates?|explores?|examines?|analy[sz]es?|creat(?:e|es|ed)|releas(?:e|es)|"
    r"offers?|repeat|answers?|"
    r"formulates?|formali[sz]es?|derives?|establish(?:es)?|evaluates?|compares?|argues?|surveys?|reviews?|"
    r"collect(?:s|ed)?|"
    r"replaces?|re?wrote|train(?:s|ed)?|conduct(?:s|ed)?|ran|test(?:s|ed)?|measured?|address(?:es)?|tackles?|provides?|"
    r"benchmark|demonstrates?|estimates?|measures?|randomi[sz]ed|assigned|recruited|surveyed|followed|traces?|extends?|revisits?|find|found|report(?:ed|s)?|made|make|launch(?:ed)?|use|used|split)\b"
)
_STRONG = frozenset(
    "introduce introduces present presents propose proposes develop develops developed design designs "
    "build builds built "
    "describe describes prove proves create releases release".split()
)
_PASSIVE = re.compile(
    r"\b(?:is|are|was|were) (?:presented|proposed|introduced|studied|investigated|described|developed|analy[sz]ed|"
    r"examined|assigned|randomi[sz]ed|derived|reported)\b"
)
_FINDING = re.compile(
    r"\b(?:outperform\w*|improv\w*|reduc\w*|increas\w*|decreas\w*|achiev\w*|reach\w*|rais\w*|cut[s]?|"
    r"lower\w*|gain\w*|surpass\w*|"
    r"exceed\w*|match\w*|yield\w*|falls?|fell|rises?|rose|drop\w*|grew|doubl\w*|halv\w*|faster|slower|"
    r"better|worse|fewer|"
    r"less|more|higher|finds?|found|shows? that|excluded|observed|report that|success|accuracy|error|speed-?ups?|"
    r"reveal\w*|demonstrate[sd]? that|confirm\w*|none of|save[sd]?|speeds?|beats?|finish\w*)\b",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"\d\s?(?:%|percent|per cent|percentage points?|points?\b|[x×](?!\w)|times\b|-fold|fold\b|TeV|GeV|MeV|"
    r"eV\b|dB\b|ms\b|km\b|"
    r"million\b|billion\b|years?\b|hours?\b|seconds?\b|σ)|\b(?:ratio|score|accuracy|AUC|F1|BLEU|mAP|"
    r"pass@\w+|of|to|by|from) (?:score )?"
    r"(?:of )?\d+\.\d", re.IGNORECASE,
)  # fmt: skip
_CHANGE = re.compile(
    r"\bby (?:up to |about |over |nearly )?\d|\bfrom \S{0,3}\d\S* to \S{0,3}\d|\d\s?[x×](?!\w)|\d-fold|\d "
    r"times\b|\d+% of\b",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\b(?:[Cc]ode|[Dd]ata|[Mm]odels?|[Dd]atasets?|[Tt]asks?|[Cc]hecker|"
    r"[Gg]uidelines)\b[^.]{0,60}\b(?:available|released?|public|open-sourced?)\b"
    r"|\bhttps?://|\b[Ww]e (?:release|hope)\b|\b(?:costs? \S*\d\S* (?:euros?|dollars?|pounds?) each|"
    r"accepted (?:at|to|by)|[Ss]upplementary)\b|\?$|"
    r"\b(?:future work|remains? open|I would love|hear from you|[Ss]ubscribe)\b"
)
_BACKGROUND = re.compile(
    r"\b(?:[Rr]ecent(?:ly)?|[Ee]xisting|[Pp]revious(?:ly)?|[Pp]rior|[Ee]arlier (?:work|studies|methods)|"
    r"often|usual(?:ly)?|"
    r"has long been|have long been|[Hh]owever|remains?|suggested that|challeng\w+)\b"
)
# What others did, or are said to have done, is never this article's own result.
_OTHERS = re.compile(
    r"\b[Ss]tate[- ]of[- ]the[- ]art (?:methods|models|systems|approaches) (?:achieve|reach|obtain|attain|get)\b"
    r"|\bhas been (?:claimed|reported|suggested|argued)\b"
    r"|\b[Ii]t (?:was|has been) (?:shown|demonstrated|claimed|proved|reported) (?:by|in \[)"
    r"|^(?!We\b|I\b)(?:[A-Z][\w-]+ )+(?:reports?|claims?|says?|wrote) that\b"
)
# Words in quotation marks are somebody's own: where they speak as "we", nothing is put into the third person.
_QUOTED_WE = re.compile(r"[“\"„«][^”\"“»]{0,400}\b(?:[Ww]e|[Oo]urs?|us|I|my)\b[^”\"»]{0,400}[”\"“»]")
_ROLES = {
    "result": 2.0, "results": 2.0, "findings": 2.0, "main results": 2.0, "conclusion": 1.0, "conclusions": 1.0,
    "interpretation": 0.5,
}  # fmt: skip


def extracted(found: Sequence[str], subject: authors.Subject) -> str:
    """The contribution sentence and the best result sentence, in the third person; "" when nothing can be said."""
    plain, roles = _labelled(found)
    usable = [i for i, each in enumerate(plain) if len(each.split()) > 2 and not guard.ORDERS.search(each)]
    if not usable:
        return ""
    first = max(usable, key=lambda i: (_contributes(plain[i], roles[i], i, subject), -i))
    opening = voice.opening(plain[first], subject)
    rest = [i for i in usable if i != first and not plain[i].endswith("?")]
    second = max(rest, key=lambda i: (_tells(plain[i], roles[i], i, first, len(plain)), -i), default=None)
    if second is None or _tells(plain[second], roles[second], second, first, len(plain)) < 0:
        return opening
    return f"{opening} {voice.following(plain[second], subject)}"


def _labelled(found: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the sentences without labels, the label that each stands under)."""
    plain, roles, role = [], [], ""
    for each in found:
        text, label = voice.without_label(each)
        role = label or role
        plain.append(text)
        roles.append(role)
    return plain, roles


def _contributes(text: str, role: str, at: int, subject: authors.Subject) -> float:
    """How well a sentence says what was done."""
    score = -0.15 * at - (9 if _OTHERS.search(text) else 0)
    match = _CONTRIBUTION.search(text)
    if match:
        score += 5 if match["verb"] in _STRONG else 4 if match.start() < 4 else 3
        score -= 1.5 if match["verb"] in ("find", "found", "make", "made", "use", "used") else 0
        score -= 0.01 * match.start()
    elif authors.begins(text, subject):
        score += 4
    elif _PASSIVE.search(text) or re.match(r"It (?:is|was) (?:shown|proved|proven|argued|demonstrated) that\b", text):
        score += 3
    elif voice.FIRST_PERSON.search(text):
        score += 1.5
    elif re.match(r"(?:It|They|The (?:new |present )?(?:analysis|study|paper|results?)) \w+s? that\b", text):
        score += 2.5
    if role in (
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
    ):
        score += 1.5
    if role in ("background", "introduction", "context") or _BACKGROUND.search(text):
        score -= 1.5
    if _WEAK.search(text):
        score -= 3
    if text.endswith("?"):
        score -= 6
    if re.match(r"To [a-z]+ [^,]*$", text):  # "OBJECTIVE: To test whether …" is no sentence
        score -= 2
    if re.search(r"\b(?:this|these|such) (?:problems?|issues?|gaps?|challenges?|limitations?)\b", text):
        score -= 0.3
    return score - (1.5 if len(text) > LONG_SENTENCE else 0)


def _tells(text: str, role: str, at: int, first: int, count: int) -> float:
    """How well a sentence says what came out; under 0 it is better left away."""
    score = _ROLES.get(role, 0.0) + 0.4 * at / max(1, count)
    if _MEASURE.search(text):
        score += 3
    elif guard.figures(text):
        score += 1
    if _CHANGE.search(text):
        score += 1.5
    if _FINDING.search(text):
        score += 1.5
    if _WEAK.search(text):
        score -= 4
    if _BACKGROUND.search(text):
        score -= 1
    if _OTHERS.search(text):
        score -= 9
    if role in ("background", "introduction", "context"):
        score -= 3
    if at < first or text.startswith("To "):
        score -= 1.2
    if at == first + 1:
        score += 0.6  # it goes on from there
    elif re.match(r"(?:It|They|He|She|These|Those|This|Such|Both|Its)\b", text):
        score -= 1.2  # who knows what it points to
    return score - (1 if len(text) > LONG_SENTENCE else 0)


# -- the lead ------------------------------------------------------------------------------------------------------

_CHATTER = re.compile(
    r"(?i)^(?:read more|continue reading|subscribe|sign up|click here|share this|follow us|photo:|image:|advertisement|"
    r"the post .{1,200} appeared first on)\b"
)


def lead(found: Sequence[str]) -> str:
    """The first two sentences that tell something, without labels."""
    plain = [voice.without_label(each)[0] for each in found]
    good = [each for each in plain if each and not _CHATTER.match(each) and not guard.ORDERS.search(each)] or plain
    return _fitted(good[: sentences.MOST], " ".join(plain))


def _fitted(chosen: Sequence[str], text: str) -> str:
    """The sentences as one text that is not too long, never cut within a word."""
    glue = "" if chosen and re.search(r"[。！？｡．」』]$", chosen[0]) else " "
    found = glue.join(chosen)
    if 0 < len(found) <= LONGEST:
        return found
    if chosen and len(chosen[0]) <= LONGEST:
        return chosen[0]
    end = text.rfind(" ", 0, LONGEST)
    return text[: end if end > 0 else LONGEST].rstrip(" ,;:–-") + " …"
