"""The whole way through the command line, as people go it, with the plug pulled in the middle.

The mail server pulls it: at the message that the test names it kills the sender before it answers.
"""

import collections
import email
import email.policy
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller

from newsletter import demo, workspace
from newsletter.demo import feedserver

NEWSLETTER = Path(sys.executable).with_name("newsletter")
PEOPLE = 80
COLLECT, COMPOSE, SEND = "2025-04-17T11:00:00+01:00", "2025-04-17T12:00:00+01:00", "2025-04-18T09:00:00+01:00"
NEXT_WEEK = "2025-04-24T12:00:00+01:00"


class Keeper:
    """Keeps what arrives; kills `victim` at the message number `kill_at`, before it gets an answer."""

    def __init__(self):
        self.kept = []
        self.victim = None
        self.kill_at = 0

    async def handle_DATA(self, server, session, envelope):
        self.kept.append((envelope.rcpt_tos[0], bytes(envelope.original_content)))
        if len(self.kept) == self.kill_at:
            os.kill(self.victim.pid, signal.SIGKILL)
            self.victim.wait()
        return "250 taken"

    def copies(self):
        """{recipient: [message, …]}"""
        found = collections.defaultdict(list)
        for rcpt, raw in self.kept:
            found[rcpt].append(raw)
        return found


class AnyPort(Controller):
    """Learns its port before it knocks at it."""

    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@pytest.fixture
def keeper():
    found = Keeper()
    controller = AnyPort(found, hostname="127.0.0.1", port=0, enable_SMTPUTF8=True)
    controller.start()
    found.port = controller.port
    yield found
    controller.stop()


@pytest.fixture
def story(tmp_path, keeper):
    """Runs commands on a workspace whose sources are the sample's feeds: story("compose", now=…) -> its JSON."""
    with feedserver.serving(demo.FEEDS) as feeds:
        folder = tmp_path / "letter"
        workspace.init(folder)
        text = demo.settings(feeds, keeper.port)
        text = text.replace("[smtp]", "[smtp]\nconnections = 3")
        (folder / "newsletter.toml").write_text(text, "utf-8")
        env = {key: value for key, value in os.environ.items() if not key.startswith("NEWSLETTER_")}

        def start(*args, now):
            command = [NEWSLETTER, "-C", folder, "--now", now, *args, "--json"]
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)

        def run(*args, now, code=0):
            process = start(*args, now=now)
            out, err = process.communicate()
            assert process.returncode == code, f"{args}: {out}{err}"
            assert "Traceback" not in err
            return json.loads(out) if out else None

        run.start, run.folder = start, folder
        yield run


def body(raw):
    parts = email.message_from_bytes(raw, policy=email.policy.default)
    return parts.get_body(("plain",)).get_content()


def test_from_feeds_to_inboxes_with_the_plug_pulled_in_the_middle(story, keeper):
    people = story.folder / "people.csv"
    people.write_text(demo.subscribers(PEOPLE), "utf-8")
    assert story("subscribers", "import", str(people), "--state", "active", now=COLLECT)["added"] == PEOPLE
    assert story("collect", now=COLLECT)["entries_new"] > 10

    composed = story("compose", now=COMPOSE)
    issue, draft = composed["issue"], story.folder / composed["path"]
    text = draft.read_text("utf-8")
    blocks = re.split(r"(?m)^(?=##)", text)
    entries = [i for i, block in enumerate(blocks) if block.startswith("### [")]
    cut, edited = entries[1], entries[2]
    cut_title = re.search(r"\[(.+?)\]\(", blocks[cut])[1]
    blocks[edited] = blocks[edited].rstrip() + " An editor added this.\n\n"
    del blocks[cut]
    draft.write_text("".join(blocks), "utf-8")
    assert story("check", issue, now=COMPOSE)["ok"]
    assert story("approve", issue, now=COMPOSE)["dropped"] == 1

    keeper.kill_at = PEOPLE // 2
    keeper.victim = story.start("send", issue, now=SEND)
    keeper.victim.communicate()
    assert keeper.victim.returncode == -signal.SIGKILL
    status = story("status", issue, now=SEND)
    assert status["state"] == "sending"
    assert sum(status["counts"].values()) == status["audience"] == PEOPLE
    doubtful = set(status["in_doubt"])
    assert 1 <= len(doubtful) == status["counts"]["in_doubt"] <= 3  # at most one a connection
    assert status["counts"]["queued"] > 0

    left = next(row["email"] for row in story("deliveries", issue, now=SEND)["deliveries"] if row["state"] == "queued")
    story("subscribers", "unsubscribe", left, now=SEND)

    again = story("send", issue, now=SEND)
    assert again["state"] == "sent"
    assert again["counts"]["sent"] == PEOPLE - 1
    assert again["counts"]["skipped"] == 1

    copies = keeper.copies()
    rows = {row["email"]: row for row in story("deliveries", issue, now=SEND)["deliveries"]}
    wire = {row["email"]: row["email"] for row in rows.values()}
    assert left not in copies
    assert len(copies) == PEOPLE - 1
    for rcpt, raws in copies.items():
        assert len(set(raws)) == 1  # a second copy has the same octets
        assert len(raws) == 1 or wire.get(rcpt, rcpt) in doubtful
        headers = email.message_from_bytes(raws[0])
        assert headers.get_all("To") and len(headers.get_all("Message-ID")) == 1
    texts = [body(raws[0]) for raws in copies.values()]
    assert any("An editor added this." in text for text in texts)
    assert not any(cut_title in text for text in texts)

    assert story("send", issue, now=SEND)["state"] == "sent"
    assert sum(len(raws) for raws in copies.values()) == len(keeper.kept)  # nothing more went out

    dropped = story("entries", "list", "--state", "dropped", now=NEXT_WEEK)["entries"]
    assert [entry["title"] for entry in dropped] == [cut_title]
    assert story("collect", "--all", now=NEXT_WEEK)["entries_new"] == 0
    assert story("compose", now=NEXT_WEEK)["issue"] is None
