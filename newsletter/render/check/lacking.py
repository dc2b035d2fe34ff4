"""What subject, preheader and introduction say of entries that one edition has not. A guess, and so only warned of."""

from __future__ import annotations

import re

from newsletter import types
from newsletter.render import markdown
from newsletter.render.check import words
from newsletter.render.check.places import Places
from newsletter.render.check.rules import found

_WORD = re.compile(r"[^\W_][\w'’-]{3,}")
_COMMON = frozenset(
    "about above after again against also among another because been before being between both could does doing down "
    "during each even every from further have having here hers himself into issue itself just less like long made make "
    "many more most much must news next once only other ours over part quiet read same several should since some still "
    "such than that their them then there these they thing things this those three through time topic toward under "
    "until upon very want week what when where which while will with within without work would year your "
    "aber alle auch beim dass dein diese doch eine einem einen einer euch haben hier ihre kann mehr nach nicht noch "
    "oder sein sich sind über unter viel wenn werden wird wurde avec cette dans elle leur mais même nous plus pour "
    "sans sont tout vous como cuando desde donde entre esta este hasta para pero porque sobre también todo".split()
)


def check(whole: types.Issue, part: types.Issue, subject_line: str, places: Places) -> words.Findings:
    """What subject, preheader and introduction say of entries that readers of `part` do not get.

    A word counts that stands in the title (or, without one, the first words) of such an entry, and nowhere in what they
    do get. In the introduction it takes two words of one entry, or a link to it.
    """
    mine = {(entry.ref, entry.title, entry.url, entry.body) for one in part.sections for entry in one.entries}
    others = [
        entry
        for one in whole.sections
        for entry in one.entries
        if (entry.ref, entry.title, entry.url, entry.body) not in mine
    ]
    if not others:
        return
    here = _names(
        " ".join(
            (
                whole.title,
                *(one.title for one in part.sections),
                *(_about(e) + " " + e.body for _, e in words.each(part, Places())),
            )
        )
    )
    links = {words.same_page(href) for href in markdown.links(markdown.parse(whole.intro))}
    kept = {words.same_page(entry.url) for _, entry in words.each(part, Places())}
    texts_of = (
        ("subject", subject_line, places.of_key("subject"), 1),
        ("preheader", whole.preheader, places.of_key("preheader"), 1),
        ("introduction", markdown.words(markdown.parse(whole.intro)), places.of_intro(), 2),
    )
    for what, text, where, least in texts_of:
        said = _names(text) - here
        for entry in others:
            shared = sorted(said & _names(_about(entry)))
            linked = what == "introduction" and entry.url and words.same_page(entry.url) in links - kept
            if len(shared) >= (least if entry.title else 2) or linked:
                name = words.short(entry.title or entry.body)
                told = f" ({', '.join(shared[:3])})" if shared else ""
                yield found("edition-lacks", f"the {what} speaks of “{name}”{told}, which this edition lacks", where)


def _about(entry: types.IssueEntry) -> str:
    """What an entry would be called."""
    return entry.title or " ".join(markdown.words(markdown.parse(entry.body[:400])).split()[:12])


def _names(text: str) -> set[str]:
    """The words that may tell what a text is about; a plural is its singular."""
    words = (word.casefold() for word in _WORD.findall(text))
    return {word.removesuffix("s") for word in words if word not in _COMMON and not word.isdigit()}
