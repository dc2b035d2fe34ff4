"""`init`, `topics`, `schedule`, `doctor`, `config`, `db`: the workspace itself."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

from newsletter.cli import output


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@output.json_option
@output.example("newsletter init my-letter")
def init(folder: Path, as_json: bool) -> None:
    """Make a workspace in FOLDER, or add to one what it lacks. Never overwrites."""
    from newsletter import workspace

    written = workspace.init(folder)
    if as_json:
        output.emit({"workspace": str(folder), "written": written})
        return
    if not written:
        output.say(f"{folder} has everything already")
        return
    output.say(f"{folder} is a workspace now: {', '.join(written)}")
    output.say(f"next: cd {folder}, look at newsletter.toml, then `newsletter doctor`")


@click.group(cls=output.Group)
def topics() -> None:
    """The topics that subscribers pick."""


@topics.command("list")
@output.json_option
@click.pass_context
@output.example("newsletter topics list")
def topics_list(ctx: click.Context, as_json: bool) -> None:
    """The topics of the settings, with how many people have each."""
    from newsletter.app import database

    rows = database.topics(output.app(ctx))
    if as_json:
        output.emit({"topics": [row.as_json() for row in rows]})
    else:
        output.table(
            ["topic", "title", "sources", "subscribers"],
            [[f"{row.newsletter}/{row.topic}", row.title, len(row.sources), row.subscribers] for row in rows],
        )


@topics.command("test")
@click.argument("topic")
@click.option("--newsletter", metavar="SLUG", help="The topic's newsletter, if several have one of that name.")
@click.option(
    "--weeks", type=click.IntRange(1, 104), default=4, show_default=True, help="How far to look back, by first seen."
)
@click.option("--changes", is_flag=True, help="Only what would be decided otherwise than it was.")
@click.option(
    "--include", multiple=True, metavar="RULE", help="Try this in place of the topic's include rules; again for more."
)
@click.option(
    "--exclude", multiple=True, metavar="RULE", help="Try this in place of its exclude rules; again for more."
)
@click.option("--min-score", type=click.FloatRange(min=0), help="Try this in place of its min_score.")
@output.json_option
@click.pass_context
@output.example(
    "newsletter topics test rl-agents --weeks 8 --changes",
    "newsletter topics test rl-agents --include 'policy optimi[sz]ation' --exclude survey",
)
def topics_test(
    ctx: click.Context,
    *,
    topic: str,
    newsletter: str | None,
    weeks: int,
    changes: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    min_score: float | None,
    as_json: bool,
) -> None:
    """What the rules in newsletter.toml, or those given here, would do to the last weeks' entries."""
    rows = output.app(ctx).test_topic(
        topic, newsletter, weeks=weeks, include=include or None, exclude=exclude or None, min_score=min_score
    )
    shown = [row for row in rows if row.change or not changes]
    counts = {
        "entries": len(rows),
        "belong": sum(row.belongs for row in rows),
        "would_come_in": sum(row.change == "in" for row in rows),
        "would_fall_out": sum(row.change == "out" for row in rows),
    }
    if as_json:
        output.emit({"topic": topic, "weeks": weeks, "counts": counts, "entries": [row.as_json() for row in shown]})
        return
    output.table(
        ["id", "now", "would", "score", "why", "title"],
        [
            [
                row.id, row.state, {"in": "come in", "out": "fall out"}.get(row.change or "", "stay"),
                f"{row.score:.1f}", row.why, row.title,
            ]
            for row in shown
        ],
    )  # fmt: skip
    output.say(
        f"{counts['belong']} of {counts['entries']} belong; {counts['would_come_in']} would come in, "
        f"{counts['would_fall_out']} would fall out"
    )


@click.command()
@click.option("--newsletter", metavar="SLUG", help="Only this one.")
@click.option("--from", "start", metavar="ISO", type=output.date_time(), help="From then on; default: now.")
@click.option("--to", "end", metavar="ISO", type=output.date_time(), help="Until then; default: four weeks on.")
@output.json_option
@click.pass_context
@output.example("newsletter schedule", "newsletter schedule --to 2026-12-31T00:00:00Z --json")
def schedule(
    ctx: click.Context, newsletter: str | None, start: dt.datetime | None, end: dt.datetime | None, as_json: bool
) -> None:
    """What the schedule says will happen when: drafts composed, issues sent."""
    app = output.app(ctx)
    begin = start or app.clock.started
    events = app.schedule(newsletter, begin, end or begin + dt.timedelta(weeks=4))
    if as_json:
        output.emit({"events": [event.as_json() for event in events]})
    else:
        output.table(
            ["at", "what", "newsletter", "issue of"],
            [
                [event.at.strftime("%a %d %b %Y %H:%M %Z"), event.kind, event.newsletter, event.period]
                for event in events
            ],
        )


@click.command()
@output.json_option
@click.pass_context
@output.example("newsletter doctor")
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Look whether everything is in order; each line says OK, WARN or FAIL, and what to do. Exit 1 on a FAIL."""
    lines = output.app(ctx).doctor()
    if as_json:
        output.emit({"ok": all(line.level != "FAIL" for line in lines), "checks": [line.as_json() for line in lines]})
    else:
        colours = {"OK": "green", "WARN": "yellow", "FAIL": "red"}
        for line in lines:
            head, *rest = line.text.splitlines()
            output.result(f"{click.style(f'{line.level:4}', fg=colours[line.level])}  {line.what}: {head}")
            for more in rest:
                click.echo(f"      {more}")
    if any(line.level == "FAIL" for line in lines):
        ctx.exit(1)


@click.group(cls=output.Group)
def config() -> None:
    """The settings."""


@config.command("show")
@output.json_option
@click.pass_context
@output.example("newsletter config show")
def config_show(ctx: click.Context, as_json: bool) -> None:
    """The settings as they are used, secrets masked."""
    values = output.app(ctx).settings.masked()
    if as_json:
        output.emit(values)
        return
    for line in _lines(values, ""):
        click.echo(line)


def _lines(value: object, key: str) -> list[str]:
    """`smtp.port = 1025`, a setting a line."""
    if isinstance(value, dict):
        return [line for name, item in value.items() for line in _lines(item, f"{key}.{name}" if key else str(name))]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [line for i, item in enumerate(value, 1) for line in _lines(item, f"{key}[{i}]")]
    import json

    return [f"{key} = {json.dumps(value, ensure_ascii=False)}"]


@click.group(cls=output.Group)
def db() -> None:
    """The database."""


@db.command("upgrade")
@output.json_option
@click.pass_context
@output.example("newsletter db upgrade")
def db_upgrade(ctx: click.Context, as_json: bool) -> None:
    """Bring the database to the schema of this program; a new one is made."""
    from newsletter.app import database

    before, after = database.upgrade(output.app(ctx))
    if as_json:
        output.emit({"schema": after, "was": before})
        return
    output.say(f"the database is at schema {after}" + ("" if before == after else f" (was {before or 'empty'})"))


@db.command("check")
@output.json_option
@click.pass_context
@output.example("newsletter db check")
def db_check(ctx: click.Context, as_json: bool) -> None:
    """Is the database sound, and of this program's schema? Exit 1 when not."""
    from newsletter.app import database

    report = database.check(output.app(ctx))
    if as_json:
        output.emit(report.as_json())
    else:
        verdict = "; ".join(report.problems) or "sound"
        click.echo(f"schema {report.schema} (this program: {report.wanted}); {verdict}")
    if not report.ok:
        ctx.exit(1)


@db.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@output.json_option
@click.pass_context
@output.example("newsletter db backup backups/2026-09-11.db")
def db_backup(ctx: click.Context, file: Path, as_json: bool) -> None:
    """Copy the database to FILE while it is in use; the copy is checked. Keep secret.key with it."""
    from newsletter.app import database

    app = output.app(ctx)
    database.backup(app, file)
    if as_json:
        output.emit({"file": str(file)})
        return
    output.say(f"{file} is a sound copy; keep {app.settings.site.secret_key_file} with it: links in sent mails need it")
