"""Hacker News: its search's answers, and what is asked."""

import datetime as dt
import json
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors
from newsletter.sources import hackernews

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
SINCE = dt.datetime(2026, 9, 3, 15, 30, tzinfo=dt.UTC)
HITS = {
    "hits": [
        {
            "objectID": "41000001", "title": "Otters  learn to plan", "url": "https://otters.test/plan", "author": "ann",
            "points": 214, "num_comments": 31, "created_at_i": 1789000000, "story_text": None,
        },
        {
            "objectID": "41000002", "title": "Ask HN: Which otter?", "author": "bo", "created_at_i": 1789000100,
            "story_text": "I have <i>two</i>.<p>Which?",
        },
        {"objectID": "41000003", "title": "From the future", "url": "javascript:alert(1)", "created_at_i": 1999000000},
        {"objectID": "x", "title": "No number"},
        {"objectID": "41000004"},
        "noise",
    ]
}  # fmt: skip


def test_stories_are_entries():
    title, found = hackernews.read(json.dumps(HITS).encode(), now=NOW)
    assert title == "Hacker News"
    assert [(story.title, story.url) for story in found] == [
        ("Otters learn to plan", "https://otters.test/plan"),
        ("Ask HN: Which otter?", "https://news.ycombinator.com/item?id=41000002"),
        ("From the future", "https://news.ycombinator.com/item?id=41000003"),
    ]
    assert found[1].summary == "I have two.\n\nWhich?"
    assert found[0].guid == "https://news.ycombinator.com/item?id=41000001"
    assert [story.published for story in found] == [
        dt.datetime.fromtimestamp(1789000000, dt.UTC),
        dt.datetime.fromtimestamp(1789000100, dt.UTC),
        None,
    ]


@pytest.mark.parametrize(
    ("source", "path", "asked"),
    [
        ("front?points=100", "/search", {"tags": ["front_page"], "numericFilters": ["points>=100"]}),
        ("front", "/search", {"tags": ["front_page"]}),
        ('"policy gradient"?points=5&comments=2', "/search_by_date",
         {"tags": ["story"], "query": ['"policy gradient"'], "numericFilters": ["points>=5,num_comments>=2,created_at_i>=1788393600"]}),
        ("rust", "/search_by_date", {"tags": ["story"], "query": ["rust"], "numericFilters": ["created_at_i>=1788393600"]}),
    ],
)  # fmt: skip
def test_a_source_becomes_a_search(source, path, asked):
    parts = urlsplit(hackernews.search_url("https://hn.test", source, SINCE))
    assert parts.path == path
    assert parse_qs(parts.query) == {**asked, "hitsPerPage": ["500"]}


@pytest.mark.parametrize("source", ["front?points=many", "front?votes=1", "what is it?", "?"])
def test_an_option_that_there_is_not_is_named(source):
    with pytest.raises(errors.FetchError, match="is no option"):
        hackernews.search_url("https://hn.test", source, SINCE)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"hits": 5}', b"{}", b"[" * 100_000])
def test_another_answer_is_refused(body):
    with pytest.raises(errors.FeedError, match="Hacker News"):
        hackernews.read(body, now=NOW)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda inner: st.lists(inner, max_size=2)
)


@given(st.lists(st.dictionaries(st.sampled_from(sorted(HITS["hits"][0])), anything, max_size=7), max_size=3))
def test_any_hit_is_a_story_or_nothing(hits):
    _, found = hackernews.read(json.dumps({"hits": hits}).encode(), now=NOW)
    assert all(story.title and story.url for story in found)
