"""`doctor`: is everything in order? One line a thing: OK, WARN or FAIL, and how to mend it."""

from __future__ import annotations

import asyncio
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from newsletter import errors, render, store
from newsletter.app import collecting
from newsletter.app.reports import Line
from newsletter.deliver import smtp
from newsletter.store import issues, outbox, sources
from newsletter.types import IssueState

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

LEAST_DISK = 500_000_000  # octets


def doctor(app: App) -> list[Line]:
    """Look at everything; what fails does not stop the rest."""
    checks: list[tuple[str, Callable[[App], Iterable[Line]]]] = [
        ("settings", _settings),
        ("secret key", _secret),
        ("templates", _templates),
        ("database", _database),
        ("disk", _disk),
        ("mail server", _smtp),
        ("sources", _sources),
        ("issues", _issues),
    ]
    lines = []
    for what, look in checks:
        try:
            lines += list(look(app))
        except errors.NewsletterError as error:
            lines.append(Line("FAIL", what, str(error)))
    return lines


def _settings(app: App) -> Iterable[Line]:
    topics = sum(len(newsletter.topic) for newsletter in app.settings.newsletter)
    yield Line("OK", "settings", f"{len(app.settings.newsletter)} newsletter(s), {topics} topic(s)")
    if app.settings.site.base_url.startswith("http://127.0.0.1"):
        yield Line("WARN", "settings", "site.base_url is this machine: links in mails work nowhere else; set your own")
    for newsletter in app.settings.newsletter:
        if not newsletter.postal_address:
            text = f"{newsletter.slug} has no postal_address, which the law of many countries asks for in each mail"
            yield Line("WARN", "settings", text)
        if "@example." in newsletter.sender:
            yield Line("WARN", "settings", f"{newsletter.slug} is from an example's address; set newsletter.from")


def _secret(app: App) -> Iterable[Line]:
    app.signer  # noqa: B018 - raises when there is none, or a bad one
    path = app.workspace.path / app.settings.site.secret_key_file
    if app.settings.site.secret_key is None and stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield Line("WARN", "secret key", f"others may read {path.name}: chmod 600 {path}")
    else:
        yield Line("OK", "secret key", "there, and nobody else may read it")


def _templates(app: App) -> Iterable[Line]:
    render.Templates.load(app.workspace.template_folders)
    yield Line("OK", "templates", "they can be read")


def _database(app: App) -> Iterable[Line]:
    path = Path(app.settings.database_url.removeprefix("sqlite:///"))
    if app.settings.database_url.startswith("sqlite") and not path.exists():
        yield Line("OK", "database", "not made yet: the first command that needs it makes it")
        return
    found = store.connect_any(app.settings.database_url)
    try:
        revision = store.revision(found)
        if revision != store.HEAD:
            text = f"schema {revision}, this program needs {store.HEAD}; back it up, then `newsletter db upgrade`"
            yield Line("FAIL", "database", text)
            return
        with found.read() as session:
            verdict = session.execute(sa.text("pragma quick_check(1)")).scalar()
        size = path.stat().st_size / 1e6
        if verdict == "ok":
            yield Line("OK", "database", f"sound, schema {revision}, {size:,.1f} MB")
        else:
            yield Line("FAIL", "database", f"damaged ({verdict}); stop everything and restore a backup")
    finally:
        found.close()


def _disk(app: App) -> Iterable[Line]:
    free = shutil.disk_usage(app.workspace.path).free
    level, text = ("OK", "free") if free > LEAST_DISK else ("WARN", "free: a full disk stops sending; make room")
    yield Line(level, "disk", f"{free / 1e9:,.1f} GB {text}")


def _smtp(app: App) -> Iterable[Line]:
    async def look() -> dict[str, str]:
        connection = await smtp.connect(app.settings.smtp)
        await connection.quit()
        return connection.extensions

    extensions = asyncio.run(look())
    offers = ", ".join(sorted(name.upper() for name in extensions if name in ("pipelining", "starttls", "smtputf8")))
    where = f"{app.settings.smtp.host}:{app.settings.smtp.port}"
    yield Line("OK", "mail server", f"{where} takes mail" + (f" ({offers})" if offers else ""))


def _sources(app: App) -> Iterable[Line]:
    wanted = collecting.wanted(app, None, None)
    if not wanted:
        yield Line("OK", "sources", "none: entries come by `entries import`")
        return
    if not _has_tables(app):
        yield Line("OK", "sources", f"{len(wanted)} source(s), not visited yet")
        return
    with app.store.read() as session:
        known = sources.known(session, list(wanted))
    failing = [row for row in known.values() if row.failures]
    for row in failing:
        yield Line("WARN", "sources", f"{row.url} failed {row.failures} time(s): {row.last_error}")
    if not failing:
        yield Line("OK", "sources", f"{len(wanted)} source(s), {len(known)} visited, none failing")


def _issues(app: App) -> Iterable[Line]:
    if not _has_tables(app):
        return
    with app.store.read() as session:
        for row, _ in issues.listing(session):
            name = f"{row.newsletter}/{row.period}"
            standing = outbox.standing(session, row.id or 0, app.is_dead)
            if row.state == IssueState.HELD:
                yield Line(
                    "WARN", "issues", f"{name} is held ({row.reason}); `newsletter release {name}` lets it go on"
                )
            if row.state == IssueState.SENDING:
                left = (
                    standing.audience - standing.counts["sent"] - standing.counts["skipped"] - standing.counts["failed"]
                )
                yield Line(
                    "WARN", "issues", f"{name} is not sent to {left} of {standing.audience}; `newsletter send {name}`"
                )
            if standing.in_doubt:
                text = f"{len(standing.in_doubt)} in doubt; `newsletter status {name}` names them"
                yield Line("WARN", "issues", f"{name}: {text}")


def _has_tables(app: App) -> bool:
    path = app.settings.database_url.removeprefix("sqlite:///")
    return Path(path).exists() and store.revision(app.store) == store.HEAD
