"""Signs that spam filters count, as far as a newsletter may show them by mistake. Few, and each with its reason.

The names in brackets are SpamAssassin's rules of the same kind; `check --spam` asks SpamAssassin itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SHORTENERS = frozenset(
    "bit.ly buff.ly cutt.ly goo.gl is.gd lnkd.in ow.ly rb.gy rebrand.ly s.id shorturl.at t.co t.ly tiny.cc tinyurl.com "
    "tr.im v.gd".split()
)
_REPLY = re.compile(r"(re|fwd?|aw|wg|tr)\s*:", re.IGNORECASE)
_MONEY = re.compile(r"[$€£]\s?\d[\d,.]*\s?(?:million|billion|mn|bn|m\b)|[$€£]{2,}", re.IGNORECASE)
_SHOUTED = re.compile(r"\b(?:FREE|WINNER|URGENT|ACT NOW|BUY NOW|CLICK HERE|LIMITED TIME|GUARANTEED)\b")
_PHRASES = re.compile(
    r"\b(?:click here|act now|buy now|order now|limited time offer|100% free|risk[- ]free|no obligation|"
    r"earn extra (?:cash|money)|make money (?:fast|online)|dear (?:friend|customer|sir)|"
    r"you (?:have|were) (?:won|selected)|this is not spam|lowest price|satisfaction guaranteed|once in a lifetime)\b",
    re.IGNORECASE,
)
_BANGS = re.compile(r"!{3,}|(?:!\s*){5,}|\?!\?")


def in_subject(text: str) -> Iterator[str]:
    """What is like spam in a subject."""
    if _REPLY.match(text.strip()):
        yield "pretends to be a reply or forwarded [FAKE_REPLY]"
    if text.count("!") > 1 or "?!" in text:
        yield "has more than one exclamation mark [PLING_PLING]"
    if _MONEY.search(text):
        yield "speaks of sums of money [ADVANCE_FEE]"
    if _SHOUTED.search(text):
        yield "shouts what offers shout [SUBJ_ALL_CAPS]"


def in_text(text: str) -> Iterator[str]:
    """What is like spam in the words of a mail: each sign once."""
    phrases = sorted({match[0].casefold() for match in _PHRASES.finditer(text)})
    if phrases:
        yield f"“{'”, “'.join(phrases[:3])}” {'is a phrase' if len(phrases) == 1 else 'are phrases'} of spam"
    if _BANGS.search(text):
        yield "three exclamation marks stand in a row"


def shortener(host: str) -> bool:
    """Does this host only send on to others?"""
    return host.removeprefix("www.") in SHORTENERS
