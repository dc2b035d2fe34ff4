"""The sample that `newsletter demo` works on: feeds, settings and subscribers; no network but this machine's own.

The feeds were written for this project; every paper in them is real, and so are its date, its authors and its numbers.
They belong to the 30 days before COMPOSE, which is as far back as the first visit of a source looks.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import itertools
from pathlib import Path

FOLDER = Path(__file__).parent
FEEDS = FOLDER / "feeds"
_FEED_SERVER = "http://127.0.0.1:8080"  # stands in newsletter.toml for the address of the feed server
_SMTP_PORT = "port = 1025"

# The rehearsal's week: a Thursday's draft, a Friday's mail, in London, which has summer time.
LONDON = dt.timezone(dt.timedelta(hours=1))
COLLECT = dt.datetime(2025, 4, 17, 11, 0, tzinfo=LONDON)
COMPOSE = dt.datetime(2025, 4, 17, 12, 0, tzinfo=LONDON)
APPROVE = dt.datetime(2025, 4, 17, 15, 0, tzinfo=LONDON)
SEND = dt.datetime(2025, 4, 18, 9, 0, tzinfo=LONDON)

_FIRST = ("Ada", "Björn", "Carmen", "Dženana", "Émile", "Fatima", "Grace", "Hiroshi", "İpek", "Jürgen", "Kateřina")
_LAST = ("Adeyemi", "Bjørnsen", "Castañeda", "Drăgulescu", "Eriksson", "Fernández", "Groß", "Hernández", "Ivanova")
_DOMAINS = ("example.org", "example.com", "example.net")
_TOPICS = ("weekly/rl-agents;weekly/reasoning", "weekly/rl-agents", "weekly/reasoning")


def settings(feed_server: str, smtp_port: int) -> str:
    """The demo's newsletter.toml for a feed server (`http://127.0.0.1:40123`) and a mail server's port."""
    text = (FOLDER / "newsletter.toml").read_text("utf-8")
    return text.replace(_FEED_SERVER, feed_server).replace(_SMTP_PORT, f"port = {smtp_port}")


def subscribers(count: int) -> str:
    """A CSV file of `count` people: those of subscribers.csv first, then as many more as it takes."""
    lines = (FOLDER / "subscribers.csv").read_text("utf-8").splitlines(keepends=True)
    text = io.StringIO()
    text.writelines(lines[: count + 1])
    writer = csv.writer(text, lineterminator="\n")
    names = itertools.cycle(itertools.product(_FIRST, _LAST))
    for number, (first, last) in zip(range(len(lines), count + 1), names, strict=False):
        address = f"reader{number:06}@{_DOMAINS[number % 3]}"
        writer.writerow((address, f"{first} {last}", "active", "en", _TOPICS[number % 3]))
    return text.getvalue()
