"""Plain text for the text part: lines of at most 72 characters, addresses never broken.

72 is the width that RFC 3676 (4.2) and two levels of quoting leave of an 80-column screen. What a template gives is
only tidied here; what Markdown gives is laid out in `markdown`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator

WIDTH = 72
_RLM = "\u200f"  # RIGHT-TO-LEFT MARK
# Letters that are written without blanks between words: Han and Kana, with their marks (Korean has blanks).
UNSPACED = re.compile(
    "[\u2e80-\u2fdf\u3001-\u303f\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff]"
)


def wrap(text: str, first: str = "", rest: str = "", width: int = WIDTH) -> str:
    """`text` in lines of at most `width` columns, the first with the indent `first`, the others with `rest`.

    A word longer than a line stands whole on a line of its own (an address must stay one piece), unless it is of a
    script that is written without blanks and may be broken between its letters.
    """
    lines: list[str] = []
    indent, line, used = first, "", columns(first)
    width_of = len if text.isascii() else columns
    for word, follows in _words(text):
        gap = 0 if follows or not line else 1
        wide = width_of(word)
        if line and used + gap + wide > width:
            lines.append(indent + line)
            indent, line, used = rest, word, columns(rest) + wide
        else:
            line = f"{line} {word}" if gap else line + word
            used += gap + wide
    if line or not lines:
        lines.append(indent + line)
    return "\n".join(lines)


def columns(text: str) -> int:
    """How many columns a text takes: two for a wide letter, none for a mark upon one (UAX 11)."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def tidy(text: str, direction: str = "ltr") -> str:
    """What a text template gave, without blanks at line ends, with at most one empty line in a row and one line end.

    In plain text each line finds its own direction, by its first letter (UAX 9, P2). On a page that is read from the
    right, a line of such text that happens to begin with a Latin word is told so by a mark that nobody sees.
    """
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    if direction == "rtl":
        lines = [_RLM + line if _strays(line) else line for line in lines]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


def _strays(line: str) -> bool:
    if line.isascii():
        return False
    first = next((char for char in line if char.isalpha()), "")
    return unicodedata.bidirectional(first or " ") == "L" and any(
        unicodedata.bidirectional(char) in ("R", "AL") for char in line
    )


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """(word, whether it goes on with the one before it: no blank between them)."""
    for word in re.split(r"[ \t\r\n]+", text.strip(" \t\r\n")):
        if word.isascii() or not UNSPACED.search(word):
            yield word, False
        else:
            yield from ((part, bool(i)) for i, part in enumerate(_pieces(word)))


def _pieces(word: str) -> list[str]:
    """Between which a line may end: at a letter that is written without blanks, but for the rules of its punctuation.

    No line begins with a full stop or a combining mark, and none ends with an opening bracket (JIS X 4051).
    """
    pieces: list[str] = []
    open_ended = True
    for char in word:
        category = unicodedata.category(char)
        wide = bool(UNSPACED.match(char))
        joins = open_ended or category[0] == "M" or category in ("Pe", "Pf", "Po", "Cf", "Lm", "Pd")
        joins = joins or (not wide and not UNSPACED.match(pieces[-1][-1]) and category not in ("Ps", "Pi"))
        if pieces and joins:
            pieces[-1] += char
        else:
            pieces.append(char)
        open_ended = category in ("Ps", "Pi")
    return pieces


@functools.lru_cache(maxsize=4096)
def _columns_of(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
