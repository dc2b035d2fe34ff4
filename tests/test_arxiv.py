"""Searches of arXiv's API, against a server that answers as arXiv does."""

import asyncio
import datetime as dt
from urllib.parse import parse_qs, urlsplit

import pytest
from httpd import Reply, serve

from newsletter import config, errors, sources, types
from newsletter.sources import arxiv

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
LIMITS = config.Collect(allow_private=["127.0.0.0/8"], deadline=dt.timedelta(seconds=5))
QUERY = 'cat:cs.LG AND all:"policy gradient"'


def paper(number, hours=1.0, version=1):
    date = (NOW - dt.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"""<entry><id>http://arxiv.org/abs/2609.{number:05}v{version}</id><title>Paper {number}</title>
    <published>{date}</published><updated>2026-09-10T00:00:00Z</updated><summary>About {number}.</summary>
    <link href="https://arxiv.org/abs/2609.{number:05}v{version}" rel="alternate" type="text/html"/>
    <link href="https://arxiv.org/pdf/2609.{number:05}v{version}" rel="related" type="application/pdf" title="pdf"/>
    <author><name>Andr\\'e Lima</name></author><author><name>Bo Li</name></author>
    <category term="cs.LG" scheme="http://arxiv.org/schemas/atom"/><category term="stat.ML"/></entry>"""


def page(*papers, total=None):
    return (
        '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
        f"<opensearch:totalResults>{len(papers) if total is None else total}</opensearch:totalResults>"
        f"{''.join(papers)}</feed>"
    ).encode()


def search(pages, **more):
    """What a search collects whose answers are `pages` in turn, and the `start` of each request."""
    answers = iter(pages)

    def answer(asked):
        found = next(answers)
        return found if isinstance(found, Reply) else Reply(found)

    async def all_of_it(base, folder="/nowhere"):
        asks = [sources.Ask(f"arxiv:{QUERY}", **more)]
        bases = sources.Bases(arxiv=base)
        found = sources.visit(asks, LIMITS, folder=folder, user_agent="x", now=NOW, bases=bases)
        return [collected async for collected in found]

    with serve({"/api/query": answer}) as server:
        (collected,) = asyncio.run(all_of_it(server.url("/api/query")))
    asked = [parse_qs(urlsplit(each.path).query) for each in server.asked]
    assert all(each["search_query"] == [QUERY] and each["sortBy"] == ["submittedDate"] for each in asked)
    return collected, [int(each["start"][0]) for each in asked]


def many(first, count, hours=1.0):
    return [paper(i, hours) for i in range(first, first + count)]


def test_a_paper_is_the_work_not_a_version_with_all_it_has():
    found = arxiv.read(page(paper(7, 48, version=3)), now=NOW)
    assert found.total == 1
    (entry,) = found.entries
    assert (entry.title, entry.url) == ("Paper 7", "https://arxiv.org/abs/2609.00007")
    assert entry.guid == "http://arxiv.org/abs/2609.00007"
    assert (entry.authors, entry.categories) == (("André Lima", "Bo Li"), ("cs.LG", "stat.ML"))
    assert entry.published == NOW - dt.timedelta(hours=48)


def test_pages_are_read_until_the_search_is_at_its_end():
    collected, starts = search([page(*many(0, 100), total=150), page(*many(100, 50), total=150)])
    assert starts == [0, 100]
    assert (collected.status, len(collected.entries), collected.note) == ("new", 150, None)


def test_what_is_older_than_wanted_ends_it_and_is_left_out():
    old = [*many(0, 60), *many(60, 40, hours=24 * 40)]
    collected, starts = search([page(*old, total=5000)])
    assert (starts, len(collected.entries)) == ([0], 60)
    collected, starts = search([page(*old, total=100)], since=NOW - dt.timedelta(days=90))
    assert len(collected.entries) == 100


def test_a_page_of_known_and_settled_papers_ends_it():
    pages = [page(*many(0, 100), total=500), page(*many(100, 100, hours=200), total=500)]
    known = frozenset(f"http://arxiv.org/abs/2609.{i:05}" for i in range(50, 400))
    _, starts = search(pages, known=known, settled=NOW - dt.timedelta(days=3))
    assert starts == [0, 100]


def test_known_papers_that_are_not_settled_do_not_end_it():
    pages = [page(*many(0, 100), total=150), page(*many(100, 50), total=150)]
    known = frozenset(f"http://arxiv.org/abs/2609.{i:05}" for i in range(400))
    assert search(pages, known=known, settled=NOW - dt.timedelta(days=3))[1] == [0, 100]


def test_an_empty_page_that_should_not_be_is_asked_for_again():
    collected, starts = search([page(*many(0, 100), total=150), page(total=150), page(*many(100, 50), total=150)])
    assert starts == [0, 100, 100]
    assert (collected.status, len(collected.entries)) == ("new", 150)
    collected, starts = search([page(), page(*many(0, 3))], known=frozenset({"x"}))
    assert (starts, len(collected.entries)) == ([0, 0], 3)


@pytest.mark.parametrize(
    ("fault", "word", "code"),
    [
        ([Reply(status=503, headers={"Retry-After": "9"})], "503", 503),
        ([page(total=150)] * 3, "empty page 3 times", None),
        ([b"<html>no</html>"], "HTML page", None),
    ],
)
def test_what_came_before_a_fault_is_kept_and_the_fault_is_said(fault, word, code):
    collected, _ = search([page(*many(0, 100), total=150), *fault])
    assert (collected.status, len(collected.entries), collected.code) == ("failed", 100, code)
    assert word in collected.error
    assert "the 100 papers before that are kept" in collected.error
    assert collected.retry_after == (9 if code else None)


def test_a_fault_at_once_is_a_failure():
    assert search([Reply(status=429, headers={"Retry-After": "60"})])[0].retry_after == 60
    assert "empty page" in search([page(total=9)] * 3)[0].error


ERROR = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>https://arxiv.org/api/errors#incorrect_id</id>
<title>Error</title><summary>incorrect id format for abc</summary></entry></feed>"""


def test_an_error_of_arxiv_is_told_in_its_own_words():
    for reply in (Reply(ERROR, status=400), Reply(ERROR)):
        collected, _ = search([reply])
        assert collected.status == "failed"
        assert "incorrect id format for abc" in collected.error
    with pytest.raises(errors.FeedError, match="incorrect id"):
        arxiv.read(ERROR, now=NOW)


def test_nothing_found_is_expected_or_suspicious():
    assert search([page()])[0].note.startswith(types.EMPTY_SUSPICIOUS)
    collected, _ = search([page(paper(1, 24 * 40))])
    assert collected.note.startswith(types.EMPTY_EXPECTED)
    assert (collected.status, collected.entries) == ("new", ())


def test_two_thousand_papers_are_the_end():
    pages = [page(*many(i * 100, 100), total=9999) for i in range(20)]
    collected, starts = search(pages)
    assert len(starts) == 20
    assert (len(collected.entries), "narrow it" in collected.note) == (2000, True)
