"""What is approved is what is sent, to whoever picked a part of it: settings, editions and drafts that change later."""

import re
import shutil

import pytest
from conftest import ISSUE, THURSDAY

from newsletter import cli, errors

SHARED = "A paper of both"


def codes(report):
    return {finding.code for finding in report.warnings}


def headers(message):
    return message.octets.partition(b"\r\n\r\n")[0].decode()


@pytest.fixture
def shared(bench):
    """One article of two topics, and a reader of each."""
    bench.entries(SHARED, topics=("rl-agents", "robots"))
    bench.people("rl@example.org", topics=("rl-agents",))
    bench.people("ro@example.org", topics=("robots",))
    bench.compose()
    return bench


def test_article_of_two_topics_reaches_the_readers_of_either(shared):
    assert "{#robots}" not in shared.text()
    with shared.app() as app:
        assert app.check(ISSUE).ok
        assert dict(app.audience(ISSUE)) == {"rl-agents": 1, "robots": 1}
        _, html, text = app.render(ISSUE, reader="ro@example.org")
    assert SHARED in html and SHARED in text
    assert "Robots that learn" in text and "Reinforcement learning" not in text


def test_reader_of_both_topics_reads_it_once(shared):
    with shared.app() as app:
        _, _, text = app.render(ISSUE, topics=["rl-agents", "robots"])
    assert text.count("https://papers.example/A-paper-of-both") == 1


def test_sections_that_only_guests_use_are_no_mistake_of_the_draft(shared):
    with shared.app() as app:
        assert "section-empty" not in codes(app.check(ISSUE))


def test_identity_is_frozen_with_the_issue(bench):
    bench.entries("A paper")
    bench.people("anna@example.org")
    bench.compose()
    bench.approve()
    with bench.app() as app:
        before = app.render(ISSUE, reader="anna@example.org")
    path = bench.folder / "newsletter.toml"
    path.write_text(
        '[site]\nbase_url = "https://elsewhere.example.net"\n'
        + path.read_text("utf-8")
        .replace("News <news@example.org>", "Other <other@example.net>")
        .replace('title = "News without the noise"', 'title = "Another title"')
        .replace("1 Example Street", "2 Example Street"),
        "utf-8",
    )
    with bench.app() as app:
        after = app.render(ISSUE, reader="anna@example.org")
        report = app.check(ISSUE)
    assert headers(after[0]) == headers(before[0])
    assert after[1:] == before[1:]
    told = next(finding for finding in report.warnings if finding.code == "settings-differ")
    assert all(key in told.message for key in ("from", "title", "postal_address", "site.base_url"))


def test_topic_that_is_renamed_after_approval_does_not_empty_the_issue(bench):
    bench.entries("A paper")
    bench.people("anna@example.org")
    bench.compose()
    bench.approve()
    path = bench.folder / "newsletter.toml"
    path.write_text(path.read_text("utf-8").replace('slug = "rl-agents"', 'slug = "rl"'), "utf-8")
    with bench.app() as app:
        assert app.check(ISSUE).ok
        assert dict(app.audience(ISSUE)) == {"rl-agents": 1}


def test_check_says_that_an_approved_draft_was_edited_or_is_gone(bench):
    bench.entries("A paper")
    bench.people("anna@example.org")
    bench.compose()
    bench.approve()
    with bench.app() as app:
        assert not codes(app.check(ISSUE)) & {"draft-differs", "draft-missing", "settings-differ"}
    bench.edit("A paper", "Another paper")
    with bench.app() as app:
        assert "draft-differs" in codes(app.check(ISSUE))
    bench.draft().unlink()
    with bench.app() as app:
        assert "draft-missing" in codes(app.check(ISSUE))


def test_what_an_editor_cut_stays_cut_when_the_issue_is_cancelled(bench):
    bench.entries("Kept", "Cut")
    bench.people("anna@example.org")
    bench.compose()
    blocks = re.split(r"(?m)^(?=### )", bench.text())
    bench.draft().write_text("".join(block for block in blocks if "[Cut]" not in block), "utf-8")
    bench.approve()
    with bench.app() as app:
        assert app.cancel(ISSUE) == 1
    assert bench.states() == {"Kept": ("waiting", None), "Cut": ("dropped", None)}
    bench.compose()
    assert "[Kept]" in bench.text() and "[Cut]" not in bench.text()


def test_topic_of_two_newsletters_must_be_named_in_full(bench):
    bench.settings(
        tail='\n[[newsletter]]\nslug = "ads"\ntitle = "Ads"\nfrom = "Ads <ads@example.org>"\n'
        '[[newsletter.topic]]\nslug = "rl-agents"\ntitle = "Ads for agents"\n'
    )
    with pytest.raises(errors.UsageError, match=r"say which: weekly/rl-agents or ads/rl-agents"):
        bench.people("anna@example.org")
    with pytest.raises(errors.UsageError, match="say which"):
        bench.entries("A paper")
    bench.people("anna@example.org", topics=("weekly/rl-agents",))
    bench.entries("A paper", topics=("rl-agents",), newsletter="ads")


def test_lost_database_is_not_replaced_by_an_empty_one(bench):
    bench.entries("A paper")
    bench.compose()
    shutil.rmtree(bench.folder / "subscribers")
    with bench.app(THURSDAY) as app, pytest.raises(errors.StoreError, match="restore it"):
        app.issues()
    assert not (bench.folder / "subscribers" / "newsletter.db").exists()


def test_password_of_a_source_is_never_shown(bench, capsys):
    bench.settings(rules='sources = ["http://me:feedpw@127.0.0.1:9/feed.xml"]')
    for command in (
        ["collect"],
        ["collect", "--all", "--json"],
        ["sources", "list"],
        ["sources", "list", "--json"],
        ["doctor"],
    ):
        cli.run(["-C", str(bench.folder), *command])
        out, err = capsys.readouterr()
        assert "feedpw" not in out + err, command
        assert command == ["doctor"] or "127.0.0.1:9" in out + err
