"""What a check wants to know of an HTML mail: headings, links, colours in light and dark, widths, what acts.

Styles are those of the mail itself: style blocks and style attributes, with their precedence (CSS Cascade 4, 6).
Of media queries one is asked: which colour scheme the reader wants. What scripts and siblings decide is not seen.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping
from html.parser import HTMLParser

from newsletter import colours
from newsletter.render import css

_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_BREAKS = frozenset("p br td div li h1 h2 h3 tr".split())
_ACTIVE = frozenset(
    "script iframe frame frameset object embed applet form input button select textarea base audio video svg math "
    "canvas portal link".split()
)
_LINKING = ("href", "src", "srcset", "action", "background", "poster")
_INVISIBLE = " \t\r\n\u00a0\u200c\u034f\u2007\u00ad\ufeff\u200b"
_HEADING = re.compile("h[1-6]")
_PIXELS = re.compile(r"([\d.]+)(?:px)?")
_REMOTE = re.compile(r"\b(?:url|src)\s*\(", re.IGNORECASE)
_LOOKS = frozenset({"color", "background-color", "background", "display", "max-width", "width", "font-size"})
SCHEMES = ("light", "dark")


@dataclasses.dataclass
class Page:
    """What was seen.

    `links` are (address, words), `images` (address, alt or None, is it a dot?), `pale` (scheme, contrast, words);
    `unbounded` and `small` are the first words that run over the whole screen, and that are smaller than 12 pixels.
    """

    lang: str = ""
    title: str = ""
    words: str = ""
    dark: bool = False
    headings: list[int] = dataclasses.field(default_factory=list)
    links: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    images: list[tuple[str, str | None, bool]] = dataclasses.field(default_factory=list)
    active: list[str] = dataclasses.field(default_factory=list)
    pale: list[tuple[str, float, str]] = dataclasses.field(default_factory=list)
    unbounded: str = ""
    small: str = ""
    bare_tables: int = 0
    hidden: str = ""
    blocks: list[str] = dataclasses.field(default_factory=list)
    styles: dict[str, None] = dataclasses.field(default_factory=dict)
    elements: dict[str, None] = dataclasses.field(default_factory=dict)
    attributes: dict[str, None] = dataclasses.field(default_factory=dict)


@functools.lru_cache(maxsize=8)
def read(html: str) -> Page:
    """Everything there is to know of one HTML document; it is only to be read, since the next who asks gets it too."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    page = reader.page
    page.words = " ".join("".join(reader.said).split())
    page.hidden = " ".join("".join(reader.unsaid).split())
    page.dark = reader.declares_dark and any(
        "prefers-color-scheme" in rule for block in page.blocks for rule in css.parse(block).at
    )
    if not page.dark:
        page.pale = [each for each in page.pale if each[0] == "light"]
    return page


@dataclasses.dataclass(frozen=True, slots=True)
class _Open:
    """An element that is open: what a selector asks, and how text in it looks, in light and in dark."""

    tag: str
    classes: frozenset[str]
    given: Mapping[str, str]
    inks: tuple[str, str]
    papers: tuple[str, str]
    ratios: tuple[float, float]
    hidden: bool
    bounded: bool
    size: float


@dataclasses.dataclass(frozen=True, slots=True)
class _Rule:
    """A rule that changes how text looks. `scheme`: whom it is for, "" for all; `place`: its turn among all."""

    scheme: str
    place: int
    selector: css.Selector
    looks: tuple[css.Declaration, ...]


# A reader who wants the dark, and a mail that says it can: what a client shows where the mail says nothing.
_INKS, _PAPERS, _LINK_INKS = ("#000000", "#ffffff"), ("#ffffff", "#121212"), ("#0000ee", "#9e9eff")
MOST_WIDTH = 720  # pixels: at 18 px some 80 characters, what WCAG 2.2 (1.4.8) takes for the most that reads well
LEAST_SIZE = 12


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self.said: list[str] = []
        self.unsaid: list[str] = []
        self.declares_dark = False
        self._rules: list[_Rule] = []
        self._near: dict[tuple[str, frozenset[str]], list[int]] = {}
        root = _Open("", frozenset(), {}, _INKS, _PAPERS, (21.0, 21.0), hidden=False, bounded=False, size=16)
        self._stack = [root]
        self._links: list[tuple[str, list[str]]] = []

    # -- what HTMLParser calls --------------------------------------------------------------------------------------

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in reversed(attrs)}
        page = self.page
        page.elements.setdefault(tag)
        for name in given:
            if name not in page.attributes:
                page.attributes.setdefault(name)
                self._near.clear()
        self._note_active(tag, given)
        if "style" in given:
            page.styles.setdefault(given["style"])
        if tag == "html":
            page.lang = given.get("lang", "")
        elif tag == "meta" and given.get("name", "").lower() == "color-scheme":
            self.declares_dark = "dark" in given.get("content", "")
        elif _HEADING.fullmatch(tag):
            page.headings.append(int(tag[1]))
        elif tag == "img":
            self._image(given)
        elif tag == "a" and "href" in given:
            self._close_link()
            self._links.append((given["href"], []))
        elif tag == "table":
            page.bare_tables += given.get("role", "") != "presentation"
        if tag not in _VOID:
            self._stack.append(self._opened(tag, given))
        if tag in _BREAKS:
            self.said.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._close_link()
        for i in range(len(self._stack) - 1, 0, -1):
            if self._stack[i].tag == tag:
                if tag == "style":
                    self._take_sheet(self._stack[i].given)
                del self._stack[i:]
                break

    def handle_data(self, data: str) -> None:
        top = self._stack[-1]
        if top.tag == "title":
            self.page.title += data
        elif top.tag == "style":
            self.page.blocks.append(data)
        elif top.hidden:
            self.unsaid.append(data)
        else:
            self.said.append(data)
            for _, words in self._links:
                words.append(data)
            if data.strip(_INVISIBLE):
                self._look(top, data)

    def close(self) -> None:
        super().close()
        self._close_link()

    # -- what is noted ----------------------------------------------------------------------------------------------

    def _close_link(self) -> None:
        while self._links:
            href, words = self._links.pop()
            self.page.links.append((href, "".join(words)))

    def _image(self, given: Mapping[str, str]) -> None:
        style = {name: value for name, value, _ in css.declarations(given.get("style", ""))}
        sizes = [_pixels(style.get(side) or given.get(side)) for side in ("width", "height")]
        dot = all(size is not None and size <= 2 for size in sizes)
        self.page.images.append((given.get("src", ""), given.get("alt"), dot))
        for _, words in self._links:
            words.append(given.get("alt", ""))

    def _note_active(self, tag: str, given: Mapping[str, str]) -> None:
        if tag in _ACTIVE or (tag == "meta" and given.get("http-equiv", "").lower() in ("refresh", "set-cookie")):
            self.page.active.append(f"<{tag}>")
        for name, value in given.items():
            if name.startswith("on"):
                self.page.active.append(f"{name} on <{tag}>")
            elif name in _LINKING:
                scheme = re.sub(r"[\x00-\x20]", "", value[:40]).partition(":")[0].lower()
                if scheme in ("javascript", "vbscript", "data", "file"):
                    self.page.active.append(f"a {scheme}: address in {name}")

    def _look(self, top: _Open, data: str) -> None:
        for scheme, ratio in zip(SCHEMES, top.ratios, strict=True):
            if ratio < colours.MIN_CONTRAST:
                self.page.pale.append((scheme, ratio, data))
        if not top.bounded:
            self.page.unbounded = self.page.unbounded or data
        if top.size < LEAST_SIZE:
            self.page.small = self.page.small or data

    # -- how it looks -----------------------------------------------------------------------------------------------

    def _take_sheet(self, given: Mapping[str, str]) -> None:
        """The rules of the block that ends here, as far as they change how text looks."""
        around = given.get("media", "").lower()
        sheet = css.parse(self.page.blocks[-1]) if self.page.blocks else css.Sheet()
        for rule in sheet.rules:
            looks = tuple(each for each in rule.declarations if each[0] in _LOOKS)
            scheme = _scheme(f"{around} {rule.media}".strip())
            if looks and scheme is not None:
                for selector in rule.selectors:
                    self._rules.append(_Rule(scheme, len(self._rules), selector, looks))
        self._near.clear()

    def _opened(self, tag: str, given: Mapping[str, str]) -> _Open:
        top = self._stack[-1]
        classes = frozenset(given["class"].split()) if "class" in given else frozenset[str]()
        bare = _Open(tag, classes, given, top.inks, top.papers, top.ratios, top.hidden, top.bounded, top.size)
        light, dark = self._styles(bare)
        if not light and not dark and tag not in ("a", "head", "style", "font") and "bgcolor" not in given:
            return bare if "hidden" not in given else dataclasses.replace(bare, hidden=True)
        looks = [self._colours(bare, style, which) for which, style in enumerate((light, dark))]
        (ink, paper), (dark_ink, dark_paper) = looks
        wide = _pixels(light.get("max-width")) or _pixels(light.get("width")) or _pixels(given.get("width"))
        return _Open(
            tag,
            classes,
            given,
            (ink, dark_ink),
            (paper, dark_paper),
            (_contrast(ink, paper), _contrast(dark_ink, dark_paper)),
            top.hidden or "hidden" in given or light.get("display") == "none" or tag in ("head", "style"),
            top.bounded or (wide is not None and wide <= MOST_WIDTH),
            _size(light.get("font-size"), top.size),
        )

    def _styles(self, element: _Open) -> tuple[dict[str, str], dict[str, str]]:
        """property -> value, for the light and for the dark: important before not, attribute before sheet."""
        inline = [each for each in css.declarations(element.given.get("style", "")) if each[0] in _LOOKS]
        key = (element.tag, element.classes)
        near = self._near.get(key)
        if near is None:
            near = [i for i, rule in enumerate(self._rules) if self._may_match(rule.selector, element)]
            self._near[key] = near
        if not near:
            light = {name: value for name, value, _ in inline}
            return light, light
        path = [*self._stack[1:], element]
        found = sorted((rule for rule in (self._rules[i] for i in near) if rule.selector.matches(path)), key=_weight)
        styles: list[dict[str, str]] = []
        for scheme in SCHEMES:
            said = [each for rule in found if rule.scheme in ("", scheme) for each in rule.looks]
            layers = (
                [each for each in said if not each[2]],
                [each for each in inline if not each[2]],
                [each for each in said if each[2]],
                [each for each in inline if each[2]],
            )
            styles.append({name: value for layer in layers for name, value, _ in layer})
        return styles[0], styles[1]

    def _may_match(self, selector: css.Selector, element: _Open) -> bool:
        """Does its end fit, and were the attributes that it asks for seen at all?"""
        last = selector.compounds[-1]
        return (
            last.tag in ("", "*", element.tag)
            and last.classes <= element.classes
            and all(name in self.page.attributes for one in selector.compounds for name, _ in one.attributes)
        )

    def _colours(self, bare: _Open, style: Mapping[str, str], which: int) -> tuple[str, str]:
        ink = bare.inks[which]
        if bare.tag == "a" and "href" in bare.given and style.get("color") != "inherit":
            ink = _LINK_INKS[which]
        said = css.colour(style.get("color")) or (css.colour(bare.given.get("color")) if bare.tag == "font" else None)
        papers = (style.get("background-color"), style.get("background"), bare.given.get("bgcolor"))
        return said or ink, next(filter(None, map(css.colour, papers)), bare.papers[which])


_contrast = functools.lru_cache(maxsize=512)(colours.contrast)


def _weight(rule: _Rule) -> tuple[tuple[int, int, int], int]:
    return rule.selector.specificity, rule.place


def _scheme(media: str) -> str | None:
    """Whom a media query is for: "" all, "light", "dark", None nobody who reads at a desk."""
    wanted = re.search(r"prefers-color-scheme\s*:\s*(light|dark)", media)
    if wanted:
        return wanted[1]
    return None if re.search(r"max-(device-)?width|print|-webkit|hover|prefers", media) else ""


def _pixels(value: str | None) -> float | None:
    match = _PIXELS.fullmatch((value or "").strip())
    return float(match[1]) if match and match[1].count(".") <= 1 and match[1] != "." else None


def _size(value: str | None, inherited: float) -> float:
    """A font size in pixels, where it is told in pixels or points."""
    value = value or ""
    points = _pixels(value.removesuffix("pt")) if value.endswith("pt") else None
    told = points * 4 / 3 if points is not None else _pixels(value)
    return inherited if told is None else told


def remote(block: str) -> str | None:
    """What a style block would load from elsewhere, or None."""
    found = next((rule for rule in css.parse(block).at if rule.startswith(("import", "font-face"))), None)
    if found:
        return f"@{found}"
    match = _REMOTE.search(block)
    return block[match.start() : match.start() + 60] if match else None
