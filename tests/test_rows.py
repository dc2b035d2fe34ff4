"""JSON Lines and CSV: every row is an entry or is named."""

import datetime as dt
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors
from newsletter.sources import rows

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)


def read(*given):
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in given]
    return rows.read_jsonlines(b"\n".join(lines), now=NOW)


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


def test_a_row_may_have_a_doi_and_need_not_have_a_link():
    good, bad = read({"summary": "x", "doi": "https://doi.org/10.5555/lake.77"}, {"summary": "y", "doi": "lake 77"})
    assert [(entry.doi, entry.url) for _, entry in good] == [("https://doi.org/10.5555/lake.77", None)]
    assert [row.reason for row in bad] == ["“doi” must be a DOI, like 10.1000/182"]
    good, bad = rows.read_csv(b"title,url,doi\nOtters,,10.5555/a\nHerons,https://site.test/h,\n", now=NOW)
    assert [(entry.doi, entry.url) for _, entry in good] == [("10.5555/a", None), (None, "https://site.test/h")]
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
    good, bad = rows.read_jsonlines(b'\xef\xbb\xbf{"summary": "a"}\r\n\r\n  \n{"summary": "b"}\r\n', now=NOW)
    assert [line for line, _ in good] == [1, 4]
    assert not bad


def test_line_separators_inside_a_text_do_not_split_a_row():
    good, bad = rows.read_jsonlines('{"summary": "a\u2028b\x85c"}\n'.encode(), now=NOW)
    assert len(good) == 1
    assert not bad


@given(st.binary(max_size=300))
def test_any_octets_give_good_and_bad_rows_for_every_line_that_is_not_blank(data):
    good, bad = rows.read_jsonlines(data, now=NOW)
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    assert len(good) + len(bad) == sum(bool(line.strip()) for line in lines)


# -- CSV -------------------------------------------------------------------------------------------------------------


def csv(text):
    return rows.read_csv(text if isinstance(text, bytes) else text.encode(), now=NOW)


def test_a_row_of_csv_becomes_an_entry():
    good, bad = csv(
        "\ufeffTitle, url,authors,summary,published,id\r\n"
        'Otters,https://site.test/a,"Ann Lee; Lee, Bo","Two lines,\r\nof it.",2026-09-01,17\r\n'
        ",,,,,\r\n"
        "Herons,,,,,\r\n"
    )
    assert not bad
    assert [line for line, _ in good] == [2, 5]
    entry = good[0][1]
    assert (entry.title, entry.url, entry.authors, entry.guid) == (
        "Otters",
        "https://site.test/a",
        ("Ann Lee", "Lee, Bo"),
        "17",
    )
    assert (entry.summary, entry.published_is_date) == ("Two lines, of it.", True)
    assert good[1][1].title == "Herons"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separators_of_all_countries_are_read(separator):
    good, bad = csv(f"title{separator}summary\nOtters{separator}Text.\n")
    assert [(entry.title, entry.summary) for _, entry in good] == [("Otters", "Text.")]
    assert not bad


@pytest.mark.parametrize(
    ("row", "reason"),
    [("a,b,c", "3 cells under 2 columns"), ("a,sometime", "must be a date"), (",2026-09-01", "neither")],
)
def test_a_bad_row_of_csv_is_named_with_its_line(row, reason):
    good, bad = csv(f"title,published\nOtters,\n{row}\nHerons,\n")
    assert len(good) == 2
    assert [(b.line, reason in b.reason) for b in bad] == [(3, True)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "first line names no good columns"),
        ("title,title\na,b\n", "first line names no good columns"),
        ("url,id\nhttps://a.test/,1\n", "first line names no good columns"),
        ("title,colour\na,b\n", "“colour” is no column"),
        (b"title\n\xff\n", "not UTF-8 at octet 7"),
        ("title\n" + "x" * 200_000 + "\n", "broken CSV at line"),
    ],
)
def test_a_file_that_is_no_such_csv_says_why(text, reason):
    with pytest.raises(errors.FeedError, match=reason):
        csv(text)


@given(st.text(max_size=200))
def test_any_text_under_a_header_gives_rows_or_a_reason(text):
    try:
        good, bad = csv("title,summary\n" + text)
    except errors.FeedError:
        return
    assert all(entry.title or entry.summary for _, entry in good)
    assert all(row.line > 1 for row in bad)
