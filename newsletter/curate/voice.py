"""A sentence of authors about themselves -> one about them: "We introduce X" -> "Liu et al. introduce X". Pure.

    told()       the sentence, beginning with the author phrase; None where that would be no good English
    opening()    told(), or else "Liu et al. report that ..."
    following()  the sentence that comes after, which says "they" or the name again

Verbs agree with the phrase (`verbs`); what was in the past stays there; no word is added but these.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Container

from newsletter.curate import authors, pronouns, verbs

_NOBODY = authors.Subject(authors.NOBODY, "They", plural=True, known=False)
PAPER = (
    "(?:paper|work|article|study|letter|report|thesis|survey|review|manuscript|chapter|post|note|contribution|analysis|"
    "research|essay|dissertation|preprint|talk|document|monograph|brief|tutorial|overview|communication|book|project)"
)
# "this short paper", "our empirical study"; not "our previous work", nor "the authors report".
KIND = r"(?: (?!\w*s\b|previous|prior|earlier|recent|related|other|same)\w+)?"
_THIS = r"(?:[Tt]his|[Tt]he present|[Tt]he current|[Oo]ur|[Mm]y|[Tt]he new|[Tt]he)"
SELF = re.compile(
    rf"(?:In |Through |With )?(?:[Tt]his|[Tt]he present|[Tt]he current|[Oo]ur|[Tt]he new){KIND} "
    rf"{PAPER}\b"
)
_LABEL = re.compile(
    r"\W{0,3}(?P<label>TL;?DR|TLDR|Abstract|Summary|One Sentence Summary|Highlights?|Background|Introduction|Context|"
    r"Objectives?|Aims?|Purpose|Motivation|Abbreviations|Key ?words|Methods?|Design|Methodology|Materials and "
    r"Methods|Setting|Participants|"
    r"Interventions?|(?:Main |Key )?Results?|(?:Main |Key )?Findings|Availability(?: and implementation)?|"
    r"Significance Statement|"
    r"Conclusions?|Interpretation|Significance|Discussion|Limitations|What is new)\s?(?::|\.\s(?=[A-Z])|\s[-–—]\s|"
    r"—)\s*",
    re.IGNORECASE,
)
_LET_US = re.compile(r"(?i)\blet(?: us|['’]s)\b")
_THREAD = re.compile(
    r"(?:(?:And |But )?(?:Moreover|Furthermore|In addition|Additionally|Finally|However|Specifically|Notably|In "
    r"particular|"
    r"As a (?:result|consequence|corollary|by-?product|bonus)|More (?:specifically|precisely|generally|broadly|"
    r"importantly)|"
    r"Overall|Consequently|Thus|Hence|Therefore|Importantly|Remarkably|Surprisingly|Interestingly|Strikingly|"
    r"Unfortunately|"
    r"In contrast|By contrast|Conversely|In summary|In sum|To summari[sz]e|In conclusion|To conclude|Taken together|"
    r"Altogether|Together|In short|In brief|Crucially|Lastly|Also|Besides|Concretely|Here|Herein|Accordingly|Instead|"
    r"Nevertheless|Nonetheless|As such|In this (?:context|setting|regard|respect|direction|light|case|vein)|In "
    r"doing so|"
    r"In response|In turn|Meanwhile|Rather|Indeed|In fact|Today|Now|Next|Then|First(?:ly)?|Second(?:ly)?|Third(?:ly)?|"
    r"For the first time|To this end|To that end|For this purpose|For this reason|For that reason|With this in mind|"
    rf"(?:In|Through|With|Throughout) {_THIS}(?: \w+)? {PAPER}"
    r")(?:,\s+|\s+(?=(?:we|I|i)\b))"
    r"|To (?:address|overcome|tackle|solve|fill|bridge|close|remedy|mitigate|answer|meet|resolve|alleviate|circumvent) "
    r"(?:the|that)\b[^,;:.]{0,80},\s+|To [a-z]+ (?:this|these|those|such|it|them)\b[^,;:.]{0,80},\s+"
    r"|(?:Motivated|Inspired|Encouraged|Driven|Prompted) by [^,;:]{3,120},\s+(?=(?:we|I)\b)"
    r"|(?:Based|Building|Drawing|Relying|Depending) (?:up)?on (?:this|these|that|those|such|our|the "
    r"above)\b[^,;:]{0,80},\s+(?=(?:we|I)\b)"
    r"|(?:From|With|Given|Using|Through|By|After) (?:this|these|that|those|such)\b[^,;:]{0,60},\s+(?=(?:we|I)\b))"
)
_CLAUSE = re.compile(r"(?P<clause>[A-Z][^;]{2,260}?), (?:we|I) (?P<rest>.+)", re.DOTALL)
_SUBJECT = re.compile(r"(?:We|I|we)(?:, [^,]{2,60},)? (?P<rest>.+)", re.DOTALL)
_WITH_MATES = re.compile(
    r"(?:(?:My|Our) (?:colleagues|co-?authors|collaborators|students?|team) and (?:I|we)|(?:I|We) and (?:my|our) "
    r"(?:colleagues|co-?authors|collaborators)) (?P<rest>.+)", re.DOTALL,
)  # fmt: skip
_THE_AUTHORS = re.compile(r"(?:The|These) (?:authors|researchers) (?P<rest>.+)", re.DOTALL)
_COLLEAGUES = re.compile(r"(?:,? et al\.|,? and (?:colleagues|co-?authors))")
_PASSIVE = re.compile(
    r"(?P<what>(?:An?|The|This|These|Two|Three|Several|Some|New|Novel|[A-Z][\w-]*)\b[^,;:()]{1,200}?) "
    r"(?P<be>is|are|was|were) (?P<adverb>\w+ly )?(?:also )?(?P<verb>presented|proposed|introduced|studied|investigated|"
    r"described|developed|analy[sz]ed|examined|considered|explored|evaluated|discussed|derived|demonstrated|reported|"
    r"compared|given|reviewed|tested|provided|designed|outlined|established|constructed|formulated|illustrated|"
    r"measured|"
    r"estimated|calculated|surveyed|revisited|characteri[sz]ed|addressed|assessed)\b(?P<rest>.*)",
    re.DOTALL,
)
# By somebody, or as a habit: what others did.
_BY_OTHERS = re.compile(
    r"\bby [A-Z]|\bin (?:\[|the literature|[A-Z][a-z]+ (?:et al|and))|\b(?:previous(?:ly)?|recently|often|widely|"
    r"usually|commonly|"
    r"extensively|typically|traditionally|frequently|rarely|elsewhere|originally|historically|long)\b"
)
_SELF_VERB = re.compile(
    rf"(?:In summary, |Overall, )?{_THIS}{KIND} {PAPER}(?P<rest>(?: \w+ly| also| then| first| further| thus| "
    rf"therefore)* (?P<verb>[a-z]+(?:s|ed))\b.*)",
    re.DOTALL,
)
_SELF_IS = re.compile(
    rf"{_THIS} {PAPER} (?:is|gives|provides) (?P<what>an? (?:\w+ )?(?:review|survey|overview|introduction|study|"
    rf"summary|"
    r"tutorial|comparison|analysis|investigation|account|history) (?:of|to|on|about) .+)",
    re.DOTALL,
)
# What a paper does and its authors do not, or not in these words.
_PAPERS_OWN = frozenset(
    "is was has does concerns contains consists comprises appears belongs involves marks constitutes represents "
    "includes "
    "serves requires stems arises arose grew goes opens needs became remains results was were fits falls ends "
    "begins deals "
    "helps leads underscores emphasizes emphasises underlines supports allowed relates dates runs applies works".split()
)
_AIM = re.compile(
    rf"(?:(?:The|Our) )?(?:main |primary |principal |overall )?(?:[Aa]im|[Gg]oal|[Oo]bjective|[Pp]urpose|"
    rf"[Ii]ntent|[Ii]ntention)s? of {_THIS.replace('[Tt]he)', 'the)')}(?: \w+)? "
    rf"{PAPER} (?:is|was|are|were) (?P<rest>to .*)|(?:Our|My) (?:main |primary )?(?:aim|goal|objective|purpose) "
    rf"(?:is|was) (?P<own>to .*)",
    re.DOTALL,
)
_AS_SHOWN = re.compile(r"As (?:we|I) (?P<verb>show|prove|demonstrate|argue|find), (?P<rest>.+)", re.DOTALL)
_PAPER_AFTER = re.compile(
    rf"(?P<clause>[A-Z][^;]{{2,200}}?), (?P<paper>(?:this|our|the present)(?: \w+)? {PAPER} "
    rf".+)",
    re.DOTALL,
)
_TO = re.compile(r"To [a-z]+ [^,;]*")  # an objective without a verb of its own
_FINDING_VERBS = "find|show|demonstrate|reveal|suggest|report|argue|prove|conclude|indicate|confirm|establish"
_IT_THAT = re.compile(rf"(?:It|They|(?:The |This )(?:new |present )?(?:analysis|study|paper|work)) "
    rf"(?P<verb>{_FINDING_VERBS})s? "
                      r"(?P<rest>(?:that|how|why)\b.*)", re.DOTALL)  # fmt: skip
_RESULTS_SHOW = re.compile(
    r"(?:Our|The|These|This|My|Extensive|Experimental|Numerical|Empirical|Simulation|Preliminary|Results|"
    r"Experiments|Evaluations?)\b"
    r"(?: (?!we\b)[\w-]+){0,10}? ?(?<=s )(?P<verb>show|demonstrate|confirm|suggest|establish|prove)(?:s|ed)? "
    r"(?P<rest>that\b.*)",
    re.DOTALL,
)
_RESULTS = re.compile(
    r"\b(?:[Rr]esults|[Ff]indings|[Ee]xperiments|[Ee]valuations?|[Ss]imulations?|[Aa]nalys[ei]s|"
    r"[Ss]tudies|[Tt]ests)\b"
)
_IT_IS_SHOWN = re.compile(
    r"It (?P<be>is|was) (?:also |then |further |thus |\w+ly )?(?P<verb>shown|found|demonstrated|argued|proved|"
    r"proven|reported|observed|proposed|"
    r"concluded|suggested|established|verified|confirmed|conjectured|hypothesi[sz]ed) (?P<rest>that\b.*)",
    re.DOTALL,
)
_SHOWN = {"shown": "show", "found": "find", "demonstrated": "demonstrate", "argued": "argue", "proved": "prove",
          "proven": "prove", "reported": "report", "observed": "observe", "proposed": "propose", "verified": "verify",
          "hypothesised": "hypothesise", "hypothesized": "hypothesize"}  # fmt: skip
_WAS_SHOWN = {"shown": "showed", "proven": "proved"}
# "address this gap by introducing X" is "introduce X": what "this" is stands in a sentence that no reader sees.
_ADDRESS = re.compile(
    r"(?:address|tackle|solve|fill|bridge|close|overcome|mitigate|answer|resolve|remedy|alleviate|meet)(?:es|s)? "
    r"(?:this|these|the|that|such|both|it|them)(?: [\w-]+){0,3}? (?:by|through|via) (?P<verb>[a-z]+ing) (?P<rest>.+)",
    re.DOTALL,
)
_ANSWER = re.compile(
    r"(?:answer|address|tackle|fill|close|solve)(?:e?s)? (?:this|these|it|the)(?: (?:question|problem|gap|issue|"
    r"need|challenge)s?)? with (?=[A-Z]|an? )"
)
_THAT = re.compile(
    r"(?P<verb>(?:\w+ly |also |then |further )?(?:show|prove|find|demonstrate|observe|conclude|argue|report|establish|"
    r"showed|proved|found|demonstrated|observed|concluded|argued|reported|established|obtained|see|saw|discover|"
    r"discovered|"
    r"can show|can prove|believe|suggest|suggested|confirm|confirmed)) that (?P<rest>.+)",
    re.DOTALL,
)
# By how a clause before ", we" begins: what may go, what may stand behind, what may stand in a that-clause.
_PURPOSE = frozenset(["To", "In order to"])
_MEANS = frozenset(
    "Using By With Through Via Applying Combining Leveraging Employing Utilizing Utilising Exploiting".split()
)
_FREE = frozenset(
    "Motivated Inspired Following Building Drawing Based Relying Encouraged Guided Driven Prompted Starting".split()
)
_GOES = frozenset(
    "Given Unlike While Although Though Whereas Since Because As "
    "Contrary Despite Considering Recognizing Recognising Noting Having Here Like".split()
)
_PLACE = frozenset("In On Across For Under Over At Among Between Within Throughout During From After Before When "
    "If Even Against "
                   "Without Beyond".split())  # fmt: skip
_STRONG = re.compile(
    r"(?:also |then |further |\w+ly )?(?:introduc|present|propos|develop|design|buil[dt]|prov[ei]|describ|creat|"
    r"releas|deriv|establish|formulat|provid|"
    r"construct|stud|investigat|explor|examin|analy|evaluat|conduct|show|demonstrat)\w*\b"
)


def without_label(sentence: str) -> tuple[str, str]:
    """(the sentence without "RESULTS:", "TL;DR:" and the like, that label in small letters or "")."""
    match = _LABEL.match(sentence)
    if not match or match.end() == len(sentence):
        return sentence, ""
    label = match["label"].lower().replace("tldr", "tl;dr")
    if sentence[match.end("label") :].lstrip()[:1] == "." and not match["label"].isupper():
        return sentence, ""  # "Results." may be the end of a sentence
    return pronouns.capital(sentence[match.end() :]), label


def opening(sentence: str, subject: authors.Subject, common: Container[str] = ()) -> str:
    """The sentence, beginning with the author phrase; `common`: words that the text also writes small."""
    found = told(sentence, subject)
    if found:
        return found
    text = pronouns.they(unthreaded(pronouns.expanded(sentence)))
    return pronouns.ended(f"{subject.phrase} {verbs.agree('report', subject)} that {pronouns.small(text, common)}")


def told(sentence: str, subject: authors.Subject) -> str | None:
    """The sentence with the author phrase as its subject; None where no pattern fits."""
    if _LET_US.search(sentence):
        return None
    text = unthreaded(pronouns.expanded(sentence))
    body = _about(text, subject)
    if not body or len(body.split()) < 2:
        return None
    return pronouns.ended(f"{subject.phrase} {pronouns.they(body)}")


def hidden(sentence: str) -> bool:
    """Does a sentence hide who did it ("A method is proposed", "It is shown that")?"""
    text = unthreaded(sentence)
    return bool(_passively(text, _NOBODY) or _IT_IS_SHOWN.fullmatch(text) or _AIM.fullmatch(text))


def of_itself(sentence: str) -> bool:
    """Does a sentence speak of its text as a paper?"""
    after = _PAPER_AFTER.fullmatch(sentence)
    match = _SELF_VERB.fullmatch(pronouns.capital(after["paper"]) if after else sentence)
    return SELF.match(sentence) is not None or (match is not None and match["verb"] not in _PAPERS_OWN)


def addresses(sentence: str) -> bool:
    """Is this "We address this by introducing X"?"""
    match = _SUBJECT.fullmatch(sentence) or _SELF_VERB.fullmatch(sentence)
    return match is not None and bool(_ADDRESS.fullmatch(match["rest"].strip()) or _ANSWER.match(match["rest"].strip()))


def following(sentence: str, subject: authors.Subject) -> str:
    """The sentence as the second one of a summary."""
    text = unthreaded(pronouns.expanded(sentence))
    match = _WITH_MATES.fullmatch(text)
    if match:
        return pronouns.ended(f"They {pronouns.they(match['rest'])}")
    match = _SUBJECT.fullmatch(text) or _THE_AUTHORS.fullmatch(text)
    if match:
        body = verbs.predicate(match["rest"], subject)
        if body:
            return pronouns.ended(f"{subject.again} {pronouns.they(body)}")
    match = _SELF_VERB.fullmatch(text)
    if match and match["verb"] not in _PAPERS_OWN and not match["verb"].endswith("ed"):
        body = verbs.predicate(match["rest"].strip(), subject, of_paper=True)
        if body:
            return pronouns.ended(f"{subject.again} {pronouns.they(body)}")
    return pronouns.ended(pronouns.capital(pronouns.they(text)))


@functools.lru_cache(maxsize=128)
def unthreaded(text: str) -> str:
    """Without the words that tie a sentence to the one before it."""
    for _ in range(3):
        match = _THREAD.match(text)
        if not match or len(text) - match.end() < 12:
            break
        text = pronouns.capital(text[match.end() :])
    return text


def _about(text: str, subject: authors.Subject) -> str | None:
    """What follows the author phrase; None when no pattern fits."""
    if authors.begins(text, subject):
        end = len(subject.phrase.removesuffix(" et al."))
        mates = _COLLEAGUES.match(text, end)
        rest = text[mates.end() if mates else end :].lstrip()
        return rest if rest[:1].islower() else None
    match = _WITH_MATES.fullmatch(text)
    if match:
        return match["rest"] if subject.plural else f"and colleagues {match['rest']}"
    match = _SUBJECT.fullmatch(text) or _THE_AUTHORS.fullmatch(text)
    if match:
        return _done(match["rest"], subject)
    for said in (_stated, _of_paper, _passively):
        found = said(text, subject)
        if found:
            return found
    match = _CLAUSE.fullmatch(text)
    return _with_clause(match["clause"], match["rest"], subject) if match else None


def _done(rest: str, subject: authors.Subject) -> str | None:
    """A predicate of "we"."""
    match = _ADDRESS.fullmatch(rest)
    verb = verbs.gerund_base(match["verb"]) if match else None
    if match and verb:
        rest = f"{verb} {match['rest']}"
    return verbs.predicate(_ANSWER.sub("present ", rest), subject)


def _stated(text: str, subject: authors.Subject) -> str | None:
    """What is said without naming who says it: "It is shown that", "The aim is to", "Results show that"."""
    match = _AIM.fullmatch(text)
    if match:
        return f"{verbs.agree('aim', subject)} {match['rest'] or match['own']}"
    match = _AS_SHOWN.fullmatch(text)
    if match:
        return f"{verbs.agree(match['verb'], subject)} that {pronouns.small(match['rest'])}"
    match = _IT_THAT.fullmatch(text)
    if match:
        return f"{verbs.agree(match['verb'], subject)} {match['rest']}"
    match = _IT_IS_SHOWN.fullmatch(text)
    if match and not _BY_OTHERS.search(match[0], 0, match.start("rest")):
        verb = match["verb"]
        if match["be"] == "was":
            return f"{_WAS_SHOWN.get(verb, verb)} {match['rest']}"
        return f"{verbs.agree(_SHOWN.get(verb, verb.removesuffix('ed')), subject)} {match['rest']}"
    match = _RESULTS_SHOW.fullmatch(text)
    if match and _RESULTS.search(text, 0, match.start("verb")):
        return f"{verbs.agree(match['verb'], subject)} {match['rest']}"
    match = _TO.fullmatch(text)
    return f"{verbs.agree('set', subject)} out {pronouns.small(text)}" if match else None


def _of_paper(text: str, subject: authors.Subject) -> str | None:
    match = _PAPER_AFTER.fullmatch(text)
    if match and match["clause"].split()[0] in (_MEANS | _FREE | _GOES | _PURPOSE):
        text = pronouns.capital(match["paper"])
    match = _SELF_IS.fullmatch(text)
    if match:
        return f"{verbs.agree('present', subject)} {match['what']}"
    match = _SELF_VERB.fullmatch(text)
    if match and match["verb"] not in _PAPERS_OWN and verbs.base(match["verb"]) != "use":
        body = verbs.predicate(match["rest"].strip(), subject, of_paper=True)
        address = _ADDRESS.fullmatch(body) if body else None
        verb = verbs.gerund_base(address["verb"]) if address else None
        return f"{verbs.agree(verb, subject)} {address['rest']}" if address and verb else body
    return None


def _passively(text: str, subject: authors.Subject) -> str | None:
    """As from `A scheme is presented` to `present a scheme`."""
    text = re.sub(rf",? in (?:this|the present) {PAPER}(?=[ .,;])", "", text)
    match = _PASSIVE.fullmatch(text)
    if (
        not match
        or " that " in match["what"][:8]
        or pronouns.FIRST_PERSON.search(match["what"])
        or _BY_OTHERS.search(text)
    ):
        return None
    what, rest = match["what"], match["rest"]
    if re.search(r"\b(?:which|who|is|are|was|were)\b", what) or re.match(
        r"(?:It|They|This|These|Both|Each|There|"
        r"Here|Such)\b",
        what,
    ):
        return None
    present = verbs.past_base(match["verb"])
    if present is None:
        return None
    past = match["be"] in ("was", "were")
    verb = ("gave" if present == "give" else match["verb"]) if past else verbs.agree(present, subject)
    also = re.match(r",? and (?:\w+ly )?(?P<verb>\w+ed|shown)\b(?P<rest>.*)", rest, re.DOTALL)
    if also:
        second = verbs.past_base(also["verb"])
        if second is None:
            return None
        second = also["verb"] if past else verbs.agree(second, subject)
        them = "it" if match["be"] in ("is", "was") else "them"
        return f"{match['adverb'] or ''}{verb} {pronouns.small(what)} and {second} {them}{also['rest']}"
    if re.match(r",? (?:and|but|as|to be|or)\b", rest):
        return None
    return f"{match['adverb'] or ''}{verb} {pronouns.small(what)}{rest}"


def _with_clause(clause: str, rest: str, subject: authors.Subject) -> str | None:
    """As from `Using X, we show Y` to `show Y, using X`; None for clauses that carry the meaning ("If ...")."""
    body = _done(rest, subject)
    if body is None:
        return None
    head = clause.split(maxsplit=1)[0]
    points = re.search(r"\b(?:this|these|that|those|such|it|they|its|their)\b", clause)
    short = len(clause.split()) <= 9 and "," not in rest and "," not in clause and not points
    if head in _PURPOSE or clause.startswith("In order to "):
        if len(rest.split()) >= 8 or points:
            return body
        return f"{body.rstrip('.')} {pronouns.small(clause)}." if short else None
    if head in _FREE:
        return body
    if head in _MEANS or (head.endswith("ing") and head not in _PLACE):
        return f"{body.rstrip('.')}, {pronouns.small(clause)}." if short else body
    that = _THAT.fullmatch(rest)
    if that and head in _PLACE and not points and "," not in clause:
        verb = verbs.predicate(that["verb"], subject)
        return f"{verb} that {pronouns.small(clause)}, {that['rest']}" if verb else None
    if head in _GOES:
        return body if that or _STRONG.match(rest) else None
    if head in _PLACE:
        if re.match(
            r"(?:In|For|With) (?:order|contrast|addition|light|view|response|comparison|practice|"
            r"particular)\b",
            clause,
        ):
            return body
        if head in ("In", "On", "Across", "For", "At", "Over", "From") and short and len(rest.split()) <= 18:
            return f"{body.rstrip('.')} {pronouns.small(clause)}."
        return body if _STRONG.match(rest) and (points or head in ("In", "After")) else None
    return None
