"""`subscribers …`, from the command line to the database."""

from __future__ import annotations

import io
import json
import sys

import pytest

from newsletter import cli

TOML = """\
[[newsletter]]
slug = "weekly"
title = "News without the noise"
from = "news@example.org"
[[newsletter.topic]]
slug = "rl-agents"
title = "Agents"
"""
ROBOTS = '[[newsletter.topic]]\nslug = "robots"\ntitle = "Robots"\n'
MONTHLY = '[[newsletter]]\nslug = "monthly"\ntitle = "M"\nfrom = "m@example.org"\n' + ROBOTS


@pytest.fixture
def run(tmp_path, capsys):
    """Run `subscribers …` in a workspace; returns (exit code, stdout, stderr). `run.folder` is the workspace."""
    (tmp_path / "subscribers").mkdir()
    (tmp_path / "newsletter.toml").write_text(TOML)

    def command(*args):
        capsys.readouterr()
        code = cli.run(["-C", str(tmp_path), "--now", "2026-09-11T09:00:00+01:00", "subscribers", *map(str, args)])
        return code, *capsys.readouterr()

    command.folder = tmp_path
    return command


@pytest.fixture
def people(run):
    def write(text, name="people.csv"):
        path = run.folder / name
        path.write_text(text)
        return path

    return write


def listed(run, *args):
    return json.loads(run("list", "--json", *args)[1])["subscribers"]


def test_an_import_says_what_it_did_and_names_each_bad_row_with_file_and_line(run, people):
    path = people("email,name\nanna@example.org,Anna\nfoo@,Foo\nbo@example.org,Bo,extra\ncleo@example.org,\n")
    code, out, err = run("import", path, "--state", "active")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        f"{path}:3: 'foo@' is no address: nothing stands after the @",
        f"{path}:4: the row has 3 cells, the header 2: 'bo@example.org,Bo,extra'",
        "4 rows: 2 added, 2 rejected",
    ]
    code, out, _ = run("import", path, "--json")
    assert code == 1
    assert json.loads(out) == {
        "rows": 4,
        "added": 0,
        "updated": 0,
        "unchanged": 2,
        "suppressed": 0,
        "noted": 0,
        "without_topic": 0,
        "unmapped": {},
        "rejected": [
            {"line": 3, "value": "foo@", "reason": "'foo@' is no address: nothing stands after the @"},
            {
                "line": 4,
                "value": "bo@example.org,Bo,extra",
                "reason": "the row has 3 cells, the header 2: 'bo@example.org,Bo,extra'",
            },
        ],
    }
    anna = listed(run)[0]
    assert anna.pop("since").startswith("2026-09-11T08:00:00.")
    assert anna == {
        "email": "anna@example.org",
        "name": "Anna",
        "state": "active",
        "language": None,
        "topics": ["weekly/rl-agents"],
        "suppressed": None,
        "tags": [],
        "paused_until": None,
    }


def test_rows_left_out_on_purpose_are_no_fault(run, people):
    path = people("email\nanna@example.org\nbo@example.org\n")
    run("import", path, "--state", "active")
    assert run("unsubscribe", "ANNA@example.org")[::2] == (0, "ANNA@example.org has left weekly/rl-agents\n")
    code, _, err = run("import", path, "--state", "active")
    assert (code, err) == (0, "2 rows: 1 unchanged, 1 left out on purpose (they left, or are suppressed)\n")
    assert [person["state"] for person in listed(run)] == ["unsubscribed", "active"]


def test_a_dry_run_changes_nothing(run, people):
    path = people("email\nanna@example.org\n")
    assert run("import", path, "--dry-run")[2].startswith("it would be: 1 row: 1 added\nwho has no state of their own")
    assert listed(run) == []
    run("import", path)
    assert run("unsubscribe", "anna@example.org", "--dry-run")[2] == "anna@example.org would leave weekly/rl-agents\n"
    assert listed(run)[0]["state"] == "pending"


def test_with_several_topics_an_import_wants_to_know_which(run, people):
    (run.folder / "newsletter.toml").write_text(TOML + ROBOTS + MONTHLY)
    path = people("email\nanna@example.org\n")
    code, _, err = run("import", path)
    assert code == 2
    assert "--topic: weekly/rl-agents, weekly/robots, monthly/robots" in err
    assert listed(run) == []
    run("import", path, "--newsletter", "monthly")
    assert listed(run)[0]["topics"] == ["monthly/robots"]
    run("import", path, "--topic", "weekly/robots", "--topic", "rl-agents")
    assert listed(run, "--topic", "weekly/rl-agents")[0]["topics"] == [
        "monthly/robots",
        "weekly/rl-agents",
        "weekly/robots",
    ]
    assert run("import", path, "--topic", "nope")[0] == 2


def test_a_file_may_name_its_topics_and_an_unknown_one_is_a_bad_row(run, people):
    (run.folder / "newsletter.toml").write_text(TOML + ROBOTS + MONTHLY)
    path = people("email,topics\na@example.org,weekly/robots;rl-agents\nb@example.org,robots\nc@example.org,nope\n")
    code, _, err = run("import", path)
    assert code == 1
    assert f"{path}:4: c@example.org: no topic 'nope'; there is" in err
    assert f"{path}:3: b@example.org: several newsletters have a topic 'robots'; say which: " in err
    assert [person["topics"] for person in listed(run)] == [["weekly/rl-agents", "weekly/robots"]]
    assert run("import", people("email,topics\nd@example.org,weekly/robots\n"), "--newsletter", "monthly")[0] == 1


def test_an_export_is_what_an_import_takes_back_also_through_a_pipe(run, people, monkeypatch):
    run(
        "import",
        people('email,name,language\nanna@example.org,"=1+1",de\nbo@example.org,Zoë Ø,\n'),
        "--state",
        "active",
    )
    run("suppress", "bo@example.org", "--reason", "asked by phone")
    before = listed(run)
    code, out, _ = run("export")
    assert code == 0
    since = {person["since"] for person in before}
    assert out.replace(since.pop(), "THEN") == (
        "email,name,state,language,topics,since,suppressed,tags,paused_until,"
        "optin_time,optin_ip,confirm_time,confirm_ip\n"
        "anna@example.org,'=1+1,active,de,weekly/rl-agents,THEN,,,,,,,\n"
        "bo@example.org,Zoë Ø,active,,weekly/rl-agents,THEN,asked by phone,,,,,,\n"
    )
    assert not since  # one import is one moment
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(out.encode())))
    assert run("import", "-")[::2] == (0, "2 rows: 2 unchanged\n")
    assert listed(run) == before
    file = run.folder / "out.csv"
    assert run("export", "--out", file)[2] == f"{file}: 2 rows\n"
    assert file.read_text() == out
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("args", "code", "why"),
    [
        (("import", "nowhere.csv"), 2, "nowhere.csv cannot be read"),
        (("show", "nobody@example.org"), 1, "is not on file"),
        (("unsubscribe", "nobody@example.org"), 1, "is not on file"),
        (("unsuppress", "nobody@example.org"), 1, "is not suppressed"),
        (("suppress", "nobody@"), 1, "is no address"),
        (("add", "foo"), 1, "there is no @ in it"),
        (("import", "x.csv", "--map", "email"), 2, "--map email=COLUMN"),
        (("list", "--newsletter", "nope"), 2, "no newsletter 'nope'"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_wrong(run, args, code, why):
    found, out, err = run(*args)
    assert (found, out) == (code, "")
    assert why in err
    assert "Traceback" not in err


def test_one_person_is_added_shown_suppressed_and_let_in_again(run):
    assert run("add", "Anna <anna@example.org>", "--name", "Anna", "--state", "active")[::2] == (
        0,
        "anna@example.org: added; active; weekly/rl-agents\n",
    )
    assert run("suppress", "anna@example.org")[2] == "anna@example.org is suppressed\n"
    assert json.loads(run("show", "Anna@Example.org", "--json")[1])["subscribers"][0]["suppressed"] == "by hand"
    assert run("suppress", "anna@example.org")[2] == "anna@example.org is suppressed already\n"
    code, _, err = run("add", "anna@example.org")
    assert code == 1
    assert "is suppressed (by hand)" in err
    assert run("unsuppress", "anna@example.org")[0] == 0
    assert listed(run)[0]["suppressed"] is None
