"""`bench`: how fast the parts are on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from newsletter.cli import output

if TYPE_CHECKING:
    from newsletter.app import reports


@click.group(cls=output.Group)
def bench() -> None:
    """How fast this machine is at it."""


@bench.command("feeds")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--peers", is_flag=True, help="Beside plain feedparser, in the same run.")
@click.option("--sources", type=click.IntRange(0, 20_000), default=1000, show_default=True, help="To poll; 0: none.")
@click.option("--hosts", type=click.IntRange(1, 10_000), default=100, show_default=True, help="That they are on.")
@click.option(
    "--latency", type=click.IntRange(0, 10_000), default=100, show_default=True, help="Of each answer, in ms."
)
@click.option("--entries", type=click.IntRange(1, 1000), default=10, show_default=True, help="Of each source.")
@output.json_option
@click.pass_context
@output.example("newsletter bench feeds ~/feeds --peers", "newsletter bench feeds ~/feeds --sources 200 --hosts 20")
def bench_feeds(
    ctx: click.Context,
    folder: Path,
    peers: bool,
    sources: int,
    hosts: int,
    latency: int,
    entries: int,
    as_json: bool,
) -> None:
    """Parse every file below DIR as a feed, then poll many sources: time, CPU time, peak memory.

    The sources are of this machine's loopback addresses: no network is needed, and no workspace.
    """
    import dataclasses

    from newsletter import app
    from newsletter.app import benching, benching_polling

    now = app.Clock(ctx.find_root().obj.now).started
    report = benching.feeds(folder, now, peers=peers)
    if sources:
        polling = benching_polling.poll(sources=sources, hosts=hosts, latency=latency, entries=entries, peers=peers)
        report = dataclasses.replace(report, polling=polling)
    if as_json:
        output.emit(report.as_json())
        return
    click.echo(f"{report.files} files, {report.refused} refused, {report.entries} entries")
    click.echo(f"newsletter: {_shown(report.cpu_ms)}; the slowest is {report.slowest}")
    for name, peer in report.peers.items():
        click.echo(f"{name}: {_shown(peer.cpu_ms)}; we take {peer.ratio} of its time")
    click.echo(f"{report.seconds} s in all, peak memory {report.peak_mb} MB")
    if report.polling:
        _tell_polling(report.polling)


@bench.command("import")
@click.option("--rows", type=click.IntRange(100, 10_000_000), default=1_000_000, show_default=True, help="Of the file.")
@output.json_option
@output.example("newsletter bench import", "newsletter bench import --rows 100000 --json")
def bench_import(rows: int, as_json: bool) -> None:
    """Import a file of people, twice: validated, merged, checked against those who left. Needs no workspace."""
    from newsletter.app import benching_import

    report = benching_import.import_people(rows)
    if as_json:
        output.emit(report.as_json())
        return
    counts = f"{report.added} added, {report.unchanged} unchanged, {report.suppressed} left out"
    click.echo(f"{report.rows} rows: {counts}; {report.rows_per_second} rows/s")
    click.echo(f"first: {_took(report.first)}")
    click.echo(f"again: {_took(report.again)}")


def _tell_polling(polling: reports.PollBench) -> None:
    click.echo(
        f"{polling.sources} sources on {polling.hosts} hosts, {polling.latency_ms} ms each "
        f"(that alone takes {polling.limit_s} s): {polling.entries} new entries, {polling.failed} failed"
    )
    click.echo(f"first visit: {_took(polling.first)}")
    click.echo(f"again, nothing new: {_took(polling.again)}")
    for name, peer in polling.peers.items():
        click.echo(f"{name}: {_took(peer.run)}; we take {peer.ratio} of its CPU time")


def _took(run: reports.Run) -> str:
    memory = f", peak memory {run.peak_mb} MB in all processes" if run.peak_mb else ""
    return f"{run.seconds} s, CPU {run.cpu_s} s{memory}"


def _shown(times: reports.Spread) -> str:
    return f"CPU ms a file: median {times.median}, p90 {times.p90}, max {times.max}; {times.total} in all"
