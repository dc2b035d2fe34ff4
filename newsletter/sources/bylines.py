"""Authors as feeds write them -> a list of names. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from newsletter.sources import plain

MOST = 200  # names of one entry
_INITIALS = re.compile(r"(?:[^\W\d_]\.?[\s-]?){1,4}")
_SUFFIX = re.compile(r"(?:Jr|Sr|I{2,3}|IV|Ph\.?\s?D|M\.?D|Inc|Ltd|LLC|GmbH)\.?", re.IGNORECASE)
_EMAIL = re.compile(r"<?\S+@\S+\.\S+>?")
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
            "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "r": "\u030a", "k": "\u0328"}  # fmt: skip
_TEX_ACCENT = re.compile(r"\\(?:(['`^\"~=.])\s*\{?\\?([A-Za-z])\}?|([cvuHrk])(?:\s+|\{)\\?([A-Za-z])\}?)")
_TEX_LETTERS = {"ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "aa": "å", "AA": "Å", "ae": "æ", "AE": "Æ", "i": "ı"}


def authors(found: Sequence[Mapping[str, object]], *, tex: bool = False) -> tuple[str, ...]:
    """The names of feedparser's `authors`, without mail addresses; `tex` turns arXiv's accents into letters."""
    names: list[str] = []
    for author in found:
        name = author.get("name")
        if isinstance(name, str):
            text = plain.line_from_html(name, 20_000) if "<" in name else plain.line(name, 20_000)
            names += _split(from_tex(text) if tex else text)
    shown = (plain.line(_EMAIL.sub("", name).strip(" ()"), 200) for name in names)
    return tuple(dict.fromkeys(name for name in shown if name))[:MOST]


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


def from_tex(text: str) -> str:
    r"""`Andr\'e` -> `André`: the accents and letters that names have; anything else stays as typed."""

    def accented(match: re.Match[str]) -> str:
        accent, letter = (match[1], match[2]) if match[1] else (match[3], match[4])
        return unicodedata.normalize("NFC", letter + _ACCENTS[accent])

    text = _TEX_ACCENT.sub(accented, text)
    text = re.sub(r"\\(ss|aa|AA|ae|AE|[oOlLi])(?![A-Za-z])\s?(?:\{\})?", lambda match: _TEX_LETTERS[match[1]], text)
    return re.sub(r"\{([^{}\\$]*)\}", r"\1", text)
