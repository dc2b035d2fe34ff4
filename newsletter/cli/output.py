"""What all commands share: opening the app, talking on stderr, results on stdout."""

from __future__ import annotations

import datetime as dt
import functools
import gc
import inspect
import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from newsletter import errors

if TYPE_CHECKING:
    from newsletter.app import Newsletter

F = TypeVar("F", bound=Callable[..., Any])


def app(ctx: click.Context) -> Newsletter:
    """The application on the workspace that the options name; opened once, closed when the command ends."""
    options = ctx.find_root().obj
    if options.app is None:
        gc.disable()  # modules live as long as the command: to look for garbage among them is a tenth of a short one
        from newsletter import app as wiring

        gc.freeze()
        gc.enable()
        options.app = wiring.open_app(options.folder, options.now)
        ctx.find_root().call_on_close(options.app.close)
    found: Newsletter = options.app
    return found


def json_option(function: F) -> F:
    """`--json`: one JSON document on stdout, nothing else there."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(function)


def dry_run_option(function: F) -> F:
    """`--dry-run`: say what would be done, do nothing."""
    return click.option("--dry-run", is_flag=True, help="Say what would be done; do nothing.")(function)


class Group(click.Group):
    """A group of commands that has a hint for a misspelt one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, but for the hint."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], names, 1)
            hint = f"Did you mean {near[0]}?" if near else f"`{ctx.command_path} --help` lists them."
            raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)


def say(text: str, *, err: bool = True) -> None:
    """A line of talk; silent with -q. It goes to stderr, so that stdout holds results only."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None and getattr(ctx.find_root().obj, "quiet", False):
        return
    click.echo(errors.masked(text), err=err)


def warn(text: str) -> None:
    """A line that -q does not silence."""
    click.echo(errors.masked(text), err=True)


def result(text: str) -> None:
    """A line of the result, on stdout."""
    click.echo(errors.masked(text))


def emit(document: object) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Aligned columns on stdout; the heading only on a terminal, so that a pipe gets the rows alone."""
    cells = [["" if cell is None else errors.masked(str(cell)) for cell in row] for row in rows]
    shown = [list(headers), *cells] if sys.stdout.isatty() else cells
    if not cells:
        say("nothing")
        return
    widths = [max(map(_width, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        padded = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(padded).rstrip())


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


class ProgressBar:
    """A bar on a terminal, called with (done, of how many); `close` takes it away before anything else is said."""

    def __init__(self, label: str) -> None:
        from rich import console, progress

        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[rate]}"),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[note]}"),
            console=console.Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(label, total=None, rate="", note="")
        self._bar.start()

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Move it; `note` stands at its end."""
        speed = self._bar.tasks[0].finished_speed or self._bar.tasks[0].speed
        rate = f"{speed:,.0f}/s" if speed else ""
        self._bar.update(self._task, completed=done, total=total, rate=rate, note=note)
        if done >= total:
            self.close()

    def close(self) -> None:
        """Take it away."""
        self._bar.stop()


def progress_bar(label: str) -> ProgressBar | None:
    """A bar, or None where stderr is no terminal."""
    if not sys.stderr.isatty():
        return None
    bar = ProgressBar(label)
    click.get_current_context().call_on_close(bar.close)
    return bar


def example(*lines: str) -> Callable[[F], F]:
    """Add an example to a command's help."""

    def decorate(function: F) -> F:
        shown = "\n".join(f"  {line}" for line in lines)
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n\b\nExample:\n{shown}"
        return function

    return decorate


@functools.cache
def date_time() -> click.ParamType[dt.datetime]:
    """An ISO 8601 date and time with an offset, as a click type."""

    class Moment(click.ParamType[dt.datetime]):
        name = "ISO"

        def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dt.datetime:
            try:
                moment = value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(value)
            except ValueError:
                self.fail(f"{value!r} is no ISO time; write it like 2026-09-11T09:00:00+01:00", param, ctx)
            if moment.tzinfo is None:
                self.fail(f"{value!r} has no offset; write it like {value}+01:00 or {value}Z", param, ctx)
            return moment

    return Moment()
