"""`newsletter mailbox`: something that listens where the starter's settings send, and a page to read what came."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

import click

from newsletter import config, workspace
from newsletter.cli import output

FOLDER = "subscribers/mailbox"  # messages name people: it lies where git never looks


@click.command()
@click.option("--port", default=1025, show_default=True, type=click.IntRange(0, 65535), help="Where SMTP listens.")
@click.option("--web-port", default=8025, show_default=True, type=click.IntRange(0, 65535), help="Where the page is.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address that both listen on.")
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help=f"The Maildir to store in; else {FOLDER} of the workspace.",
)
@click.option("--no-open", is_flag=True, help="Open no browser.")
@click.pass_context
@output.example(
    "newsletter mailbox", "newsletter mailbox --port 2525 --dir mail", "newsletter -C demo mailbox --no-open"
)
def mailbox(ctx: click.Context, *, port: int, web_port: int, host: str, folder: Path | None, no_open: bool) -> None:
    """Take every mail that is sent here, deliver none, and show them on a page.

    Runs until Ctrl-C. Messages are stored exactly as they came, a file each, in a Maildir that any mail reader opens.
    """
    from newsletter.web import mailbox as web
    from newsletter.web import serving

    maildir = folder or workspace.find(ctx.find_root().obj.folder).path / FOLDER
    with web.CatchAll(maildir, host, port) as box:
        output.say(f"SMTP     {host}:{box.port}, takes everything, delivers nothing")
        output.say(f"stored   {maildir}")
        if not config.is_loopback(host):
            output.warn(
                f"warning: {host} can be reached from outside: whoever does can fill this disk and read this mail"
            )
        page = web.mailbox_app(maildir, host)
        serving.serve(serving.Served(page, host, web_port, lambda url: _opened(url, show=not no_open)))
    output.say("stopped")


def _opened(url: str, *, show: bool) -> None:
    output.say(f"page     {url}  (Ctrl-C stops)")
    if show and has_screen():
        webbrowser.open(url)


def has_screen() -> bool:
    """Is a person at a terminal with a display? Elsewhere a text browser would take the terminal over."""
    display = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.stderr.isatty() and bool(display)
