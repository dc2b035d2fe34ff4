"""What belongs to a topic: its include and exclude rules over an entry's words, each decision explained. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

FLAGS = re.IGNORECASE | re.MULTILINE


def belongs(words: Sequence[str], include: Sequence[str], exclude: Sequence[str]) -> tuple[bool, str | None]:
    """Does an entry with these words (title, summary, authors, categories) belong? And why.

    Rules are regular expressions, case-insensitive; `^` and `$` are the ends of each of the words. Without `include`,
    everything belongs that no `exclude` matches.
    """
    text = "\n".join(words)
    for rule in exclude:
        found = re.search(rule, text, FLAGS)
        if found:
            return False, f"excluded: {found[0]!r}"
    if not include:
        return True, None
    matched = [found[0] for rule in include if (found := re.search(rule, text, FLAGS))]
    if matched:
        return True, "matched: " + ", ".join(dict.fromkeys(word.lower() for word in matched))
    return False, "matched no include rule"
