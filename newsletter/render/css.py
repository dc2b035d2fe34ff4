"""Style sheets as a check reads them: rules, selectors, declarations, colours. As much of CSS as mails use."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_PART = re.compile(r"""(?:[^;"'(]|"[^"]*"|'[^']*'|\([^)]*\)|["'(])+""")
_STEP = re.compile(
    r"\s*(?P<combinator>[>+~])\s*|(?P<blank>\s+)|(?P<id>#[\w-]+)|(?P<class>\.[\w-]+)|\[\s*(?P<attribute>[\w-]+)"
    r"(?:\s*[~|^$*]?=\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\]\s]*))?[^\]]*\]|(?P<pseudo>::?[\w-]+)(?:\([^)]*\))?"
    r"|(?P<tag>\*|[\w-]+)"
)
_NAMED = {
    "black": "000000", "white": "ffffff", "red": "ff0000", "green": "008000", "blue": "0000ff", "gray": "808080",
    "grey": "808080", "silver": "c0c0c0", "navy": "000080", "maroon": "800000", "yellow": "ffff00", "orange": "ffa500",
    "purple": "800080", "teal": "008080", "olive": "808000", "lime": "00ff00", "aqua": "00ffff", "fuchsia": "ff00ff",
    "lightgray": "d3d3d3", "lightgrey": "d3d3d3", "darkgray": "a9a9a9", "darkgrey": "a9a9a9", "dimgray": "696969",
    "whitesmoke": "f5f5f5", "gainsboro": "dcdcdc",
}  # fmt: skip
_RGB = re.compile(r"rgba?\(\s*(\d+)\s*[,\s]\s*(\d+)\s*[,\s]\s*(\d+)\s*(?:[,/]\s*(?:1(?:\.0*)?|100%)\s*)?\)")
_HARMLESS = frozenset({":root", ":link"})  # what holds of a mail that is only read

Declaration = tuple[str, str, bool]  # property, value, is it !important?


class Element(Protocol):
    """What a selector asks of an element."""

    @property
    def tag(self) -> str: ...
    @property
    def classes(self) -> frozenset[str]: ...
    @property
    def given(self) -> Mapping[str, str]:
        """Its attributes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Compound:
    """A selector of one element: `td.words[align=left]`."""

    tag: str = ""
    ids: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    attributes: tuple[tuple[str, str | None], ...] = ()
    pseudos: tuple[str, ...] = ()

    def fits(self, element: Element) -> bool:
        """Is it this element?"""
        if self.tag not in ("", "*", element.tag) or not self.classes <= element.classes:
            return False
        if not (self.ids or self.attributes or self.pseudos):
            return True
        return (
            all(pseudo in _HARMLESS for pseudo in self.pseudos)
            and (":root" not in self.pseudos or element.tag == "html")
            and all(element.given.get("id") == name for name in self.ids)
            and all(name in element.given and value in (None, element.given[name]) for name, value in self.attributes)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Selector:
    """Compounds from left to right, with what stands between them (a blank is a descendant)."""

    text: str
    compounds: tuple[Compound, ...]
    combinators: tuple[str, ...]

    @property
    def specificity(self) -> tuple[int, int, int]:
        """Ids, classes and their like, tags (Selectors Level 4, 17)."""
        each = self.compounds
        return (
            sum(len(one.ids) for one in each),
            sum(len(one.classes) + len(one.attributes) + len(one.pseudos) for one in each),
            sum(one.tag not in ("", "*") for one in each),
        )

    def matches(self, path: Sequence[Element]) -> bool:
        """Does it mean the last element of a path from the root?"""
        return self.compounds[-1].fits(path[-1]) and self._above(path, len(path) - 1, len(self.compounds) - 1)

    def _above(self, path: Sequence[Element], place: int, done: int) -> bool:
        if not done:
            return True
        if self.combinators[done - 1] == ">":
            return (
                place > 0 and self.compounds[done - 1].fits(path[place - 1]) and self._above(path, place - 1, done - 1)
            )
        if self.combinators[done - 1] != " ":
            return False  # siblings are not looked at
        fits = self.compounds[done - 1].fits
        for i in range(place - 1, -1, -1):
            if fits(path[i]):
                if self._above(path, i, done - 1):
                    return True
                if ">" not in self.combinators[: done - 1]:
                    return False  # nothing further up can do better
        return False


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """Declarations for selectors; `media` is the query around them, in lower case, "" without one."""

    media: str
    selectors: tuple[Selector, ...]
    declarations: tuple[Declaration, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Sheet:
    """One style block. `at` are its at-rules without their blocks; `fault` is the first thing that is no CSS."""

    rules: tuple[Rule, ...] = ()
    at: tuple[str, ...] = ()
    fault: str | None = None


@functools.lru_cache(maxsize=64)
def parse(text: str) -> Sheet:
    """Read a style block."""
    text = _COMMENT.sub(" ", text)
    rules: list[Rule] = []
    at: list[str] = []
    fault: str | None = None
    for media, prelude, block in _blocks(text, ""):
        if block is None:
            at += [prelude.lstrip("@").lower()] if prelude.startswith("@") else []
            fault = fault or (None if prelude.startswith("@") else prelude)
        elif prelude.startswith("@"):
            at.append(prelude.lstrip("@").lower())
        else:
            known = tuple(filter(None, map(selector, prelude.split(","))))
            fault = fault or (None if known and prelude.strip() else prelude or "{")
            rules.append(Rule(media, known, declarations(block)))
    return Sheet(tuple(rules), tuple(at), fault)


def _blocks(text: str, media: str) -> Iterator[tuple[str, str, str | None]]:
    """(media query, what stands before a block, the block); None for what has no block, or one that never ends."""
    place = 0
    while place < len(text):
        opening = text.find("{", place)
        stop = text.find(";", place)
        if 0 <= stop < (opening if opening >= 0 else len(text)) and text[place:stop].lstrip().startswith("@"):
            yield media, text[place:stop].strip(), None
            place = stop + 1
            continue
        if opening < 0:
            rest = text[place:].strip()
            if rest:
                yield media, rest.lstrip("@"), None
            return
        closing = _closing(text, opening)
        prelude = text[place:opening].strip()
        if closing < 0 or "}" in prelude:
            yield media, (prelude or "{").lstrip("@"), None
            return
        block = text[opening + 1 : closing]
        if re.match(r"@(media|supports)\b", prelude, re.IGNORECASE):
            yield media, prelude, block
            yield from _blocks(block, " and ".join(filter(None, (media, prelude.partition(" ")[2].lower()))))
        else:
            yield media, prelude, block
        place = closing + 1


def _closing(text: str, opening: int) -> int:
    depth = 0
    for match in re.compile("[{}]").finditer(text, opening):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.start()
    return -1


@functools.lru_cache(maxsize=4096)
def declarations(text: str) -> tuple[Declaration, ...]:
    """What a block, or a style attribute, says."""
    found: list[Declaration] = []
    for part in _PART.findall(text) if re.search("[\"'(]", text) else text.split(";"):
        name, colon, value = part.partition(":")
        if colon:
            value = value.strip().lower()
            plain = re.sub(r"\s*!\s*important$", "", value)
            found.append((name.strip().lower(), plain, plain != value))
    return tuple(found)


def selector(text: str) -> Selector | None:
    """A selector; None for what is none."""
    text = text.strip()
    compounds: list[Compound] = []
    combinators: list[str] = []
    parts: list[re.Match[str]] = []
    place = 0
    while place < len(text):
        match = _STEP.match(text, place)
        if not match:
            return None
        if match["combinator"] or match["blank"]:
            if not parts:
                return None
            compounds.append(_compound(parts))
            combinators.append(match["combinator"] or " ")
            parts = []
        else:
            parts.append(match)
        place = match.end()
    if not parts:
        return None
    return Selector(text, (*compounds, _compound(parts)), tuple(combinators))


def _compound(parts: Sequence[re.Match[str]]) -> Compound:
    return Compound(
        tag=next((part["tag"].lower() for part in parts if part["tag"]), ""),
        ids=frozenset(part["id"][1:] for part in parts if part["id"]),
        classes=frozenset(part["class"][1:] for part in parts if part["class"]),
        attributes=tuple(
            (part["attribute"].lower(), part["value"].strip("\"'") if part["value"] is not None else None)
            for part in parts
            if part["attribute"]
        ),
        pseudos=tuple(part["pseudo"].lower() for part in parts if part["pseudo"]),
    )


# -- colours -------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=512)
def colour(value: str | None) -> str | None:
    """A CSS colour as `#rrggbb`; None where it is none that can be told (a name that few use, half transparent)."""
    words = (value or "").replace("!important", "").strip().lower()
    match = _RGB.match(words)
    if match:
        return "#" + "".join(f"{min(int(part), 255):02x}" for part in match.groups())
    for word in words.split():
        digits = _NAMED.get(word, word.removeprefix("#") if word.startswith("#") else "")
        if re.fullmatch("[0-9a-f]{3}", digits):
            digits = "".join(2 * char for char in digits)
        if re.fullmatch("[0-9a-f]{6}", digits):
            return f"#{digits}"
    return None
