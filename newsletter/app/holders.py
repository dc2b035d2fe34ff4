"""Topics that people hold and the settings do not have: found, and put right by `topics rename` and `topics retire`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import config, errors
from newsletter.store import topics

if TYPE_CHECKING:
    from newsletter.app import Newsletter

Place = topics.Place


def gone(session: Session, settings: config.Settings, newsletter: str | None = None) -> dict[Place, int]:
    """Topics that somebody has and the settings do not, and how many have each."""
    known = {(letter.slug, topic.slug) for letter in settings.newsletter for topic in letter.topic}
    return topics.gone(session, known, newsletter)


def say_gone(place: Place, people: int, settings: config.Settings) -> str:
    """What to do about one of them."""
    newsletter, topic = place
    who = f"{people:,} subscriber{'s have' if people != 1 else ' has'}"
    if newsletter not in [letter.slug for letter in settings.newsletter]:
        return (
            f"{who} {newsletter}/{topic}, but newsletter.toml has no newsletter {newsletter!r}: give it its slug back, "
            f"or end it with `newsletter topics retire {newsletter}/{topic}`"
        )
    return (
        f"{who} the topic {newsletter}/{topic}, which newsletter.toml does not have: give it its slug back, or "
        f"`newsletter topics rename {newsletter}/{topic} NEW` if it is called NEW now, or "
        f"`newsletter topics retire {newsletter}/{topic}` if it is over"
    )


def refuse_gone(session: Session, settings: config.Settings, newsletter: str) -> None:
    """Raises `errors.ConfigError` when people hold a topic that is gone: they would get nothing."""
    found = gone(session, settings, newsletter)
    if found:
        raise errors.ConfigError([say_gone(place, people, settings) for place, people in found.items()])


def rename(app: Newsletter, old: str, new: str, *, dry_run: bool = False) -> tuple[str, str, topics.Renamed]:
    """Have everybody who holds `old` hold `new`; returns both as `newsletter/topic`. Again, it changes nothing.

    Raises `errors.StateError` when `old` is a topic still, or a frozen issue knows it; `errors.UnknownTopic` for `new`.
    """
    letter, topic = app.settings.topic_place(new, old.partition("/")[0] if "/" in old and "/" not in new else None)
    newsletter, slug = old.split("/", 1) if "/" in old else (letter.slug, old)
    if newsletter != letter.slug:
        raise errors.UsageError(f"{old} and {letter.slug}/{topic.slug} are of two newsletters: consent is given to one")
    with app.store.write() as session:
        _refuse(app, session, newsletter, slug, "renamed")
        done = topics.rename(session, newsletter, slug, topic.slug, app.clock.now())
        if dry_run:
            session.rollback()
    return f"{newsletter}/{slug}", f"{newsletter}/{topic.slug}", done


def retire(app: Newsletter, name: str, *, dry_run: bool = False) -> tuple[str, topics.Retired]:
    """End a topic for everybody who holds it; returns it as `newsletter/topic`. Again, it changes nothing.

    Raises `errors.StateError` as `rename` does, and `errors.UsageError` when several newsletters had such a topic.
    """
    with app.store.write() as session:
        newsletter, slug = name.split("/", 1) if "/" in name else (_letter_of(app, session, name), name)
        _refuse(app, session, newsletter, slug, "retired")
        done = topics.retire(session, newsletter, slug, app.clock.now())
        if dry_run:
            session.rollback()
    return f"{newsletter}/{slug}", done


def _letter_of(app: Newsletter, session: Session, slug: str) -> str:
    """The newsletter that is meant by a topic alone: that of those who hold it, else the only one there is."""
    letters = {newsletter for newsletter, topic in gone(session, app.settings) if topic == slug}
    letters = letters or {letter.slug for letter in app.settings.newsletter}
    if len(letters) > 1:
        names = " or ".join(f"{letter}/{slug}" for letter in sorted(letters))
        raise errors.UsageError(f"there are several newsletters; say which: {names}")
    return letters.pop()


def _refuse(app: Newsletter, session: Session, newsletter: str, slug: str, what: str) -> None:
    if any(
        letter.slug == newsletter and topic.slug == slug for letter in app.settings.newsletter for topic in letter.topic
    ):
        raise errors.StateError(
            f"{newsletter}/{slug} is still in newsletter.toml: a topic is {what} there first, then here"
        )
    frozen = topics.unfinished(session, newsletter)
    if frozen and (newsletter, slug) in topics.held(session, newsletter):
        raise errors.StateError(
            f"{', '.join(frozen)} is approved or under way with the topics of then; send or cancel it first"
        )
