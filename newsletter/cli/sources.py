"""`sources` and `collect`: where entries come from."""

from __future__ import annotations

import datetime as dt

import click

from newsletter.cli import output


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
        ["source", "topics", "entries", "last good fetch", "trouble"],
        [
            [
                row.url, ", ".join(row.topics), row.entries, f"{row.last_ok:%F %H:%M}" if row.last_ok else "never",
                row.last_error,
            ]
            for row in rows
        ],
    )  # fmt: skip


@click.command()
@click.option("--newsletter", metavar="SLUG", help="Only its sources.")
@click.option("--topic", metavar="SLUG", help="Only this topic's sources.")
@click.option("--all", "everything", is_flag=True, help="Also sources that are not due yet.")
@click.option("--backfill", metavar="90d", help="Take older entries too, of that span.")
@output.json_option
@click.pass_context
@output.example("newsletter collect", "newsletter collect --topic rl-agents --backfill 90d")
def collect(
    ctx: click.Context,
    newsletter: str | None,
    topic: str | None,
    everything: bool,
    backfill: str | None,
    as_json: bool,
) -> None:
    """Fetch the sources that are due and keep what is new. Nothing is claimed yet.

    A source in trouble is named and costs the others nothing; then the exit code is 1.
    """
    app = output.app(ctx)
    report = app.collect(
        newsletter,
        topic,
        everything=everything,
        backfill=_span(backfill) if backfill else None,
        progress=None if as_json else output.progress_bar("collecting"),
    )
    failed = [source for source in report.sources if source.status == "failed"]
    if as_json:
        output.emit(report.as_json())
    else:
        for source in report.sources:
            if source.status != "skipped":
                click.echo(f"{source.status:9}  {source.url}: {_found(source.entries_seen, source.entries_new)}")
        skipped = sum(source.status == "skipped" for source in report.sources)
        if not report.sources:
            output.say("there are no sources; name some in newsletter.toml, or use `newsletter entries import`")
        elif skipped:
            output.say(f"{skipped} source(s) are not due yet; --all asks them now")
        output.say(f"{report.entries_new} new entr{'y' if report.entries_new == 1 else 'ies'}")
    for source in report.sources:
        if source.error:
            output.warn(f"{source.url}: {source.error}")
    if failed:
        ctx.exit(1)


def _found(seen: int, new: int) -> str:
    return f"{seen} entr{'y' if seen == 1 else 'ies'}, {new} new"


def _span(text: str) -> dt.timedelta:
    from newsletter import config

    try:
        span = config.parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--backfill") from None
    assert isinstance(span, dt.timedelta)
    return span
