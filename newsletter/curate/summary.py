"""An entry's text -> the words that its draft begins with. Pure, offline.

A text that is short already is left alone, word for word; a long one is cut to its first two sentences.
"""

from __future__ import annotations

SENTENCES = 2
SHORT = 600  # characters: about two long sentences; nothing is gained by cutting
LONGEST = 1200  # two "sentences" of a text without full stops may be its whole


def lead(text: str) -> str:
    """The text itself when it is short, else its first two sentences; never cut within a word."""
    text = " ".join(text.split())
    if len(text) <= SHORT:
        return text
    import nupunkt  # 60 ms, and only long texts need it

    sentences = [str(found).strip() for found in nupunkt.sent_tokenize(text[: 4 * LONGEST])]
    found = " ".join(sentences[:SENTENCES])
    if 0 < len(found) <= LONGEST:
        return found
    end = text.rfind(" ", 0, LONGEST)
    return text[: end if end > 0 else LONGEST].rstrip(" ,;:–-") + " …"
