"""A sentence of authors about themselves -> one about them: "We introduce X" -> "Liu et al. introduce X". Pure.

    told()       the sentence, beginning with the author phrase; None where that would be no good English
    opening()    told(), or else "Liu et al. report that ..."
    following()  the sentence that comes after, which says "they" or the name again

Verbs agree with the phrase (`verbs`); what was in the past stays there; no word is added but these.
"""

from __future__ import annotations

import re
from collections.abc import Container

from newsletter.curate import authors, bare, pronouns, verbs

SELF = re.compile(
    rf"(?:In |Through |With )?(?:[Tt]his|[Tt]he present|[Tt]he current|[Oo]ur|[Tt]he new){bare.KIND} {bare.PAPER}\b"
)
_LET_US = re.compile(r"(?i)\blet(?: us|['’]s)\b")
_CLAUSE = re.compile(
    r"(?P<clause>[A-Z][^;]{2,260}?), (?:we|I) (?P<rest>.+)"
    r"|(?P<place>(?:In|Using|With|Across|From|By|For|On|Among|At|Over|After|During|Through|Under|Unless|If) "
    r"[^,;:]{3,90}?) (?:we|I) (?P<done>(?!can\b|could\b|have to\b|need\b|must\b|should\b|live\b)[a-z].+)",
    re.DOTALL,
)
_NOT_ONLY = re.compile(
    r"Not only (?:do|did|can|have) (?:we|I) (?P<first>[^,;]+?),? but (?:(?:we|I) )?(?:also )?(?P<second>.+)", re.DOTALL
)
# A clause without which the sentence would say more than its authors do.
_CONDITION = re.compile(
    r"(?:Unless|If|Assuming|Provided|Suppos(?:e|ing)|Conditional(?:ly)? on|Under|Given|Modulo|Except|Barring|"
    r"When(?:ever)?|As long as|Subject to|Up to|Granting|Should|Without)\b"
)
_SUBJECT = re.compile(r"(?:We|I|we)(?:, [^,]{2,60},)? (?P<rest>.+)", re.DOTALL)
_WITH_MATES = re.compile(
    r"(?:(?:My|Our) (?:colleagues|co-?authors|collaborators|students?|team) and (?:I|we)|(?:I|We) and (?:my|our) "
    r"(?:colleagues|co-?authors|collaborators)) (?P<rest>.+)", re.DOTALL,
)  # fmt: skip
_THE_AUTHORS = re.compile(r"(?:The|These) (?:authors|researchers) (?P<rest>.+)", re.DOTALL)
_AUTHORS = re.compile(r"\b[Tt]h(?:e|eir|ose|ese)(?: original| first)? authors?\b")
_COLLEAGUES = re.compile(r"(?:,? et al\.|,? and (?:colleagues|co-?authors))")
# What is done to a scheme that "is presented", by its authors.
DONE = (
    "presented|proposed|introduced|studied|investigated|described|developed|analy[sz]ed|examined|considered|explored|evaluated|"
    "discussed|derived|demonstrated|reported|compared|given|reviewed|tested|provided|designed|outlined|established|constructed|"
    "formulated|illustrated|measured|answered|solved|resolved|settled|refuted|disproved|obtained|computed|generali[sz]ed|"
    "extended|improved|estimated|calculated|surveyed|revisited|characteri[sz]ed|addressed|assessed"
)
_PASSIVE = re.compile(
    r"(?P<what>(?:An?|The|This|These|Two|Three|Several|Some|New|Novel|[A-Z][\w-]*)\b[^,;:()]{1,200}?) "
    rf"(?P<be>is|are|was|were) (?P<adverb>\w+ly )?(?:also )?(?P<verb>{DONE})\b(?P<rest>.*)",
    re.DOTALL,
)
# By somebody, or as a habit: what others did.
_BY_OTHERS = re.compile(
    r"\bby [A-Z]|\bin (?:\[|the literature|[A-Z][a-z]+ (?:et al|and))|\b(?:previous(?:ly)?|recently|often|widely|"
    r"usually|commonly|extensively|typically|traditionally|frequently|rarely|elsewhere|originally|historically|long)\b"
)
_SELF_VERB = re.compile(
    rf"(?:In summary, |Overall, )?{bare.THIS}{bare.KIND} {bare.PAPER}(?P<rest>(?: \w+ly| also| then| first| further| "
    rf"thus| therefore)* (?P<verb>[a-z]+(?:s|ed))\b.*)",
    re.DOTALL,
)
_SELF_IS = re.compile(
    rf"{bare.THIS} {bare.PAPER} (?:is|gives|provides) (?P<what>an? (?:\w+ )?(?:review|survey|overview|introduction|"
    rf"study|summary|"
    r"tutorial|comparison|analysis|investigation|account|history) (?:of|to|on|about) .+)",
    re.DOTALL,
)
# What a paper does and its authors do not, or not in these words.
_PAPERS_OWN = frozenset(
    "is was has does concerns contains consists comprises appears belongs involves marks constitutes represents "
    "includes serves requires stems arises arose grew goes opens needs became remains results was were fits falls ends "
    "begins deals "
    "helps leads underscores emphasizes emphasises underlines supports allowed relates dates runs applies works".split()
)
_AUTHORS_TOO = verbs.BASE | frozenset(
    "challenge claim contend critique debunk defend demand depict elucidate enumerate envision exemplify frame "
    "interrogate plead problematise problematize rank reassess reconsider reflect refute reject rethink revise "
    "situate specify theorise theorize untangle unveil weigh chart narrate evidence detail trace disprove counter "
    "caution assert reread read "
    "experiment recount retrace reframe advocate criticise criticize caution question dispute rebut".split()
)


def _authors_do(verb: str) -> bool:
    """Is it what authors do as well as papers? "The study lasted 12 weeks" is not."""
    known = verbs.past_base(verb) or verbs.base(verb)
    return verb not in _PAPERS_OWN and (known in _AUTHORS_TOO or known in verbs.PAST)


_AIM = re.compile(
    rf"(?:(?:The|Our) )?(?:main |primary |principal |overall )?(?:[Aa]im|[Gg]oal|[Oo]bjective|[Pp]urpose|[Ii]ntent|"
    rf"[Ii]ntention)s? of {bare.THIS.replace('[Tt]he)', 'the)')}(?: \w+)? {bare.PAPER} (?:is|was|are|were)(?: twofold|"
    rf" threefold)?:? (?:\(?(?:1|i|a)\) ?)?(?P<rest>to .*)|(?:Our|My) (?:main |primary )?(?:aim|goal|objective|"
    rf"purpose) (?:is|was) (?P<own>to .*)",
    re.DOTALL,
)
_AS_SHOWN = re.compile(r"As (?:we|I) (?P<verb>show|prove|demonstrate|argue|find), (?P<rest>.+)", re.DOTALL)
_PAPER_AFTER = re.compile(
    rf"(?P<clause>[A-Z][^;]{{2,200}}?), (?P<paper>(?:this|our|the present)(?: \w+)? {bare.PAPER} .+)",
    re.DOTALL,
)
_TO = re.compile(r"To [a-z]+ [^,;]*")  # an objective without a verb of its own
_FINDING_VERBS = "find|show|demonstrate|reveal|suggest|report|argue|prove|conclude|indicate|confirm|establish"
_IT_THAT = re.compile(rf"(?:It|They|(?:The |This )(?:new |present )?(?:analysis|study|paper|work)) "
    rf"(?P<verb>{_FINDING_VERBS})s? "
                      r"(?P<rest>(?:that|how|why)\b.*)", re.DOTALL)  # fmt: skip
_RESULTS_SHOW = re.compile(
    r"(?:Our|The|These|This|My|Extensive|Experimental|Numerical|Empirical|Simulation|Preliminary|Results|Experiments|"
    r"Evaluations?)\b(?: (?!we\b)[\w-]+){0,10}? ?(?<=s )(?P<verb>show|demonstrate|confirm|suggest|establish|"
    r"prove)(?:s|ed)? (?P<rest>that\b.*)",
    re.DOTALL,
)
# "Drawing on 312 opinions, it shows that ...": it is the paper.
_IT_AFTER = re.compile(
    rf"[A-Z][a-z]+(?:ing)?\b[^,;]{{3,90}}, it (?P<verb>{_FINDING_VERBS})s? (?P<rest>(?:that|how|why)\b.*)", re.DOTALL
)
_RESULTS = re.compile(
    r"\b(?:[Rr]esults|[Ff]indings|[Ee]xperiments|[Ee]valuations?|[Ss]imulations?|[Aa]nalys[ei]s|[Ss]tudies|[Tt]ests)\b"
)
_IT_IS_SHOWN = re.compile(
    r"It (?P<be>is|was) (?:here |also |then |further |thus |\w+ly )?(?P<verb>shown|found|demonstrated|argued|proved|"
    r"proven|reported|observed|proposed|concluded|suggested|established|verified|confirmed|conjectured|"
    r"hypothesi[sz]ed) (?:here |below |in this \w+ )?(?P<rest>that\b.*)",
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
    r"discovered|can show|can prove|believe|suggest|suggested|confirm|confirmed)) that (?P<rest>.+)",
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
    r"(?:also |then |further |now |here |therefore |thus |\w+ly )?(?:introduc|present|propos|develop|design|buil[dt]|"
    r"prov[ei]|describ|creat|releas|deriv|establish|formulat|provid|construct|stud|investigat|explor|examin|analy|"
    r"evaluat|conduct|show|demonstrat)\w*\b"
)


_POINTS = re.compile(r"\b(?:this|these|that|those|such|it|they|its|their)\b")


def opening(sentence: str, subject: authors.Subject, common: Container[str] = ()) -> str:
    """The sentence, beginning with the author phrase; `common`: words as the text writes them elsewhere."""
    found = told(sentence, subject)
    if found:
        return found
    text = pronouns.they(bare.unthreaded(pronouns.expanded(sentence)), subject)
    report, small = verbs.agree("report", subject), pronouns.small(text, common)
    sure = small[:1].islower() or not small[:1].isalpha() or pronouns.is_name(small, common)
    return pronouns.ended(f"{subject.phrase} {report} that {small}" if sure else f"{subject.phrase} {report}: {small}")


def told(sentence: str, subject: authors.Subject) -> str | None:
    """The sentence with the author phrase as its subject; None where no pattern fits."""
    if _LET_US.search(sentence) or strangers(sentence):
        return None
    text = bare.unthreaded(pronouns.expanded(sentence))
    body = _about(text, subject)
    if not body or len(body.split()) < 2:
        return None
    mark = "" if body.startswith(",") else " "
    return pronouns.ended(f"{subject.phrase}{mark}{pronouns.they(body, subject)}")


def strangers(sentence: str, *, we: bool = False) -> bool:
    """Does a sentence speak of "the authors", who are others than "we"? `we`: the text says that elsewhere."""
    named = _AUTHORS.search(sentence) is not None
    return named and (we or pronouns.FIRST_PERSON.search(sentence) is not None)


def hidden(sentence: str) -> bool:
    """Does a sentence hide who did it ("A method is proposed", "It is shown that")?"""
    text = bare.unthreaded(sentence)
    return bool(
        (_PASSIVE.fullmatch(text) and not _BY_OTHERS.search(text))
        or _IT_IS_SHOWN.fullmatch(text)
        or _AIM.fullmatch(text)
    )


def of_itself(sentence: str) -> bool:
    """Does a sentence speak of its text as a paper?"""
    after = _PAPER_AFTER.fullmatch(sentence)
    match = _SELF_VERB.fullmatch(pronouns.capital(after["paper"]) if after else sentence)
    return SELF.match(sentence) is not None or (match is not None and _authors_do(match["verb"]))


def addresses(sentence: str) -> bool:
    """Is this "We address this by introducing X"?"""
    match = _SUBJECT.fullmatch(sentence) or _SELF_VERB.fullmatch(sentence)
    return match is not None and bool(_ADDRESS.fullmatch(match["rest"].strip()) or _ANSWER.match(match["rest"].strip()))


def following(sentence: str, subject: authors.Subject, *, after_paper: bool = False) -> str:
    """The sentence as the second one of a summary; `after_paper`: "it" is the paper that the first one speaks of."""
    text = bare.unthreaded(pronouns.expanded(sentence))
    match = (_IT_THAT.fullmatch(text) or _IT_AFTER.fullmatch(text)) if after_paper else None
    if match:
        return pronouns.ended(
            f"{subject.again} {verbs.agree(match['verb'], subject)} {pronouns.they(match['rest'], subject)}"
        )
    match = _WITH_MATES.fullmatch(text)
    if match:
        return pronouns.ended(f"They {pronouns.they(match['rest'])}")
    match = _SUBJECT.fullmatch(text) or _THE_AUTHORS.fullmatch(text)
    if match:
        body = verbs.predicate(match["rest"], subject)
        if body:
            return pronouns.ended(f"{subject.again} {pronouns.they(body, subject)}")
    match = _SELF_VERB.fullmatch(text)
    if match and _authors_do(match["verb"]) and not match["verb"].endswith("ed"):
        body = verbs.predicate(match["rest"].strip(), subject, of_paper=True)
        if body:
            return pronouns.ended(f"{subject.again} {pronouns.they(body, subject)}")
    return pronouns.ended(pronouns.capital(pronouns.they(text, subject)))


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
    match = _NOT_ONLY.fullmatch(text)
    if match:
        first, second = verbs.predicate(match["first"], subject), verbs.predicate(match["second"], subject)
        return f"not only {first} but also {second}" if first and second else None
    match = _CLAUSE.fullmatch(text)
    if match and match["clause"]:
        return _with_clause(match["clause"], match["rest"], subject)
    return _within(match["place"], match["done"], subject) if match else None


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
        aim = re.sub(r"(?<=[,; ])\(?(?:\d|i{1,3}|[a-e])\) (?=to\b)", "", match["rest"] or match["own"])
        return f"{verbs.agree('aim', subject)} {aim}"
    match = _AS_SHOWN.fullmatch(text)
    if match:
        return f"{verbs.agree(match['verb'], subject)} that {pronouns.small(match['rest'])}"
    match = _IT_THAT.fullmatch(text) or _IT_AFTER.fullmatch(text)
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
    if match and _authors_do(match["verb"]) and verbs.base(match["verb"]) != "use":
        body = verbs.predicate(match["rest"].strip(), subject, of_paper=True)
        address = _ADDRESS.fullmatch(body) if body else None
        verb = verbs.gerund_base(address["verb"]) if address else None
        return f"{verbs.agree(verb, subject)} {address['rest']}" if address and verb else body
    return None


def _passively(text: str, subject: authors.Subject) -> str | None:
    """As from `A scheme is presented` to `present a scheme`."""
    text = re.sub(rf",? in (?:this|the present) {bare.PAPER}(?=[ .,;])", "", text)
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
        r"(?:It|They|This|These|Both|Each|There|Here|Such)\b",
        what,
    ):
        return None
    present = verbs.past_base(match["verb"])
    what = pronouns.small(what)
    if present is None or not (what[:1].islower() or pronouns.is_name(what)):
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
        return f"{match['adverb'] or ''}{verb} {what} and {second} {them}{also['rest']}"
    if re.match(r",? (?:and|but|as|to be|or)\b", rest):
        return None
    return f"{match['adverb'] or ''}{verb} {what}{rest}"


def _within(clause: str, rest: str, subject: authors.Subject) -> str | None:
    """As from `Unless P = NP, we show that` to `show that unless P = NP,`; None where the clause points back."""
    if pronouns.FIRST_PERSON.search(clause) or _POINTS.search(clause):
        return None
    that = _THAT.fullmatch(rest)
    verb = verbs.predicate(that["verb"], subject) if that else None
    if that and verb:
        return f"{verb} that {pronouns.small(clause)}, {that['rest']}"
    body = _done(rest, subject)
    return f", {pronouns.small(clause)}, {body}" if body else None


def _with_clause(clause: str, rest: str, subject: authors.Subject) -> str | None:
    """As from `Using X, we show Y` to `show Y, using X`; None for clauses that carry the meaning ("If ...")."""
    if _CONDITION.match(clause) and not re.match(r"(?:Given|Under) (?:the|this|these|that|such)\b", clause):
        return _within(clause, rest, subject)
    body = _done(rest, subject)
    if body is None:
        return None
    head = clause.split(maxsplit=1)[0]
    points = _POINTS.search(clause)
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
            r"(?:In|For|With) (?:order|contrast|addition|light|view|response|comparison|practice|particular)\b",
            clause,
        ):
            return body
        if head in ("In", "On", "Across", "For", "At", "Over", "From") and short and len(rest.split()) <= 18:
            return f"{body.rstrip('.')} {pronouns.small(clause)}."
        return body if _STRONG.match(rest) and (points or head in ("In", "After")) else None
    return None
