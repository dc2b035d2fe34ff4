"""A text, whoever wrote it -> plain sentences. Pure.

nupunkt knows where Latin sentences end; the full stops of other scripts, the abbreviations of other languages that it
does not know, and what feeds lose on the way, are ours. Text beyond `REACH` is not looked at: a summary's sentences
stand at the beginning.
"""

from __future__ import annotations

import html
import itertools
import re
import unicodedata
from collections.abc import Sequence

import regex

from newsletter.curate import tex

MOST = 2
LINKS = 3  # items of a list that are a link and nothing else
REACH = 12_000  # characters that are looked at; an abstract has 1,500
_TAG = re.compile(r"<!--.{0,2000}?-->|</?[A-Za-z][^<>]{0,500}>|<\?[^<>]{0,200}\?>", re.DOTALL)
_INLINE = re.compile(r"</?(?:a|abbr|b|bdi|cite|code|em|i|mark|q|s|small|span|strong|sub|sup|tt|u|var)\b", re.IGNORECASE)
_BLOCK = re.compile(
    r"</?(?:article|blockquote|dd|div|dl|dt|figcaption|h[1-6]|li|ol|p|pre|section|table|td|th|tr|ul)\b", re.IGNORECASE
)
_OPENS = re.compile(r"<(script|style)\b", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
# Full stops of all scripts (Unicode's Sentence_Terminal, UAX 44): wide ones, with or without a quotation mark behind,
# need no blank after them; nor do ASCII's beside Chinese, Japanese and Korean. Scripts without capitals begin a
# sentence with any letter. Greek asks with ";".
_STOPS = regex.compile(
    r"(?<=[。！？｡．])(?=[^。！？｡．」』”’）\"\s])|(?<=[。！？｡．][」』”’）\"])(?!と|って|[他她]们?[说問问道答][，。：,])(?=[^。！？｡．」』”’）\"\s，、])"
    r"|(?<=[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}][.!?])(?=[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}“「『])"
    r"|(?<=[.!?][”’」』])(?!と|って|[他她]们?[说問问道答][，。：,])(?=[\p{Han}\p{Hiragana}\p{Katakana}])"
    r"|(?<=[[\p{STerm}--[.!?…]]។៕།༎]|[[\p{STerm}--[.!?…]]។៕།༎][”’»)\"])\s+"
    r"|(?<=[\p{Lo}\p{Georgian}\p{M}\p{Nd}][\p{Lo}\p{Georgian}\p{M}][.!?…]|[\p{Lo}\p{Georgian}\p{M}][.!?…][”’»)\"])"
    r"\s+(?=[\p{Lo}\p{Georgian}“«‘\"(])"
    r"|(?<=\p{Greek}[;\u037e])\s+(?=\p{Lu})",
    regex.V1,
)
_BLANK_LINE = re.compile(r"\s*\n\s*(?:\n\s*(?:[•·▪‣◦–*-] +)?|[•·▪‣◦*-] +)")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[„“\"])(?:et al|vs|e\.g|i\.e|cf|approx|ca|c|viz|figs|eqs|refs|eds|resp|dept|univ|incl|excl|"
    r"z\. ?b|d\. ?h|u\. ?a|v\. ?a|o\. ?ä|i\. ?d\. ?r|u\. ?s\. ?w|bzw|vgl|abb|nr|sog|bspw|evtl|inkl|ggf|mio|mrd|"
    r"p\. ?ej|p\. ?ex|ud|núm|pág|aprox|env|chap|т\. ?е|т\. ?н|млн|млрд|тыс|руб|см|рис|стр|им|ул|напр|проф|акад)\.$",
    re.IGNORECASE,
)
_TITLE = re.compile(
    r"(?:^|[\s(\[„“\"])(?:Drs?|Prof|Mr|Mrs|Ms|Mme|Mlle|Sra?|Srta|Dra|Hr|Fr|Dipl|Ing|St|Mt|Lt|Gen|Sen|Rep|Gov|Rev|Hon|"
    r"Sgt|Supt|Fa|Dhr|Mevr|Kap|Abt|Hrn|Frl|Sig|Dott|Avv|Capt|Col|Jan|Feb|Aug|Sept?|Oct|Nov|Dec|EE)\.$"
)
_BEFORE_FIGURE = re.compile(
    r"(?:^|[\s(\[])(?:nos?|art|sec|figs?|eqs?|refs?|vol|pp?|ed|ch|tab|abs|str|par|p|max|avg|temp|tel|ext|ver)\.$",
    re.IGNORECASE,
)
_INITIAL = regex.compile(r"(?:^|[\s(\[.-])[\p{Lu}\p{Lo}]\.$")
# What begins a sentence, and is nobody's family name.
_STARTS = re.compile(
    r"(?:We|Our|The|This|These|That|Those|It|Its|They|Their|In|On|At|To|For|From|By|With|Here|However|Moreover|"
    r"Furthermore|Finally|Then|Thus|Hence|Using|Under|Over|As|An|A|And|But|If|When|While|Although|There|Both|Such|"
    r"Results|Each|All|Most|Many|Some|No|None|One|Two|Three|I|He|She|You|My)\b"
)
_MISSED = re.compile(
    r"(?<=[^\W\d_A-Z]{3}[.!?])\s+(?=[A-Z][a-z]+:?\s|(?:I|A)\s)"
    r"|(?<=[\w)\]%”\"][.!?])\s+(?=(?:We|Our|The|This|These|It|They|In|To|However|Moreover|Furthermore|Here|"
    r"Finally|[A-Z][a-z]+ly,)(?!\w))"
)
# Whatever nupunkt takes for an abbreviation: a whole small word ends a sentence before a capital or a figure ("tasks.
# GPT-4 solves"), but for those that are written short; so does the letter that something is called by ("on B. B fell").
_SHORTENED = (
    "approx|resp|incl|excl|dept|univ|max|min|avg|est|std|etc|spp|subsp|var|pers|ibid|seq|viz|figs?|eqs?|refs?|eds?|vols?|"
    "tabs?|secs?|sect|art|chap|para|fol|app|ext|tel|ver|vers|prof|gen|col|capt|sgt|rev|gov|sen|rep|hon|assoc|asst|adj"
)
# Of other languages, of which some are English words.
_ABROAD = (
    "godz|kap|cap|art|dhr|mevr|bijv|afd|blz|hfdst|burg|inkl|exkl|zzgl|abzgl|gem|insb|bes|allg|ehem|geb|kath|evang|engl|"
    "franz|lat|jap|betr|lfd|tgl|mind|einschl|gegr|entspr|ziff|abschn|rdnr|pos|bzw|vgl|bspw|evtl|evt|ggf|sog|mio|mrd|"
    "mia|dpto|avda|prov|gral|izq|máx|mín|éd|janv|févr|juil|déc|hab|dép|dott|sig|ing|avv|geom|pag|ecc|séc|eng|woj|pow|"
    "tzw|zob|por|płk|inż|mgr|red|pkt|ust|poz|rozdz|ryc|rys|tab|tys|mln|mld|např|tzv|hod|mil|tis|dvs|hhv|ekskl|maks|tlf|stk|"
    "adm|pct|örn|bkz|mah|cad|sok|alin|ill|esim|vrt|puh|toim|str|sec|par|fa|ul|kl|ok|tj|np|jf|dl|pl|kb|ún|ks|гл|обл|тел|долл|"
    "ред|изд|табл|ген|св|ок"
)
_FOREIGN = re.compile(
    rf"(?:^|[\s(\[„“\"])(?:{_ABROAD}|(?![ap]\.m|m\.[mv]|o\.l)[^\W\d_]{{1,3}}\.[^\W\d_]{{1,3}})\.$", re.IGNORECASE
)
_ENDS = regex.compile(
    rf"(?<=(?<![\w.])(?:[\w]+-)?\p{{Ll}}{{3,}}[.!?])(?<!\b(?:{_SHORTENED})\.)\s+(?=[“\"‘(]?[\p{{Lu}}\d])"
    r"|(?<=\b[A-Z] (?:or|and|versus) [A-Z]\.)\s+(?=[\p{Lu}\d])"
    r"|(?<=\b\p{Ll}+ [A-Z]\.)\s+(?=[A-Z] \p{Ll})"
    r"|(?<=\b(?:vitamin|group|arm|drug|treatment|hepatitis|placebo|option|method|plan|team|cohort|condition) [A-Z]\.)"
    r"\s+(?=[\p{Lu}\d])"
)
# "try! Swift" is a meeting, "Yahoo! Finance" a site.
_SHOUTED = re.compile(r"(?:\btry! Swift|\bYahoo! [A-Z]|\bJeopardy! [A-Z])")
# "in 3 ms. No error", "do so. With it": ends that look like abbreviations.
_UNIT_END = re.compile(
    r"(?:\d\s?(?:ms|s|h|min|km|cm|mm|m|kg|g|[kMGT]B|[kMG]?Hz|[kMGT]?eV|K)|\b(?:so|it|too)|\bи (?:т\. ?[дп]|др|"
    r"пр))\.(?=\s+[¿¡]?[^\W\d_a-z])"
    r"|\b\d{4} г\.(?=\s+(?:Он|Она|Оно|Они|Её|Его|Их|Это|Эти|Этот|Эта|На|Но|И|А|Мы|Я|Вы|Так|Там|Тогда|После|При|По|Для|"
    r"Как|Когда|Если|Все|Всё|Потом|В|С|К)\s)"
)
_BEGINS_ABROAD = re.compile(
    r"(?:Les?|La|L['’]\w|Un|Une|El|Los|Las|Der|Die|Das|Ein|Eine|Il|Elle|On|Nous|Wir|Es|Sie|En|Und|Et|Cela|Ce)\b"
)
_UNSPACED = re.compile(
    r"(?<=\b[a-z]{3})\.(?=[A-Z][A-Za-z]+ )|(?<=\s[a-z]{4})\.(?=[A-Z][A-Za-z]+ )|(?<=[a-z]{5})\.(?=[A-Z][A-Za-z]+ )"
)
_UNSPACED_START = re.compile(rf"(?:{_UNSPACED.pattern})(?=(?:{_STARTS.pattern}|[A-Z][a-z]+ing\b))")
_LABELS = (
    "Background|Introduction|Context|Objectives?|Aims?|Purpose|Motivation|Methods?|Methodology|Design|Results?|"
    "Findings|Conclusions?|Discussion|Significance(?: Statement)?|Summary|Highlights?|One Sentence Summary|"
    "Availability(?: and [Ii]mplementation)?|Abbreviations?|Key ?words"
)
# bioRxiv's feeds lose the backslash of "\n\n" and the blank after a heading: "... exist.nnResultsWe found".
_LOST_BREAK = re.compile(rf"(?<=[.!?)\]])nn?(?=(?:{_LABELS})[A-Z]|(?:C_LI)?O_LI|[A-Z][a-z]+ |[A-Z]{{4,}}[A-Z ])")
_LISTED = re.compile(r"n?C_LI[O_S]{0,4}_?(?:LI)?|n?O_LI")
_GLUED = re.compile(rf"(?:^|(?<=[.!?)\]] ))({_LABELS})(?=[A-Z])")
_UNMARKED = re.compile(rf"(?:^|(?<=[.!?)\]] ))({_LABELS}) (?=[A-Z0-9][\w-]* )")
# PubMed's: "METHODS 80 eyes were randomised. RESULTS Acuity was ..."
_CAPITALS = re.compile(
    r"(?:^|(?<=[.!?)\]] ))(BACKGROUND|INTRODUCTION|IMPORTANCE|CONTEXT|OBJECTIVES?|AIMS?|PURPOSE|MOTIVATION|METHODS?|"
    r"METHODOLOGY|DESIGN|SETTING|PARTICIPANTS|PATIENTS|INTERVENTIONS?|RESULTS?|FINDINGS|CONCLUSIONS?|DISCUSSION|"
    r"INTERPRETATION|LIMITATIONS|CONCLUSIONS? (?:AND|&) RELEVANCE) (?=(?:[A-Z]|\d)(?!\w*[A-Z]{3}))"
)
# "... for two years Results: Survival rose ...": a heading within a line, where the line before it lost its end.
_RUN_IN = re.compile(rf"(?<=[a-z0-9)%\]]) (?=(?:{_LABELS}): )")
_TITLE_LINE = re.compile(r"(?!\w*\d)[A-Z][\w'’-]*(?: (?!\w*\d)[\w'’-]+){0,2}:?")  # not "Version 2", nor "S085x"
_HEADING = re.compile(rf"(?:{_LABELS})\s?[.:]?", re.IGNORECASE)
_WIDE_END = re.compile(r"[。！？｡．」』）]$|[。！？][”’\"]$")
_UNSPACED_SCRIPT = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_RAISED = re.compile(r"<(su[pb])>\s*([^<>]{1,12}?)\s*</\1>", re.IGNORECASE)
_LINK_ITEM = re.compile(r"<li\b[^<>]{0,200}>\s{0,20}<a\b[^<>]{0,500}>[^<>]{0,300}</a>\s{0,20}</li>", re.IGNORECASE)
_LINK_LINE = re.compile(r"^[ \t]{0,8}[*+-][ \t]{1,8}\[[^\[\]\n]{0,300}\]\([^()\s]{0,500}\)[ \t]{0,8}$", re.MULTILINE)
_UNSEEN = frozenset("\u00ad\u200b\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ORDINAL = re.compile(r"(?:^|\s)\d{1,2}\.$")
# Words that no other language uses as often: a tenth of an English text is made of them.
_ENGLISH = frozenset(
    "the of and to that with for which are this we by from it as be has have been can our these their than at on not "
    "how its a is was were or an in more new all but who will when what they he she his her you your may using used "
    "between such into over through been if so there here should could would most only while after "
    "cannot found shows show study results data years people children both each other because many two three".split()
)
_SAYS_SO = re.compile(
    r"(?:In this \w+, |Here,? )?(?:[Ww]e|I|[Tt]his (?:paper|work|article|study|report|note)) (?:present|"
    r"introduce|propose|"
    r"show|study|describe|release|report|prove|develop|evaluate|investigate|find|examine|analy[sz]e|compare|announce)"
    r"(?:e?s|d|ed)? "
)
_OURS_TOO = frozenset("a in an is was we at on all be by it has as or not".split())  # other languages have them too


def tidy(text: str) -> str:
    """One line of plain text: no tags, entities, Markdown, TeX or control characters; the words are as they were."""
    text = _without_links(text[: 4 * REACH])
    for _ in range(2):  # once for the tags that are written as entities
        if "<" in text:
            text = _TAG.sub(_gap, _RAISED.sub(_raised, _without_scripts(text)))
        if "&" in text:
            text = html.unescape(text)
    text = tex.plain(text)
    if "\n" in text:
        text = _paragraphs(text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    text = re.sub(r"\*\*|`{1,3}|(?<!\w)__|__(?!\w)", "", text) if re.search(r"\*\*|`|__", text) else text
    text = " ".join(text.split())
    if text.isprintable():
        return _mended(text)
    plain = "".join(
        " " if char in "\t\n\r\v\f\x85\u2028\u2029" else char
        for char in text
        if (unicodedata.category(char) not in ("Cc", "Cs", "Co", "Cn") or char in "\t\n\r\v\f\x85")
        and char not in _UNSEEN
    )
    return _mended(" ".join(plain.split()))


def _mended(text: str) -> str:
    """With the blanks and colons that were lost on the way."""
    lost = _LOST_BREAK.search(text) is not None
    if lost or "O_LI" in text:
        text = _LISTED.sub(" ", _LOST_BREAK.sub(" ", text))
    glued = len(_UNSPACED.findall(text)) if re.search(r"[a-z]\.[A-Z]", text) else 0
    if glued:  # "strings.Builder" alone is a name
        usual = glued > 1 and glued >= len(re.findall(r"[a-z]\. [A-Z]", text))
        text = (_UNSPACED if usual else _UNSPACED_START).sub(". ", text)
    if lost or len({match[1] for match in _GLUED.finditer(text)}) > 1:  # "SummaryBench" alone is a name
        text = _GLUED.sub(r"\1: ", text)
    if len(_RUN_IN.findall(text)) > 1:
        text = _RUN_IN.sub(". ", text)
    if len({match[1] for match in _CAPITALS.finditer(text)}) > 1:
        text = _CAPITALS.sub(r"\1: ", text)
    if len({match[1] for match in _UNMARKED.finditer(text)}) > 2:
        text = _UNMARKED.sub(r"\1: ", text)
    return re.sub(r"(?<=[A-Za-z)]) (?=[.,](?:\s|$))", "", " ".join(text.split()))


def _paragraphs(text: str) -> str:
    """One paragraph; each that was one, or an item of a list, ends like a sentence, and a heading with a colon."""
    parts = [part for part in _BLANK_LINE.split(text.strip()) if part]
    if (
        len(parts) > 1
        and _TITLE_LINE.fullmatch(parts[0])
        and len(parts[1].split()) > 5
        and not _HEADING.fullmatch(parts[0])
    ):
        parts.pop(0)  # "What's changed"
    for at, (part, after) in enumerate(itertools.pairwise(parts)):
        if _HEADING.fullmatch(part):
            parts[at] = f"{part.strip(' .:')}:"
        elif (part[-1].isalnum() or part[-1] in ")]%") and not after[0].islower():
            parts[at] = part + ("。" if _UNSPACED_SCRIPT.match(part[-1]) else ".")
    return " ".join(parts)


def _without_links(text: str) -> str:
    """Without lists of links: they are no text."""
    for item in (_LINK_ITEM, _LINK_LINE):
        if len(item.findall(text)) >= LINKS:
            text = item.sub("\n", text)
    return text


def _raised(match: re.Match[str]) -> str:
    return tex.raised(match[2]) if match[1].lower() == "sup" else tex.lowered(match[2])


def _without_scripts(text: str) -> str:
    """Without what stands in <script> and <style>; one that is not closed takes the rest along."""
    parts, at = [], 0
    while opened := _OPENS.search(text, at):
        parts.append(text[at : opened.start()])
        closed = re.compile(rf"</{opened[1]}\s*>", re.IGNORECASE).search(text, opened.end())
        at = closed.end() if closed else len(text)
    return " ".join([*parts, text[at:]])


def _gap(tag: re.Match[str]) -> str:
    return "" if _INLINE.match(tag[0]) else "\n\n" if _BLOCK.match(tag[0]) else " "


def split(text: str) -> list[str]:
    """The sentences of a tidy text, in order; joined with blanks (none in scripts without) they are the text again."""
    text = text[:REACH].strip()
    if not text:
        return []
    found = [
        part
        for piece in _latin(text)
        for end in _units(piece)
        for each in _MISSED.split(end)
        for part in _ENDS.split(each)
    ]
    sentences: list[str] = []
    for piece in (part.strip() for each in found for part in ([each] if each.isascii() else _STOPS.split(each))):
        if not piece:
            continue
        if sentences and _goes_on(sentences[-1], piece):
            sentences[-1] += f" {piece}"
        else:
            sentences.append(piece)
    return sentences


def _units(piece: str) -> list[str]:
    """A piece, parted where a unit ends it."""
    ends = [0, *(match.end() for match in _UNIT_END.finditer(piece)), len(piece)]
    return [piece[start:end].strip() for start, end in itertools.pairwise(ends)]


def _latin(text: str) -> list[str]:
    if not re.search(r"[.!?…]\s", text):
        return [text]
    import nupunkt  # 80 ms, and a text of one sentence does not need it

    return [str(found) for found in nupunkt.sent_tokenize(text)]


def _goes_on(before: str, after: str) -> bool:
    """Was the full stop no end? After an abbreviation, an ordinal ("am 3. Mai"), or before a small letter."""
    tail = before[-40:]
    if before.endswith("!") and _SHOUTED.match(f"{tail.rsplit(maxsplit=1)[-1]} {after[:20]}"):
        return True
    if not before.endswith("."):
        return before[-1:] not in "!?。！？｡．।॥؟۔።…\"'”’)" and after[:1].islower()
    if after[:1].islower():
        return re.match(r"[a-z]{1,3}[A-Z]", after) is None  # "eBay is ..." may begin a sentence
    if _UNIT_END.search(f"{tail} {after[:40]}", max(0, len(tail) - 8)):
        return False
    if _ORDINAL.search(tail):
        return not is_english(f"{before} {after}") and _BEGINS_ABROAD.match(after) is None
    if re.search(r"\bet al\.$|[A-Z]\.[A-Z]\.$", tail):
        return re.match(r"[(\[\d]", after) is not None  # these end sentences too; nupunkt has looked at what follows
    if _BEFORE_FIGURE.search(tail):
        return after[:1].isdigit()
    if tail.endswith(" г."):
        return not tail[-4:-3].isdigit() or re.match(r"[А-ЯЁ]\.", after) is not None  # "г. Москва"; "в 1837 г. Это ..."
    if _INITIAL.search(tail):
        return _STARTS.match(after) is None and _ENDS.search(f"{tail} {after[:40]}", max(0, len(tail) - 3)) is None
    if _ABBREVIATION.search(tail) or _TITLE.search(tail):
        return True
    return _FOREIGN.search(tail) is not None and not is_english(f"{before} {after}")


def joined(parts: Sequence[str]) -> str:
    """Sentences as one text: with blanks between them, none where their script has none."""
    text = ""
    for part in parts:
        text += part if not text or _WIDE_END.search(text) or _wide_pair(text, part) else f" {part}"
    return text


def _wide_pair(before: str, after: str) -> bool:
    return bool(_UNSPACED_SCRIPT.match(after)) and bool(_UNSPACED_SCRIPT.search(before[-3:]))


def is_english(text: str) -> bool:
    """Is a text in English? Fewer than four words could be in any language, and count as English when ASCII."""
    if _SAYS_SO.match(text):
        return True  # what follows may be names and figures
    words = re.findall(r"[^\W\d_]+", text[:3000].lower())
    if len(words) < 4:
        return text.isascii()
    own = sum(word in _ENGLISH and word not in _OURS_TOO for word in words)
    shared = sum(word in _OURS_TOO for word in words)
    latin = sum(word.isascii() for word in words)
    if latin < 0.8 * len(words):
        return False
    if len(words) < 12:
        return own >= 1 or (text.isascii() and shared >= 1)
    return own >= 0.06 * len(words) and own + shared >= 0.12 * len(words)
