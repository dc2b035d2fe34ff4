"""`check` as a whole: what the settings, the audience, earlier issues, the links and SpamAssassin have to say."""

import datetime as dt
import http.server
import json
import shutil
import smtpd
import stat
import threading
import typing

import httpd
import pytest
from conftest import ISSUE, THURSDAY, WEDNESDAY

from newsletter import app as wiring
from newsletter import cli, errors
from newsletter.app import judging

WEEK = dt.timedelta(days=7)
NEXT = "weekly/2026-09-18"


@pytest.fixture
def drafted(bench):
    """A draft of two topics, and readers of both and of one."""
    bench.people("ada@example.org", topics=("rl-agents", "robots"))
    bench.people("ben@example.org", topics=("robots",))
    bench.entries("one", "two")
    bench.entries("robot", topics=("robots",))
    bench.compose()
    return bench


def check(bench, issue=ISSUE, now=THURSDAY, **options):
    with bench.app(now) as app:
        return app.check(issue, **options)


def found(findings, code):
    return [each for each in findings if each.code == code]


def codes(report):
    return {each.code for each in (*report.errors, *report.warnings)}


def setting(bench, old, new):
    path = bench.folder / "newsletter.toml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def send(bench, server, issue=ISSUE, now=THURSDAY):
    setting(bench, "port = 9\n", f"port = {server.port}\n")
    with bench.app(now) as app:
        app.approve(issue, by="t")
        app.send(issue)
    setting(bench, f"port = {server.port}\n", "port = 9\n")


# -- what a real mail server must not be given -------------------------------------------------------------------


def test_a_workspace_as_init_left_it_is_not_for_a_real_mail_server(drafted):
    assert not codes(check(drafted)) & {"example-sender", "example-address", "example-url", "loopback-url"}
    setting(drafted, '"127.0.0.1"', '"relay.example.org"')
    report = check(drafted)
    assert [each.code for each in report.errors] == ["example-sender", "example-address", "loopback-url"]
    assert all(each.where == "newsletter.toml" for each in report.errors)
    with pytest.raises(errors.CheckError):
        drafted.approve()


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://news.example.org", {"example-url"}),
        ("https://news.test", {"example-url"}),
        ("http://127.0.0.1:8000", {"loopback-url"}),
        ("https://letters.python.org", set()),
    ],
)
def test_addresses_that_no_reader_can_reach_are_found(drafted, base_url, expected):
    drafted.settings(more='reply_to = "me@mail.test"')
    setting(drafted, '"127.0.0.1"', '"192.0.2.1"')
    setting(drafted, "news@example.org", "news@python.org")
    setting(drafted, "1 Example Street", "7 Long Street")
    path = drafted.folder / "newsletter.toml"
    path.write_text(f'[site]\nbase_url = "{base_url}"\n' + path.read_text("utf-8"), "utf-8")
    report = check(drafted)
    assert {each.code for each in report.errors} == {"example-sender", *expected}
    assert "reply_to is at mail.test" in report.errors[0].message


# -- who would get it --------------------------------------------------------------------------------------------


def test_an_audience_that_changed_by_more_than_a_fifth_is_told(drafted):
    with smtpd.serve() as server:
        send(drafted, server)
    drafted.entries("three", now=THURSDAY + dt.timedelta(hours=1))
    drafted.compose(now=THURSDAY + WEEK)
    drafted.edit("\nsubject = ", '\nsubject = "Other words"\n# ', NEXT)
    [told] = found(check(drafted, NEXT, THURSDAY + WEEK).warnings, "audience-changed")
    assert f"1 would get this issue, 2 got {ISSUE}: -50%" in told.message
    drafted.people("eve@example.org", now=THURSDAY + WEEK)
    report = check(drafted, NEXT, THURSDAY + WEEK)
    assert not found(report.warnings, "audience-changed")
    with drafted.app(THURSDAY + WEEK) as app:
        approved = app.approve(NEXT, by="Ada")
    assert approved.audience == {"rl-agents": 2}
    assert (approved.approved_by, approved.approved_at >= THURSDAY + WEEK) == ("Ada", True)


def test_a_topic_that_nobody_has_is_told(bench):
    bench.people("ada@example.org")
    bench.entries("one")
    bench.entries("robot", topics=("robots",))
    bench.compose()
    [told] = found(check(bench).warnings, "audience-topic")
    assert "robots" in told.message


def test_approval_names_each_edition_and_who_and_when(drafted, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["-C", str(drafted.folder), "--now", THURSDAY.isoformat(), "approve", ISSUE, "--by", "Ada"])
    assert ended.value.code == 0
    said = capsys.readouterr().err
    assert f"{ISSUE} is approved: 3 entries" in said
    assert "by Ada, 2026-09-10 11:00 UTC" in said
    assert "edition rl-agents,robots: 1 person" in said
    assert "edition robots: 1 person" in said
    cli.run(["-C", str(drafted.folder), "issues", "show", ISSUE])
    shown = capsys.readouterr().out
    assert "approved_by: Ada" in shown
    assert "approved_at: 2026-09-10T11:00" in shown


# -- what was before ---------------------------------------------------------------------------------------------


def test_a_subject_of_an_earlier_issue_is_told(drafted):
    drafted.edit("\nsubject = ", '\nsubject = "Kelp  and Trams"\n# ')
    assert not found(check(drafted).warnings, "subject-again")
    drafted.approve()
    assert not found(check(drafted).warnings, "subject-again")
    drafted.entries("three", now=THURSDAY + dt.timedelta(hours=1))
    drafted.compose(now=THURSDAY + WEEK)
    drafted.edit("\nsubject = ", '\nsubject = "kelp and trams"\n# ', NEXT)
    [told] = found(check(drafted, NEXT, THURSDAY + WEEK).warnings, "subject-again")
    assert ISSUE in told.message
    line = drafted.text(NEXT).split("\n").index('subject = "kelp and trams"') + 1
    assert told.where == f"issues/{NEXT}.md:{line}"


# -- where -------------------------------------------------------------------------------------------------------


def test_findings_name_the_line_and_the_edition(drafted):
    drafted.edit("About robot.", "About [robot](/nowhere).")
    drafted.edit("\nsubject = ", '\nsubject = "Why one went"\n# ')
    drafted.edit("### [one]", "### [One of patient machines]")
    drafted.edit('"Why one went"', '"Patient machines"')
    report = check(drafted)
    line = next(i for i, text in enumerate(drafted.text().split("\n"), 1) if text.startswith("### [robot]"))
    [link] = found(report.errors, "link-relative")
    assert link.where == f"issues/{ISSUE}.md:{line}"
    [lacks] = found(report.warnings, "edition-lacks")
    assert lacks.where.endswith(", edition robots")


def test_lines_are_named_only_while_the_draft_is_what_was_approved(drafted):
    drafted.edit("### [two]", "### [two words {{ x }}]")
    drafted.approve()
    [before] = found(check(drafted).warnings, "placeholder")
    assert before.where.startswith(f"issues/{ISSUE}.md:")
    drafted.edit("About one.", "Other.\n\nWords.")
    [after] = found(check(drafted).warnings, "placeholder")
    assert after.where.startswith("e-")


def test_the_octets_of_every_edition_are_judged(drafted):
    drafted.edit("\nsubject = ", '\nsubject = "\\u2028"\n# ')
    report = check(drafted)
    assert {"header", "subject-control"} <= {each.code for each in report.errors}


def test_a_fresh_clone_has_no_key_and_no_database_and_gets_none(drafted, tmp_path, capsys):
    clone = tmp_path / "clone"
    shutil.copytree(drafted.folder, clone, ignore=shutil.ignore_patterns("*.db*", "secret.key", "people.csv"))
    before = sorted(path.relative_to(clone) for path in clone.rglob("*"))
    for command in (["check", ISSUE], ["check", ISSUE, "--json"], ["render", ISSUE, "--out", str(tmp_path / "out")]):
        assert cli.run(["-C", str(clone), "--now", THURSDAY.isoformat(), *command]) == 0, capsys.readouterr()
    assert sorted(path.relative_to(clone) for path in clone.rglob("*")) == before
    assert b"About one." in (tmp_path / "out" / "message.eml").read_bytes()
    assert cli.run(["-C", str(clone), "approve", ISSUE]) == 1  # that is for the workspace with the people


# -- links -------------------------------------------------------------------------------------------------------


class Heads(http.server.BaseHTTPRequestHandler):
    """Answers HEAD, and counts who asks for more."""

    asked: typing.ClassVar[list[tuple[str, str]]] = []

    def do_HEAD(self):
        self.asked.append((self.command, self.path))
        self.send_response(405 if self.path == "/get-only" else 404 if self.path == "/gone" else 200)
        self.end_headers()

    def do_GET(self):
        self.asked.append((self.command, self.path))
        self.send_response(404 if self.path == "/gone" else 200)
        self.end_headers()
        self.wfile.write(b"x")

    def log_message(self, *_):
        pass


@pytest.fixture
def heads():
    Heads.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Heads) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def with_links(bench, *urls, allow='["127.0.0.1"]'):
    rows = [{"title": f"Page {i}", "url": url, "summary": "It is."} for i, url in enumerate(urls)]
    bench.settings(tail=f"\n[collect]\nallow_private = {allow}\n")
    bench.people("ada@example.org")
    bench.entries(*rows)
    bench.compose()
    return check(bench, online=True)


def test_links_are_tried_by_head_and_then_by_get(bench, heads, monkeypatch):
    monkeypatch.setattr(judging, "COMMAND", "no-such-program")
    report = with_links(bench, f"{heads}/well", f"{heads}/get-only", f"{heads}/gone#part")
    assert sorted(Heads.asked) == [
        ("GET", "/get-only"),
        ("GET", "/gone"),
        ("HEAD", "/get-only"),
        ("HEAD", "/gone"),
        ("HEAD", "/well"),
    ]
    [dead] = found(report.warnings, "link-dead")
    line = next(i for i, text in enumerate(bench.text().split("\n"), 1) if "/gone" in text)
    assert (dead.where, "has nothing at this address: 404" in dead.message) == (f"issues/{ISSUE}.md:{line}", True)
    assert report.ok
    assert not found(report.warnings, "spam-unknown")


def test_private_addresses_are_refused_and_so_are_redirects_to_them(bench, heads):
    report = with_links(bench, f"{heads}/well", allow="[]")
    [dead] = found(report.warnings, "link-dead")
    assert "private address" in dead.message
    assert Heads.asked == []


def test_a_server_that_turns_programs_away_proves_nothing(bench):
    routes = {"/robots": httpd.Reply(status=403), "/hop": httpd.Reply(status=302, headers={"Location": "/end"})}
    with httpd.serve({**routes, "/end": httpd.Reply(b"here")}) as server:
        report = with_links(bench, server.url("/robots"), server.url("/hop"), server.url("/nothing"))
        asked = [each.path for each in server.asked]
    assert [each.code for each in report.warnings if each.code.startswith("link-")] == ["link-unproven", "link-dead"]
    assert asked.count("/end") >= 1


def test_no_network_is_asked_unless_it_is_wanted(bench, heads):
    with_links(bench, f"{heads}/well")
    Heads.asked.clear()
    check(bench)
    bench.approve()
    assert Heads.asked == []


# -- SpamAssassin ------------------------------------------------------------------------------------------------

REPORT = """\
Content preview:  It is 9.9 NOT_A_RULE

Content analysis details:   (2.6 points, 5.0 required)

 pts rule name              description
---- ---------------------- --------------------------------------------------
 2.7 MISSING_DATE           Missing Date: header
-0.1 NICE_THING             It is nice and takes a second line
                            3.3 of description
"""


def test_a_report_of_spamassassin_is_read():
    score = judging.read(REPORT)
    assert (score.score, score.required) == (2.6, 5.0)
    assert score.rules == {"MISSING_DATE": 2.7, "NICE_THING": -0.1}
    assert judging.read("nothing") is None


@pytest.fixture
def assassin(tmp_path, monkeypatch):
    """Another program in SpamAssassin's place."""

    def put(script):
        path = tmp_path / "assassin"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(judging, "COMMAND", str(path))

    return put


def test_points_and_what_gave_them_are_told(drafted, assassin, tmp_path):
    (tmp_path / "report").write_text(REPORT)
    assassin(f"cat > {tmp_path}/octets; cat {tmp_path}/report")
    report = check(drafted, spam=True)
    [told] = found(report.warnings, "spam-score")
    assert "2.6 of 5 points: MISSING_DATE 2.7" in told.message
    assert report.as_json()["spam"] == {
        "score": 2.6,
        "required": 5.0,
        "rules": {"MISSING_DATE": 2.7, "NICE_THING": -0.1},
    }
    assert (tmp_path / "octets").read_bytes().startswith(b"From: ")


@pytest.mark.parametrize(
    ("script", "said"),
    [("exit 3", "ended with 3: no report"), ("echo bad rules >&2; exit 1", "bad rules"), ("exec sleep 9", "no answer")],
)
def test_a_spamassassin_that_fails_is_a_warning(drafted, assassin, monkeypatch, script, said):
    monkeypatch.setattr(judging, "SECONDS", 0.5)
    assassin(script)
    report = check(drafted, spam=True)
    [told] = found(report.warnings, "spam-unknown")
    assert said in told.message
    assert report.ok


def test_a_spamassassin_that_is_not_there_is_a_warning(drafted, monkeypatch):
    monkeypatch.setattr(judging, "COMMAND", "no-such-program")
    [told] = found(check(drafted, spam=True).warnings, "spam-unknown")
    assert "not installed" in told.message


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("spamassassin") is None, reason="SpamAssassin is not installed")
def test_the_shipped_templates_cost_no_points(drafted):
    report = check(drafted, spam=True)
    assert report.spam is not None
    assert report.spam.score <= 0.0


# -- hostile input ------------------------------------------------------------------------------------------------


def test_hostile_entries_are_judged_without_a_traceback(bench):
    bad = [
        "<script>x</script>",
        "{{ 7*7 }}",
        "\ud800 lone",
        "](javascript:x)",
        "a" * 100_000,
        "\u202e gnol",
        "\x00\x1b[31m",
    ]
    bench.people("ada@example.org")
    bench.entries(*({"title": text, "summary": text, "url": f"https://x.example/{i}"} for i, text in enumerate(bad)))
    bench.compose()
    report = check(bench)
    assert report.size
    json.dumps(report.as_json()).encode()


def test_json_has_the_keys_that_programs_rely_on(drafted, capsys):
    cli.run(["-C", str(drafted.folder), "--now", THURSDAY.isoformat(), "check", ISSUE, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"ok", "errors", "warnings", "size", "spam"}
    assert document["spam"] is None
    assert all(set(each) == {"code", "message", "where"} for each in document["warnings"])


def test_the_application_without_a_database_is_not_lent_a_key_when_there_is_one(drafted):
    (drafted.folder / "secret.key").unlink()
    app = wiring.open_app(drafted.folder, WEDNESDAY)
    try:
        with pytest.raises(errors.WorkspaceError):
            app.check(ISSUE)
    finally:
        app.close()
