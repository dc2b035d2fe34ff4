"""`doctor`: one line a thing, and what to do."""

import datetime as dt

import httpd
import pytest
import sqlalchemy as sa
from conftest import ISSUE, THURSDAY, WEDNESDAY

from newsletter.app import health, reports
from newsletter.store import sources

WEEK = dt.timedelta(weeks=1)
FEED = b'<rss version="2.0"><channel><title>F</title><item><title>A</title><link>https://a.test/</link></item></channel></rss>'


def lines(bench):
    with bench.app() as app:
        found = app.doctor()
    assert all(isinstance(line, reports.Line) for line in found)
    return {line.what: [(each.level, each.text) for each in found if each.what == line.what] for line in found}


def test_doctor_looks_at_everything_and_makes_nothing(bench):
    found = lines(bench)
    assert list(found) == ["settings", "secret key", "templates", "database", "disk", "mail server", "sources"]
    assert found["database"] == [("OK", "not made yet: the first command that needs it makes it")]
    assert not (bench.folder / "subscribers/newsletter.db").exists()


def test_mail_server_that_is_not_there_is_a_failure(bench):
    ((level, text),) = lines(bench)["mail server"]
    assert level == "FAIL"
    assert "127.0.0.1" in text


def test_settings_of_the_sample_are_warned_of(bench):
    found = lines(bench)["settings"]
    assert found[0] == ("OK", "1 newsletter(s), 2 topic(s)")
    assert [level for level, _ in found[1:]] == ["WARN", "WARN"]
    assert "site.base_url" in found[1][1]
    assert "newsletter.from" in found[2][1]


def test_missing_postal_address_is_warned_of(bench):
    text = (bench.folder / "newsletter.toml").read_text("utf-8")
    (bench.folder / "newsletter.toml").write_text(
        text.replace('postal_address = "1 Example Street, London"', ""), encoding="utf-8"
    )
    assert any("weekly has no postal_address" in text for _, text in lines(bench)["settings"])


def test_key_that_others_may_read_is_warned_of(bench):
    assert lines(bench)["secret key"][0][0] == "OK"
    (bench.folder / "secret.key").chmod(0o644)
    assert lines(bench)["secret key"][0][0] == "WARN"
    assert "chmod 600" in lines(bench)["secret key"][0][1]


@pytest.mark.parametrize("key", [None, "", "short"])
def test_missing_or_weak_key_is_a_failure_and_stops_no_other_line(bench, key):
    (bench.folder / "secret.key").unlink()
    if key is not None:
        (bench.folder / "secret.key").write_text(key, encoding="utf-8")
    found = lines(bench)
    assert found["secret key"][0][0] == "FAIL"
    assert "newsletter init" in found["secret key"][0][1]
    assert found["templates"][0][0] == "OK"


def test_sound_database_is_told_with_its_schema(bench):
    bench.entries("one")
    ((level, text),) = lines(bench)["database"]
    assert level == "OK"
    assert text.startswith("sound, schema ")


def test_file_that_is_no_database_is_a_failure(bench):
    (bench.folder / "subscribers/newsletter.db").write_text("no database " * 500, encoding="utf-8")
    found = lines(bench)
    assert found["database"][0][0] == "FAIL"
    assert "not a database" in found["database"][0][1]
    assert found["disk"][0][0] in ("OK", "WARN")


def test_database_of_another_kind_is_a_failure(bench):
    text = (bench.folder / "newsletter.toml").read_text("utf-8")
    (bench.folder / "newsletter.toml").write_text(
        '[site]\ndatabase = "postgresql://me:hunter2@db/x"\n' + text, encoding="utf-8"
    )
    assert lines(bench)["database"][0][0] == "FAIL"
    assert "hunter2" not in str(lines(bench))


def test_broken_template_is_named(bench):
    (bench.folder / "templates/issue.txt").write_bytes(b"\xff\xfe")
    assert lines(bench)["templates"][0][0] == "FAIL"


def test_source_that_failed_is_named(bench):
    bench.settings(rules='sources = ["file:inbox/*.jsonl", "http://127.0.0.1:9/feed"]')
    with bench.app() as app:
        app.collect()
    found = lines(bench)["sources"]
    assert [level for level, _ in found] == ["WARN"]
    assert "http://127.0.0.1:9/feed failed 1 time(s)" in found[0][1]


# -- sources that are silent ---------------------------------------------------------------------------------------


@pytest.fixture
def feed(bench):
    """A feed that is a source of rl-agents, and the server."""
    with httpd.serve({"/f": httpd.Reply(FEED)}) as server:
        url = server.url("/f")
        bench.settings(rules=f'sources = ["{url}"]', tail='[collect]\nallow_private = ["127.0.0.1"]\n')
        yield url, server


def collect(bench, now):
    with bench.app(now) as app:
        app.collect(everything=True)


def silent(bench, now, **options):
    return [(source.url, source.why) for source in bench.compose(now, **options).silent]


def test_source_that_was_never_asked_is_silent_also_where_nothing_is_new(bench, feed):
    report = bench.compose()
    assert report.issue is None
    assert report.as_json()["silent"] == [
        {
            "url": feed[0],
            "topics": ["rl-agents"],
            "last_ok": None,
            "why": "it was never asked; `newsletter collect` does",
        }
    ]


def test_source_with_a_good_fetch_in_the_window_is_not_silent(bench, feed):
    collect(bench, WEDNESDAY)
    assert not silent(bench, THURSDAY)
    collect(bench, WEDNESDAY + WEEK)
    bench.entries("more", now=WEDNESDAY + WEEK)
    assert not silent(bench, THURSDAY + WEEK)


def test_source_without_one_since_the_issue_before_is_named_with_its_fault(bench, feed):
    collect(bench, WEDNESDAY)
    bench.compose()
    feed[1].routes["/f"] = httpd.Reply(status=500)
    collect(bench, WEDNESDAY + WEEK)
    bench.entries("more", now=WEDNESDAY + WEEK)
    ((url, why),) = silent(bench, THURSDAY + WEEK)
    assert url == feed[0]
    assert why.startswith("no good fetch since 2026-09-09 08:00 UTC: ")
    assert "500" in why
    assert silent(bench, THURSDAY + WEEK, refresh=True) == [(url, why)]


def test_window_is_seven_days_before_the_first_issue_and_a_day_at_least(bench, feed):
    collect(bench, THURSDAY - WEEK + dt.timedelta(hours=1))
    assert not silent(bench, THURSDAY)
    collect(bench, THURSDAY + dt.timedelta(hours=1))
    bench.compose(THURSDAY + dt.timedelta(hours=2), special="soon")
    assert not silent(bench, THURSDAY + dt.timedelta(hours=3), special="later")


def test_check_warns_of_it_with_the_line_of_the_source(bench, feed):
    bench.people("ada@example.org")
    bench.entries("one")
    bench.compose()
    with bench.app() as app:
        report = app.check(ISSUE)
        (warning,) = [each for each in report.warnings if each.code == "source-silent"]
        line = int(warning.where.removeprefix("newsletter.toml:"))
        assert feed[0] in (bench.folder / "newsletter.toml").read_text("utf-8").splitlines()[line - 1]
        assert feed[0] in warning.message
        assert report.ok
    collect(bench, THURSDAY)
    with bench.app() as app:
        assert "source-silent" not in [each.code for each in app.check(ISSUE).warnings]


def test_doctor_tells_silent_sources_from_good_ones(bench, feed):
    collect(bench, WEDNESDAY)
    assert lines(bench)["sources"] == [("OK", "1 source(s), 1 visited, none failing")]
    with bench.app(WEDNESDAY + 2 * WEEK) as app:
        (line,) = [each for each in app.doctor() if each.what == "sources"]
    assert line.level == "WARN"
    assert line.text.startswith(f"{feed[0]}: no good fetch since 2026-09-09 08:00 UTC")


@pytest.mark.parametrize(
    ("note", "is_named"), [("empty, as expected: a Sunday", False), ("empty, which is suspicious: x", True)]
)
def test_empty_answer_is_silent_only_when_nothing_explains_it(bench, feed, note, is_named):
    collect(bench, WEDNESDAY)
    with bench.app(THURSDAY) as app:
        with app.store.write() as session:
            sources.known(session, [feed[0]])[feed[0]].note = note
        with app.store.read() as session:
            found = health.silent(session, app.settings.newsletter[0], THURSDAY)
    assert [source.why for source in found] == [note] * is_named


def test_issue_that_is_held_is_named_with_the_way_on(bench):
    bench.people("ada@example.org")
    bench.entries("one")
    bench.compose()
    bench.approve()
    with bench.app(THURSDAY) as app:
        app.hold(ISSUE, "a wrong number")
    assert lines(bench)["issues"] == [
        ("WARN", f"{ISSUE} is held (a wrong number); `newsletter release {ISSUE}` lets it go on")
    ]


def test_template_that_cannot_be_rendered_is_told_before_it_is_needed(bench):
    folder = bench.folder / "templates"
    (folder / "issue.mjml").write_text(
        '{% extends "default:issue.mjml" %}{% block intro %}{{ nope }}{% endblock %}', "utf-8"
    )
    assert [line.level for line in lines_of(bench, "templates")] == ["FAIL"]


def test_misspelt_template_is_told_with_its_likely_name(bench):
    (bench.folder / "templates" / "isue.mjml").write_text("", "utf-8")
    assert any("did you mean issue.mjml?" in line.text for line in lines_of(bench, "templates"))


def test_words_that_are_not_translated_are_told(bench):
    bench.settings(more='language = "it"')
    assert any("translate parts/words.txt" in line.text for line in lines_of(bench, "templates"))


def test_dkim_key_that_is_missing_or_signs_nothing_is_told(bench):
    bench.settings(tail='\n[[dkim]]\ndomain = "example.org"\nselector = "news"\nkey_file = "dkim.pem"\n')
    assert [line.level for line in lines_of(bench, "dkim")] == ["FAIL"]


def test_people_whose_topic_is_gone_are_told(bench):
    bench.people("anna@example.org", "ben@example.org")
    path = bench.folder / "newsletter.toml"
    path.write_text(path.read_text("utf-8").replace('slug = "rl-agents"', 'slug = "rl"'), "utf-8")
    assert any("2 subscribers have the topic weekly/rl-agents" in line.text for line in lines_of(bench, "topics"))


def test_newer_database_is_told_as_what_it_is(bench):
    bench.people("anna@example.org")
    with bench.app() as app, app.store.write() as session:
        session.execute(sa.text("update alembic_version set version_num = '9999'"))
    (line,) = lines_of(bench, "database")
    assert line.level == "FAIL" and "newer than this program" in line.text


def test_database_that_is_lost_is_told(bench):
    bench.entries("A paper")
    bench.compose()
    (bench.folder / "subscribers" / "newsletter.db").unlink()
    (line,) = lines_of(bench, "database")
    assert line.level == "FAIL" and "restore" in line.text


def lines_of(bench, what):
    with bench.app() as app:
        return [line for line in app.doctor() if line.what == what]
