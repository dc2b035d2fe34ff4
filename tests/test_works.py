"""Addresses, and the names of works."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import types, works


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://site.test/a", "http://site.test/a"),
        ("https://site.test/a", "https://SITE.test:443/a/"),
        ("https://site.test/a", "http://www.site.test:80/a#comments"),
        ("https://site.test/a?utm_source=rss&fbclid=x&mc_cid=1&gclid=2", "https://site.test/a"),
        ("https://site.test/a?b=1&a=2", "https://site.test/a?a=2&b=1"),
        ("https://site.test/%7euser/%C3%BC", "https://site.test/~user/ü"),
        ("https://site.test/", "https://site.test"),
        ("https://site.test/a/index.html", "https://site.test/a/"),
        ("https://site.test/a?rss=1", "https://site.test/a"),
    ],
)
def test_two_spellings_of_an_address_are_one(one, other):
    assert works.canonical_url(one) == works.canonical_url(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://site.test/show?id=1", "https://site.test/show?id=2"),
        ("https://site.test/A", "https://site.test/a"),
        ("https://site.test/a", "https://site.test:8080/a"),
        ("https://site.test/a%2Fb", "https://site.test/a?b"),
        ("https://site.test/#/one", "https://site.test/#/two"),
        ("https://site.test/a?ref=x", "https://site.test/a?ref=y"),
        ("https://a.site.test/", "https://b.site.test/"),
    ],
)
def test_two_addresses_are_not_taken_for_one(one, other):
    assert works.canonical_url(one) != works.canonical_url(other)


def test_a_link_keeps_everything_but_its_tracking():
    assert works.clean_url("https://site.test/a?b=%20x&utm_medium=feed&a=1#c") == "https://site.test/a?b=%20x&a=1#c"
    assert works.clean_url("https://site.test/a?utm_medium=feed") == "https://site.test/a"
    assert works.clean_url("http://[::1?a=b") == "http://[::1?a=b"


@given(st.text(max_size=60))
def test_any_text_has_a_canonical_form_that_stays(text):
    form = works.canonical_url(f"https://site.test/{text}")
    assert works.canonical_url(f"https://{form}") == form


@pytest.mark.parametrize(
    ("said", "doi"),
    [
        ("10.5555/lake.77", "10.5555/lake.77"),
        ("doi:10.5555/LAKE.77", "10.5555/lake.77"),
        ("DOI 10.5555/lake.77.", "10.5555/lake.77"),
        ("https://doi.org/10.5555/lake.77", "10.5555/lake.77"),
        ("http://dx.doi.org/10.5555%2Flake.77", "10.5555/lake.77"),
        ("info:doi/10.5555/lake.77", "10.5555/lake.77"),
        ("10.5555/lake.77 10.5555/lake.78", "10.5555/lake.77"),
        ("lake-77", None),
        ("9785555/lake", None),
    ],
)
def test_a_doi_is_read_however_it_is_written(said, doi):
    found = works.named(types.FoundEntry(doi=said))
    assert (found.doi, found.arxiv) == (doi, None)
    assert works.named(found) == found


def test_arxivs_own_doi_is_the_papers_arxiv_id():
    found = works.named(types.FoundEntry(doi="10.48550/arXiv.2609.01234"))
    assert (found.doi, found.arxiv) == (None, "2609.01234")


def test_a_paper_has_both_its_names():
    found = works.named(types.FoundEntry(url="https://arxiv.org/abs/2609.01234v2", doi="10.5555/LAKE.77"))
    assert (found.doi, found.arxiv) == ("10.5555/lake.77", "2609.01234")
