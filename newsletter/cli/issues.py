"""`compose`, `issues`, `check`, `render`, `approve`, `unapprove`: from entries to frozen bytes."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from newsletter import errors
from newsletter.cli import output

if TYPE_CHECKING:
    from newsletter import types
    from newsletter.app import reports

ISSUE = click.argument("issue", metavar="ISSUE")


@click.command()
@click.argument("newsletter", required=False)
@click.option("--refresh", is_flag=True, help="Add what came since to a draft that is not approved.")
@click.option("--special", metavar="SLUG", help="An extra issue; its name ends with the slug.")
@output.json_option
@click.pass_context
@output.example("newsletter compose", "newsletter compose weekly --refresh", "newsletter compose --special launch")
def compose(ctx: click.Context, newsletter: str | None, refresh: bool, special: str | None, as_json: bool) -> None:
    """Claim the entries that wait and write the draft of the next issue.

    The draft is a Markdown file: reorder, edit and cut in it as you like. A draft that stands is left alone.
    """
    import re

    if special is not None and not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,40}[a-z0-9])?", special):
        raise click.BadParameter("lower-case letters, digits and hyphens only", param_hint="--special")
    app = output.app(ctx)
    slugs = [newsletter] if newsletter else [each.slug for each in app.settings.newsletter]
    if len(slugs) == 1:
        report = app.compose(slugs[0], refresh=refresh, special=special)
        _warn_composed(report)
        if as_json:
            output.emit(report.as_json())
        else:
            _tell_composed(report)
        return
    found, failed = [], False
    for slug in slugs:  # one newsletter's trouble is its own
        try:
            report = app.compose(slug, refresh=refresh, special=special)
        except errors.NewsletterError as error:
            failed = True
            output.warn(f"error: {slug}: {error}")
            continue
        found.append(report)
        _warn_composed(report)
        if not as_json:
            _tell_composed(report)
    if as_json:
        output.emit({"issues": [report.as_json() for report in found]})
    if failed:
        ctx.exit(1)


def _warn_composed(report: reports.ComposeReport) -> None:
    for name, count in report.older.items():
        output.warn(
            f"{name} is not approved and holds {_entries(count)}; approve it, or `newsletter cancel {name}` frees them"
        )
    for source in report.silent:
        output.warn(f"silent: {source.url} ({', '.join(source.topics)}): {source.why}")
    for why, count in report.extracted.items():
        output.warn(
            f"warning: {count} of the summaries {'is' if count == 1 else 'are'} extracted, not by the model: {why}"
        )
    for ref, why in report.stays.items():
        output.warn(f"{ref} stays as you edited it, though the rules leave it out now: {why}")


def _tell_composed(report: reports.ComposeReport) -> None:
    if report.issue is None:
        output.say(report.reason or "nothing to do")
        return
    if report.added or report.reason:
        output.say(f"{report.issue}: {report.added} added" if report.added else f"{report.issue}: {report.reason}")
    else:
        topics = ", ".join(f"{count} for {slug}" for slug, count in report.topics.items())
        output.say(f"{report.issue}: {_entries(report.entries)} ({topics})")
    if report.held:
        output.say(f"  {report.held} more did not fit; `newsletter entries list --state held` shows them")
    if report.merged:
        output.say(f"  {report.merged} tell a story that another entry tells, and lent it their sources")
    if report.dropped:
        output.say(f"  {report.dropped} match no rule; `newsletter entries list --state dropped` shows them")
    output.say(f"  edit {report.path}, then `newsletter check {report.issue}`")


def _entries(count: int) -> str:
    return f"{count} entr{'y' if count == 1 else 'ies'}"


class _Issues(output.Group):
    """`issues` alone is `issues list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Issues)
def issues() -> None:
    """The issues and their states."""


@issues.command("list")
@click.option("--newsletter", metavar="SLUG", help="Only this one's.")
@output.json_option
@click.pass_context
@output.example("newsletter issues", "newsletter issues list --json")
def issues_list(ctx: click.Context, newsletter: str | None, as_json: bool) -> None:
    """All issues, newest first."""
    rows = output.app(ctx).issues(newsletter)
    if as_json:
        output.emit({"issues": [row.as_json() for row in rows]})
    else:
        output.table(
            ["issue", "state", "entries", "subject"], [[row.issue, row.state, row.entries, row.subject] for row in rows]
        )


@issues.command("show")
@ISSUE
@output.json_option
@click.pass_context
@output.example("newsletter issues show weekly/2026-09-11")
def issues_show(ctx: click.Context, issue: str, as_json: bool) -> None:
    """One issue: its state, who approved it and when, who would get it."""
    app = output.app(ctx)
    name = app.workspace.issue_name(issue)
    row = next((row for row in app.issues() if row.issue == name), None)
    if row is None:
        raise errors.NotFound(f"there is no issue {name}; `newsletter issues` lists them")
    open_ = row.state in ("draft", "approved")
    audience = dict(app.audience(name)) if open_ else {}
    counts = {} if open_ else app.status(name).counts
    if as_json:
        output.emit({**row.as_json(), "audience": audience, "counts": counts})
        return
    told = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in counts.items() if count)
    parts = ", ".join(f"{count:,} {edition}" for edition, count in audience.items())
    shown = {"audience": _people(audience) + (f" ({parts})" if parts else "")} if open_ else {"deliveries": told}
    for key, value in {**row.as_json(), **shown}.items():
        if value not in (None, ""):
            click.echo(f"{key}: {value}")


@click.command()
@ISSUE
@click.option("--online", is_flag=True, help="Try every link too, and ask SpamAssassin where it is installed.")
@click.option("--spam", is_flag=True, help="Ask SpamAssassin too: a second, by its offline rules.")
@output.json_option
@click.pass_context
@output.example(
    "newsletter check weekly/2026-09-11",
    "newsletter check issues/weekly/2026-09-11.md",
    "newsletter check weekly/2026-09-11 --online",
)
def check(ctx: click.Context, issue: str, online: bool, spam: bool, as_json: bool) -> None:
    """Look for mistakes in every edition, as it would be sent. Exit 1 when there are errors.

    docs/checks.md lists every code. `approve` and `send` look for the same, but for --online and --spam.
    """
    bar = None if as_json or not online else output.progress_bar("links")
    report = output.app(ctx).check(issue, online=online, spam=spam, progress=bar)
    if as_json:
        output.emit(report.as_json())
    else:
        _tell_findings("error", report.errors, "red")
        _tell_findings("warning", report.warnings, "yellow")
        for edition, octets in report.size.items():
            output.say(f"edition {edition}: {octets / 1000:,.1f} KB of HTML (Gmail clips from 102.4)")
        if report.spam is not None:
            rules = ", ".join(f"{name} {points:g}" for name, points in report.spam.rules.items()) or "no rule"
            output.say(f"SpamAssassin: {report.spam.score:g} of {report.spam.required:g} points ({rules})")
        output.say(
            "no errors" if report.ok else f"{len(report.errors)} error(s): approve refuses until they are mended"
        )
    if not report.ok:
        ctx.exit(1)


def _tell_findings(kind: str, findings: list[types.Finding], colour: str) -> None:
    for finding in findings:
        where = f" ({finding.where})" if finding.where else ""
        click.echo(f"{click.style(kind, fg=colour)} {finding.code}: {finding.message}{where}")


@click.command()
@ISSUE
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The folder to write to.")
@click.option("--as", "reader", metavar="EMAIL", help="As this subscriber gets it.")
@click.option("--topics", metavar="A,B", help="As a reader of these topics would get it.")
@output.json_option
@click.pass_context
@output.example(
    "newsletter render weekly/2026-09-11 --out look",
    "newsletter render weekly/2026-09-11 --out look --as ada@example.org",
)
def render(ctx: click.Context, issue: str, out: Path, reader: str | None, topics: str | None, as_json: bool) -> None:
    """Write message.eml (the very bytes that would be sent), message.html and message.txt."""
    if reader and topics:
        raise click.UsageError("--as and --topics exclude each other")
    wanted = [topic.strip() for topic in (topics or "").split(",") if topic.strip()]
    message, html, text = output.app(ctx).render(issue, reader=reader, topics=wanted)
    files = {"message.eml": message.octets, "message.html": html.encode(), "message.txt": text.encode()}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (out / name).write_bytes(data)
    except OSError as error:
        raise errors.UsageError(f"{out} cannot be written: {error}") from None
    if as_json:
        output.emit({"files": [str(out / name) for name in files], "octets": len(message.octets)})
    else:
        output.say(f"{', '.join(str(out / name) for name in files)}: {len(message.octets) / 1000:,.1f} KB on the wire")


@click.command()
@ISSUE
@click.option("--by", metavar="NAME", help="Who approves; default: your name on this machine.")
@output.json_option
@click.pass_context
@output.example("newsletter approve weekly/2026-09-11")
def approve(ctx: click.Context, issue: str, by: str | None, as_json: bool) -> None:
    """Freeze the draft: its bytes are kept, and are what will be sent. Refused while `check` finds errors.

    Who approved and when is kept (`issues show`). Warnings stop nothing; among them is an audience that is empty, or
    that changed by more than a fifth since the last issue.
    """
    report = output.app(ctx).approve(issue, by or _me())
    if as_json:
        output.emit(report.as_json())
        return
    _tell_findings("warning", report.warnings, "yellow")
    when = f"{report.approved_at:%F %H:%M} UTC" if report.approved_at else "now"
    output.say(f"{report.issue} is approved: {_entries(report.entries)} ({report.hash[:12]})")
    output.say(f"  by {report.approved_by}, {when}")
    if report.dropped:
        output.say(f"  {report.dropped} cut from the draft will not be offered again")
    for edition, people in report.audience.items():
        output.say(f"  edition {edition}: {people:,} {'person' if people == 1 else 'people'}")
    output.say(f"  {_people(report.audience)}; `newsletter send {report.issue}` sends it")


@click.command()
@ISSUE
@output.json_option
@click.pass_context
@output.example("newsletter unapprove weekly/2026-09-11")
def unapprove(ctx: click.Context, issue: str, as_json: bool) -> None:
    """Thaw an approved issue, to edit it again. Not once sending has begun."""
    app = output.app(ctx)
    app.unapprove(issue)
    name = app.workspace.issue_name(issue)
    if as_json:
        output.emit({"issue": name, "state": "draft"})
    else:
        output.say(f"{name} is a draft again")


def _people(audience: dict[str, int]) -> str:
    total = sum(audience.values())
    if not total:
        return "nobody would get it now"
    return f"{total:,} {'person' if total == 1 else 'people'} would get it now"


def _me() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
