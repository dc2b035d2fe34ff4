"""`entries`: the articles that were found, or given by hand."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

import click

from newsletter import errors, types
from newsletter.cli import output

if TYPE_CHECKING:
    from newsletter.app import reports


@click.group(cls=output.Group)
def entries() -> None:
    """The articles that were found."""


@entries.command("list")
@click.option("--newsletter", metavar="SLUG", help="Only this newsletter's.")
@click.option("--topic", metavar="SLUG", help="Only this topic's.")
@click.option("--state", type=click.Choice(["waiting", "in_issue", "held", "dropped"]), help="Only in this state.")
@output.json_option
@click.pass_context
@output.example("newsletter entries list --topic rl-agents", "newsletter entries list --state held --json")
def entries_list(
    ctx: click.Context, newsletter: str | None, topic: str | None, state: str | None, as_json: bool
) -> None:
    """What is known, newest first, and where each stands."""
    rows = output.app(ctx).entries(newsletter=newsletter, topic=topic, state=state)
    if as_json:
        output.emit({"entries": rows})
        return
    output.table(
        ["id", "published", "state", "issue", "title", "why"],
        [
            [row["id"], (row["published"] or "")[:10], row["state"], row["issue"], _named(row), _short(row["why"])]
            for row in rows
        ],
    )


@entries.command("show")
@click.argument("ref", metavar="ID")
@output.json_option
@click.pass_context
@output.example("newsletter entries show e-3f9a1c20")
def entries_show(ctx: click.Context, ref: str, as_json: bool) -> None:
    """All that is known of one entry."""
    rows = output.app(ctx).entries(ref=ref)
    if not rows:
        raise errors.NotFound(f"there is no entry {ref}; `newsletter entries list` shows them")
    if as_json:
        output.emit({"entries": rows})
        return
    for key, value in rows[0].items():
        if value not in (None, [], ""):
            click.echo(f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else value}")


@entries.command("import")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--topic", "topics", multiple=True, required=True, metavar="SLUG", help="For which topic; may be repeated."
)
@click.option("--newsletter", metavar="SLUG", help="The topic's newsletter, if several have one of that name.")
@output.json_option
@click.pass_context
@output.example(
    "newsletter entries import week.jsonl --topic rl-agents", "… | newsletter entries import - --topic rl-agents"
)
def entries_import(
    ctx: click.Context, file: IO[bytes], topics: tuple[str, ...], newsletter: str | None, as_json: bool
) -> None:
    """Take entries from JSON Lines, an object a line.

    \b
    {"title"?, "url"?, "authors"?: […], "summary", "published"?: "2026-09-11", "id"?, "doi"?}

    Rows that are refused are named with their line; the rest goes in, and the exit code is 1.
    """
    report = output.app(ctx).import_entries(file.read(), topics, newsletter)
    name = getattr(file, "name", "-")
    _tell(ctx, report, "stdin" if name in ("-", "<stdin>") else str(name), as_json=as_json)


@entries.command("add")
@click.option(
    "--topic", "topics", multiple=True, required=True, metavar="SLUG", help="For which topic; may be repeated."
)
@click.option("--newsletter", metavar="SLUG", help="The topic's newsletter, if several have one of that name.")
@click.option("--title", help="Its title, if it has one.")
@click.option("--url", help="Where it is to be read.")
@click.option("--author", "authors", multiple=True, help="May be repeated.")
@click.option("--summary", default="", help="Two sentences; - reads them from stdin.")
@click.option("--published", metavar="DATE", help="2026-09-11, or with a time.")
@output.json_option
@click.pass_context
@output.example('newsletter entries add --topic rl-agents --title "A find" --url https://example.org/a --summary "…"')
def entries_add(
    ctx: click.Context,
    *,
    topics: tuple[str, ...],
    newsletter: str | None,
    title: str | None,
    url: str | None,
    authors: tuple[str, ...],
    summary: str,
    published: str | None,
    as_json: bool,
) -> None:
    """Add one entry by hand."""
    import json

    text = sys.stdin.read() if summary == "-" else summary
    given = {"title": title, "url": url, "authors": list(authors), "summary": text, "published": published}
    line = json.dumps({key: value for key, value in given.items() if value})
    _tell(ctx, output.app(ctx).import_entries(line.encode(), topics, newsletter), "the entry", as_json=as_json)


@entries.command("drop")
@click.argument("refs", metavar="ID…", nargs=-1, required=True)
@click.option("--newsletter", metavar="SLUG", help="In which newsletter.")
@click.option("--reason", default="dropped by hand", show_default=True, help="What `entries list` shows.")
@output.json_option
@output.dry_run_option
@click.pass_context
@output.example("newsletter entries drop e-3f9a1c20 --reason 'a press release'")
def entries_drop(
    ctx: click.Context,
    *,
    refs: tuple[str, ...],
    newsletter: str | None,
    reason: str,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Drop entries that wait: no issue will have them. To cut one from a draft, delete its block there."""
    done, refused = output.app(ctx).drop_entries(refs, reason, newsletter, dry_run=dry_run)
    if as_json:
        output.emit({"dropped": done, "refused": refused, "dry_run": dry_run})
    else:
        output.say(f"{done} {'would be ' if dry_run else ''}dropped")
    for ref in refused:
        output.warn(f"{ref}: no such entry, or an issue has it already")
    if refused:
        ctx.exit(1)


@entries.command("restore")
@click.argument("refs", metavar="ID…", nargs=-1, required=True)
@click.option("--newsletter", metavar="SLUG", help="In which newsletter.")
@output.json_option
@output.dry_run_option
@click.pass_context
@output.example("newsletter entries list --state dropped", "newsletter entries restore e-3f9a1c20")
def entries_restore(
    ctx: click.Context, *, refs: tuple[str, ...], newsletter: str | None, as_json: bool, dry_run: bool
) -> None:
    """Bring back what was cut, dropped or held: the next issue takes it, whatever the rules and caps say."""
    done, refused = output.app(ctx).restore_entries(refs, newsletter, dry_run=dry_run)
    if as_json:
        output.emit({"restored": done, "refused": refused, "dry_run": dry_run})
    elif dry_run or not done:
        output.say(f"{done} {'would wait' if dry_run else 'wait'} again")
    else:
        stands = any(row.state == types.IssueState.DRAFT for row in output.app(ctx).issues(newsletter))
        then = "`newsletter compose --refresh` takes them now" if stands else "the next issue takes them"
        output.say(f"{done} wait again; {then}")
    known = {row["id"] for ref in refused for row in output.app(ctx).entries(ref=ref)}
    for ref in refused:
        output.warn(f"{ref}: an issue has it" if ref in known else f"{ref}: there is no such entry")
    if refused:
        ctx.exit(1)


def _tell(ctx: click.Context, report: reports.ImportReport, name: str, *, as_json: bool) -> None:
    if as_json:
        output.emit(report.as_json())
    else:
        output.say(
            f"{report.rows} row(s): {report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
            f"{len(report.rejected)} refused"
        )
    for note in report.notes:
        output.warn(f"{name}: {note}")
    for bad in report.rejected:
        output.warn(f"{name}:{bad.line}: {bad.value!r}: {bad.reason}")
    if report.rejected:
        ctx.exit(1)


def _named(row: dict[str, str]) -> str:
    return _short(row["title"] or row["summary"], 70)


def _short(text: str | None, most: int = 60) -> str:
    text = text or ""
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + "…"
