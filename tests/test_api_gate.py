"""The way into the API: keys and what they may do, guessing slowed down, bodies that end, headers on every answer."""

import datetime as dt
import socket
import sqlite3

import apid
import httpx2
import pytest
from apid import ROBOTS, problem
from conftest import THURSDAY, Bench
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors, store
from newsletter.app import apikeys
from newsletter.store import throttle
from newsletter.web import serving

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
PLACES = ["/subscribers", "/subscribers/a@example.org", "/nothing", "/", "/openapi.jsonx", "/issues/weekly/x", "/a%0Ab"]


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with apid.serve(Bench(tmp_path_factory.mktemp("gate") / "letter"), mails=False) as found:
        yield found


def safe(answer):
    return {name: answer.headers.get(name) for name in HEADERS} == HEADERS


# -- keys ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "TRACE"])
def test_without_a_key_every_place_gives_the_same_answer(api, method):
    told = set()
    for place in PLACES:
        for given_headers in (
            {},
            {"authorization": "Bearer"},
            {"authorization": f"Basic {api.write}"},
            {"authorization": f"Token {api.write}"},
            {"cookie": f"token={api.write}; authorization=Bearer {api.write}"},
            {"x-api-key": api.write},
        ):
            answer = api.ask(method, place, key="none", headers=given_headers, params={"token": api.write})
            assert safe(answer), answer.headers
            told.add((answer.status_code, answer.content, answer.headers["www-authenticate"]))
    assert len(told) == 1
    assert next(iter(told))[::2] == (401, 'Bearer realm="newsletter"')


def test_two_keys_in_one_request_are_none(api):
    both = [("authorization", f"Bearer {api.read}"), ("authorization", f"Bearer {api.write}")]
    assert api.site.client.get("/api/v1/topics", headers=both).status_code == 401


def test_the_scheme_is_of_any_case(api):
    assert api.get("/topics", key="none", headers={"authorization": f"bEARER {api.read}"}).status_code == 200


def test_a_key_that_may_read_changes_nothing(api):
    assert api.get("/subscribers", key="read").status_code == 200
    for method, path in (
        ("POST", "/subscribers"),
        ("PATCH", "/subscribers/1"),
        ("DELETE", "/subscribers/1"),
        ("POST", "/suppressions"),
        ("DELETE", "/suppressions/1"),
        ("POST", "/nothing"),
    ):
        answer = api.ask(method, path, key="read")
        problem(answer, 403, "scope")
        assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]


def test_a_revoked_key_opens_nothing_from_then_on(api):
    token = apikeys.add(api.app, "short", "read")
    assert api.get("/topics", key=token).status_code == 200
    assert apikeys.revoke(api.app, "short")
    assert not apikeys.revoke(api.app, "short")
    problem(api.get("/topics", key=token), 401)
    with pytest.raises(errors.StateError):
        apikeys.add(api.app, "short", "read")


def test_a_token_is_kept_nowhere(api):
    assert api.write.startswith("nlk_")
    assert len(api.write) == 47
    api.get("/topics")
    folder = api.app.workspace.path / "subscribers"
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"website" in kept
    assert api.write.encode() not in kept


def test_when_a_key_was_last_used_is_known_to_the_minute(api):
    token = apikeys.add(api.app, "used", "read")
    assert next(key for key in apikeys.listing(api.app) if key.name == "used").used_at is None
    api.get("/topics", key=token)
    first = next(key for key in apikeys.listing(api.app) if key.name == "used").used_at
    api.get("/topics", key=token)
    assert first == next(key for key in apikeys.listing(api.app) if key.name == "used").used_at


# -- guessing ------------------------------------------------------------------------------------------------------


def test_a_network_that_guesses_is_slowed_down_and_nobody_else(api):
    def guess(ip, token="nlk_" + "A" * 43):
        return api.get("/topics", key=token, headers={"x-forwarded-for": ip})

    statuses = [guess("2001:db8:7::1").status_code for _ in range(36)]
    assert statuses[:30] == [401] * 30
    assert statuses[-1] == 429
    answer = guess("2001:db8:7::2", "any other guess")  # of the same household
    problem(answer, 429, "too-often")
    assert answer.headers["retry-after"] == "10"
    assert guess("2001:db8:8::1").status_code == 401
    assert guess("2001:db8:7::1", api.read).status_code == 200


def test_a_key_that_goes_on_asking_for_what_it_may_not_is_slowed_down(api):
    token = apikeys.add(api.app, "pushy", "read")
    statuses = [api.delete("/suppressions/1", key=token).status_code for _ in range(36)]
    assert statuses[:30] == [403] * 30
    assert statuses[-1] == 429
    assert api.get("/topics", key=token).status_code == 200


@pytest.fixture(scope="module")
def opened():
    found = store.connect("sqlite://")
    yield found
    found.close()


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(1, 5))
def test_a_bucket_is_full_exactly_when_it_lets_nobody_in(opened, pauses, burst):
    now, every = THURSDAY, dt.timedelta(seconds=10)
    with opened.write() as session:
        throttle.forget(session, THURSDAY + dt.timedelta(days=1))
        for pause in pauses:
            now += dt.timedelta(seconds=pause)
            full = throttle.is_full(session, "b", now, every, burst)
            assert throttle.allow(session, "b", now, every=every, burst=burst) is not full


# -- bodies --------------------------------------------------------------------------------------------------------


def endless(octets):
    for _ in range(octets // 8192):
        yield b"x" * 8192


@pytest.mark.parametrize(
    "content", [b"x" * 65_537, b"x" * 5_000_000, endless(5_000_000)], ids=["just", "much", "stream"]
)
def test_a_body_ends(api, content):
    answer = api.ask("POST", "/subscribers", content=content, headers={"content-type": "application/json"})
    assert problem(answer, 413)["title"] == "Content Too Large"
    assert safe(answer)


def test_a_body_of_a_stranger_is_not_read(api):
    answer = api.ask("POST", "/subscribers", key="none", content=b"x" * 200_000)
    problem(answer, 401)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None]
)
def test_only_json_is_taken(api, kind):
    headers = {"content-type": kind} if kind else {}
    answer = api.ask("POST", "/subscribers", content=b'{"email": "a@example.org"}', headers=headers)
    problem(answer, 415)
    answer = api.ask(
        "PATCH", "/subscribers/a@example.org", content=b"{}", headers={"content-type": "application/merge-patch+json"}
    )
    problem(answer, 404)


# -- answers -------------------------------------------------------------------------------------------------------


def test_every_answer_has_the_headers_of_the_house(api):
    made = {"email": "headers@example.org", "topics": [ROBOTS]}
    answers = [
        api.post("/subscribers", made),
        api.get("/subscribers"),
        api.delete("/subscribers/headers@example.org"),
        api.post("/subscribers", made),
        api.ask("POST", "/subscribers", content=b"{", headers={"content-type": "application/json"}),
        api.get("/subscribers", key="none"),
        api.post("/subscribers", made, key="read"),
        api.get("/nothing"),
        api.ask("PUT", "/subscribers"),
        api.ask("POST", "/subscribers", content=b"x" * 70_000),
        api.ask("POST", "/subscribers", content=b"x"),
        api.post("/subscribers", {}),
        api.get("/openapi.json", key="none"),
        api.get("/problems/left", key="none"),
        api.get("/problems/none", key="none"),
    ]
    statuses = [201, 200, 204, 409, 400, 401, 403, 404, 405, 413, 415, 422, 200, 200, 404]
    assert [each.status_code for each in answers] == statuses
    assert all(safe(each) for each in answers)
    for each in answers:
        if each.status_code >= 400:
            problem(each, each.status_code, each.json()["type"].rpartition("/")[2])


def test_what_a_problem_means_is_a_page(api):
    found = problem(api.post("/subscribers", {}), 422, "invalid")
    assert found["type"].startswith(api.site.url)
    text = httpx2.get(found["type"]).text
    assert text.startswith(found["title"])


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/subscribers", "GET, HEAD, POST"),
        ("/subscribers/1", "DELETE, GET, HEAD, PATCH"),
        ("/topics", "GET, HEAD"),
        ("/suppressions/1", "DELETE"),
    ],
)
def test_a_method_that_a_place_has_not_is_told_with_those_that_it_has(api, path, methods):
    answer = api.ask("PUT", path)
    problem(answer, 405)
    assert answer.headers["allow"] == methods


def test_head_is_get_without_its_body(api):
    head, get = api.ask("HEAD", "/topics"), api.get("/topics")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(get.content)))
    assert api.ask("HEAD", "/subscribers/stranger@example.org").status_code == 404


@pytest.mark.parametrize("path", ["/a%0Ab", "/subscribers/a%0Ab", "/subscribers/%00", "/%ff", "/issues/%2F/x", "//"])
def test_a_path_of_any_octets_is_no_more_than_not_found(api, path):
    problem(api.get(path), 404)
    problem(api.get(path, key="none"), 401)


def test_no_answer_waits_for_the_acknowledgement_of_its_first_half():
    with serving.listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        taken, _ = listening.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_no_other_site_may_read_it(api):
    asked = {"origin": "https://evil.example", "access-control-request-method": "GET"}
    for method in ("GET", "OPTIONS"):
        answer = api.ask(method, "/topics", headers=asked)
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "set-cookie" not in answer.headers


def test_our_own_mistake_is_a_problem_without_a_word_of_it(tmp_path, caplog):
    with apid.serve(Bench(tmp_path / "letter"), mails=False) as own:
        own.active("there@example.org")
        with own.app.store.write() as session:
            session.connection().exec_driver_sql("alter table suppression rename to gone")
        answer = own.get("/subscribers/there@example.org")
        assert problem(answer, 500) == {"type": "about:blank", "title": "Internal Server Error", "status": 500}
        assert safe(answer)
        assert "there@" not in caplog.text
        assert own.get("/topics").status_code == 200


def test_a_database_that_is_locked_is_told_and_to_be_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "BUSY_SECONDS", 1)
    with apid.serve(Bench(tmp_path / "letter"), mails=False) as own:
        own.active("there@example.org")
        other = sqlite3.connect(own.app.store.engine.url.database, isolation_level=None)
        try:
            other.execute("begin immediate")
            answer = own.make("more@example.org")
            problem(answer, 503)
            assert answer.headers["retry-after"] == "30"
            assert safe(answer)
            assert own.get("/subscribers").status_code == 200  # who reads does not wait
        finally:
            other.close()
        assert own.make("more@example.org").status_code == 201
