"""A text, whoever wrote it -> plain sentences. Pure.

nupunkt knows where Latin sentences end; the full stops of other scripts, and the abbreviations of other languages that
it does not know, are ours. Text beyond `REACH` is not looked at: a summary's sentences stand at the beginning.
"""

from __future__ import annotations

import html
import re
import unicodedata

from newsletter import names

MOST = 2
REACH = 12_000  # characters that are looked at; an abstract has 1,500
_TAG = re.compile(r"<!--.{0,2000}?-->|</?[A-Za-z][^<>]{0,500}>|<\?[^<>]{0,200}\?>", re.DOTALL)
_INLINE = re.compile(r"</?(?:a|abbr|b|bdi|cite|code|em|i|mark|q|s|small|span|strong|sub|sup|tt|u|var)\b", re.IGNORECASE)
_OPENS = re.compile(r"<(script|style)\b", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_TEX_WORD = re.compile(
    r"\\(?:text(?:bf|it|sc|tt|rm|sf)?|emph|mathrm|mathbf|mathcal|mathbb|url|underline)\s?\{([^{}]{0,300})\}"
)
_TEX_SIGN = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "lambda": "λ", "mu": "μ",
    "pi": "π", "sigma": "σ", "tau": "τ", "theta": "θ", "omega": "ω", "phi": "φ", "rho": "ρ", "eta": "η", "Delta": "Δ",
    "Omega": "Ω", "Sigma": "Σ", "times": "×", "cdot": "·", "pm": "±", "approx": "≈", "sim": "~", "leq": "≤", "le": "≤",
    "geq": "≥", "ge": "≥", "to": "→", "rightarrow": "→", "infty": "∞", "sqrt": "√", "log": "log", "ell": "ℓ",
    "ldots": "…", "dots": "…", "in": "∈", "neq": "≠", "ll": "≪", "gg": "≫", "propto": "∝", "circ": "°",
}  # fmt: skip
_STOPS = re.compile(r"(?<=[。！？｡．])(?=[^。！？｡．」』”’）\s])|(?<=[。！？][」』”’）])|(?<=[।॥؟۔።])\s+")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:[^\W\d_]|et al|vs|e\.g|i\.e|cf|approx|ca|c|fig|figs|eq|eqs|ref|refs|sec|no|nos|vol|"
    r"pp|ed|eds|dr|prof|"
    r"mr|mrs|ms|st|inc|ltd|jr|sr|z\. ?b|d\. ?h|u\. ?a|v\. ?a|i\. ?d\. ?r|bzw|vgl|abb|nr|usw|sog|bspw|evtl|"
    r"inkl|mme|mlle|"
    r"p\. ?ej|sra|ud|srta|av|art|núm|pág|resp|al|dept|univ|jan|feb|mar|apr|jun|jul|aug|sept|oct|nov|dec)\.$",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?:^|\s)\d{1,2}\.$")
# Words that no other language uses as often: a tenth of an English text is made of them.
_ENGLISH = frozenset(
    "the of and to that with for which are this we by from it as be has have been can our these their than at on not "
    "how its a is was were or an in more new all but who will when what they he she his her you your".split()
)
_OURS_TOO = frozenset("a in an is was we at on all be by it has as or not".split())  # other languages have them too


def tidy(text: str) -> str:
    """One line of plain text: no tags, entities, Markdown, TeX or control characters; the words are as they were."""
    text = text[: 4 * REACH]
    if "<" in text:
        text = _TAG.sub(_gap, _without_scripts(text))
    if "&" in text:
        text = html.unescape(text)
        text = _TAG.sub(_gap, _without_scripts(text)) if "<" in text else text
    if "\\" in text or "$" in text:
        text = _from_tex(text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    text = re.sub(r"\*\*|`{1,3}|(?<!\w)__|__(?!\w)", "", text) if re.search(r"\*\*|`|__", text) else text
    plain = "".join(
        " " if char in "\t\n\r\v\f\x85\u2028\u2029" else char
        for char in text
        if unicodedata.category(char) not in ("Cc", "Cs", "Co", "Cn") or char in "\t\n\r\v\f\x85"
    )
    return " ".join(plain.split())


def _without_scripts(text: str) -> str:
    """Without what stands in <script> and <style>; one that is not closed takes the rest along."""
    parts, at = [], 0
    while opened := _OPENS.search(text, at):
        parts.append(text[at : opened.start()])
        closed = re.compile(rf"</{opened[1]}\s*>", re.IGNORECASE).search(text, opened.end())
        at = closed.end() if closed else len(text)
    return " ".join([*parts, text[at:]])


def _gap(tag: re.Match[str]) -> str:
    return "" if _INLINE.match(tag[0]) else " "


def _from_tex(text: str) -> str:
    text = _TEX_WORD.sub(r"\1", _TEX_WORD.sub(r"\1", names.from_tex(text)))
    text = re.sub(r"\\([A-Za-z]{2,10})(?![A-Za-z])", lambda match: _TEX_SIGN.get(match[1], match[0]), text)
    text = re.sub(r"\\([%&#_${}])", r"\1", text) if "$" not in text else _without_dollars(text)
    return re.sub(r"(?<=\S)~(?=\S)(?!\d)", " ", text)


def _without_dollars(text: str) -> str:
    r"""`$10^{-3}$` -> `10^-3`; `\$5` and a lone dollar are money."""

    def plain(match: re.Match[str]) -> str:
        inner = re.sub(r"\\[,;:! ]", "", match[1])
        inner = re.sub(r"\\([%&#_{}])", r"\1", inner)
        return re.sub(r"([\^_])\{([^{}]{1,40})\}", r"\1\2", inner)

    text = re.sub(r"(?<!\\)\$([^$\n]{1,200}?)(?<!\\)\$(?!\d)", plain, text)
    return re.sub(r"\\([%&#_${}])", r"\1", text)


def split(text: str) -> list[str]:
    """The sentences of a tidy text, in order; joined with blanks (none in scripts without) they are the text again."""
    text = text[:REACH].strip()
    if not text:
        return []
    pieces = [piece for found in _latin(text) for piece in _STOPS.split(found)]
    sentences: list[str] = []
    for piece in (piece.strip() for piece in pieces):
        if not piece:
            continue
        if sentences and _goes_on(sentences[-1], piece):
            sentences[-1] += f" {piece}"
        else:
            sentences.append(piece)
    return sentences


def _latin(text: str) -> list[str]:
    if not re.search(r"[.!?…]\s", text):
        return [text]
    import nupunkt  # 80 ms, and a text of one sentence does not need it

    return [str(found) for found in nupunkt.sent_tokenize(text)]


def _goes_on(before: str, after: str) -> bool:
    """Was the full stop no end? After an abbreviation, an ordinal ("am 3. Mai"), or before a small letter."""
    if not before.endswith("."):
        return (
            before.endswith(("!", "?")) is False and before[-1:] not in "。！？｡．।॥؟۔።…\"'”’)" and after[:1].islower()
        )
    if after[:1].islower():
        return True
    if _ORDINAL.search(before):
        return not is_english(f"{before} {after}")
    if re.search(r"\bet al\.$|[A-Z]\.[A-Z]\.$", before):
        return False  # these end sentences too, and nupunkt has looked at what follows
    return _ABBREVIATION.search(before) is not None


def is_english(text: str) -> bool:
    """Is a text in English? Fewer than four words could be in any language, and count as English when ASCII."""
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
