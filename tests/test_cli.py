"""The command line from outside: help, JSON, exit codes, and no traceback whatever a person does."""

import json
import os
import re
import subprocess
import sys

import click
import httpd
import pytest
from conftest import ISSUE

from newsletter import cli

NOW = "2026-09-10T12:00:00+01:00"
HEAVY = (
    "pydantic", "pydantic_settings", "sqlalchemy", "sqlmodel", "alembic", "jinja2", "mjml", "markdown_it", "fastapi",
    "uvicorn", "rich", "asyncio", "httpx2", "feedparser", "nh3", "aiosmtplib", "aiosmtpd", "cryptography", "nupunkt",
    "email_validator", "idna", "tomlkit",
)  # fmt: skip


def commands():
    """(name, command) of the whole tree."""

    def walk(name, command, ctx):
        yield name, command
        if isinstance(command, click.Group):
            for each in command.list_commands(ctx):
                yield from walk(f"{name} {each}".strip(), command.get_command(ctx, each), ctx)

    with click.Context(cli.cli, info_name="newsletter") as ctx:
        return list(walk("", cli.cli, ctx))


TREE = commands()
VERBS = [(name, command) for name, command in TREE if not isinstance(command, click.Group)]


@pytest.fixture
def run(bench, capsys):
    """Run a command on the bench: (exit code, stdout, stderr)."""

    def ran(*args, now=NOW):
        code = cli.run(["-C", str(bench.folder), "--now", now, *map(str, args)])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return ran


@pytest.fixture
def ask(run):
    """Run a command with --json and read its one document."""

    def asked(*args, code=0, now=NOW):
        found, out, _ = run(*args, "--json", now=now)
        assert found == code
        return json.loads(out)

    return asked


def process(*args, folder=None, stdin=None, shell="", **variables):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("NEWSLETTER_")}
    command = [sys.executable, "-m", "newsletter", *map(str, args)]
    if shell:
        command = ["sh", "-c", f'"$0" -m newsletter "$@" {shell}', sys.executable, *map(str, args)]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, errors="replace", timeout=50, check=False, cwd=folder,
        env={**environ, **variables},
    )  # fmt: skip


# -- help ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, _ in TREE])
def test_every_command_has_help(name, capsys):
    assert cli.run([*name.split(), "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: newsletter {name}".rstrip())


@pytest.mark.parametrize(("name", "command"), VERBS, ids=[name for name, _ in VERBS])
def test_every_verb_has_an_example_of_itself(name, command):
    example = (command.help or "").partition("Example:")[2]
    assert f"newsletter {name}" in example or name == "issues list"
    assert (command.help or "").strip().split("\n")[0].endswith((".", ":"))


@pytest.mark.parametrize(("name", "command"), VERBS, ids=[name for name, _ in VERBS])
def test_every_option_says_what_it_does(name, command):
    for option in command.params:
        assert isinstance(option, click.Argument) or option.help


@pytest.mark.parametrize(("name", "command"), VERBS, ids=[name for name, _ in VERBS])
def test_every_verb_takes_json(name, command):
    talks_only = {"demo", "mailbox", "preview", "serve"}  # a show for people, and servers
    assert name in talks_only or any("--json" in option.opts for option in command.params)


@pytest.mark.parametrize("name", ["send", "cancel", "entries drop", "subscribers unsubscribe", "sources import-opml"])
def test_what_sends_or_deletes_takes_dry_run(name):
    assert any("--dry-run" in option.opts for option in dict(TREE)[name].params)


def test_list_of_commands_says_what_each_command_says():
    assert [name for name, _ in TREE if name and " " not in name] == list(cli.COMMANDS)


@pytest.mark.parametrize("args", [["--help"], ["--version"], []])
def test_help_imports_nothing_heavy(args):
    code = (
        "import sys\nfrom newsletter import cli\ncli.run(sys.argv[1:])\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=50, check=True)
    assert done.stderr.splitlines()[-1] == ""


def test_version_is_told(capsys):
    assert cli.run(["--version"]) == 0
    assert re.fullmatch(r"newsletter \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["compse"], "Did you mean compose?"),
        (["entries", "imprt"], "Did you mean import?"),
        (["issues", "shw"], "Did you mean show?"),
        (["db", "upgrad"], "Did you mean upgrade?"),
        (["sources", "zzz"], "`newsletter sources --help` lists them."),
        (["zzz"], "`newsletter --help` lists them."),
        (["compose", "--refesh"], "--refresh"),
    ],
)
def test_misspelt_command_gets_a_hint(args, hint, capsys):
    assert cli.run(args) == 2
    captured = capsys.readouterr()
    assert hint in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("args", [[], ["entries"], ["db"]])
def test_no_command_shows_the_help_and_is_wrong_use(args, capsys):
    assert cli.run(args) == 2
    assert "Usage: newsletter" in capsys.readouterr().err


# -- the whole way, in JSON ----------------------------------------------------------------------------------------


def test_every_answer_has_the_contracts_keys(bench, ask, run, tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("email\nada@example.org\n", encoding="utf-8")
    found = ask("subscribers", "import", people, "--topic", "rl-agents", "--state", "active")
    assert {"rows", "added", "updated", "unchanged", "suppressed", "rejected"} <= set(found)
    week = tmp_path / "week.jsonl"
    week.write_text('{"title": "One", "url": "https://a.org/1", "summary": "Text."}\n', encoding="utf-8")
    assert ask("entries", "import", week, "--topic", "rl-agents")["added"] == 1
    assert ask("entries", "add", "--topic", "rl-agents", "--summary", "By hand.")["added"] == 1
    entry = ask("entries", "list")["entries"][0]
    assert set(entry) >= {
        "id", "key", "title", "url", "authors", "summary", "published", "first_seen", "topics", "state", "issue",
        "sources", "why",
    }  # fmt: skip
    shown = ask("entries", "show", entry["id"])["entries"]
    assert shown == [entry | {"words": entry["summary"], "words_from": "as it came"}]
    assert ask("collect") == {"sources": [], "entries_new": 0, "as_seen": 0, "entries_released": 0}
    assert ask("sources", "list") == {"sources": []}
    assert set(ask("topics", "list")["topics"][0]) >= {"newsletter", "topic", "title", "sources", "subscribers"}
    composed = ask("compose")
    assert {"issue", "path", "state", "topics", "entries"} <= set(composed)
    assert (composed["issue"], composed["path"]) == (ISSUE, f"issues/{ISSUE}.md")
    assert ask("compose")["issue"] is None
    assert set(ask("issues", "list")["issues"][0]) >= {"issue", "state", "subject", "entries", "path"}
    assert ask("issues") == ask("issues", "list")
    assert ask("issues", "show", ISSUE)["audience"] == {"rl-agents": 1}
    checked = ask("check", bench.draft())
    assert set(checked) >= {"ok", "errors", "warnings", "size"}
    assert set(checked["size"]) == {"rl-agents"}
    assert ask("render", ISSUE, "--out", tmp_path / "look")["octets"] > 1000
    assert sorted(os.listdir(tmp_path / "look")) == ["message.eml", "message.html", "message.txt"]
    assert ask("approve", ISSUE)["state"] == "approved"
    assert ask("unapprove", ISSUE) == {"issue": ISSUE, "state": "draft"}
    assert ask("approve", ISSUE)["audience"] == {"rl-agents": 1}
    assert ask("send", ISSUE, "--dry-run") == {"issue": ISSUE, "dry_run": True, "audience": {"rl-agents": 1}}
    status = ask("status", ISSUE)
    assert set(status) >= {"issue", "state", "counts", "in_doubt", "audience"}
    assert set(status["counts"]) == {"queued", "sending", "sent", "deferred", "failed", "skipped", "in_doubt"}
    assert ask("status") == status
    assert ask("deliveries", ISSUE) == {"deliveries": []}
    assert ask("hold", ISSUE, "--reason", "a number") == {"issue": ISSUE, "state": "held", "reason": "a number"}
    assert ask("release", ISSUE) == {"issue": ISSUE, "state": "approved"}
    assert run("retry", ISSUE, "--state", "failed")[0] == 1  # nothing was sent yet
    assert ask("cancel", ISSUE, "--dry-run")["waiting_again"] == 2
    assert ask("cancel", ISSUE) == {"issue": ISSUE, "dry_run": False, "waiting_again": 2}
    assert ask("entries", "drop", entry["id"]) == {"dropped": 1, "refused": [], "dry_run": False}
    event = ask("schedule")["events"][0]
    assert event == {"newsletter": "weekly", "kind": "compose", "at": NOW, "period": "2026-09-11"}
    assert ask("config", "show")["newsletter"][0]["from"] == "News <news@example.org>"
    assert ask("db", "upgrade")["schema"] == ask("db", "check")["schema"]
    assert ask("db", "backup", tmp_path / "copy.db")["file"].endswith("copy.db")
    assert set(ask("doctor", code=1)) == {"ok", "checks"}
    assert ask("init", tmp_path / "new")["written"][0] == "newsletter.toml"


def test_same_way_in_words_keeps_results_on_stdout_and_talk_on_stderr(bench, run):
    bench.people("ada@example.org")
    bench.entries({"title": "one", "url": "https://a.org/1", "summary": "Text of one.", "published": "2026-09-06"})
    for args, says in [
        (["compose"], "1 entry (1 for rl-agents)"),
        (["compose"], "stands already"),
        (["check", ISSUE], "no errors"),
        (["approve", ISSUE], "is approved: 1 entry"),
        (["unapprove", ISSUE], "is a draft again"),
        (["compose", "--refresh"], "nothing new"),
        (["cancel", ISSUE, "--dry-run"], "would be cancelled"),
        (["cancel", ISSUE], "1 entry waits again"),
    ]:
        code, out, err = run(*args)
        assert (code, out) == (0, "")
        assert says in err
    code, out, _ = run("entries", "list")
    assert code == 0
    assert out.split()[-1] == "one"


def test_quiet_says_nothing(bench, capsys):
    bench.entries("one")
    assert cli.run(["-q", "-C", str(bench.folder), "--now", NOW, "compose"]) == 0
    assert capsys.readouterr() == ("", "")


def test_several_newsletters_are_composed_each_for_itself(bench, ask, run):
    bench.settings(
        tail='\n[[newsletter]]\nslug = "daily"\ntitle = "D"\nfrom = "a@b.org"\nsend = "daily 07:00"\n'
        '[[newsletter.topic]]\nslug = "cats"\ntitle = "Cats"\n'
    )
    bench.entries("one")
    bench.entries("cat", topics=("cats",))
    bench.draft().parent.mkdir()
    bench.draft().write_text("in the way", encoding="utf-8")
    code, out, err = run("compose", "--json")
    assert code == 1
    assert [report["issue"] for report in json.loads(out)["issues"]] == ["daily/2026-09-11"]
    assert "error: weekly: " in err
    bench.draft().unlink()
    assert [report["issue"] for report in ask("compose")["issues"]] == [ISSUE, None]


def test_rows_that_are_refused_are_named_and_the_rest_goes_in(run, tmp_path):
    week = tmp_path / "week.jsonl"
    week.write_text('{"summary": "Good."}\nbad\n', encoding="utf-8")
    code, _, err = run("entries", "import", week, "--topic", "rl-agents")
    assert code == 1
    assert f"{week}:2: " in err
    assert "1 added" in err


def test_half_characters_in_an_entry_stop_nothing(run, tmp_path):
    week = tmp_path / "week.jsonl"
    week.write_text('{"title": "a \\ud83d b", "summary": "c \\udc00"}\n', encoding="utf-8")
    run("entries", "import", week, "--topic", "rl-agents")
    assert run("compose")[0] == 0


def test_config_show_has_no_password(bench, run, monkeypatch):
    monkeypatch.setenv("NEWSLETTER_SMTP__PASSWORD", "hunter2")
    code, out, err = run("config", "show")
    assert code == 0
    assert 'smtp.password = "**********"' in out
    assert "hunter2" not in out + err


# -- what people do wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["check", "weekly"], 2, "is no issue; write it like weekly/2026-09-11"),
        (["check", "../../etc/passwd"], 2, "is no issue"),
        (["check", "weekly/2026-01-01"], 1, "there is no issue weekly/2026-01-01"),
        (["check", "daily/2026-01-01"], 1, "no newsletter 'daily'; there is weekly"),
        (["compose", "daily"], 2, "no newsletter 'daily'; there is weekly"),
        (["compose", "--special", "A B"], 2, "--special"),
        (["collect", "--topic", "cats"], 2, "no topic 'cats'; there is weekly/rl-agents, weekly/robots"),
        (["collect", "--backfill", "ages"], 2, "must be a time like"),
        (["collect", "--backfill", "10w"], 2, "its units are s, m, h and d, so that ten weeks are 70d"),
        (["entries", "list", "--topic", "cats"], 2, "no topic 'cats'"),
        (["entries", "list", "--state", "lost"], 2, "is not one of"),
        (["entries", "show", "e-0"], 1, "there is no entry e-0"),
        (["entries", "drop", "e-0"], 1, "e-0: no such entry"),
        (["entries", "import", "nowhere.jsonl", "--topic", "rl-agents"], 2, "No such file"),
        (["entries", "import", ".", "--topic", "rl-agents"], 2, "Is a directory"),
        (["entries", "import", "-"], 2, "--topic"),
        (["entries", "add", "--topic", "rl-agents"], 1, "the entry:1: "),
        (["render", "weekly/2026-01-01", "--out", "x", "--as", "a@b.org", "--topics", "a"], 2, "exclude each other"),
        (["render", "weekly/2026-01-01"], 2, "--out"),
        (["schedule", "--from", "tomorrow"], 2, "is no ISO time"),
        (["schedule", "--from", "2026-09-11"], 2, "has no offset"),
        (["collect", "--newsletter", "daily"], 2, "no newsletter 'daily'"),
        (["schedule", "--newsletter", "daily"], 2, "no newsletter 'daily'"),
        (["issues", "show", "weekly/2026-01-01"], 1, "there is no issue"),
        (["status", "weekly/2026-01-01"], 1, "there is no issue"),
        (["retry", "weekly/2026-01-01", "--state", "sent"], 2, "is not one of"),
        (["db", "check"], 1, "there is no database yet"),
        (["db", "backup", "."], 2, "is a directory"),
    ],
)  # fmt: skip
def test_mistake_is_answered_in_a_line_with_its_exit_code(run, tmp_path, monkeypatch, args, code, says):
    monkeypatch.chdir(tmp_path)
    found, out, err = run(*args)
    assert (found, out) == (code, "")
    assert says in err


def test_no_workspace_says_what_makes_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for args in (["compose"], ["-C", str(tmp_path / "nowhere"), "compose"]):
        assert cli.run(args) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "newsletter init" in captured.err


def test_broken_settings_name_every_fault(bench, run):
    bench.settings(more="max_entry = 5", rules='include = ["("]')
    code, out, err = run("compose", "--json")
    assert (code, out) == (2, "")
    key, rule = err.splitlines()
    assert key == "error: newsletter.toml:13: newsletter[1].max_entry: is no setting; did you mean max_entries?"
    assert rule.startswith("error: newsletter.toml:18: newsletter[1].topic[1].include[1]: is no regular expression: ")


@pytest.mark.parametrize("fault", ["[smtp\n", "\xff", ""])
def test_settings_that_cannot_be_read_are_named(bench, run, fault):
    (bench.folder / "newsletter.toml").write_text(fault, encoding="latin-1")
    code, _, err = run("compose")
    assert code == 2
    assert err.startswith("error: newsletter.toml:")


def test_folder_that_cannot_be_written_is_named(bench, run, tmp_path):
    bench.entries("one")
    bench.compose()
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _, err = run("render", ISSUE, "--out", tmp_path / "file/inside")
    assert code == 2
    assert "cannot be written" in err
    code, _, err = run("init", tmp_path / "file/inside")
    assert code == 2
    assert "cannot be made a workspace" in err


def test_trouble_with_any_file_is_a_line(bench, run, monkeypatch):
    monkeypatch.setenv("NEWSLETTER_SITE__SECRET_KEY_FILE", ".")
    bench.entries("one")
    bench.compose()
    code, _, err = run("check", ISSUE)
    assert code == 2
    assert "Is a directory" in err


def test_damaged_database_is_a_line(bench, run):
    (bench.folder / "subscribers/newsletter.db").write_text("no database " * 500, encoding="utf-8")
    code, out, err = run("compose", "--json")
    assert (code, out) == (1, "")
    assert "not a database" in err
    assert err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_file_that_may_not_be_read_is_a_line(bench, run):
    (bench.folder / "secret.key").chmod(0)
    bench.entries("one")
    bench.compose()
    code, _, err = run("check", ISSUE)
    assert code == 2
    assert "Permission denied" in err


# -- streams -------------------------------------------------------------------------------------------------------


def test_entries_come_from_a_pipe(bench):
    done = process("-C", bench.folder, "entries", "import", "-", "--topic", "rl-agents", stdin='{"summary": "Text."}\n')
    assert (done.returncode, done.stdout) == (0, "")
    assert "1 added" in done.stderr


def test_streams_that_are_closed_are_no_fault(bench):
    bench.entries("one")
    done = process("-C", bench.folder, "entries", "import", "-", "--topic", "rl-agents", shell="<&-")
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)
    done = process("-C", bench.folder, "entries", "list", shell=">&-")
    assert (done.returncode, done.stderr) == (0, "")
    done = process("-C", bench.folder, "entries", "list", "--json", shell=">&- 2>&-")
    assert done.returncode == 0


def test_reader_that_leaves_ends_it_without_a_word(bench):
    bench.entries(*[f"entry {i} " + "x" * 300 for i in range(300)])
    done = process("-C", bench.folder, "entries", "list", "--json", shell="| head -c 10")
    assert done.stdout == '{"entries"'
    assert done.stderr == ""


def test_terminal_that_knows_no_unicode_is_no_fault(bench):
    bench.entries("naïve · 中")
    for encoding in ("ascii", "latin-1"):
        done = process("-C", bench.folder, "entries", "list", PYTHONIOENCODING=encoding)
        assert (done.returncode, done.stderr) == (0, "")


def test_workspace_is_found_by_the_variable_and_from_below(bench):
    assert process("topics", "list", folder="/", NEWSLETTER_WORKSPACE=str(bench.folder)).returncode == 0
    assert process("topics", "list", folder=bench.folder / "issues").returncode == 0


# -- sources -------------------------------------------------------------------------------------------------------


OPML = """<opml version="2.0"><body><outline text="Robots"><outline text="A" xmlUrl="https://a.test/f"/>
<outline text="B" xmlUrl="|touch pwned"/></outline></body></opml>"""


def test_opml_in_and_out(run, ask, bench, tmp_path):
    (tmp_path / "in.opml").write_text(OPML, encoding="utf-8")
    code, out, err = run("sources", "import-opml", tmp_path / "in.opml")
    assert (code, out) == (1, "weekly/robots: 1 of 1 added, from Robots\n")
    assert "line 2: |touch pwned: only http: and https: addresses are taken" in err
    found = ask("sources", "import-opml", tmp_path / "in.opml", code=1)
    assert (found["feeds"], found["added"], found["doubles"]) == (1, 0, 1)
    code, out, _ = run("sources", "export-opml", tmp_path / "out.opml")
    assert (code, out) == (0, "")
    assert ask("sources", "export-opml") == {
        "path": None, "feeds": 1, "left_out": [], "opml": (tmp_path / "out.opml").read_text("utf-8"),
    }  # fmt: skip


def test_file_that_is_no_opml_is_a_clear_error(run, tmp_path):
    (tmp_path / "x").write_text("garbage", encoding="utf-8")
    code, out, err = run("sources", "import-opml", tmp_path / "x")
    assert (code, out) == (1, "")
    assert err.startswith("error: this is no OPML")


def test_source_that_cannot_be_read_fails_the_check(run, ask, bench):
    (bench.folder / "a.jsonl").write_text('{"title": "A", "summary": "x", "url": "https://a.test/"}', encoding="utf-8")
    code, out, _ = run("sources", "check", "file:a.jsonl", "file:b.jsonl", "file:no/*.jsonl")
    assert code == 1
    assert out.splitlines()[0] == "ok      file:a.jsonl: 1 entry"
    assert "empty   file:no/*.jsonl: 0 entries\n        no file of the workspace matches file:no/*.jsonl" in out
    assert "failed  file:b.jsonl: there is no file b.jsonl in the workspace" in out
    assert ask("sources", "check") == {"sources": []}


def test_page_that_cannot_be_reached_is_a_clear_error(run):
    code, out, err = run("sources", "discover", "http://127.0.0.1:9/")
    assert (code, out) == (1, "")
    assert "private address" in err


def test_page_that_is_not_there_is_told_though_a_feed_stands_beside_it(run, bench):
    feed = b'<rss version="2.0"><channel><title>F</title><item><title>A</title></item></channel></rss>'
    with httpd.serve({"/feed": httpd.Reply(feed)}) as server:
        bench.settings(tail='[collect]\nallow_private = ["127.0.0.1"]\n')
        code, out, err = run("sources", "discover", server.url("/old"))
        assert (code, out) == (1, f"{server.url('/feed')}  1 entry, “F”\n")
        assert "404" in err
        code, _, err = run("sources", "discover", server.url("/feed"))
        assert (code, err) == (0, "")


def test_collect_names_bad_rows_and_what_is_left_out(run, bench):
    (bench.folder / "inbox/old").mkdir(parents=True)
    (bench.folder / "inbox/a.jsonl").write_text('{"summary": "x"}\nnonsense\n', encoding="utf-8")
    bench.settings(rules='sources = ["file:inbox/*"]')
    _, _, err = run("collect")
    assert "inbox/a.jsonl:2: not JSON" in err
    assert "inbox/old is left out: it is a folder" in err
    assert "left out" not in run("collect", "--all")[2]  # said once


def test_import_says_what_it_assumed_of_the_encoding(run, ask, tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes('{"summary": "plain"}\n{"summary": "café"}\n'.encode("cp1252"))
    code, _, err = run("entries", "import", path, "--topic", "rl-agents")
    assert code == 0
    assert "line 2: not UTF-8; the file is read as windows-1252" in err
    assert {row["summary"] for row in ask("entries", "list")["entries"]} == {"plain", "café"}


def test_restored_entry_is_for_the_draft_that_stands_else_for_the_next_issue(run, ask, bench):
    bench.entries("zero", "one")
    row = next(each for each in ask("entries", "list")["entries"] if each["title"] == "one")
    assert run("entries", "drop", row["id"], "--reason", "no")[0] == 0
    assert "1 wait again; the next issue takes them" in run("entries", "restore", row["id"])[2]
    bench.compose()
    bench.entries("two")
    (row,) = [each for each in ask("entries", "list")["entries"] if each["title"] == "two"]
    assert run("entries", "drop", row["id"], "--reason", "no")[0] == 0
    assert "1 wait again; `newsletter compose --refresh` takes them now" in run("entries", "restore", row["id"])[2]


def test_as_seen_and_backfill_contradict_each_other(run):
    assert run("collect", "--as-seen", "--backfill", "90d")[0] == 2


def test_as_seen_says_what_it_dropped(run, ask, bench):
    (bench.folder / "a.jsonl").write_text('{"title": "A", "summary": "x"}', encoding="utf-8")
    bench.settings(rules='sources = ["file:a.jsonl"]')
    assert ask("collect", "--as-seen")["as_seen"] == 1
    assert ask("entries", "list", "--state", "dropped")["entries"][0]["why"] == "before the first issue"


def test_compose_names_silent_sources(run, bench):
    bench.settings(rules='sources = ["https://a.test/f"]')
    assert "silent: https://a.test/f (rl-agents): it was never asked" in run("compose")[2]
