"""Which entry goes into which issue: in every order of events each is in exactly one place."""

import datetime as dt
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from conftest import ISSUE, THURSDAY, WEDNESDAY, Bench
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newsletter import errors, issuefile
from newsletter.store import tables

NEXT = "weekly/2026-09-18"
WEEK = dt.timedelta(weeks=1)


def cut(bench, title, issue=ISSUE):
    draft = issuefile.read(bench.text(issue), "x")
    sections = [
        (section.raw, [block.raw for block in section.blocks if block.title != title]) for section in draft.sections
    ]
    text = draft.raw + "".join(raw + "".join(blocks) for raw, blocks in sections)
    bench.draft(issue).write_text(text, encoding="utf-8")


def test_an_entry_is_claimed_once_by_the_databases_own_word(bench):
    bench.entries("one")
    bench.compose()
    with bench.app() as app, pytest.raises(sa.exc.IntegrityError), app.store.write() as session:
        session.add(tables.Claim(newsletter="weekly", entry_id=1, state="held", at=THURSDAY))


def test_cut_entry_is_dropped_at_approval_and_never_offered_again(bench):
    bench.entries("one", "two")
    bench.compose()
    cut(bench, "two")
    assert bench.states()["two"] == ("in_issue", ISSUE)
    report = bench.approve()
    assert (report.entries, report.dropped) == (1, 1)
    assert bench.states()["two"] == ("dropped", ISSUE)
    with bench.app() as app:
        assert [row["why"] for row in app.entries(state="dropped")] == [f"cut from {ISSUE}; rl-agents: score 0.0"]
    bench.entries("two", now=THURSDAY + WEEK)
    assert bench.compose(THURSDAY + WEEK).issue is None


def test_what_the_rules_dropped_is_not_counted_as_cut(bench):
    bench.settings(rules='exclude = ["cat"]')
    bench.entries("one", "a cat")
    bench.compose()
    report = bench.approve()
    assert (report.entries, report.dropped) == (1, 0)


def test_unapproved_issue_has_its_cut_entries_back_to_choose_again(bench):
    bench.settings(rules='exclude = ["cat"]')
    bench.entries("one", "two", "a cat")
    bench.compose()
    whole = bench.text()
    cut(bench, "two")
    bench.approve()
    with bench.app() as app:
        app.unapprove(ISSUE)
    assert bench.states()["two"] == ("in_issue", ISSUE)
    assert bench.states()["a cat"] == ("dropped", ISSUE)
    bench.draft().write_text(whole, encoding="utf-8")
    assert bench.approve().entries == 2
    assert bench.states()["two"] == ("in_issue", ISSUE)


def test_entry_moved_in_from_another_issue_is_refused(bench):
    bench.entries("one")
    bench.compose()
    bench.entries("two", now=THURSDAY)
    bench.compose(THURSDAY + WEEK)
    block = "### [two]" + bench.text(NEXT).partition("### [two]")[2]
    bench.draft().write_text(bench.text() + "\n" + block, encoding="utf-8")
    with pytest.raises(errors.DraftError, match="is no entry of this issue; take the id away"):
        bench.approve()


def test_entry_changes_until_approval_and_never_after(bench):
    def row(words):
        return {"title": "one", "url": "https://a.org/1", "summary": words}

    bench.entries(row("First."))
    bench.compose()
    bench.entries(row("Second."), now=THURSDAY)
    bench.compose(refresh=True)
    assert "Second." in bench.text()
    bench.approve()
    assert bench.entries(row("Third."), now=THURSDAY).updated == 0
    with bench.app() as app:
        assert app.entries()[0]["summary"] == "Second."


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("import"), st.integers(0, 7)),
        st.tuples(st.just("compose"), st.booleans()),
        st.tuples(st.just("cut"), st.integers(0, 7)),
        st.tuples(st.sampled_from(["approve", "unapprove", "cancel", "lose", "week"]), st.none()),
    ),
    max_size=14,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_whatever_happens_each_entry_is_in_exactly_one_place(steps):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder) / "letter")
        bench.settings(more="max_entries = 3")
        now, seen = WEDNESDAY, set()
        for what, which in steps:
            now += dt.timedelta(hours=1)
            issues = _standing(bench)
            drafts = [issue for issue, state in issues if state == "draft" and bench.draft(issue).exists()]
            with bench.app(now) as app:
                if what == "import":
                    bench.entries(f"entry {which}", now=now)
                    seen.add(f"entry {which}")
                elif what == "compose":
                    app.compose(refresh=which)
                elif what == "cut" and drafts:
                    cut(bench, f"entry {which}", drafts[0])
                elif what == "approve" and drafts and issuefile.read(bench.text(drafts[0]), "x").sections:
                    try:
                        app.approve(drafts[0], by="t")
                    except errors.CheckError:
                        continue  # everything was cut
                elif what == "unapprove" and any(state == "approved" for _, state in issues):
                    app.unapprove(next(issue for issue, state in issues if state == "approved"))
                elif what == "cancel" and any(state in ("draft", "approved") for _, state in issues):
                    app.cancel(next(issue for issue, state in issues if state in ("draft", "approved")))
                elif what == "lose" and drafts:
                    bench.draft(drafts[0]).unlink()
                elif what == "week":
                    now += WEEK
            _each_once(bench, seen)


def _standing(bench):
    with bench.app() as app:
        return [(row.issue, row.state) for row in app.issues()]


def _each_once(bench, seen):
    with bench.app() as app:
        rows = app.entries()
        states = dict(_standing(bench))
    assert sorted(row["title"] for row in rows) == sorted(seen)
    found = []
    for issue, state in states.items():
        if state in ("draft", "approved") and bench.draft(issue).exists():
            parsed = issuefile.read(bench.text(issue), "x")
            found += [(block.title, issue) for section in parsed.sections for block in section.blocks]
    assert len({title for title, _ in found}) == len(found)
    where = {row["title"]: row["issue"] for row in rows if row["state"] == "in_issue"}
    for title, issue in found:
        assert where[title] == issue
    for row in rows:
        assert row["state"] in ("waiting", "in_issue", "held", "dropped")
        assert (row["issue"] is None) == (row["state"] == "waiting")
        assert row["state"] in ("waiting", "in_issue") or row["why"]
