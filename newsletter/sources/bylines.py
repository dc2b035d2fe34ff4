"""Authors as feeds write them -> a list of names. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from newsletter import names
from newsletter.sources import plain

MOST = 200  # names of one entry
_INITIALS = re.compile(r"(?:[^\W\d_]\.?[\s-]?){1,4}")
_SUFFIX = re.compile(r"(?:Jr|Sr|I{2,3}|IV|Ph\.?\s?D|M\.?D|Inc|Ltd|LLC|GmbH)\.?", re.IGNORECASE)
_EMAIL = re.compile(r"<?(?:mailto:)?[^\s<>()]+@[^\s<>()]+\.[^\s<>()]+>?")
_BY = re.compile(
    r"(?:written |posted |words )?by(?:\s*:\s*|\s+)(?=\S)|(?:authors?|auteur|autor|text|von|par|por)\s*:\s*",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"\s*\([^()]*(?:\([^()]*\)[^()]*)*\)?$")
# What a program writes where nobody is named.
_NOBODY = frozenset("admin administrator webmaster noreply no-reply unknown anonymous none null undefined n/a".split())


def authors(found: Sequence[Mapping[str, object]], *, tex: bool = False) -> tuple[str, ...]:
    """The names of feedparser's `authors`; `tex` is arXiv's way: accents in TeX, affiliations in parentheses."""
    texts: list[str] = []
    for author in found:
        name = author.get("name")
        if isinstance(name, str):
            text = plain.line_from_html(name, 20_000) if "<" in name else plain.line(name, 20_000)
            texts += _split(_without_affiliations(_from_tex(text)) if tex else _unintroduced(text))
    return listed(texts)


def listed(texts: Sequence[str]) -> tuple[str, ...]:
    """One name a text -> the names, each once, without what is none: mail addresses, "By", programs and nobody."""
    shown = (_name(text) for text in texts)
    return tuple(dict.fromkeys(name for name in shown if name))[:MOST]


def _name(text: str) -> str:
    text = plain.line(text, 200)
    name = _EMAIL.sub("", text).strip()
    if name.startswith("(") and name.endswith(")"):  # a@site.test (Ann Lee)
        name = name[1:-1]
    name = _unintroduced(name)
    name = (_BRACKETED.sub("", name) or name).strip(" ()<>,;")
    nobody = name.casefold() in _NOBODY or name.endswith("[bot]") or re.match(r"https?://", name)
    return "" if nobody else name


def _unintroduced(text: str) -> str:
    """A byline without its "By"."""
    found = _BY.match(text)
    return text[found.end() :] if found else text


def _from_tex(text: str) -> str:
    return re.sub(r"\{([^{}\\$]*)\}", r"\1", names.from_tex(text))


def _without_affiliations(text: str) -> str:
    """`Ann Lee (MIT, Boston (USA)), Bo Li (2) ((1) Delft, (2) Oslo)` -> `Ann Lee, Bo Li`."""
    for _ in range(3):
        text = re.sub(r"\s*\([^()]*\)", "", text)
    return text


def _split(text: str) -> list[str]:
    """One text with several names. "Powell, W., Yan, N." are two people; "Smith, John" may be one."""
    if ";" in text:
        return [name.strip() for name in text.split(";")]
    parts = [part.strip() for part in re.split(r",\s*(?:and\s+|&\s*)?", text) if part.strip()]
    whole: list[str] = []
    for part in parts:
        if whole and _SUFFIX.fullmatch(part):
            whole[-1] += f", {part}"
        else:
            whole.append(part)
    pairs = list(zip(whole[::2], whole[1::2], strict=False))
    if len(whole) % 2 == 0 and pairs and all(_INITIALS.fullmatch(given) for _, given in pairs):
        return [f"{surname}, {given}" for surname, given in pairs]
    if len(whole) == 2 and " " not in whole[0]:
        return [", ".join(whole)]
    if len(whole) == 1:
        both = re.split(r"\s+(?:and|&)\s+", whole[0])
        return both if all(" " in name for name in both) else whole
    return whole
