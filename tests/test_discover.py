"""From a page to its feeds, and one look at a source; against real servers."""

import asyncio
import contextlib
import datetime as dt

import httpd
import pytest

from newsletter import config, errors
from newsletter.sources import discover, manners

NOW = dt.datetime(2026, 9, 10, 11, 0, tzinfo=dt.UTC)
RSS = (
    b'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>The feed</title>'
    b"<item><title>One</title><link>https://a.test/1</link><guid>1</guid>"
    b"<pubDate>Mon, 07 Sep 2026 09:00:00 GMT</pubDate></item></channel></rss>"
)
XML = {"Content-Type": "application/rss+xml"}


def visitor():
    limits = config.Collect(allow_private=["127.0.0.1"], deadline=dt.timedelta(seconds=5))
    return discover.Visitor(limits, "test", NOW, manners.Manners(4))


def found(address):
    async def search():
        one = visitor()
        try:
            return await discover.discover(address, one)
        finally:
            one.house.close()

    return asyncio.run(search())


def looked(*urls):
    async def look():
        one = visitor()
        async with contextlib.aclosing(discover.look(urls, one)) as looks:
            seen = [each async for each in looks]
        one.house.close()
        return {each.asked: each for each in seen}

    return asyncio.run(look())


def page(html, status=200):
    return httpd.Reply(html.encode(), status, {"Content-Type": "text/html; charset=utf-8"})


def paths(server):
    return [asked.path for asked in server.asked]


# -- discovery -------------------------------------------------------------------------------------------------------


def test_feed_itself_is_asked_once():
    with httpd.serve({"/f": httpd.Reply(RSS, headers=XML)}) as server:
        (feed,) = found(server.url("/f")).feeds
        assert (feed.asked, feed.title, len(feed.entries)) == (server.url("/f"), "The feed", 1)
        assert paths(server) == ["/f"]


def test_feeds_that_a_page_names_are_asked_and_the_page_once():
    html = (
        '<html><head><base href="/blog/"><link rel="alternate" type="application/rss+xml" href="one.xml">'
        '<link type="application/atom+xml" href="../two" rel="ALTERNATE home"><link rel="alternate" hreflang="de" href="/de">'
        '<link rel=alternate type="application/rss+xml" href="/gone"></head>'
    )
    routes = {"/": page(html), "/blog/one.xml": httpd.Reply(RSS), "/two": httpd.Reply(RSS.replace(b"feed", b"other"))}
    with httpd.serve(routes) as server:
        result = found(server.url("/"))
        assert [(feed.asked, feed.title) for feed in result.feeds] == [
            (server.url("/blog/one.xml"), "The feed"), (server.url("/two"), "The other"),
        ]  # fmt: skip
        assert paths(server) == ["/", "/blog/one.xml", "/two", "/gone"]
        assert [failed.asked for failed in result.failed] == [server.url("/"), server.url("/gone")]


def test_link_that_looks_like_a_feed_is_tried_where_none_is_named():
    html = '<html><body><a href="/about">About</a> <a href="/blog/feed/">RSS</a> <a href="mailto:x@y.z">Mail</a>'
    with httpd.serve({"/": page(html), "/blog/feed/": httpd.Reply(RSS)}) as server:
        assert [feed.asked for feed in found(server.url("/")).feeds] == [server.url("/blog/feed/")]


@pytest.mark.parametrize("path", discover.WELL_KNOWN)
def test_well_known_paths_are_tried_last(path):
    with httpd.serve({"/blog": page("<html>"), path: httpd.Reply(RSS)}) as server:
        assert [feed.asked for feed in found(server.url("/blog")).feeds] == [server.url(path)]


def test_page_that_is_gone_may_have_a_feed_beside_it():
    with httpd.serve({"/atom.xml": httpd.Reply(RSS)}) as server:
        seen = found(server.url("/old"))
        assert [feed.asked for feed in seen.feeds] == [server.url("/atom.xml")]
        assert "404" in seen.missing
        assert found(server.url("/atom.xml")).missing is None


def test_two_ways_to_one_feed_are_one():
    with httpd.serve() as server:
        away = httpd.Reply(status=302, headers={"Location": server.url("/atom.xml")})
        html = page(
            '<html><link rel="alternate" type="text/xml" href="/a"><link rel="alternate" type="text/xml" href="/b">'
        )
        server.routes |= {"/": html, "/a": away, "/b": away, "/atom.xml": httpd.Reply(RSS)}
        assert len(found(server.url("/")).feeds) == 1


def test_permanent_move_names_the_new_address():
    with httpd.serve({"/new": httpd.Reply(RSS)}) as server:
        server.routes["/old"] = httpd.Reply(status=301, headers={"Location": server.url("/new")})
        assert [feed.asked for feed in found(server.url("/old")).feeds] == [server.url("/new")]


def test_number_of_candidates_is_capped():
    links = "".join(f'<link rel="alternate" type="application/rss+xml" href="/{i}">' for i in range(500))
    with httpd.serve({"/": page(f"<html>{links}")}) as server:
        assert not found(server.url("/")).feeds
        assert len(server.asked) <= 1 + discover.MOST_CANDIDATES + len(discover.WELL_KNOWN)


@pytest.mark.parametrize("status", [403, 500, 429])
def test_page_that_is_refused_is_a_clear_error_and_no_guessing(status):
    with httpd.serve({"/": httpd.Reply(status=status)}) as server:
        with pytest.raises(errors.FetchError, match=str(status)):
            found(server.url("/"))
        assert paths(server) == ["/"]


@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc/passwd", "gopher://a.test/", "", "https://"])
def test_what_is_no_web_address_is_a_clear_error(address):
    with pytest.raises(errors.FetchError, match="no web address"):
        found(address)


def test_hostile_page_ends_soon():
    with httpd.serve({"/": page("<html>" + "<link " * 200_000 + "<a href='" * 100_000)}) as server:
        assert not found(server.url("/")).feeds


CHANNEL = "UC" + "x" * 22
VIDEOS = "https://www.youtube.com/feeds/videos.xml"


@pytest.mark.parametrize(
    ("address", "feeds"),
    [
        (f"https://www.youtube.com/channel/{CHANNEL}/videos", [f"{VIDEOS}?channel_id={CHANNEL}"]),
        ("https://m.youtube.com/user/someone", [f"{VIDEOS}?user=someone"]),
        ("https://www.youtube.com/playlist?list=PL123", [f"{VIDEOS}?playlist_id=PL123"]),
        ("https://www.youtube.com/watch?v=1&list=PL123", [f"{VIDEOS}?playlist_id=PL123"]),
        ("https://www.youtube.com/@handle", []),
        (
            "https://github.com/owner/repo.git",
            [f"https://github.com/owner/repo/{each}.atom" for each in ("releases", "commits", "tags")],
        ),
        ("https://github.com/owner/repo/tree/main/docs", ["https://github.com/owner/repo/releases.atom"]),
        ("https://github.com/owner/repo/releases.atom", []),
        ("https://github.com/owner", []),
        ("https://notgithub.com/owner/repo", []),
    ],
)
def test_sites_whose_feeds_are_known(address, feeds):
    assert discover.known_for(address)[: len(feeds) or 1] == feeds


def test_channel_of_a_youtube_page_is_read_from_its_canonical_link():
    html = f'<link rel="canonical" href="https://www.youtube.com/channel/{CHANNEL}">'
    assert discover._Page(html, "https://www.youtube.com/@handle").channels == [f"{VIDEOS}?channel_id={CHANNEL}"]


# -- one look --------------------------------------------------------------------------------------------------------


def test_look_gives_each_source_its_own_result():
    routes = {"/good": httpd.Reply(RSS, headers=XML), "/page": page("<html><title>Hello</title>")}
    with httpd.serve(routes) as server:
        seen = looked(server.url("/good"), server.url("/page"), server.url("/gone"))
        assert seen[server.url("/good")].notes == ()
        assert len(seen[server.url("/good")].entries) == 1
        assert "HTML page titled “Hello”" in seen[server.url("/page")].error
        assert "404" in seen[server.url("/gone")].error
        assert server.busiest == 1


@pytest.mark.parametrize(
    ("body", "kind", "note"),
    [
        (RSS, "text/html", "served as text/html"),
        (RSS, "text/xml; charset=iso-8859-1", "the server says iso-8859-1, the document utf-8"),
        (RSS.replace(b"One", b"R & D"), "text/xml", "not well-formed XML (line 1"),
        (RSS.replace(b"One", b"Caf\xe9"), "text/xml", "not well-formed XML (line 1"),
        (RSS.replace(b"utf-8", b"x-odd"), "text/xml", "an encoding that is not known: x-odd"),
        (RSS.replace(b"<rss ", b'<!DOCTYPE rss [<!ENTITY a "b">]><rss '), "text/xml", "entities of its own"),
        (RSS[: RSS.index(b"<item>")] + b"</channel></rss>", "text/xml", "nothing in it"),
        (RSS.replace(b"pubDate", b"when"), "text/xml", "1 of 1 have no date"),
        (RSS.replace(b"https://a.test/1", b""), "text/xml", "1 of 1 have no link"),
        (RSS.replace(b"One", "lost \ufffd".encode()), "text/xml", "characters are lost"),
        (
            RSS.replace(b"</channel>", b"<item><title>Two</title><guid>1</guid></item></channel>"),
            "text/xml",
            "share an id",
        ),
    ],
)
def test_trouble_that_costs_no_entry_is_noted(body, kind, note):
    with httpd.serve({"/f": httpd.Reply(body, headers={"Content-Type": kind})}) as server:
        seen = looked(server.url("/f"))[server.url("/f")]
    assert seen.error is None
    assert any(note in each for each in seen.notes), seen.notes
