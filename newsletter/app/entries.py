"""The entries that are known: listed, dropped, brought back."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sqlmodel import Session

from newsletter import errors, issuefile
from newsletter.app import composing, reports, wording
from newsletter.sources import plain
from newsletter.store import claims, issues
from newsletter.types import IssueState

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

LONGEST_SUMMARY = 1500  # characters of an entry's summary in a listing; `entries show` has it all


def listing(
    app: App, *, newsletter: str | None, topic: str | None, state: str | None, ref: str | None
) -> list[dict[str, Any]]:
    """Entries as JSON shows them; a date without a time is midnight UTC.

    Only `ref` shows a long summary whole, and the words that a draft begins with, with where these came from.
    """
    slug = topic
    if topic is not None:
        places = app.settings.topic_places(topic, newsletter)
        slug = places[0][1].slug
        newsletter = places[0][0].slug if len(places) == 1 else newsletter
    elif newsletter is not None:
        app.settings.newsletter_of(newsletter)
    found = []
    with app.store.read() as session:
        for row in claims.listing(session, newsletter=newsletter, topic=slug, state=state, ref=ref):
            values = {field.name: reports.plain(getattr(row, field.name)) for field in dataclasses.fields(row)}
            values.pop("published_is_date")
            if ref is None:
                values["summary"] = plain.shorten(row.summary, LONGEST_SUMMARY)
            else:
                words = _words(app, session, row)
                values |= {"words": words.text, "words_from": words.origin} if words else {}
            found.append(values)
    return found


def _words(app: App, session: Session, row: claims.EntryView) -> wording.Words | None:
    """What a draft begins with; None when the settings no longer have any newsletter of the entry."""
    slugs = {topic.partition("/")[0] for topic in row.topics}
    letter = next((each for each in app.settings.newsletter if each.slug in slugs), None)
    entry = composing.any_claimed(session, letter, row.id) if letter is not None else None
    return wording.Wording(app).words(session, [entry])[entry.ref] if entry is not None else None


def drop(app: App, refs: Sequence[str], reason: str, newsletter: str | None, *, dry_run: bool) -> tuple[int, list[str]]:
    """Drop entries that wait or are held, in one newsletter: (how many, those that cannot be)."""
    return _changed(
        app,
        newsletter,
        lambda session, slug: claims.drop(session, slug, refs, reason, app.clock.now()),
        dry_run=dry_run,
    )


def restore(app: App, refs: Sequence[str], newsletter: str | None, *, dry_run: bool) -> tuple[int, list[str]]:
    """Bring back what was dropped, held, or cut from a draft, in one newsletter: (how many, those that cannot be)."""

    def change(session: Session, slug: str) -> tuple[int, list[str]]:
        return claims.restore(session, slug, refs, app.clock.now(), _cut_from_drafts(app, session, slug))

    return _changed(app, newsletter, change, dry_run=dry_run)


def _cut_from_drafts(app: App, session: Session, slug: str) -> set[str]:
    """What unapproved issues hold, but their drafts no longer show. A draft that cannot be read lost nothing yet."""
    found: set[str] = set()
    for row, _ in issues.listing(session, slug):
        if row.state != IssueState.DRAFT:
            continue
        path = app.workspace.draft(f"{row.newsletter}/{row.period}")
        try:
            draft = issuefile.read_bytes(path.read_bytes(), app.workspace.shown(path))
        except (OSError, errors.DraftError):
            continue
        here = {block.ref for section in draft.sections for block in section.blocks}
        found |= {ref for ref in claims.hashes(session, row) if ref not in here}
    return found


def _changed(
    app: App, newsletter: str | None, change: Callable[[Session, str], tuple[int, list[str]]], *, dry_run: bool
) -> tuple[int, list[str]]:
    slug = app.settings.newsletter_of(newsletter).slug
    with contextlib.suppress(_DryRun), app.store.write() as session:
        found = change(session, slug)
        if dry_run:
            raise _DryRun
    return found


class _DryRun(Exception):
    """Rolls a transaction back."""
