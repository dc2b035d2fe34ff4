"""Text and HTML of strangers -> plain text; links of strangers -> absolute http(s) addresses. Pure.

What comes out holds no control character, no lone surrogate, none of our marks, and no markup.
"""

from __future__ import annotations

import hashlib
import html
import itertools
import re
import urllib.parse
from collections.abc import Iterable

import nh3

from newsletter import types

LONGEST_TEXT = 20_000  # characters of a summary
LONGEST_LINE = 1_000  # characters of a title or a name
LONGEST_URL = 2_000
LONGEST_GUID = 500
_LONGEST_HTML = 100_000
# nh3's time grows with the square of the depth: 1,000 nested tags take 2 ms, 200,000 take minutes (measured).
_MOST_TAGS = 1_000

# HTML reads the C1 controls as Windows-1252, and so do the feeds that hold them (HTML, 13.2.5.80).
_C1 = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
_DROPPED = dict.fromkeys(
    [
        *range(0x09),
        *range(0x0E, 0x20),
        0x7F,
        *range(0xD800, 0xE000),
        ord(types.MARK_OPEN),
        ord(types.MARK_CLOSE),
        0xFEFF,
        0xFFFE,
        0xFFFF,
    ]
)
_CLEAN = {**_C1, **_DROPPED, 0x0B: " ", 0x0C: " ", 0x2028: "\n", 0x2029: "\n\n"}
_DIRTY = re.compile(f"[{re.escape(''.join(map(chr, _CLEAN)))}]+")

_BLOCKS = (
    "address|article|aside|blockquote|body|center|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|header"
    "|hr|html|legend|li|main|nav|ol|p|pre|section|summary|table|tbody|tfoot|thead|tr|ul"
)
_BLOCK = re.compile(rf"</?(?:{_BLOCKS})(?:[\s/][^<>]*)?>|<br[^<>]*>\s*<br[^<>]*>", re.IGNORECASE)
_CELL = re.compile(r"<(?:br|td|th|option|button|input)(?:[\s/][^<>]*)?>", re.IGNORECASE)
# Simple inline tags, taken out before nh3 so that its depth stays small; those whose content must go stay.
_INLINE = re.compile(
    r"</?(?:a|abbr|b|big|cite|code|del|em|font|i|img|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|time|tt|u"
    r"|var)(?:\s+[a-zA-Z-]+(?:=(?:\"[^\"<>]*\"|'[^'<>]*'))?)*\s*/?>",
    re.IGNORECASE,
)
_HIDDEN = {"script", "style", "iframe", "object", "embed", "svg", "math", "noembed", "noframes", "template", "title"}
_SAFE = ":/?[]@!$&'()*+,;=%~-._"  # what may stand unescaped in an address (RFC 3986, 2), with the escapes themselves
_REFERENCE = re.compile(
    r"(?i)&(?:amp|quot|apos|hellip|[mn]dash|[lr][sd]quo|#(?:3[489]|8[2-4]\d\d)|#x(?:2[267]|20[0-3][0-9a-f]));"
)
_MARKUP = re.compile(
    r"\s*<(p|div|span|a|b|i|em|strong|ul|ol|table|h[1-6]|blockquote|figure)(?:\s[^<>]*)?>.*</\1\s*>|\s*<(?:img|br)\b[^<>]*>",
    re.IGNORECASE | re.DOTALL,
)
_DATA = re.compile(r"data:[\w/+.;=-]{0,80},[\w+/=%-]{500,}")  # an image written out, which is no text
_ONE_LINK = re.compile(r"\s*(?:<p>)?\s*<a\s[^<>]*>[^<>]*</a>\s*(?:</p>)?\s*", re.IGNORECASE)


def clean(text: str) -> str:
    """Text without characters that nobody means to write."""
    return _DIRTY.sub(lambda found: found[0].translate(_CLEAN), text)  # translating all is slow; clean is the rule


def line(text: str, longest: int = LONGEST_LINE) -> str:
    """Plain text on one line; a longer one is cut at a word."""
    return shorten(" ".join(clean(text).split()), longest)


def paragraphs(text: str, longest: int = LONGEST_TEXT) -> str:
    """Plain text whose paragraphs (blank lines between them) are kept, and all other whitespace squashed."""
    found = (" ".join(part.split()) for part in re.split(r"\n[^\S\n]*\n", clean(text.replace("\r\n", "\n"))))
    return shorten("\n\n".join(part for part in found if part), longest)


def shorten(text: str, longest: int) -> str:
    """A text of at most so many characters, cut at a word and marked with an ellipsis."""
    if len(text) <= longest:
        return text
    cut = text[: longest - 1]
    return (cut.rsplit(None, 1)[0] if re.search(r"\s", cut[-80:]) else cut).rstrip() + "…"


def from_html(markup: str, longest: int = LONGEST_TEXT) -> str:
    """HTML as plain text, block elements as paragraphs. What is not shown (scripts, styles, frames) goes."""
    if len(markup) > _LONGEST_HTML:
        markup = _DATA.sub("", markup)[:_LONGEST_HTML]
    markup = " ".join(clean(markup).split())  # several times faster than a pattern
    markup = _CELL.sub(" ", _BLOCK.sub("\n\n", markup))
    markup = _INLINE.sub("", markup)
    pieces = markup.split("<", _MOST_TAGS)
    if len(pieces) > _MOST_TAGS:
        markup = "<".join(pieces[:-1])
    # Without a tag nh3 would only write the references anew.
    text = nh3.clean(markup, tags=set(), clean_content_tags=_HIDDEN) if "<" in markup else markup
    return paragraphs(html.unescape(text), longest)


def line_from_html(markup: str, longest: int = LONGEST_LINE) -> str:
    """HTML as plain text on one line."""
    return line(from_html(markup), longest)


def unescaped(text: str) -> str:
    """Plain text without references that were escaped once too often ("Q&amp;A"); those to brackets stay."""
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


def is_markup(text: str) -> bool:
    """Is what should be plain text HTML that was escaped once too often?"""
    return bool(_MARKUP.match(text))


def is_one_link(markup: str) -> bool:
    """Is this but a link ("Comments"), and no text of its own?"""
    return bool(_ONE_LINK.fullmatch(markup))


def address(link: str, base: str = "") -> str | None:
    """An absolute http(s) address without anything that could break out of where it will stand; else None."""
    link = re.sub(r"[\t\r\n]", "", clean(link)).strip()
    if not link or re.fullmatch(r"[A-Za-z][\w+.-]*:/*", link):  # nothing, or a scheme with nothing behind it
        return None
    try:
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(base, link))
        host, port = _host(parts.hostname or ""), parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    netloc = (
        host if port is None else f"{host}:{port}"
    )  # without a user's name: it only makes one host look like another
    rest = (urllib.parse.quote(part, safe=_SAFE) for part in (parts.path or "/", parts.query, parts.fragment))
    safe = urllib.parse.urlunsplit((parts.scheme, netloc, *rest))
    return safe if len(safe) <= LONGEST_URL else None


def _host(host: str) -> str:
    """A host in ASCII, "" when it is none; raises `ValueError` where IDNA does."""
    if ":" in host:
        return f"[{host}]" if re.fullmatch(r"[0-9a-f:.]+", host) else ""
    ascii_host = host.encode("idna").decode() if not host.isascii() else host
    return ascii_host if re.fullmatch(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?", ascii_host) else ""


def name(guid: str) -> str | None:
    """What a source calls an entry, on one line; a very long one by its hash: databases index it."""
    guid = " ".join(clean(guid).split())
    return (guid if len(guid) <= LONGEST_GUID else f"sha256:{hashlib.sha256(guid.encode()).hexdigest()}") or None


def categories(terms: Iterable[str]) -> tuple[str, ...]:
    """Categories without repeats, in order."""
    return tuple(dict.fromkeys(term for term in (line(term, 100) for term in itertools.islice(terms, 50)) if term))
