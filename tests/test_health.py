"""`doctor`: one line a thing, and what to do."""

import pytest
from conftest import ISSUE, THURSDAY

from newsletter.app import reports


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
