"""`newsletter preview`: the editor's page, live."""

from __future__ import annotations

import getpass
import webbrowser

import click

from newsletter.cli import output
from newsletter.cli.mailbox import has_screen

HOST = "127.0.0.1"  # and nowhere else: whoever reaches the page can approve an issue


@click.command()
@click.argument("issue", metavar="[ISSUE]", required=False)
@click.option("--port", default=8001, show_default=True, type=click.IntRange(0, 65535), help="Where the page is.")
@click.option("--no-open", is_flag=True, help="Open no browser.")
@click.pass_context
@output.example("newsletter preview", "newsletter preview weekly/2026-09-11 --no-open")
def preview(ctx: click.Context, *, issue: str | None, port: int, no_open: bool) -> None:
    """Show a draft as its readers will get it, with all checks, and again with every save. Runs until Ctrl-C.

    Without ISSUE: the newest draft. The page can send a test and approve; nobody but this machine reaches it.
    """
    from newsletter.app import previewing
    from newsletter.web import preview as web
    from newsletter.web import serving

    desk = previewing.Desk(output.app(ctx))
    try:
        page = web.preview_app(desk, desk.find(issue) if issue else None, by=_me())
        show = not no_open
        serving.serve(serving.Served(page, HOST, port, lambda url: _opened(url, show=show), page.state.closing))
    finally:
        desk.close()
    output.say("stopped")


def _opened(url: str, *, show: bool) -> None:
    output.say(f"page     {url}  (Ctrl-C stops)")
    if show and has_screen():
        webbrowser.open(url)


def _me() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
