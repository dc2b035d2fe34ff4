"""The demo's feeds, settings and subscribers: well formed, inside the rehearsed window, in the house's voice."""

import datetime as dt
import email.utils
import html
import json
import re
import tomllib
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET

import pytest

from newsletter import config, demo
from newsletter.demo import feedserver

ATOM = "{http://www.w3.org/2005/Atom}"
CREATOR = "{http://purl.org/dc/elements/1.1/}creator"
SENTENCE_END = re.compile(r"(?<!\bal)\.(?=\s|$)")
WINDOW = dt.timedelta(days=30)


def plain(markup):
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


def atom():
    for entry in ET.parse(demo.FEEDS / "agents.atom").getroot().iter(f"{ATOM}entry"):
        yield {
            "title": entry.findtext(f"{ATOM}title"),
            "link": entry.find(f"{ATOM}link").get("href"),
            "authors": [author.findtext(f"{ATOM}name") for author in entry.iter(f"{ATOM}author")],
            "at": dt.datetime.fromisoformat(entry.findtext(f"{ATOM}published")),
            "text": plain(entry.findtext(f"{ATOM}summary")),
        }


def rss():
    for item in ET.parse(demo.FEEDS / "reasoning.rss").getroot().iter("item"):
        yield {
            "title": item.findtext("title"),
            "link": item.findtext("link"),
            "authors": item.findtext(CREATOR).split(", "),
            "at": email.utils.parsedate_to_datetime(item.findtext("pubDate")),
            "text": plain(item.findtext("description")),
        }


def jsonfeed():
    feed = json.loads((demo.FEEDS / "field-notes.json").read_text("utf-8"))
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    for item in feed["items"]:
        yield {
            "title": item.get("title"),
            "link": item.get("url"),
            "authors": [author["name"] for author in item["authors"]],
            "at": dt.datetime.fromisoformat(item["date_published"]),
            "text": plain(item.get("content_html") or item["content_text"]),
        }


FEEDS = {"agents.atom": list(atom()), "reasoning.rss": list(rss()), "field-notes.json": list(jsonfeed())}
ITEMS = [pytest.param(item, id=f"{name}-{n}") for name, items in FEEDS.items() for n, item in enumerate(items)]


def settings(tmp_path, feed_server="http://127.0.0.1:40123", smtp_port=40124):
    (tmp_path / config.FILE).write_text(demo.settings(feed_server, smtp_port), "utf-8")
    return config.load(tmp_path, {})


@pytest.mark.parametrize("item", ITEMS)
def test_item_has_two_sentences_and_begins_with_its_authors(item):
    text = item["text"]
    assert len(SENTENCE_END.findall(text)) == 2
    assert text.endswith(".")
    first = item["authors"][0].split()[-1]
    assert text.startswith((f"{first} ", f"{first},", "The "))


@pytest.mark.parametrize("item", ITEMS)
def test_item_lies_in_the_days_that_a_first_visit_takes(item):
    assert demo.COLLECT - WINDOW < item["at"] < demo.COLLECT


@pytest.mark.parametrize("item", ITEMS)
def test_link_is_the_papers_own_and_its_number_fits_its_date(item):
    if item["link"] is not None:
        year, month = re.fullmatch(r"https://arxiv\.org/abs/(\d\d)(\d\d)\.\d{5}", item["link"]).groups()
        # An arXiv number bears the month of announcement: the submission's, or the next one in its last days.
        assert (int(year), int(month)) in {(25, item["at"].month), (25, (item["at"] + dt.timedelta(days=4)).month)}


@pytest.mark.parametrize("item", ITEMS)
def test_item_falls_under_a_topic_that_takes_its_feed(item, tmp_path):
    name = next(name for name, items in FEEDS.items() if item in items)
    words = f"{item['title'] or ''} {item['text']}"
    topics = [topic for topic in settings(tmp_path).newsletter[0].topic if any(name in s.url for s in topic.sources)]
    assert any(re.search(rule, words, re.IGNORECASE) for topic in topics for rule in topic.include)


def test_feeds_hold_what_a_reader_of_them_must_bear():
    everything = [item for items in FEEDS.values() for item in items]
    links = [item["link"] for item in everything if item["link"]]
    assert len(everything) == 23
    assert len(links) - len(set(links)) == 1  # one paper in two feeds
    assert [item["title"] for item in FEEDS["field-notes.json"]].count(None) == 1
    assert [item["link"] for item in FEEDS["field-notes.json"]].count(None) == 1


def test_field_notes_concern_one_topic_or_both(tmp_path):
    rules = [topic.include for topic in settings(tmp_path).newsletter[0].topic]
    counts = [
        sum(
            any(re.search(rule, f"{item['title'] or ''} {item['text']}", re.IGNORECASE) for rule in topic)
            for topic in rules
        )
        for item in FEEDS["field-notes.json"]
    ]
    assert sorted(counts) == [1, 1, 1, 2]


def test_settings_are_filled_in_and_valid(tmp_path):
    found = settings(tmp_path)
    urls = {source.url for topic in found.newsletter[0].topic for source in topic.sources}
    assert urls == {f"http://127.0.0.1:40123/{name}" for name in FEEDS}
    assert (found.smtp.host, found.smtp.port, found.smtp.security) == ("127.0.0.1", 40124, "none")


def test_settings_are_a_file_that_stands_on_its_own():
    assert tomllib.loads((demo.FOLDER / "newsletter.toml").read_text("utf-8"))["smtp"]["port"] == 1025


@pytest.mark.parametrize("count", [1, 24, 25, 26, 500])
def test_as_many_subscribers_as_asked_for_each_with_an_address_of_their_own(count):
    header, *rows = demo.subscribers(count).splitlines()
    assert header == "email,name,state,language,topics"
    addresses = [row.partition(",")[0].lower() for row in rows]
    assert len(set(addresses)) == len(addresses) == count
    assert all(re.search(r"@(.+\.)?example\.(org|com|net)$", address) for address in addresses)


def fetch(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


def test_feed_server_serves_every_feed_and_knows_who_has_seen_it():
    with feedserver.serving(demo.FEEDS) as address:
        for name in FEEDS:
            status, headers, body = fetch(f"{address}/{name}")
            assert (status, body) == (200, (demo.FEEDS / name).read_bytes())
            status, _, body = fetch(f"{address}/{name}", **{"If-None-Match": headers["ETag"]})
            assert (status, body) == (304, b"")


@pytest.mark.parametrize("path", ["/", "/../newsletter.toml", "/..%2fnewsletter.toml", "//etc/passwd", "/agents"])
def test_feed_server_serves_nothing_else(path):
    with feedserver.serving(demo.FEEDS) as address:
        assert fetch(address + path)[0] == 404
