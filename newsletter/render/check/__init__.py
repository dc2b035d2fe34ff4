"""Pre-flight: what is wrong with an issue and its editions, before anybody gets them. Pure; nothing is fetched.

    of_issue      words      what an editor wrote, at its place in the draft (places)
    of_edition    markup     size, structure, colours, what mail programs lack (clients, caniemail.json, baseline.toml)
                  links      whole, honest, the same in both parts
                  parts      the text part, the way to leave, the postal address; signs of spam (spam)
                  lacking    what subject and introduction say of entries that this edition has not
    of_message    wire       the octets: header fields, MIME, the list headers of bulk mail
    of_copies     wire       the octets of a second try, and another reader's, against the first

Each finding has a code of the table in `rules`, which says whether it is an error, and how to mend it.
"""

from __future__ import annotations

from newsletter import types
from newsletter.render import page, seats
from newsletter.render.check import lacking, links, markup, parts, rules, words
from newsletter.render.check.markup import MAX_BYTES, NEAR_BYTES
from newsletter.render.check.places import Places
from newsletter.render.check.wire import of_copies, of_message
from newsletter.render.check.words import linked

__all__ = [
    "MAX_BYTES", "NEAR_BYTES", "Places", "check", "linked", "of_copies", "of_edition", "of_issue", "of_message",
    "parted", "rules",
]  # fmt: skip

NOWHERE = Places()


def check(
    edition: types.Edition, issue: types.Issue, *, html: str, text: str
) -> tuple[list[types.Finding], list[types.Finding]]:
    """(errors, warnings) of one edition of `issue`; `html` and `text` are its parts, filled in for a sample reader."""
    return parted([*of_issue(issue), *of_edition(edition, issue, html=html, text=text)])


def of_issue(issue: types.Issue, places: Places = NOWHERE) -> list[types.Finding]:
    """What is wrong with an issue's words."""
    return list(dict.fromkeys(words.check(issue, places)))


def of_edition(
    edition: types.Edition, issue: types.Issue, *, html: str, text: str, leave: str = "", places: Places = NOWHERE
) -> list[types.Finding]:
    """What is wrong with an edition, as far as it is not the issue's. `leave`: the sample reader's unsubscribe link."""
    seen = page.read(html)
    part = seats.select(issue, edition.topics)
    first = edition.html.find(types.mark("unsubscribe_url"))
    found = [
        *markup.check(seen, html, first),
        *markup.leftovers(html, text, words.all_words(part)),
        *links.check(seen, text, issue.base_url),
        *parts.check(seen, html, text, issue),
        *parts.ways_out(seen, text, edition, leave),
        *lacking.check(issue, part, edition.subject, places),
    ]
    return list(dict.fromkeys(found))


def parted(findings: list[types.Finding]) -> tuple[list[types.Finding], list[types.Finding]]:
    """(errors, warnings)."""
    findings = list(dict.fromkeys(findings))
    return [each for each in findings if rules.is_error(each)], [each for each in findings if not rules.is_error(each)]
