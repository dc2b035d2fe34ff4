"""`topics rename|retire`: what becomes of people whose topic is called otherwise, or is over."""

from __future__ import annotations

import click

from newsletter.cli import output
from newsletter.cli.workspace import topics


@topics.command("rename")
@click.argument("old")
@click.argument("new")
@output.dry_run_option
@output.json_option
@click.pass_context
@output.example("newsletter topics rename weekly/rl-agents agents --dry-run")
def rename(ctx: click.Context, *, old: str, new: str, dry_run: bool, as_json: bool) -> None:
    """Have everybody who has the topic OLD have NEW, which newsletter.toml has in its place by now.

    What waits for the next issue goes along. Who left NEW before does not get it back.
    """
    from newsletter.app import holders

    was, now, done = holders.rename(output.app(ctx), old, new, dry_run=dry_run)
    if as_json:
        counts = {"moved": done.moved, "had": done.had, "left": done.left, "without_topic": done.without_topic}
        output.emit({"old": was, "new": now, "dry_run": dry_run, **counts, "entries": done.entries})
        return
    would = "would have" if dry_run else "have"
    output.say(f"{done.moved} subscriber(s) of {was} {would} {now} now; {done.entries} waiting entries go along")
    if done.had:
        output.say(f"{done.had} had {now} already")
    if done.left:
        output.say(f"{done.left} had left {now} before, and {'would ' * dry_run}get nothing in its place")
    _say_idle(done.without_topic, dry_run=dry_run)


@topics.command("retire")
@click.argument("topic")
@output.dry_run_option
@output.json_option
@click.pass_context
@output.example("newsletter topics retire weekly/rl-agents --dry-run")
def retire(ctx: click.Context, *, topic: str, dry_run: bool, as_json: bool) -> None:
    """End TOPIC, which newsletter.toml has no more, for everybody who has it.

    Whoever has no other topic is unsubscribed; they may come back by the form.
    """
    from newsletter.app import holders

    name, done = holders.retire(output.app(ctx), topic, dry_run=dry_run)
    if as_json:
        output.emit({"topic": name, "dry_run": dry_run, "ended": done.ended, "without_topic": done.without_topic})
        return
    output.say(f"{done.ended} subscription(s) to {name} {'would end' if dry_run else 'have ended'}")
    _say_idle(done.without_topic, dry_run=dry_run)


def _say_idle(people: int, *, dry_run: bool) -> None:
    if people:
        have, are = ("would have", "would be") if dry_run else ("have", "are")
        output.say(f"{people} of these people {have} no other topic: they {are} unsubscribed")


__all__ = ["topics"]
