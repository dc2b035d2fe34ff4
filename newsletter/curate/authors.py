"""The words that a summary begins with: "Liu", "Liu and Chen", "Liu et al.", "The ATLAS Collaboration". Pure."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from newsletter import names
from newsletter.curate import credited

NOBODY = "The authors"


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """Who did it: the phrase, how they are called the second time, and whether their verbs are plural."""

    phrase: str
    again: str
    plural: bool
    known: bool


def subject(authors: Sequence[str]) -> Subject:
    """The author phrase for these author fields; "The authors" for none."""
    found = credited.read(authors)
    if not found.named:
        return Subject(NOBODY, "They", plural=True, known=False)
    called = [credited.the(each.name) if each.group else each.name for each in found.named]
    if found.others or len(called) > names.MOST:
        return Subject(f"{_capital(called[0])} et al.", "They", plural=True, known=True)
    called[1:] = [
        re.sub(r"^The ", "the ", name) if each.group else name
        for name, each in zip(called[1:], found.named[1:], strict=True)
    ]
    phrase = _capital(" and ".join(filter(None, (", ".join(called[:-1]), called[-1]))))
    if len(called) > 1:
        return Subject(phrase, "They", plural=True, known=True)
    if found.named[0].group and _MEMBERS.search(phrase):
        return Subject(phrase, "They", plural=True, known=True)
    return Subject(phrase, "It" if found.named[0].group else phrase, plural=False, known=True)


_MEMBERS = re.compile(
    r"(?i)\b(?:investigators|authors|researchers|scientists|developers|contributors|maintainers|editors|bloggers|"
    r"members)$"
)


# What would make the phrase another one: "Liu" is not "Liu and Smith", "Liu's rival", or "Liukang".
_OTHERS = re.compile(r"\w|['’]s\b|\s*(?:[&(]|,\s*(?:[^\W\d_a-z]|whose?\b)|and\b|or\b|et al\b)")


def begins(text: str, found: Subject) -> bool:
    """Does a text begin with the phrase? "Liu and colleagues" says the same as "Liu et al."."""
    if found.phrase.endswith(" et al."):
        name = found.phrase.removesuffix(" et al.")
        variants = [f"{name} et al.", f"{name} and colleagues", f"{name} and co-authors"]
    else:
        variants = [found.phrase]
    lowered = text.casefold()
    for variant in variants:
        if lowered.startswith(variant.casefold()) and not _OTHERS.match(text[len(variant) :]):
            return True
    return False


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
