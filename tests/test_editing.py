"""Check, approve, render: what is frozen is what is sent, whatever changes after."""

import shutil

import pytest
from conftest import ISSUE, THURSDAY, WEDNESDAY

from newsletter import app as wiring
from newsletter import errors


@pytest.fixture
def drafted(bench):
    """A draft of two topics, and two readers."""
    bench.people("ada@example.org", topics=("rl-agents", "robots"))
    bench.people("ben@example.org", topics=("robots",))
    bench.entries("one", "two")
    bench.entries("robot", topics=("robots",))
    bench.compose()
    return bench


def rendered(bench, **options):
    with bench.app() as app:
        made, html, text = app.render(ISSUE, **options)
        return made.octets, html, text


def send(bench, **options):
    with bench.app() as app:
        return app.send(ISSUE, **options)


def test_check_looks_at_every_edition(drafted):
    with drafted.app() as app:
        report = app.check(ISSUE)
    assert report.ok
    assert sorted(report.size) == ["rl-agents,robots", "robots"]
    assert all(size > 1000 for size in report.size.values())


def test_check_of_an_issue_that_nobody_would_get_warns(bench):
    bench.entries("one")
    bench.compose()
    with bench.app() as app:
        report = app.check(ISSUE)
    assert report.ok
    assert "audience-empty" in [finding.code for finding in report.warnings]


def test_approval_freezes_the_draft_and_the_templates(drafted):
    report = drafted.approve()
    assert (report.state, report.entries, report.dropped) == ("approved", 3, 0)
    assert report.audience == {"rl-agents,robots": 1, "robots": 1}
    before = rendered(drafted)[1:]
    drafted.edit("About one.", "Other words.")
    (drafted.folder / "templates/issue.txt").write_text("Nothing of it.", encoding="utf-8")
    drafted.settings(more='reply_to = "other@example.org"')
    assert rendered(drafted)[1:] == before
    drafted.draft().unlink()
    assert rendered(drafted)[1:] == before
    assert "Other words." not in before[0]


def test_sending_a_draft_that_changed_is_refused_and_both_ways_on_are_named(drafted):
    drafted.approve()
    drafted.edit("About one.", "Other words.")
    with pytest.raises(errors.StateError) as caught:
        send(drafted)
    said = str(caught.value)
    assert "-About one." in said
    assert "+Other words." in said
    assert f"newsletter unapprove {ISSUE}, then newsletter approve {ISSUE}" in said
    assert f"newsletter send {ISSUE} --frozen" in said
    with drafted.app() as app:
        assert app.status(ISSUE).state == "approved"


@pytest.mark.parametrize("change", ["nothing", "windows", "missing", "frozen"])
def test_sending_goes_on_to_the_server_when_the_draft_is_what_was_approved(drafted, change):
    drafted.approve()
    text = drafted.text()
    if change == "windows":
        drafted.draft().write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    elif change == "missing":
        drafted.draft().unlink()
    elif change == "frozen":
        drafted.edit("About one.", "Other words.")
    with pytest.raises(errors.ServerError):  # nobody listens there: before that nothing was refused
        send(drafted, frozen=change == "frozen")


def test_sending_a_draft_says_to_approve_it(drafted):
    with pytest.raises(errors.StateError, match=f"newsletter approve {ISSUE}"):
        send(drafted)


def test_errors_stop_approval(drafted):
    drafted.edit("About one.", "![](https://a.org/x.png) [here](http://localhost/x) " + "word " * 30_000)
    with drafted.app() as app:
        report = app.check(ISSUE)
        assert not report.ok
        with pytest.raises(errors.CheckError) as caught:
            app.approve(ISSUE, by="t")
        assert app.issues()[0].state == "draft"
    assert f"{ISSUE} has {len(report.errors)} error(s)" in str(caught.value)


def test_issue_of_which_nothing_is_left_is_refused(drafted):
    drafted.draft().write_text(drafted.text().partition("## ")[0], encoding="utf-8")
    with drafted.app() as app:
        assert [finding.code for finding in app.check(ISSUE).errors] == ["issue-empty"]
        with pytest.raises(errors.CheckError):
            app.approve(ISSUE, by="t")


def test_broken_draft_is_named_with_its_line(drafted):
    drafted.edit("{#robots}", "{#cats}")
    with drafted.app() as app, pytest.raises(errors.DraftError, match=r"2026-09-11\.md:\d+: there is no topic 'cats'"):
        app.approve(ISSUE, by="t")


def test_check_reports_every_fault_of_a_broken_draft(drafted):
    drafted.edit("{#robots}", "{#cats}")
    drafted.edit("{#rl-agents}", "{#dogs}")
    with drafted.app() as app:
        report = app.check(ISSUE)
    assert (report.ok, report.size) == (False, {})
    lines = [i for i, line in enumerate(drafted.text().splitlines(), 1) if "{#dogs}" in line or "{#cats}" in line]
    assert [(found.code, found.where) for found in report.errors] == [
        ("draft", f"issues/{ISSUE}.md:{line}") for line in lines
    ]


def test_check_reports_a_broken_template(drafted):
    (drafted.folder / "templates/issue.txt").write_text("{{ never closed", encoding="utf-8")
    with drafted.app() as app:
        report = app.check(ISSUE)
    assert not report.ok
    assert [found.code for found in report.errors] == ["template"]


def test_only_a_draft_is_approved_and_only_what_is_approved_is_thawed(drafted):
    with drafted.app() as app, pytest.raises(errors.StateError, match="only an approved issue"):
        app.unapprove(ISSUE)
    drafted.approve()
    with pytest.raises(errors.StateError, match="only a draft can be approved"):
        drafted.approve()


def test_thawed_issue_is_its_file_again(drafted):
    first = drafted.approve().hash
    drafted.edit("About one.", "Other words.")
    with drafted.app() as app:
        app.unapprove(ISSUE)
    assert "Other words." in rendered(drafted)[1]
    assert drafted.approve().hash != first
    assert "Other words." in rendered(drafted)[1]


def test_same_draft_is_frozen_as_the_same_issue(drafted):
    first = drafted.approve().hash
    with drafted.app() as app:
        app.unapprove(ISSUE)
    assert drafted.approve().hash == first


# -- rendering -----------------------------------------------------------------------------------------------------


def test_edition_of_some_topics_has_these_alone(drafted):
    octets, html, text = rendered(drafted, topics=["robots"])
    assert "About robot." in html
    assert "About robot." in text
    assert "About one." not in html + text
    assert b"To: " in octets


def test_subscriber_gets_the_edition_of_their_topics(drafted):
    assert "About one." in rendered(drafted, reader="ada@example.org")[1]
    assert "About one." not in rendered(drafted, reader="ben@example.org")[1]
    with drafted.app() as app, pytest.raises(errors.NotFound, match="is no subscriber"):
        app.render(ISSUE, reader="eve@example.org")


def test_unknown_topic_is_named(drafted):
    with drafted.app() as app, pytest.raises(errors.NotFound, match="it has rl-agents, robots"):
        app.render(ISSUE, topics=["cats"])


def test_draft_is_checked_and_rendered_in_a_clone_without_a_database(drafted, tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(drafted.folder, clone, ignore=shutil.ignore_patterns("*.db*"))
    app = wiring.open_app(clone, THURSDAY)
    try:
        assert app.check(ISSUE).ok
        assert "About one." in app.render(ISSUE)[1]
        with pytest.raises(errors.NotFound, match="no database here"):
            app.render(ISSUE, reader="ada@example.org")
    finally:
        app.close()
    assert not (clone / "subscribers/newsletter.db").exists()


def test_same_instant_renders_the_same_bytes(drafted):
    assert rendered(drafted)[0] == rendered(drafted)[0]


def test_unknown_issue_is_named(drafted):
    with drafted.app() as app:
        for verb in (app.check, app.render, app.unapprove, app.status, app.cancel):
            with pytest.raises(errors.NotFound, match="there is no issue weekly/2026-01-01"):
                verb("weekly/2026-01-01")
        with pytest.raises(errors.NotFound, match="no newsletter 'daily'"):
            app.check("daily/2026-01-01")


def test_draft_that_cannot_be_read_is_named(drafted):
    drafted.draft().unlink()
    with drafted.app() as app, pytest.raises(errors.NotFound, match="`newsletter compose` writes it again"):
        app.check(ISSUE)
    drafted.draft().mkdir()
    with drafted.app() as app, pytest.raises(errors.NotFound, match="cannot be read: Is a directory"):
        app.check(ISSUE)
    with pytest.raises(errors.NotFound, match="cannot be read: Is a directory"):
        drafted.compose(refresh=True)


def test_reader_who_came_after_approval_gets_an_edition_of_what_was_frozen(drafted):
    drafted.approve()
    drafted.people("eve@example.org", now=WEDNESDAY)
    drafted.edit("About one.", "Other words.")
    html = rendered(drafted, reader="eve@example.org")[1]
    assert "About one." in html
    assert "About robot." not in html
