"""A message as an editor looks at it: headers, links, and what an inbox shows of it before it is opened. Pure."""

from __future__ import annotations

import dataclasses
import email.errors
import email.header
import functools
import re
from collections.abc import Iterator
from html.parser import HTMLParser

from newsletter import render, types
from newsletter.render import page, views

SNIPPET = 160  # characters of a message that an inbox may show beside its subject


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """A header field: as people read it, and as it is sent."""

    name: str
    value: str
    sent: str


@dataclasses.dataclass(frozen=True)
class Letter:
    """A message for the readers of `topics`, with its parts as they are before encoding; taken apart when asked."""

    octets: bytes
    html: str
    text: str
    issue: types.Issue
    topics: tuple[str, ...]
    sender: str

    @functools.cached_property
    def headers(self) -> tuple[Header, ...]:
        """The header fields, in order."""
        return tuple(_headers(self.octets))

    @functools.cached_property
    def subject(self) -> str:
        """As people read it."""
        return next((header.value for header in self.headers if header.name.lower() == "subject"), "")

    @functools.cached_property
    def snippet(self) -> str:
        """What an inbox shows beside the subject."""
        return snippet(self.html)

    @functools.cached_property
    def links(self) -> tuple[tuple[str, str], ...]:
        """(address, words) of each link, in order."""
        return tuple(page.read(self.html).links)

    @functools.cached_property
    def reading(self) -> tuple[int, int]:
        """(how many articles, how many minutes they take)."""
        return views.reading(views.parse(render.select(self.issue, self.topics)))


def _headers(octets: bytes) -> Iterator[Header]:
    head = octets.partition(b"\r\n\r\n")[0].decode("utf-8", "replace")
    for line in re.split(r"\r\n(?![ \t])", head):
        name, _, value = line.partition(":")
        sent = value.strip(" ")
        yield Header(name, _decoded(re.sub(r"\r\n(?=[ \t])", "", sent)), sent)


def _decoded(value: str) -> str:
    """A header's value with its encoded words (RFC 2047) decoded."""
    try:
        return str(email.header.make_header(email.header.decode_header(value)))
    except (LookupError, ValueError, email.errors.HeaderParseError):
        return value


class _Snippet(HTMLParser):
    """The first words of a page, seen or hidden: that is what inboxes show."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.said = ""
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("head", "style", "title")
        self.said += " "

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("head", "style", "title") and self._silent > 0

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.said += data


def snippet(html: str) -> str:
    """What an inbox shows beside the subject: the preheader, then what follows it until the padding ends it."""
    reader = _Snippet()
    body = html.find("<body")
    for start in range(max(0, body), len(html), 2000):
        reader.feed(html[start : start + 2000])
        if len(reader.said.strip()) > 4 * SNIPPET:
            break
    words = " ".join(re.split("[\u034f\u200c]", reader.said)[0].split())
    return words if len(words) <= SNIPPET else words[: SNIPPET - 1].rstrip() + "…"
