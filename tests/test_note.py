"""Markdown files: one entry each."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors
from newsletter.sources import note

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)


def read(text):
    return note.read(text if isinstance(text, bytes) else text.encode(), name="inbox/otters.md", now=NOW)


def one(text):
    good, bad = read(text)
    assert not bad
    ((line, entry),) = good
    assert line == 1
    return entry


def test_a_heading_and_a_paragraph_are_an_entry_named_by_its_file():
    entry = one(
        "\ufeff# Otters *swim*\r\n\r\n![a photo](x.png)\n\n- a list\n\nThey **swim** in [the sea](https://sea.test/(a)),\n"
        "and `dive_deep`.\n\nMore.\n"
    )
    assert (entry.title, entry.summary) == ("Otters swim", "They swim in the sea, and dive_deep.")
    assert (entry.guid, entry.url, entry.published) == ("inbox/otters.md", None, None)


@pytest.mark.parametrize(
    "front",
    [
        "+++\ntitle = 'Otters'\nurl = 'https://site.test/a'\nauthors = ['Ann Lee', 'Bo Li']\npublished = 2026-09-01\ntags = ['x']\n+++\n",
        "---\ntitle: \"Otters\"\nlink: https://site.test/a\nauthors: [Ann Lee, 'Bo Li']\ndate: 2026-09-01\ntags:\n  - x\n---\n",
        "---\nTitle: Otters\nurl: https://site.test/a\nauthor: Ann Lee; Bo Li\ndate: 2026-09-01\nid:\n---\n",
    ],
)
def test_front_matter_is_read_in_two_forms(front):
    entry = one(f"{front}\n# Another heading\n\nText.\n")
    assert (entry.title, entry.url, entry.authors) == ("Otters", "https://site.test/a", ("Ann Lee", "Bo Li"))
    assert (entry.published, entry.published_is_date) == (dt.datetime(2026, 9, 1, tzinfo=dt.UTC), True)
    assert (entry.summary, entry.guid) == ("Text.", "inbox/otters.md")


def test_a_rule_is_no_front_matter_and_a_text_needs_no_heading():
    assert one("Text first.\n\n---\n\nmore\n").summary == "Text first."
    assert one("---\nText.").summary == "--- Text."


def test_what_is_wrong_is_said():
    assert "must be a whole web address" in read("+++\nurl = 'nowhere'\n+++\n# T\n")[1][0].reason
    assert "neither" in read("")[1][0].reason
    assert "authors" in read("+++\nauthors = 5\n+++\n# T\n")[1][0].reason
    with pytest.raises(errors.FeedError, match="no TOML"):
        read("+++\ntitle =\n+++\n")
    with pytest.raises(errors.FeedError, match="not UTF-8"):
        read(b"\xff")


@given(st.text(alphabet=st.sampled_from("ab*_`[]()!#-+:\n \\"), max_size=200))
def test_any_text_is_an_entry_or_a_bad_row(text):
    good, bad = read(text)
    assert len(good) + len(bad) == 1
