r"""How people are called: "Ludwig van Beethoven" -> "van Beethoven", "Andr\'e" -> "André". Pure.

The family name is what stands last, with the particles before it, or before the comma; the names of groups stay whole.
No rule knows every culture's names: who has one name, or writes the family name first without a comma, is called by
the last word.
"""

from __future__ import annotations

import re
import unicodedata

MOST = 3  # names that are written out; more are "et al."
_PARTICLES = frozenset(
    "af al av ben bin da das de del della den der des di do dos du el ibn la le ten ter van von zu zum zur".split()
)
_JOINED = frozenset("i y e".split())  # "Solé i Puig", "Ortega y Gasset", "Costa e Silva": both names are the family's
_SUFFIXES = frozenset("jr sr ii iii iv".split())
_GROUP = re.compile(
    r"(?i)\b(team|group|collaborations?|consortium|consortia|labs?|project|initiative|network|committee|institute|"
    r"foundation|investigators|association|agency|university|company|inc|ltd|ai)\b"
)
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
            "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "r": "\u030a", "k": "\u0328"}  # fmt: skip
_ACCENT = re.compile(r"\{?\\(?:(['`^\"~=.])\s?\{?\\?([A-Za-z])\}?|([cvuHrk])(?:\s|\{)\\?([A-Za-z])\}?)\}?")
_LETTERS = {"ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "aa": "å", "AA": "Å", "ae": "æ", "AE": "Æ",
            "oe": "œ", "OE": "Œ", "i": "ı", "j": "ȷ"}  # fmt: skip
_LETTER = re.compile(r"\{?\\(ss|aa|AA|ae|AE|oe|OE|[oOlLij])(?![A-Za-z])(?:\{\}|\s)?\}?")


def from_tex(text: str) -> str:
    r"""`Andr\'e`, `M{\"u}ller`, `\L{}ukasz` with the letters that they mean; anything else stays as typed."""
    if "\\" not in text:
        return text

    def accented(match: re.Match[str]) -> str:
        accent, letter = (match[1], match[2]) if match[1] else (match[3], match[4])
        return unicodedata.normalize("NFC", letter + _ACCENTS[accent])

    text = _ACCENT.sub(accented, text)
    return _LETTER.sub(lambda match: _LETTERS[match[1]], text)


def is_group(author: str) -> bool:
    """Is this the name of a collaboration, a team, an institute?"""
    return "," not in author and _GROUP.search(author) is not None


def family(author: str) -> str:
    """The family name of a person, in the case in which it is written; a group's name whole."""
    author = " ".join(from_tex(author).split())
    if is_group(author):
        return author
    if "," in author:
        before, _, after = author.partition(",")
        if after.strip(" .").lower() not in _SUFFIXES:
            return before.strip() or author
        author = before.strip() or author
    words = [word for word in author.split(" ") if not re.fullmatch(r"\(.*\)", word)] or [author]
    while len(words) > 2 and words[-1].rstrip(".").lower() in _SUFFIXES:
        words.pop()
    at = len(words) - 1
    if at > 2 and words[at - 1] in _JOINED:
        at -= 2
    while at > 1 and words[at - 1].lower() in _PARTICLES:
        at -= 1
    return " ".join(words[at:])
