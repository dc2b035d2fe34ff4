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
@output.json_option
@click.pass_context
@output.example("newsletter bench feeds ~/feeds --peers")
def bench_feeds(ctx: click.Context, folder: Path, peers: bool, as_json: bool) -> None:
    """Parse every file below DIR as a feed: CPU time each, and the peak memory of the process."""
    from newsletter import app
    from newsletter.app import benching

    now = app.Clock(ctx.find_root().obj.now).started
    report = benching.feeds(folder, now, peers=peers)
    if as_json:
        output.emit(report.as_json())
        return
    click.echo(f"{report.files} files, {report.refused} refused, {report.entries} entries")
    click.echo(f"newsletter: {_shown(report.cpu_ms)}; the slowest is {report.slowest}")
    for name, peer in report.peers.items():
        click.echo(f"{name}: {_shown(peer.cpu_ms)}; we take {peer.ratio} of its time")
    click.echo(f"{report.seconds} s in all, peak memory {report.peak_mb} MB")


def _shown(times: reports.Spread) -> str:
    return f"CPU ms a file: median {times.median}, p90 {times.p90}, max {times.max}; {times.total} in all"
