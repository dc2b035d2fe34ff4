"""`subscribers`: the people. What is done to many at once is in `many`."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from newsletter import types
from newsletter.cli import many, output, shown
from newsletter.cli.many import email_argument, newsletter_option, topics_option

if TYPE_CHECKING:
    from newsletter.store import audience

F = TypeVar("F", bound=Callable[..., Any])
STATES = [state.value for state in types.SubscriberState]


class Day(click.ParamType[dt.datetime]):
    """A date, or an ISO 8601 time; without a zone in UTC."""

    name = "DATE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dt.datetime:
        """Parse it."""
        try:
            moment = value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no date; write it like 2026-09-01", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def filter_options(function: F) -> F:
    """The options that say whom to list: all that are given must hold."""
    for decorate in reversed(
        (
            click.option("--newsletter", metavar="N", help="Who has any topic of this newsletter now."),
            click.option("--topic", metavar="T", help="Who has this topic now."),
            click.option("--state", type=click.Choice(STATES), help="Who is in this state."),
            click.option("--since", type=Day(), metavar="DATE", help="Who came on that day or later."),
            click.option("--source", metavar="HOW", help="Who came so: a file's name, page, api, cli."),
            click.option("--match", metavar="TEXT", help="Whose address or name holds this."),
            click.option("--tag", metavar="TAG", help="Who has this tag."),
        )
    ):
        function = decorate(function)
    return function


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
@output.dry_run_option
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
    dry_run: bool,
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
        dry_run=dry_run,
    )
    if as_json:
        output.emit({"result": what, "subscribers": [shown.person(person)]})
    else:
        output.say(
            f"{person.email}: {'would be ' * dry_run}{what}; {person.state}; {', '.join(person.topics) or 'no topic'}"
        )


@subscribers.command("import")
@click.argument("file")
@newsletter_option
@topics_option
@click.option(
    "--state", type=click.Choice(["active", "pending"]), help="Else the file's own state holds, else they are pending."
)
@click.option("--map", "columns", metavar="email=COLUMN", multiple=True, help="Name a column that is not recognised.")
@click.option("--topic-from", metavar="COLUMN", help="Make topics of the groups, tags or lists in this column.")
@click.option(
    "--map-topic", "groups", metavar="GROUP=TOPIC", multiple=True, help="Which topic a group is; GROUP= leaves it out."
)
@click.option("--tags-from", metavar="COLUMN", help="Keep what is in this column as tags.")
@output.dry_run_option
@output.json_option
@click.pass_context
@output.example(
    "newsletter subscribers import people.csv --topic rl-agents --state active",
    "newsletter subscribers import people.csv --map email=Correo --dry-run",
    "newsletter subscribers import mc.csv --topic-from TAGS --map-topic 'Robot club=robots' --map-topic 'VIP='",
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
    topic_from: str | None,
    groups: tuple[str, ...],
    tags_from: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take people in from a CSV file (- is stdin). Nobody is mailed by this.

    Columns are found by their headings: exports of other services, our own export and a plain list of addresses will
    do. Nobody who left, bounced, complained or is suppressed comes back by an import; a file that says somebody left
    is believed. A bad row is reported with its line, the others go in, and the exit code is 1.
    """
    from newsletter.app import importing

    result = importing.import_file(
        output.app(ctx),
        file,
        newsletter=newsletter,
        topics=topics,
        state=types.SubscriberState(state) if state else None,
        mapping={**_pairs("--map email=COLUMN", columns), **({"tags": tags_from} if tags_from else {})},
        groups=importing.Groups(topic_from, _pairs("--map-topic GROUP=TOPIC", groups, may_be_empty=True)),
        dry_run=dry_run,
    )
    if as_json:
        output.emit(_imported(result))
    else:
        for bad in result.rejected:
            output.warn(f"{file}:{bad.line}: {bad.reason}")
        for value, count in result.unmapped.items():
            output.warn(
                f"{value!r} is no topic here ({count} row{'s' * (count != 1)}); --map-topic 'GROUP=TOPIC' says which"
            )
        output.say(("it would be: " if dry_run else "") + _summary(result))
        if result.idle:
            output.say(f"{result.idle} of those added have no topic: they get nothing")
        if state is None and result.added:
            output.say(
                "who has no state of their own in the file is pending: not mailed; --state active says you have consent"
            )
    if result.rejected:
        ctx.exit(1)


@subscribers.command("list")
@filter_options
@output.json_option
@click.pass_context
@output.example(
    "newsletter subscribers list --topic rl-agents --state active",
    "newsletter subscribers list --since 2026-09-01 --source page --match @example.org",
)
def list_(ctx: click.Context, /, *, as_json: bool, **filters: Any) -> None:
    """Who is on file, with their topics."""
    from newsletter.app import people

    found = people.listing(output.app(ctx), **_filters(filters))
    if as_json:
        shown.emit(map(shown.person, found), sys.stdout)
    else:
        shown.table(found)


@subscribers.command()
@email_argument
@output.json_option
@click.pass_context
@output.example("newsletter subscribers show anna@example.org")
def show(ctx: click.Context, *, email: str, as_json: bool) -> None:
    """One person's whole story, by any spelling of the address: consent, subscriptions, deliveries, what came back."""
    from newsletter.app import people

    person, records = people.show_story(output.app(ctx), email)
    if as_json:
        output.emit({"subscribers": [shown.person(person)], "story": people.as_json(records)})
        return
    shown.table([person])
    shown.tell(records)


@subscribers.command()
@filter_options
@click.option("--person", metavar="EMAIL", help="All that is stored about one person, as JSON, for them.")
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False), help="Write there instead of to stdout.")
@output.json_option
@click.pass_context
@output.example(
    "newsletter subscribers export --out people.csv",
    "newsletter subscribers export --state active --tag donor | wc -l",
    "newsletter subscribers export --person anna@example.org --out anna.json",
)
def export(ctx: click.Context, /, *, person: str | None, out: str | None, as_json: bool, **filters: Any) -> None:
    """Everybody as CSV, which `import` takes back, and which is harmless in a spreadsheet."""
    from newsletter.app import people

    app, wanted = output.app(ctx), _filters(filters)
    if person is not None and any(wanted.values()):
        raise click.UsageError("--person stands alone: it is everything about one")
    records = people.everything_about(app, person) if person is not None else None
    with _writing(out) as stream:
        if records is not None:
            view, story = records
            document = {"subscriber": shown.person(view) if view else None, "story": people.as_json(story)}
            stream.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
            return
        if as_json:
            count = shown.emit(map(people.record, people.exported(app, **wanted)), stream)
        else:
            count = people.export(app, stream, **wanted)
    if out is not None:
        output.say(f"{out}: {count} rows")


@subscribers.command()
@click.argument("old")
@click.argument("new")
@output.dry_run_option
@output.json_option
@click.pass_context
@output.example("newsletter subscribers move anna@example.org anna@example.net")
def move(ctx: click.Context, *, old: str, new: str, dry_run: bool, as_json: bool) -> None:
    """Give a person another address, because they ask for it.

    Their topics and their story go along. Links to their preferences that the old address got end; those to leave work
    for ever.
    """
    from newsletter.app import people

    person = people.move(output.app(ctx), old, new, dry_run=dry_run)
    if as_json:
        output.emit({"old": old, "dry_run": dry_run, "subscribers": [shown.person(person)]})
    else:
        output.say(f"{old} {'would be' if dry_run else 'is'} {person.email} now; {person.state}")


for command in many.COMMANDS:
    subscribers.add_command(command)


# -- what is shown -------------------------------------------------------------------------------------------------


def _filters(given: dict[str, Any]) -> audience.Filters:
    state = types.SubscriberState(given["state"]) if given["state"] else None
    return {**given, "state": state}  # type: ignore[typeddict-item]  # click has checked the names


@contextlib.contextmanager
def _writing(out: str | None) -> Iterator[TextIO]:
    if out is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # whatever the locale: `import` reads it
        yield sys.stdout
        return
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)  # addresses are nobody's business
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
        yield stream


def _pairs(form: str, given: Iterable[str], *, may_be_empty: bool = False) -> dict[str, str]:
    pairs = {}
    for pair in given:
        name, sign, value = pair.rpartition("=") if may_be_empty else pair.partition("=")
        if not sign or not name.strip() or not (value or may_be_empty):
            raise click.UsageError(f"{form.split(maxsplit=1)[0]} {pair}: write it like {form}")
        pairs[name.strip()] = value.strip()
    return pairs


def _summary(result: audience.Imported) -> str:
    counts = {
        "added": result.added,
        "updated": result.updated,
        "unchanged": result.unchanged,
        "left out on purpose (they left, or are suppressed)": result.suppressed - result.noted,
        "noted as gone (the file says that they left, bounced or are suppressed)": result.noted,
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
        "noted": result.noted,
        "without_topic": result.idle,
        "unmapped": dict(result.unmapped),
        "rejected": [{"line": bad.line, "value": bad.value, "reason": bad.reason} for bad in result.rejected],
    }
