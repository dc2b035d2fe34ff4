"""What holds for every page: headers whatever the status, hosts, bodies that end, whom to believe, languages, the log."""

import asyncio
import io
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys

import jinja2
import publicd
import pytest
from babel.messages import pofile
from conftest import Bench
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import nodes

from newsletter import app as wiring
from newsletter import cli, config, errors, render, workspace
from newsletter.app import pages, readers
from newsletter.web import guard, public, serving

SHIPPED = workspace.starter() / "templates"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """One for all tests that leave it as it is."""
    with publicd.serve(Bench(tmp_path_factory.mktemp("guarded") / "letter"), mails=False) as running:
        yield running


# -- headers, hosts, bodies ----------------------------------------------------------------------------------------


def safe(answer):
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'")
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "set-cookie" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/subscribe", 200),
        ("GET", "/subscribe/embed", 200),
        ("HEAD", "/subscribe", 200),
        ("GET", "/healthz", 200),
        ("GET", "/", 404),
        ("GET", "/weekly/2026-09-11", 404),
        ("GET", "/metrics", 404),
        ("GET", "/subscribe/", 404),
        ("GET", "/confirm/none", 404),
        ("GET", "/%00", 404),
        ("GET", "/weekly/%ff%fe", 404),
        ("GET", "/unsubscribe/" + "A" * 8000, 404),
        ("PUT", "/subscribe", 405),
        ("DELETE", "/healthz", 405),
        ("OPTIONS", "/confirm/none", 405),
        ("TRACE", "/subscribe", 405),
    ],
)
def test_every_answer_has_the_headers(site, method, path, status):
    answer = site.client.request(method, path)
    assert answer.status_code == status
    safe(answer)
    if method == "GET" and status == 404:
        assert "<h1>" in answer.text
        assert "News without the noise" in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "[::2]", ""])
def test_foreign_host_is_refused(site, host):
    answer = site.get("/subscribe", headers={"host": host})
    assert answer.status_code == 400
    safe(answer)


def test_page_that_breaks_is_told_without_its_values(bench, caplog, monkeypatch):
    def broken(*_):
        raise ValueError("anna@example.org")

    with publicd.serve(bench, mails=False) as site:
        site.app.store.engine.dispose()
        monkeypatch.setattr(readers, "preferences", broken)
        with caplog.at_level(logging.INFO):
            answer = site.get("/preferences/secrettoken")
    assert answer.status_code == 500
    assert "Something went wrong here" in answer.text
    safe(answer)
    (told,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert (told.message, told.error, told.route) == ("a page failed", "ValueError", "/preferences/{token}")
    everything = " ".join(str(record.__dict__) for record in caplog.records if record.name.startswith("newsletter"))
    assert "anna@" not in everything
    assert "secrettoken" not in everything


def test_database_that_does_not_answer_is_told_calmly(bench):
    with publicd.serve(bench, mails=False) as site:
        path = bench.folder / "subscribers" / "newsletter.db"
        site.app.store.close()
        for each in path.parent.glob("newsletter.db*"):
            each.unlink()
        path.write_bytes(b"no database at all" * 100)
        answer = site.get("/healthz")
        assert answer.status_code == 503
        safe(answer)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", FORM, 422),
        (b"\xff\xfe%ff%00=%zz&&&==", FORM, 422),
        (b'{"email":', "application/json", 422),
        (b"--x\r\nbroken", "multipart/form-data; boundary=x", 422),
        (b"--x\r\nbroken", "multipart/form-data", 422),
        (b"email=a&" * 1900, FORM, 422),
        (b"email=a&" * 20_000, FORM, 413),
        (b"x" * 5_000_000, "text/plain", 413),
        (b"email=t%40example.org&topic=nope&topics=nope", FORM, 422),
    ],
)
def test_nonsense_is_answered_calmly(site, body, kind, status):
    headers = {"origin": site.url, "sec-fetch-site": "same-origin", "content-type": kind}
    answer = site.client.post("/subscribe", content=body, headers=headers)
    assert answer.status_code == status
    safe(answer)


@given(st.binary(max_size=400), st.text(max_size=80) | st.just(FORM) | st.just("multipart/form-data; boundary=x"))
def test_fields_never_raise(body, kind):
    for name, value in guard.fields(body, kind):
        assert isinstance(name, str)
        assert isinstance(value, str)


@given(st.dictionaries(st.text(st.characters(codec="ascii", categories=("L",)), min_size=1), st.text(), max_size=5))
def test_fields_are_what_a_form_says(values):
    import urllib.parse

    body = urllib.parse.urlencode(values, errors="replace").encode()
    assert dict(guard.fields(body, FORM)) == {k: v.encode("utf-8", "replace").decode() for k, v in values.items()}


def test_style_is_kept_for_ever_under_its_version_only(site):
    (address,) = re.findall(r'href="(/style\.css\?v=\w+)"', site.get("/subscribe").text)
    assert "immutable" in site.get(address).headers["cache-control"]
    assert "immutable" not in site.get("/style.css").headers["cache-control"]
    style = site.get(address).text
    for colour in ("#faf8f4", "#171614", "#9a4a2f", "#e0a58e"):
        assert colour in style


def test_no_page_has_a_script_or_a_style_of_its_own(site):
    for path in ("/subscribe", "/subscribe/embed", "/nothing"):
        page = site.get(path).text
        assert "<script" not in page
        assert not re.search(r"\sstyle=|\son\w+=", page)


# -- embedding, proxies, where the site is -------------------------------------------------------------------------


def test_form_for_frames_of_the_sites_that_are_named(bench):
    with publicd.serve(
        bench, mails=False, settings='embed_on = ["https://www.example.org", "http://localhost:4000"]'
    ) as site:
        framed = site.get("/subscribe/embed")
        assert (
            "frame-ancestors https://www.example.org http://localhost:4000" in framed.headers["content-security-policy"]
        )
        assert "frame-ancestors 'none'" in site.get("/subscribe").headers["content-security-policy"]
        answer = site.subscribe("anna@example.org", path="/subscribe/embed")
        assert answer.status_code == 200
        assert "/subscribe/embed?language=en-GB" in answer.text
        for refused in (site.subscribe("no", path="/subscribe/embed"), site.client.post("/subscribe/embed")):
            assert refused.status_code == 422
            assert "https://www.example.org" in refused.headers["content-security-policy"]


@pytest.mark.parametrize(
    "value", ["https://www.example.org/", "www.example.org", "https://a b", "https://*;x", "'none'"]
)
def test_site_that_may_embed_is_an_origin(tmp_path, value):
    Bench(tmp_path / "letter")
    text = (tmp_path / "letter" / "newsletter.toml").read_text("utf-8")
    with pytest.raises(errors.ConfigError, match="embed_on"):
        config.read(f'[site]\nembed_on = ["{value}"]\n{text}', tmp_path / "letter", {})


def test_trusted_proxy_is_an_address_or_a_network(tmp_path):
    text = (Bench(tmp_path / "letter").folder / "newsletter.toml").read_text("utf-8")
    with pytest.raises(errors.ConfigError, match=r"trusted_proxies.*must be an address or a network"):
        config.read(f'[site]\ntrusted_proxies = ["proxy.example.org"]\n{text}', tmp_path, {})


def test_proxy_is_the_peer_that_is_not_believed_from_elsewhere():
    local = guard.networks(["127.0.0.1", "10.0.0.0/8"])
    assert guard.client("127.0.0.1", ["192.0.2.7"], local) == "192.0.2.7"
    assert guard.client("127.0.0.1", ["203.0.113.9, 192.0.2.7, 10.1.2.3"], local) == "192.0.2.7"
    assert guard.client("127.0.0.1", ["203.0.113.9", "192.0.2.7"], local) == "192.0.2.7"
    assert guard.client("127.0.0.1", ["[2001:db8::7]:4711"], local) == "2001:db8::7"
    assert guard.client("127.0.0.1", ["192.0.2.7:4711"], local) == "192.0.2.7"
    assert guard.client("127.0.0.1", ["192.0.2.7, unknown"], local) == "127.0.0.1"
    assert guard.client("127.0.0.1", [], local) == "127.0.0.1"
    assert guard.client("198.51.100.1", ["192.0.2.7"], local) == "198.51.100.1"
    assert guard.client("127.0.0.1", ["192.0.2.7"], ()) == "127.0.0.1"
    assert guard.client("::ffff:127.0.0.1", ["192.0.2.7"], local) == "192.0.2.7"


@given(st.lists(st.text(max_size=40), max_size=5))
def test_whoever_is_not_trusted_is_who_asks(forwarded):
    assert guard.client("198.51.100.1", forwarded, guard.networks(["127.0.0.1"])) == "198.51.100.1"


def test_limits_count_visitors_behind_the_proxy_apart(bench):
    with publicd.serve(bench, mails=False) as site:
        statuses = [
            site.subscribe(f"a{i}@example.org", headers={"x-forwarded-for": f"192.0.2.{i % 3}"}).status_code
            for i in range(18)
        ]
        assert set(statuses) == {200}
        assert site.subscribe("b@example.org", headers={"x-forwarded-for": "192.0.2.1"}).status_code == 429
        assert site.subscribe("b@example.org", headers={"x-forwarded-for": "192.0.2.9"}).status_code == 200


def test_site_below_a_path_works_with_and_without_it(bench):
    with publicd.serve(bench, mails=False) as first:
        port = first.url
    path = bench.folder / "newsletter.toml"
    path.write_text(path.read_text("utf-8").replace(f'"{port}"', '"https://example.org/letters"'), "utf-8")
    app = wiring.open_app(bench.folder)
    built = public.build(app)
    try:
        asked = {}

        async def ask(where, host=b"example.org"):
            sent = []
            scope = {
                "type": "http", "http_version": "1.1", "method": "GET", "path": where, "raw_path": where.encode(),
                "query_string": b"", "headers": [(b"host", host)], "scheme": "http", "server": ("h", 1),
                "client": ("192.0.2.1", 1), "root_path": "",
            }  # fmt: skip

            async def receive():
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message):
                sent.append(message)

            await built(scope, receive, send)
            return sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:]).decode()

        for where in ("/letters/subscribe", "/subscribe"):
            asked[where] = asyncio.run(ask(where))
            assert asked[where][0] == 200
            assert 'href="/letters/style.css?v=' in asked[where][1]
        assert asyncio.run(ask("/subscribe", b"localhost"))[0] == 400  # loopback names are for loopback sites
    finally:
        app.close()


# -- languages -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(site):
    return pages.Pages(site.app)


@pytest.mark.parametrize(
    ("accepted", "wanted", "found"),
    [
        ("de-CH,de;q=0.9,en;q=0.8", (), "de"),
        ("nl, fr;q=0.4, es;q=0.7", (), "es"),
        ("en-US", (), "en-GB"),
        ("de;q=0, fr", (), "fr"),
        ("de", ("fr",), "fr"),
        ("de", (None, "xx", ""), "de"),
        ("*", (), "en-GB"),
        ("", (), "en-GB"),
        ("nl,ja", (), "en-GB"),
        ("de;q=1.5;;;, \x00, " + "a-" * 500, (), "en-GB"),
    ],
)
def test_language_is_the_persons_then_the_browsers_then_the_newsletters(made, accepted, wanted, found):
    assert made.negotiated(accepted, *wanted) == found


@given(st.text(max_size=200), st.text(max_size=20))
def test_language_is_always_one_of_ours(made, accepted, wanted):
    assert made.negotiated(accepted, wanted) in {choice.tag for choice in made.choices}


def test_languages_call_themselves_by_their_own_names(made):
    assert [(choice.tag, choice.name) for choice in made.choices] == [
        ("ar", "العربية"),
        ("de", "Deutsch"),
        ("en-GB", "English"),
        ("es", "Español"),
        ("fr", "Français"),
    ]


def test_arabic_is_read_from_the_right(site):
    page = site.get("/subscribe?language=ar").text
    assert '<html lang="ar" dir="rtl">' in page
    assert "الاشتراك" in page
    assert site.get("/subscribe", headers={"accept-language": "ar-EG"}).text.count('dir="rtl"') == 1


# -- templates -----------------------------------------------------------------------------------------------------


def test_own_templates_replace_parts_of_a_page(bench):
    folder = bench.folder / "templates" / "web"
    folder.mkdir(parents=True)
    (folder / "sent.html").write_text(
        '{% extends "default:web/sent.html" %}{% block more %}<p>Own words</p>{% endblock %}'
    )
    (folder.parent / "parts").mkdir()
    look = (SHIPPED / "parts" / "look.txt").read_text("utf-8").replace("#9a4a2f", "#00587a")
    (folder.parent / "parts" / "look.txt").write_text(look)
    with publicd.serve(bench, mails=False) as site:
        assert "Own words" in site.subscribe("anna@example.org").text
        assert "#00587a" in site.get("/style.css").text


def test_template_that_cannot_be_used_is_told_at_the_start_with_its_line(bench):
    folder = bench.folder / "templates" / "web"
    folder.mkdir(parents=True)
    (folder / "subscribe.html").write_text("one\n{{ nonsense }}\n")
    with bench.app() as app, pytest.raises(errors.TemplateError, match=r"templates/web/subscribe\.html:2: 'nonsense'"):
        public.build(app)


def test_words_of_consent_and_versions_change_together(made):
    stamp = made.stamp("subscribe", "en-GB")
    shown = made.shown(stamp, "subscribe", "en-GB")
    assert shown.words.startswith("With this you ask to get what you chose by e-mail")
    assert shown.hasty
    assert shown.page == stamp.split(".")[1]
    for other in (("confirm:subscribe", "en-GB"), ("subscribe", "de")):
        assert made.shown(stamp, *other) == pages.Shown(None, None, hasty=True)
    assert made.shown("é" * 10, "subscribe", "de") == pages.Shown(None, None, hasty=True)


@given(st.text(max_size=80))
def test_stamp_that_is_not_ours_proves_nothing(made, text):
    assert made.shown(text, "subscribe", "en-GB") == pages.Shown(None, None, hasty=True)


def test_pages_belong_to_no_issue():
    mails = render.Templates.load((SHIPPED,))
    assert not [name for name in mails.sources if "web/" in name]
    names = set(render.Templates.load_pages((SHIPPED,)).sources)
    assert {"default:web/subscribe.html", "default:web/locale/de.po", "default:parts/look.txt"} <= names
    assert "default:issue.mjml" not in names


# -- what runs beside ----------------------------------------------------------------------------------------------


def test_task_that_fails_is_begun_again_and_asked_to_stop(caplog, monkeypatch):
    monkeypatch.setattr(serving, "PAUSES", (0,))
    begun, third = [], asyncio.Event()

    async def task(stop):
        begun.append(1)
        if len(begun) < 3:
            raise RuntimeError("anna@example.org")
        third.set()
        await stop.wait()
        begun.append("stopped")

    async def run():
        async with serving.beside([task]):
            await third.wait()

    asyncio.run(run())
    assert begun == [1, 1, 1, "stopped"]
    assert [record.error for record in caplog.records if record.levelno == logging.ERROR] == ["RuntimeError"] * 2
    assert "anna@" not in caplog.text


def test_task_that_does_not_end_is_left_after_a_while(monkeypatch):
    monkeypatch.setattr(serving, "PATIENCE", 0.01)
    over = []

    async def task(stop):
        try:
            await asyncio.Event().wait()
        finally:
            over.append(True)

    async def run():
        async with serving.beside([task]):
            await asyncio.sleep(0)

    asyncio.run(run())
    assert over


# -- the command ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_answers_logs_no_address_and_stops_in_order(bench, number):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    publicd.point(bench, f"http://127.0.0.1:{port}", 9)
    arguments = ["-v", "-C", bench.folder, "--now", "2026-09-10T12:00:00+01:00", "serve", "--port", port]
    process = subprocess.Popen(
        [sys.executable, "-m", "newsletter", *map(str, arguments)], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    with process:
        import httpx2

        with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:

            def answers():
                try:
                    return client.get("/healthz").json() == {"status": "ok"}
                except httpx2.TransportError:
                    return False

            publicd.until(answers)
            assert "Friday 11 Sept 2026" in client.get("/subscribe").text
            headers = {"origin": f"http://127.0.0.1:{port}"}
            form = {"email": "anna@example.org", "topic": "weekly/robots"}
            assert client.post("/subscribe?email=ben@example.org", data=form, headers=headers).status_code == 200
            assert client.get("/preferences/secret-token").status_code == 404
            assert client.get("/carl@example.org").status_code == 404
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in said
    assert "route=/preferences/{token} status=404" in said
    assert "method=POST route=/subscribe status=200" in said
    assert "stopped" in said
    assert not [words for words in ("example.org", "secret-token") if words in said]


def test_port_that_is_taken_is_told_in_one_line(bench, capfd):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code = cli.run(["-C", str(bench.folder), "serve", "--port", str(taken.getsockname()[1])])
    assert code == 1
    assert capfd.readouterr().err.count("\n") == 1


def test_list_of_domains_that_is_not_there_is_told_at_the_start(bench, capfd):
    publicd.point(bench, "http://127.0.0.1:8000", 9, 'refuse_domains_file = "nowhere.txt"')
    assert cli.run(["-C", str(bench.folder), "serve"]) == 2
    assert "site.refuse_domains_file: nowhere.txt cannot be read" in capfd.readouterr().err


def test_health_is_json(site):
    assert json.loads(site.get("/healthz").text) == {"status": "ok"}


# -- the words of the pages ----------------------------------------------------------------------------------------


def said_by_pages():
    environment = jinja2.Environment()
    sources = render.Templates.load_pages((SHIPPED,)).sources
    for name, template in sources.items():
        if name.endswith(".html"):
            for call in environment.parse(template).find_all(nodes.Call):
                if isinstance(call.node, nodes.Name) and call.node.name == "gettext":
                    yield call.args[0].value


@pytest.mark.parametrize("tag", ["ar", "de", "es", "fr"])
def test_catalogue_of_the_pages_has_exactly_their_words_all_translated(tag):
    source = render.Templates.load_pages((SHIPPED,)).sources[f"default:web/locale/{tag}.po"]
    found = {message.id: message for message in pofile.read_po(io.StringIO(source), abort_invalid=True) if message.id}
    assert set(found) == set(said_by_pages())
    for one, message in found.items():
        assert message.string
        assert not message.fuzzy
        assert re.findall(r"%\(\w+\)s", message.string) == re.findall(r"%\(\w+\)s", one)
        assert one.endswith((".", ":")) == message.string.endswith((".", ":"))
