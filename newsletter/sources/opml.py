"""OPML, what feed readers export: lists of feeds in folders -> values, and back. Pure; nothing is fetched or run.

A file is read as XML without a document type, so that no entity is expanded and nothing outside is opened. One that is
no such XML is read once more leniently: what can be saved is saved, and the fault is told. OPML 2.0: http://opml.org/spec2.opml
"""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit
from xml.parsers import expat

from newsletter import errors, types
from newsletter.sources import plain

MOST_BYTES = 5_000_000
MOST_FEEDS = 10_000
DEEPEST = 100  # levels: no outline of a person's is nested as deep
_LONGEST_NAME = 200
_TAG = re.compile(r"(/?)([A-Za-z][\w:.-]{0,100})")
_ATTRIBUTE = re.compile(r"""\s*([A-Za-z_][\w:.-]{0,100})\s*=\s*("[^"]*"|'[^']*')""")
_ENTITY = re.compile(r"&[A-Za-z_:][\w:.-]*;")


@dataclasses.dataclass(frozen=True, slots=True)
class Feed:
    """A feed of an outline: `folder` holds the names on the way to it, outermost first."""

    url: str
    title: str = ""
    folder: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Outlines:
    """What an OPML file holds: its feeds, outlines that are refused, and a fault of the file as a whole."""

    feeds: tuple[Feed, ...]
    rejected: tuple[types.BadRow, ...] = ()
    fault: str | None = None


def read(data: bytes) -> Outlines:
    """The feeds of an OPML file, in order. Raises `errors.FeedError` for what is none, or is too large."""
    if len(data) > MOST_BYTES:
        raise errors.FeedError(f"larger than {MOST_BYTES // 1_000_000} MB: no list of feeds is")
    strict = _Strict()
    try:
        return strict.read(data)
    except _Broken as fault:
        lenient = _Lenient(entities=fault.entities)
        return lenient.read(_decoded(data), str(fault))


def same(url: str) -> str:
    """A form that is equal for addresses that mean one feed: without scheme, upper case in the host, last slash."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port in (None, 80, 443) else f":{parts.port}"
    except ValueError:  # it is none
        return url
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.hostname}{port}{parts.path.rstrip('/')}{query}"


class _Broken(Exception):
    """It is no XML that we read strictly. `entities`: it defines its own."""

    def __init__(self, what: str, *, entities: bool = False) -> None:
        super().__init__(what)
        self.entities = entities


# -- outlines --------------------------------------------------------------------------------------------------------


class _Outline:
    """Walks through start and end tags, and keeps the feeds inside `opml/body`."""

    def __init__(self, *, entities: bool = False) -> None:
        self.feeds: list[Feed] = []
        self.rejected: list[types.BadRow] = []
        self.open: list[str] = []  # tags, down to the deepest level that is read
        self.deeper = 0  # how many more are open
        self.folders: list[str] = []  # a name an open outline
        self.entities = entities
        self.root = ""
        self.too_much: str | None = None

    def start(self, tag: str, attributes: Mapping[str, str], line: int) -> None:
        self.root = self.root or tag
        if len(self.open) >= DEEPEST:
            self.too_much = self.too_much or f"nested deeper than {DEEPEST} levels; what stands deeper is left out"
            self.deeper += 1
            return
        if tag == "outline" and self.open[:2] == ["opml", "body"]:
            values = {name.rpartition(":")[2].lower(): value for name, value in attributes.items()}
            name = plain.line(values.get("title", "").strip() or values.get("text", ""), _LONGEST_NAME)
            self._outline(values, name, line)
            self.folders.append(name)
        self.open.append(tag)

    def end(self, tag: str) -> None:
        if self.deeper:
            self.deeper -= 1
            return
        if tag not in self.open:
            return
        while self.open:
            closed = self.open.pop()
            if closed == "outline" and self.open[:2] == ["opml", "body"]:
                self.folders.pop()
            if closed == tag:
                return

    def _outline(self, values: Mapping[str, str], name: str, line: int) -> None:
        url = values.get("xmlurl", "").strip()
        if not url and values.get("type", "").lower() not in ("rss", "atom", "rdf"):
            return
        if len(self.feeds) >= MOST_FEEDS:
            self.too_much = f"over {MOST_FEEDS:,} feeds; what comes after them is left out"
            return
        url = re.sub(r"(?i)^feed:(?=https?://)", "", url)
        url = re.sub(r"(?i)^feed://", "http://", url)
        why = self._refused(url, values)
        if why:
            self.rejected.append(types.BadRow(line, plain.line(url or name, 100), why))
            return
        categories = [path.strip(" /") for path in values.get("category", "").split(",")]
        folder = tuple(filter(None, self.folders)) or tuple(plain.line(path, 100) for path in categories if path)[:1]
        self.feeds.append(Feed(url, "" if name == url else name, folder))

    def _refused(self, url: str, values: Mapping[str, str]) -> str | None:
        if not url:
            return "it has no xmlUrl"
        if not re.match(r"(?i)https?://", url):
            return "only http: and https: addresses are taken; a command is never run"
        if plain.address(url) is None or re.search(r"[\s\"'<>\\^`{|}]", url) or url != plain.clean(url):
            return "this is no web address"
        if self.entities and _ENTITY.search(url):
            return "its address is made of an entity, which is not read"
        if any("cmd" in name for name in values):
            return "a program would filter it, which is not run; add the address by hand to have all of it"
        return None

    def found(self, fault: str | None) -> Outlines:
        if self.root != "opml":
            what = f"its root is <{plain.line(self.root, 40)}>" if self.root else "there is no element in it"
            raise errors.FeedError(f"this is no OPML: {fault or what}")
        return Outlines(
            tuple(self.feeds), tuple(self.rejected), "; ".join(filter(None, [fault, self.too_much])) or None
        )


class _Strict(_Outline):
    """As the XML says."""

    def read(self, data: bytes) -> Outlines:
        parser = expat.ParserCreate()
        parser.StartElementHandler = lambda tag, values: self.start(tag.lower(), values, parser.CurrentLineNumber)
        parser.EndElementHandler = lambda tag: self.end(tag.lower())
        parser.StartDoctypeDeclHandler = self._refuse
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            what = expat.errors.messages[error.code]
            raise _Broken(f"it is not well-formed XML (line {error.lineno}: {what})") from None
        except (LookupError, ValueError):
            raise _Broken("it names an encoding that is not known") from None
        return self.found(None)

    def _refuse(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        raise _Broken("it has a document type (DTD), which is not read", entities=bool(internal or system))


class _Lenient(_Outline):
    """Tag by tag, whatever stands around: nothing is an error, and no entity but HTML's own means anything.

    Not with `html.parser`, whose time grows with the square of what is not closed (measured: 5 MB of "<a " take hours).
    """

    def read(self, text: str, fault: str) -> Outlines:
        before, *pieces = re.split(r"<(?=/?[A-Za-z])", _without_comments(text))
        line = 1 + before.count("\n")
        for piece in pieces:
            tag = _TAG.match(piece)
            if tag and tag[1]:
                self.end(tag[2].lower())
            elif tag:
                values, end = {}, tag.end()
                while attribute := _ATTRIBUTE.match(piece, end):
                    values[attribute[1]] = html.unescape(attribute[2][1:-1])
                    end = attribute.end()
                self.start(tag[2].lower(), values, line)
                if piece[end : end + 100].lstrip().startswith("/"):
                    self.end(tag[2].lower())
            line += piece.count("\n")
        return self.found(fault)


def _without_comments(text: str) -> str:
    kept, end = [], 0
    while (start := text.find("<!--", end)) >= 0 and (close := text.find("-->", start + 4)) >= 0:
        kept.append(text[end:start])
        end = close + 3
    return "".join([*kept, text[end:]])


def _decoded(data: bytes) -> str:
    """By its mark or its declaration, else UTF-8; what does not fit is replaced."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace").removeprefix("\ufeff")
    declared = re.match(rb"""\s*<\?xml[^>]*\bencoding\s*=\s*["']([\w.-]{1,40})["']""", data)
    try:
        return data.decode(declared[1].decode() if declared else "utf-8", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


# -- and back --------------------------------------------------------------------------------------------------------


def write(title: str, folders: Iterable[tuple[str, Sequence[Feed]]]) -> str:
    """An OPML 2.0 document: (folder, its feeds). `read` takes it back."""
    rows = ['<?xml version="1.0" encoding="UTF-8"?>', '<opml version="2.0">']
    rows += ["  <head>", f"    <title>{_escaped(title)}</title>", "  </head>", "  <body>"]
    for folder, feeds in folders:
        name = _escaped(folder)
        rows.append(f'    <outline text="{name}" title="{name}">')
        for feed in feeds:
            shown = _escaped(feed.title or feed.url)
            rows.append(f'      <outline type="rss" text="{shown}" title="{shown}" xmlUrl="{_escaped(feed.url)}"/>')
        rows.append("    </outline>")
    return "\n".join([*rows, "  </body>", "</opml>", ""])


def _escaped(text: str) -> str:
    return html.escape(plain.clean(text))
