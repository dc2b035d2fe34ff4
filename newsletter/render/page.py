"""What a check wants to know of an HTML mail: headings, links, colours, what acts. Reads inline styles only."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser

_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_ACTIVE = frozenset(
    "script iframe frame frameset object embed applet form input button select textarea base audio video svg math "
    "canvas portal link".split()
)
_LINKING = ("href", "src", "srcset", "action", "background", "poster")
_INVISIBLE = " \t\r\n\u00a0\u200c\u034f\u2007\u00ad\ufeff\u200b"
_NAMED = {
    "black": "000000", "white": "ffffff", "red": "ff0000", "green": "008000", "blue": "0000ff", "gray": "808080",
    "grey": "808080", "silver": "c0c0c0", "navy": "000080", "maroon": "800000", "yellow": "ffff00",
}  # fmt: skip
_LINK_BLUE = (0, 0, 238)  # what clients give a link without a colour of its own

Colour = tuple[int, int, int]


@dataclasses.dataclass
class Page:
    """What was seen. `links` are (address, words); `pale` are (contrast ratio, words)."""

    lang: str = ""
    title: str = ""
    words: str = ""
    dark: bool = False
    headings: list[int] = dataclasses.field(default_factory=list)
    links: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    without_alt: list[str] = dataclasses.field(default_factory=list)
    active: list[str] = dataclasses.field(default_factory=list)
    pale: list[tuple[float, str]] = dataclasses.field(default_factory=list)


def read(html: str) -> Page:
    """Everything there is to know of one HTML document."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    page = reader.page
    page.words = " ".join("".join(reader.said).split())
    page.dark = "prefers-color-scheme" in reader.styles and reader.declares_dark
    return page


@dataclasses.dataclass(frozen=True, slots=True)
class _Open:
    tag: str
    colour: Colour
    background: Colour
    hidden: bool


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self.said: list[str] = []
        self.styles = ""
        self.declares_dark = False
        self._stack = [_Open("", (0, 0, 0), (255, 255, 255), hidden=False)]
        self._link: tuple[str, list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._note_active(tag, given)
        if tag == "html":
            self.page.lang = given.get("lang", "")
        elif tag == "meta" and given.get("name", "").lower() == "color-scheme":
            self.declares_dark = "dark" in given.get("content", "")
        elif re.fullmatch("h[1-6]", tag):
            self.page.headings.append(int(tag[1]))
        elif tag == "img":
            self._image(given)
        elif tag == "a" and "href" in given:
            self._close_link()
            self._link = (given["href"], [])
        if tag not in _VOID:
            self._push(tag, given)
        if tag in ("p", "br", "td", "div", "li", "h1", "h2", "h3", "tr"):
            self.said.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._close_link()
        for i in range(len(self._stack) - 1, 0, -1):
            if self._stack[i].tag == tag:
                del self._stack[i:]
                break

    def handle_data(self, data: str) -> None:
        top = self._stack[-1]
        if top.tag == "title":
            self.page.title += data
        elif top.tag == "style":
            self.styles += data
        elif not top.hidden:
            self.said.append(data)
            if self._link:
                self._link[1].append(data)
            ratio = contrast(top.colour, top.background)
            if ratio < 4.5 and data.strip(_INVISIBLE):
                self.page.pale.append((ratio, data))

    def close(self) -> None:
        super().close()
        self._close_link()

    def _close_link(self) -> None:
        if self._link:
            self.page.links.append((self._link[0], "".join(self._link[1])))
            self._link = None

    def _image(self, given: dict[str, str]) -> None:
        if "alt" not in given:
            self.page.without_alt.append(given.get("src", ""))
        if self._link:
            self._link[1].append(given.get("alt", ""))

    def _note_active(self, tag: str, given: dict[str, str]) -> None:
        if tag in _ACTIVE or (tag == "meta" and given.get("http-equiv", "").lower() in ("refresh", "set-cookie")):
            self.page.active.append(f"<{tag}>")
        for name, value in given.items():
            scheme = re.sub(r"[\x00-\x20]", "", value).partition(":")[0].lower()
            if name.startswith("on"):
                self.page.active.append(f"{name} on <{tag}>")
            elif name in _LINKING and scheme in ("javascript", "vbscript", "data", "file"):
                self.page.active.append(f"a {scheme}: address in {name}")

    def _push(self, tag: str, given: dict[str, str]) -> None:
        top = self._stack[-1]
        style = dict(re.findall(r"([a-z-]+)\s*:\s*([^;]+)", given.get("style", "").lower()))
        inherits = style.get("color", "").strip() == "inherit"
        colour = _LINK_BLUE if tag == "a" and not inherits else top.colour
        hidden = (
            top.hidden or "hidden" in given or style.get("display", "").strip() == "none" or tag in ("head", "style")
        )
        backgrounds = (style.get("background-color"), style.get("background"), given.get("bgcolor"))
        self._stack.append(
            _Open(
                tag,
                parse_colour(style.get("color")) or colour,
                next(filter(None, map(parse_colour, backgrounds)), top.background),
                hidden,
            )
        )


def parse_colour(value: str | None) -> Colour | None:
    """The red, green and blue of a CSS colour; None where it is none that can be told."""
    words = (value or "").replace("!important", "").strip().lower()
    for word in words.split():
        digits = _NAMED.get(word, word.removeprefix("#") if word.startswith("#") else "")
        if re.fullmatch("[0-9a-f]{3}", digits):
            digits = "".join(2 * char for char in digits)
        if re.fullmatch("[0-9a-f]{6}", digits):
            return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
    match = re.fullmatch(r"rgba?\((\d+),\s*(\d+),\s*(\d+)(?:,\s*1(?:\.0)?)?\)", words)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def contrast(one: Colour, other: Colour) -> float:
    """The contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio" and "relative luminance")."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
