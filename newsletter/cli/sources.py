"""`sources` and `collect`: where entries come from."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from newsletter import types
from newsletter.cli import output

if TYPE_CHECKING:
    from newsletter.app import reports

LONGEST_BACKFILL = dt.timedelta(days=36_525)


@click.group(cls=output.Group)
def sources() -> None:
    """Where entries come from."""


@sources.command("list")
@output.json_option
@click.pass_context
@output.example("newsletter sources list")
def sources_list(ctx: click.Context, as_json: bool) -> None:
    """The sources of the settings, and how they fare."""
    rows = output.app(ctx).sources()
    if as_json:
        output.emit({"sources": [row.as_json() for row in rows]})
        return
    output.table(
        ["source", "topics", "entries", "state", "last good fetch", "trouble"],
        [
            [
                row.url, ", ".join(row.topics), row.entries, row.state,
                f"{row.last_ok:%F %H:%M}" if row.last_ok else "never", _trouble(row),
            ]
            for row in rows
        ],
    )  # fmt: skip


def _trouble(row: reports.SourceView) -> str:
    moved = f"it has moved to {row.moved_to}: write that instead" if row.moved_to else ""
    return "; ".join(each for each in (row.last_error, moved, row.note) if each)


@sources.command("check")
@click.argument("urls", nargs=-1, metavar="[URL]...")
@output.json_option
@click.pass_context
@output.example("newsletter sources check", "newsletter sources check https://blog.example.org/feed.xml")
def sources_check(ctx: click.Context, urls: tuple[str, ...], as_json: bool) -> None:
    """Fetch sources now and say what each gives; nothing is stored. Without a URL: those of the settings.

    Exit 1 when one of them cannot be read.
    """
    rows = output.app(ctx).check_sources(urls, None if as_json else output.progress_bar("asking"))
    if as_json:
        output.emit({"sources": [row.as_json() for row in rows]})
    elif not rows:
        output.say("there are no sources; name some in newsletter.toml, or an address here")
    else:
        for row in rows:
            _tell_check(row)
    if not all(row.ok for row in rows):
        ctx.exit(1)


def _tell_check(row: reports.SourceCheck) -> None:
    if row.ok:
        newest = f", the newest of {row.newest:%F %H:%M} UTC" if row.newest else ""
        title = f" “{row.title}”" if row.title else ""
        output.result(f"{'ok' if row.entries else 'empty':6}  {row.url}:{title} {_entries(row.entries)}{newest}")
    else:
        output.result(f"failed  {row.url}: {row.error}")
    if row.moved_to:
        output.result(f"        it has moved to {row.moved_to}: write that instead")
    for note in row.notes:
        output.result(f"        {note}")


@sources.command("discover")
@click.argument("url", metavar="URL")
@output.json_option
@click.pass_context
@output.example("newsletter sources discover blog.example.org", "newsletter sources discover https://github.com/o/repo")
def sources_discover(ctx: click.Context, url: str, as_json: bool) -> None:
    """Find the feeds of a page: those it names, those its site is known for, the usual places.

    Exit 1 without a feed, or without such a page. Each is fetched and read before it is named.
    """
    report = output.app(ctx).discover(url)
    if as_json:
        output.emit(report.as_json())
    else:
        for feed in report.feeds:
            output.result(f"{feed.url}  {_entries(feed.entries)}{f', “{feed.title}”' if feed.title else ''}")
        if report.feeds and report.missing:
            output.warn(f"{url}: {report.missing}; what was found stands in the usual places beside it")
        if not report.feeds:
            output.warn(f"no feed was found from {url}; tried:")
            for tried, why in report.tried:
                output.warn(f"  {tried}: {why}")
    if report.missing or not report.feeds:
        ctx.exit(1)


@sources.command("import-opml")
@click.argument("file", metavar="FILE", type=click.File("rb"))
@click.option("--topic", metavar="SLUG", help="All feeds into this topic; without: one topic a folder.")
@click.option("--newsletter", metavar="SLUG", help="Whose topics; needed only when there are several newsletters.")
@output.dry_run_option
@output.json_option
@click.pass_context
@output.example(
    "newsletter sources import-opml feeds.opml --dry-run",
    "newsletter sources import-opml feeds.opml --topic rl-agents",
)
def sources_import_opml(
    ctx: click.Context, file: BinaryIO, topic: str | None, newsletter: str | None, dry_run: bool, as_json: bool
) -> None:
    """Write the feeds of an OPML file (`-`: stdin) into newsletter.toml; nothing is fetched.

    A folder becomes a topic (one of that title or slug is used if it is there); feeds without a folder go into the
    first topic. What is there already is left alone. Exit 1 when something of the file was refused.
    """
    report = output.app(ctx).import_opml(file.read(), topic, newsletter, dry_run=dry_run)
    if as_json:
        output.emit(report.as_json())
    else:
        _tell_import(report, dry_run=dry_run)
    if report.rejected or report.fault:
        ctx.exit(1)


def _tell_import(report: reports.OpmlReport, *, dry_run: bool) -> None:
    for each in report.topics:
        where = f"{each.newsletter}/{each.topic}{' (new)' if each.new else ''}"
        output.result(f"{where}: {each.added} of {each.feeds} added, from {each.folder or 'no folder'}")
    for bad in report.rejected:
        output.warn(f"line {bad.line}: {bad.value}: {bad.reason}")
    if report.fault:
        output.warn(f"{report.fault}; what could be read is taken")
    if not report.feeds:
        output.say("there is no feed in it")
        return
    output.say(f"{report.added} feed(s) {'would be added' if dry_run else 'added'}, {report.doubles} there already")
    if report.added and not dry_run:
        output.say(
            "they stand in newsletter.toml; `newsletter sources check` asks them, `newsletter collect` reads them"
        )


@sources.command("export-opml")
@click.argument("file", required=False, metavar="[FILE]", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--newsletter", metavar="SLUG", help="Whose sources; needed only when there are several newsletters.")
@output.json_option
@click.pass_context
@output.example("newsletter sources export-opml feeds.opml", "newsletter sources export-opml > feeds.opml")
def sources_export_opml(ctx: click.Context, file: Path | None, newsletter: str | None, as_json: bool) -> None:
    """Write the feeds of a newsletter as OPML, a folder a topic; to stdout without a FILE."""
    text, feeds, left_out = output.app(ctx).export_opml(newsletter)
    if file is not None:
        file.write_text(text, encoding="utf-8")
    if as_json:
        shown = None if file is not None else text
        output.emit({"path": str(file) if file else None, "feeds": feeds, "left_out": left_out, "opml": shown})
    elif file is None:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    else:
        output.say(f"{feeds} feed(s) in {file}")
    if left_out and not as_json:
        output.warn(f"left out, since other programs cannot read them: {', '.join(left_out)}")


@click.command()
@click.option("--newsletter", metavar="SLUG", help="Only its sources.")
@click.option("--topic", metavar="SLUG", help="Only this topic's sources.")
@click.option("--all", "everything", is_flag=True, help="Also sources that are not due yet.")
@click.option("--backfill", metavar="90d", help="Take older entries too, of that span.")
@click.option("--as-seen", is_flag=True, help="Ask all, and drop what waits of them: readers know it (moving in).")
@output.json_option
@click.pass_context
@output.example(
    "newsletter collect", "newsletter collect --topic rl-agents --backfill 90d", "newsletter collect --as-seen"
)
def collect(
    ctx: click.Context,
    newsletter: str | None,
    topic: str | None,
    everything: bool,
    backfill: str | None,
    as_seen: bool,
    as_json: bool,
) -> None:
    """Fetch the sources that are due and keep what is new. Nothing is claimed yet.

    A source in trouble is named and costs the others nothing; then the exit code is 1. In JSON, entries_seen is 0 of a
    source whose server or content says that all is as before: it is not read again.
    """
    if as_seen and backfill:
        raise click.UsageError("--backfill takes older entries, --as-seen drops them; say one of them")
    app = output.app(ctx)
    report = app.collect(
        newsletter,
        topic,
        everything=everything,
        backfill=_span(backfill) if backfill else None,
        as_seen=as_seen,
        progress=None if as_json else output.progress_bar("collecting"),
    )
    failed = [source for source in report.sources if source.status == "failed"]
    if as_json:
        output.emit(report.as_json())
    else:
        for source in report.sources:
            if source.status != "skipped":
                output.result(f"{source.status:9}  {source.url}{_found(source)}")
        skipped = sum(source.status == "skipped" for source in report.sources)
        if not report.sources:
            output.say("there are no sources; name some in newsletter.toml, or use `newsletter entries import`")
        elif skipped and not as_seen:
            output.say(f"{skipped} source(s) are not due yet; --all asks them now")
        freed = f", {report.entries_released} older that were held and wait now" if report.entries_released else ""
        output.say(f"{report.entries_new} new entr{'y' if report.entries_new == 1 else 'ies'}{freed}")
        if as_seen:
            output.say(f"{_entries(report.as_seen)} dropped as seen; what comes from now on waits for the first issue")
    for source in report.sources:
        if source.error:
            output.warn(f"{source.url}: {source.error}")
        if source.note and not source.note.startswith(types.EMPTY_EXPECTED):
            output.warn(f"{source.url}: {source.note}")
    if failed and as_seen:
        output.warn("what failed was not seen: run this again once it answers, or its old entries will count as new")
    if failed:
        ctx.exit(1)


def _found(source: reports.SourceReport) -> str:
    """What its answer held; nothing is said of one that was not read again, since it is as before."""
    if not source.entries_seen and source.status == "unchanged":
        return ""
    freed = f", {source.entries_released} released" if source.entries_released else ""
    return f": {_entries(source.entries_seen)}, {source.entries_new} new{freed}"


def _entries(many: int) -> str:
    return f"{many} entr{'y' if many == 1 else 'ies'}"


def _span(text: str) -> dt.timedelta:
    from newsletter import config

    try:
        span = config.parse_duration(text)
    except ValueError as error:
        units = "; its units are s, m, h and d, so that ten weeks are 70d"
        raise click.BadParameter(f"{error}{units}", param_hint="--backfill") from None
    assert isinstance(span, dt.timedelta)
    if span > LONGEST_BACKFILL:
        raise click.BadParameter("is longer than a hundred years", param_hint="--backfill")
    return span
