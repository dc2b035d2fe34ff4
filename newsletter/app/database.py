"""`db`: the care of the database file. Nothing here makes one that is not there, but `upgrade`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from newsletter import errors, store
from newsletter.app import reports
from newsletter.store import outbox

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App


def upgrade(app: App) -> tuple[str | None, str]:
    """Bring the schema to this program's: (before, after)."""
    found = store.connect_any(app.settings.database_url)
    try:
        return store.revision(found), store.upgrade(found)
    finally:
        found.close()


def check(app: App) -> reports.DatabaseReport:
    """Is it sound, and of this program's schema? Raises `errors.NotFound` when there is none."""
    path = Path(app.settings.database_url.removeprefix("sqlite:///"))
    if not path.exists():
        raise errors.NotFound("there is no database yet; the first command that needs it makes it")
    found = store.connect_any(app.settings.database_url)
    try:
        revision, problems = store.revision(found), store.integrity(found)
    finally:
        found.close()
    return reports.DatabaseReport(not problems and revision == store.HEAD, revision, store.HEAD, problems)


def backup(app: App, target: Path) -> None:
    """Copy it while it is in use; the copy is checked."""
    store.backup(app.store, target)


def topics(app: App) -> list[reports.TopicView]:
    """The topics of the settings, with how many people have each."""
    with app.store.read() as session:
        return [
            reports.TopicView(
                newsletter=newsletter.slug,
                topic=topic.slug,
                title=topic.title,
                sources=[source.url for source in topic.sources],
                subscribers=sum(outbox.audience(session, newsletter.slug, [topic.slug], app.clock.now()).values()),
            )
            for newsletter in app.settings.newsletter
            for topic in newsletter.topic
        ]
