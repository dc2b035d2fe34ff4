"""JSON Lines to import, and the files that a pattern may name."""

import datetime as dt
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors
from newsletter.sources import files

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)


def read(*rows):
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    return files.read_jsonlines(b"\n".join(lines), now=NOW)


def test_a_row_becomes_an_entry_as_it_stands():
    good, bad = read(
        {
            "title": "Otters", "url": "https://site.test/a", "authors": ["Ann Lee"], "summary": "R & D <b>is</b>  bold.\n\nNext.",
            "published": "2026-09-01", "id": 17,
        }
    )  # fmt: skip
    assert not bad
    ((line, entry),) = good
    assert line == 1
    assert entry.summary == "R & D <b>is</b> bold.\n\nNext."
    assert (entry.title, entry.url, entry.authors, entry.guid) == ("Otters", "https://site.test/a", ("Ann Lee",), "17")
    assert (entry.published, entry.published_is_date) == (dt.datetime(2026, 9, 1, tzinfo=dt.UTC), True)


def test_a_summary_alone_and_a_title_alone_are_enough():
    good, bad = read(
        {"summary": "Liu et al. replace it."}, {"title": "Only a title", "summary": None, "url": "", "published": ""}
    )
    assert len(good) == 2
    assert not bad


def test_a_date_that_cannot_be_believed_is_no_date():
    good, bad = read({"summary": "x", "published": "1889-01-01"}, {"summary": "y", "published": "2031-01-01"})
    assert [entry.published for _, entry in good] == [None, None]
    assert not bad


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"{", "not JSON"),
        (b"not json at all", "not JSON"),
        (b'["summary"]', "not an object"),
        (b'"summary"', "not an object"),
        (b'{"summary": "\xff"}', "not UTF-8 at octet 14"),
        (b"[" * 100_000, "nested"),
        (b'{"summary": ' + b"9" * 5000 + b"}", "too long"),
        ({"summary": "x", "colour": "red"}, "colour"),
        ({"summary": 5}, "“summary” must be a text"),
        ({"summary": "x", "title": ["a"]}, "“title” must be a text"),
        ({"summary": "x", "authors": "Ann Lee"}, "list of texts"),
        ({"summary": "x", "authors": ["Ann", 5]}, "list of texts"),
        ({"summary": "x", "url": "javascript:alert(1)"}, "whole web address"),
        ({"summary": "x", "url": "/relative"}, "whole web address"),
        ({"summary": "x", "published": "sometime in spring"}, "must be a date"),
        ({"summary": "x", "published": 2026}, "“published” must be a text"),
        ({"summary": "x", "id": True}, "“id”"),
        ({"summary": "x", "id": 1.5}, "“id”"),
        ({"authors": ["Ann Lee"]}, "neither"),
        ({"summary": "  \u0007 "}, "neither"),
    ],
)
def test_a_bad_row_is_named_and_the_rest_goes_on(row, reason):
    good, bad = read({"summary": "before"}, row, b"", {"summary": "after"})
    assert [line for line, _ in good] == [1, 4]
    ((line, value, why),) = [(b.line, b.value, b.reason) for b in bad]
    assert line == 2
    assert reason in why
    assert len(value) <= 80
    assert "\n" not in value + why


def test_a_byte_order_mark_carriage_returns_and_blank_lines_are_no_fault():
    good, bad = files.read_jsonlines(b'\xef\xbb\xbf{"summary": "a"}\r\n\r\n  \n{"summary": "b"}\r\n', now=NOW)
    assert [line for line, _ in good] == [1, 4]
    assert not bad


def test_line_separators_inside_a_text_do_not_split_a_row():
    good, bad = files.read_jsonlines('{"summary": "a\u2028b\x85c"}\n'.encode(), now=NOW)
    assert len(good) == 1
    assert not bad


@given(st.binary(max_size=300))
def test_any_octets_give_good_and_bad_rows_for_every_line_that_is_not_blank(data):
    good, bad = files.read_jsonlines(data, now=NOW)
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    assert len(good) + len(bad) == sum(bool(line.strip()) for line in lines)


# -- patterns --------------------------------------------------------------------------------------------------------


def test_a_pattern_names_files_in_order(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "c.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "d.jsonl").mkdir()
    assert [path.name for path in files.find("*.jsonl", tmp_path)] == ["a.jsonl", "b.jsonl"]
    assert files.find("inbox/*.jsonl", tmp_path) == []


@pytest.mark.parametrize(
    "pattern", ["/etc/hostname", "//etc/hostname", "../x.jsonl", "a/../../x", "~/x", "", "a\0b", "nothing.jsonl", "**x"]
)
def test_a_pattern_that_leads_out_or_nowhere_is_refused(tmp_path, pattern):
    with pytest.raises(errors.FetchError):
        files.find(pattern, tmp_path)


def test_a_symbolic_link_out_of_the_workspace_is_not_followed(tmp_path):
    (tmp_path / "secret.jsonl").write_text("{}")
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (folder / "up").symlink_to(tmp_path)
    for pattern in ("*.jsonl", "up/*.jsonl", "link.jsonl"):
        with pytest.raises(errors.FetchError, match="symbolic link"):
            files.find(pattern, folder)
    (folder / "own.jsonl").write_text("{}")
    (folder / "also.jsonl").symlink_to(folder / "own.jsonl")
    assert [path.name for path in files.find("*.jsonl", folder)] == ["also.jsonl", "own.jsonl"]


def test_a_stamp_changes_with_the_files(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("1")
    first = files.stamp([path])
    assert files.stamp([path]) == first
    path.write_text("22")
    assert len({first, files.stamp([path]), files.stamp([])}) == 3


def test_other_kinds_and_large_files_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x")
    with pytest.raises(errors.FeedError, match="kind of file"):
        files.read(path, 10)
    path = path.rename(tmp_path / "a.xml")
    assert files.read(path, 1) == b"x"
    with pytest.raises(errors.FeedError, match="larger"):
        files.read(path, 0)
