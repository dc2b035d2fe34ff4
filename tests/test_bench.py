"""`bench feeds`: every file is parsed and counted, many sources are polled, and peers are measured in the same run."""

import json

import pytest

from newsletter import cli

FEED = '<rss version="2.0"><channel><title>F</title><item><title>A</title></item><item><title>B</title></item></channel></rss>'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.xml").write_text(FEED, encoding="utf-8")
    (tmp_path / "deep/b.xml").write_text(FEED, encoding="utf-8")
    (tmp_path / "page.html").write_text("<html>", encoding="utf-8")
    return tmp_path


def test_feeds_are_counted_and_timed_without_a_workspace(folder, capsys):
    assert cli.run(["bench", "feeds", str(folder), "--sources", "0", "--peers", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["files"], found["refused"], found["entries"]) == (3, 1, 4)
    times = found["cpu_ms"]
    assert 0 <= times["median"] <= times["p90"] <= times["max"] <= times["total"]
    assert found["slowest"] in ("a.xml", "deep/b.xml", "page.html")
    assert found["peak_mb"] > 1
    assert found["peers"]["feedparser"]["ratio"] >= 0
    assert found["polling"] is None


POLLING = ["--sources", "9", "--hosts", "3", "--latency", "20", "--entries", "4"]


def test_sources_are_polled_from_hosts_of_its_own_by_the_whole_program(folder, capsys):
    assert cli.run(["bench", "feeds", str(folder), *POLLING, "--peers", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["polling"]
    assert (found["sources"], found["hosts"], found["latency_ms"]) == (9, 3, 20)
    assert (found["entries"], found["failed"]) == (36, 0)
    assert found["limit_s"] == 0.06  # three sources on each host, one after the other
    (peer,) = found["peers"].values()
    for run in (found["first"], found["again"], peer["run"]):
        assert run["seconds"] >= found["limit_s"]
        assert run["cpu_s"] > 0
        assert run["peak_mb"] is None or 1 < run["peak_mb"] < 1000
    assert peer["ratio"] > 0


def test_polling_is_told_in_words(folder, capsys):
    assert cli.run(["bench", "feeds", str(folder), *POLLING]) == 0
    out = capsys.readouterr().out
    assert "9 sources on 3 hosts, 20 ms each (that alone takes 0.06 s): 36 new entries, 0 failed\n" in out
    assert "\nfirst visit: " in out
    assert "\nagain, nothing new: " in out


def test_feeds_are_told_in_words(folder, capsys):
    assert cli.run(["bench", "feeds", str(folder), "--sources", "0"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("3 files, 1 refused, 4 entries\n")
    assert "feedparser" not in out


def test_empty_folder_is_a_clear_error(tmp_path, capsys):
    assert cli.run(["bench", "feeds", str(tmp_path)]) == 1
    assert "there is no file in" in capsys.readouterr().err


def test_people_are_imported_by_the_whole_program_twice(capsys):
    assert cli.run(["bench", "import", "--rows", "200", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["added"], found["unchanged"], found["suppressed"]) == (200, 188, 10, 2)
    assert found["first"]["cpu_s"] > 0
    assert found["again"]["seconds"] > 0
    assert cli.run(["bench", "import", "--rows", "100"]) == 0
    assert "100 rows: 94 added, 5 unchanged, 1 left out" in capsys.readouterr().out
