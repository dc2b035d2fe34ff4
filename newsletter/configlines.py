"""Where a key stands in a TOML file: `tomllib` keeps no lines, and a fault without its line is half a fault."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")


def line_of(text: str, loc: Sequence[Any]) -> int | None:
    """The line of a key in the file, or of its table where the key is missing; None where it cannot be told."""
    wanted = list(loc)
    best, depth = None, 0
    table: list[Any] = []
    counts: dict[tuple[Any, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*(\[\[?)(?=[^\[])(.*?)\]", line)
        names = _key(header[2]) if header else None
        if header and names:
            table = _place(names, array=header[1] == "[[", counts=counts)
            here = table
        elif assigned := _key(line.partition("=")[0]) if "=" in line else None:
            here = [*table, *assigned]
            if wanted[: len(here)] == here:  # the key itself, or one that holds it inline
                return number
        else:
            continue
        shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(wanted, here, strict=False)))
        if shared > depth:
            best, depth = number, shared
    return best


def _key(text: str) -> list[str] | None:
    """The parts of a dotted key, or None when the text is none."""
    parts = []
    while text:
        found = _KEY.match(text)
        if not found:
            return None
        parts.append(found[1].strip("\"'"))
        text = text[found.end() :]
        if text and not text.startswith("."):
            return None
        text = text[1:]
    return parts or None


def _place(names: list[str], *, array: bool, counts: dict[tuple[Any, ...], int]) -> list[Any]:
    """Where a table header stands: ["newsletter", 0, "topic", 1]."""
    place: list[Any] = []
    for i, name in enumerate(names):
        place.append(name)
        key = tuple(place)
        if i == len(names) - 1 and array:
            counts[key] = counts.get(key, -1) + 1
        if key in counts:
            place.append(counts[key])
    return place
