"""Moving in: OPML into the settings and out of them, `--as-seen`, `sources check` and `discover`."""

import json

import httpd
import pytest
from conftest import THURSDAY, WEDNESDAY

from newsletter import errors
from newsletter.app import sourcing
from newsletter.store import sources

DAILY = """
[[newsletter]]
slug = "daily"
title = "Every day"
from = "News <news@example.org>"
[[newsletter.topic]]
slug = "rl-agents"
title = "Agents"
"""


def rss(*titles):
    items = "".join(f"<item><title>{t}</title><link>https://a.test/{t}</link><guid>{t}</guid></item>" for t in titles)
    return f'<rss version="2.0"><channel><title>Feed</title>{items}</channel></rss>'.encode()


def outline(*urls, folder=None):
    rows = "".join(f'<outline text="F" xmlUrl="{url}"/>' for url in urls)
    return f'<outline text="{folder}">{rows}</outline>' if folder else rows


def take(bench, *outlines, **options):
    data = f'<opml version="2.0"><body>{"".join(outlines)}</body></opml>'.encode()
    with bench.app() as app:
        return app.import_opml(data, **options)


def listed(bench):
    with bench.app() as app:
        return {row.url: row.topics for row in app.sources()}


# -- OPML ------------------------------------------------------------------------------------------------------------


def test_folder_becomes_the_topic_of_that_title_or_slug_or_a_new_one(bench):
    report = take(
        bench,
        outline("https://a.test/", folder="reinforcement LEARNING"),
        outline("https://b.test/", folder="Robots"),
        outline("https://c.test/", folder="C++ & Rust"),
        outline("https://d.test/"),
    )
    assert [(each.topic, each.new, each.added) for each in report.topics] == [
        ("rl-agents", False, 2), ("robots", False, 1), ("c-rust", True, 1),
    ]  # fmt: skip
    assert listed(bench) == {
        "https://a.test/": ["weekly/rl-agents"],
        "https://d.test/": ["weekly/rl-agents"],
        "https://b.test/": ["weekly/robots"],
        "https://c.test/": ["weekly/c-rust"],
    }
    with bench.app() as app:
        assert app.settings.newsletter[0].topic_of("c-rust").title == "C++ & Rust"


def test_folders_whose_slugs_are_the_same_are_two_topics(bench):
    groups = [outline("https://a.test/", folder="C"), outline("https://b.test/", folder="C++")]
    groups += [outline("https://c.test/", folder="北京"), outline("https://d.test/", folder="上海")]
    assert [each.topic for each in take(bench, *groups).topics] == ["c", "c-2", "topic", "topic-2"]
    again = take(bench, *groups)
    assert (again.added, again.doubles, [each.new for each in again.topics]) == (0, 4, [False] * 4)


def test_second_import_doubles_nothing_and_writes_nothing(bench):
    rows = [outline("https://a.test/feed", "http://A.test/feed/", folder="New"), outline("https://b.test/")]
    first = take(bench, *rows)
    assert (first.feeds, first.added, first.doubles) == (3, 2, 1)
    path = bench.folder / "newsletter.toml"
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert (take(bench, *rows).added, take(bench, *rows, topic="rl-agents").added) == (0, 1)
    assert take(bench, *rows).added == 0
    assert path.read_bytes().startswith(before[0][:200])


def test_topic_takes_all_folders(bench):
    report = take(bench, outline("https://a.test/", folder="A"), outline("https://b.test/"), topic="robots")
    assert [(each.topic, each.added) for each in report.topics] == [("robots", 2)]


def test_dry_run_writes_nothing(bench):
    before = (bench.folder / "newsletter.toml").read_bytes()
    assert take(bench, outline("https://a.test/", folder="A"), dry_run=True).added == 1
    assert (bench.folder / "newsletter.toml").read_bytes() == before


def test_several_newsletters_need_a_name(bench):
    bench.settings(tail=DAILY)
    with pytest.raises(errors.UsageError, match="weekly, daily"):
        take(bench, outline("https://a.test/"))
    with pytest.raises(errors.UsageError, match="weekly/rl-agents"):
        take(bench, outline("https://a.test/"), topic="rl-agents")
    take(bench, outline("https://a.test/"), newsletter="daily")
    assert listed(bench) == {"https://a.test/": ["daily/rl-agents"]}


def test_import_fetches_nothing(bench):
    with httpd.serve() as server:
        take(bench, outline(server.url("/f")))
        assert not server.asked


def test_export_is_taken_back(bench):
    bench.settings(
        rules='sources = ["https://a.test/f", { url = "https://b.test/?a=1&b=2", name = "B & \\"C\\"" }, "file:in/*"]'
    )
    with bench.app() as app:
        text, feeds, left_out = app.export_opml()
    assert (feeds, left_out) == (2, ["file:in/*"])
    bench.settings()
    with bench.app() as app:
        app.import_opml(text.encode())
    with bench.app() as app:
        sources = app.settings.newsletter[0].topic_of("rl-agents").sources
    assert [(source.url, source.name) for source in sources] == [
        ("https://a.test/f", ""), ("https://b.test/?a=1&b=2", 'B & "C"'),
    ]  # fmt: skip


def test_export_names_a_feed_as_it_calls_itself(bench):
    with httpd.serve({"/f": httpd.Reply(rss("one"))}) as server:
        bench.settings(rules=f'sources = ["{server.url("/f")}"]', tail='[collect]\nallow_private = ["127.0.0.1"]\n')
        with bench.app() as app:
            app.collect()
            assert 'title="Feed"' in app.export_opml()[0]


@pytest.mark.parametrize(
    ("title", "slug"),
    [("C++ & Rust", "c-rust"), ("Élan Vital!", "elan-vital"), ("北京", "topic"), ("x" * 90, "x" * 50)],
)
def test_slug_of_a_title(title, slug):
    assert sourcing.slug_of(title) == slug


# -- as seen ---------------------------------------------------------------------------------------------------------


def test_what_sources_show_now_is_dropped_and_what_comes_later_waits(bench):
    with httpd.serve({"/f": httpd.Reply(rss("old"))}) as server:
        bench.settings(rules=f'sources = ["{server.url("/f")}"]', tail='[collect]\nallow_private = ["127.0.0.1"]\n')
        bench.entries("mine")
        with bench.app(WEDNESDAY) as app:
            assert app.collect(as_seen=True).as_seen == 1
        server.routes["/f"] = httpd.Reply(rss("new", "old"))
        with bench.app(THURSDAY) as app:
            assert app.collect(everything=True).as_seen == 0
    assert {title: state for title, (state, _) in bench.states().items()} == {
        "mine": "waiting", "old": "dropped", "new": "waiting",
    }  # fmt: skip
    with bench.app() as app:
        (old,) = app.entries(state="dropped")
    assert old["why"] == "before the first issue"


def test_as_seen_again_leaves_what_came_since_alone(bench):
    with httpd.serve({"/f": httpd.Reply(rss("old")), "/late": httpd.Reply(status=500)}) as server:
        urls = f'"{server.url("/f")}", "{server.url("/late")}"'
        bench.settings(rules=f"sources = [{urls}]", tail='[collect]\nallow_private = ["127.0.0.1"]\n')
        with bench.app(WEDNESDAY) as app:
            assert app.collect(as_seen=True).as_seen == 1
        server.routes |= {"/f": httpd.Reply(rss("new", "old")), "/late": httpd.Reply(rss("late"))}
        with bench.app(THURSDAY) as app:
            assert app.collect(as_seen=True).as_seen == 1
    assert {title: state for title, (state, _) in bench.states().items()} == {
        "old": "dropped", "late": "dropped", "new": "waiting",
    }  # fmt: skip


def test_as_seen_spares_topics_and_newsletters_that_were_not_asked_for(bench):
    with httpd.serve({"/f": httpd.Reply(rss("one"))}) as server:
        source = f'sources = ["{server.url("/f")}"]\n'
        tail = f'{source}[collect]\nallow_private = ["127.0.0.1"]\n'
        bench.settings(rules=source, tail=source + DAILY + tail)
        with bench.app(WEDNESDAY) as app:
            assert app.collect(topic="weekly/robots", as_seen=True).as_seen == 0  # it waits for rl-agents too
            assert app.collect(newsletter="weekly", as_seen=True).as_seen == 1
    assert bench.states("weekly")["one"][0] == "dropped"
    assert bench.states("daily")["one"][0] == "waiting"


# -- looking ---------------------------------------------------------------------------------------------------------


def test_check_looks_at_all_sources_and_stores_nothing(bench):
    (bench.folder / "inbox").mkdir()
    (bench.folder / "inbox/a.jsonl").write_text(
        json.dumps({"title": "A", "summary": "x", "published": "2026-09-01"}) + "\nbroken\n", encoding="utf-8"
    )
    with httpd.serve({"/f": httpd.Reply(rss("one"), headers={"Content-Type": "text/xml"})}) as server:
        good, bad = server.url("/f"), server.url("/gone")
        bench.settings(
            rules=f'sources = ["{good}", "{bad}", "file:inbox/*.jsonl"]',
            tail='[collect]\nallow_private = ["127.0.0.1"]\n',
        )
        with bench.app() as app:
            first, second, third = app.check_sources()
            assert (first.url, first.ok, first.title, first.entries) == (good, True, "Feed", 1)
            assert (second.url, second.ok) == (bad, False)
            assert "404" in second.error
            assert (third.ok, third.entries, f"{third.newest:%F}") == (True, 1, "2026-09-01")
            assert "inbox/a.jsonl:2" in third.notes[0]
            assert [row.url for row in app.check_sources([bad])] == [bad]
    assert not (bench.folder / "subscribers/newsletter.db").exists()


def test_check_names_what_is_empty_and_encodings_that_were_guessed(bench):
    russian = rss("x").decode().replace("Feed", "Новости переплыли реку на рассвете").encode("koi8-r")
    with httpd.serve({"/f": httpd.Reply(russian, headers={"Content-Type": "text/xml"})}) as server:
        bench.settings(tail='[collect]\nallow_private = ["127.0.0.1"]\n')
        with bench.app() as app:
            guessed, none = app.check_sources([server.url("/f"), "file:inbox/*.jsonl"])
    assert guessed.title == "Новости переплыли реку на рассвете"
    assert "it is read as koi8-u" in guessed.notes[0]
    assert (none.ok, none.entries, none.notes) == (True, 0, ["no file of the workspace matches file:inbox/*.jsonl"])


def test_discover_answers_with_the_feeds_of_a_page(bench):
    html = b'<html><link rel="alternate" type="application/rss+xml" href="/f">'
    with httpd.serve({"/": httpd.Reply(html), "/f": httpd.Reply(rss("one"))}) as server:
        bench.settings(tail='[collect]\nallow_private = ["127.0.0.1"]\n')
        with bench.app() as app:
            report = app.discover(server.url("/"))
    assert report.as_json()["feeds"] == [{"url": server.url("/f"), "title": "Feed", "entries": 1}]
    assert [url for url, _ in report.tried] == [server.url("/")]


def test_as_seen_is_refused_once_there_is_an_issue(bench):
    bench.entries("one")
    bench.compose()
    with bench.app() as app, pytest.raises(errors.StateError, match="entries drop"):
        app.collect(as_seen=True)


def test_check_keeps_the_turns_of_the_database_and_makes_none(bench):
    bench.settings(tail="[collect]\nallow_private = ['127.0.0.0/8']\n")
    with httpd.serve({"/f": httpd.Reply(b"x")}) as server:
        with bench.app() as app:
            app.check_sources([server.url("/f")])
        assert not (bench.folder / "subscribers/newsletter.db").exists()
        with bench.app() as app:
            with app.store.write() as session:
                sources.take_turn(session, "127.0.0.1", "x", app.wall_clock(), lambda _: False)
                sources.give_turn(session, "127.0.0.1", "x", app.wall_clock(), 5000.0)
            (found,) = app.check_sources([server.url("/f")])
    assert "asked for a pause" in found.error
    assert len(server.asked) == 1
