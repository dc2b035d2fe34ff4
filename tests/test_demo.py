"""`newsletter demo` as a user runs it: a process of its own, every verb for real, in a folder of the test's."""

import email
import email.policy
import itertools
import json
import os
import re
import signal
import subprocess
import sys

import httpx2
import pytest

from newsletter import config, demo
from newsletter.web import mailbox, serving


def run(*arguments, folder, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEWSLETTER_")}
    return subprocess.run(
        [sys.executable, "-m", "newsletter", *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env={**environment, **variables},
    )


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    """A demo that has run, by its defaults, and what it printed."""
    folder = tmp_path_factory.mktemp("somewhere")
    done = run("demo", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / "demo", done


def test_demo_says_what_each_step_did(rehearsed):
    _, done = rehearsed
    steps = [line.split()[0] for line in done.stdout.split("\n\n")[0].splitlines()]
    assert steps == ["workspace", "people", "collect", "compose", "check", "approve", "send"]
    for figures in ("25 imported", "22 new articles from 3 feeds", "22 articles in 2 topics", "25 of 25 sent"):
        assert figures in done.stdout
    assert "no errors, no warnings" in done.stdout


def test_demo_prints_nothing_but_results_where_there_is_no_terminal(rehearsed):
    assert rehearsed[1].stderr == ""
    assert "\x1b" not in rehearsed[1].stdout


def test_what_the_demo_points_at_is_there(rehearsed):
    folder, done = rehearsed
    assert (folder / "issues/weekly/2025-04-18.md").is_file()
    assert "demo/issues/weekly/2025-04-18.md" in done.stdout
    assert "newsletter -C demo mailbox" in done.stdout
    assert len(mailbox.stored(folder / "subscribers/mailbox")) == 25


def test_everybody_has_one_message_with_the_topics_they_picked(rehearsed):
    letters = {}
    for message in mailbox.stored(rehearsed[0] / "subscribers/mailbox"):
        letter = email.message_from_bytes(message.path.read_bytes(), policy=email.policy.default)
        letters[letter["to"].addresses[0].addr_spec.lower()] = letter.get_body(("plain",)).get_content()
    assert len(letters) == 25
    agents, reasoning = "Reinforcement learning for agentic behaviour", "Reasoning, learned by reinforcement"
    both, first, second = letters["annie@example.org"], letters["joerg@example.com"], letters["zofia@example.net"]
    assert agents in both and reasoning in both
    assert agents in first and reasoning not in first
    assert reasoning in second and agents not in second
    assert both.count("ToRL") == first.count("ToRL") == second.count("ToRL") == 1


def test_commands_that_the_demo_names_work_afterwards(rehearsed):
    folder, _ = rehearsed
    done = run("-C", folder, "status", "weekly/2025-04-18", "--json", folder=folder)
    status = json.loads(done.stdout)
    assert (status["state"], status["counts"]["sent"], status["audience"]) == ("sent", 25, 25)
    assert config.load(folder, {}).smtp.port == 1025


def test_demo_replaces_a_former_demo(tmp_path):
    former = tmp_path / "demo"
    (former / "issues").mkdir(parents=True)
    (former / ".newsletter-demo").touch()
    (former / "issues" / "left-over.md").write_text("x")
    done = run("demo", "--json", "--subscribers", "30", folder=tmp_path)
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert not (former / "issues" / "left-over.md").exists()
    assert report["send"]["counts"]["sent"] == report["messages"] == report["import"]["added"] == 30


def test_demo_leaves_a_folder_alone_that_is_not_its_own(tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "thesis.txt").write_text("years of work")
    done = run("demo", folder=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r"error: demo is not empty .*--dir\n", done.stderr)
    assert (tmp_path / "demo" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("NEWSLETTER_SMTP__HOST", "mail.example.org"),
        ("NEWSLETTER_SMTP__PASSWORD", "hunter2"),
        ("NEWSLETTER_SITE__DATABASE", "sqlite:///real.db"),
    ],
)
def test_demo_never_uses_the_servers_of_the_environment(tmp_path, variable, value):
    done = run("demo", folder=tmp_path, **{variable: value})
    assert done.returncode == 2
    assert "unset" in done.stderr
    assert value not in done.stderr
    assert not (tmp_path / "demo/subscribers/demo.csv").exists()


def test_rehearsal_keeps_to_the_hours_of_the_newsletter(tmp_path):
    (tmp_path / config.FILE).write_text(demo.settings("http://127.0.0.1:1", 1025))
    newsletter = config.load(tmp_path, {}).newsletter[0]
    assert f"{demo.COMPOSE:%A %H:%M}" == newsletter.compose
    assert f"{demo.SEND:%A %H:%M}" == newsletter.send
    assert demo.COLLECT < demo.COMPOSE < demo.APPROVE < demo.SEND


def test_demo_leaves_the_mail_and_the_editors_page_open_until_it_is_told_to_stop(tmp_path):
    command = [sys.executable, "-m", "newsletter", "demo", "--serve", "--port", "0", "--preview-port", "0"]
    with subprocess.Popen(
        [*command, "--subscribers", "3"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            shown = dict(line.split()[:2] for line in itertools.islice(process.stderr, 2))
            assert set(shown) == {"preview", "mailbox"}
            page, mail = (httpx2.get(shown[name]).text for name in ("preview", "mailbox"))
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()
    assert "Preview · sent" in page
    assert "3 messages" in mail


def test_demo_that_cannot_be_served_is_a_workspace_that_works(tmp_path):
    with serving.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        done = run("demo", "--serve", "--subscribers", "2", "--port", "0", "--preview-port", port, folder=tmp_path)
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1, port {port}" in done.stderr
    assert config.load(tmp_path / "demo").smtp.port == 1025
