"""Curating in a workspace: rules again until approval, one story once, order by score, a model behind the guard."""

import contextlib
import datetime as dt
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import THURSDAY

from newsletter import errors, issuefile
from newsletter.app import wording
from newsletter.curate import authors, llm

WEEK = dt.timedelta(days=7)
TEXT = (
    "Trams are slow in the hills around the town. We introduce Glide, a brake that stores the energy of a tram. "
    "On 14 routes, Glide saves 31% of the current. The brakes were tested for two winters."
)
EXTRACTED = (
    "Liu introduces Glide, a brake that stores the energy of a tram. On 14 routes, Glide saves 31% of the current."
)
GOOD = "Liu stores the energy of a tram in a brake. It saves 31% of the current on 14 routes."


def titles(text):
    return [block.title for section in issuefile.read(text, "x").sections for block in section.blocks]


def whys(bench, state=None):
    with bench.app() as app:
        return {row["title"]: row["why"] for row in app.entries(state=state)}


# -- rules ---------------------------------------------------------------------------------------------------------


def test_taken_entry_says_why_and_how_well_it_fits(bench):
    bench.settings(rules='include = ["agent"]\nwords = ["ferry"]')
    bench.entries("a ferry agent", "an agent")
    bench.compose()
    found = whys(bench)
    assert found["a ferry agent"].startswith("rl-agents: matched: agent; score ")
    assert float(found["a ferry agent"].rpartition(" ")[2]) > float(found["an agent"].rpartition(" ")[2])


def test_rules_are_applied_again_until_approval(bench):
    bench.settings(rules='include = ["tram"]')
    bench.entries("a tram", "a ferry", "a tram ferry")
    bench.compose()
    bench.settings(rules='include = ["ferry"]')
    report = bench.compose(refresh=True)
    assert sorted(titles(bench.text())) == ["a ferry", "a tram ferry"]
    assert (report.added, report.dropped) == (1, 1)
    assert bench.states()["a tram"] == ("dropped", "weekly/2026-09-11")
    bench.settings(rules='include = ["tram"]')
    bench.compose(refresh=True)
    assert sorted(titles(bench.text())) == ["a tram", "a tram ferry"]


def test_block_that_an_editor_changed_stays_whatever_the_rules_say(bench):
    bench.entries("a tram", "a ferry")
    bench.compose()
    bench.edit("About a tram.", "My words.")
    bench.settings(rules='include = ["ferry"]')
    report = bench.compose(refresh=True)
    assert sorted(titles(bench.text())) == ["a ferry", "a tram"]
    assert list(report.stays.values()) == ["rl-agents: matched no include rule"]


def test_what_a_rule_dropped_is_final_with_the_approval(bench):
    bench.settings(rules='include = ["tram"]')
    bench.entries("a tram", "a ferry")
    bench.compose()
    bench.approve()
    bench.settings()
    bench.entries("a bus")
    bench.compose(THURSDAY + WEEK)
    assert titles(bench.text("weekly/2026-09-18")) == ["a bus"]


def test_topic_that_is_added_later_judges_what_others_dropped(bench):
    bench.people("a@example.org")
    bench.settings(rules='include = ["tram"]')
    bench.entries("a tram", "a ferry")
    bench.entries("an old ferry", now=THURSDAY - 6 * WEEK)
    bench.compose()
    bench.approve()
    bench.entries("a ferry", "an old ferry", topics=("robots",))  # now its source is one of another topic too
    bench.compose(THURSDAY + WEEK)
    assert titles(bench.text("weekly/2026-09-18")) == ["a ferry"]
    assert bench.states()["an old ferry"] == ("dropped", "weekly/2026-09-11")


def test_editors_word_about_a_dropped_entry_is_final(bench):
    bench.settings(rules='include = ["tram"]')
    bench.entries("a tram", "a ferry")
    bench.compose()
    with bench.app() as app:
        ref = next(row["id"] for row in app.entries() if row["title"] == "a ferry")
        assert app.drop_entries([ref], "no ferries") == (1, [])
    bench.settings()
    bench.compose(refresh=True)
    assert titles(bench.text()) == ["a tram"]
    assert whys(bench, "dropped") == {"a ferry": "no ferries"}


def test_min_score_drops_what_has_none_of_the_topics_words(bench):
    bench.settings(rules="min_score = 0.1")
    bench.entries("reinforcement of a dyke", "a cat")
    bench.compose()
    assert titles(bench.text()) == ["reinforcement of a dyke"]
    assert whys(bench, "dropped") == {"a cat": "rl-agents: score 0.0 is under min_score 0.1"}


def test_order_by_score_is_kept_by_a_refresh(bench):
    bench.settings(more='order = "score"\nmax_entries = 3', rules='words = ["tram"]')
    bench.entries("a cat", "a tram", "a dog")
    bench.compose()
    before = bench.text()
    assert titles(before)[0] == "a tram"
    bench.compose(refresh=True)
    assert bench.text() == before
    bench.draft().unlink()
    bench.compose()
    assert titles(bench.text()) == titles(before)


def test_topics_test_tries_rules_without_the_settings(bench):
    bench.settings(rules='include = ["tram"]')
    bench.entries("a tram", "a ferry", "a cat")
    bench.compose()

    def tried(**rules):
        with bench.app() as app:
            rows = app.test_topic("rl-agents", **rules)
        return {row.title: row.change for row in rows if row.change}

    assert tried() == {}
    assert tried(include=["ferry"]) == {"a tram": "out", "a ferry": "in"}
    assert tried(include=["a "], exclude=["cat"]) == {"a ferry": "in"}
    assert tried(min_score=100.0) == {"a tram": "out"}
    with pytest.raises(errors.ConfigError, match="no regular expression"):
        tried(exclude=["("])


def test_topics_test_says_what_a_change_would_do_and_changes_nothing(bench):
    bench.settings(rules='include = ["tram"]')
    bench.entries("a tram", "a ferry", "a cat")
    bench.compose()
    bench.settings(rules='include = ["ferry"]')
    before = bench.states()
    with bench.app() as app:
        found = {row.title: (row.belongs, row.change) for row in app.test_topic("rl-agents")}
        assert app.test_topic("robots") == []
    assert found == {"a tram": (False, "out"), "a ferry": (True, "in"), "a cat": (False, None)}
    assert bench.states() == before
    with bench.app(THURSDAY + 9 * WEEK) as app:
        assert app.test_topic("rl-agents", weeks=2) == []


# -- one story -----------------------------------------------------------------------------------------------------

STORY = {"title": "Harbour bridge closed to lorries until spring", "summary": "It is shut."}


def twice(bench, **now):
    """The same story in two topics, as two imports: two sources."""
    bench.entries({**STORY, "url": "https://a.org/1"}, topics=("rl-agents",), **now)
    bench.entries(
        {**STORY, "url": "https://b.org/1", "summary": "It is shut, the city says."}, topics=("robots",), **now
    )


def test_story_of_two_sources_is_one_entry_that_names_both(bench):
    twice(bench)
    assert bench.compose().entries == 1
    with bench.app() as app:
        rows = app.entries()
    kept = next(row for row in rows if row["state"] == "in_issue")
    gone = next(row for row in rows if row["state"] == "dropped")
    assert kept["url"] == "https://b.org/1"
    assert len(kept["sources"]) == 2
    assert kept["topics"] == ["weekly/robots", "weekly/rl-agents"]
    assert gone["why"].startswith(f"the same story as {kept['id']}")


def test_byline_names_all_sources_of_a_merged_story_also_after_a_refresh(bench):
    bench.settings(
        rules='sources = [{ url = "file:a.jsonl", name = "The Echo" }, { url = "file:b.jsonl", name = "The Star" }]'
    )
    for name, length in (("a", 1), ("b", 2)):
        row = {**STORY, "url": f"https://{name}.org/1", "summary": STORY["summary"] * length}
        (bench.folder / f"{name}.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with bench.app() as app:
        app.collect()
    report = bench.compose()
    assert (report.entries, report.merged, report.dropped) == (1, 1, 0)
    text = bench.text()
    assert "The Star, The Echo" in text
    bench.entries("news", now=THURSDAY)
    bench.compose(refresh=True)
    assert "The Star, The Echo" in bench.text()
    bench.draft().unlink()
    bench.compose()
    assert "The Star, The Echo" in bench.text()


def test_byline_names_all_sources_of_an_entry(bench):
    bench.settings(
        rules='sources = [{ url = "file:a.jsonl", name = "The Echo" }, { url = "file:b.jsonl", name = "The Star" }]'
    )
    for name in ("a", "b"):
        (bench.folder / f"{name}.jsonl").write_text(json.dumps({**STORY, "url": "https://a.org/1"}), encoding="utf-8")
    with bench.app() as app:
        app.collect()
    bench.compose()
    assert "The Echo, The Star" in bench.text()


def test_later_telling_of_a_story_adds_its_source_to_the_draft(bench):
    bench.settings(
        rules='sources = [{ url = "file:a.jsonl", name = "The Echo" }, { url = "file:b.jsonl", name = "The Star" }]'
    )
    for name in ("a", "b"):
        (bench.folder / f"{name}.jsonl").write_text(
            json.dumps({**STORY, "url": f"https://{name}.org/1"}), encoding="utf-8"
        )
        with bench.app() as app:
            app.collect(everything=True)
        bench.compose(refresh=True)
    assert titles(bench.text()) == [STORY["title"]]
    assert "The Echo, The Star" in bench.text()


def test_merging_again_changes_nothing(bench):
    twice(bench)
    bench.compose()
    before = bench.text()
    twice(bench, now=THURSDAY)
    assert bench.compose(refresh=True).reason == "nothing new"
    assert bench.text() == before
    with bench.app() as app:
        app.cancel("weekly/2026-09-11")
    bench.compose()
    assert titles(bench.text()) == titles(before)


def test_story_that_an_issue_had_is_not_told_again_by_another_source(bench):
    bench.entries({**STORY, "url": "https://a.org/1"})
    bench.compose()
    bench.approve()
    bench.entries({**STORY, "url": "https://b.org/1"}, topics=("robots",), now=THURSDAY)
    bench.entries("news")
    bench.compose(THURSDAY + WEEK)
    assert titles(bench.text("weekly/2026-09-18")) == ["news"]


@pytest.mark.parametrize("learnt", [{"doi": "10.5555/bridge"}, {"url": "https://echo.org/1"}])
@pytest.mark.parametrize("when", ["before the draft", "after it"])
def test_two_entries_that_turn_out_to_be_one_stand_once(bench, learnt, when):
    """Other titles, other texts: only a name that comes later tells that they are the same."""
    bench.settings(
        rules='sources = [{ url = "file:a.jsonl", name = "The Echo" }, { url = "file:b.jsonl", name = "The Star" }]'
    )
    echo = {"title": "Harbour bridge", "url": "https://echo.org/1", "id": "e1", "summary": "It is shut.", **learnt}
    star = {"title": "No way across", "url": "https://star.org/1", "id": "s1", "summary": "Closed, they say."}
    for name, row in (("a", echo), ("b", star)):
        (bench.folder / f"{name}.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with bench.app() as app:
        app.collect()
    if when == "after it":
        bench.compose()
        assert len(titles(bench.text())) == 2
    (bench.folder / "b.jsonl").write_text(json.dumps({**star, **learnt}), encoding="utf-8")
    with bench.app() as app:
        app.collect(everything=True)
    bench.compose(refresh=when == "after it")
    assert len(titles(bench.text())) == 1
    assert "The Echo" in bench.text()
    assert "The Star" in bench.text()
    before = bench.text()
    bench.compose(refresh=True)
    assert bench.text() == before


# -- a model -------------------------------------------------------------------------------------------------------


class Model(ThreadingHTTPServer):
    """A chat server; `reply` is what it says, or a function of the handler; it keeps what it was asked."""

    daemon_threads = True

    def __init__(self, reply):
        self.reply, self.asked, self.stopping = reply, [], threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, request, client_address):
        """A client that hangs up is no error here."""


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(request)
        if callable(self.server.reply):
            self.server.reply(self, request)
        else:
            self.say(json.dumps({"summary": self.server.reply}))

    def say(self, content, status=200):
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        self.octets(json.dumps({"choices": [choice], "usage": {"total_tokens": 7}}).encode(), status)

    def octets(self, data, status=200):
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, *_):
        """Nothing on stderr."""


@pytest.fixture
def model():
    pytest.importorskip("openai")
    servers = []

    def start(reply):
        server = Model(reply)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stopping.set()
        server.shutdown()
        server.server_close()


def asking(bench, server, more=""):
    base = f"http://127.0.0.1:{server.server_port}/v1"
    bench.settings(tail=f'\n[summary]\nengine = "openai"\nbase_url = "{base}"\nmodel = "m"\n{more}')


def paper(bench, number=1, text=TEXT):
    bench.entries(
        {"title": f"Paper {number}", "url": f"https://p.org/{number}", "authors": ["Wei Liu"], "summary": text}
    )


def test_model_is_asked_once_and_the_editor_sees_who_wrote_it(bench, model):
    server = model(GOOD)
    asking(bench, server)
    paper(bench)
    bench.compose()
    assert GOOD in bench.text()
    (origin,) = wording.origins_in(bench.text()).values()
    assert origin == "by m"
    with bench.app() as app:
        assert "by m" not in app.render("weekly/2026-09-11")[1]
    before = bench.text()
    bench.compose(refresh=True)
    bench.draft().unlink()
    bench.compose()
    assert bench.text() == before
    assert len(server.asked) == 1
    request = server.asked[0]
    assert request["response_format"]["type"] == "json_schema"
    assert "<article>\nTrams are slow" in request["messages"][1]["content"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (GOOD.replace("31%", "32%"), "figures that the text does not hold: 32%"),
        ("Chen stores energy. It saves 31%.", "does not begin with the author phrase"),
        ("Liu stores energy in a tram. <script>alert(1)</script>", "markup"),
        (lambda handler, _: handler.say("", 500), "the server answered 500"),
        (lambda handler, _: handler.octets(b"\xff{] no JSON"), "not the JSON"),
        (lambda handler, _: handler.octets(b"[" * 100_000), "not the JSON"),
        (lambda handler, _: handler.octets(b'{"a": "' + b"x" * 3_000_000), "too long"),
        (lambda handler, _: handler.octets(b'{"choices": [{"message": {"content": null}}]}'), "no text"),
    ],
)
def test_bad_answer_leaves_the_extracted_words_and_says_why(bench, model, reply, reason):
    asking(bench, model(reply))
    paper(bench)
    report = bench.compose()
    assert EXTRACTED in bench.text()
    (origin,) = wording.origins_in(bench.text()).values()
    assert origin.startswith("extracted, not by m: ")
    assert reason in origin
    assert sum(report.extracted.values()) == 1
    assert reason in next(iter(report.extracted))


def test_refused_answer_is_not_asked_for_again(bench, model):
    server = model("Nobody knows.")
    asking(bench, server)
    paper(bench)
    bench.compose()
    bench.compose(refresh=True)
    assert len(server.asked) == 1


def test_slow_server_costs_its_time_and_no_more(model):
    server = model(lambda handler, _: handler.server.stopping.wait(20))
    began = time.monotonic()
    answer = llm.ask(
        llm.Server(f"http://127.0.0.1:{server.server_port}/v1", "m", "", 0.5),
        title="", text=TEXT, subject=authors.subject([]),
    )  # fmt: skip
    assert answer.text is None
    assert "within 0.5 s" in answer.reason
    assert time.monotonic() - began < 5


def test_server_that_fails_three_times_is_left_alone(bench, model):
    server = model(lambda handler, _: handler.say("", 500))
    asking(bench, server)
    for number in range(5):
        paper(bench, number, TEXT.replace("Glide", f"Glide{number}"))
    bench.compose()
    assert len(server.asked) == 3
    assert sum("3 times in a row" in origin for origin in wording.origins_in(bench.text()).values()) == 2


def test_calls_are_limited_and_a_refresh_goes_on(bench, model):
    server = model(GOOD)
    asking(bench, server, "max_calls = 1")
    for number in range(2):
        paper(bench, number, TEXT.replace("Trams", f"Trams{number}"))
    bench.compose()
    assert (len(server.asked), bench.text().count(GOOD)) == (1, 1)
    bench.compose(refresh=True)
    assert (len(server.asked), bench.text().count(GOOD)) == (2, 2)


def test_server_without_schemas_is_asked_without_one(bench, model):
    def reply(handler, request):
        if "response_format" in request:
            handler.say("", 400)
        else:
            handler.say(GOOD)

    asking(bench, model(reply))
    paper(bench)
    bench.compose()
    assert GOOD in bench.text()


def test_editors_words_outlive_a_model(bench, model):
    asking(bench, model(GOOD))
    paper(bench)
    bench.compose()
    bench.edit(GOOD, "My own words.")
    bench.compose(refresh=True)
    assert "My own words." in bench.text()
    assert GOOD not in bench.text()


def test_what_is_finished_is_never_asked_about(bench, model):
    server = model(GOOD)
    asking(bench, server)
    bench.entries("one")
    bench.compose()
    assert server.asked == []


# -- origins -------------------------------------------------------------------------------------------------------


def test_origins_are_comments_that_the_mail_does_not_have(bench):
    bench.entries("one", {"title": "Two", "url": "https://p.org/2", "authors": ["Wei Liu"], "summary": TEXT})
    bench.compose()
    assert sorted(wording.origins_in(bench.text()).values()) == ["as it came", "extracted"]
    draft = issuefile.read(bench.text(), "x")
    assert issuefile.write(draft) == bench.text()
    with bench.app() as app:
        _, page, plain = app.render("weekly/2026-09-11")
    assert "extracted" not in page + plain


def test_origins_keep_an_editors_line_ends_and_front_matter():
    text = '+++\r\nnewsletter = "a"\r\n# mine\r\n+++\r\n\r\nHello\r\n+++\r\n'
    once = wording.with_origins(text, {"e-1": "by m\nx", "e-2": "extracted"})
    assert "\n" not in once.replace("\r\n", "")
    assert wording.origins_in(once) == {"e-1": "by mx", "e-2": "extracted"}
    assert wording.with_origins(once, {}) == text
    assert wording.with_origins("no front", {"e-1": "x"}) == "no front"


def test_why_not_by_the_model_is_told_once_a_reason_and_not_again_by_a_refresh(bench, model):
    answers = iter(["Liu stores the energy of a tram in 32 brakes.", "Liu stores the energy of a tram in 33 brakes."])
    asking(bench, model(lambda handler, _: handler.say(json.dumps({"summary": next(answers)}))))
    for number in range(2):
        paper(bench, number, TEXT.replace("Trams", f"Trams{number}"))
    assert bench.compose().extracted == {"the answer has figures that the text does not hold": 2}
    assert bench.compose(refresh=True).extracted == {}
