"""Composing on a real workspace: nothing twice, nothing lost, whatever the hour and whatever was interrupted."""

import dataclasses
import datetime as dt

import pytest
from conftest import ISSUE, THURSDAY, WEDNESDAY

from newsletter import errors, issuefile
from newsletter.app import composing

FRIDAY = THURSDAY + dt.timedelta(hours=21)  # 09:00 in London
WEEK = dt.timedelta(weeks=1)
NEXT = "weekly/2026-09-18"
DAILY = """
[[newsletter]]
slug = "daily"
title = "Every day"
from = "News <news@example.org>"
timezone = "Europe/London"
send = "daily 07:00"

[[newsletter.topic]]
slug = "rl-agents"
title = "Agents"
"""


def titles(text):
    return [block.title for section in issuefile.read(text, "x").sections for block in section.blocks]


def test_compose_writes_a_draft_of_what_waits(bench):
    bench.entries("one", "two")
    bench.entries("three", topics=("robots",))
    report = bench.compose()
    assert dataclasses.asdict(report) == {
        "issue": ISSUE, "path": "issues/weekly/2026-09-11.md", "state": "draft", "topics": {"rl-agents": 2, "robots": 1},
        "entries": 3, "reason": None, "held": 0, "dropped": 0, "merged": 0, "added": 0, "stays": {}, "silent": [],
        "extracted": {}, "older": {},
    }  # fmt: skip
    assert titles(bench.text()) == ["one", "two", "three"]
    assert bench.states() == dict.fromkeys(["one", "two", "three"], ("in_issue", ISSUE))


def test_entry_of_two_topics_stands_once(bench):
    bench.entries("both", topics=("robots", "rl-agents"))
    assert bench.compose().topics == {"rl-agents": 1}
    assert titles(bench.text()) == ["both"]


def test_nothing_new_is_no_issue(bench):
    report = bench.compose()
    assert (report.issue, report.reason) == (None, "nothing new for weekly")
    assert not (bench.folder / "issues/weekly").exists()


def test_import_and_compose_at_the_same_pretended_instant(bench):
    bench.entries("one", now=THURSDAY)
    assert bench.compose(THURSDAY).entries == 1


def test_what_is_first_seen_after_the_cutoff_goes_into_the_next_issue(bench):
    bench.entries("early")
    bench.compose()
    bench.entries({"title": "late", "summary": "x", "published": "2026-09-01"}, now=THURSDAY + dt.timedelta(minutes=1))
    assert bench.compose(THURSDAY + dt.timedelta(hours=1)).issue is None
    assert bench.compose(THURSDAY + WEEK).issue == NEXT
    assert bench.states() == {"early": ("in_issue", ISSUE), "late": ("in_issue", NEXT)}
    assert "1 Sept 2026" in bench.text(NEXT)


def test_clock_that_goes_back_takes_nothing_that_was_not_seen_yet(bench):
    bench.entries("one", now=THURSDAY)
    assert bench.compose(WEDNESDAY).issue is None
    assert bench.states() == {"one": ("waiting", None)}


def test_compose_again_leaves_the_draft_alone_and_says_so(bench):
    bench.entries("one")
    bench.compose()
    bench.draft().write_text(bench.text() + "\nMine.\n", encoding="utf-8")
    bench.entries("two")
    before = bench.text()
    report = bench.compose()
    assert (report.issue, report.path) == (None, None)
    assert report.reason == f"{ISSUE} stands already (draft); --refresh adds what came since"
    assert bench.text() == before
    assert bench.states()["two"] == ("waiting", None)


def test_late_compose_belongs_to_the_next_sending(bench):
    bench.entries("one")
    assert bench.compose(FRIDAY).issue == ISSUE
    bench.entries("two", now=FRIDAY)
    assert bench.compose(FRIDAY + dt.timedelta(minutes=1)).issue == NEXT


def test_missing_draft_is_written_again_the_same(bench):
    """As after a kill between the commit and the file."""
    bench.settings(more="max_entries = 2", rules='exclude = ["secret"]')
    bench.entries("one", "two", "three", "secret four")
    bench.entries("secret five", topics=("rl-agents", "robots"))
    bench.compose()
    before = bench.text()
    bench.draft().unlink()
    report = bench.compose()
    assert bench.text() == before
    assert report.reason == (
        f"{ISSUE} stands already (draft); its file was missing and is written again; --refresh adds what came since"
    )
    assert bench.states()["secret four"] == ("dropped", ISSUE)


def test_draft_written_again_is_still_ours_to_refresh(bench):
    bench.entries({"title": "one", "url": "https://a.org/1", "summary": "Old words."})
    bench.compose()
    bench.draft().unlink()
    bench.entries({"title": "one", "url": "https://a.org/1", "summary": "New words."}, now=THURSDAY)
    bench.compose()
    bench.entries({"title": "one", "url": "https://a.org/1", "summary": "Newest words."}, now=THURSDAY)
    bench.compose(refresh=True)
    assert "Newest words." in bench.text()


def test_draft_that_cannot_be_written_loses_nothing(bench):
    bench.entries("one")
    (bench.folder / "issues/weekly").write_text("in the way", encoding="utf-8")
    with pytest.raises(errors.StoreError, match="cannot be written"):
        bench.compose()
    (bench.folder / "issues/weekly").unlink()
    bench.compose()
    assert titles(bench.text()) == ["one"]
    assert bench.states() == {"one": ("in_issue", ISSUE)}


def test_writing_a_draft_leaves_no_other_file(bench):
    bench.entries("one")
    bench.compose()
    assert [path.name for path in bench.draft().parent.iterdir()] == ["2026-09-11.md"]


def test_file_that_no_issue_knows_is_never_overwritten(bench):
    bench.entries("one")
    bench.draft().parent.mkdir()
    bench.draft().write_text("mine", encoding="utf-8")
    with pytest.raises(errors.StateError, match="move the file away"):
        bench.compose()
    assert bench.text() == "mine"
    assert bench.states() == {"one": ("waiting", None)}


def test_other_compose_that_was_faster_is_no_fault(bench):
    bench.entries("one")
    with bench.app() as slow, slow.store.read():
        newsletter = slow.settings.newsletter_of("weekly")
        bench.compose()
        bench.draft().unlink()
        report = composing.compose(slow, newsletter, refresh=False, special=None)
    assert report.issue is None
    assert bench.states() == {"one": ("in_issue", ISSUE)}


# -- refresh -------------------------------------------------------------------------------------------------------


def test_refresh_adds_what_came_since_and_keeps_what_was_edited(bench):
    bench.entries("one", "two")
    bench.compose()
    bench.edit("About one.", "Better words.")
    bench.entries("three", "four", now=THURSDAY)
    bench.entries("robot", topics=("robots",), now=THURSDAY)
    report = bench.compose(refresh=True)
    assert (report.issue, report.added, report.entries) == (ISSUE, 3, 5)
    assert titles(bench.text()) == ["three", "four", "one", "two", "robot"]
    assert "Better words." in bench.text()
    assert "About one." not in bench.text()


def test_refresh_with_nothing_new_leaves_every_byte(bench):
    bench.entries("one")
    bench.compose()
    before = bench.draft().read_bytes()
    report = bench.compose(refresh=True)
    assert (report.issue, report.added, report.reason) == (ISSUE, 0, "nothing new")
    assert bench.draft().read_bytes() == before


def test_refresh_does_not_bring_back_what_was_cut(bench):
    bench.entries("one", "two")
    bench.compose()
    text = bench.text()
    bench.draft().write_text(text.partition("### [two]")[0], encoding="utf-8")
    bench.entries("three", now=THURSDAY)
    bench.compose(refresh=True)
    assert titles(bench.text()) == ["three", "one"]


def test_refresh_keeps_to_the_room_that_is_left_and_counts_the_rest(bench):
    bench.settings(more="max_entries = 3")
    bench.entries("one", "two", "three", "four")
    assert bench.compose().held == 1
    bench.draft().write_text(bench.text().partition("### [three]")[0], encoding="utf-8")
    bench.entries("five", "six", now=THURSDAY)
    report = bench.compose(refresh=True)
    assert (report.added, report.held) == (1, 2)
    assert dict(issuefile.read(bench.text(), "x").more) == {"rl-agents": 2}
    assert titles(bench.text()) == ["five", "one", "two"]
    assert bench.states()["six"] == ("held", ISSUE)


def test_refresh_takes_in_what_a_larger_cap_has_room_for(bench):
    bench.settings(more="max_entries = 1")
    bench.entries("one", "two", "three")
    assert bench.compose().held == 2
    bench.settings(more="max_entries = 2")
    report = bench.compose(refresh=True)
    assert (report.added, report.held) == (1, 1)
    assert titles(bench.text()) == ["one", "two"]
    assert dict(issuefile.read(bench.text(), "x").more) == {"rl-agents": 1}
    bench.settings()
    assert bench.compose(refresh=True).added == 1
    assert dict(issuefile.read(bench.text(), "x").more) == {}
    assert bench.states()["three"] == ("in_issue", ISSUE)


def test_compose_names_older_drafts_and_what_they_hold(bench):
    bench.entries("one", "two")
    bench.compose()
    bench.entries("three", now=THURSDAY)
    report = bench.compose(THURSDAY + dt.timedelta(days=7))
    assert (report.issue, report.older) == ("weekly/2026-09-18", {ISSUE: 2})
    bench.approve()
    assert bench.compose(THURSDAY + dt.timedelta(days=7)).older == {}


# -- an editor brings entries back ---------------------------------------------------------------------------------


def _refs(bench):
    with bench.app() as app:
        return {row["title"]: row["id"] for row in app.entries()}


def test_entry_that_was_cut_can_be_brought_back(bench):
    bench.people("a@example.org")
    bench.entries("one", "two")
    bench.compose()
    bench.draft().write_text(bench.text().partition("### [two]")[0], encoding="utf-8")
    bench.approve()
    with bench.app() as app:
        assert app.restore_entries([_refs(bench)["two"]]) == (1, [])
    assert bench.states()["two"] == ("waiting", None)
    report = bench.compose(THURSDAY + dt.timedelta(days=7))
    assert titles(bench.text(report.issue)) == ["two"]
    assert bench.states()["two"] == ("in_issue", "weekly/2026-09-18")


def test_block_that_was_cut_from_a_draft_can_be_brought_back_before_the_approval(bench):
    bench.entries("one", "two")
    bench.compose()
    bench.draft().write_text(bench.text().partition("### [two]")[0], encoding="utf-8")
    refs = _refs(bench)
    with bench.app() as app:
        assert app.restore_entries([refs["one"], refs["two"]]) == (1, [refs["one"]])
    assert titles(bench.text()) == ["one"]
    bench.compose(refresh=True)
    assert sorted(titles(bench.text())) == ["one", "two"]


def test_what_is_brought_back_passes_rules_and_caps(bench):
    bench.settings(more="max_entries = 1", rules='include = ["tram"]')
    bench.entries("tram one", "tram two", "ferry")
    bench.compose()
    refs = _refs(bench)
    with bench.app() as app:
        assert app.restore_entries([refs["ferry"], refs["tram two"]], dry_run=True) == (2, [])
    assert bench.states()["ferry"] == ("dropped", ISSUE)
    with bench.app() as app:
        assert app.restore_entries([refs["ferry"], refs["tram two"], refs["tram one"], "e-nothing"]) == (
            2,
            [refs["tram one"], "e-nothing"],
        )
    bench.compose(refresh=True)
    assert sorted(titles(bench.text())) == ["ferry", "tram one", "tram two"]
    bench.compose(refresh=True)  # and it stays
    assert sorted(titles(bench.text())) == ["ferry", "tram one", "tram two"]
    with bench.app() as app:
        app.cancel(ISSUE)
    bench.compose()
    assert sorted(titles(bench.text())) == ["ferry", "tram one", "tram two"]


def test_thawed_entries_still_say_why_they_belong(bench):
    bench.people("a@example.org")
    bench.settings(rules='include = ["tram"]')
    bench.entries("tram one", "tram two")
    bench.compose()
    with bench.app() as app:
        before = {row["title"]: row["why"] for row in app.entries()}
    text = bench.text()
    bench.draft().write_text(text.partition("### [tram two]")[0], encoding="utf-8")
    bench.approve()
    with bench.app() as app:
        cut = {row["title"]: row["why"] for row in app.entries()}["tram two"]
        assert cut == f"cut from {ISSUE}; {before['tram two']}"
        app.unapprove(ISSUE)
        assert {row["title"]: row["why"] for row in app.entries()} == before


def test_refresh_of_a_broken_draft_is_refused_and_claims_nothing(bench):
    bench.entries("one")
    bench.compose()
    bench.edit("{#rl-agents}", "")
    bench.entries("two", now=THURSDAY)
    with pytest.raises(errors.DraftError, match=r"^issues/weekly/2026-09-11\.md:\d+: "):
        bench.compose(refresh=True)
    assert bench.states()["two"] == ("waiting", None)


def test_refresh_of_an_approved_issue_leaves_it_alone(bench):
    bench.entries("one")
    bench.compose()
    bench.approve()
    bench.entries("two", now=THURSDAY)
    assert bench.compose(refresh=True).reason == f"{ISSUE} stands already (approved)"


# -- what is chosen ------------------------------------------------------------------------------------------------


def test_what_does_not_fit_is_held_named_and_never_offered_again(bench):
    bench.settings(more="max_entries = 2")
    bench.entries("one", "two", "three")
    assert bench.compose().held == 1
    assert dict(issuefile.read(bench.text(), "x").more) == {"rl-agents": 1}
    assert bench.states()["three"] == ("held", ISSUE)
    assert bench.compose(THURSDAY + WEEK).issue is None


def test_rules_choose_and_say_why(bench):
    bench.settings(rules='include = ["agent"]\nexclude = ["survey"]')
    bench.entries("an agent", "a survey of agents", "a cat")
    report = bench.compose()
    assert (report.entries, report.dropped) == (1, 2)
    with bench.app() as app:
        whys = {row["title"]: row["why"] for row in app.entries(state="dropped")}
    assert whys == {
        "a survey of agents": "rl-agents: excluded: 'survey'",
        "a cat": "rl-agents: matched no include rule",
    }


def test_entry_that_one_topic_excludes_stands_in_the_other_also_once_approved(bench):
    bench.settings(rules='exclude = ["both"]')
    bench.entries("both", topics=("rl-agents", "robots"))
    assert bench.compose().topics == {"robots": 1}
    bench.draft().unlink()
    bench.compose()
    assert [section.slug for section in issuefile.read(bench.text(), "x").sections] == ["robots"]
    bench.approve()
    with bench.app() as app:
        assert app.render(ISSUE, topics=["robots"])
        with pytest.raises(errors.NotFound):
            app.render(ISSUE, topics=["rl-agents"])


def test_nothing_that_belongs_is_no_issue_and_claims_nothing(bench):
    bench.settings(rules='include = ["agent"]')
    bench.entries("a cat")
    assert bench.compose().reason == "nothing new for weekly (1 match no rule)"
    assert bench.states() == {"a cat": ("waiting", None)}


def test_dropped_entry_is_not_offered(bench):
    bench.entries("one", "two")
    with bench.app() as app:
        ref = next(row["id"] for row in app.entries() if row["title"] == "one")
        assert app.drop_entries([ref, "e-0", ref], "a press release") == (2, ["e-0"])
    bench.compose()
    assert titles(bench.text()) == ["two"]
    with bench.app() as app:
        taken = next(row["id"] for row in app.entries() if row["title"] == "two")
        assert app.drop_entries([taken], "x") == (0, [taken])


def test_entry_of_another_newsletter_cannot_be_dropped_here(bench):
    bench.settings(tail=DAILY)
    bench.entries("one", newsletter="daily")
    with bench.app() as app:
        (row,) = app.entries(newsletter="daily")
        assert app.drop_entries([row["id"]], "x", "weekly") == (0, [row["id"]])


# -- special issues, several newsletters, cancelling ---------------------------------------------------------------


def test_old_count_goes_on_and_holds_for_the_first_issue_alone(bench):
    bench.settings(more="first_number = 213")
    bench.entries("zero")
    assert bench.compose(special="launch").issue == f"{ISSUE}-launch"
    bench.entries("one")
    bench.compose()
    assert "number = 213\n" in bench.text()
    bench.settings(more="first_number = 500")
    bench.entries("two", now=FRIDAY)
    bench.compose(THURSDAY + WEEK)
    assert "number = 214\n" in bench.text(NEXT)
    with bench.app() as app:
        assert {row.issue: row.number for row in app.issues()} == {ISSUE: 213, NEXT: 214, f"{ISSUE}-launch": None}


def test_special_issue_has_its_slug_and_no_number(bench):
    bench.entries("one")
    assert bench.compose(special="launch").issue == f"{ISSUE}-launch"
    bench.entries("two")
    assert bench.compose().issue == ISSUE
    with bench.app() as app:
        assert {row.issue: row.number for row in app.issues()} == {f"{ISSUE}-launch": None, ISSUE: 1}


def test_each_newsletter_claims_for_itself(bench):
    bench.settings(tail=DAILY)
    bench.entries("one", newsletter="weekly")
    bench.entries("one", newsletter="daily")
    assert bench.compose(newsletter="weekly").issue == ISSUE
    assert bench.compose(newsletter="daily").issue == "daily/2026-09-11"
    assert bench.states("weekly") == {"one": ("in_issue", ISSUE)}
    assert bench.states("daily") == {"one": ("in_issue", "daily/2026-09-11")}


def test_several_newsletters_and_none_named_is_a_question(bench):
    bench.settings(tail=DAILY)
    with pytest.raises(errors.UsageError, match="say which: weekly, daily"):
        bench.compose()


def test_cancelled_issue_gives_its_entries_back_and_frees_its_period(bench):
    bench.settings(more="max_entries = 1")
    bench.entries("one", "two")
    bench.compose()
    with bench.app() as app:
        assert app.cancel(ISSUE, dry_run=True) == 2
    assert bench.states()["one"] == ("in_issue", ISSUE)
    bench.edit("About one.", "Mine.")
    with bench.app() as app:
        assert app.cancel(ISSUE) == 2
    assert bench.states() == dict.fromkeys(["one", "two"], ("waiting", None))
    assert not bench.draft().exists()
    bench.settings()
    assert bench.compose().entries == 2
    with bench.app() as app:
        app.cancel(ISSUE)
    kept = sorted(path.name for path in bench.draft().parent.iterdir())
    assert kept == ["2026-09-11.cancelled-2.md", "2026-09-11.cancelled.md"]
    assert "Mine." in (bench.draft().parent / "2026-09-11.cancelled.md").read_text("utf-8")


def test_approved_issue_can_be_cancelled_and_composed_anew(bench):
    bench.entries("one")
    bench.compose()
    bench.approve()
    with bench.app() as app:
        app.cancel(ISSUE)
        with pytest.raises(errors.StateError, match="is cancelled"):
            app.cancel(ISSUE)
        with pytest.raises(errors.StateError, match="is cancelled"):
            app.check(ISSUE)
    assert bench.compose().issue == ISSUE
    with bench.app() as app:
        assert [(row.state, row.number) for row in app.issues()] == [("draft", 1)]


def test_schedule_names_each_issue_by_its_sending(bench):
    with bench.app() as app:
        events = app.schedule(None, THURSDAY, THURSDAY + WEEK + dt.timedelta(days=1))
    assert [(event.kind, event.at.isoformat(), event.period) for event in events] == [
        ("compose", "2026-09-10T12:00:00+01:00", "2026-09-11"),
        ("send", "2026-09-11T09:00:00+01:00", "2026-09-11"),
        ("compose", "2026-09-17T12:00:00+01:00", "2026-09-18"),
        ("send", "2026-09-18T09:00:00+01:00", "2026-09-18"),
    ]
