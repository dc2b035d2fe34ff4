"""Which sentences of an article tell what others did, said, or reached: none is this article's result. Pure."""

from __future__ import annotations

import functools
import re

from newsletter.curate import bare, pronouns

# What others did, or are said to have done, is never this article's own result.
_OTHERS = re.compile(
    r"\b[Ss]tate[- ]of[- ]the[- ]art (?:methods|models|systems|approaches) (?:achieve|reach|obtain|attain|get)\b"
    r"|\bhas been (?:claimed|reported|suggested|argued|shown|demonstrated|proposed)\b|\bhave been (?:proposed|"
    r"shown|reported|suggested)\b"
    r"|\b[Ii]t (?:was|has been|is) (?:shown|demonstrated|claimed|proved|reported|known|believed|thought|said) "
    r"(?:by|in \[|previously|recently|that .* \[\d)"
    r"|\b(?:has|have|had|was|were) (?:previously|already|recently) (?:reported|shown|been|found|proposed)\b"
    r"|^(?!We\b|I\b|Results\b|Experiments\b)(?:[A-Z][\w-]+ )+(?:(?:\(\d{4}\)|et al\.) )?(?:reports?|reported|"
    r"claims?|claimed|says?|said|wrote|showed|proposed|found|introduced|proved) (?:that|an?|the)\b"
    r"|\b(?:[Pp]revious|[Pp]rior|[Ee]arlier|[Rr]ecent|[Oo]ther) (?:work|works|studies|study|papers?|authors?|"
    r"methods|research|approaches|results)\b(?! by | in our)[^,;]{0,60}? (?:showed?|shows|found|finds?|reports?|"
    r"reported|suggests?|suggested|claims?|claimed|achieves?|achieved|reache[sd]?|has|have|demonstrated?)\b"
    r"|^(?:Previously|Formerly|Until now|So far|To date|Hitherto)\b(?!.*\b(?:we|our)\b)|\b[Ww]e and others\b|"
    r"^(?:[A-Z][\w'’-]+,? )+and [A-Z][\w'’-]+ (?:(?:have|had) )?(?:\w+ly |also )?(?:estimate|find|argue|show|suggest|"
    r"conclude|claim|report|believe|hold|maintain|propose|document|observe|note|state|write|put)(?:d|ed|s)? |"
    r"^According to (?!our\b|us\b|the (?:results?|data|models?|analysis)\b)[^,]{2,60}, |"
    r"\b[Uu]nlike (?:us|our)\b|^(?:As )?[Ii]n (?:our|my) (?:previous|earlier|prior)\b"
)
# A result that somebody else is named for, or that would only be.
_CITED = re.compile(
    r"^(?!(?:We|Our|I|My)\b).*\b[A-Z][\w'’-]+(?: et al\b| (?:and [A-Z][\w'’-]+ )?\(\d{4}[a-z]?\))"
    r"|^(?:If|Were|Had)\b.*\bwould\b"
)
_RIVAL = re.compile(
    r"(?:(?:The|By contrast,|In comparison,|For comparison,|Meanwhile,) )?(?:(?:strongest|best|older|larger|smaller|"
    r"previous|baseline|model|system|rival|competing|popular|much) )*(?P<name>[A-Z][\w.+-]*(?: [A-Z\d][\w.+-]*)*)(?:,? "
    r"[^,;]{0,60},)? (?:only )?(?:reach(?:es|ed)?|achiev(?:es|ed)|scor(?:es|ed)|gets|got|obtain(?:s|ed)|attain(?:s|"
    r"ed)|has|had|needs|needed|takes|took|yields|yielded|gives|gave|solv(?:es|ed)|is at|stands at|was at|costs?|"
    r"remains at)\b"
)
_NAMED = re.compile(r"[A-Z][\w+-]*[A-Z\d][\w.+-]*|[A-Z]{2,}[\w-]*")  # "GPT-4", "BERT", "TinyNet"
_MAKES = re.compile(
    r"\b(?:introduc|propos|present|develop|design|buil[dt]|creat|releas|train|construct|pioneer|devis|invent|launch|"
    r"describ)\w*\b"
)


# Whom a paper compares itself with: alone it is no result of it.
_COMPARED = re.compile(
    r"(?:(?:The|A|Our) )?(?:(?:previous|prior|earlier|current|existing|second|strongest|next)[- ]best\b|(?:previous|"
    r"prior|former|existing|old|earlier|current) (?:record|state of the art|champion|leader|SOTA|approach|"
    r"method|system|"
    r"model)\b|(?:placebo|controls?|comparison|comparator|baseline|untreated|reference|sham|"
    r"standard[- ]care|usual[- ]care|"
    r"unexposed|unvaccinated|waiting[- ]list)(?: [a-z]+)? (?:arm|group|condition|patients|participants|cohort|children|"
    r"households|sites?|schools|villages|animals|mice)\b|(?:strongest |best |vanilla |standard |plain )+(?:baseline|"
    r"competitor|rival)s?\b)"
    r"|(?:Controls|Baselines|Competitors)\b"
    r"|(?:[A-Z]?[a-z]+ ){1,2}?(?:in|on|of|given|assigned to|receiving|with|under|from|taking) (?:an? |the )?(?:placebo|"
    r"controls?|sham|usual care|standard care|comparison|untreated)\b"
    r"|(?:In|On|With|For|Among|Under) (?:an? |the )?(?:placebo|controls?|sham|usual care|standard care|comparison|"
    r"untreated|baseline)\b"
    r"|[A-Z][\w.+-]*(?: [A-Z\d][\w.+-]*)* alone\b"
)
_BOTH_SIDES = re.compile(r"\b(?:than|vs\.?|versus|compared (?:with|to)|whereas|while|against|both|respectively|as)\b|;")
_NAMES = re.compile(
    rf"(?:{_MAKES.pattern})(?: (?:and|we|call|called|named|the|an?|our|new|novel|[a-z-]+)){{0,4}}? "
    r"(?P<name>[A-Z][\w+-]*)"
)


def comparator(text: str) -> bool:
    """Does a sentence tell only what those reached that others are compared with: "The placebo arm had 12%"?"""
    plain = bare.unthreaded(text)
    return _COMPARED.match(plain) is not None and _BOTH_SIDES.search(plain) is None


_PEOPLE = re.compile(
    r"\b[A-Z][\w'’-]+(?: et al\b| \(\d{4}[a-z]?\)| and [A-Z][a-z'’-]+ (?:\w+ly )?[a-z]+\b)|\b[Aa]ccording to [A-Z]|"
    r"\b(?:as|by) [A-Z][a-z'’-]+ (?:and [A-Z][a-z'’-]+ )?(?:claim|argue|hold|find|show|suggest|report|say)"
)


def names_people(text: str) -> bool:
    """Does a sentence name people, or what they hold, so that "they" could be them?"""
    return _PEOPLE.search(text) is not None


@functools.lru_cache(maxsize=1024)
def of_others(text: str) -> bool:
    """Does a sentence tell what others did or said?"""
    return _OTHERS.search(text) is not None or _CITED.search(text) is not None


def rival(text: str, contribution: str) -> bool:
    """Is it about something else than what was made: "GPT-4 reaches 93.1%", beside a "TinyNet" that is introduced?"""
    match = _RIVAL.match(bare.unthreaded(text))
    made = _NAMES.search(contribution)
    if match and made and pronouns.is_thing(match["name"]):
        return match["name"].split()[0].removesuffix("'s") not in contribution
    if not match or not _NAMED.fullmatch(match["name"].split()[-1]) or not _MAKES.search(contribution):
        return False
    return not any(part in contribution for part in (match["name"], match["name"].split()[0])) and bool(
        _NAMED.search(contribution)
    )


def own_earlier(text: str) -> bool:
    """Does a sentence tell what these authors said before?"""
    return re.match(r"In (?:our |my )?(?:earlier|previous|prior|past) \w+,? (?:we|I)\b", text) is not None
