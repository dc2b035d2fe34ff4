"""Composing: what waits becomes claims and a draft, in one transaction and one file."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import tempfile
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import compose as composition
from newsletter import config, errors, issuefile, types
from newsletter.app import curating, health, holders, reports
from newsletter.store import claims, curation, issues, sources, tables
from newsletter.types import EntryState, IssueState

if TYPE_CHECKING:  # the words come late: they bring hundreds of patterns, which `check` and `send` can do without
    from newsletter.app import Newsletter as App
    from newsletter.app import wording


def compose(app: App, newsletter: config.Newsletter, *, refresh: bool, special: str | None) -> reports.ComposeReport:
    """Write the draft of the next issue; a period whose draft stands is left alone, or added to with `refresh`."""
    cutoff = app.clock.now()
    date = composition.issue_date(newsletter, cutoff)
    period = date.isoformat() + (f"-{special}" if special else "")
    name = f"{newsletter.slug}/{period}"
    with app.store.read() as session:
        holders.refuse_gone(session, app.settings, newsletter.slug)
        silent = health.silent(session, newsletter, cutoff, name)
        older = {
            f"{row.newsletter}/{row.period}": entries
            for row, entries in issues.listing(session, newsletter.slug)
            if row.state == IssueState.DRAFT and row.period < period
        }
    return dataclasses.replace(
        _compose(app, newsletter, name, date, cutoff, refresh=refresh, special=special), silent=silent, older=older
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
    from newsletter.app import wording

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
    asked = _asked(app, newsletter, cutoff)
    with app.store.write() as session:
        standing = issues.find(session, name)
        if standing is not None and standing.state != IssueState.CANCELLED:  # another compose was faster
            return _stands(name, standing.state, restored=False)
        curation.reopen(session, newsletter.slug, _slugs(newsletter), cutoff)
        curated, chosen = _chosen(session, newsletter, cutoff)
        if not curated.belonging:
            unfit = f" ({curated.unfit} match no rule)" if curated.unfit else ""
            return reports.ComposeReport(None, reason=f"nothing new for {newsletter.slug}{unfit}")
        curating.record(session, newsletter, curated, cutoff)
        row = issues.create(session, newsletter.slug, period, cutoff=cutoff, now=cutoff, special=special is not None)
        if row.number == 1:
            row.number = newsletter.first_number  # an old count goes on
        words = asked.words(session, chosen.taken)
        text = composition.draft(newsletter, date=date, cutoff=cutoff, number=row.number, selection=chosen, words=words)
        text = wording.with_origins(text, {ref: each.origin for ref, each in words.items()})
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
        dropped=curated.unfit,
        merged=len(curated.merges),
        extracted=_faults(words),
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
    found = claims.of_issue(session, row, _slugs(newsletter), names, cut=cut)
    return {entry.ref: entry for entry in _as_curated(session, newsletter, list(found.values()))}


def any_claimed(session: Session, newsletter: config.Newsletter, ref: str) -> types.Claimed | None:
    """An entry of a newsletter as a draft would show it, wherever it stands."""
    names, _ = _sources(session, newsletter)
    found = claims.one(session, newsletter.slug, ref, _slugs(newsletter), names)
    return _as_curated(session, newsletter, [found])[0] if found is not None else None


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


def _faults(words: Mapping[str, wording.Words], known: Mapping[str, str] | None = None) -> dict[str, int]:
    """Why words are no model's -> how many; without what the draft said before (`known`: ref -> origin)."""
    from newsletter.app import wording

    told = known or {}
    kinds: dict[str, list[str]] = {}
    for ref, each in words.items():
        if each.fault is not None and told.get(ref) != wording.printable(each.origin):
            kinds.setdefault(each.fault.partition(": ")[0], []).append(each.fault)
    return {kind if len(set(whys)) > 1 else whys[0]: len(whys) for kind, whys in kinds.items()}


def _slugs(newsletter: config.Newsletter) -> list[str]:
    return [topic.slug for topic in newsletter.topic]


def _sources(session: Session, newsletter: config.Newsletter) -> tuple[dict[str, str], dict[str, int]]:
    """(source address -> the name to show, source address -> how many an issue may have)."""
    wanted = [source for topic in newsletter.topic for source in topic.sources]
    known = sources.known(session, [source.url for source in wanted])
    titles = {url: row.title for url, row in known.items() if row.title}
    names = titles | {source.url: source.name for source in wanted if source.name}
    return names, {source.url: source.max_per_issue for source in wanted if source.max_per_issue is not None}


def _refresh(app: App, newsletter: config.Newsletter, name: str, now: dt.datetime) -> reports.ComposeReport:
    """Add what came since to a draft that is not approved, and write our own untouched blocks anew."""
    from newsletter.app import wording

    path = app.workspace.draft(name)
    data = read_draft(app, path)
    draft = issuefile.read_bytes(data, app.workspace.shown(path))
    here = {block.ref for section in draft.sections for block in section.blocks}
    asked = _asked(app, newsletter, now, name)
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
        curation.reopen(session, newsletter.slug, _slugs(newsletter), now)
        mine = list(claimed(session, newsletter, row, cut=False).values())
        shown = [entry for entry in mine if entry.ref in here]
        edited = {entry.ref for entry in shown} - untouched
        unfit = _unfit(session, newsletter, shown)
        doubles = curating.doubles(session, newsletter, [e for e in shown if e.ref not in unfit], edited)
        unfit |= {ref: curating.same_story(kept, shown) for ref, kept in doubles}
        gone = {ref: why for ref, why in unfit.items() if ref in untouched}
        curation.drop(session, row, gone, now)
        curation.stand_for(session, newsletter.slug, [pair for pair in doubles if pair[0] in gone], now)
        stay = [entry for entry in mine if entry.ref in here and entry.ref not in gone]
        left = _left_out(session, newsletter, row)
        claims.reopen_held(session, row)
        curated, chosen = _chosen(session, newsletter, now, already=stay, but=gone)
        curating.record(session, newsletter, curated, now)
        mine = _with_sources(mine, claimed(session, newsletter, row))  # some may stand for others from now on
        words = asked.words(session, [*mine, *chosen.taken])
        text = composition.refreshed(
            draft,
            newsletter,
            entries=mine,
            added=chosen.taken,
            words=words,
            written=as_written,
            more=dict(Counter(dict(draft.more)) - Counter(left.more()) + Counter(chosen.more())),
            cutoff=now,
            gone=gone,
        )
        ours = {entry.ref for entry in chosen.taken} | (untouched - set(gone))
        if text.encode() != data:
            text = wording.with_origins(text, {ref: each.origin for ref, each in words.items() if ref in ours})
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
        dropped=curated.unfit + len(gone.keys() - dict(doubles)),
        merged=len(curated.merges) + len(gone.keys() & dict(doubles)),
        added=len(chosen.taken),
        stays={ref: why for ref, why in unfit.items() if ref not in gone},
        extracted=_faults(
            {ref: each for ref, each in words.items() if ref in ours},
            wording.origins_in(data.decode("utf-8", "replace")),
        ),
    )


def _with_sources(entries: Sequence[types.Claimed], fresh: Mapping[str, types.Claimed]) -> list[types.Claimed]:
    return [dataclasses.replace(each, also=fresh[each.ref].also) if each.ref in fresh else each for each in entries]


def _left_out(session: Session, newsletter: config.Newsletter, row: tables.Issue) -> composition.Selection:
    """What did not fit into a draft."""
    names, _ = _sources(session, newsletter)
    left = claims.held_by(session, row, _slugs(newsletter), names)
    entries = _as_curated(session, newsletter, [entry for entry, _ in left])
    return composition.Selection((), tuple((entry, why) for entry, (_, why) in zip(entries, left, strict=True)))


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
    waiting = claims.waiting(session, newsletter.slug, _slugs(newsletter), cutoff, names)
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
    names = _slugs(newsletter)
    scores = curation.scores(session, newsletter.slug, [entry.ref for entry in entries])
    judged = {
        entry.ref: curating.fitting(
            dataclasses.replace(entry, topics=tuple(t for t in names if t in entry.topics)), newsletter, scores
        )
        for entry in entries
        if not entry.wanted
    }
    return {ref: why for ref, (fits, why) in judged.items() if not fits}


def _asked(app: App, newsletter: config.Newsletter, cutoff: dt.datetime, name: str | None = None) -> wording.Wording:
    """The words to come. A model is asked now, before anything is locked, about what the issue has and will take."""
    from newsletter.app import wording

    asked = wording.Wording(app)
    if asked.asks:
        with app.store.read() as session:
            row = issues.find(session, name) if name else None
            mine = list(claimed(session, newsletter, row, cut=False).values()) if row else []
            _, chosen = _chosen(session, newsletter, cutoff, already=mine)
        asked.ask([*mine, *chosen.taken])
    return asked


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
    from newsletter.app import wording

    mine = list(claimed(session, newsletter, row, cut=False).values())
    taken = composition.ordered(mine, row.cutoff_at, newsletter.order)
    words = wording.Wording(app).words(session, taken)
    text = composition.draft(
        newsletter,
        date=dt.date.fromisoformat(row.period[:10]),
        cutoff=row.cutoff_at,
        number=row.number,
        selection=composition.Selection(tuple(taken), _left_out(session, newsletter, row).held),
        words=words,
    )
    return wording.with_origins(text, {ref: each.origin for ref, each in words.items()})


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
