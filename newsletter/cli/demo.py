"""`newsletter demo`: the whole job on a sample workspace: feeds over HTTP, mail over SMTP, no network but this machine.

    feed server -> collect -> compose -> check -> approve -> send -> catch-all -> Maildir

Nothing in it is a show: each step is the verb that the command of that name runs, at its hour of a rehearsed week.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import sys
import time
import tomllib
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from newsletter import config, errors, workspace
from newsletter import demo as sample
from newsletter.cli import mailbox as mailbox_command
from newsletter.cli import output
from newsletter.demo import feedserver

if TYPE_CHECKING:
    from newsletter.app import Newsletter

MARKER = ".newsletter-demo"
PEOPLE = "subscribers/demo.csv"
HOST = "127.0.0.1"
SMTP_PORT = 1025  # where `newsletter mailbox` listens: what the demo's settings say once it is over

Tell = Callable[[str, str], None]


@click.command()
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    default="demo",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The workspace to make; a former demo there is replaced.",
)
@click.option(
    "--subscribers", "count", default=25, show_default=True, type=click.IntRange(1, 1_000_000), help="How many people."
)
@click.option("--serve", is_flag=True, help="Then show the mail and the editor's page in a browser, until Ctrl-C.")
@click.option("--port", default=8025, show_default=True, type=click.IntRange(0, 65535), help="Where the mail is shown.")
@click.option(
    "--preview-port", default=8001, show_default=True, type=click.IntRange(0, 65535), help="Where the editor's page is."
)
@output.json_option
@output.example("newsletter demo", "newsletter demo --dir try --subscribers 500", "newsletter demo --serve")
def demo(*, folder: Path, count: int, serve: bool, port: int, preview_port: int, as_json: bool) -> int:
    """The whole job, offline, on a sample workspace, in a few seconds.

    Feeds are fetched over HTTP from this machine, mail is sent over SMTP to a mail server on this machine that keeps
    it: nothing leaves it. The week is one of April 2025; the papers in it are real.
    """
    from newsletter.web import mailbox

    def tell(step: str, text: str) -> None:
        if not as_json:
            click.echo(f"{step:<10}{text}")

    started = time.perf_counter()
    _make_room(folder)
    maildir = folder / mailbox_command.FOLDER
    with feedserver.serving(sample.FEEDS) as feeds, mailbox.CatchAll(maildir) as box:
        _make_workspace(folder, sample.settings(feeds, box.port))
        tell("workspace", f"{folder}: one newsletter, 2 topics, {len(list(sample.FEEDS.iterdir()))} feeds")
        report = _rehearse(folder, count, tell)
        report["mailbox"] = str(maildir)
        report["messages"] = len(mailbox.stored(maildir))
        report["seconds"] = round(time.perf_counter() - started, 1)
        if as_json:
            output.emit(report)
        else:
            _point(folder, report)
        try:
            if serve:
                _serve(folder, port, preview_port)
        finally:  # also when a port is taken: what is left is a workspace that works
            (folder / config.FILE).write_text(sample.settings(feeds, SMTP_PORT), "utf-8")
    counts = report["send"]["counts"]
    return 0 if counts["sent"] == report["messages"] == report["send"]["audience"] else 1


def _make_room(folder: Path) -> None:
    """An empty folder with our mark; what a former demo left is removed, anything else refused."""
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MARKER).is_file():
            raise errors.UsageError(f"{folder} is not empty and no former demo; name another folder with --dir")
        for path in folder.iterdir():
            if path.name == MARKER:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER).write_text(
            "Made by `newsletter demo`, which replaces this folder when it runs again.\n", "utf-8"
        )
    except OSError as error:
        raise errors.NewsletterError(f"{folder} cannot be written: {error.strerror}; name another with --dir") from None


def _make_workspace(folder: Path, settings: str) -> None:
    """The sample's settings and the rest of a workspace; refuses an environment that sends the mail elsewhere."""
    (folder / config.FILE).write_text(settings, "utf-8")
    workspace.init(folder)
    written, found = tomllib.loads(settings), config.load(folder)
    if found.smtp != config.Smtp(**written["smtp"]) or found.site.database != written["site"]["database"]:
        raise errors.ConfigError(
            "NEWSLETTER_SMTP__… or NEWSLETTER_SITE__… in the environment (or in a secrets directory) would change the "
            "demo's mail server or database, and it uses no other than its own: unset them and try again"
        )


def _rehearse(folder: Path, count: int, tell: Tell) -> dict[str, Any]:
    """Every verb at its hour; returns what each of them reported, as its `--json` would."""
    from newsletter.app import reports

    report: dict[str, Any] = {"workspace": str(folder)}
    with _at(folder, sample.COLLECT) as app:
        people = folder / PEOPLE
        people.write_text(sample.subscribers(count), "utf-8")
        with _busy("Importing subscribers"):
            report["import"] = reports.plain(app.import_subscribers(people, state="active"))
        tell("people", f"{report['import']['added']:,} imported from {people}")
        with _busy("Collecting") as show:
            report["collect"] = app.collect(progress=show).as_json()
        feeds = sum(source["status"] == "new" for source in report["collect"]["sources"])
        tell("collect", f"{report['collect']['entries_new']} new articles from {feeds} feeds")
    with _at(folder, sample.COMPOSE) as app:
        with _busy("Composing"):
            report["compose"] = composed = app.compose().as_json()
        issue = report["issue"] = composed["issue"]
        tell(
            "compose",
            f"{folder / composed['path']}: {composed['entries']} articles in {len(composed['topics'])} topics",
        )
        with _busy("Checking"):
            report["check"] = checked = app.check(issue).as_json()
        tell("check", _verdict(checked))
        if not checked["ok"]:
            raise errors.CheckError(issue, [finding["message"] for finding in checked["errors"]])
    with _at(folder, sample.APPROVE) as app:
        with _busy("Approving"):
            app.approve(issue, by="demo")
        tell("approve", f"{issue} is frozen: these bytes are what goes out")
    with _at(folder, sample.SEND) as app:
        began = time.perf_counter()
        with _busy("Sending") as show:
            report["send"] = app.send(issue, progress=lambda counts: show(*_done(counts))).as_json()
        counts, took = report["send"]["counts"], time.perf_counter() - began
        tell("send", f"{counts['sent']:,} of {report['send']['audience']:,} sent in {took:.1f} s")
    return report


@contextlib.contextmanager
def _at(folder: Path, now: dt.datetime) -> Iterator[Newsletter]:
    from newsletter import app as wiring

    with contextlib.closing(wiring.open_app(folder, now)) as app:
        yield app


def _verdict(checked: dict[str, Any]) -> str:
    mistakes, warnings = len(checked["errors"]), len(checked["warnings"])
    largest = max(checked["size"].values(), default=0)
    return (
        f"{_number(mistakes, 'error')}, {_number(warnings, 'warning')}; the largest edition has {largest / 1000:.1f} KB"
    )


def _number(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"


def _point(folder: Path, report: dict[str, Any]) -> None:
    """Where to look now."""
    places = (
        (str(folder / report["compose"]["path"]), "the draft, as an editor gets it"),
        (f"newsletter -C {folder} mailbox", f"the mail, as the {report['messages']:,} got it"),
        (f"newsletter -C {folder} status {report['issue']}", "how far the issue is"),
        (report["mailbox"], "the mail again, a Maildir"),
    )
    width = max(len(place) for place, _ in places) + 3
    click.echo("\nLook at")
    for place, what in places:
        click.echo(f"  {place:<{width}}{what}")
    click.echo(f"\nDone in {report['seconds']} s, and nothing left this machine.")


def _serve(folder: Path, port: int, preview_port: int) -> None:
    """The mail, and the editor's page with the issue that was sent."""
    from newsletter import app as wiring
    from newsletter.app import previewing
    from newsletter.web import mailbox, preview, serving

    def opened(what: str, url: str) -> None:
        output.say(f"{what:<10}{url}  (Ctrl-C stops)")
        if mailbox_command.has_screen():
            webbrowser.open(url)

    desk = previewing.Desk(wiring.open_app(folder))
    with contextlib.closing(desk):
        page = preview.preview_app(desk, by="demo")
        mail = mailbox.mailbox_app(folder / mailbox_command.FOLDER)
        serving.serve(
            serving.Served(page, HOST, preview_port, lambda url: opened("preview", url), page.state.closing),
            serving.Served(mail, HOST, port, lambda url: opened("mailbox", url)),
        )


@contextlib.contextmanager
def _busy(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal while a step runs, fed with (done, of how many); gone before the step's line is printed."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich import console, progress

    bar = progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[figure]}"),
        console=console.Console(stderr=True),
        transient=True,
        redirect_stdout=False,
    )
    task = bar.add_task(label, total=None, figure="")

    def show(done: int, total: int) -> None:
        bar.update(task, total=total, completed=done, figure=f"{done:,}/{total:,}")

    with bar:
        yield show


def _done(counts: dict[str, int]) -> tuple[int, int]:
    return sum(counts.values()) - counts.get("queued", 0) - counts.get("sending", 0), sum(counts.values())
