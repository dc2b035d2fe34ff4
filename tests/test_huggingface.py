"""Hugging Face's daily papers."""

import datetime as dt
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import collect, errors, types
from newsletter.sources import huggingface

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
PAPER = {
    "id": "2609.01234", "title": "Patient\n planners", "summary": "We plan\nwith patience.", "upvotes": 12,
    "publishedAt": "2026-09-08T17:00:00.000Z", "authors": [{"name": "Ann Lee", "hidden": False}, {"name": "Bo Li"}, {}],
}  # fmt: skip


def read(*rows, least=0):
    return huggingface.read(json.dumps(rows).encode(), least=least, now=NOW)[1]


def test_a_paper_is_arxivs_own():
    (entry,) = read(
        {"paper": PAPER, "publishedAt": "2026-09-09T00:00:00.000Z"}, {"paper": {"id": "x", "title": "y"}}, "z"
    )
    assert (entry.title, entry.url) == ("Patient planners", "https://arxiv.org/abs/2609.01234")
    assert (entry.summary, entry.authors) == ("We plan with patience.", ("Ann Lee", "Bo Li"))
    assert entry.published == dt.datetime(2026, 9, 8, 17, tzinfo=dt.UTC)
    twin = types.FoundEntry(title="Patient planners", guid="oai:arXiv.org:2609.01234v2")
    assert collect.keys(entry, "hf:papers")[0] == collect.keys(twin, "https://rss.arxiv.org/atom/cs.LG")[0]


def test_a_source_may_ask_for_upvotes():
    assert huggingface.least_upvotes("papers?upvotes=20") == 20
    assert huggingface.least_upvotes("papers") == 0
    assert not read({"paper": PAPER}, least=13)
    assert read({"paper": PAPER}, least=12)


@pytest.mark.parametrize("source", ["models", "papers?likes=3", "papers?upvotes=", ""])
def test_there_is_nothing_but_papers(source):
    with pytest.raises(errors.FetchError, match="hf:papers"):
        huggingface.least_upvotes(source)


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b"[" * 100_000])
def test_another_answer_is_refused(body):
    with pytest.raises(errors.FeedError, match="Hugging Face"):
        huggingface.read(body, least=0, now=NOW)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda inner: st.lists(inner, max_size=2)
)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(sorted(PAPER)), anything, max_size=6).map(lambda paper: {"paper": paper}),
        max_size=3,
    )
)
def test_any_row_is_a_paper_or_nothing(rows):
    assert all(entry.title and entry.url for entry in read(*rows))
