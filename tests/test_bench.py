"""`bench feeds`: every file is parsed and counted, and a peer is measured in the same run."""

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
    assert cli.run(["bench", "feeds", str(folder), "--peers", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["files"], found["refused"], found["entries"]) == (3, 1, 4)
    times = found["cpu_ms"]
    assert 0 <= times["median"] <= times["p90"] <= times["max"] <= times["total"]
    assert found["slowest"] in ("a.xml", "deep/b.xml", "page.html")
    assert found["peak_mb"] > 1
    assert found["peers"]["feedparser"]["ratio"] >= 0


def test_feeds_are_told_in_words(folder, capsys):
    assert cli.run(["bench", "feeds", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("3 files, 1 refused, 4 entries\n")
    assert "feedparser" not in out


def test_empty_folder_is_a_clear_error(tmp_path, capsys):
    assert cli.run(["bench", "feeds", str(tmp_path)]) == 1
    assert "there is no file in" in capsys.readouterr().err
