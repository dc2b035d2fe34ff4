"""What of a mail's HTML and CSS the mail programs lack, by caniemail's data.

    caniemail.json   a feature, how it is found in a mail, which clients lack it (written by .ci/caniemail.py)
    baseline.toml    the features that a mail may use all the same, each with what readers see who lack it

Pure, but for the two files, which are read once.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import json
import re
import tomllib
from collections.abc import Callable, Iterator

from newsletter.render import css, page

_FUNCTION = re.compile(r"([a-z-]+)\(")
_UNIT = re.compile(r"\d(%|[a-z]+)")


@dataclasses.dataclass(frozen=True, slots=True)
class Feature:
    """Something that some clients lack. `how` says how it is found: `property border-radius`, `element ul ol dl`."""

    slug: str
    title: str
    how: tuple[str, ...]
    lacking: tuple[str, ...]


@functools.cache
def features() -> tuple[Feature, ...]:
    """All that are looked for."""
    data = json.loads(importlib.resources.files(__package__).joinpath("caniemail.json").read_text("utf-8"))
    clients = data["clients"]
    return tuple(
        Feature(slug, title, tuple(how.split()), tuple(clients[i] for i in lacking))
        for slug, (title, how, lacking) in data["features"].items()
    )


@functools.cache
def baseline() -> dict[str, str]:
    """The features that are no finding: slug -> why."""
    text = importlib.resources.files(__package__).joinpath("baseline.toml").read_text("utf-8")
    return {slug: str(why) for slug, why in tomllib.loads(text).items()}


def lacked(seen: page.Page) -> list[Feature]:
    """The features of a mail that some client lacks, the baseline's among them."""
    used = _used(seen)
    return [feature for feature in features() if _is_used(feature.how, used)]


@dataclasses.dataclass
class _Used:
    """Everything that a mail uses, by kind."""

    property: set[str] = dataclasses.field(default_factory=set)
    value: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    word: set[str] = dataclasses.field(default_factory=set)
    function: set[str] = dataclasses.field(default_factory=set)
    unit: set[str] = dataclasses.field(default_factory=set)
    at: list[str] = dataclasses.field(default_factory=list)
    selector: set[str] = dataclasses.field(default_factory=set)
    element: set[str] = dataclasses.field(default_factory=set)
    attribute: set[str] = dataclasses.field(default_factory=set)
    link: set[str] = dataclasses.field(default_factory=set)

    def declare(self, said: tuple[css.Declaration, ...]) -> None:
        for name, value, important in said:
            self.property.add(name)
            self.value.add((name, value))
            self.word.update(re.split(r"[\s,]+", value))
            if important:
                self.word.add("!important")
            if "(" in value:
                self.function.update(_FUNCTION.findall(value))
            self.unit.update(_UNIT.findall(value) if "#" not in value else _UNIT.findall(re.sub(r"#\w+", "", value)))


def _used(seen: page.Page) -> _Used:
    found = _Used(element=set(seen.elements), attribute=set(seen.attributes))
    for style in seen.styles:
        found.declare(css.declarations(style))
    for block in seen.blocks:
        sheet = css.parse(block)
        found.at += sheet.at
        for rule in sheet.rules:
            found.declare(rule.declarations)
            found.selector.update(kind for selector in rule.selectors for kind in _kinds(selector))
            if len(rule.selectors) > 1:
                found.selector.add("grouping")
    found.link = {"#" if href.startswith("#") else href.partition(":")[0].lower() + ":" for href, _ in seen.links}
    return found


@functools.lru_cache(maxsize=512)
def _kinds(selector: css.Selector) -> frozenset[str]:
    return frozenset(_kinds_of(selector))


def _kinds_of(selector: css.Selector) -> Iterator[str]:
    names = {" ": "descendant", ">": "child", "+": "adjacent-sibling", "~": "general-sibling"}
    yield from (names[each] for each in selector.combinators)
    for one in selector.compounds:
        yield from one.pseudos
        if one.tag:
            yield "universal" if one.tag == "*" else "type"
        if one.ids:
            yield "id"
        if one.classes:
            yield "class"
        if len(one.classes) > 1:
            yield "chaining"
        if one.attributes:
            yield "attribute"


def _is_used(how: tuple[str, ...], used: _Used) -> bool:
    kind, *names = how
    return _TESTS[kind](names, used)


_TESTS: dict[str, Callable[[list[str], _Used], bool]] = {
    "property": lambda names, used: not used.property.isdisjoint(names),
    "value": lambda names, used: (names[0], names[1]) in used.value,
    "word": lambda names, used: not used.word.isdisjoint(names),
    "function": lambda names, used: not used.function.isdisjoint(names),
    "unit": lambda names, used: names[0] in used.unit,
    "at": lambda names, used: any(at.startswith(names[0]) and all(word in at for word in names[1:]) for at in used.at),
    "selector": lambda names, used: names[0] in used.selector,
    "element": lambda names, used: not used.element.isdisjoint(names),
    "attribute": lambda names, used: not used.attribute.isdisjoint(names),
    "link": lambda names, used: names[0] in used.link,
}
