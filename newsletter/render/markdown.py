"""The drafts' Markdown -> tokens -> HTML or plain text (CommonMark by markdown-it-py, without raw HTML).

Safe by construction: every character of text is escaped, only http, https and mailto become links, images are left
out (their words stay), and headings become bold paragraphs so that the levels of the page around them never skip. HTML
comes without style; `styled` puts in what a template chooses.
"""

from __future__ import annotations

import dataclasses
import functools
import html as html_library
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import markdown_it
from markdown_it.common import normalize_url
from markdown_it.token import Token

from newsletter import types
from newsletter.render import language
from newsletter.render import text as plain_text

MAX_CHARS = 100_000  # of one text; a mail holds about as much in all
MAX_BRACKETS = 2_000  # of one text; each may open a link, and the parser looks ahead from each
MAX_URL = 2_000  # of a bare address; longer ones stay text
_UNWANTED = re.compile(
    f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff{types.MARK_OPEN}{types.MARK_CLOSE}]"
)
_WEB = re.compile(r"https?://[^\s/?#@<>\"\\\[\]]+(?:[/?#][^\s<>\"\\]*)?", re.IGNORECASE)
_MAIL = re.compile(r"mailto:[^\s<>\"\\@?]+@[^\s<>\"\\@?]+(?:\?[^\s<>\"\\]*)?", re.IGNORECASE)
_BARE = re.compile(r"https?://[^\s<>\"\u201c\u201d]+", re.IGNORECASE)
_BLOCKS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
}
_SPANS = {"strong": "strong", "em": "em"}
_STYLED = re.compile(r"<(p|a|strong|em|ul|ol|li|blockquote|pre|code|hr)( class=\"([\w-]+)\")?(?=[ >])")


class _Parser(markdown_it.MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        """Every link is parsed; which of them is kept is decided when it is written."""
        return True


_PARSER = _Parser("commonmark", {"html": False})
_PARSER_OF_BRACKETS = _Parser("commonmark", {"html": False}).disable(["link", "image", "reference"])
_SHORT = 4_000  # characters: as long as entries are


@dataclasses.dataclass(frozen=True, slots=True)
class Handle:
    """What the eye lands on at the start of a text: its first `end` characters, a link where there is a `url`."""

    end: int
    url: str | None


def clean(text: str) -> str:
    """A text without what must not stand in a mail: control characters, halves of characters, our own marks."""
    return _UNWANTED.sub("", text)


def escaped(text: str) -> str:
    """A text as it stands in HTML, also inside a double-quoted attribute."""
    return html_library.escape(clean(text), quote=False).replace('"', "&quot;")


@functools.lru_cache(maxsize=1024)
def safe_url(url: str | None) -> str | None:
    """`url`, percent-encoded where it must be, when it is a whole http, https or mailto address; else None."""
    if not url:
        return None
    try:
        normal = normalize_url.normalizeLink(clean(url).strip())
    except ValueError:
        return None
    return normal if _WEB.fullmatch(normal) or _MAIL.fullmatch(normal) else None


def linked(text: str) -> str:
    """A plain text as it stands in HTML, its bare web addresses as links: where they end, a sentence may go on."""
    out: list[str] = []
    start = 0
    for match in _BARE.finditer(text):
        url = _without_punctuation(match[0]) if len(match[0]) <= MAX_URL else ""
        if _WEB.fullmatch(url):
            out += (escaped(text[start : match.start()]), f'<a href="{escaped(url)}">{escaped(url)}</a>')
            start = match.start() + len(url)
    return "".join(out) + escaped(text[start:])


def _without_punctuation(url: str) -> str:
    while url[-1] in ".,;:!?)]}'’*" and not (url[-1] == ")" and url.count("(") >= url.count(")")):
        url = url[:-1]
    return url


def parse(text: str) -> Sequence[Token]:
    """The tokens of a Markdown text, which are only to be read: a text is parsed once for all editions and checks."""
    return _parse_short(text) if len(text) <= _SHORT else _parse_long(text)


def _parse(text: str) -> Sequence[Token]:
    text = clean(text)[:MAX_CHARS]
    return tuple((_PARSER_OF_BRACKETS if text.count("[") > MAX_BRACKETS else _PARSER).parse(text))


_parse_short, _parse_long = functools.lru_cache(1024)(_parse), functools.lru_cache(4)(_parse)


def links(tokens: Sequence[Token]) -> list[str]:
    """Where the links of a text lead, as written, safe or not."""
    return [str(child.attrs.get("href", "")) for child in _inline(tokens) if child.type == "link_open"]


def images(tokens: Sequence[Token]) -> list[str]:
    """Where the images of a text lie."""
    return [str(child.attrs.get("src", "")) for child in _inline(tokens) if child.type == "image"]


def words(tokens: Sequence[Token]) -> str:
    """The words alone, on one line."""
    parts = []
    for token in tokens:
        if token.type == "inline":
            parts.append("".join(_said(child) for child in token.children or []))
        elif token.type in ("fence", "code_block"):
            parts.append(token.content)
    return clean(" ".join(" ".join(parts).split()))


def _inline(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield from token.children or ()


def _said(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content


# -- HTML ------------------------------------------------------------------------------------------------------


def lead(tokens: Sequence[Token]) -> tuple[str, list[tuple[int, int]]]:
    """(the plain text that a first paragraph begins with, up to a link or a break; what in it may not be cut)."""
    if len(tokens) < 2 or tokens[0].type != "paragraph_open":
        return "", []
    said, whole, depth, began = "", [], 0, 0
    for child in tokens[1].children or ():
        if child.type in ("text", "softbreak", "code_inline"):
            start = len(said)
            said += _said(child)
            if child.type == "code_inline" and not depth:
                whole.append((start, len(said)))
        elif child.nesting and child.type.rpartition("_")[0] in _SPANS:
            began = len(said) if child.nesting == 1 and not depth else began
            depth += child.nesting
            if not depth:
                whole.append((began, len(said)))
        else:
            break
    said = said[:began] if depth else said
    address = _BARE.search(said)
    return (said[: address.start()] if address else said), whole


def snap(end: int, whole: Sequence[tuple[int, int]]) -> int:
    """`end`, moved to where what may not be cut is over."""
    return next((stop for start, stop in whole if start < end < stop), end)


def html(tokens: Sequence[Token], handle: Handle | None = None, *, page: str = "ltr") -> str:
    """The HTML of a text; its beginning may be the handle of an entry.

    A paragraph that is read from the other side than the `page` says so, and stands at that side.
    """
    out: list[str] = []
    own = page
    for i, token in enumerate(tokens):
        kind, _, _ = token.type.rpartition("_")
        if token.type == "inline":
            own = language.side(_letters(token), page)
            said = _inline_html(token.children or [], handle if i == 1 else None, own)
            alone = own != page and tokens[i - 1].hidden  # an item's words: its sign stays on the side of the list
            out.append(f'<span dir="{own}">{said}</span>' if alone else said)
        elif token.type in ("fence", "code_block"):
            out.append(f"<pre{_side(page, 'ltr')}><code>{linked(token.content.rstrip())}</code></pre>")
        elif token.type == "hr":
            out.append("<p>* * *</p>")
        elif kind == "heading":
            if token.nesting == 1:
                out.append(f"<p{_side(page, language.side(_letters(tokens[i + 1]), page))}><strong>")
            else:
                out.append("</strong></p>")
        elif kind in _BLOCKS and not token.hidden:
            begins = kind == "paragraph" and token.nesting == 1
            turned = _side(page, language.side(_letters(tokens[i + 1]), page)) if begins else ""
            out.append(_block_html(token, _BLOCKS[kind], turned))
    return "".join(out)


def _letters(token: Token) -> str:
    return "".join(child.content for child in token.children or () if child.type == "text")


def _side(page: str, own: str) -> str:
    """The attributes of what is read from its own side on a page of the other; `align` for clients without logic."""
    return "" if own == page else f' dir="{own}" align="{"right" if own == "rtl" else "left"}"'


def quiet(text: str, page: str = "ltr") -> str:
    """A line of parts between middle dots as HTML: each part keeps its own direction."""
    if page == "ltr" and text.isascii():
        return linked(text)
    parts = text.split(" · ")
    shown = ((linked(part), language.side(part, page)) for part in parts)
    return " · ".join(part if own == page else f'<span dir="{own}">{part}</span>' for part, own in shown)


def _block_html(token: Token, tag: str, turned: str) -> str:
    if token.nesting == -1:
        return f"</{tag}>"
    start = token.attrs.get("start")
    given = f' start="{int(start)}"' if tag == "ol" and start is not None else ""
    return f"<{tag}{given}{turned}>"


def _inline_html(children: Sequence[Token], handle: Handle | None, own: str) -> str:
    out: list[str] = []
    place, depth, closed = 0, 0, True
    links_open: list[str] = []
    ending = ""
    if handle:
        closed = False
        url = f' href="{escaped(handle.url)}"' if handle.url else ""
        tag = "a" if handle.url else "strong"
        side = language.side("".join(map(_said, children))[: handle.end], own)
        turned = "" if side == own else f' dir="{side}"'
        out.append(f'<{tag} class="handle"{url}{turned}>')
        ending = f"</{tag}>"
    for child in children:
        kind, _, _ = child.type.rpartition("_")
        said = _said(child)
        write = linked if closed and not any(links_open) else escaped
        if child.type in ("text", "softbreak"):
            cut = handle.end - place if handle and not closed and not depth else -1
            if 0 <= cut <= len(said):
                out += (escaped(said[:cut]), ending, _isolated(said[cut:], linked, own))
                closed = True
            else:
                out.append(_isolated(said, write, own) if closed else write(said))
            place += len(said)
        elif child.type == "code_inline":
            out.append(f"<code>{write(said)}</code>" if own == "ltr" else f'<code dir="ltr">{write(said)}</code>')
            place += len(said)
        elif child.type == "hardbreak":
            out.append("<br>")
        elif child.type == "image":
            out.append(escaped(said))
        elif kind in _SPANS:
            out.append(f"<{'/' if child.nesting < 0 else ''}{_SPANS[kind]}>")
            depth += child.nesting
        elif child.type == "link_open":
            href = safe_url(str(child.attrs.get("href", "")))
            out.append(f'<a href="{escaped(href)}">' if href else "")
            links_open.append("</a>" if href else "")
        elif child.type == "link_close":
            out.append(links_open.pop() if links_open else "")
        if handle and not closed and not depth and place >= handle.end:
            out.append(ending)
            closed = True
    return "".join(out)


def _isolated(text: str, write: Callable[[str], str], own: str) -> str:
    """A text in a paragraph; in one that is read from the right, foreign names and numbers keep their own order."""
    if own == "ltr":
        return write(text)
    return "".join(
        f'<span dir="ltr">{write(piece)}</span>' if foreign else write(piece) for piece, foreign in language.runs(text)
    )


def styled(html_text: str, styles: Mapping[str, str]) -> str:
    """HTML of `html` with the style of each tag put in: `{"p": "margin:0", "handle": "font-weight:bold"}`.

    The keys are tags, and the class `handle`, which beats its tag.
    """

    def one(match: re.Match[str]) -> str:
        style = styles.get(match[3] or "") or styles.get(match[1])
        return f'{match[0]} style="{escaped(style)}"' if style else match[0]

    return _STYLED.sub(one, html_text)


# -- plain text ------------------------------------------------------------------------------------------------


def plain(tokens: Sequence[Token], width: int = plain_text.WIDTH) -> str:
    """A text in lines of at most `width`: an empty line between paragraphs, links as `words <address>`."""
    blocks: list[str] = []
    rest: list[str] = []  # the indents of what is open
    first: str | None = None  # an item's sign, until its first line is written
    counters: list[int | None] = []
    loose, begins = True, False
    for token in tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            counters.append(int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None)
            begins = not rest
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            counters.pop()
        elif token.type == "list_item_open":
            number = counters[-1]
            sign = "- " if number is None else f"{number}. "
            counters[-1] = None if number is None else number + 1
            first = "".join(rest) + sign if first is None else first + sign
            rest.append(" " * len(sign))
        elif token.type == "blockquote_open":
            first = None if first is None else first + "> "
            rest.append("> ")
        elif token.type in ("list_item_close", "blockquote_close"):
            if first is not None and token.type == "list_item_close":
                blocks.append(first.rstrip())
                first, begins = None, False
            rest.pop()
        elif token.type == "paragraph_open":
            loose = not token.hidden
        elif token.type in ("inline", "fence", "code_block", "hr"):
            indent = "".join(rest)
            lines = _lines(token, first or indent, indent, width)
            joins = not loose and first is not None and not begins
            blocks.append(lines if joins or not blocks else f"\n{lines}")
            first, loose, begins = None, True, False
    return clean("\n".join(blocks))


def _lines(token: Token, first: str, rest: str, width: int) -> str:
    if token.type == "hr":
        return f"{first}* * *"
    if token.type != "inline":
        lines = token.content.rstrip("\n").split("\n")
        code = [_code_line(line, f"{first if not i else rest}    ", rest, width) for i, line in enumerate(lines)]
        return "\n".join(code)
    paragraphs = language.isolated(_inline_plain(token.children or [])).split("\n")
    wrapped = [plain_text.wrap(part, first if not i else rest, rest, width) for i, part in enumerate(paragraphs)]
    return "\n".join(wrapped)


def _code_line(line: str, first: str, rest: str, width: int) -> str:
    if len(first) + len(line) <= width:
        return f"{first}{line}".rstrip()
    blanks = line[: len(line) - len(line.lstrip())][: width // 2]
    return plain_text.wrap(line, first + blanks, f"{rest}    {blanks}", width)


def _inline_plain(children: Sequence[Token]) -> str:
    out: list[str] = []
    opened: list[tuple[str | None, int]] = []
    for child in children:
        if child.type == "link_open":
            opened.append((safe_url(str(child.attrs.get("href", ""))), len(out)))
        elif child.type == "link_close" and opened:
            url, start = opened.pop()
            said = "".join(out[start:]).strip()
            if url and safe_url(said) == url:
                out[start:] = [url]
            elif url and said != url.removeprefix("mailto:"):
                out.append(f" <{url}>")
        elif child.type == "hardbreak":
            out.append("\n")
        else:
            out.append(_said(child))
    return clean("".join(out))
