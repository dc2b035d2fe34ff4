"""A sentence without its label ("RESULTS:") and the words that tie it to the one before ("Therefore,"). Pure."""

from __future__ import annotations

import functools
import re

from newsletter.curate import pronouns

PAPER = (
    "(?:paper|work|article|study|letter|report|thesis|survey|review|manuscript|chapter|post|note|contribution|analysis|"
    "research|essay|dissertation|preprint|talk|document|monograph|brief|tutorial|overview|communication|book|project)"
)
# "this short paper", "our empirical study"; not "our previous work", nor "the authors report".
KIND = r"(?: (?!\w*s\b|previous|prior|earlier|recent|related|other|same)\w+)?"
THIS = r"(?:[Tt]his|[Tt]he present|[Tt]he current|[Oo]ur|[Mm]y|[Tt]he new|[Tt]he)"
_LABEL = re.compile(
    r"\W{0,3}(?P<label>TL;?DR|TLDR|Abstract|Summary|One Sentence Summary|Highlights?|Background|Introduction|Context|"
    r"Objectives?|Aims?|Purpose|Motivation|Abbreviations|Key ?words|Methods?|Design|Methodology|Materials and "
    r"Methods|Setting|Participants|Interventions?|(?:Main |Key )?Results?|(?:Main |Key )?Findings|Availability(?: and "
    r"implementation)?|Significance Statement|"
    r"Conclusions? (?:and|&) Relevance|Importance|Main Outcomes? and Measures?|Design, Setting,? and Participants|"
    r"Conclusions?|Interpretation|Significance|Discussion|Limitations|What is "
    r"new)\s?(?::|\.\s(?=[A-Z])|\s[-–—]\s|—)\s*",
    re.IGNORECASE,
)
_THREAD = re.compile(
    r"(?:(?:And |But )?(?:Moreover|Furthermore|In addition|Additionally|Finally|However|Specifically|Notably|In "
    r"particular|As a (?:result|consequence|corollary|by-?product|bonus)|More (?:specifically|precisely|generally|"
    r"broadly|importantly)|Overall|Consequently|Thus|Hence|Therefore|Importantly|Remarkably|Surprisingly|"
    r"Interestingly|Strikingly|Unfortunately|In contrast|By contrast|Conversely|In summary|In sum|To summari[sz]e|In "
    r"conclusion|To conclude|Taken together|Altogether|Together|In short|In brief|Crucially|Lastly|Also|Besides|"
    r"Concretely|Here|Herein|Accordingly|Instead|Nevertheless|Nonetheless|As such|In this (?:context|setting|regard|"
    r"respect|direction|light|case|vein)|In doing so|In response|In turn|Meanwhile|Rather|Indeed|In fact|Today|Now|"
    r"Next|Then|First(?:ly)?|Second(?:ly)?|Third(?:ly)?|For the first time|To this end|To that end|For this purpose|"
    r"For this reason|For that reason|With this in mind|"
    rf"(?:In|Through|With|Throughout) {THIS}(?: \w+)? {PAPER}"
    r")(?:,\s+|\s+(?=(?:we|I|i)\b))"
    r"|To (?:address|overcome|tackle|solve|fill|bridge|close|remedy|mitigate|answer|meet|resolve|alleviate|circumvent) "
    r"(?:the|that)\b[^,;:.]{0,80},\s+|To [a-z]+ (?:this|these|those|such|it|them)\b[^,;:.]{0,80},\s+"
    r"|(?:Motivated|Inspired|Encouraged|Driven|Prompted) by [^,;:]{3,120},\s+(?=(?:we|I)\b)"
    r"|(?:Based|Building|Drawing|Relying|Depending) (?:up)?on (?:this|these|that|those|such|our|the "
    r"above)\b[^,;:]{0,80},\s+(?=(?:we|I)\b)"
    r"|(?:From|With|Given|Using|Through|By|After) (?:this|these|that|those|such)\b(?! (?:assumption|hypothes|condition|"
    r"conjecture|premise))[^,;:]{0,60},\s+(?=(?:we|I)\b))"
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


@functools.lru_cache(maxsize=128)
def unthreaded(text: str) -> str:
    """Without the words that tie a sentence to the one before it."""
    for _ in range(3):
        match = _THREAD.match(text)
        if not match or len(text) - match.end() < 12:
            break
        text = pronouns.capital(text[match.end() :])
    return _ASIDE.sub("", text)


_ASIDE = re.compile(r", (?:though|however|therefore|moreover|too|instead|in turn|in contrast),")
