"""The API changes people: made, asked, changed, taken away; and never undoes what they have said no to."""

import datetime as dt
import json
import logging

import apid
import publicd
import pytest
from apid import AGENTS, ROBOTS, YES, problem
from conftest import THURSDAY, Bench
from sqlmodel import select

from newsletter.app import api as asked
from newsletter.app import people, throwaway
from newsletter.store import apikeys, tables

HOUR = dt.timedelta(hours=1)


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with apid.serve(Bench(tmp_path_factory.mktemp("api") / "letter")) as found:
        yield found


def consent(api, email):
    with api.app.store.read() as session:
        number = people.show(api.app, email).id
        rows = session.exec(select(tables.Consent).where(tables.Consent.subscriber_id == number)).all()
    return [(row.what, row.topic, row.how, row.ip, row.words, row.page) for row in rows]


# -- making --------------------------------------------------------------------------------------------------------


def test_who_is_pending_is_asked_by_mail_and_says_yes_on_the_page(api):
    made = api.make("ask@example.org", [ROBOTS], name="Ask  Me", language="de", consent=YES)
    assert made.status_code == 201
    assert made.headers["location"] == f"{api.site.url}/api/v1/subscribers/{made.json()['id']}"
    assert (made.json()["state"], made.json()["topics"], made.json()["mailed"]) == ("pending", [], True)
    path = api.site.link("ask@example.org")
    api.site.post(path, {**api.site.fields(path), "yes": "1"})
    found = api.get("/subscribers/ask@example.org").json()
    assert (found["state"], found["topics"], found["name"], found["language"]) == ("active", [ROBOTS], "Ask Me", "de")
    assert ("subscribed", "robots", "page", "192.0.2.7", YES["text"], "join v3") in consent(api, "ask@example.org")


def test_who_has_said_yes_elsewhere_is_active_with_the_proof_and_unmailed(api):
    made = api.active("active@example.org", [ROBOTS, AGENTS])
    assert (made["state"], made["topics"], made["mailed"]) == ("active", [AGENTS, ROBOTS], False)
    said = [each for each in consent(api, "active@example.org") if each[0] == "subscribed"]
    assert {each[1] for each in said} == {"robots", "rl-agents"}
    assert {each[2:] for each in said} == {("api website", "192.0.2.7", YES["text"], "join v3")}


def test_without_proof_nobody_is_active(api):
    found = problem(api.make("unproved@example.org", state="active"), 422, "invalid")
    assert found["errors"] == [{"pointer": "#", "detail": "active needs consent"}]
    assert api.get("/subscribers/unproved@example.org").status_code == 404


@pytest.mark.parametrize("at", ["1999-12-31T23:59:59Z", "2027-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59"])
def test_a_yes_of_another_time_is_none(api, at):
    answer = api.make("when@example.org", state="active", consent={**YES, "at": at})
    assert problem(answer, 422, "invalid")["errors"][0]["pointer"] == "#/consent/at"


def test_who_is_not_to_be_asked_waits_unmailed(api):
    made = api.make("wait@example.org", confirm=False).json()
    assert (made["state"], made["topics"], made["mailed"]) == ("pending", [ROBOTS], False)
    again = api.make("wait@example.org", state="active", consent=YES)
    assert (again.status_code, again.json()["state"]) == (200, "active")
    assert [each for each in consent(api, "wait@example.org") if each[0] == "subscribed"]


def test_who_is_there_stays_and_is_mailed_only_about_what_is_new(api):
    number = api.active("there@example.org", [ROBOTS])["id"]
    same = api.make("There@Example.org", [ROBOTS])
    assert (same.status_code, same.json()["id"], same.json()["mailed"]) == (200, number, False)
    more = api.make("there@example.org", [ROBOTS, AGENTS])
    assert (more.status_code, more.json()["topics"], more.json()["mailed"]) == (200, [ROBOTS], True)


def test_who_is_active_gets_no_new_topic_without_proof_or_mail(api):
    api.active("more-of-it@example.org", [ROBOTS])
    problem(api.make("more-of-it@example.org", [ROBOTS, AGENTS], confirm=False), 409, "consent")
    after = api.make("more-of-it@example.org", [ROBOTS, AGENTS], confirm=False, consent=YES).json()
    assert (after["topics"], after["state"], after["mailed"]) == ([AGENTS, ROBOTS], "active", False)
    assert ("subscribed", "rl-agents") in [each[:2] for each in consent(api, "more-of-it@example.org")]


def test_an_address_is_asked_three_times_a_day_at_most(api):
    mailed = [api.make("often@example.org").json()["mailed"] for _ in range(5)]
    assert mailed == [True, True, True, False, False]


# -- a no ----------------------------------------------------------------------------------------------------------

WAYS = [
    {},
    {"confirm": False},
    {"state": "active", "consent": YES},
]


@pytest.mark.parametrize("way", WAYS, ids=["asked", "waiting", "active"])
def test_no_way_of_making_brings_back_who_left(api, way):
    email = f"left{len(way)}{'consent' in way}@example.org"
    api.active(email)
    assert api.delete(f"/subscribers/{email}").status_code == 204
    found = problem(api.make(email, **way), 409, "left")
    assert email not in json.dumps(found)
    assert api.state(email) == "unsubscribed"


@pytest.mark.parametrize("newsletter", [None, "weekly"])
@pytest.mark.parametrize("way", WAYS, ids=["asked", "waiting", "active"])
def test_no_way_of_making_reaches_who_is_suppressed(api, way, newsletter):
    email = f"sup{len(way)}{'consent' in way}{newsletter}@example.org".lower()
    people.suppress(api.app, email, newsletter=newsletter)
    problem(api.make(email.upper(), **way), 409, "suppressed")
    assert api.get(f"/subscribers/{email}").status_code == 404


@pytest.mark.parametrize("way", WAYS, ids=["asked", "waiting", "active"])
def test_a_topic_given_up_refuses_the_whole_request(api, way):
    email = f"gave{len(way)}{'consent' in way}@example.org"
    api.active(email, [ROBOTS, AGENTS])
    assert api.patch(f"/subscribers/{email}", {"topics": [ROBOTS]}).json()["topics"] == [ROBOTS]
    found = problem(api.make(email, [ROBOTS, AGENTS], name="Never taken", **way), 409, "left")
    assert AGENTS in found["detail"]
    after = api.get(f"/subscribers/{email}").json()
    assert (after["topics"], after["name"]) == ([ROBOTS], "")


def test_who_is_erased_stays_away(api):
    number = api.active("erased@example.org")["id"]
    assert api.delete("/subscribers/erased@example.org?erase=true").status_code == 204
    problem(api.make("erased@example.org"), 409, "suppressed")
    for place in ("erased@example.org", number):
        problem(api.get(f"/subscribers/{place}"), 404)
        problem(api.delete(f"/subscribers/{place}?erase=true"), 404)
    found = api.get("/suppressions", params={"email": "Erased@example.org"}).json()["suppressions"]
    assert [(each["email"], each["reason"]) for each in found] == [(None, "erased")]
    problem(api.delete(f"/suppressions/{found[0]['id']}"), 409, "suppressed")
    again = api.post("/suppressions", {"email": "erased@example.org"})
    assert (again.status_code, again.json()["id"]) == (200, found[0]["id"])


# -- changing ------------------------------------------------------------------------------------------------------


def test_only_what_is_sent_is_changed(api):
    number = api.active("change@example.org", name="Old Name", language="fr")["id"]
    after = api.patch(f"/subscribers/{number}", {"name": "New Name"}).json()
    assert (after["name"], after["language"], after["topics"]) == ("New Name", "fr", [ROBOTS])
    after = api.patch(f"/subscribers/{number}", {"language": None}).json()
    assert (after["name"], after["language"]) == ("New Name", None)
    assert api.patch(f"/subscribers/{number}", {}).json() == after


def test_a_new_topic_needs_the_proof_of_a_yes(api):
    api.active("more@example.org", [ROBOTS])
    problem(api.patch("/subscribers/more@example.org", {"topics": [ROBOTS, AGENTS], "name": "x"}), 409, "consent")
    after = api.patch("/subscribers/more@example.org", {"topics": [AGENTS], "consent": YES}).json()
    assert (after["topics"], after["state"], after["name"]) == ([AGENTS], "active", "")
    assert ("subscribed", "rl-agents", "api website", "192.0.2.7", YES["text"], "join v3") in consent(
        api, "more@example.org"
    )
    problem(api.patch("/subscribers/more@example.org", {"topics": [ROBOTS], "consent": YES}), 409, "left")


def test_without_any_topic_everything_is_left(api):
    api.active("none@example.org", [ROBOTS, AGENTS])
    after = api.patch("/subscribers/none@example.org", {"topics": []}).json()
    assert (after["topics"], after["state"]) == ([], "unsubscribed")
    problem(api.patch("/subscribers/none@example.org", {"topics": [ROBOTS], "consent": YES}), 409, "left")


@pytest.mark.parametrize("member", [{"state": "active"}, {"email": "other@example.org"}, {"suppressed": None}])
def test_neither_state_nor_address_is_changed(api, member):
    api.active(f"fixed{len(str(member))}@example.org")
    problem(api.patch(f"/subscribers/fixed{len(str(member))}@example.org", member), 422, "invalid")


def test_leaving_is_the_same_a_second_time_and_strangers_are_not_found(api):
    api.active("leave@example.org")
    assert [api.delete("/subscribers/leave@example.org").status_code for _ in range(2)] == [204, 204]
    assert api.state("leave@example.org") == "unsubscribed"
    with api.app.store.read() as session:
        rows = session.exec(select(tables.Consent).where(tables.Consent.what == "unsubscribed")).all()
    assert [row.how for row in rows if row.subscriber_id == people.show(api.app, "leave@example.org").id] == [
        "api website"
    ]
    for method in ("GET", "DELETE"):
        problem(api.ask(method, "/subscribers/stranger@example.org"), 404)
    problem(api.patch("/subscribers/99999999999999999999999", {}), 404)


@pytest.mark.parametrize(
    "email", ["a/b@example.org", "o'brien+x@example.org", "münchen@exämple.org", "50%25@example.org"]
)
def test_an_odd_address_is_found_by_itself(api, email):
    number = api.active(email)["id"]
    from urllib.parse import quote

    assert api.get(f"/subscribers/{quote(email, safe='')}").json()["id"] == number


# -- suppressions --------------------------------------------------------------------------------------------------


def test_a_suppression_is_made_once_found_and_taken_back(api):
    made = api.post("/suppressions", {"email": "Stop@example.org", "reason": "asked by phone"})
    assert (made.status_code, made.json()["email"], made.json()["reason"]) == (
        201,
        "stop@example.org",
        "asked by phone",
    )
    assert api.post("/suppressions", {"email": "stop@example.org"}).json() == made.json()
    found = api.get("/suppressions", params={"email": "STOP@example.org"}).json()["suppressions"]
    assert found == [made.json()]
    assert api.delete(f"/suppressions/{made.json()['id']}").status_code == 204
    problem(api.delete(f"/suppressions/{made.json()['id']}"), 404)
    assert api.make("stop@example.org").status_code == 201


def test_a_suppression_by_one_newsletter_is_its_own(api):
    one = api.post("/suppressions", {"email": "part@example.org", "newsletter": "weekly"}).json()
    every = api.post("/suppressions", {"email": "part@example.org"}).json()
    assert (one["newsletter"], every["newsletter"]) == ("weekly", None)
    problem(api.post("/suppressions", {"email": "part@example.org", "newsletter": "other"}), 422, "invalid")
    rows = api.get("/suppressions", params={"email": "part@example.org", "newsletter": "weekly"}).json()
    assert rows["suppressions"] == [one]


def test_a_complaint_is_taken_back_by_no_program(api):
    people.suppress(api.app, "angry@example.org", reason="complained")
    (found,) = api.get("/suppressions", params={"email": "angry@example.org"}).json()["suppressions"]
    problem(api.delete(f"/suppressions/{found['id']}"), 409, "suppressed")


# -- once ----------------------------------------------------------------------------------------------------------


def key(name):
    return {"headers": {"Idempotency-Key": name}}


def body(email, **more):
    return {"email": email, "topics": [ROBOTS], **more}


def test_the_same_key_and_body_are_done_once_and_answered_the_same(api):
    first = api.post("/subscribers", body("once@example.org"), **key("k-1"))
    api.delete("/subscribers/once@example.org")
    again = api.post("/subscribers", body("once@example.org"), **key('"k-1"'))  # as RFC 9651 writes a string
    assert (again.status_code, again.content) == (first.status_code, first.content) == (201, first.content)
    assert again.headers["location"] == first.headers["location"]
    assert len(api.site.mails("once@example.org")) == 1
    assert api.state("once@example.org") == "unsubscribed"


def test_a_key_with_another_body_or_place_is_refused(api):
    api.post("/subscribers", body("body@example.org"), **key("k-2"))
    for path, other in (
        ("/subscribers", body("other@example.org")),
        ("/subscribers", body("body@example.org", name="x")),
        ("/suppressions", {"email": "body@example.org"}),
    ):
        problem(api.post(path, other, **key("k-2")), 422, "key-reused")
    assert api.get("/subscribers/other@example.org").status_code == 404


def test_a_refusal_is_kept_with_its_key(api):
    people.suppress(api.app, "later@example.org")
    first = api.post("/subscribers", body("later@example.org"), **key("k-3"))
    people.unsuppress(api.app, "later@example.org")
    again = api.post("/subscribers", body("later@example.org"), **key("k-3"))
    assert (problem(first, 409, "suppressed"), again.content) == (problem(again, 409, "suppressed"), first.content)
    assert api.get("/subscribers/later@example.org").status_code == 404
    assert api.post("/subscribers", body("later@example.org"), **key("k-4")).status_code == 201


def test_what_was_not_understood_takes_no_key(api):
    problem(api.post("/subscribers", {"email": "no address", "topics": [ROBOTS]}, **key("k-5")), 422, "invalid")
    assert api.post("/subscribers", body("understood@example.org"), **key("k-5")).status_code == 201


def test_two_that_race_are_done_once(api):
    for turn in range(5):
        sent = body(f"race{turn}@example.org", confirm=False)
        answers = apid.at_once(*[lambda: api.post("/subscribers", sent, **key(f"race-{turn}"))] * 4)  # noqa: B023
        assert {(each.status_code, each.content) for each in answers} == {(201, answers[0].content)}
        proofs = [each for each in consent(api, f"race{turn}@example.org") if each[0] == "imported"]
        assert len(proofs) == 1


def test_two_that_race_without_a_key_make_one_person(api):
    sent = body("pair@example.org", state="active", consent=YES)
    answers = apid.at_once(*[lambda: api.post("/subscribers", sent)] * 4)
    assert sorted(each.status_code for each in answers) == [200, 200, 200, 201]
    assert len({each.json()["id"] for each in answers}) == 1


def test_keys_of_two_programs_are_their_own(api):
    from newsletter.app import apikeys as keys

    other = keys.add(api.app, "other-program", "write")
    api.post("/subscribers", body("mine@example.org"), **key("k-6"))
    assert api.post("/subscribers", body("yours@example.org"), key=other, **key("k-6")).status_code == 201


@pytest.mark.parametrize("name", ["", "x" * 256, "with blank"])
def test_an_idempotency_key_is_short_and_visible(api, name):
    found = problem(api.post("/subscribers", body("key@example.org"), **key(name)), 422, "invalid")
    assert found["errors"][0]["parameter"] == "Idempotency-Key"


def test_answers_name_nobody_who_was_erased_and_are_forgotten_after_a_day(api):
    api.post("/subscribers", body("forget@example.org"), **key("k-7"))
    api.post("/subscribers", body("keep@example.org"), **key("k-8"))
    api.delete("/subscribers/forget@example.org?erase=true")
    with api.app.store.write() as session:
        kept = {row.key for row in session.exec(select(tables.ApiAnswer))}
        assert "k-7" not in kept
        assert "k-8" in kept
    problem(api.post("/subscribers", body("forget@example.org"), **key("k-7")), 409, "suppressed")


def test_serve_forgets_what_programs_were_answered_after_a_day(bench):
    with apid.serve(bench, THURSDAY, mails=False) as own:
        own.post("/subscribers", body("day@example.org"), **key("k-1"))
    with apid.serve(bench, THURSDAY + apikeys.KEPT - HOUR, mails=False, keys=False) as own:
        assert _answers(own.app) == 1
    with apid.serve(bench, THURSDAY + apikeys.KEPT + HOUR, keys=False) as own:
        publicd.until(lambda: not _answers(own.app))


def _answers(app):
    with app.store.read() as session:
        return len(session.exec(select(tables.ApiAnswer)).all())


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "pointer"),
    [
        ({}, "#/email"),
        ({"email": "no-address"}, "#/email"),
        ({"email": "a@b.example\r\nBcc: x@y.example"}, "#/email"),
        ({"email": "a@example.org\x00"}, "#/email"),
        ({"email": {"$ne": 1}}, "#/email"),
        ({"email": "x" * 60_000}, "#/email"),
        ({"email": "a@example.org", "topics": ["weekly/none"]}, "#/topics"),
        ({"email": "a@example.org", "topics": ["robots"]}, "#/topics"),
        ({"email": "a@example.org", "topics": []}, "#/topics"),
        ({"email": "a@example.org"}, "#/topics"),
        ({"email": "a@example.org", "topics": [ROBOTS], "state": "bounced"}, "#/state"),
        ({"email": "a@example.org", "topics": [ROBOTS], "confirm": "false"}, "#/confirm"),
        ({"email": "a@example.org", "topics": [ROBOTS], "name": "n" * 201}, "#/name"),
        ({"email": "a@example.org", "topics": [ROBOTS], "name": "\ud800"}, "#/name"),
        ({"email": "a@example.org", "topics": [ROBOTS], "language": "<b>"}, "#/language"),
        ({"email": "a@example.org", "topics": [ROBOTS], "consent": {**YES, "ip": False}}, "#/consent/ip"),
        ({"email": "a@example.org", "topics": [ROBOTS], "consent": {**YES, "ip": "1.2.3"}}, "#/consent/ip"),
        ({"email": "a@example.org", "topics": [ROBOTS], "consent": {**YES, "at": 0}}, "#/consent/at"),
        ({"email": "a@example.org", "topics": [ROBOTS], "consent": {**YES, "at": "2026-09-01"}}, "#/consent/at"),
        ({"email": "a@example.org", "topics": [ROBOTS], "is@me.example": 1}, "#"),
    ],
)
def test_what_cannot_be_taken_is_named_by_its_place_and_not_echoed(api, sent, pointer):
    answer = api.ask("POST", "/subscribers", content=json.dumps(sent), headers={"content-type": "application/json"})
    found = problem(answer, 422, "invalid")
    assert [each["pointer"] for each in found["errors"]] == [pointer]
    assert "is@me" not in answer.text
    assert "$ne" not in answer.text
    assert "b.example" not in answer.text
    assert len(answer.content) < 500


@pytest.mark.parametrize(
    "content", [b"{broken", b"", b"[" * 60_000, b"\xff\xfe", b'{"email": "a@example.org", "email": ', b"9" * 5000]
)
def test_what_is_no_json_is_no_crash(api, content):
    answer = api.ask("POST", "/subscribers", content=content, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    problem(answer, answer.status_code, "malformed" if answer.status_code == 400 else "invalid")


def test_names_and_words_are_taken_as_data(api):
    evil = "=cmd|' /C calc'!A0 <script>alert(1)</script>'); DROP TABLE subscriber;--\u202egnp"
    found = api.active("evil@example.org", name=evil)
    assert found["name"] == evil.replace("\u202e", "")
    text = "I agree\x00\x1b[31m\u202e\nto this"
    answer = api.make("words@example.org", state="active", consent={**YES, "text": text})
    assert answer.status_code == 201
    assert consent(api, "words@example.org")[-1][4] == "I agree[31m\nto this"


def test_a_key_cannot_ask_thousands_of_people_at_once(api, monkeypatch):
    from newsletter.app import apikeys as keys

    token = keys.add(api.app, "stolen", "write")
    monkeypatch.setattr(asked, "ASKING", (asked.ASKING[0] * 3600, 3))
    sent = [api.post("/subscribers", body(f"spam{number}@example.org"), key=token) for number in range(5)]
    assert [each.status_code for each in sent] == [201, 201, 201, 429, 429]
    assert int(problem(sent[-1], 429, "too-often") and sent[-1].headers["retry-after"]) == 3600
    assert api.get("/subscribers/spam4@example.org").status_code == 404
    assert api.post("/subscribers", body("calm@example.org")).status_code == 201


def test_providers_that_the_site_takes_none_of_are_not_asked(tmp_path):
    bench = Bench(tmp_path / "letter")
    (bench.folder / "refused.txt").write_text("example.net\n", "utf-8")
    with apid.serve(bench, mails=False, settings='refuse_domains_file = "refused.txt"') as own:
        assert throwaway.refused_domains(own.app) == {"example.net"}
        problem(own.make("a@mail.example.net"), 422, "invalid")
        assert own.make("a@example.org").status_code == 201


def test_no_address_is_logged(api, caplog):
    caplog.set_level(logging.DEBUG, logger="newsletter")
    api.make("secret@example.org")
    api.get("/subscribers/secret@example.org")
    api.get("/subscribers", params={"email": "secret@example.org"})
    api.make("secret@example.org", name="n" * 300)
    for method, path, key in (
        ("HEAD", "/subscribers/secret@example.org", "write"),
        ("GET", "/subscribers/secret@example.org", "wrong"),
        ("PUT", "/subscribers/secret@example.org", "write"),
        ("GET", "/nothing/secret@example.org", "write"),
    ):
        api.ask(method, path, key=key)
    lines = [f"{record.getMessage()} {record.__dict__}" for record in caplog.records]
    routes = [record.route for record in caplog.records]
    assert routes[1] == routes[4] == routes[6] == "/api/v1/subscribers/{subscriber}"
    assert routes[5] == routes[7] == "(no page)"
    assert not [line for line in lines if "secret" in line]
