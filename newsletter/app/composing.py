"""Composing: what waits becomes claims and a draft, in one transaction and one file."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import itertools
import os
import tempfile
import zoneinfo
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import calendar, config, errors, issuefile, types
from newsletter import compose as composition
from newsletter.app import curating, health, reports
from newsletter.store import claims, curation, issues, outbox, sources, tables
from newsletter.types import EntryState, IssueState

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App


def compose(app: App, newsletter: config.Newsletter, *, refresh: bool, special: str | None) -> reports.ComposeReport:
    """Write the draft of the next issue; a period whose draft stands is left alone, or added to with `refresh`."""
    cutoff = app.clock.now()
    date = composition.issue_date(newsletter, cutoff)
    period = date.isoformat() + (f"-{special}" if special else "")
    name = f"{newsletter.slug}/{period}"
    with app.store.read() as session:
        silent = health.silent(session, newsletter, cutoff, name)
    return dataclasses.replace(
        _compose(app, newsletter, name, date, cutoff, refresh=refresh, special=special), silent=silent
    )


def _compose(
    app: App,
    newsletter: config.Newsletter,
    name: str,
    date: dt.date,
    cutoff: dt.datetime,
    *,
    refresh: bool,
    special: str | None,
) -> reports.ComposeReport:
    period = name.partition("/")[2]
    restored = restore_missing(app, newsletter)
    with app.store.read() as session:
        standing = issues.find(session, name)
        state = standing.state if standing is not None else IssueState.CANCELLED
    if state == IssueState.DRAFT and refresh:
        return _refresh(app, newsletter, name, cutoff)
    if state != IssueState.CANCELLED:
        return _stands(name, state, restored=name in restored)
    path = app.workspace.draft(name)
    if os.path.lexists(path):
        raise errors.StateError(
            f"{app.workspace.shown(path)} is there, but the database knows no issue {name}; "
            "move the file away to compose anew"
        )
    wording = _asked(app, newsletter, cutoff)
    with app.store.write() as session:
        standing = issues.find(session, name)
        if standing is not None and standing.state != IssueState.CANCELLED:  # another compose was faster
            return _stands(name, standing.state, restored=False)
        curation.reopen(session, newsletter.slug)
        curated, chosen = _chosen(session, newsletter, cutoff)
        if not curated.belonging:
            unfit = f" ({curated.unfit} match no rule)" if curated.unfit else ""
            return reports.ComposeReport(None, reason=f"nothing new for {newsletter.slug}{unfit}")
        curating.record(session, newsletter, curated, cutoff)
        row = issues.create(session, newsletter.slug, period, cutoff=cutoff, now=cutoff, special=special is not None)
        if row.number == 1:
            row.number = newsletter.first_number  # an old count goes on
        words = wording.words(session, chosen.taken)
        text = composition.draft(
            newsletter, date=date, cutoff=cutoff, number=row.number, selection=chosen, summaries=_texts(words)
        )
        text = curating.with_origins(text, {ref: each.origin for ref, each in words.items()})
        draft = issuefile.read(text, name)
        row.subject = draft.subject
        written = {b.ref: issuefile.fingerprint(b) for s in draft.sections for b in s.blocks if b.ref}
        _claim(session, row, chosen, curated, written=written, now=cutoff)
    write_draft(path, text)
    return reports.ComposeReport(
        issue=name,
        path=app.workspace.shown(path),
        state=IssueState.DRAFT.value,
        topics={section.slug: len(section.blocks) for section in draft.sections},
        entries=len(chosen.taken),
        held=len(chosen.held),
        dropped=len(curated.dropped),
    )


def _stands(name: str, state: str, *, restored: bool) -> reports.ComposeReport:
    how = "; --refresh adds what came since" if state == IssueState.DRAFT else ""
    again = "; its file was missing and is written again" if restored else ""
    return reports.ComposeReport(None, reason=f"{name} stands already ({state}){again}{how}")


def _claim(
    session: Session,
    row: tables.Issue,
    chosen: composition.Selection,
    curated: curating.Curated,
    *,
    written: Mapping[str, str],
    now: dt.datetime,
) -> None:
    taken = [
        (entry, EntryState.IN_ISSUE, curated.whys.get(entry.ref), written.get(entry.ref)) for entry in chosen.taken
    ]
    held = [(entry, EntryState.HELD, why, None) for entry, why in chosen.held]
    out = [(entry, EntryState.DROPPED, why, None) for entry, why in curated.dropped]
    claims.claim(session, row.newsletter, [*taken, *held, *out], issue=row, now=now)


def claimed(
    session: Session, newsletter: config.Newsletter, row: tables.Issue, *, cut: bool = True
) -> dict[str, types.Claimed]:
    """ref -> entry that an issue has claimed, each with the topics that its draft was made with.

    With `cut`, also those that an editor cut.
    """
    names, _ = _sources(session, newsletter)
    found = claims.of_issue(session, row, [topic.slug for topic in newsletter.topic], names, cut=cut)
    return {entry.ref: entry for entry in _as_curated(session, newsletter, list(found.values()))}


def _as_curated(
    session: Session, newsletter: config.Newsletter, entries: Sequence[types.Claimed]
) -> list[types.Claimed]:
    """Entries that were curated before, with the topics that they fit and their score."""
    scores = curation.scores(session, newsletter.slug, [entry.ref for entry in entries])
    found = []
    for entry in entries:
        fits = curating.fitting(entry, newsletter, scores)[0] or entry.topics
        best = max((scores.get((entry.ref, topic), 0.0) for topic in fits), default=0.0)
        found.append(dataclasses.replace(entry, topics=fits, score=best))
    return found


def _texts(words: Mapping[str, curating.Words]) -> dict[str, str]:
    return {ref: each.text for ref, each in words.items()}


def _sources(session: Session, newsletter: config.Newsletter) -> tuple[dict[str, str], dict[str, int]]:
    """(source address -> the name to show, source address -> how many an issue may have)."""
    wanted = [source for topic in newsletter.topic for source in topic.sources]
    known = sources.known(session, [source.url for source in wanted])
    titles = {url: row.title for url, row in known.items() if row.title}
    names = titles | {source.url: source.name for source in wanted if source.name}
    return names, {source.url: source.max_per_issue for source in wanted if source.max_per_issue is not None}


def _refresh(app: App, newsletter: config.Newsletter, name: str, now: dt.datetime) -> reports.ComposeReport:
    """Add what came since to a draft that is not approved, and write our own untouched blocks anew."""
    path = app.workspace.draft(name)
    data = read_draft(app, path)
    draft = issuefile.read_bytes(data, app.workspace.shown(path))
    here = {block.ref for section in draft.sections for block in section.blocks}
    wording = _asked(app, newsletter, now, name)
    with app.store.write() as session:
        row = issues.get(session, name)
        issues.require(row, [IssueState.DRAFT], "only a draft can be refreshed")
        as_written = claims.hashes(session, row)
        untouched = {
            block.ref
            for section in draft.sections
            for block in section.blocks
            if block.ref and issuefile.fingerprint(block) == as_written.get(block.ref)
        }
        curation.reopen(session, newsletter.slug)
        mine = list(claimed(session, newsletter, row, cut=False).values())
        gone = _unfit(session, newsletter, [entry for entry in mine if entry.ref in untouched])
        curation.drop(session, row, gone, now)
        stay = [entry for entry in mine if entry.ref in here and entry.ref not in gone]
        curated, chosen = _chosen(session, newsletter, now, already=stay, but=gone)
        curating.record(session, newsletter, curated, now)
        words = wording.words(session, [*mine, *chosen.taken])
        text = composition.refreshed(
            draft,
            newsletter,
            entries=mine,
            added=chosen.taken,
            summaries=_texts(words),
            written=as_written,
            more=dict(Counter(dict(draft.more)) + Counter(chosen.more())),
            cutoff=now,
            gone=gone,
        )
        ours = {entry.ref for entry in chosen.taken} | (untouched - set(gone))
        if text.encode() != data:
            text = curating.with_origins(text, {ref: each.origin for ref, each in words.items() if ref in ours})
        fresh = issuefile.read(text, name)
        prints = {b.ref: issuefile.fingerprint(b) for s in fresh.sections for b in s.blocks if b.ref and b.ref in ours}
        _claim(session, row, chosen, curated, written=prints, now=now)
        claims.set_hashes(session, row, prints)
        if read_draft(app, path) != data:
            raise errors.StateError(f"{app.workspace.shown(path)} was saved meanwhile; run this again")
    changed = text.encode() != data
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
        dropped=len(curated.dropped) + len(gone),
        added=len(chosen.taken),
    )


def _chosen(
    session: Session,
    newsletter: config.Newsletter,
    cutoff: dt.datetime,
    *,
    already: Sequence[types.Claimed] = (),
    but: Container[str] = (),
) -> tuple[curating.Curated, composition.Selection]:
    """What waits, curated, and what of it an issue takes that has `already`."""
    names, per_source = _sources(session, newsletter)
    topics = [topic.slug for topic in newsletter.topic]
    waiting = claims.waiting(session, newsletter.slug, topics, cutoff, names)
    curated = curating.curate(session, newsletter, [entry for entry in waiting if entry.ref not in but], cutoff)
    chosen = composition.select(
        curated.belonging,
        max_entries=newsletter.max_entries,
        per_source=per_source,
        cutoff=cutoff,
        already=already,
        order=newsletter.order,
    )
    return curated, chosen


def _unfit(session: Session, newsletter: config.Newsletter, entries: Sequence[types.Claimed]) -> dict[str, str]:
    """ref -> why, of entries that the rules of now let into none of their topics."""
    names = [topic.slug for topic in newsletter.topic]
    scores = curation.scores(session, newsletter.slug, [entry.ref for entry in entries])
    judged = {
        entry.ref: curating.fitting(
            dataclasses.replace(entry, topics=tuple(t for t in names if t in entry.topics)), newsletter, scores
        )
        for entry in entries
    }
    return {ref: why for ref, (fits, why) in judged.items() if not fits}


def _asked(app: App, newsletter: config.Newsletter, cutoff: dt.datetime, name: str | None = None) -> curating.Wording:
    """The words to come. A model is asked now, before anything is locked, about what the issue has and will take."""
    wording = curating.Wording(app)
    if wording.asks:
        with app.store.read() as session:
            row = issues.find(session, name) if name else None
            mine = list(claimed(session, newsletter, row, cut=False).values()) if row else []
            _, chosen = _chosen(session, newsletter, cutoff, already=mine)
        wording.ask([*mine, *chosen.taken])
    return wording


def read_draft(app: App, path: Path) -> bytes:
    """A draft's bytes; raises `errors.NotFound` in words when it cannot be read."""
    shown = app.workspace.shown(path)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise errors.NotFound(f"{shown} is missing; `newsletter compose` writes it again") from None
    except OSError as error:
        raise errors.NotFound(f"{shown} cannot be read: {error.strerror}") from None


def restore_missing(app: App, newsletter: config.Newsletter) -> list[str]:
    """Write drafts again that are missing: a kill between commit and file, or a file deleted by mistake."""
    restored = []
    with app.store.read() as session:
        rows = [row for row, _ in issues.listing(session, newsletter.slug) if row.state == IssueState.DRAFT]
    for row in rows:
        name = f"{row.newsletter}/{row.period}"
        path = app.workspace.draft(name)
        if os.path.lexists(path):
            continue
        with app.store.write() as session:
            text = _text_again(app, session, newsletter, row)
            draft = issuefile.read(text, name)
            prints = {b.ref: issuefile.fingerprint(b) for s in draft.sections for b in s.blocks if b.ref}
            claims.set_hashes(session, row, prints)
        write_draft(path, text)
        restored.append(name)
    return restored


def _text_again(app: App, session: Session, newsletter: config.Newsletter, row: tables.Issue) -> str:
    names, _ = _sources(session, newsletter)
    topics = [topic.slug for topic in newsletter.topic]
    mine = list(claimed(session, newsletter, row, cut=False).values())
    left = claims.held_by(session, row, topics, names)
    entries = _as_curated(session, newsletter, [entry for entry, _ in left])
    held = [(entry, why) for entry, (_, why) in zip(entries, left, strict=True)]
    taken = composition.ordered(mine, row.cutoff_at, newsletter.order)
    words = curating.Wording(app).words(session, taken)
    text = composition.draft(
        newsletter,
        date=dt.date.fromisoformat(row.period[:10]),
        cutoff=row.cutoff_at,
        number=row.number,
        selection=composition.Selection(tuple(taken), tuple(held)),
        summaries=_texts(words),
    )
    return curating.with_origins(text, {ref: each.origin for ref, each in words.items()})


def write_draft(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises `errors.StoreError` when it cannot be written."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(made)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise errors.StoreError(
            f"{path} cannot be written ({error.strerror}); the entries are kept: "
            "mend that and run `newsletter compose` again"
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


def cancel(app: App, name: str, *, dry_run: bool = False) -> int:
    """Give an issue up before its first mail: its entries wait again, its period is free. Returns how many entries."""
    back = 0
    with contextlib.suppress(_DryRun), app.store.write() as session:
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
        if dry_run:
            raise _DryRun
    if not dry_run:
        _put_aside(app.workspace.draft(name))
    return back


class _DryRun(Exception):
    """Rolls a transaction back."""


def _put_aside(path: Path) -> None:
    """Rename a cancelled issue's draft, over nothing that was put aside before."""
    if not path.exists():
        return
    endings = itertools.chain([""], (f"-{n}" for n in itertools.count(2)))
    names = (path.with_name(f"{path.stem}.cancelled{ending}.md") for ending in endings)
    target = next(name for name in names if not name.exists())
    try:
        path.rename(target)
    except OSError as error:
        raise errors.StateError(
            f"the issue is cancelled, but {path} cannot be put aside ({error.strerror}); move it away yourself"
        ) from None


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
