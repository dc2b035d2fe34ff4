"""The issues: listed, cancelled, and when the next ones are due."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import zoneinfo
from pathlib import Path
from typing import TYPE_CHECKING

from newsletter import calendar, errors
from newsletter import compose as composition
from newsletter.app import reports
from newsletter.store import claims, issues, outbox, tables
from newsletter.types import IssueState

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App


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
