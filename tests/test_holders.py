"""A topic that vanishes from the settings while people have it: nothing goes out, and two commands put it right."""

import json

import pytest
import sqlmodel
from conftest import ISSUE, THURSDAY, WEDNESDAY

from newsletter import cli, errors
from newsletter.app import people
from newsletter.store import tables

AGENTS = 'slug = "rl-agents"'


@pytest.fixture
def run(bench, capsys):
    """Run a command in the workspace; returns (exit code, stdout, stderr)."""

    def command(*args):
        capsys.readouterr()
        code = cli.run(["-C", str(bench.folder), "--now", WEDNESDAY.isoformat(), *map(str, args)])
        return code, *capsys.readouterr()

    return command


def renamed(bench, new="agents"):
    """The settings call rl-agents otherwise."""
    path = bench.folder / "newsletter.toml"
    path.write_text(path.read_text("utf-8").replace(AGENTS, f'slug = "{new}"'), encoding="utf-8")


def holders(bench):
    with bench.app() as app:
        return {person.email: (person.state.value, person.topics) for person in people.listing(app)}


def consents(bench):
    with bench.app() as app, app.store.read() as session:
        rows = session.exec(sqlmodel.select(tables.Consent).order_by(tables.Consent.id)).all()
        return [(row.what, row.topic, row.how) for row in rows if row.what != "imported"]


def test_compose_stops_and_names_both_ways_on(bench, run):
    bench.entries("one", topics=("robots",))
    bench.people("anna@example.org", "bo@example.org")
    renamed(bench)
    with pytest.raises(errors.ConfigError) as told:
        bench.compose()
    assert "2 subscribers have the topic weekly/rl-agents" in str(told.value)
    assert "`newsletter topics rename weekly/rl-agents NEW`" in str(told.value)
    assert "`newsletter topics retire weekly/rl-agents`" in str(told.value)
    code, _, err = run("compose")
    assert (code, "topics rename" in err) == (2, True)
    assert not bench.draft().exists()


def test_check_and_doctor_call_it_an_error(bench, run):
    bench.entries("one", topics=("robots",))
    bench.people("anna@example.org")
    bench.compose()
    renamed(bench)
    code, out, _ = run("check", ISSUE, "--json")
    assert code == 1
    assert [each["code"] for each in json.loads(out)["errors"]] == ["topic-gone"]
    lines = [line for line in run("doctor")[1].splitlines() if "topics" in line]
    assert len(lines) == 1
    assert lines[0].startswith("FAIL")
    assert "topics retire weekly/rl-agents" in lines[0]


def test_rename_takes_people_and_waiting_entries_along_and_does_nothing_the_second_time(bench, run):
    bench.entries("one")
    bench.people("anna@example.org", "bo@example.org")
    renamed(bench)
    code, out, _ = run("topics", "rename", "weekly/rl-agents", "agents", "--dry-run", "--json")
    assert code == 0
    counts = {
        "old": "weekly/rl-agents",
        "new": "weekly/agents",
        "moved": 2,
        "had": 0,
        "left": 0,
        "entries": 1,
        "without_topic": 0,
    }
    assert json.loads(out) == {**counts, "dry_run": True}
    assert holders(bench)["anna@example.org"] == ("active", ("weekly/rl-agents",))
    assert run("topics", "rename", "rl-agents", "agents")[0] == 0
    assert holders(bench) == {
        "anna@example.org": ("active", ("weekly/agents",)),
        "bo@example.org": ("active", ("weekly/agents",)),
    }
    assert consents(bench) == [("renamed", "agents", "topics rename rl-agents agents")] * 2
    again = json.loads(run("topics", "rename", "weekly/rl-agents", "weekly/agents", "--json")[1])
    assert (again["moved"], again["entries"]) == (0, 0)
    assert len(consents(bench)) == 2
    assert bench.compose().topics == {"agents": 1}


def test_rename_undoes_nobodys_no(bench, run):
    bench.people("left-new@example.org", "has-both@example.org", topics=("rl-agents", "robots"))
    bench.people("left-old@example.org", "only-old@example.org")
    with bench.app() as app:
        people.unsubscribe(app, "left-new@example.org", topics=["robots"])
        people.unsubscribe(app, "left-old@example.org")
    path = bench.folder / "newsletter.toml"
    text = path.read_text("utf-8")
    path.write_text(text[: text.index("[[newsletter.topic]]")] + text[text.rindex("[[newsletter.topic]]") :])
    out = json.loads(run("topics", "rename", "rl-agents", "robots", "--json")[1])
    assert (out["moved"], out["had"], out["left"], out["without_topic"]) == (1, 1, 1, 1)
    assert holders(bench) == {
        "left-new@example.org": ("unsubscribed", ()),
        "has-both@example.org": ("active", ("weekly/robots",)),
        "left-old@example.org": ("unsubscribed", ()),
        "only-old@example.org": ("active", ("weekly/robots",)),
    }
    with bench.app() as app:
        assert "weekly/rl-agents" not in [t for p in people.listing(app) for t in p.topics]


def test_retire_ends_it_with_a_proof_and_says_who_has_nothing_left(bench, run):
    bench.people("both@example.org", topics=("rl-agents", "robots"))
    bench.people("one@example.org")
    renamed(bench)
    foretold = json.loads(run("topics", "retire", "rl-agents", "--dry-run", "--json")[1])
    assert foretold == {"topic": "weekly/rl-agents", "dry_run": True, "ended": 2, "without_topic": 1}
    assert holders(bench)["one@example.org"] == ("active", ("weekly/rl-agents",))
    code, _, err = run("topics", "retire", "rl-agents")
    assert code == 0
    assert err.splitlines() == [
        "2 subscription(s) to weekly/rl-agents have ended",
        "1 of these people have no other topic: they are unsubscribed",
    ]
    assert holders(bench) == {
        "both@example.org": ("active", ("weekly/robots",)),
        "one@example.org": ("unsubscribed", ()),
    }
    assert consents(bench) == [("retired", "rl-agents", "topic retired")] * 2
    assert json.loads(run("topics", "retire", "weekly/rl-agents", "--json")[1])["ended"] == 0
    assert len(consents(bench)) == 2
    bench.entries("one", topics=("robots",))
    assert bench.compose().issue == ISSUE


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("rename", "rl-agents", "robots"), "still in newsletter.toml"),
        (("retire", "weekly/robots"), "still in newsletter.toml"),
        (("rename", "rl-agents", "nope"), "no topic 'nope'"),
        (("rename", "monthly/city", "weekly/robots"), "two newsletters"),
    ],
)
def test_what_makes_no_sense_is_refused(run, args, why):
    code, out, err = run("topics", *args)
    assert (code in (1, 2), out) == (True, "")
    assert why in err


def test_while_an_approved_issue_knows_the_old_slug_nothing_is_renamed(bench, run):
    bench.entries("one")
    bench.people("anna@example.org")
    bench.compose()
    bench.approve()
    renamed(bench)
    code, _, err = run("topics", "rename", "rl-agents", "agents")
    assert code == 1
    assert f"{ISSUE} is approved" in err
    with bench.app(THURSDAY) as app:
        assert app.audience(ISSUE) == {"rl-agents": 1}
