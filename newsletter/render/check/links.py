"""The links of one edition: whole, honest, told apart, and the same in both parts. None of them is followed."""

from __future__ import annotations

import collections
import re

from newsletter.render import markdown, page
from newsletter.render.check import spam
from newsletter.render.check.rules import found
from newsletter.render.check.words import Findings, host_of, private_host, short, squash

_URL = re.compile(r"https?://[^\s<>\"\u201c\u201d]+", re.IGNORECASE)
_LINK = re.compile(r"https?://[^\s/]|mailto:[^\s@]+@|#", re.IGNORECASE)
_LIKE_A_HOST = re.compile(r"(?:https?://)?((?:[a-z0-9-]+\.)+[a-z]{2,24})(?:[/?#:]\S*)?", re.IGNORECASE)
_TRAILING = ".,;:!?)]}'’*>"


def check(seen: page.Page, text: str, base_url: str) -> Findings:
    """All that is wrong with the links of an edition."""
    yield from _form(seen, host_of(base_url))
    yield from _words(seen)
    yield from _parity(seen, text, base_url)


def _form(seen: page.Page, home: str) -> Findings:
    for href, words in dict.fromkeys(seen.links):
        named = f"the link “{short(words)}”"
        if not _LINK.match(href):
            yield found("link-relative", f"{named} leads to {short(href)!r}", "HTML")
            continue
        if "@" in href.partition("://")[2].partition("/")[0]:
            yield found("link-password", f"{named} has a user name or a password in its address", "HTML")
        host = host_of(href)
        if not host or host == home:
            continue
        if private_host(host):
            yield found("link-private", f"{named} leads to {host}, which only your network has", "HTML")
        if spam.shortener(host):
            yield found("link-short", f"{named} goes through {host}, which filters distrust", "HTML")
        like = _LIKE_A_HOST.fullmatch(squash(words).rstrip(".…"))
        if like and _site(like[1]) != _site(host) and ("/" in words or words.lower().startswith("www.")):
            yield found("link-disguised", f"{named} leads to {host}", "HTML")


def _site(host: str) -> str:
    return ".".join(host.lower().rstrip(".").split(".")[-2:])


def _words(seen: page.Page) -> Findings:
    told: dict[str, set[str]] = collections.defaultdict(set)
    for href, words in seen.links:
        told[squash(words).casefold()].add(href)
    for words, hrefs in told.items():
        if words and len(hrefs) > 1:
            yield found(
                "link-text-twice", f"{len(hrefs)} links read “{short(words)}” but lead to different places", "HTML"
            )
        if not words:
            yield found("link-empty", f"a link without words, to {short(min(hrefs))}", "HTML")


def _parity(seen: page.Page, text: str, base_url: str) -> Findings:
    """What leads to the service itself (personal links, the archive) may differ between the parts."""
    home = host_of(base_url)
    in_html = {href for href, _ in seen.links if href.lower().startswith("http")}
    for link in sorted(in_html):
        if link not in text and host_of(link) != home:
            yield found("links-differ", f"{short(link)} is a link that the text part does not show", "text")
    for link in sorted(in_text(text, in_html) - in_html):
        if host_of(link) != home:
            yield found("link-unlinked", f"{short(link)} can be read but is no link in the HTML", "HTML")


def in_text(text: str, known: set[str]) -> set[str]:
    """The addresses in a text part; punctuation after one is not part of it, unless it is a `known` one's."""
    links = set()
    for link in _URL.findall(text):
        if len(link) > markdown.MAX_URL:
            continue
        while link not in known and link[-1] in _TRAILING:
            link = link[:-1]  # noqa: PLW2901
        links.add(link)
    return links
