"""What is done to one person or to many: `subscribers unsubscribe|suppress|unsuppress|erase|tag|untag`.

Addresses stand on the command line, in a file (a line each, or a CSV's column of addresses) or on stdin (`-`). Whom a
verb does not fit is named, the others are done, and the exit code is 1.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from newsletter.cli import output

if TYPE_CHECKING:
    from newsletter import types
    from newsletter.app import people

F = TypeVar("F", bound=Callable[..., Any])
STDIN = "-"

email_argument = click.argument("email")
newsletter_option = click.option("--newsletter", metavar="N", help="A newsletter's slug.")
topics_option = click.option(
    "--topic", "topics", metavar="T", multiple=True, help="A topic, like rl-agents or weekly/rl-agents; again for more."
)


def many_options(function: F) -> F:
    """Addresses as arguments, or from a file; and what every change has."""
    decorators = (
        click.argument("emails", metavar="EMAIL…", nargs=-1),
        click.option("--file", "file", metavar="FILE", help="Those in this file: a line each, or a CSV; - is stdin."),
        output.dry_run_option,
        output.json_option,
        click.pass_context,
    )
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def _addresses(emails: Sequence[str], file: str | None) -> Iterable[str | types.BadRow]:
    from newsletter.app import people

    if not emails and file is None:
        raise click.UsageError("whom? Name addresses, or --file FILE (- is stdin)")
    files = [*(STDIN for email in emails if email == STDIN), *([file] if file is not None else [])]
    named = [email for email in emails if email != STDIN]
    return itertools.chain(named, *(people.addresses_in(path) for path in dict.fromkeys(files)))


def _report(
    ctx: click.Context,
    done: people.Done,
    say: Callable[[people.Facts], str],
    *,
    as_json: bool,
    dry_run: bool,
    file: str | None,
    **more: Any,
) -> None:
    if as_json:
        refused = [{"line": bad.line or None, "value": bad.value, "reason": bad.reason} for bad in done.refused]
        output.emit({"dry_run": dry_run, "results": done.results, "refused": refused, **more})
    else:
        for facts in done.results:
            output.say(say(facts))
        for bad in done.refused:
            output.warn((f"{file or STDIN}:{bad.line}: " if bad.line else "") + bad.reason)
        if len(done.results) + len(done.refused) > 1:
            others = f", {len(done.refused)} refused" if done.refused else ""
            output.say(f"{len(done.results)} {'would be ' * dry_run}done{others}")
    if done.refused:
        ctx.exit(1)


@click.command()
@newsletter_option
@topics_option
@many_options
@output.example(
    "newsletter subscribers unsubscribe anna@example.org --topic rl-agents",
    "newsletter subscribers unsubscribe --file gone.csv --dry-run",
)
def unsubscribe(
    ctx: click.Context,
    *,
    emails: tuple[str, ...],
    file: str | None,
    newsletter: str | None,
    topics: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """End people's subscriptions: all of them, a newsletter's, or some topics.

    Works at once, also while an issue is being sent. No import and no command brings them back.
    """
    from newsletter.app import people

    app = output.app(ctx)
    act = people.unsubscribing(app, newsletter, topics)
    done = people.many(app, _addresses(emails, file), act, dry_run=dry_run)

    def say(facts: people.Facts) -> str:
        if not facts["ended"]:
            return f"{facts['email']} has nothing more to leave"
        return f"{facts['email']} {'would leave' if dry_run else 'has left'} {', '.join(facts['ended'])}"

    _report(ctx, done, say, as_json=as_json, dry_run=dry_run, file=file)


@click.command()
@newsletter_option
@click.option("--reason", default="by hand", show_default=True, help="Why; every listing shows it.")
@many_options
@output.example(
    'newsletter subscribers suppress anna@example.org --reason "asked by phone"',
    "newsletter subscribers suppress --file cleaned.csv --reason bounced",
)
def suppress(
    ctx: click.Context,
    *,
    emails: tuple[str, ...],
    file: str | None,
    newsletter: str | None,
    reason: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Never mail these addresses, whether they are on file or not. Beats imports, forms and commands."""
    from newsletter.app import people

    app = output.app(ctx)
    act = people.suppressing(app, newsletter, reason)
    done = people.many(app, _addresses(emails, file), act, dry_run=dry_run)

    def say(facts: people.Facts) -> str:
        if not facts["changed"]:
            return f"{facts['email']} is suppressed already"
        return f"{facts['email']} {'would be' if dry_run else 'is'} suppressed"

    _report(ctx, done, say, as_json=as_json, dry_run=dry_run, file=file)


@click.command()
@newsletter_option
@many_options
@output.example("newsletter subscribers unsuppress anna@example.org")
def unsuppress(
    ctx: click.Context,
    *,
    emails: tuple[str, ...],
    file: str | None,
    newsletter: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take suppressions back. Who left, bounced or complained stays so."""
    from newsletter.app import people

    app = output.app(ctx)
    done = people.many(app, _addresses(emails, file), people.unsuppressing(app, newsletter), dry_run=dry_run)
    would = "would be" if dry_run else "is"
    _report(
        ctx,
        done,
        lambda facts: f"{facts['email']} {would} suppressed no more",
        as_json=as_json,
        dry_run=dry_run,
        file=file,
    )


@click.command()
@many_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@output.example("newsletter subscribers erase anna@example.org --yes")
def erase(
    ctx: click.Context, *, emails: tuple[str, ...], file: str | None, dry_run: bool, as_json: bool, yes: bool
) -> None:
    """Forget people for good: address, name, words, links.

    An address stays suppressed, as a keyed hash that nobody can read, so that no import and no form brings its person
    back. What was sent is counted still, without saying to whom. Files in subscribers/ that hold it still are named:
    delete them yourself. Cannot be undone.
    """
    from newsletter.app import people

    app = output.app(ctx)
    wanted = list(_addresses(emails, file))
    if not yes and not dry_run and STDIN not in (*emails, file) and sys.stdin.isatty():
        who = wanted[0] if len(wanted) == 1 and isinstance(wanted[0], str) else f"{len(wanted)} people"
        click.confirm(f"forget {who} for good?", abort=True, err=True)
    done = people.many(app, wanted, people.erasing(app), dry_run=dry_run, erases=True)
    files = people.files_with(app, [facts["email"] for facts in done.results])
    if not as_json:
        for path in files:
            output.warn(f"{path} still holds such an address: delete it, and its backups, yourself")
    would = "would be" if dry_run else "is"
    _report(
        ctx,
        done,
        lambda facts: f"{facts['email']} {would} forgotten",
        as_json=as_json,
        dry_run=dry_run,
        file=file,
        files=files,
    )


@click.command()
@click.argument("tag")
@many_options
@output.example(
    "newsletter subscribers tag donor anna@example.org bo@example.org",
    "newsletter subscribers tag donor --file donors.csv",
)
def tag(
    ctx: click.Context, *, tag: str, emails: tuple[str, ...], file: str | None, dry_run: bool, as_json: bool
) -> None:
    """Call people by a word, to find them again: `list --tag`. Nobody is mailed because of it."""
    _tag(ctx, tag, emails, file, dry_run=dry_run, as_json=as_json, off=False)


@click.command()
@click.argument("tag")
@many_options
@output.example("newsletter subscribers untag donor anna@example.org")
def untag(
    ctx: click.Context, *, tag: str, emails: tuple[str, ...], file: str | None, dry_run: bool, as_json: bool
) -> None:
    """Take a tag off people."""
    _tag(ctx, tag, emails, file, dry_run=dry_run, as_json=as_json, off=True)


def _tag(
    ctx: click.Context,
    tag: str,
    emails: tuple[str, ...],
    file: str | None,
    *,
    dry_run: bool,
    as_json: bool,
    off: bool,
) -> None:
    from newsletter.app import people

    done = people.many(output.app(ctx), _addresses(emails, file), people.tagging([tag], off=off), dry_run=dry_run)

    def say(facts: people.Facts) -> str:
        if not facts["changed"]:
            return f"{facts['email']} {'does not have' if off else 'has'} the tag {'' if off else 'already'}".rstrip()
        verb = "would lose" if off and dry_run else "loses" if off else "would get" if dry_run else "gets"
        return f"{facts['email']} {verb} the tag {', '.join(facts['changed'])}"

    _report(ctx, done, say, as_json=as_json, dry_run=dry_run, file=file)


COMMANDS = (unsubscribe, suppress, unsuppress, erase, tag, untag)
