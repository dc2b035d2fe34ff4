"""`subscribers`: the people."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from newsletter import types
from newsletter.cli import output

if TYPE_CHECKING:
    from newsletter.store import audience

STATES = [state.value for state in types.SubscriberState]
newsletter_option = click.option("--newsletter", metavar="N", help="A newsletter's slug.")
topics_option = click.option(
    "--topic", "topics", metavar="T", multiple=True, help="A topic, like rl-agents or weekly/rl-agents; again for more."
)
email_argument = click.argument("email")


@click.group(cls=output.Group)
def subscribers() -> None:
    """The people: who gets the newsletter, who waits, who left, who must not be mailed."""


@subscribers.command()
@email_argument
@click.option("--name", default="", help="The person's name.")
@click.option("--language", help="What they read, like en-GB.")
@newsletter_option
@topics_option
@click.option(
    "--state",
    type=click.Choice(["active", "pending"]),
    default="pending",
    show_default=True,
    help="`active` only with their consent.",
)
@output.json_option
@click.pass_context
@output.example(
    "newsletter subscribers add anna@example.org --name 'Anna Ångström' --state active",
    "newsletter subscribers add bo@example.org --topic weekly/rl-agents --topic weekly/robots",
)
def add(
    ctx: click.Context,
    *,
    email: str,
    name: str,
    language: str | None,
    newsletter: str | None,
    topics: tuple[str, ...],
    state: str,
    as_json: bool,
) -> None:
    """Put one person on file. Nobody is mailed by this, and a pending person gets no issue.

    Who left, or is suppressed, is refused: only they themselves can come back.
    """
    from newsletter.app import people

    person, what = people.add(
        output.app(ctx),
        email,
        name=name,
        language=language,
        newsletter=newsletter,
        topics=topics,
        state=types.SubscriberState(state),
    )
    if as_json:
        output.emit({"result": what, "subscribers": [_json(person)]})
    else:
        output.say(f"{person.email}: {what}; {person.state}; {', '.join(person.topics) or 'no topic'}")


@subscribers.command("import")
@click.argument("file")
@newsletter_option
@topics_option
@click.option(
    "--state", type=click.Choice(["active", "pending"]), help="Else the file's own state holds, else they are pending."
)
@click.option("--map", "columns", metavar="email=COLUMN", multiple=True, help="Name a column that is not recognised.")
@output.dry_run_option
@output.json_option
@click.pass_context
@output.example(
    "newsletter subscribers import people.csv --topic rl-agents --state active",
    "newsletter subscribers import people.csv --map email=Correo --dry-run",
    "sort -u addresses.txt | newsletter subscribers import -",
)
def import_(
    ctx: click.Context,
    *,
    file: str,
    newsletter: str | None,
    topics: tuple[str, ...],
    state: str | None,
    columns: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take people in from a CSV file (- is stdin). Nobody is mailed by this.

    Columns are found by their headings: exports of other services, our own export and a plain list of addresses will
    do. Nobody who left, bounced, complained or is suppressed comes back by an import; a file that says somebody left
    is believed. A bad row is reported with its line, the others go in, and the exit code is 1.
    """
    from newsletter.app import people

    result = people.import_file(
        output.app(ctx),
        file,
        newsletter=newsletter,
        topics=topics,
        state=types.SubscriberState(state) if state else None,
        mapping=_mapping(columns),
        dry_run=dry_run,
    )
    if as_json:
        output.emit(_imported(result))
    else:
        for bad in result.rejected:
            output.warn(f"{file}:{bad.line}: {bad.reason}")
        output.say(("it would be: " if dry_run else "") + _summary(result))
        if state is None and result.added:
            output.say(
                "who has no state of their own in the file is pending: not mailed; --state active says you have consent"
            )
    if result.rejected:
        ctx.exit(1)


@subscribers.command("list")
@newsletter_option
@click.option("--topic", metavar="T", help="Who has this topic now.")
@click.option("--state", type=click.Choice(STATES), help="Who is in this state.")
@output.json_option
@click.pass_context
@output.example("newsletter subscribers list --topic rl-agents --state active")
def list_(ctx: click.Context, *, newsletter: str | None, topic: str | None, state: str | None, as_json: bool) -> None:
    """Who is on file, with their topics."""
    from newsletter.app import people

    wanted = types.SubscriberState(state) if state else None
    _print(people.listing(output.app(ctx), newsletter=newsletter, topic=topic, state=wanted), as_json=as_json)


@subscribers.command()
@email_argument
@output.json_option
@click.pass_context
@output.example("newsletter subscribers show anna@example.org")
def show(ctx: click.Context, *, email: str, as_json: bool) -> None:
    """One person, by any spelling of the address."""
    from newsletter.app import people

    _print([people.show(output.app(ctx), email)], as_json=as_json)


@subscribers.command()
@click.option("--state", type=click.Choice(STATES), help="Only who is in this state.")
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False), help="Write there instead of to stdout.")
@click.pass_context
@output.example(
    "newsletter subscribers export --out people.csv", "newsletter subscribers export --state active | wc -l"
)
def export(ctx: click.Context, *, state: str | None, out: str | None) -> None:
    """Everybody as CSV, which `import` takes back, and which is harmless in a spreadsheet."""
    from newsletter.app import people

    wanted = types.SubscriberState(state) if state else None
    app = output.app(ctx)
    if out is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # whatever the locale: `import` reads it
        people.export(app, sys.stdout, state=wanted)
        return
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)  # addresses are nobody's business
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
        count = people.export(app, stream, state=wanted)
    output.say(f"{out}: {count} rows")


@subscribers.command()
@email_argument
@newsletter_option
@topics_option
@output.dry_run_option
@output.json_option
@click.pass_context
@output.example(
    "newsletter subscribers unsubscribe anna@example.org",
    "newsletter subscribers unsubscribe anna@example.org --topic rl-agents",
)
def unsubscribe(
    ctx: click.Context, *, email: str, newsletter: str | None, topics: tuple[str, ...], dry_run: bool, as_json: bool
) -> None:
    """End a person's subscriptions: all of them, a newsletter's, or some topics.

    Works at once, also while an issue is being sent. No import and no command brings them back.
    """
    from newsletter.app import people

    ended = people.unsubscribe(output.app(ctx), email, newsletter=newsletter, topics=topics, dry_run=dry_run)
    if as_json:
        output.emit({"email": email, "ended": list(ended)})
    elif ended:
        output.say(f"{email} {'would leave' if dry_run else 'has left'} {', '.join(ended)}")
    else:
        output.say(f"{email} has nothing more to leave")


@subscribers.command()
@email_argument
@newsletter_option
@click.option("--reason", default="by hand", show_default=True, help="Why; every listing shows it.")
@output.json_option
@click.pass_context
@output.example('newsletter subscribers suppress anna@example.org --reason "asked by phone"')
def suppress(ctx: click.Context, *, email: str, newsletter: str | None, reason: str, as_json: bool) -> None:
    """Never mail this address, whether it is on file or not. Beats imports, forms and commands."""
    from newsletter.app import people

    new = people.suppress(output.app(ctx), email, newsletter=newsletter, reason=reason)
    if as_json:
        output.emit({"email": email, "suppressed": True, "changed": new})
    else:
        output.say(f"{email} is suppressed" + ("" if new else " already"))


@subscribers.command()
@email_argument
@newsletter_option
@output.json_option
@click.pass_context
@output.example("newsletter subscribers unsuppress anna@example.org")
def unsuppress(ctx: click.Context, *, email: str, newsletter: str | None, as_json: bool) -> None:
    """Take a suppression back. Who left, bounced or complained stays so."""
    from newsletter.app import people

    people.unsuppress(output.app(ctx), email, newsletter=newsletter)
    if as_json:
        output.emit({"email": email, "suppressed": False, "changed": True})
    else:
        output.say(f"{email} is suppressed no more")


def _mapping(columns: Iterable[str]) -> dict[str, str]:
    mapping = {}
    for column in columns:
        kind, _, heading = column.partition("=")
        if not heading:
            raise click.UsageError(f"--map {column}: write it like --map email=COLUMN")
        mapping[kind.strip()] = heading
    return mapping


def _summary(result: audience.Imported) -> str:
    counts = {
        "added": result.added,
        "updated": result.updated,
        "unchanged": result.unchanged,
        "left out on purpose (they left, or are suppressed)": result.suppressed,
        "rejected": len(result.rejected),
    }
    parts = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{result.rows} row{'s' * (result.rows != 1)}: {parts or 'nothing to do'}"


def _imported(result: audience.Imported) -> dict[str, Any]:
    return {
        "rows": result.rows,
        "added": result.added,
        "updated": result.updated,
        "unchanged": result.unchanged,
        "suppressed": result.suppressed,
        "rejected": [{"line": bad.line, "value": bad.value, "reason": bad.reason} for bad in result.rejected],
    }


def _json(person: audience.SubscriberView) -> dict[str, Any]:
    return {
        "email": person.email,
        "name": person.name,
        "state": person.state,
        "language": person.language,
        "topics": list(person.topics),
        "suppressed": person.suppressed,
        "since": person.since.isoformat(),
    }


def _print(found: Iterable[audience.SubscriberView], *, as_json: bool) -> None:
    if as_json:
        output.emit({"subscribers": [_json(person) for person in found]})
        return
    rows = (
        (person.email, person.name, person.state, ", ".join(person.topics), person.suppressed, person.since.date())
        for person in found
    )
    output.table(("email", "name", "state", "topics", "suppressed", "since"), rows)
