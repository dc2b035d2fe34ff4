"""The editor's page over real HTTP: the bytes it shows, what it lets happen, and whom it answers."""

import email
import email.policy
import hashlib
import html.parser
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import httpx2
import previewd
import pytest
from conftest import ISSUE, Bench
from hypothesis import given
from hypothesis import strategies as st

from newsletter import cli
from newsletter.app import letters
from newsletter.web import preview, previewaside, previewframe, previewpage, previewsheet

PEOPLE = {"ada@example.org": ("rl-agents", "robots"), "ben@example.org": ("robots",)}


def draft(bench):
    for email_, topics in PEOPLE.items():
        bench.people(email_, topics=topics)
    bench.entries("one", "two")
    bench.entries("robot", topics=("robots",))
    bench.compose()
    return bench


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """A draft of two topics, and two readers, for tests that change nothing."""
    return draft(Bench(tmp_path_factory.mktemp("standing") / "letter"))


@pytest.fixture
def drafted(bench, standing):
    """The same, for a test of its own."""
    shutil.rmtree(bench.folder)
    shutil.copytree(standing.folder, bench.folder, ignore=shutil.ignore_patterns("*.db-*"))
    return bench


@pytest.fixture
def page(drafted):
    with previewd.serve(drafted) as running:
        yield running


@pytest.fixture(scope="module")
def look(standing):
    with previewd.serve(standing) as running:
        yield running


class Seen(html.parser.HTMLParser):
    """Every tag, and the words outside of scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.words = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words += data

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def same(octets):
    """A message without what differs from second to second."""
    return re.sub(rb"(?m)^Date: .*\r\n", b"", octets)


def rendered(bench, **options):
    with bench.app() as app:
        return app.render(ISSUE, **options)


def state(bench):
    with bench.app() as app:
        return {row.issue: row.state for row in app.issues()}[ISSUE]


def digest(folder):
    """Every file but SQLite's own index of its log, which readers write."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".db-shm" and path.stat().st_size
    }


# -- what it shows -----------------------------------------------------------------------------------------------


def test_page_offers_every_view_by_its_name(look):
    text = look.text("/")
    for name in ("Desktop", "Phone", "Dark", "Inverted", "Images off", "Text", "Headers", "Source"):
        assert f">{name}</a>" in text


@pytest.mark.parametrize("topics", [(), ("robots",), ("rl-agents",), ("rl-agents", "robots")])
def test_message_is_the_one_that_render_writes(standing, look, topics):
    made, shown, text = rendered(standing, topics=topics)
    query = f"?edition={','.join(topics)}"
    assert same(look.get(f"/{ISSUE}/message.eml{query}").content) == same(made.octets)
    assert look.text(f"/{ISSUE}/message.txt{query}") == text
    framed = look.message(query)
    assert framed == previewframe.shown(shown, "light")
    assert "one" in text or topics == ("robots",)


@pytest.mark.parametrize("reader", PEOPLE)
def test_message_of_a_subscriber_is_the_one_that_is_sent(drafted, smtpd, reader):
    settings = drafted.folder / "newsletter.toml"
    settings.write_text(settings.read_text("utf-8").replace("port = 9", f"port = {smtpd.port}"), "utf-8")
    with previewd.serve(drafted) as page:
        before = page.get(f"/{ISSUE}/message.eml?as={reader}").content
        assert page.post("test", to=reader).status_code == 200
        assert page.post("approve", seal=page.field("seal")).status_code == 200
        after = page.get(f"/{ISSUE}/message.eml?as={reader}").content
        with drafted.app() as app:
            app.send(ISSUE)
        sent = page.get(f"/{ISSUE}/message.eml?as={reader}").content
    tested, real = [taken.octets for taken in smtpd.taken if taken.rcpt == reader]
    assert same(before) == same(tested) == same(after) == same(real) == same(sent)
    assert real == sent


def test_text_headers_and_source_are_those_of_the_message(drafted, page):
    drafted.edit('subject = "', 'subject = "Grüße: ')
    made, _, text = rendered(drafted)
    assert " ".join(text.split()) in " ".join(Seen(page.text(f"/{ISSUE}?view=text")).words.split())
    headers = Seen(page.text(f"/{ISSUE}?view=headers"))
    assert [attrs.get("scope") for attrs in headers.all("th")] == ["row"] * len(email.message_from_bytes(made.octets))
    assert "Grüße: " in headers.words and "=?utf-8?b?" in headers.words
    source = Seen(page.text(f"/{ISSUE}?view=source")).words
    assert same(made.octets).decode().replace("\r", "")[:4000].splitlines()[-3] in source


@pytest.mark.parametrize("query", ["", "&edition=robots", "&as=ben@example.org", "&as=nameless"])
def test_what_is_saved_is_what_is_shown(look, query):
    for view, kind in (("text", "txt"), ("source", "eml")):
        seen = Seen(look.text(f"/{ISSUE}?view={view}{query}"))
        [link] = [attrs["href"] for attrs in seen.all("a") if "download" in attrs]
        assert link == f"/{ISSUE}/message.{kind}" + query.replace("&", "?")
        lines = set(look.text(link).splitlines()) - {""}
        assert {line for line in lines if not line.startswith("Date:")} <= set(seen.words.splitlines())


def test_inbox_line_has_sender_subject_and_preheader(drafted, page):
    drafted.edit("preheader = ", 'preheader = "What comes first" # ')
    [inbox] = re.findall(r'<p class="inbox">.*?</p>', page.text())
    for words in ("News", "News without the noise, 11 Sept 2026", "What comes first"):
        assert f"<bdi>{words}</bdi>" in inbox


def test_editions_are_listed_with_their_people_and_sizes(standing, look):
    with standing.app() as app:
        size = app.check(ISSUE).size
    text = look.text()
    for topics, title in (("rl-agents,robots", "all topics"), ("robots", "Robots that learn")):
        assert re.search(rf"<bdi>{title}</bdi></a><span[^>]*>1 person · {size[topics] / 1000:.1f} KB of HTML", text)
    assert "robot" in look.message("?edition=robots")
    assert "About one." not in look.message("?edition=robots")


def test_edition_that_is_gone_falls_back_to_all_topics(look):
    assert look.message("?edition=nowhere") == look.message()
    assert look.get(f"/{ISSUE}?edition=nowhere&view=nonsense").status_code == 200


def test_stranger_is_named_and_the_sample_shown(look):
    text = look.text(f"/{ISSUE}?as=nobody@example.org")
    assert "nobody@example.org is no subscriber" in text
    assert look.message("?as=nobody@example.org") == look.message()
    assert look.get(f"/{ISSUE}?as=%00<script>").status_code == 200


def test_sample_without_a_name_is_a_bare_address(look):
    raw = look.get(f"/{ISSUE}/message.eml?as=nameless").content
    assert b"\r\nTo: <reader@example.org>\r\n" in raw


def test_message_can_be_read_as_each_example_reader_of_the_workspace(drafted):
    rows = 'email,name\nada@example.org,"Lovelace, Ada"\ntaro@example.net,山田太郎\nbroken,Nobody\nno@example.com,\n'
    (drafted.folder / "subscribers/example.csv").write_text(rows, "utf-8")
    with previewd.serve(drafted) as page:
        shown = page.text()
        links = [html.unescape(link) for link in re.findall(r'href="([^"]*as=example[^"]*)"', shown)]
        assert [re.search("as=(.*)", link)[1] for link in links] == [
            "example%3Aada@example.org", "example%3Ataro@example.net", "example%3Ano@example.com",
        ]  # fmt: skip
        assert ">山田太郎<" in shown.replace("<bdi>", ">").replace("</bdi>", "<")
        assert "no@example.com, who gave no name" in shown
        raw = [page.get(f"/{ISSUE}/message.eml?edition=robots&{link.partition('?')[2]}").content for link in links]
        assert b'To: "Lovelace, Ada" <ada@example.org>' in raw[0]
        assert b"To: <no@example.com>" in raw[2]
        assert all("Robots" in page.message(f"?edition=robots&{link.partition('?')[2]}") for link in links)
        (drafted.folder / "subscribers/example.csv").write_bytes(b"\x00")
        assert "as=example" not in page.text()
        (drafted.folder / "subscribers/example.csv").unlink()
        assert "as=example" not in page.text()


def test_checks_stand_beside_it_with_code_and_place(drafted, page):
    drafted.edit("About one.", "See [it](relative.html) and {{ more }}.")
    with drafted.app() as app:
        report = app.check(ISSUE)
    assert report.errors
    text = page.text()
    for finding in (*report.errors, *report.warnings):
        assert f"· {finding.code}<" in text
    assert "Errors stop approval" in text
    assert 'action="/weekly/2026-09-11/approve"' not in text


def test_links_are_listed_and_only_web_and_mail_addresses_can_be_followed():
    entries = [("https://example.org/", "one"), ("https://example.org/", "one"), ("javascript:alert(1)", "two")]
    shown = "".join(previewaside._link(*link, count) for link, count in ((entries[0], 2), (entries[2], 1)))
    assert 'href="https://example.org/"' in shown and "(2 times)" in shown
    assert 'href="javascript' not in shown and "javascript:alert(1)" in shown


def test_issue_named_at_the_start_is_what_the_root_shows(drafted):
    drafted.draft("weekly/2026-09-18").write_text(drafted.text().replace("2026-09-11", "2026-09-18"), encoding="utf-8")
    with previewd.serve(drafted) as page:
        assert "<h1>weekly/2026-09-18</h1>" in page.text("/")
        assert 'href="/weekly/2026-09-11"' in page.text("/")
    with previewd.serve(drafted, ISSUE) as page:
        assert f"<h1>{ISSUE}</h1>" in page.text("/")


# -- live --------------------------------------------------------------------------------------------------------


def test_saved_draft_template_and_settings_are_shown_and_told(drafted, page):
    changes = [
        (lambda: drafted.edit("About one.", "Fresh words."), "Fresh words."),
        (
            lambda: (drafted.folder / "templates/issue.mjml").write_text(
                '{% extends "default:issue.mjml" %}{% block footer %}{{ super() }}<mj-section><mj-column><mj-text>'
                "From a template.</mj-text></mj-column></mj-section>{% endblock %}",
                encoding="utf-8",
            ),
            "From a template.",
        ),
        (lambda: drafted.settings(more='reply_to = "other@example.org"'), "Fresh words."),
    ]
    events = page.events()
    told = [next(events)]
    for change, words in changes:
        change()
        told.append(next(events))
        assert words in page.message()
    assert len(set(told)) == 4
    assert b"\r\nReply-To: <other@example.org>\r\n" in page.get(f"/{ISSUE}/message.eml").content
    assert f'data-stamp="{told[-1]}"' in page.text()
    events.close()


def test_what_is_done_in_another_terminal_is_told(drafted, page):
    events = page.events()
    next(events)
    drafted.approve()
    next(events)
    assert "approved, frozen" in page.text()
    events.close()


def test_people_who_come_meanwhile_are_counted(drafted, page):
    assert "1 person · " in page.text()
    drafted.people("cy@example.org", topics=("robots",))
    assert "2 people · " in page.text()


def test_broken_draft_names_its_line_and_leaves_the_last_good_view(drafted, page):
    before, good = page.message(), drafted.text()
    drafted.edit("{#rl-agents}", "{#nowhere}")
    line = drafted.text().split("{#nowhere}")[0].count("\n") + 1
    text = page.text()
    assert "cannot be read" in text and f"issues/{ISSUE}.md:{line}<" in text
    assert page.message() == before
    assert page.post("approve", seal="x").status_code == 409
    drafted.draft().write_text(good, encoding="utf-8")
    assert "cannot be read" not in page.text()


@pytest.mark.parametrize("text", ["{{ issue.nothing }}", "<mj-text>", "{% for %}"])
def test_broken_template_names_its_line_and_leaves_the_last_good_view(drafted, page, text):
    before = page.message()
    (drafted.folder / "templates/issue.mjml").write_text(f"\n{text}", encoding="utf-8")
    shown = page.text()
    assert re.search(r"templates/issue\.mjml(:2)?<", shown)
    assert page.message() == before
    (drafted.folder / "templates/issue.mjml").unlink()
    assert "cannot be read" not in page.text()


def test_broken_settings_are_named_and_the_old_ones_stand(drafted, page):
    path = drafted.folder / "newsletter.toml"
    good, before = path.read_text("utf-8"), page.message()
    path.write_text(good.replace("host =", "hots ="), encoding="utf-8")
    shown = page.text()
    assert "hots" in shown and "· settings<" in shown
    assert page.message() == before
    path.write_text(good, encoding="utf-8")
    assert "cannot be read" not in page.text()


def test_draft_that_is_broken_from_the_start_shows_its_fault(drafted):
    drafted.edit("{#rl-agents}", "{#nowhere}")
    with previewd.serve(drafted) as page:
        assert "There is nothing to show" in page.text()
        assert page.get(f"/{ISSUE}/message").status_code == 404
        drafted.edit("{#nowhere}", "{#rl-agents}")
        assert "About one." in page.message()


def test_draft_that_goes_away_leaves_its_last_view(drafted, page):
    before = page.message()
    drafted.draft().unlink()
    assert "cannot be read" in page.text()
    assert page.message() == before


def test_workspace_without_a_draft_says_how_to_get_one_and_shows_it_when_it_comes(bench):
    with previewd.serve(bench) as page:
        assert "No draft yet" in page.text("/")
        with page.client.stream("GET", "/events?issue=") as answer:
            lines = answer.iter_lines()
            first = next(lines)
            bench.entries("one")
            bench.compose()
            assert next(line for line in lines if line and line != first).startswith("data: ")
        assert "About one." in page.message()


# -- what may be done --------------------------------------------------------------------------------------------


def test_approval_shows_the_audience_and_the_warnings_and_freezes(drafted, page):
    text = page.text()
    form = text[text.index('id="approve"') : text.index('id="approve-form"')]
    assert "2 people would get it" in form
    assert "all topics</bdi>: 1 person" in form and "Robots that learn</bdi>: 1 person" in form
    with drafted.app() as app:
        assert all(finding.code in form for finding in app.check(ISSUE).warnings)
    before = page.message()
    answer = page.post("approve", seal=page.field("seal"))
    assert answer.status_code == 200 and "is approved, for 2 people" in answer.text
    assert "Approved by <bdi>Ada</bdi>" in page.text()
    with drafted.app() as app:
        assert [row.approved_by for row in app.issues()] == ["Ada"]
    drafted.edit("About one.", "Other words.")
    assert page.message() == before
    assert "draft-differs" in page.text()


def test_draft_that_changed_since_it_was_looked_at_is_not_approved(drafted, page):
    seal = page.field("seal")
    drafted.edit("About one.", "Other words.")
    for wrong in (seal, "", "ä"):
        answer = page.post("approve", seal=wrong)
        assert answer.status_code == 409 and "changed while you looked at it" in answer.text
    assert state(drafted) == "draft"


def test_test_mail_goes_out_and_a_fault_is_told(drafted, smtpd):
    settings = drafted.folder / "newsletter.toml"
    with previewd.serve(drafted) as page:
        answer = page.post("test", to="me@example.org")
        assert answer.status_code == 409 and "cannot be reached" in answer.text
        settings.write_text(settings.read_text("utf-8").replace("port = 9", f"port = {smtpd.port}"), "utf-8")
        answer = page.post("test", to="me@example.org")
        assert answer.status_code == 200 and "on its way to me@example.org" in answer.text
        assert "user" in page.post("test", to="nobody.me@example.org").text
        assert page.post("test", to="no address\r\nBcc: x@example.org").status_code == 409
    assert [taken.rcpt for taken in smtpd.taken] == ["me@example.org"]
    assert state(drafted) == "draft"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1"},
        {"origin": "null", "sec-fetch-site": None},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
    ],
)
def test_request_of_another_page_does_nothing(standing, look, headers):
    assert look.post("approve", headers, seal=look.field("seal")).status_code == 403
    assert look.post("test", headers, to="me@example.org").status_code == 403
    assert state(standing) == "draft"


@pytest.mark.parametrize("token", ["", "x", "ä"])
def test_request_without_the_token_of_this_start_does_nothing(standing, look, token):
    assert look.post("approve", seal=look.field("seal"), token=token).status_code == 403
    assert state(standing) == "draft"


def test_form_of_a_page_that_sends_no_referrer_is_taken(drafted, page):
    assert page.post("approve", {"origin": "null"}, seal=page.field("seal")).status_code == 200
    assert state(drafted) == "approved"


def test_form_that_is_far_too_long_is_refused(standing, look):
    assert look.post("test", to="x" * preview.BODY).status_code == 403


def test_looking_changes_no_file(drafted, page):
    page.text()
    before = digest(drafted.folder)
    for view in previewsheet.VIEWS:
        page.text(f"/{ISSUE}?view={view}")
    for path in ("/", f"/{ISSUE}/message", f"/{ISSUE}/message.eml?as=ada@example.org", f"/{ISSUE}?as=ada@example.org"):
        page.get(path)
        page.client.head(path)
    assert digest(drafted.folder) == before
    assert page.get(f"/{ISSUE}/approve").status_code == 405
    assert page.get(f"/{ISSUE}/test").status_code == 405


def test_clone_without_database_and_key_is_shown_and_stays_without(drafted, tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(drafted.folder, clone, ignore=shutil.ignore_patterns("*.db*", "*.key"))
    drafted.folder, before = clone, digest(clone)
    with previewd.serve(drafted) as page:
        assert "About one." in page.message()
        text = page.text()
        assert "no database here" in text and "/approve" not in text and 'id="as"' not in text
        assert "no database here" in page.text(f"/{ISSUE}?as=ada@example.org")
        assert page.post("approve", seal="x").status_code == 409
        assert page.post("test", to="me@example.org").status_code == 409
    assert digest(clone) == before


# -- whom it answers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "169.254.1.1"])
def test_foreign_host_names_are_refused(look, host):
    assert look.get("/", headers={"host": host}).status_code == 400
    assert look.client.post(f"/{ISSUE}/approve", headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost:8001", "127.0.0.1:8001", "[::1]:8001"])
def test_this_machines_names_are_answered(look, host):
    assert look.get("/", headers={"host": host}).status_code == 200


PATHS = ["/", "/preview.css", "/preview.js", f"/{ISSUE}", f"/{ISSUE}/message", "/nowhere", f"/{ISSUE}/approve"]


@pytest.mark.parametrize("path", [*PATHS, f"/{ISSUE}/message.eml"])
def test_every_answer_has_the_safe_headers(look, path):
    headers = look.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["content-security-policy"].startswith("default-src 'none'; ")
    assert "unsafe-inline" not in headers["content-security-policy"] or path.endswith("message")
    assert look.get(path, headers={"host": "evil.example"}).headers["x-content-type-options"] == "nosniff"


def test_message_is_framed_so_that_nothing_in_it_can_run_or_call_home(look):
    policy = look.get(f"/{ISSUE}/message").headers["content-security-policy"]
    [frame] = Seen(look.text()).all("iframe")
    for text in (policy, frame["sandbox"]):
        assert "allow-scripts" not in text and "allow-forms" not in text and "allow-top-navigation" not in text
    assert "img-src http://127.0.0.1:8000;" in policy
    assert "img-src 'none';" in look.get(f"/{ISSUE}/message?scheme=no-images").headers["content-security-policy"]
    for site in ("javascript:alert(1)", "https://x; script-src *", "", "https://a b"):
        assert "script-src" not in previewframe.policy("light", site)


@pytest.mark.parametrize(
    "path",
    [
        "/../newsletter.toml", "/..%2f..%2fsecret.key", "/%2e%2e/secret.key", "/weekly/..%2f..%2fsecret.key",
        "/weekly/2026-09-11.md", "/weekly/2026-09-12", "/weekly/2026-09-11/secret.key", "/weekly/2026-09-11/message.md",
        "/Weekly/2026-09-11", "/weekly/2026-09-11%00", "/issues/weekly/2026-09-11.md", "/preview.py", "/docs",
        "/openapi.json",
    ],
)  # fmt: skip
def test_nothing_but_the_page_can_be_read(look, path):
    assert look.get(path).status_code == 404


HOSTILE = [
    "<script>window.pwned=1</script>",
    "</title></textarea></style><script>window.pwned=1</script>",
    '"><img src=x onerror=window.pwned=1>',
    "' onmouseover='window.pwned=1",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<svg><script>window.pwned=1</script></svg>",
    "[click](javascript:window.pwned=1)",
    "<a href=javascript:window.pwned=1>x</a>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "</pre></section></main><form action=//evil.example><button>Approve</button></form>",
    "<base href=https://evil.example/>",
    "{{ 7 * 191 }} {% raw %} ${7*191}",
    "\u202egnorw s'ti\u202c",
]


def hostile(bench):
    """A draft with every attack as title and summary, in the introduction and in the subject."""
    bench.people("ada@example.org")
    rows = [
        {"title": f"T{i} {text}", "url": f"https://v.example/{i}", "summary": f"S{i} {text}", "authors": [f"A. {text}"]}
        for i, text in enumerate(HOSTILE)
    ]
    bench.entries(*rows)
    bench.compose()
    bench.edit('subject = "', "subject = '''" + "".join(HOSTILE[:3]) + "'''\nx_ = \"")
    bench.draft().write_text(bench.text().replace('x_ = "', '# "'), encoding="utf-8")
    front, mark, rest = bench.text().partition("\n## ")
    bench.draft().write_text(front + "\n" + "\n\n".join(HOSTILE) + "\n" + mark + rest, encoding="utf-8")


def test_hostile_text_is_text_in_every_view(bench):
    hostile(bench)
    with previewd.serve(bench) as page:
        for view in previewsheet.VIEWS:
            seen = Seen(page.text(f"/{ISSUE}?view={view}"))
            assert [attrs.get("src") for attrs in seen.all("script")] == ["/preview.js"]
            assert all(attrs["src"].startswith(f"/{ISSUE}/message?") for attrs in seen.all("iframe"))
            assert not seen.all("img") and not seen.all("base")
            assert {attrs["action"] for attrs in seen.all("form")} <= {
                f"/{ISSUE}{end}" for end in ("", "/test", "/approve")
            }
            assert not [name for _, attrs in seen.tags for name in attrs if name.startswith("on")]
            assert not [attrs for attrs in seen.all("a") if re.match(r"\W*(javascript|data)", attrs.get("href", ""))]
            assert "1337" not in seen.words


def test_huge_paragraphs_are_cut_where_they_are_shown(bench):
    names = [f"paper {number}" for number in range(5)]
    bench.entries(*names)
    bench.compose()
    for name, text in zip(names, itertools.cycle(["x " * 500_000, "x" * 1_000_000]), strict=False):
        bench.edit(f"About {name}.", text)
    with previewd.serve(bench) as page:
        assert "size" in page.text()
        for view in ("text", "source"):
            shown = page.text(f"/{ISSUE}?view={view}")
            assert f"The first {previewpage.SHOWN:,} of" in shown
            assert len(shown) < previewpage.SHOWN + 100_000


def test_three_hundred_entries_are_shown(bench):
    bench.settings(more="max_entries = 400")
    bench.people("ada@example.org")
    bench.entries(*[f"paper {number}" for number in range(300)])
    bench.compose()
    with previewd.serve(bench) as page:
        assert "300 articles" in page.text()
        assert page.message().count("https://papers.example/") == 300


# -- the frame ---------------------------------------------------------------------------------------------------

DARK = "@media (prefers-color-scheme:dark){a{color:red}}"


@pytest.mark.parametrize(
    ("scheme", "html_", "wanted"),
    [
        ("dark", f"<head><style>{DARK}</style>", "@media (min-width:0){a{color:red}}"),
        ("light", f"<head><style>{DARK}</style>", "@media (max-width:0){a{color:red}}"),
        ("inverted", f"<head><style>{DARK}</style>", "@media (max-width:0){a{color:red}}"),
        ("dark", "<STYLE>@media ( Prefers-Color-Scheme : Light ) {}</STYLE>", "@media (max-width:0) {}"),
        ("dark", "<style>:root{color-scheme:light dark;color:red}</style>", ":root{color-scheme:dark;color:red}"),
        ("dark", "<style>:root{supported-color-schemes:light dark}</style>", "{supported-color-schemes:light dark}"),
        ("light", '<meta name="color-scheme" content="light dark" />', '<meta name="color-scheme" content="light">'),
        ("dark", '<source media="(prefers-color-scheme: dark)" src=x>', 'media="(min-width:0)"'),
        ("dark", f"<p>{DARK}</p>", f"<p>{DARK}</p>"),
        ("dark", "<p>color-scheme: light dark</p>", "<p>color-scheme: light dark</p>"),
        ("light", "<head><body>", '<head><base target="_blank"><body>'),
    ],
)
def test_wish_for_dark_is_answered_in_style_sheets_alone(scheme, html_, wanted):
    assert wanted in previewframe.shown(html_, scheme)


@given(
    st.text(alphabet=st.sampled_from("<>/abdhest =\"'(){}:;-\n"), max_size=200), st.sampled_from(previewframe.SCHEMES)
)
def test_what_is_no_style_sheet_stays_as_it_is_sent(text, scheme):
    shown = previewframe.shown(f"<html><head></head><body>{text}</body></html>", scheme)
    if not re.search("style|meta|media", text):
        assert shown.endswith(f"</head><body>{text}</body></html>")


@pytest.mark.parametrize(
    ("html_", "wanted"),
    [
        ("<head><title>t</title></head><body><div hidden>Pre\u034f\u200c\u00a0\u034f</div><p>Body</p>", "Pre"),
        ("<body><p>One</p><p>two &amp; three</p>", "One two & three"),
        ("<body><style>a{}</style><!-- c --><p>x", "x"),
        ("", ""),
        ("<body>" + "word " * 100, "word " * 31 + "word…"),
    ],
)
def test_snippet_is_what_an_inbox_shows(html_, wanted):
    assert letters.snippet(html_) == wanted


# -- the command -------------------------------------------------------------------------------------------------


def command(bench, *more):
    return [sys.executable, "-W", "error", "-m", "newsletter", "-C", str(bench.folder), "preview", "--no-open", *more]


def test_command_runs_until_a_signal_also_while_a_page_listens(drafted):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEWSLETTER_")}
    started = subprocess.Popen(command(drafted, "--port", "0"), stderr=subprocess.PIPE, text=True, env=environment)
    with started as process:
        try:
            url = re.match(r"page +(http://127\.0\.0\.1:\d+/) ", process.stderr.readline())[1]
            with (
                httpx2.Client(timeout=previewd.PATIENCE) as client,
                client.stream("GET", f"{url}events?issue={ISSUE}") as answer,
            ):
                lines = answer.iter_lines()
                assert next(lines).startswith("data: ")
                process.send_signal(signal.SIGTERM)
                assert not list(filter(None, lines))
        finally:
            process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
    assert process.returncode == 0
    assert rest == "stopped\n"


def test_command_says_in_one_line_what_is_wrong(drafted, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for more, words in (("--port", port), "choose another port"), (("weekly/2027-01-01",), "there is no issue"):
            assert cli.run(["-C", str(drafted.folder), "preview", "--no-open", *more]) == 1
            told = capsys.readouterr().err
            assert told.count("\n") == 1 and words in told
