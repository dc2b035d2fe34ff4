"""JSON Feed 1.0 and 1.1."""

import datetime as dt
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors
from newsletter.sources import feed, jsonfeed

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
URL = "https://feeds.test/all/feed.json"


def read(items, **feed_keys):
    document = {"version": "https://jsonfeed.org/version/1.1", "title": "A feed", "items": items, **feed_keys}
    return feed.parse(json.dumps(document).encode(), url=URL, now=NOW)


def test_an_item_becomes_an_entry():
    title, entries = read(
        [
            {
                "id": "a-1", "url": "https://site.test/a", "title": "  Otters\n return ", "content_html": "<p>One.</p><p>Two &amp; three.</p>",
                "date_published": "2026-09-01T10:00:00+02:00", "authors": [{"name": "Ann Lee"}, {"name": "Bo Chen"}],
                "tags": ["rivers", "rivers", "otters"],
            }
        ]
    )  # fmt: skip
    assert title == "A feed"
    (entry,) = entries
    assert entry.title == "Otters return"
    assert entry.summary == "One.\n\nTwo & three."
    assert entry.url == "https://site.test/a"
    assert entry.authors == ("Ann Lee", "Bo Chen")
    assert entry.published == dt.datetime(2026, 9, 1, 8, tzinfo=dt.UTC)
    assert entry.guid == "a-1"
    assert entry.categories == ("rivers", "otters")


def test_version_1_has_one_author_and_the_feeds_author_stands_in():
    _, entries = read(
        [{"id": "1", "title": "a", "author": {"name": "Own"}}, {"id": "2", "title": "b"}], author={"name": "Feed"}
    )
    assert [entry.authors for entry in entries] == [("Own",), ("Feed",)]


def test_relative_links_are_joined_to_the_feeds_address():
    assert read([{"id": "1", "url": "../post"}])[1][0].url == "https://feeds.test/post"
    assert (
        read([{"id": "1", "url": "post"}], feed_url="https://real.test/x/feed.json")[1][0].url
        == "https://real.test/x/post"
    )


def test_an_id_that_is_an_address_stands_in_for_the_link():
    assert read([{"id": "https://site.test/1", "content_text": "x"}])[1][0].url == "https://site.test/1"


def test_a_summary_beats_the_text_and_the_text_the_html():
    _, entries = read(
        [{"id": 7, "summary": "s", "content_text": "t"}, {"id": 8, "content_text": "1 < 2", "content_html": "h"}]
    )
    assert [entry.summary for entry in entries] == ["s", "1 < 2"]
    assert [entry.guid for entry in entries] == ["7", "8"]


def test_items_that_say_nothing_are_left_out_and_wrong_types_are_nothing():
    _, entries = read(
        [{"id": "only"}, "text", None, {"title": ["x"], "url": 5, "content_text": "kept", "tags": 3, "authors": [5]}]
    )
    assert [entry.summary for entry in entries] == ["kept"]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"{", "broken JSON"),
        (b'{"version": "https://jsonfeed.org/version/1", "items": [', "broken JSON at line 1"),
        (b"[1, 2]", "list"),
        (b'{"hits": [], "page": 1}', "no version; it holds hits, page"),
        (b'{"version": 2}', "its version is '2'"),
        (b'{"version": "https://jsonfeed.org/version/1", "items": {}}', "no list"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b"[" * 100_000, "nested"),
        (b'{"a": ' + b"9" * 5000 + b"}", "broken JSON"),
    ],
)
def test_what_is_no_json_feed_is_named(body, word):
    with pytest.raises(errors.FeedError, match=word):
        feed.parse(body, url=URL, now=NOW)


def test_a_byte_order_mark_and_lone_surrogates_do_no_harm():
    body = (
        b'\xef\xbb\xbf{"version": "https://jsonfeed.org/version/1", "items": [{"title": "a\\ud800b\\ue000c\\u0007"}]}'
    )
    assert feed.parse(body, url=URL, now=NOW)[1][0].title == "abc"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["id", "url", "title", "summary", "content_html", "date_published", "authors", "author", "tags"])


@given(st.lists(st.dictionaries(keys, values, max_size=6) | values, max_size=4), values)
def test_any_items_are_read_without_a_crash(items, title):
    body = json.dumps({"version": "https://jsonfeed.org/version/1", "title": title, "items": items}).encode()
    _, entries = jsonfeed.parse(body, url=URL, now=NOW)
    assert all(entry.title or entry.url or entry.summary for entry in entries)


def test_a_feed_of_very_many_items_is_refused(monkeypatch):
    monkeypatch.setattr(jsonfeed, "MOST_ENTRIES", 3)
    assert len(read([{"title": f"A {i}"} for i in range(3)])[1]) == 3
    with pytest.raises(errors.FeedError, match="over 3 entries"):
        read([{"title": f"A {i}"} for i in range(4)])
