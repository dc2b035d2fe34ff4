"""An entry's text -> its two sentences in the house's voice: who did what, and the one number that matters. Pure.

    written()     what an editor or a source has already put in two sentences stays, word for word
    extracted()   a paper: its contribution sentence and its best result sentence, in the third person, beginning with
                  the author phrase
    quoted()      a paper whose sentences cannot be told in the third person for certain: one of them, as a quotation
    lead()        news, a blog, another language: its first two sentences, in its own words; a quotation where somebody
                  who is named says "I" in them

Nothing is made up: the words are the text's, but for the author phrase, "report that" and the pronouns.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

from newsletter.curate import authors, bare, choice, guard, others, pronouns, sentences, tex, unbound, verbs, voice

SHORT = 600  # characters: two long sentences
LONGEST = 900  # two very long ones; of a text without full stops, SHORT characters
LEAD_REACH = 4  # sentences among which a lead is looked for
CLEAR = 1.5  # of choice.states: a finding that is better told than "We extend it"
BOTH = 320  # characters of a result and what it is compared with

AS_IT_CAME, EXTRACTED, QUOTED, LEAD = "as it came", "extracted", "quoted", "its first sentences"


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
    english = sentences.is_english(text)
    paper = english and is_paper(article, text)
    hidden = paper and any(voice.hidden(bare.without_label(each)[0]) for each in found[: sentences.MOST])
    if len(found) <= sentences.MOST and len(text) <= SHORT and not hidden and not _to_rewrite(text, found):
        return Summary(text, AS_IT_CAME)
    if not english:
        return Summary(_fitted(found[: sentences.MOST], text), LEAD)
    subject = authors.subject(article.authors)
    if not paper or _QUOTED_WE.search(text):
        return _told_by(found, subject)
    words = extracted(found, subject, sure=_surely(article, text))
    if words and len(words) <= LONGEST and not guard.unsupported(words, f"{text} {subject.phrase}"):
        return Summary(words, EXTRACTED, subject)
    leading = lead(found, impersonal=subject.known)
    words = ""
    if pronouns.left(lead(found)) or (subject.known and _surely(article, text)):
        words = quoted(found, subject)
    return Summary(words, QUOTED, subject) if words else Summary(leading, LEAD, subject)


def _told_by(found: Sequence[str], subject: authors.Subject) -> Summary:
    """A blog's or a paper's first sentences: quoted where somebody who is named says "I" in them."""
    leading = lead(found)
    if not (subject.known and pronouns.left(leading)):
        return Summary(leading, LEAD)
    words = _of_author(found, subject)
    if words:
        return Summary(words, EXTRACTED, subject)
    third = lead(found, impersonal=True)
    if not pronouns.left(third) and leading.startswith(third):
        return Summary(third, LEAD)
    words = _as_quotation([leading], subject)
    return Summary(words, QUOTED, subject) if words else Summary(leading, LEAD)


_DID = re.compile(
    r"(?:Today,? |This (?:week|month|year),? |Last \w+,? )?(?:We|I)(?:['’](?:ve|m|re)| have| \w+ly)? [a-z]+"
)
_MINDS = re.compile(
    r"(?:We|I)(?:['’]\w+)?(?: \w+ly)? (?:know|knew|think|thought|believe|feel|felt|love|like|want|hope|wish|need|all|"
    r"live|learn|learned|see|hear|can|could|should|must|may|might|would|will|do|did|are|were|am|was|"
    r"have to|had|get|got|go|went|remember|guess|hate|understand|expect|tend|often|never|always|decided|been|talk)\b"
)


def _of_author(found: Sequence[str], subject: authors.Subject) -> str:
    """A blog's first two sentences where they say at once what its author did; "" else."""
    plain, _ = choice.labelled(found[: sentences.MOST])
    if not _DID.match(plain[0]) or _MINDS.match(plain[0]) or any(_QUOTES.search(each) for each in plain):
        return ""
    opening = voice.told(plain[0], subject) if choice.usable(plain[0]) and not choice.broken(plain[0]) else None
    if not opening or pronouns.left(opening) or any(re.search(r"\b(?:I|me|my)\b", each) for each in plain[1:]):
        return ""
    words = " ".join([opening, *(voice.following(each, subject) for each in plain[1:] if choice.usable(each))])
    fits = len(words) <= SHORT and not pronouns.left(words)
    return words if fits and not guard.unsupported(words, f"{' '.join(plain)} {subject.phrase}") else ""


def _finished(article: Article) -> bool:
    """Is a text that was given by hand ready to be printed? Two sentences in the third person are."""
    text = " ".join(article.text.split())
    if len(text) > SHORT or "<" in text or tex.plain(text) != text:
        return False
    plain = sentences.tidy(text)
    found = sentences.split(plain)
    return len(found) <= sentences.MOST and not _to_rewrite(plain, found)


def _to_rewrite(text: str, found: Sequence[str]) -> bool:
    """Does a short text speak in the first person, of itself as a paper, or under labels?"""
    if not sentences.is_english(text):
        return False
    return bool(
        pronouns.FIRST_PERSON.search(text)
        or any(voice.of_itself(bare.without_label(each)[0]) for each in found)
        or bare.without_label(text)[1]
    )


# -- is it a paper? ------------------------------------------------------------------------------------------------

_PLACE = re.compile(
    r"(?i)\b(?:arxiv\.org|doi\.org|biorxiv|medrxiv|openreview\.net|aclanthology|ssrn\.com|pubmed|hal\.science)\b"
)
_CATEGORY = re.compile(
    r"(?:cs|math|stat|eess|physics|astro-ph|cond-mat|q-bio|q-fin|econ|nlin|hep-\w+|quant-ph|gr-qc)(?:\.[A-Z-]{2,})?"
)
_HEADINGS = re.compile(r"(?i)\b(?:methods|results|conclusions?|findings)\s?:")
_FORMULA = re.compile(
    r"\$[^$\n]{1,80}[\\^_=<>][^$\n]{0,80}\$|\\(?:cite|alpha|beta|mathcal|mathbb|sqrt|emph|"
    r"textit|textbf)\b"
)
_SIGNS: tuple[tuple[int, re.Pattern[str]], ...] = (
    (3, re.compile(r"\b(?:[Ww]e|I)(?: \w+ly| also| then| first| further| here)? (?:introduce|present|propose|prove|"
                   r"study|"
                   r"investigate|describe|develop|repeat|evaluate|examine|analy[sz]e|demonstrate|benchmark|show that|"
                   r"find that|derive|formali[sz]e|establish|argue|survey|review|report|answer this|(?:give|"
                   r"obtain|construct) an?)d?\b")),
    (3, re.compile(r"\b(?:[Tt]his|[Oo]ur|[Tt]he present) (?:paper|work|article|study|letter|thesis|survey|"
                   r"review|manuscript|note|contribution|"
                   r"report|analysis)\b|\b[Tt]he (?:paper|thesis|article) (?:\w+ly |also )?(?:presents|proposes|"
                   r"introduces|studies|"
                   r"describes|investigates|develops|proves|shows|examines|considers|discusses|analy[sz]es|"
                   r"reports)\b")),
    (3, re.compile(r"\b(?:METHODS?|RESULTS?|CONCLUSIONS?|FINDINGS)\s*:|\b(?:Methods?|Results?|Conclusions?):")),
    (2, re.compile(r"\b[Oo]ur (?:trial|samples?|experiments?|cohort|replication|simulations?)\b")),
    (2, re.compile(r"\bIt (?:is|was) (?:shown|proved|proven|found|argued) that\b")),
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
    if choice.ADVERT.search(text) or _SHOW.search(text):
        return False
    together = 2 if len(article.authors) > 1 and re.search(r"\b[Ww]e\b", text) else 0
    formulas = 2 if _FORMULA.search(article.text[: sentences.REACH]) else 0
    addressed = 3 if len(_YOU.findall(text)) > 1 else 0  # papers say "you" to nobody
    return together + formulas - addressed + sum(weight for weight, sign in _SIGNS if sign.search(text)) >= 2


# A show, a shop, a house that announces something: no paper says this.
_SHOW = re.compile(
    r"\b(?:this|today['’]s|the latest) (?:week['’]s )?(?:episode|podcast|newsletter|blog post|video|livestream)\b|"
    r"\b[Oo]ur (?:marketing|customers?|company|sponsors?|listeners|readers|subscribers|store|shop)\b|"
    r"\b[Ww]e(?:['’]ve| have) decided to (?:make|change|move|close|stop|launch|start)\b|"
    r"\b(?:excited|pleased|proud|thrilled|happy|delighted) to (?:announce|share|introduce|present|launch|welcome)\b"
)


_YOU = re.compile(r"\b[Yy]ou(?:rs?|['’]\w+)?\b")


def _surely(article: Article, text: str) -> bool:
    """Is it research by where it stands, by its headings, or by several authors who say "we"?"""
    return bool(
        len(article.authors) != 1
        or _PLACE.search(article.url)
        or any(_CATEGORY.fullmatch(name) for name in article.categories)
        or _HEADINGS.search(text)
    )


# -- the two sentences ----------------------------------------------------------------------------------------------


def extracted(found: Sequence[str], subject: authors.Subject, *, sure: bool = True) -> str:
    """The contribution sentence and the best result sentence, in the third person; "" when nothing can be said.

    `sure`: what it reports are its authors' findings. A blogger's "... yields 2.5x" may be anybody's.
    """
    plain, roles = choice.labelled(found)
    we = any(map(pronouns.FIRST_PERSON.search, plain))
    usable = [i for i, each in enumerate(plain) if choice.usable(each) and not voice.strangers(each, we=we)]
    first, opening = _first(plain, roles, usable, subject, sure=sure)
    if first is None:
        return ""
    if opening.startswith(f"{subject.phrase} and colleagues "):
        subject = dataclasses.replace(subject, again="They", plural=True)
    if others.names_people(opening.removeprefix(subject.phrase)):
        subject = dataclasses.replace(subject, again=subject.phrase)
    rest = {
        i: choice.tells(plain[i], roles[i], i, first, len(plain), linked=_linked(plain, first, i))
        for i in usable
        if i != first and plain[i][-1:] != "?"
    }
    reported = opening.startswith(f"{subject.phrase} {verbs.agree('report', subject)}") and not voice.told(
        plain[first], subject
    )
    of_paper = voice.of_itself(plain[first])
    for second in sorted(rest, key=lambda i: (-rest[i], i)):
        if rest[second] < 0:
            break
        owned = re.match(r"(?:Our|My)\b", plain[first]) is not None and second == first + 1
        if reported and not owned and unbound.points(plain[second]) and not choice.SHOWN.match(plain[second]):
            continue  # it may point to what was done, which no reader sees
        if second != first + 1 and unbound.unnamed(plain[second]) and not _linked(plain, first, second):
            continue
        following = _with_rival(second, plain, plain[first], rest, subject, of_paper=of_paper)
        if following and not pronouns.left(following):
            return f"{opening} {following}"
    return opening


def _linked(plain: Sequence[str], first: int, second: int) -> bool:
    """Do all the sentences between speak on of what the first one introduced, and nobody else?"""
    return all(
        unbound.goes_on(each) and not others.names_people(each) for each in plain[first + 1 : second]
    ) and unbound.goes_on(plain[second])


def _with_rival(
    at: int,
    plain: Sequence[str],
    contribution: str,
    rest: Mapping[int, float],
    subject: authors.Subject,
    *,
    of_paper: bool,
) -> str:
    """A result as the second sentence; with what it is compared to, where one is nothing without the other."""

    def rival(text: str) -> bool:
        return others.comparator(text) or others.rival(text, contribution)

    if rival(plain[at]):
        at += 1  # what was reached beside it stands behind
        if at not in rest or rest[at] <= choice.NEVER / 2 or rival(plain[at]) or not re.search(r"\d", plain[at]):
            return ""
    before = at - 1
    if before in rest and rival(plain[before]) and not re.search(r"\b(?:we|I)\b", plain[at]):
        own = re.match(r"[\w+-]+", plain[at])
        both = f"{plain[before].rstrip('.')}; {pronouns.small(plain[at])}"
        if not (own and own[0] in contribution) and len(both) < BOTH and plain[before].endswith("."):
            return voice.following(both, subject)
    return voice.following(plain[at], subject, after_paper=of_paper)


def _first(
    plain: Sequence[str], roles: Sequence[str], usable: Sequence[int], subject: authors.Subject, *, sure: bool
) -> tuple[int | None, str]:
    """The sentence that says what was done, and how it reads; a finding ("report that") where none does."""
    if not usable:
        return None, ""
    scores = {i: choice.contributes(plain[i], roles[i], i, subject) for i in usable}
    finding: tuple[float, int] | None = None
    for i in sorted(scores, key=lambda i: (-scores[i], i)):
        if scores[i] < 1:
            break
        if choice.dangles(plain[i]):
            finding = finding or _finding(plain, roles, usable)
            if sure and finding[0] >= CLEAR:
                break
            continue
        opening = voice.told(plain[i], subject)
        if opening and not pronouns.left(opening):
            return i, opening
    if not sure:
        return None, ""
    score, best = finding or _finding(plain, roles, usable)
    if score < 1:
        return None, ""
    return best, voice.opening(plain[best], subject, _within(plain))


def _within(plain: Sequence[str]) -> frozenset[str]:
    """The words of a text as it writes them within its sentences."""
    return frozenset(re.findall(r"[\w.+-]*\w", " ".join(re.sub(r"^\W*\S+", "", each) for each in plain)))


def _finding(plain: Sequence[str], roles: Sequence[str], usable: Sequence[int]) -> tuple[float, int]:
    """(how well, which sentence) could follow "report that"."""
    score, at = max((choice.states(plain[i], roles[i], i, len(plain)), -i) for i in usable)
    return score, -at


def quoted(found: Sequence[str], subject: authors.Subject) -> str:
    """The sentence that tells most of what was done, word for word, with the one before that it points to."""
    plain, roles = choice.labelled(found)
    scores = {
        i: choice.contributes(each, roles[i], i, subject) + (2 if _OURS.match(each) and _OWN_FIGURE.search(each) else 0)
        for i, each in enumerate(plain)
        if choice.usable(each) and not _QUOTES.search(each) and not others.of_others(each)
    }
    best = max(scores, key=lambda i: (scores[i], -i), default=None)
    if best is None or scores[best] <= choice.NEVER / 2:
        return ""
    words = [plain[best]]
    if choice.dangles(plain[best]) or unbound.points(plain[best]):
        before = plain[best - 1]
        # What others claim is not shown where nothing stands against it.
        claimed = others.of_others(before) and re.search(r"\d", before) and not _OWN_FIGURE.search(plain[best])
        if not best or claimed or _QUOTES.search(before) or guard.orders(before):
            words = [each for each in plain[: sentences.MOST] if choice.begins_anew(each) or each is not plain[0]]
        else:
            words = [plain[best - 1], plain[best]]
    elif best + 1 in scores and not plain[best + 1].endswith("?") and len(plain[best]) + len(plain[best + 1]) < SHORT:
        words = [plain[best], plain[best + 1]]
    return _as_quotation(words, subject)


_OURS = re.compile(r"(?:We|I|Our|My)\b")
_OWN_FIGURE = re.compile(
    r"(?=.*\d)(?=.*\b(?:find|found|obtain|show|reach|get|got|measure|see|observe|estimate)(?:ed|d|s)?\b)"
)


def _as_quotation(words: Sequence[str], subject: authors.Subject) -> str:
    text = _within_marks(" ".join(words))
    if not words or len(text) > SHORT or _QUOTES.search(text) or re.search(r"(?:…|\.\.\.)$", text):
        return ""
    return f"{subject.phrase} {verbs.agree('write', subject)}: “{pronouns.ended(text)}”"


def _within_marks(text: str) -> str:
    """With single quotation marks for what somebody else says in it."""
    return re.sub(r"“([^“”\"]{1,400})”|\"([^“”\"]{1,400})\"", lambda match: f"‘{match[1] or match[2]}’", text)


_QUOTES = re.compile(r"[“”\"„«»]")

# Words in quotation marks are somebody's own: where they speak as "we", nothing is put into the third person.
_QUOTED_WE = re.compile(r"[“\"„«][^”\"“»]{0,400}\b(?:[Ww]e|[Oo]urs?|us|I|my)\b[^”\"»]{0,400}[”\"“»]")

# -- the lead ------------------------------------------------------------------------------------------------------

_STOP = re.compile(r"[.!?…。！？｡．।॥؟۔።]")
_CHATTER = re.compile(
    r"(?i)^(?:published online|nature, published|doi:|article url:|posted (?:by|on)\b|by [a-z]+ [a-z]+\.?$|read "
    r"more|continue reading|subscribe|sign up|click here|share this|follow us|photo:|image:|advertisement|"
    r"the post .{1,200} appeared first on)\b"
)


def lead(found: Sequence[str], *, impersonal: bool = False) -> str:
    """The first two sentences that tell something, without labels; `impersonal`: rather those that say no "I"."""
    plain = [bare.without_label(each)[0] for each in found]
    good = [each for each in plain if each and not _dross(each)] or plain
    if impersonal:
        third = [at for at, each in enumerate(good[:LEAD_REACH]) if not pronouns.FIRST_PERSON.search(each)]
        start = next((at for at in third if at + 1 in third and not unbound.points(good[at])), None)
        if third[:1] == [0]:  # the news stands first, and is not left out
            good = good[: 2 if 1 in third else 1]
        else:
            good = good[start:] if start is not None else good
    return _fitted(good[: sentences.MOST], " ".join(plain))


def _dross(text: str) -> bool:
    """Is a sentence what surrounds a text: a button, a sponsor, an order?"""
    return bool(_CHATTER.match(text) or choice.ADVERT.search(text) or guard.orders(text))


def _fitted(chosen: Sequence[str], text: str) -> str:
    """The sentences as one text that is not too long, never cut within a word."""
    found = sentences.joined(chosen)
    for whole in (found, chosen[0] if chosen else ""):
        if 0 < len(whole) <= (LONGEST if whole is not found else SHORT + 100) and (
            len(whole) <= SHORT or _STOP.search(whole)
        ):
            return whole
    end = text.rfind(" ", 0, SHORT)
    return text[: end if end > 0 else SHORT].rstrip(" ,;:–-") + " …"
