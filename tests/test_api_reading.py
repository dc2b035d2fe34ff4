"""What programs read: pages that stay whole while people come and go, filters, issues and their deliveries."""

import datetime as dt

import apid
import pytest
from apid import AGENTS, ROBOTS, problem
from conftest import ISSUE, THURSDAY, WEDNESDAY, Bench
from sqlmodel import select

from newsletter.app import people
from newsletter.store import pages, tables
from newsletter.types import DeliveryState

FRIDAY = THURSDAY + dt.timedelta(hours=22)


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """Somebody in every state, an issue that went to two of them."""
    bench = Bench(tmp_path_factory.mktemp("reading") / "letter")
    with apid.serve(bench, FRIDAY, mails=False) as found:
        bench.people("one@example.org", "two@example.org", now=WEDNESDAY)
        bench.people("three@example.org", topics=("robots",), now=WEDNESDAY)
        bench.entries("A paper", "Another paper")
        bench.compose()
        bench.approve()
        with bench.app(FRIDAY) as app:
            app.send(ISSUE)
        found.make("pending@example.org", confirm=False)
        found.active("left@example.org", [AGENTS])
        found.delete("/subscribers/left@example.org")
        found.active("gone@example.org", [AGENTS])
        found.delete("/subscribers/gone@example.org?erase=true")
        people.suppress(found.app, "two@example.org", newsletter="weekly", reason="asked by phone")
        yield found


def all_of(api, path, name, limit, **params):
    """Every page, in order."""
    found, cursor = [], None
    while True:
        page = api.get(path, params={"limit": limit, **params, **({"cursor": cursor} if cursor else {})}).json()
        assert len(page[name]) <= limit
        found += page[name]
        cursor = page["next"]
        if cursor is None:
            return found


EVERYBODY = ["one", "two", "three", "pending", "left"]


@pytest.mark.parametrize("limit", [1, 2, 5, 6, 500])
def test_pages_of_any_size_are_the_same_rows(api, limit):
    rows = all_of(api, "/subscribers", "subscribers", limit)
    assert [row["email"].partition("@")[0] for row in rows] == EVERYBODY


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"state": "active"}, ["one", "two", "three"]),
        ({"state": "pending"}, ["pending"]),
        ({"state": "unsubscribed"}, ["left"]),
        ({"state": "bounced"}, []),
        ({"topic": AGENTS}, ["one", "two"]),
        ({"topic": ROBOTS}, ["three", "pending"]),
        ({"topic": ROBOTS, "state": "active"}, ["three"]),
        ({"email": " TWO@Example.ORG"}, ["two"]),
        ({"email": "stranger@example.org"}, []),
        ({"email": "no address"}, []),
        ({"email": "two@example.org", "topic": ROBOTS}, []),
    ],
)
@pytest.mark.parametrize("limit", [1, 100])
def test_people_are_filtered(api, params, names, limit):
    rows = all_of(api, "/subscribers", "subscribers", limit, **params)
    assert [row["email"].partition("@")[0] for row in rows] == names


def test_a_person_is_shown_as_listed(api):
    (row,) = api.get("/subscribers", params={"email": "two@example.org"}).json()["subscribers"]
    assert row == api.get("/subscribers/two@example.org").json() == api.get(f"/subscribers/{row['id']}").json()
    assert row["suppressed"] == "weekly: asked by phone"
    assert dt.datetime.fromisoformat(row["since"]).utcoffset() == dt.timedelta(0)


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/subscribers", {"topic": "weekly/none"}),
        ("/subscribers", {"topic": "robots"}),
        ("/subscribers", {"state": "erased"}),
        ("/subscribers", {"limit": "0"}),
        ("/subscribers", {"limit": "501"}),
        ("/subscribers", {"cursor": "x1"}),
        ("/subscribers", {"cursor": "p"}),
        ("/subscribers", {"cursor": "pffffffffffffffff"}),
        ("/subscribers", {"cursor": "p1\n"}),
        ("/subscribers", {"sate": "active"}),
        ("/subscriptions", {"subscriber": "0"}),
        ("/subscriptions", {"current": "perhaps"}),
        ("/deliveries", {"state": "lost"}),
    ],
)
def test_a_parameter_that_cannot_be_meant_is_a_mistake_not_a_filter_left_out(api, path, params):
    found = problem(api.get(path, params=params), 422, "invalid")
    assert [each.get("parameter", "sate") for each in found["errors"]] == list(params)


def test_who_comes_and_goes_while_pages_are_turned_makes_nobody_double_or_missed(tmp_path):
    with apid.serve(Bench(tmp_path / "letter"), mails=False) as own:
        emails = [f"p{number}@example.org" for number in range(9)]
        for email in emails:
            own.active(email)
        page = own.get("/subscribers?limit=4").json()
        seen = [row["email"] for row in page["subscribers"]]
        own.delete("/subscribers/p1@example.org?erase=true")
        own.delete(f"/subscribers/{page['subscribers'][-1]['id']}?erase=true")  # the one that the cursor stands at
        own.active("late@example.org")
        page = own.get(f"/subscribers?limit=4&cursor={page['next']}").json()
        seen += [row["email"] for row in page["subscribers"]]
        page = own.get(f"/subscribers?limit=4&cursor={page['next']}").json()
        seen += [row["email"] for row in page["subscribers"]]
        assert seen == [*emails, "late@example.org"]
        assert page["next"] is None


def test_subscriptions_are_each_yes_also_those_that_are_over(api):
    number = api.get("/subscribers/left@example.org").json()["id"]
    (row,) = api.get("/subscriptions", params={"subscriber": number}).json()["subscriptions"]
    assert (row["topic"], row["how"], row["subscriber"]) == (AGENTS, "api website", number)
    assert row["until"] >= row["since"]
    every = all_of(api, "/subscriptions", "subscriptions", 2)
    held = all_of(api, "/subscriptions", "subscriptions", 2, current="true")
    over = all_of(api, "/subscriptions", "subscriptions", 2, current="false")
    assert (len(every), len(held), over) == (5, 4, [row])
    assert all_of(api, "/subscriptions", "subscriptions", 1, topic=ROBOTS) == [
        each for each in every if each["topic"] == ROBOTS
    ]


def test_topics_are_those_of_the_settings(api):
    rows = api.get("/topics").json()["topics"]
    assert rows[1] == {"topic": ROBOTS, "newsletter": "weekly", "title": "Robots that learn"}


def test_an_issue_is_shown_with_how_far_it_is(api):
    (row,) = api.get("/issues", params={"state": "sent", "newsletter": "weekly"}).json()["issues"]
    assert (row["issue"], row["state"], row["entries"], row["number"]) == (ISSUE, "sent", 2, 1)
    whole = api.get(f"/issues/{ISSUE}").json()
    assert whole.pop("deliveries")["sent"] == 2
    assert whole == row
    assert api.get("/issues?newsletter=other").json()["issues"] == []
    assert api.get("/issues?state=draft").json()["issues"] == []
    problem(api.get("/issues/weekly/2026-09-18"), 404)


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_deliveries_say_who_got_what(api, limit):
    rows = all_of(api, "/deliveries", "deliveries", limit, issue=ISSUE)
    assert [(row["email"], row["state"], row["code"], row["reason"]) for row in rows] == [
        ("one@example.org", "sent", 250, None),
        ("two@example.org", "sent", 250, None),
    ]
    assert all(row["issue"] == ISSUE and row["message_id"] and row["at"] for row in rows)
    assert all_of(api, "/deliveries", "deliveries", limit) == rows
    assert all_of(api, "/deliveries", "deliveries", limit, subscriber=rows[1]["subscriber"]) == rows[1:]
    assert all_of(api, "/deliveries", "deliveries", limit, state="failed") == []
    assert all_of(api, "/deliveries", "deliveries", limit, issue="weekly/none") == []


def test_whose_sender_died_is_in_doubt(bench):
    bench.people("one@example.org", "two@example.org", "three@example.org")
    bench.entries("A paper")
    with apid.serve(bench, FRIDAY, mails=False) as own:
        bench.compose()
        bench.approve()
        with bench.app(FRIDAY) as app:
            app.send(ISSUE)
        with own.app.store.write() as session:
            for row, state in zip(
                session.exec(select(tables.Delivery)).all(), ("sending", "sent", "failed"), strict=True
            ):
                row.state = state
        assert [row["state"] for row in own.get("/deliveries").json()["deliveries"]] == ["in_doubt", "sent", "failed"]
        assert [row["state"] for row in all_of(own, "/deliveries", "deliveries", 1, state="in_doubt")] == ["in_doubt"]
        assert all_of(own, "/deliveries", "deliveries", 1, state="sending") == []
        own.delete("/subscribers/one@example.org?erase=true")
        assert own.get("/deliveries").json()["deliveries"][0]["email"] is None


def test_a_page_costs_the_same_wherever_it_is(bench):
    """What SQLite is going to do: no page is found by sorting, or by walking over those before it."""
    seen = []
    with bench.app() as app, app.store.read() as session:
        import sqlalchemy as sa

        @sa.event.listens_for(app.store.engine, "before_cursor_execute")
        def before(connection, cursor, statement, parameters, context, executemany):
            if statement.startswith("SELECT"):
                seen.append((statement, parameters))

        span = pages.Span(5, 10)
        pages.subscribers(session, span)
        pages.subscribers(session, span, newsletter="weekly", topic="robots")
        pages.subscriptions(session, span)
        pages.suppressions(session, span)
        pages.deliveries(session, span, issue_id=1, state=DeliveryState.SENT, is_dead=bool)
        pages.deliveries(session, span, subscriber_id=1, is_dead=bool)
        asked = list(seen)
        plans = [
            "\n".join(row[3] for row in session.connection().exec_driver_sql(f"explain query plan {text}", values))
            for text, values in asked
        ]
    assert len(plans) >= 6
    for plan in plans:
        assert "TEMP B-TREE" not in plan, plan
        assert "SCAN" not in plan, plan
