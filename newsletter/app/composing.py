"""Composing: what waits becomes claims and a draft, in one transaction and one file."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import tempfile
import zoneinfo
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import calendar, config, errors, issuefile, types
from newsletter import compose as composition
from newsletter.app import reports
from newsletter.curate import relevance, summary
from newsletter.store import claims, issues, outbox, sources, tables
from newsletter.types import EntryState, IssueState

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App


def compose(app: App, newsletter: config.Newsletter, *, refresh: bool, special: str | None) -> reports.ComposeReport:
    """Write the draft of the next issue; a period whose draft stands is left alone, or added to with `refresh`."""
    cutoff = app.clock.now()
    date = composition.issue_date(newsletter, cutoff)
    period = date.isoformat() + (f"-{special}" if special else "")
    name = f"{newsletter.slug}/{period}"
    restore_missing(app, newsletter)
    with app.store.read() as session:
        standing = issues.find(session, name)
    if standing is not None and standing.state != IssueState.CANCELLED:
        if refresh and standing.state == IssueState.DRAFT:
            return _refresh(app, newsletter, name, cutoff)
        how = "; --refresh adds what came since" if standing.state == IssueState.DRAFT else ""
        return reports.ComposeReport(None, reason=f"{name} stands already ({standing.state}){how}")
    path = app.workspace.draft(name)
    if path.exists():
        raise errors.StateError(
            f"{app.workspace.shown(path)} is there, but the database knows no issue {name}; "
            "move the file away to compose anew"
        )
    with app.store.write() as session:
        names, per_source = _sources(session, newsletter)
        topics = [topic.slug for topic in newsletter.topic]
        waiting = claims.waiting(session, newsletter.slug, topics, cutoff, names)
        belonging, dropped = _sorted_out(waiting, newsletter)
        if not belonging:
            why = f"nothing new for {newsletter.slug}" + (f" ({len(dropped)} match no rule)" if dropped else "")
            return reports.ComposeReport(None, reason=why)
        chosen = composition.select(belonging, max_entries=newsletter.max_entries, per_source=per_source, cutoff=cutoff)
        row = issues.create(session, newsletter.slug, period, cutoff=cutoff, now=cutoff, special=special is not None)
        text = composition.draft(
            newsletter, date=date, cutoff=cutoff, number=row.number, selection=chosen, summaries=_words(belonging)
        )
        draft = issuefile.read(text, name)
        row.subject = draft.subject
        written = {b.ref: issuefile.fingerprint(b) for s in draft.sections for b in s.blocks if b.ref}
        _claim(session, row, chosen, written=written, dropped=dropped, now=cutoff)
    write_draft(path, text)
    return reports.ComposeReport(
        issue=name,
        path=app.workspace.shown(path),
        state=IssueState.DRAFT.value,
        topics={section.slug: len(section.blocks) for section in draft.sections},
        entries=len(chosen.taken),
        held=len(chosen.held),
        dropped=len(dropped),
    )


def _claim(
    session: Session,
    row: tables.Issue,
    chosen: composition.Selection,
    *,
    written: Mapping[str, str],
    dropped: Sequence[tuple[types.Claimed, str]],
    now: dt.datetime,
) -> None:
    taken = [(entry, EntryState.IN_ISSUE, None, written.get(entry.ref)) for entry in chosen.taken]
    held = [(entry, EntryState.HELD, why, None) for entry, why in chosen.held]
    out = [(entry, EntryState.DROPPED, why, None) for entry, why in dropped]
    claims.claim(session, row.newsletter, [*taken, *held, *out], issue=row, now=now)


def _sorted_out(
    waiting: Sequence[types.Claimed], newsletter: config.Newsletter
) -> tuple[list[types.Claimed], list[tuple[types.Claimed, str]]]:
    """(what belongs, with the topics it belongs to; what does not, and why)."""
    belonging, dropped = [], []
    for entry in waiting:
        words = [entry.title or "", entry.summary, *entry.authors, *entry.categories, entry.source_name or ""]
        fits, whys = [], []
        for slug in entry.topics:
            topic = newsletter.topic_of(slug)
            found, why = relevance.belongs(words, topic.include, topic.exclude)
            if found:
                fits.append(slug)
            whys.append(f"{slug}: {why}")
        if fits:
            belonging.append(dataclasses.replace(entry, topics=tuple(fits)))
        else:
            dropped.append((entry, "; ".join(whys)))
    return belonging, dropped


def _words(entries: Sequence[types.Claimed]) -> dict[str, str]:
    return {entry.ref: summary.lead(entry.summary) for entry in entries}


def _sources(session: Session, newsletter: config.Newsletter) -> tuple[dict[str, str], dict[str, int]]:
    """(source address -> the name to show, name -> how many an issue may have)."""
    wanted = [source for topic in newsletter.topic for source in topic.sources]
    known = sources.known(session, [source.url for source in wanted])
    names, limits = {}, {}
    for source in wanted:
        stored = known.get(source.url)
        name = source.name or (stored.title if stored is not None and stored.title else "")
        if name:
            names[source.url] = name
        if source.max_per_issue is not None:
            names[source.url] = name or source.url
            limits[name or source.url] = source.max_per_issue
    return names, limits


def _refresh(app: App, newsletter: config.Newsletter, name: str, now: dt.datetime) -> reports.ComposeReport:
    """Add what came since to a draft that is not approved, and write our own untouched blocks anew."""
    path = app.workspace.draft(name)
    draft = issuefile.read_bytes(path.read_bytes(), app.workspace.shown(path))
    topics = [topic.slug for topic in newsletter.topic]
    with app.store.write() as session:
        row = issues.get(session, name)
        issues.require(row, [IssueState.DRAFT], "only a draft can be refreshed")
        names, per_source = _sources(session, newsletter)
        belonging, dropped = _sorted_out(claims.waiting(session, newsletter.slug, topics, now, names), newsletter)
        mine = list(claims.of_issue(session, row, topics, names, cut=False).values())
        chosen = composition.select(
            belonging,
            max_entries=max(0, newsletter.max_entries - len(mine)),
            per_source=per_source,
            cutoff=now,
        )
        as_written = claims.hashes(session, row)
        text = composition.refreshed(
            draft,
            newsletter,
            entries=mine,
            added=chosen.taken,
            summaries=_words([*mine, *chosen.taken]),
            written=as_written,
        )
        fresh = issuefile.read(text, name)
        ours = {entry.ref for entry in chosen.taken} | {
            block.ref
            for section in draft.sections
            for block in section.blocks
            if block.ref and issuefile.fingerprint(block) == as_written.get(block.ref)
        }
        prints = {b.ref: issuefile.fingerprint(b) for s in fresh.sections for b in s.blocks if b.ref and b.ref in ours}
        _claim(session, row, chosen, written=prints, dropped=dropped, now=now)
        claims.set_hashes(session, row, prints)
    changed = text != issuefile.write(draft)
    if changed:
        write_draft(path, text)
    return reports.ComposeReport(
        issue=name,
        path=app.workspace.shown(path),
        state=IssueState.DRAFT.value,
        topics={section.slug: len(section.blocks) for section in fresh.sections},
        entries=sum(len(section.blocks) for section in fresh.sections),
        reason=None if changed else "nothing new",
        held=len(chosen.held),
        dropped=len(dropped),
        added=len(chosen.taken),
    )


def restore_missing(app: App, newsletter: config.Newsletter) -> list[str]:
    """Write drafts again that are missing: a kill between commit and file, or a file deleted by mistake."""
    restored = []
    with app.store.read() as session:
        for row, _ in issues.listing(session, newsletter.slug):
            name = f"{row.newsletter}/{row.period}"
            path = app.workspace.draft(name)
            if row.state != IssueState.DRAFT or path.exists():
                continue
            write_draft(path, _text_again(session, newsletter, row))
            restored.append(name)
    return restored


def _text_again(session: Session, newsletter: config.Newsletter, row: tables.Issue) -> str:
    names, _ = _sources(session, newsletter)
    topics = [topic.slug for topic in newsletter.topic]
    mine = list(claims.of_issue(session, row, topics, names, cut=False).values())
    held = [(entry, why) for entry, why in claims.held_by(session, row, topics, names)]
    taken = composition.newest_first(mine, row.cutoff_at)
    return composition.draft(
        newsletter,
        date=dt.date.fromisoformat(row.period[:10]),
        cutoff=row.cutoff_at,
        number=row.number,
        selection=composition.Selection(tuple(taken), tuple(held)),
        summaries=_words(mine),
    )


def write_draft(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises `errors.StoreError` when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        raise errors.StoreError(
            f"{path} cannot be written ({error}); the entries are kept: mend that and run `newsletter compose` again"
        ) from None


def listing(app: App, newsletter: str | None) -> list[reports.IssueView]:
    """All issues, newest first."""
    if newsletter is not None:
        app.settings.newsletter_of(newsletter)
    with app.store.read() as session:
        return [view(app, row, entries) for row, entries in issues.listing(session, newsletter)]


def view(app: App, row: tables.Issue, entries: int) -> reports.IssueView:
    """An issue as the listings show it."""
    name = f"{row.newsletter}/{row.period}"
    return reports.IssueView(
        issue=name,
        state=row.state,
        subject=row.subject,
        entries=entries,
        path=app.workspace.shown(app.workspace.draft(name)),
        number=row.number,
        cutoff=row.cutoff_at,
        approved_at=row.approved_at,
        approved_by=row.approved_by,
        sent_at=row.sent_at,
        reason=row.reason,
    )


def cancel(app: App, name: str) -> int:
    """Give an issue up before its first mail: its entries wait again, its period is free. Returns how many entries."""
    with app.store.write() as session:
        row = issues.get(session, name)
        if row.state in (IssueState.SENT, IssueState.CANCELLED):
            raise errors.StateError(f"{name} is {row.state}; only what is not sent can be cancelled")
        counts = outbox.standing(session, row.id or 0, app.is_dead).counts
        begun = sum(count for state, count in counts.items() if state not in ("queued", "skipped"))
        if begun:
            raise errors.StateError(
                f"{name} is on its way: {begun} mail(s) went out or were tried; `newsletter hold {name}` stops the rest"
            )
        outbox.forget(session, row.id or 0)
        back = claims.give_back(session, row)
        issues.thaw(session, row)
        row.state, row.reason, row.planned_at = IssueState.CANCELLED, None, None
    path = app.workspace.draft(name)
    if path.exists():
        path.replace(path.with_name(f"{path.stem}.cancelled.md"))
    return back


def schedule(app: App, newsletter: str | None, start: dt.datetime, end: dt.datetime) -> list[reports.Event]:
    """What the schedule says will happen in [start, end), in order; an issue is named by the sending that follows."""
    chosen = [app.settings.newsletter_of(newsletter)] if newsletter else list(app.settings.newsletter)
    events = []
    for each in chosen:
        zone = zoneinfo.ZoneInfo(each.timezone)
        for kind, text in (("compose", each.compose), ("send", each.send)):
            for at in calendar.occurrences(calendar.parse(text), zone, start):
                if at >= end:
                    break
                local = at.astimezone(zone)
                day = local.date() if kind == "send" else composition.issue_date(each, at)
                events.append(reports.Event(each.slug, kind, local, day.isoformat()))
    return sorted(events, key=lambda event: (event.at, event.kind))
