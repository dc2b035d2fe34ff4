"""Collecting as a whole: settings, real servers, a real database."""

import asyncio
import contextlib
import datetime as dt
import multiprocessing
import time

import pytest
from conftest import THURSDAY, WEDNESDAY
from httpd import Reply, serve

from newsletter import types
from newsletter.app import collecting, health
from newsletter.app import entries as listing
from newsletter.sources import manners
from newsletter.store import sources

HOUR = dt.timedelta(hours=1)


def rss(*titles, date="Wed, 09 Sep 2026 07:00:00 GMT"):
    items = "".join(
        f"<item><title>{title}</title><guid>{title}</guid><pubDate>{date}</pubDate></item>" for title in titles
    )
    return f'<rss version="2.0"><channel><title>A feed</title>{items}</channel></rss>'.encode()


def conditional(body, tag='"1"'):
    """A page that answers 304 to whoever has its tag."""

    def answer(asked):
        if asked.headers.get("if-none-match") == tag:
            return Reply(status=304)
        return Reply(body, headers={"ETag": tag})

    return answer


def settings(bench, *urls, robots=()):
    def listed(urls):
        return "sources = [" + ", ".join(f'"{url}"' for url in urls) + "]"

    bench.settings(rules=listed(urls), tail=f"{listed(robots)}\n[collect]\nallow_private = ['127.0.0.0/8']\n")


def collect(bench, now=WEDNESDAY, **options):
    with bench.app(now) as app:
        report = app.collect(**options)
    return {source.url: source for source in report.sources}


def state(bench, url):
    with bench.app() as app, app.store.read() as session:
        return sources.known(session, [url])[url]


@pytest.mark.parametrize("body", [rss("Otters"), rss(), rss("Old", date="Mon, 01 Jan 2024 07:00:00 GMT")])
def test_every_source_that_was_read_is_asked_conditionally(bench, body):
    with serve({"/f": conditional(body)}) as server:
        settings(bench, server.url("/f"))
        assert collect(bench)[server.url("/f")].status == "new"
        assert collect(bench, everything=True)[server.url("/f")].status == "unchanged"
        assert "if-none-match" in server.asked[1].headers


def test_a_source_that_got_a_topic_later_shows_everything_once_more(bench):
    with serve({"/f": conditional(rss("Otters"))}) as server:
        url = server.url("/f")
        settings(bench, url)
        collect(bench)
        settings(bench, url, robots=[url])
        collect(bench, everything=True)
        collect(bench, everything=True)
        assert ["if-none-match" in asked.headers for asked in server.asked] == [False, False, True]
    with bench.app() as app:
        (entry,) = app.entries()
    assert entry["topics"] == ["weekly/rl-agents", "weekly/robots"]


def test_what_is_gone_is_said_each_time_and_asked_by_all_alone(bench):
    with serve({"/f": Reply(status=410)}) as server:
        url = server.url("/f")
        settings(bench, url)
        first = collect(bench)[url]
        assert (first.status, "take it out of newsletter.toml" in first.error) == ("failed", True)
        later = collect(bench, now=THURSDAY + 1000 * HOUR)[url]
        assert (later.status, later.error) == ("skipped", first.error)
        assert len(server.asked) == 1
        server.routes["/f"] = Reply(rss("Otters"))
        assert collect(bench, everything=True)[url].status == "new"
        assert state(bench, url).gone_at is None


def test_a_server_whose_etag_never_changes_is_found_out(bench):
    with serve({"/f": conditional(rss("Otters"))}) as server:
        url = server.url("/f")
        settings(bench, url)
        collect(bench)
        server.routes["/f"] = conditional(rss("Otters", "Herons"))
        assert collect(bench, everything=True)[url].entries_new == 0
        found = collect(bench, now=WEDNESDAY + 24 * HOUR)[url]
        assert (found.status, found.entries_new) == ("new", 1)
        server.routes["/f"] = conditional(rss("Otters", "Herons", "Mills"))
        assert collect(bench, now=WEDNESDAY + 24 * HOUR, everything=True)[url].entries_new == 1


def test_feed_of_few_entries_loses_none_of_a_week_though_its_server_always_says_304(bench):
    with serve({"/f": conditional(rss("0"))}) as server:
        url = server.url("/f")
        settings(bench, url)
        for day in range(7):  # a daily timer, that is some minutes early or late
            server.routes["/f"] = conditional(rss(*(str(day + 3 - each) for each in range(3))))
            collect(bench, now=WEDNESDAY + day * 24 * HOUR + (-1) ** day * HOUR / 6)
    with bench.app() as app:
        assert {entry["title"] for entry in app.entries()} == set("123456789")


def test_hints_are_kept_and_notes_too(bench):
    with serve({"/f": Reply(rss(), headers={"Cache-Control": "max-age=7200"})}) as server:
        url = server.url("/f")
        settings(bench, url)
        collect(bench)
        row = state(bench, url)
        assert row.next_check_at == WEDNESDAY + 2 * HOUR
        assert row.note.startswith(types.EMPTY_SUSPICIOUS)
        assert collect(bench, now=WEDNESDAY + 1.9 * HOUR)[url].status == "skipped"
        server.routes["/f"] = Reply(rss("Otters"))
        assert collect(bench, now=WEDNESDAY + 2 * HOUR)[url].status == "new"
        assert state(bench, url).note is None


def test_a_listing_has_instants_and_summaries_of_a_bearable_length(bench):
    long = "word " * 1000
    bench.entries({"title": "Otters", "summary": long, "published": "2026-09-01"}, {"title": "Herons", "summary": "x"})
    with bench.app() as app:
        listed = {entry["title"]: entry for entry in app.entries()}
        (shown,) = app.entries(ref=listed["Otters"]["id"])
    assert listed["Otters"]["published"] == "2026-09-01T00:00:00+00:00"
    assert listed["Herons"]["published"] is None
    assert len(listed["Otters"]["summary"]) <= listing.LONGEST_SUMMARY
    assert listed["Otters"]["summary"].endswith("word…")
    assert shown["summary"] == long.strip()


# -- two processes ---------------------------------------------------------------------------------------------------


def _elsewhere(bench, ready):
    ready.wait(30)
    collect(bench, everything=True)


def test_two_processes_never_ask_one_host_at_once(bench):
    def slow(_):
        time.sleep(0.02)
        return Reply(rss("Otters"))

    with serve({f"/{i}": slow for i in range(6)}) as server:
        settings(bench, *(server.url(f"/{i}") for i in range(6)))
        with bench.app() as app:
            assert app.store  # made before both want it
        spawn = multiprocessing.get_context("spawn")
        ready = spawn.Event()
        others = [spawn.Process(target=_elsewhere, args=(bench, ready)) for _ in range(2)]
        for process in others:
            process.start()
        ready.set()
        for process in others:
            process.join(60)
        assert [process.exitcode for process in others] == [0, 0]
        assert len(server.asked) == 12
        assert server.busiest == 1


def test_a_host_that_a_killed_process_held_is_free_at_once(bench):
    with serve({"/f": Reply(rss("Otters"))}) as server:
        settings(bench, server.url("/f"))
        with bench.app() as app, app.store.write() as session:
            assert sources.take_turn(session, "127.0.0.1", "nobody", app.wall_clock(), lambda _: False) == 0
        assert collect(bench)[server.url("/f")].status == "new"


def test_nothing_due_asks_nobody(bench):
    settings(bench)
    with bench.app() as app:
        wanted = collecting.wanted(app, None, None)
        report = asyncio.run(collecting.collect(app, wanted, everything=True, backfill=None, progress=None))
    assert report.sources == []


@pytest.mark.parametrize("port", ["99999", "0"])
def test_port_that_is_none_is_named_and_costs_nobody_else_anything(bench, port):
    with serve(
        {"/f": Reply(rss("Otters")), "/go": Reply(status=302, headers={"Location": f"http://127.0.0.2:{port}/"})}
    ) as server:
        settings(bench, server.url("/go"), server.url("/f"))  # the settings take no such port themselves
        found = collect(bench)
        with bench.app() as app:
            (seen,) = app.check_sources([f"http://127.0.0.2:{port}/x"])
    assert found[server.url("/f")].entries_new == 1
    assert f"port {port}" in found[server.url("/go")].error
    assert f"port {port}" in seen.error


def test_visit_at_a_clock_that_was_ahead_puts_nothing_off(bench):
    with serve({"/f": Reply(rss("Otters"))}) as server:
        settings(bench, server.url("/f"))
        collect(bench, now=THURSDAY + dt.timedelta(days=90))
        assert collect(bench)[server.url("/f")].status == "unchanged"
        assert collect(bench)[server.url("/f")].status == "skipped"


def test_backfill_asks_also_what_is_not_due(bench):
    with serve({"/f": Reply(rss("Old", date="Wed, 08 Jul 2026 07:00:00 GMT"))}) as server:
        settings(bench, server.url("/f"))
        collect(bench)
        assert bench.states()["Old"][0] == "held"
        assert collect(bench)[server.url("/f")].status == "skipped"
        assert collect(bench, backfill=dt.timedelta(days=90))[server.url("/f")].status != "skipped"
    assert bench.states()["Old"][0] == "waiting"


# -- what another process asks, batches, backfill, hints -------------------------------------------------------------


def _plainly(bench, ready):
    ready.wait(30)
    collect(bench)


def test_two_processes_at_once_ask_each_source_once(bench):
    def slow(_):
        time.sleep(0.02)
        return Reply(rss("Otters"))

    with serve({f"/{i}": slow for i in range(6)}) as server:
        settings(bench, *(server.url(f"/{i}") for i in range(6)))
        with bench.app() as app:
            assert app.store
        spawn = multiprocessing.get_context("spawn")
        ready = spawn.Event()
        others = [spawn.Process(target=_plainly, args=(bench, ready)) for _ in range(2)]
        for process in others:
            process.start()
        ready.set()
        for process in others:
            process.join(60)
        assert [process.exitcode for process in others] == [0, 0]
        assert sorted(asked.path for asked in server.asked) == [f"/{i}" for i in range(6)]


def run_of(app, urls, **options):
    given = {"everything": False, "backfill": None, **options}
    return collecting._Run(app, collecting.wanted(app, None, None), WEDNESDAY, **given)


def test_what_another_process_is_asking_is_asked_only_if_it_is_still_due(bench):
    url = "https://feeds.test/a.xml"
    settings(bench, url)
    with (
        bench.app() as app,
        contextlib.closing(run_of(app, [url])) as mine,
        contextlib.closing(run_of(app, [url])) as late,
    ):
        (ask,), _ = mine.begin()
        late.begin()
        assert (mine.admit(url), late.admit(url)) == (0.0, sources.LOOK_AGAIN)
        mine.store([types.Collected(ask.url, "new", hash="1:x", whole=True)])
        with pytest.raises(manners.NotDue):
            late.admit(url)
        (report,) = late.store([types.Collected(url, "skipped", error="it was asked")])
        assert (report.status, report.error) == ("skipped", "it was asked")


def test_a_source_of_a_run_that_came_to_nothing_is_free(bench):
    url = "https://feeds.test/a.xml"
    settings(bench, url)
    with bench.app() as app, contextlib.closing(run_of(app, [url])) as late:
        mine = run_of(app, [url])
        mine.begin()
        late.begin()
        assert late.admit(url) == sources.LOOK_AGAIN
        mine.close()
        assert late.admit(url) == 0.0
        with app.store.write() as session:  # one that was killed has left its claim, but holds no lock
            sources.unclaim(session, late.owner.id)
            assert sources.claim(session, [url], "dead", late.is_dead) == {url}
        assert run_of(app, [url]).begin()[0][0].url == url


def test_a_source_that_cannot_be_stored_costs_the_others_of_its_batch_nothing(bench, caplog):
    urls = ["https://feeds.test/a.xml", "https://feeds.test/b.xml"]
    settings(bench, *urls)
    bad = types.FoundEntry(summary="x", title="\ud800", guid="1")  # no database takes half a character
    good = types.FoundEntry(summary="y", title="Otters", guid="2")
    with bench.app() as app, contextlib.closing(run_of(app, urls)) as run:
        run.begin()
        first, second = run.store([types.Collected(urls[0], "new", (bad,)), types.Collected(urls[1], "new", (good,))])
    assert (first.status, second.status, second.entries_new) == ("failed", "new", 1)
    assert "by a fault of ours" in first.error
    assert "could not be stored" in caplog.text
    assert state(bench, urls[0]).failures == 1


def test_backfill_says_how_many_it_released(bench):
    with serve({"/f": Reply(rss("Old", "Older", date="Wed, 08 Jul 2026 07:00:00 GMT"))}) as server:
        url = server.url("/f")
        settings(bench, url)
        assert collect(bench)[url].entries_new == 2
        found = collect(bench, backfill=dt.timedelta(days=90))[url]
        assert (found.entries_new, found.entries_released, found.status) == (0, 2, "new")
        assert collect(bench, backfill=dt.timedelta(days=90))[url].entries_released == 0


def test_skipped_days_are_kept_to_the_minute_and_are_no_silence(bench):
    pauses = "<skipDays><day>Thursday</day><day>Friday</day></skipDays>"
    feed = rss("Otters").replace(b"</title>", f"</title>{pauses}".encode(), 1)
    evening = WEDNESDAY.replace(hour=23, minute=30)
    saturday = dt.datetime(2026, 9, 12, tzinfo=dt.UTC)
    with serve({"/f": Reply(feed)}) as server:
        url = server.url("/f")
        settings(bench, url)
        collect(bench, now=evening)
        assert state(bench, url).next_check_at == saturday
        assert collect(bench, now=saturday - dt.timedelta(minutes=1))[url].status == "skipped"
        with bench.app() as app, app.store.read() as session:
            newsletter = app.settings.newsletter[0]
            assert health.silent(session, newsletter, saturday - 12 * HOUR) == []
            assert [each.url for each in health.silent(session, newsletter, saturday + 12 * 24 * HOUR)] == [url]
        assert collect(bench, now=saturday)[url].status == "unchanged"


def test_the_listing_says_what_became_of_a_source(bench):
    with serve({"/gone": Reply(status=410), "/wait": Reply(status=429, headers={"Retry-After": "7200"})}) as server:
        urls = [server.url("/gone"), server.url("/wait"), "file:inbox/*.jsonl"]
        settings(bench, *urls)
        with bench.app() as app:
            assert [row.state for row in app.sources()] == ["new"] * 3
        collect(bench)
        with bench.app() as app:
            gone, wait, none = app.sources()
        again = collect(bench, everything=True)[urls[1]]
    assert (gone.state, gone.gone_since) == ("gone", WEDNESDAY)
    assert (wait.state, wait.wait_until) == ("failing", WEDNESDAY + 2 * HOUR)
    assert (none.state, none.note) == ("ok", "no file of the workspace matches file:inbox/*.jsonl")
    assert (again.status, "until 2026-09-09 10:00 UTC" in again.error) == ("skipped", True)
