"""Plain text for the text part: lines of at most 72 characters, addresses never broken.

72 is the width that RFC 3676 (4.2) and two levels of quoting leave of an 80-column screen. What a template gives is
only tidied here; what Markdown gives is laid out in `markdown`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

WIDTH = 72


def wrap(text: str, first: str = "", rest: str = "", width: int = WIDTH) -> str:
    """`text` in lines of at most `width`, the first with the indent `first`, the others with `rest`.

    A word longer than a line stands whole on a line of its own (an address must stay one piece), unless it is of a
    script that is written without blanks and may be broken anywhere.
    """
    lines: list[str] = []
    indent, line, room = first, "", width - len(first)
    for word, breaks in _words(text, max(8, (width - len(rest)) // 2), width):
        if line and (breaks or len(line) + 1 + len(word) > room):
            lines.append(indent + line)
            indent, line, room = rest, word, width - len(rest)
        else:
            line = f"{line} {word}" if line else word
    if line or not lines:
        lines.append(indent + line)
    return "\n".join(lines)


def tidy(text: str) -> str:
    """What a text template gave, without blanks at line ends, with at most one empty line in a row and one line end."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


def _words(text: str, piece: int, width: int) -> Iterator[tuple[str, bool]]:
    """(word, whether it must begin a line: it goes on with what the line before ends with)."""
    for word in re.split(r"[ \t\r\n]+", text.strip(" \t\r\n")):
        if len(word) > width // 2 and not word.isascii() and _wide(word):
            yield from ((part, bool(i)) for i, part in enumerate(_pieces(word, piece)))
        else:
            yield word, False


def _wide(word: str) -> bool:
    return sum(unicodedata.east_asian_width(char) in "WF" for char in word) * 2 > len(word)


def _pieces(word: str, length: int) -> list[str]:
    pieces, start = [], 0
    while start < len(word):
        end = start + length
        while end < len(word) and unicodedata.category(word[end])[0] in "MP":
            end += 1  # no line begins with a full stop or a combining mark
        pieces.append(word[start:end])
        start = end
    return pieces
