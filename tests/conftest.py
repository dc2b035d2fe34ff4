"""What tests share: no settings from outside, and a workspace of their own."""

import contextlib
import datetime as dt
import json
import os
import smtpd as smtp_server
from collections.abc import Iterator

import hypothesis
import pytest

from newsletter import app as wiring
from newsletter import workspace

# No deadlines: how fast a loaded machine is says nothing about the code.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

WEDNESDAY = dt.datetime(2026, 9, 9, 8, 0, tzinfo=dt.UTC)
THURSDAY = dt.datetime(2026, 9, 10, 11, 0, tzinfo=dt.UTC)  # 12:00 in London: the draft of weekly/2026-09-11 is due
ISSUE = "weekly/2026-09-11"

SETTINGS = """\
[smtp]
host = "127.0.0.1"
port = 9

[[newsletter]]
slug = "weekly"
title = "News without the noise"
from = "News <news@example.org>"
timezone = "Europe/London"
compose = "Thursday 12:00"
send = "Friday 09:00"
postal_address = "1 Example Street, London"
{more}

[[newsletter.topic]]
slug = "rl-agents"
title = "Reinforcement learning"
{rules}

[[newsletter.topic]]
slug = "robots"
title = "Robots that learn"
"""


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch):
    for name in os.environ:
        if name.startswith("NEWSLETTER_") or name == "CREDENTIALS_DIRECTORY":
            monkeypatch.delenv(name)


class Bench:
    """A workspace with two topics, and short words for what tests do in it. Each verb opens the application anew."""

    def __init__(self, folder):
        self.folder = folder
        workspace.init(folder)
        self.settings()

    def settings(self, more="", rules="", tail=""):
        text = SETTINGS.format(more=more, rules=rules) + tail
        (self.folder / "newsletter.toml").write_text(text, encoding="utf-8")

    @contextlib.contextmanager
    def app(self, now=THURSDAY):
        opened = wiring.open_app(self.folder, now)
        try:
            yield opened
        finally:
            opened.close()

    def entries(self, *rows, topics=("rl-agents",), now=WEDNESDAY, newsletter=None):
        """Import entries: titles, or dicts."""
        full = [
            row
            if isinstance(row, dict)
            else {"title": row, "url": f"https://papers.example/{row.replace(' ', '-')}", "summary": f"About {row}."}
            for row in rows
        ]
        data = "".join(json.dumps(row) + "\n" for row in full).encode()
        with self.app(now) as app:
            return app.import_entries(data, topics, newsletter)

    def people(self, *emails, topics=("rl-agents",), now=WEDNESDAY):
        path = self.folder / "people.csv"
        path.write_text("email\n" + "".join(f"{email}\n" for email in emails), encoding="utf-8")
        with self.app(now) as app:
            return app.import_subscribers(path, topics=topics, state="active")

    def compose(self, now=THURSDAY, **options):
        with self.app(now) as app:
            return app.compose(**options)

    def approve(self, issue=ISSUE, now=THURSDAY):
        with self.app(now) as app:
            return app.approve(issue, by="t")

    def draft(self, issue=ISSUE):
        return self.folder / "issues" / f"{issue}.md"

    def text(self, issue=ISSUE):
        return self.draft(issue).read_text("utf-8")

    def edit(self, old, new, issue=ISSUE):
        text = self.text(issue)
        assert old in text
        self.draft(issue).write_text(text.replace(old, new), encoding="utf-8")

    def states(self, newsletter="weekly"):
        """Title (or summary) -> state and issue."""
        with self.app() as app:
            rows = app.entries(newsletter=newsletter)
        return {row["title"] or row["summary"]: (row["state"], row["issue"]) for row in rows}


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path / "letter")


@pytest.fixture
def smtpd() -> Iterator[smtp_server.Server]:
    """An SMTP server; a test sets its fields before it connects."""
    with smtp_server.serve() as server:
        yield server
