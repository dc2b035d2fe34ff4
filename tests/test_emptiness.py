"""Why a feed may be empty."""

import datetime as dt

import pytest

from newsletter import types
from newsletter.sources import emptiness

URL = "https://mirror.example.org/feeds/cs.CL"
SATURDAY = dt.datetime(2026, 9, 12, 12, tzinfo=dt.UTC)
THURSDAY = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
RSS = b"<?xml version='1.0'?><rss version='2.0'><channel><title>cs.CL</title><link>%s</link></channel></rss>"
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom"><id>%s</id></feed>'
SELF = b'<feed xmlns="http://www.w3.org/2005/Atom"><id>x</id><link rel="self" href="%s"/></feed>'
RDF = b'<rdf:RDF><channel rdf:about="%s"></channel></rdf:RDF>'


@pytest.mark.parametrize("form", [RSS, ATOM, SELF, RDF])
def test_arxivs_feed_is_known_by_what_it_says_of_itself(form):
    body = form % b"http://rss.arxiv.org/rss/cs.CL"
    assert emptiness.why(URL, None, body, types.Pauses(), SATURDAY).startswith(types.EMPTY_EXPECTED)
    assert emptiness.why(URL, None, body, types.Pauses(), THURSDAY).startswith(types.EMPTY_SUSPICIOUS)
    other = form % b"https://notarxiv.org/x"
    assert emptiness.why(URL, None, other, types.Pauses(), SATURDAY).startswith(types.EMPTY_SUSPICIOUS)


def test_a_feed_that_only_speaks_of_arxiv_is_not_arxivs():
    body = RSS % b"https://blog.example.org/" + b"<description>about https://arxiv.org/ and friends</description>"
    assert emptiness.why(URL, None, body, types.Pauses(), SATURDAY).startswith(types.EMPTY_SUSPICIOUS)


def test_a_304_is_known_by_the_host_or_the_title():
    none = types.Pauses()
    assert emptiness.why("https://rss.arxiv.org/rss/cs.CL", None, None, none, SATURDAY).startswith(types.EMPTY_EXPECTED)
    title = "cs.CL updates on arXiv.org"
    assert emptiness.why(URL, title, None, none, SATURDAY).startswith(types.EMPTY_EXPECTED)
    assert emptiness.why(URL, "A blog", None, none, SATURDAY).startswith(types.EMPTY_SUSPICIOUS)


def test_the_feeds_own_word_goes_first():
    note = emptiness.why(URL, None, b"<rss/>", types.Pauses(days=(3,)), THURSDAY)
    assert note.startswith(types.EMPTY_EXPECTED)
    assert "Thursday" in note


@pytest.mark.parametrize(
    ("moment", "rests"),
    [
        ("2026-09-12T03:00:00+00:00", False),  # still Friday in New York
        ("2026-09-12T11:00:00+00:00", True),
        ("2026-09-14T03:00:00+00:00", True),  # still Sunday there
        ("2026-09-14T08:00:00+00:00", True),  # Monday's feed may not be made yet
        ("2026-09-14T12:00:00+00:00", False),
        ("2026-11-26T15:00:00+00:00", True),  # Thanksgiving
        ("2026-11-27T15:00:00+00:00", True),  # its mailing is missing from Friday's feed
        ("2026-09-08T15:00:00+00:00", True),  # the day after Labor Day
        ("2026-05-25T15:00:00+00:00", True),  # Memorial Day
        ("2027-01-01T15:00:00+00:00", True),
        ("2027-01-18T15:00:00+00:00", True),  # Martin Luther King's
        ("2026-12-30T20:00:00+00:00", False),
    ],
)
def test_days_on_which_arxiv_announces_nothing(moment, rests):
    assert bool(emptiness.arxiv_rests(dt.datetime.fromisoformat(moment))) is rests
