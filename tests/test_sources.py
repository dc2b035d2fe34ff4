"""Many sources at once, each with its own outcome."""

import asyncio
import datetime as dt
import json
import threading
import time
import xml.sax.saxutils

import pytest
from httpd import Reply, serve

from newsletter import config, sources, types
from newsletter.sources import visits

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
LIMITS = config.Collect(allow_private=["127.0.0.0/8"], deadline=dt.timedelta(seconds=5))


def rss(*titles):
    items = "".join(f"<item><title>{xml.sax.saxutils.escape(title)}</title></item>" for title in titles)
    return f'<rss version="2.0"><channel><title>A feed</title>{items}</channel></rss>'.encode()


def visit(*asks, folder, limits=LIMITS):
    async def all_of_it():
        asked = [ask if isinstance(ask, sources.Ask) else sources.Ask(ask) for ask in asks]
        found = sources.visit(asked, limits, folder=folder, user_agent="newsletter/test", now=NOW)
        return [collected async for collected in found]

    return {collected.url: collected for collected in asyncio.run(all_of_it())}


def test_a_feed_and_a_json_feed_are_read_whatever_they_are_called(tmp_path):
    feed = json.dumps(
        {"version": "https://jsonfeed.org/version/1.1", "title": "J", "items": [{"id": "1", "title": "two"}]}
    )
    with serve(
        {"/rss": Reply(rss("one"), headers={"Content-Type": "text/html"}), "/json": Reply(feed.encode())}
    ) as server:
        found = visit(server.url("/rss"), server.url("/json"), folder=tmp_path)
    assert [(c.status, c.title, c.entries[0].title, c.error) for c in found.values()] == [
        ("new", "A feed", "one", None),
        ("new", "J", "two", None),
    ]


def test_one_bad_source_costs_no_other_its_turn(tmp_path):
    pages = {
        "/good": Reply(rss("one")), "/html": Reply(b"<html><head><title>Hi</title></head></html>"), "/empty": Reply(b""),
        "/gone": Reply(status=410), "/stall": Reply(hang=True), "/wait": Reply(status=429, headers={"Retry-After": "60"}),
    }  # fmt: skip
    with serve(pages) as server:
        urls = [server.url(path) for path in pages]
        urls += [
            "http://no-such-host.invalid/",
            "gopher://127.0.0.1/",
            "javascript:alert(1)",
            "blog.test/feed",
            "",
            "file:///etc/hostname",
        ]
        urls += ["hf:models", "hn:front?votes=1"]
        limits = LIMITS.model_copy(update={"deadline": dt.timedelta(seconds=0.5)})
        found = visit(*urls, folder=tmp_path, limits=limits)
    assert set(found) == set(urls)
    assert [url for url, c in found.items() if c.status != "failed"] == [server.url("/good")]
    for url in urls[1:]:
        assert found[url].error
        assert "\n" not in found[url].error
        assert not found[url].entries
    assert "an HTML page titled “Hi”, not a feed" in found[server.url("/html")].error
    assert found[server.url("/wait")].retry_after == 60
    assert found["hf:models"].error.startswith("there is hf:papers")
    kinds = "https:, http:, file:, arxiv:, hn:, hf:"
    assert f"“gopher:” is no kind of source; it must begin with one of {kinds}" in found["gopher://127.0.0.1/"].error
    gone = found[server.url("/gone")]
    assert gone.gone
    assert "take it out of newsletter.toml" in gone.error
    assert not found[server.url("/wait")].gone


def test_the_second_visit_is_conditional_and_unchanged(tmp_path):
    def answer(asked):
        return (
            Reply(status=304)
            if asked.headers.get("if-none-match") == '"1"'
            else Reply(rss("one"), headers={"ETag": '"1"'})
        )

    with serve({"/f": answer}) as server:
        first = visit(server.url("/f"), folder=tmp_path)[server.url("/f")]
        second = visit(sources.Ask(server.url("/f"), validators=first.validators), folder=tmp_path)[server.url("/f")]
    assert (first.status, second.status) == ("new", "unchanged")
    assert second.validators == first.validators
    assert second.entries == ()


def test_the_same_octets_are_unchanged_whatever_the_validators_say(tmp_path):
    with serve({"/f": Reply(rss("one"), headers={"ETag": '"1"'})}) as server:
        url = server.url("/f")
        first = visit(url, folder=tmp_path)[url]
        server.routes["/f"] = Reply(rss("one"), headers={"ETag": '"2"'})
        second = visit(sources.Ask(url, validators=first.validators, hash=first.hash), folder=tmp_path)[url]
        assert (second.status, second.entries, second.validators.etag, second.whole) == ("unchanged", (), '"2"', True)
        server.routes["/f"] = Reply(rss("two"), headers={"ETag": '"2"'})
        third = visit(sources.Ask(url, hash=second.hash), folder=tmp_path)[url]
        assert (third.status, third.hash != second.hash) == ("new", True)


def test_when_to_ask_again_is_what_the_server_and_the_feed_say(tmp_path):
    feed = rss("one").replace(b"<title>A feed", b"<ttl>180</ttl><title>A feed")
    with serve({"/f": Reply(feed, headers={"Cache-Control": "max-age=7200"}), "/same": Reply(status=304)}) as server:
        url, same = server.url("/f"), server.url("/same")
        found = visit(url, folder=tmp_path)[url]
        assert (found.wait, found.pauses) == (3 * 3600, types.Pauses(ttl=180))
        ask = sources.Ask(same, validators=types.Validators('"1"'), pauses=found.pauses)
        assert visit(ask, folder=tmp_path)[same].wait == 3 * 3600  # the feed's word holds although it was not sent


def test_an_empty_feed_is_expected_or_suspicious(tmp_path):
    thursday = rss().replace(b"</title>", b"</title><skipDays><day>Thursday</day></skipDays>")
    with serve({"/a": Reply(thursday), "/b": Reply(rss()), "/c": Reply(status=304), "/d": Reply(rss("x"))}) as server:
        same = sources.Ask(server.url("/c"), validators=types.Validators('"1"'), empty=True)
        found = visit(*(server.url(path) for path in ("/a", "/b", "/d")), same, folder=tmp_path)
    assert found[server.url("/a")].note.startswith(types.EMPTY_EXPECTED)
    assert "Thursday" in found[server.url("/a")].note
    for path in ("/b", "/c"):
        assert found[server.url(path)].note.startswith(types.EMPTY_SUSPICIOUS)
    assert found[server.url("/d")].note is None


def test_the_front_page_and_the_papers_of_the_day_are_sources(tmp_path):
    pages = {
        "/hn/search": Reply(b'{"hits": [{"objectID": "41", "title": "A story", "url": "https://a.test/"}]}'),
        "/hf": Reply(b'[{"paper": {"id": "2609.01234", "title": "A paper", "upvotes": 3}}]', headers={"ETag": '"1"'}),
    }

    async def both(bases):
        asks = [sources.Ask("hn:front?points=9"), sources.Ask("hf:papers")]
        found = sources.visit(asks, LIMITS, folder=tmp_path, user_agent="x", now=NOW, bases=bases)
        return {collected.url: collected async for collected in found}

    with serve(pages) as server:
        bases = sources.Bases(hackernews=server.url("/hn"), huggingface=server.url("/hf"))
        found = asyncio.run(both(bases))
    assert [found[url].entries[0].title for url in ("hn:front?points=9", "hf:papers")] == ["A story", "A paper"]
    assert found["hf:papers"].validators.etag == '"1"'


def test_a_host_is_asked_one_at_a_time_and_others_do_not_wait(tmp_path):
    def slow(_):
        time.sleep(0.03)
        return Reply(rss("one"))

    with serve({f"/{i}": slow for i in range(6)}) as one, serve({"/": slow}, host="127.0.0.2") as other:
        found = visit(*(one.url(f"/{i}") for i in range(6)), other.url(), folder=tmp_path)
    assert all(c.status == "new" for c in found.values())
    assert one.busiest == 1
    assert list(found).index(other.url()) < 6


def test_no_more_sources_are_asked_at_once_than_the_settings_allow(tmp_path):
    lock, busy, most = threading.Lock(), [0], [0]

    def slow(_):
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.03)
        with lock:
            busy[0] -= 1
        return Reply(rss("one"))

    hosts = [f"127.0.0.{i}" for i in range(2, 8)]
    with serve({"/": slow}, host="0.0.0.0") as server:
        visit(
            *(f"http://{host}:{server.port}/" for host in hosts),
            folder=tmp_path,
            limits=LIMITS.model_copy(update={"concurrency": 2}),
        )
    assert most[0] == 2


def test_a_source_that_moved_for_good_is_asked_there_and_falls_back(tmp_path):
    with serve({"/old": Reply(status=301, headers={"Location": "/new"}), "/new": Reply(rss("one"))}) as server:
        old, new = server.url("/old"), server.url("/new")
        assert visit(old, folder=tmp_path)[old].moved_to == new
        again = visit(sources.Ask(old, resolved=new), folder=tmp_path)[old]
        assert (again.status, again.moved_to) == ("new", new)
        assert [asked.path for asked in server.asked] == ["/old", "/new", "/new"]
        server.routes["/old"], server.routes["/new"] = Reply(rss("back")), Reply(status=404)
        back = visit(sources.Ask(old, resolved=new, validators=types.Validators('"1"')), folder=tmp_path)[old]
        assert (back.status, back.moved_to, back.entries[0].title) == ("new", None, "back")
        assert "if-none-match" not in server.asked[-1].headers
        server.routes["/new"] = Reply(status=503)
        assert visit(sources.Ask(old, resolved=new), folder=tmp_path)[old].status == "failed"


def test_leaving_early_ends_the_visits(tmp_path):
    async def first_of_two(server):
        asks = [sources.Ask(server.url("/good")), sources.Ask(f"http://127.0.0.2:{server.port}/stall")]
        found = sources.visit(asks, LIMITS, folder=tmp_path, user_agent="x", now=NOW)
        collected = await anext(found)
        await found.aclose()
        return collected

    with serve({"/good": Reply(rss("one")), "/stall": Reply(hang=True)}, host="0.0.0.0") as server:
        server.host = "127.0.0.1"
        started = time.perf_counter()
        assert asyncio.run(first_of_two(server)).status == "new"
        assert time.perf_counter() - started < 60


def test_nothing_to_visit_is_nothing_found(tmp_path):
    assert visit(folder=tmp_path) == {}


# -- files -----------------------------------------------------------------------------------------------------------


def test_files_of_the_workspace_are_read_by_their_kind(tmp_path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "a.jsonl").write_text('{"summary": "one"}\n{"summary": "two"}\n')
    (inbox / "b.xml").write_bytes(rss("three"))
    (inbox / "e.csv").write_text("title,summary\nfive,Text.\n")
    (inbox / "f.md").write_text("# six\n\nText.\n")
    (inbox / "c.json").write_text('{"version": "https://jsonfeed.org/version/1", "items": [{"title": "four"}]}')
    found = visit("file:inbox/*", folder=tmp_path)["file:inbox/*"]
    assert (found.status, found.error) == ("new", None)
    assert [entry.title or entry.summary for entry in found.entries] == ["one", "two", "three", "four", "five", "six"]
    again = visit(sources.Ask("file:inbox/*", validators=found.validators), folder=tmp_path)["file:inbox/*"]
    assert again.status == "unchanged"
    (inbox / "d.jsonl").write_text('{"summary": "seven"}\n')
    more = visit(sources.Ask("file:inbox/*", validators=found.validators), folder=tmp_path)["file:inbox/*"]
    assert len(more.entries) == 7


def test_bad_rows_and_bad_files_are_named_and_the_rest_is_read(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"summary": "good"}\nnonsense\n{"summary": 5}\n')
    (tmp_path / "b.xml").write_text("<html><body>no</body></html>")
    found = visit("file:*", folder=tmp_path)["file:*"]
    assert found.status == "new"
    assert len(found.entries) == 1
    lines = found.error.splitlines()
    assert lines[0].startswith("a.jsonl:2: not JSON")
    assert lines[1].startswith("a.jsonl:3: “summary” must be a text")
    assert lines[2].startswith("b.xml: an HTML page")


def test_files_that_are_not_utf_8_are_read_and_it_is_said_once(tmp_path):
    (tmp_path / "a.csv").write_bytes("title,summary\nCafé,Très bien – “oui”.\n".encode("cp1252"))
    (tmp_path / "b.jsonl").write_bytes('{"summary": "Выдры переплыли реку на рассвете"}\n'.encode("koi8-r"))
    (tmp_path / "c.md").write_bytes("# Otters\n\nÀ la rivière.\n".encode("utf-16"))
    (tmp_path / "d.jsonl").mkdir()
    found = visit("file:*", folder=tmp_path)["file:*"]
    assert [entry.summary for entry in found.entries] == [
        "Très bien – “oui”.",
        "Выдры переплыли реку на рассвете",
        "À la rivière.",
    ]
    assert (found.status, found.error) == ("new", None)
    left, csv, jsonl = found.note.splitlines()
    assert left == "d.jsonl is left out: it is a folder"
    assert csv.startswith("a.csv:2: not UTF-8; the file is read as windows-1252")
    assert jsonl.startswith("b.jsonl:1: not UTF-8; the file is read as koi8-u")
    again = visit(sources.Ask("file:*", validators=found.validators), folder=tmp_path)["file:*"]
    assert (again.status, again.note) == ("unchanged", None)


def test_encoding_that_a_server_names_counts_where_the_document_names_none(tmp_path):
    body = rss("Wydry budują tamy i żerdzie").decode().encode("iso-8859-2")
    with serve({"/f": Reply(body, headers={"Content-Type": "text/xml; charset=ISO-8859-2"})}) as server:
        found = visit(server.url("/f"), folder=tmp_path)[server.url("/f")]
    assert found.entries[0].title == "Wydry budują tamy i żerdzie"


@pytest.mark.parametrize("times", [1, 400])  # read by a thread, and by a process
def test_encoding_that_was_guessed_is_named(tmp_path, times):
    body = rss(*["Выдры переплыли реку на рассвете. " * times] * 50).decode().encode("koi8-r")
    (tmp_path / "a.xml").write_bytes(body)
    with serve(
        {"/f": Reply(body), "/told": Reply(body, headers={"Content-Type": "text/xml; charset=koi8-r"})}
    ) as server:
        guessed, told, file = urls = server.url("/f"), server.url("/told"), "file:*.xml"
        found = visit(*urls, folder=tmp_path)
    assert "it is read as koi8-u" in found[guessed].note
    assert found[told].note is None
    assert found[file].note == f"a.xml: {found[guessed].note}"
    assert {(each.status, each.error, len(each.entries)) for each in found.values()} == {("new", None, 50)}


def test_links_in_a_circle_cost_a_pattern_nothing_else(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"summary": "good"}\n')
    (tmp_path / "b.jsonl").symlink_to("b.jsonl")
    (found,) = visit("file:*.jsonl", folder=tmp_path).values()
    assert (found.status, len(found.entries), found.error) == ("new", 1, None)
    assert found.note == "b.jsonl is left out: it is a symbolic link that leads round in a circle"
    (tmp_path / "a.jsonl").unlink()
    (found,) = visit("file:*.jsonl", folder=tmp_path).values()
    assert (found.status, found.note.splitlines()[1:]) == ("unchanged", [found.note.splitlines()[-1]])


def test_many_bad_rows_are_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text("nonsense\n" * 100)
    assert visit("file:a.jsonl", folder=tmp_path)["file:a.jsonl"].error.splitlines()[-1] == "and 95 more"


def test_a_pattern_none_of_whose_files_can_be_read_has_failed(tmp_path):
    (tmp_path / "a.xml").write_text("")
    (tmp_path / "b.csv").write_text("x")
    (tmp_path / "c.pdf").write_text("x")
    found = visit("file:*", folder=tmp_path)["file:*"]
    assert found.status == "failed"
    assert len(found.error.splitlines()) == 3
    none = visit("file:*.jsonl", folder=tmp_path)["file:*.jsonl"]
    assert none.status == "unchanged"
    assert none.note == "no file of the workspace matches file:*.jsonl"
    again = visit(sources.Ask("file:*.jsonl", validators=none.validators), folder=tmp_path)["file:*.jsonl"]
    assert (again.status, again.note) == ("unchanged", none.note)


def test_no_source_leads_out_of_the_workspace(tmp_path):
    (tmp_path / "secret.jsonl").write_text('{"summary": "secret"}')
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    for url in (
        "file:link.jsonl",
        "file:../secret.jsonl",
        f"file:{tmp_path}/secret.jsonl",
        f"file://{tmp_path}/secret.jsonl",
    ):
        found = visit(url, folder=folder)[url]
        assert (found.status, found.entries) == ("failed", ())


def test_texts_of_a_document_that_is_all_text_are_cut():
    def read(_):
        return "T", tuple(types.FoundEntry(summary="many words " * 1_000, guid=str(i)) for i in range(many))

    many = 10
    assert visits.bearable(read, b"") == read(b"")
    many = 400
    _, entries = visits.bearable(read, b"")
    assert {len(entry.summary) for entry in entries} == {len(entries[0].summary)}
    assert 1_900 < len(entries[0].summary) <= 2_000
    many = 2_000
    _, entries = visits.bearable(read, b"")
    assert sum(len(entry.summary) for entry in entries) <= 500 * many
