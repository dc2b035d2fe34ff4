"""The words that a summary begins with: "Liu", "Liu and Chen", "Liu et al.", "The ATLAS Collaboration". Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from newsletter import names

NOBODY = "The authors"


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """Who did it: the phrase, how they are called the second time, and whether their verbs are plural."""

    phrase: str
    again: str
    plural: bool
    known: bool


def subject(authors: Sequence[str]) -> Subject:
    """The author phrase for these names; "The authors" for none."""
    people = [author for author in authors if author.strip()]
    phrase = names.joined(people)
    if not phrase:
        return Subject(NOBODY, "They", plural=True, known=False)
    if len(people) > 1:
        return Subject(_capital(phrase), "They", plural=True, known=True)
    if names.is_group(people[0]):
        the = phrase if phrase.lower().startswith("the ") else f"The {phrase}"
        group = the if "collaboration" in phrase.lower() or "consortium" in phrase.lower() else _capital(phrase)
        return Subject(group, "It", plural=False, known=True)
    return Subject(_capital(phrase), _capital(phrase), plural=False, known=True)


def begins(text: str, found: Subject) -> bool:
    """Does a text begin with the phrase? "Liu and colleagues" says the same as "Liu et al."."""
    if found.phrase.endswith(" et al."):
        name = found.phrase.removesuffix(" et al.")
        variants = [f"{name} et al.", f"{name} and colleagues", f"{name} and co-authors"]
    else:
        variants = [found.phrase]
    lowered = text.casefold()
    for variant in variants:
        rest = lowered[len(variant) : len(variant) + 1]
        if lowered.startswith(variant.casefold()) and not rest.isalnum():
            return True
    return False


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
