"""Which entries a set of topics sees, and under which of them each stands. Pure."""

from __future__ import annotations

import dataclasses

from newsletter import types


def select(issue: types.Issue, topics: tuple[str, ...]) -> types.Issue:
    """The issue as readers of `topics` see it: their sections in the issue's order, every entry once.

    An entry that stands in a section they did not pick is a guest of the first of their sections that it belongs to:
    there it stands before the first entry that is older. A section that ends up with nothing to read is dropped. Who
    lacks a section that others have gets the subject of their first one, if the editor wrote any.
    """
    picked = {section.slug: list(section.entries) for section in issue.sections if section.slug in topics}
    for section in issue.sections:
        if section.slug in picked:
            continue
        for entry in section.entries:
            host = next((slug for slug in picked if slug in entry.topics), None)
            if host:
                others = tuple(slug for slug in entry.topics if slug != host)
                _seat(dataclasses.replace(entry, topics=(host, *others)), picked[host])
    sections = (
        dataclasses.replace(section, entries=tuple(picked[section.slug]))
        for section in issue.sections
        if section.slug in picked
    )
    read = tuple(section for section in sections if section.entries or section.text.strip())
    return dataclasses.replace(issue, sections=read, subject=_subject(issue, topics, read))


def _subject(issue: types.Issue, topics: tuple[str, ...], read: tuple[types.IssueSection, ...]) -> str:
    whole = all(section.slug in topics for section in issue.sections if section.entries or section.text.strip())
    chosen = {} if whole else dict(issue.subjects)
    return next((chosen[section.slug] for section in read if section.slug in chosen), issue.subject)


def _seat(guest: types.IssueEntry, entries: list[types.IssueEntry]) -> None:
    place = len(entries)
    if guest.published is not None:
        older = (i for i, one in enumerate(entries) if one.published is not None and one.published < guest.published)
        place = next(older, place)
    entries.insert(place, guest)
