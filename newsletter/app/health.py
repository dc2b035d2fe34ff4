"""`doctor`: is everything in order? One line a thing: OK, WARN or FAIL, and how to mend it."""

from __future__ import annotations

import asyncio
import datetime as dt
import difflib
import shlex
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlmodel import Session

from newsletter import compose as composition
from newsletter import config, errors, render, store, types
from newsletter.app import holders, reports
from newsletter.app.reports import Line
from newsletter.deliver import dkim, headers, smtp
from newsletter.store import issues, outbox, sources, tables
from newsletter.types import IssueState

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

LEAST_DISK = 500_000_000  # octets
WORDS = "parts/words.txt"  # every word that the templates say themselves
WINDOW, LEAST_WINDOW = dt.timedelta(days=7), dt.timedelta(days=1)  # in which a source should be heard of


def doctor(app: App) -> list[Line]:
    """Look at everything; what fails does not stop the rest."""
    checks: list[tuple[str, Callable[[App], Iterable[Line]]]] = [
        ("settings", _settings),
        ("secret key", _secret),
        ("dkim", _dkim),
        ("templates", _templates),
        ("database", _database),
        ("topics", _topics),
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
    templates = render.Templates.load(app.workspace.template_folders)
    for newsletter in app.settings.newsletter:
        render.edition(_sample(app, newsletter), tuple(topic.slug for topic in newsletter.topic), templates)
        if not templates.speaks(newsletter.language):
            text = f"{newsletter.slug} is in {newsletter.language}, the templates are in English: translate {WORDS}"
            yield Line("WARN", "templates", text)
    pages = render.Templates.load_pages(app.workspace.template_folders)
    shipped = [*templates.shipped(), *pages.shipped()]
    for name in (*templates.strangers(), *pages.strangers()):
        near = difflib.get_close_matches(name, shipped, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield Line(
            "WARN", "templates", f"templates/{name} replaces no shipped one, and is used only if another names it{hint}"
        )
    yield Line("OK", "templates", "an issue can be rendered with them")


def _sample(app: App, newsletter: config.Newsletter) -> types.Issue:
    """An issue with all that a template may be asked to show."""
    entries = (
        types.IssueEntry(None, "A title", "https://example.org/a", "Liu et al.", "Liu et al. show a *thing*.", ()),
        types.IssueEntry(None, None, "https://example.org/b", "", "The authors show another.", ()),
        types.IssueEntry(None, None, None, "", "A word without a link.", ()),
    )
    sections = tuple(
        types.IssueSection(topic.slug, topic.title, "A word before.", entries, more=1) for topic in newsletter.topic
    )
    return types.Issue(
        newsletter=newsletter.slug,
        period="2026-09-11",
        date=dt.date(2026, 9, 11),
        number=1,
        subject=newsletter.title,
        preheader="",
        intro="An introduction.",
        sections=sections,
        **composition.identity(newsletter, app.settings.site.base_url),
    )


def _dkim(app: App) -> Iterable[Line]:
    for key in app.settings.dkim:
        dkim.load(key.domain, key.selector, app.workspace.path / key.key_file)
        senders = [headers.split_mailbox(newsletter.sender)[1] for newsletter in app.settings.newsletter]
        if any(dkim.aligned(key.domain, sender.rpartition("@")[2]) for sender in senders):
            yield Line("OK", "dkim", f"{key.selector}._domainkey.{key.domain} signs")
        else:
            yield Line("WARN", "dkim", f"the key of {key.domain} signs nothing: no newsletter is from that domain")


def _topics(app: App) -> Iterable[Line]:
    """People whose topic the settings no longer have get nothing, and nobody would notice."""
    if not _has_tables(app):
        return
    with app.store.read() as session:
        gone = holders.gone(session, app.settings)
    for place, people in gone.items():
        yield Line("FAIL", "topics", holders.say_gone(place, people, app.settings))


def _database(app: App) -> Iterable[Line]:
    path = Path(app.settings.database_url.removeprefix("sqlite:///"))
    if app.settings.database_url.startswith("sqlite") and not path.exists():
        if any(app.workspace.drafts()):
            text = f"there are drafts, but no database at {path}: restore it; it knows who must not be mailed"
            yield Line("FAIL", "database", text)
        else:
            yield Line("OK", "database", "not made yet: the first command that needs it makes it")
        return
    found = store.connect_any(app.settings.database_url)
    try:
        revision = store.revision(found)
        if revision != store.HEAD:
            yield Line("FAIL", "database", store.wrong_schema(revision) if revision else "it has no tables")
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
    from newsletter.app import collecting  # brings HTTP and the parsers, which `check` and `compose` can do without

    wanted = collecting.wanted(app, None, None)
    if not wanted:
        yield Line("OK", "sources", "none: entries come by `entries import`")
        return
    if not _has_tables(app):
        yield Line("OK", "sources", f"{len(wanted)} source(s), not visited yet")
        return
    now = app.clock.now()
    with app.store.read() as session:
        known = sources.known(session, list(wanted))
        quiet: dict[str, str] = {}
        for newsletter in app.settings.newsletter:
            for each in silent(session, newsletter, now):
                quiet.setdefault(each.url, each.why)
    if not known:
        yield Line("OK", "sources", f"{len(wanted)} source(s), not visited yet: `newsletter collect` does")
        return
    failing = {url: row for url, row in known.items() if row.failures}
    for url in [url for url in wanted if url in failing or url in quiet]:
        row = failing.get(url)
        texts = [f"{url} failed {row.failures} time(s): {row.last_error}"] if row else [f"{url}: {quiet[url]}"]
        if row and url in quiet:
            texts.append("it had " + _last_good(row))
        yield Line("WARN", "sources", "; ".join(texts) + f"; `newsletter sources check {shlex.quote(url)}` looks")
    if not failing and not quiet:
        yield Line("OK", "sources", f"{len(wanted)} source(s), {len(known)} visited, none failing")


def silent(
    session: Session, newsletter: config.Newsletter, cutoff: dt.datetime, issue: str = ""
) -> list[reports.SilentSource]:
    """A newsletter's sources that had no good fetch since the issue before `issue`, or in 7 days where there is none.

    An empty answer is a good one, unless nothing says why it would be empty. A window is a day at least: sources are
    left alone for as long when they ask for it.
    """
    before = [
        row.cutoff_at
        for row, _ in issues.listing(session, newsletter.slug)
        if row.state != IssueState.CANCELLED and f"{row.newsletter}/{row.period}" != issue and row.cutoff_at < cutoff
    ]
    since = min(max(before, default=cutoff - WINDOW), cutoff - LEAST_WINDOW)
    topics: dict[str, list[str]] = {}
    for topic in newsletter.topic:
        for source in topic.sources:
            topics.setdefault(source.url, []).append(topic.slug)
    known = sources.known(session, list(topics))
    found = []
    for url, slugs in topics.items():
        row = known.get(url)
        why = _why_silent(row, since, cutoff)
        if why:
            found.append(reports.SilentSource(url, slugs, row.last_ok_at if row else None, why))
    return found


def _why_silent(row: tables.SourceState | None, since: dt.datetime, cutoff: dt.datetime) -> str | None:
    if row is None or row.last_checked_at is None:
        return "it was never asked; `newsletter collect` does"
    note = getattr(row, "note", None) or ""
    if row.last_ok_at is not None and row.last_ok_at >= since:
        return note if note.startswith(types.EMPTY_SUSPICIOUS) else None
    if row.last_ok_at is not None and not row.failures and row.next_check_at and row.next_check_at > cutoff:
        return None  # it is left alone because it asks for it, and answered when it was asked last (skipDays)
    return _last_good(row) + (f": {row.last_error}" if row.last_error else "")


def _last_good(row: tables.SourceState) -> str:
    return f"no good fetch since {row.last_ok_at:%F %H:%M} UTC" if row.last_ok_at else "no good fetch yet"


def place(app: App, url: str) -> str:
    """Where a source stands in the settings: file and line."""
    text = (app.workspace.path / config.FILE).read_text("utf-8", "replace")
    line = next((number for number, row in enumerate(text.splitlines(), 1) if url in row), None)
    return f"{config.FILE}:{line}" if line else config.FILE


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
