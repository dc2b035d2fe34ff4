"""The command line: parse, call the app, print. One file a noun; loaded when used, so that `--help` is instant."""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from newsletter import errors
from newsletter.cli import output

if TYPE_CHECKING:
    import datetime as dt

    from newsletter.app import Newsletter

# name -> (where it lives, what it does), in the order of the work
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("workspace:init", "Make a new workspace."),
    "demo": ("demo:demo", "The whole job, offline, on a sample workspace."),
    "sources": ("sources:sources", "Where entries come from."),
    "collect": ("sources:collect", "Fetch what is new."),
    "entries": ("entries:entries", "The articles that were found."),
    "topics": ("topics:topics", "The topics that subscribers pick."),
    "compose": ("issues:compose", "Write the draft of the next issue."),
    "issues": ("issues:issues", "The issues and their states."),
    "check": ("issues:check", "Look for mistakes before anyone is mailed."),
    "render": ("issues:render", "Write an issue's message to files."),
    "preview": ("preview:preview", "The editor's page: a draft as its readers will get it, live."),
    "approve": ("issues:approve", "Freeze an issue: its bytes are what will be sent."),
    "unapprove": ("issues:unapprove", "Thaw an approved issue."),
    "send": ("sending:send", "Send an approved issue, or go on where it stopped."),
    "status": ("sending:status", "How far an issue is."),
    "deliveries": ("sending:deliveries", "Who got an issue, who did not, and why."),
    "retry": ("sending:retry", "Try failed or doubtful deliveries again."),
    "hold": ("sending:hold", "Stop an issue."),
    "release": ("sending:release", "Let a held issue go on."),
    "cancel": ("sending:cancel", "Give an issue up before its first mail."),
    "subscribers": ("subscribers:subscribers", "The people."),
    "serve": ("serve:serve", "The public pages, and the mails about subscriptions."),
    "schedule": ("workspace:schedule", "What will happen when."),
    "mailbox": ("mailbox:mailbox", "A catch-all mail server with a page to read what arrived."),
    "doctor": ("workspace:doctor", "Is everything in order?"),
    "config": ("workspace:config", "The settings."),
    "db": ("workspace:db", "The database."),
    "api-keys": ("apikeys:api_keys", "The programs that may ask the API."),
    "bench": ("bench:bench", "How fast this machine is at it."),
}


@dataclasses.dataclass
class Options:
    """What stands before the command."""

    folder: Path | None
    now: dt.datetime | None
    quiet: bool
    app: Newsletter | None = None


class LazyGroup(output.Group):
    """Knows its commands by name; imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import it."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        found: click.Command = getattr(importlib.import_module(f"newsletter.cli.{module}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table above: nothing is imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "-C",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="The workspace; else NEWSLETTER_WORKSPACE, else the nearest folder up with a newsletter.toml.",
)
@click.option(
    "--now", metavar="ISO", type=output.date_time(), help="Act as if it were then; the clock runs on from there."
)
@click.option("-v", "verbose", count=True, help="More talk on stderr.")
@click.option("-q", "quiet", is_flag=True, help="Less talk.")
@click.version_option(package_name="newsletter", message="newsletter %(version)s")
@click.pass_context
def cli(ctx: click.Context, folder: Path | None, now: dt.datetime | None, verbose: int, quiet: bool) -> None:
    """A newsletter from a topic's sources to a subscriber's inbox: nothing lost, nothing twice.

    \b
    The way of an issue:
      newsletter init DIR                            a workspace
      newsletter subscribers import people.csv       the people
      newsletter collect                             what is new
      newsletter compose                             the draft, a Markdown file to edit
      newsletter check weekly/2026-09-11             anything wrong?
      newsletter approve weekly/2026-09-11           freeze it
      newsletter send weekly/2026-09-11              out it goes
    """
    import logging

    level = logging.WARNING - 10 * min(verbose, 2)
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    ctx.obj = Options(folder, now, quiet)


def main(args: list[str] | None = None) -> None:
    """Run a command; a person's mistake becomes lines on stderr and an exit code, never a traceback."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # one that is closed is None
        stream = getattr(sys, name) or open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115, PTH123
        setattr(sys, name, stream)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run(args))


def run(args: list[str] | None = None) -> int:
    """As `main`, but returns the exit code."""
    try:
        code: Any = cli.main(args, prog_name="newsletter", standalone_mode=False)
    except click.Abort:
        click.echo("stopped", err=True)
        return 1
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        return 2
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except errors.NewsletterError as error:
        for line in str(error).splitlines() or ["failed"]:
            click.echo(f"error: {line}" if not line.startswith(" ") else line, err=True)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: nobody to tell
        return 1
    except OSError as error:  # a full disk, a file that may not be read
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {where}{error.strerror or error}", err=True)
        return 1
    return code if isinstance(code, int) else 0
