"""JSON Lines and CSV: every row is an entry or is named."""

import csv as csv_writer
import datetime as dt
import io
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
        ("x" * 200_000 + "\n", "broken CSV at line 1"),
        ('title,"summary\n', "broken CSV at line 1: a quote is opened"),
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


def shown(found):
    good, bad = found
    return [(line, entry.title) for line, entry in good], [(row.line, row.reason.partition(";")[0]) for row in bad]


OPEN = "a quote is opened and not closed"


@pytest.mark.parametrize(
    ("text", "titles", "bad"),
    [
        # It is closed by another's quote, by nothing, or by a stray one.
        ('A,"one,https://a.test/1\nB,two,https://a.test/2\nC,"three",https://a.test/3\n', [(3, "B"), (4, "C")], [2]),
        ('A,"one,https://a.test/1\nB,two,https://a.test/2\nC,three,https://a.test/3\n', [(3, "B"), (4, "C")], [2]),
        ('A,"one,https://a.test/1\nB,two,https://a.test/2\nC,three",https://a.test/3\n', [(3, "B"), (4, "C")], [2]),
        ('A,"one,https://a.test/1\nB,"",https://a.test/2\nC,"three,\n', [(3, "B")], [2, 4]),
        ('"A,one,https://a.test/1\n"B",two,https://a.test/2\n', [(3, "B")], [2]),
        # These are whole.
        ('A,"one\n\nB, two, three\n",https://a.test/1\nB,two,\n', [(2, "A"), (6, "B")], []),
        ('A,"she said ""no""\nand left",https://a.test/1\n', [(2, "A")], []),
        ('A,"one" and a half,https://a.test/1\nB,5" wide,\n', [(2, "A"), (3, "B")], []),
    ],
)
def test_quote_that_is_never_closed_costs_its_own_row_alone(text, titles, bad):
    assert shown(csv("title,summary,url\n" + text)) == (titles, [(line, OPEN) for line in bad])


def test_quote_that_nothing_closes_is_found_without_addresses_and_dates():
    assert shown(csv('title,summary\nA,"one\nB,two\nC,three\n')) == ([(3, "B"), (4, "C")], [(2, OPEN)])
    assert shown(csv('title,published\nA,"2026-09-01\nB,2026-09-02\nC"",x"\n'))[0][0] == (3, "B")


def test_cell_without_end_costs_its_own_row_alone():
    assert (
        shown(csv("title,summary\nA," + "x" * 200_000 + '\nB,"' + f"{'x' * 999}\n" * 200 + "\nC,three\n"))[0][-1][1]
        == "C"
    )


def test_many_quotes_that_are_never_closed_take_no_time():
    good, bad = csv("title,summary\n" + 'A,"one\nB,two\n' * 20_000)
    assert (len(good), len(bad)) == (20_000, 20_000)


@given(
    st.lists(st.tuples(st.text('ab"\n,; \u2028', min_size=1), st.text('ab"\r\n,; ')), max_size=8),
)
def test_what_a_program_writes_is_one_row_each(cells):
    stream = io.StringIO()
    writer = csv_writer.writer(stream)
    writer.writerows([("title", "summary"), *(("x" + title, text) for title, text in cells)])
    good, bad = csv(stream.getvalue())
    assert (len(good), bad) == (len(cells), [])


def test_header_of_another_program_is_understood():
    good, bad = csv(
        "Title,Link,Description,Date,Author,Pub_Date,GUID\n"
        "Otters,https://site.test/a,Text.,2026-09-01,Ann Lee; Bo Li,2026-09-02,17\n"
        "Herons,,,,,2026-09-02,\n"
    )
    assert not bad
    first, second = (entry for _, entry in good)
    assert (first.url, first.summary, first.authors, first.guid) == (
        "https://site.test/a", "Text.", ("Ann Lee", "Bo Li"), "17",
    )  # fmt: skip
    assert [entry.published.day for entry in (first, second)] == [1, 2]


@pytest.mark.parametrize(("key", "name"), [(key, name) for key, names in rows.COLUMNS.items() for name in names])
def test_every_synonym_is_a_column(key, name):
    value = {"url": "https://a.test/", "published": "2026-09-01", "doi": "10.1000/182"}.get(key, "Text")
    other = "title" if key != "title" else "summary"
    good, bad = csv(f"{other},{name.upper()}\nOtters,{value}\n")
    assert (len(good), bad) == (1, [])


def test_all_unknown_columns_and_keys_are_named_at_once():
    with pytest.raises(errors.FeedError, match="“Colour”, “Size” are no columns; there is title, url"):
        csv("title,Colour,Size\na,b,c\n")
    _, bad = rows.read_jsonlines(b'{"title": "a", "colour": 1, "size": 2}', now=NOW)
    assert bad[0].reason.startswith("“colour”, “size” are no keys; there is title, url")


def test_two_columns_of_one_name_are_refused_and_two_of_one_meaning_are_not():
    with pytest.raises(errors.FeedError, match="no good columns"):
        csv("title,Pub Date,pubDate\na,,\n")
    good, _ = csv("title,content,summary\nOtters,long,short\nHerons,long,\n")
    assert [entry.summary for _, entry in good] == ["short", "long"]
