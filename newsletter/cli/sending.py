"""`send`, `status`, `deliveries`, and what stops, mends or gives up an issue."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from newsletter.cli import output
from newsletter.cli.issues import ISSUE

if TYPE_CHECKING:
    from newsletter.app import reports


@click.command()
@ISSUE
@click.option(
    "--test", "tests", multiple=True, metavar="EMAIL", help="Only to this address, as a test; may be repeated."
)
@click.option("--wait", is_flag=True, help="Stay until what is deferred is settled too.")
@click.option("--frozen", is_flag=True, help="Send what was approved although the draft has changed.")
@output.dry_run_option
@output.json_option
@click.pass_context
@output.example("newsletter send weekly/2026-09-11", "newsletter send weekly/2026-09-11 --test me@example.org")
def send(
    ctx: click.Context,
    *,
    issue: str,
    tests: tuple[str, ...],
    wait: bool,
    frozen: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Send an approved issue to its subscribers; the same command again goes on where it stopped.

    Ctrl-C and SIGTERM drain: what is under way is finished and recorded, the rest waits for the next `send`. Exit 0
    when everybody got it (or left meanwhile), 1 when some are deferred, failed or in doubt.
    """
    app = output.app(ctx)
    if tests:
        _send_test(ctx, app.send_test(issue, tests), as_json=as_json)
        return
    if dry_run:
        audience = dict(app.audience(issue))
        if as_json:
            output.emit({"issue": app.workspace.issue_name(issue), "dry_run": True, "audience": audience})
        else:
            total = sum(audience.values())
            output.say(
                f"{total} people would get it: " + (", ".join(f"{n} {t}" for t, n in audience.items()) or "nobody")
            )
        return
    bar = None if as_json else output.progress_bar("sending")
    try:
        report = app.send(issue, frozen=frozen, wait=wait, progress=_shown(bar) if bar else None)
    finally:
        if bar:
            bar.close()
    if as_json:
        output.emit(report.as_json())
    else:
        _tell(report)
    if report.trouble:
        output.warn(f"error: {report.trouble}; the rest waits: run the same command again")
    if report.stopped:
        return
    if report.trouble or report.state == "held" or not report.complete:
        ctx.exit(1)


def _send_test(ctx: click.Context, answers: list[tuple[str, str | None]], *, as_json: bool) -> None:
    if as_json:
        output.emit({"test": [{"email": email, "error": error} for email, error in answers]})
    for email, error in answers:
        if error is not None:
            output.warn(f"{email}: refused: {error}")
        elif not as_json:
            output.say(f"{email}: sent")
    if any(error is not None for _, error in answers):
        ctx.exit(1)


def _shown(bar: output.ProgressBar) -> Callable[[dict[str, int]], None]:
    def count(counts: dict[str, int]) -> None:
        total, waiting = sum(counts.values()), counts["queued"] + counts["sending"]
        odd = [
            f"{counts[state]} {state.replace('_', ' ')}"
            for state in ("deferred", "failed", "in_doubt")
            if counts[state]
        ]
        bar(total - waiting, total, ", ".join(odd))

    return count


@click.command()
@click.argument("issue", metavar="ISSUE", required=False)
@output.json_option
@click.pass_context
@output.example("newsletter status", "newsletter status weekly/2026-09-11 --json")
def status(ctx: click.Context, issue: str | None, as_json: bool) -> None:
    """How far an issue is: who got it, who waits, who is in doubt. Default: one on its way, else the newest."""
    app = output.app(ctx)
    if issue is None:
        rows = sorted(app.issues(), key=lambda row: row.state not in ("sending", "held"))
        rows = [row for row in rows if row.state != "cancelled"]
        if not rows:
            output.say("there are no issues yet; `newsletter compose` makes one")
            if as_json:
                output.emit({"issue": None})
            return
        issue = rows[0].issue
    report = app.status(issue)
    if as_json:
        output.emit(report.as_json())
    else:
        _tell(report, err=False)


def _tell(report: reports.StatusReport, *, err: bool = True) -> None:
    def say(text: str) -> None:
        output.say(text, err=err) if err else click.echo(text)

    counts = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in report.counts.items() if count)
    say(f"{report.issue} is {report.state}" + (f": {counts} of {report.audience}" if counts else ""))
    if report.reason:
        say(f"  why: {report.reason}")
    if report.state == "held":
        say(f"  `newsletter release {report.issue}` lets it go on")
    for email in report.in_doubt:
        say(f"  in doubt: {email}")
    if report.stopped:
        say("  stopped as asked; the same command goes on")
    if report.in_doubt and report.next_due is None and not report.counts["queued"]:
        say(f"  they wait for you: newsletter retry {report.issue} --state in_doubt, then send again")
    if report.next_due is not None and not report.counts["queued"]:
        say(f"  the next is due at {report.next_due:%Y-%m-%d %H:%M} UTC: `newsletter send {report.issue}`, or --wait")
    if report.counts["failed"]:
        say(f"  who and why: newsletter deliveries {report.issue} --state failed")


@click.command()
@ISSUE
@click.option(
    "--state",
    type=click.Choice(["queued", "sending", "sent", "deferred", "failed", "skipped", "in_doubt"]),
    help="Only in this state.",
)
@click.option("--csv", "as_csv", is_flag=True, help="As CSV.")
@output.json_option
@click.pass_context
@output.example("newsletter deliveries weekly/2026-09-11 --state failed")
def deliveries(ctx: click.Context, issue: str, state: str | None, as_csv: bool, as_json: bool) -> None:
    """Who got an issue, who did not, and why."""
    rows = output.app(ctx).deliveries(issue, state)
    names = ["email", "state", "attempts", "code", "reason", "message_id", "at"]
    cells = [
        [row.email, row.state, row.attempts, row.code, row.reason, row.message_id, row.at and row.at.isoformat()]
        for row in rows
    ]
    if as_json:
        output.emit({"deliveries": [dict(zip(names, row, strict=True)) for row in cells]})
    elif as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(names)
        writer.writerows(cells)
    else:
        output.table(["email", "state", "attempts", "code", "reason"], [row[:5] for row in cells])


@click.command()
@ISSUE
@click.option("--state", required=True, type=click.Choice(["failed", "in_doubt"]), help="Which deliveries.")
@output.json_option
@click.pass_context
@output.example("newsletter retry weekly/2026-09-11 --state in_doubt")
def retry(ctx: click.Context, issue: str, state: str, as_json: bool) -> None:
    """Let failed deliveries, or those in doubt, go out again at the next `send`.

    One in doubt gets the same bytes and the same Message-ID: whoever has it already can tell that it is the same.
    """
    app = output.app(ctx)
    done = app.retry(issue, state)
    if as_json:
        output.emit({"issue": app.workspace.issue_name(issue), "again": done})
        return
    output.say(f"{done} will be tried again; `newsletter send {issue}` does it" if done else "there is none")


@click.command()
@ISSUE
@click.option("--reason", default="held by hand", show_default=True, help="What `status` shows.")
@output.json_option
@click.pass_context
@output.example("newsletter hold weekly/2026-09-11 --reason 'a wrong number'")
def hold(ctx: click.Context, issue: str, reason: str, as_json: bool) -> None:
    """Stop an issue; a `send` that is under way stops within one message a connection."""
    app = output.app(ctx)
    app.hold(issue, reason)
    if as_json:
        output.emit({"issue": app.workspace.issue_name(issue), "state": "held", "reason": reason})
        return
    output.say(f"{issue} is held; `newsletter release {issue}` lets it go on")


@click.command()
@ISSUE
@output.json_option
@click.pass_context
@output.example("newsletter release weekly/2026-09-11")
def release(ctx: click.Context, issue: str, as_json: bool) -> None:
    """Let a held issue go on: `send` may send it again."""
    app = output.app(ctx)
    state = app.release(issue)
    if as_json:
        output.emit({"issue": app.workspace.issue_name(issue), "state": state})
        return
    output.say(f"{issue} is {state}; `newsletter send {issue}` goes on")


@click.command()
@ISSUE
@output.dry_run_option
@output.json_option
@click.pass_context
@output.example("newsletter cancel weekly/2026-09-11")
def cancel(ctx: click.Context, issue: str, dry_run: bool, as_json: bool) -> None:
    """Give an issue up before its first mail: its entries wait again, its draft is put aside."""
    app = output.app(ctx)
    back = app.cancel(issue, dry_run=dry_run)
    name = app.workspace.issue_name(issue)
    if as_json:
        output.emit({"issue": name, "dry_run": dry_run, "waiting_again": back})
    elif dry_run:
        output.say(f"{name} would be cancelled; {back} entries would wait again")
    else:
        output.say(f"{name} is cancelled; {_waits(back)} again")


def _waits(count: int) -> str:
    return "1 entry waits" if count == 1 else f"{count} entries wait"
