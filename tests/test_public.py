"""The public pages over real HTTP: who subscribes, says yes, chooses, pauses, leaves; and who is refused."""

import datetime as dt
import re

import publicd
import pytest
from conftest import THURSDAY, Bench
from sqlmodel import select

from newsletter.app import people, readers
from newsletter.store import tables
from newsletter.tokens import Purpose

ANNA, BEN = "anna@example.org", "ben@example.org"
BOTH = ("weekly/rl-agents", "weekly/robots")
ONE_CLICK = {"content": "List-Unsubscribe=One-Click", "headers": {"content-type": "application/x-www-form-urlencoded"}}
MULTIPART = {
    "content": '--x-y\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x-y--\r\n',
    "headers": {"content-type": 'multipart/form-data; boundary="x-y"'},
}
ELSEWHERE = (
    {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    {"origin": "https://evil.example", "sec-fetch-site": "same-site"},
    {"origin": "null", "sec-fetch-site": "cross-site"},
    {"origin": "https://evil.example", "sec-fetch-site": None},
    {"origin": "null", "sec-fetch-site": None},
    {"origin": None, "sec-fetch-site": "none"},
)


@pytest.fixture
def site(bench):
    with publicd.serve(bench) as running:
        yield running


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    """One for all tests that leave it as it is."""
    with publicd.serve(Bench(tmp_path_factory.mktemp("silent") / "letter"), mails=False) as running:
        yield running


def consents(site):
    with site.app.store.read() as session:
        return list(session.exec(select(tables.Consent).order_by(tables.Consent.id)))


def waiting(site):
    """The kinds of the mails that wait or went."""
    with site.app.store.read() as session:
        return [row.kind for row in session.exec(select(tables.ServiceMail))]


def leave_path(site, address=ANNA):
    with site.app.store.read() as session:
        number = session.exec(select(tables.Subscriber.id).where(tables.Subscriber.email_norm == address)).one()
    return "/unsubscribe/" + site.app.signer.sign(Purpose.UNSUBSCRIBE, number, 0)


def preferences_path(site, address=ANNA):
    reader = readers.leaving(site.app, leave_path(site, address).rpartition("/")[2])
    return reader.preferences.removeprefix(site.url)


def active(bench, *addresses, topics=("rl-agents",)):
    bench.people(*addresses, topics=topics)


# -- subscribing ---------------------------------------------------------------------------------------------------


def test_form_offers_every_topic_and_says_when_the_next_issue_comes(silent):
    page = silent.get("/subscribe").text
    for words in ("Reinforcement learning", "Robots that learn", "comes on Friday 11 Sept 2026"):
        assert words in page
    assert "checked" not in page
    assert silent.fields("/subscribe")["language"] == ["en-GB"]


@pytest.mark.parametrize("query", ["topic=robots", "topic=weekly/robots", "topic=nope&topic=robots"])
def test_link_may_tick_topics(silent, query):
    assert silent.fields(f"/subscribe?{query}")["topic"] == ["weekly/robots"]
    assert silent.fields("/subscribe?newsletter=weekly")["topic"] == list(BOTH)


def test_one_topic_is_no_choice(bench):
    text = (bench.folder / "newsletter.toml").read_text("utf-8")
    (bench.folder / "newsletter.toml").write_text(text.rpartition("[[newsletter.topic]]")[0], "utf-8")
    with publicd.serve(bench, mails=False) as site:
        assert site.fields("/subscribe")["topic"] == ["weekly/rl-agents"]
        assert 'type="checkbox"' not in site.get("/subscribe").text


def test_two_clicks_from_the_form_to_the_welcome_and_one_yes(site):
    answer = site.subscribe(ANNA, name="Anna  Ångström", language="de")
    assert answer.status_code == 200
    assert "Look into your inbox" in answer.text
    assert ANNA in answer.text
    assert site.state() == "pending"
    path = site.link(ANNA)
    page = site.get(path)
    assert page.status_code == 200
    assert page.text.count("<form") == page.text.count("<button") == 1
    assert 'lang="de"' in page.text  # the language that was chosen in the form
    assert site.state() == "pending"
    for _ in range(3):
        welcome = (
            site.post(path, {**site.fields(path), "yes": "1"}) if "<form" in site.get(path).text else site.get(path)
        )
        assert welcome.status_code == 200
        assert "Freitag, 11. September 2026" in welcome.text
        assert "news@example.org" in welcome.text
        person = site.person()
        assert (person.state, person.name, person.language) == ("active", "Anna Ångström", "de")
        assert person.topics == ("weekly/rl-agents",)
    assert [mail["To"] for mail in site.mails(ANNA, 2)] and len(site.mails(ANNA, 2)) == 2


def test_welcome_leads_to_the_latest_issue_and_to_the_preferences(bench):
    active(bench, BEN)
    bench.entries("one")
    bench.compose()
    bench.approve()
    with bench.app() as app, app.store.write() as session:
        issue = session.exec(select(tables.Issue)).one()
        issue.state = "sent"
        session.add(issue)
    with publicd.serve(bench) as site:
        latest = f"{site.url}/weekly/2026-09-11"
        assert latest in site.get("/subscribe").text
        site.subscribe(ANNA)
        path = site.link(ANNA)
        welcome = site.post(path, {**site.fields(path), "yes": "1"}).text
        assert latest in welcome
        assert site.get(re.search(r'href="[^"]*(/preferences/\w+)"', welcome)[1]).status_code == 200


def test_what_was_read_is_kept_with_each_yes(site):
    words = re.search(r'<p class="consent">(.*?)</p>', site.get("/subscribe").text)[1]
    site.join()
    asked, said = [row for row in consents(site) if row.topic == "rl-agents"]
    assert (asked.what, said.what) == ("subscribed", "confirmed")
    assert asked.words == words
    assert said.words == "Yes, send it to me"
    assert asked.ip == said.ip == "127.0.0.1"
    assert re.fullmatch("[0-9a-f]{12}", asked.page)
    assert re.fullmatch("[0-9a-f]{12}", said.page)
    assert asked.page != said.page


def test_words_of_another_language_are_kept_in_it(site):
    answer = site.post("/subscribe", {**site.fields("/subscribe?language=fr"), "email": ANNA, "topic": BOTH[0]})
    assert "Regardez votre boîte de réception" in answer.text
    path = site.link(ANNA)
    site.post(path, {**site.fields(path), "yes": "1"})
    assert consents(site)[0].words.startswith("Vous demandez ainsi à recevoir")


def test_form_that_proves_nothing_says_nothing_of_words(site):
    assert site.subscribe(ANNA, stamp="6b0ee2ad.6e063eb41ede.00000000000000000000").status_code == 200
    path = site.link(ANNA)
    site.post(path, {"yes": "1"})
    assert [(row.words, row.page) for row in consents(site)] == [(None, None), (None, None)]
    assert site.state() == "active"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "nobody",
        "a@b@example.org",
        "anna@example",
        f"anna@example.org\r\nBcc: {BEN}",
        f"anna@example.org,{BEN}",
        "y" * 9000,
    ],
)
def test_mistake_stands_beside_its_field_and_nothing_is_lost(silent, address):
    answer = silent.subscribe(address, topics=[BOTH[1]], name="Anna")
    assert answer.status_code == 422
    assert 'id="email-mistake"' in answer.text
    assert re.search(r'id="email"[^>]*aria-invalid="true" aria-describedby="email-mistake"', answer.text)
    assert "<title>Error: Subscribe" in answer.text
    assert 'value="Anna"' in answer.text
    assert 'value="weekly/robots" checked' in answer.text
    assert not waiting(silent)


def test_at_least_one_topic_of_ours_is_chosen(silent):
    for topics in ([], ["nope"], ["weekly/nope", "\0"]):
        answer = silent.subscribe(ANNA, topics=topics)
        assert answer.status_code == 422
        assert "Choose at least one topic." in answer.text
    assert not waiting(silent)


def test_nobody_learns_who_is_subscribed(bench, site):
    site.join()
    for address, verb in (("left@example.org", "unsubscribe"), ("supp@example.org", "suppress")):
        active(bench, address)
        getattr(people, verb)(site.app, address)
    answers = set()
    for address in (ANNA, "left@example.org", "supp@example.org", "new@example.org"):
        answer = site.subscribe(address)
        headers = sorted(name for name in answer.headers if name != "date")
        answers.add((answer.status_code, tuple(headers), answer.text.replace(address, "WHO")))
    assert len(answers) == 1
    assert site.state() == "active"
    assert site.state("left@example.org") == "unsubscribed"


def test_who_fills_in_what_nobody_sees_gets_the_same_answer_and_no_mail(silent):
    answer = silent.subscribe(ANNA, homepage="https://spam.example")
    assert answer.status_code == 200
    assert "Look into your inbox" in answer.text
    assert not waiting(silent)


def test_forms_faster_than_people_type_run_into_the_limit_sooner(bench):
    with publicd.serve(bench, mails=False) as hasty:
        quick = [hasty.subscribe(f"q{i}@example.org").status_code for i in range(8)]
    assert quick.count(200) == 6
    answer = None
    with publicd.serve(Bench(bench.folder.parent / "other"), mails=False) as calm:
        fields = calm.fields("/subscribe")
        seconds, version, _ = fields["stamp"][0].split(".")
        pages = calm.app.signer
        when = f"{int(seconds, 16) - 30:x}"
        mac = pages.digest(f"form subscribe en-GB {when} {version}")[:20]
        for i in range(21):
            data = {**fields, "stamp": f"{when}.{version}.{mac}", "email": f"c{i}@example.org", "topic": BOTH[0]}
            answer = calm.post("/subscribe", data)
            assert answer.status_code == (200 if i < 20 else 429), i
    assert int(answer.headers["retry-after"]) == 120
    assert "a little too often" in answer.text


def test_throw_away_addresses_are_refused_in_words(bench):
    (bench.folder / "throwaway.txt").write_text("# one a line\nminutes.example\nBücher.example\n", "utf-8")
    with publicd.serve(bench, mails=False, settings='refuse_domains_file = "throwaway.txt"') as site:
        for address in ("a@minutes.example", "a@mail.Minutes.EXAMPLE", "a@xn--bcher-kva.example"):
            answer = site.subscribe(address)
            assert answer.status_code == 422
            assert "last for minutes only" in answer.text
        assert site.subscribe("a@otherminutes.example").status_code == 200


# -- confirming ----------------------------------------------------------------------------------------------------


def tampered(path):
    head, _, token = path.rpartition("/")
    for i in (0, len(token) // 2, len(token) - 2):
        yield f"{head}/{token[:i]}{'A' if token[i] != 'A' else 'B'}{token[i + 1 :]}"
    yield f"{head}/{token.swapcase()}"
    yield path[:-1]
    yield path + "A"
    yield f"{head}/'%20OR%201=1--"


def test_scanner_that_opens_or_posts_confirms_nothing(site):
    site.subscribe(ANNA)
    path = site.link(ANNA)
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE"):
        assert site.client.request(method, path).status_code < 500
    for data in ({}, {"no": "1"}, site.fields(path)):
        assert site.post(path, data).status_code == 400
    for bad in tampered(path):
        assert site.get(bad).status_code == 404
        assert site.post(bad, {"yes": "1"}).status_code == 404
    assert site.state() == "pending"


def test_link_that_has_expired_leads_to_the_form(bench):
    with publicd.serve(bench) as site:
        site.subscribe(ANNA)
        path = site.link(ANNA)
    with publicd.serve(bench, THURSDAY + dt.timedelta(days=4), mails=False) as later:
        answer = later.get(path)
        assert answer.status_code == 404
        assert 'href="/subscribe"' in answer.text
        assert later.post(path, {"yes": "1"}).status_code == 404
        assert later.person() is None or later.state() == "pending"


def test_who_is_suppressed_meanwhile_cannot_confirm(site):
    site.subscribe(ANNA)
    path = site.link(ANNA)
    people.suppress(site.app, ANNA)
    answer = site.post(path, {"yes": "1"})
    assert answer.status_code == 409
    assert "cannot be confirmed any more" in answer.text
    assert site.state() != "active"


# -- preferences ---------------------------------------------------------------------------------------------------


def test_topics_name_and_language_are_saved_together(site):
    path = site.join()
    assert site.fields(path)["topic"] == ["weekly/rl-agents"]
    answer = site.post(path, {"topic": "weekly/robots", "name": "Ñame “New” <b>", "language": "es", "do": "save"})
    assert answer.status_code == 200
    assert "Guardado." in answer.text  # in the new language at once
    assert "“New” <b>" not in answer.text
    person = site.person()
    assert (person.topics, person.name, person.language) == (("weekly/robots",), "Ñame “New” <b>", "es")


def test_saving_what_stands_there_changes_nothing(bench):
    active(bench, ANNA, topics=("rl-agents", "robots"))
    with publicd.serve(bench, mails=False) as site:
        before = site.person()
        path = preferences_path(site)
        for _ in range(2):
            assert "Saved." in site.post(path, {**site.fields(path), "do": "save"}).text
        assert site.person() == before


def test_language_that_pages_do_not_speak_is_kept(site):
    path = site.join()
    with site.app.store.write() as session:
        person = session.exec(select(tables.Subscriber)).one()
        person.language = "nl"
        session.add(person)
    assert site.fields(path)["language"] == ["nl"]
    site.post(path, {**site.fields(path), "do": "save"})
    assert site.person().language == "nl"


def test_pause_until_a_day_and_its_end(site):
    path = site.join()
    assert site.fields(path, 1) == {"until": ["2026-10-08"]}
    assert "before Thursday 8 Oct 2026" in site.post(path, {"until": "2026-10-08", "do": "pause"}).text
    with site.app.store.read() as session:
        assert session.exec(select(tables.Subscriber.paused_until)).one() == dt.datetime(2026, 10, 7, 23, tzinfo=dt.UTC)
    assert site.state() == "active"
    assert "before Thursday 8 Oct 2026" in site.get(path).text
    assert "reach you again" in site.post(path, {"do": "resume"}).text
    assert "before Thursday" not in site.get(path).text


def test_day_that_is_none_or_is_over_is_told_beside_its_field(bench):
    active(bench, ANNA)
    with publicd.serve(bench, mails=False) as site:
        path = preferences_path(site)
        for day in ("", "tomorrow", "2026-13-01", "2026-09-09", "0000-00-00", "2026-09-10"):
            answer = site.post(path, {"until": day, "do": "pause"})
            assert answer.status_code == 422, day
            assert 'id="until-mistake"' in answer.text
        assert "A break" in site.get(path).text
        with site.app.store.read() as session:
            assert session.exec(select(tables.Subscriber.paused_until)).one() is None


def test_new_address_is_confirmed_there_and_the_old_links_to_choose_end(site):
    path = site.join()
    leave = leave_path(site)
    answer = site.post(path, {"email": "anna.new@example.net", "do": "address"})
    assert "on its way to the new address" in answer.text
    assert site.state() == "active"
    confirm = site.link("anna.new@example.net")
    page = site.get(confirm).text
    assert page.count("<form") == page.count("<button") == 1
    assert "anna.new@example.net" in page
    welcome = site.post(confirm, {**site.fields(confirm), "yes": "1"})
    assert "Your new address is set" in welcome.text
    assert site.person("anna.new@example.net").topics == ("weekly/rl-agents",)
    assert site.get(path).status_code == 404
    assert site.get(re.search(r'href="[^"]*(/preferences/\w+)"', welcome.text)[1]).status_code == 200
    assert site.get(leave).status_code == 200  # leaving works for ever


def test_address_of_somebody_else_gets_the_same_answer(bench, site):
    path = site.join()
    active(bench, BEN)
    texts = {site.post(path, {"email": email, "do": "address"}).text for email in (BEN, "stranger@example.org")}
    assert len(texts) == 1
    confirm = site.link(BEN)
    assert site.post(confirm, {"yes": "1"}).status_code == 409
    assert site.state() == "active"
    wrong = site.post(path, {"email": "no address", "do": "address"})
    assert wrong.status_code == 422
    assert 'value="no address"' in wrong.text


def test_leaving_everything_and_coming_back_on_the_same_page(site):
    path = site.join()
    answer = site.post(path, {"do": "leave"})
    assert "You have left." in answer.text
    assert site.state() == "unsubscribed"
    page = site.get(path).text
    assert "To come back" in page
    assert 'value="leave"' not in page
    site.post(path, {"topic": "weekly/robots", "name": "", "language": "en-GB", "do": "save"})
    assert (site.state(), site.person().topics) == ("active", ("weekly/robots",))


def test_to_untick_everything_is_to_leave(site):
    path = site.join()
    assert "no mail from us any more" in site.post(path, {"name": "", "language": "en-GB", "do": "save"}).text
    assert site.state() == "unsubscribed"


# -- leaving -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [ONE_CLICK, MULTIPART])
def test_one_click_leaves_at_once_and_the_same_a_second_time(bench, body):
    active(bench, ANNA)
    with publicd.serve(bench, mails=False) as site:
        path = leave_path(site)
        for _ in range(2):
            answer = site.client.post(path, **body)
            assert answer.status_code == 200
            assert "location" not in answer.headers
            assert "set-cookie" not in answer.headers
            assert site.state() == "unsubscribed"
        for bad in tampered(path):
            assert site.client.post(bad, **body).status_code == 404
        how = [row.how for row in consents(site) if row.what == "unsubscribed"]
        assert how == ["one-click"]


def test_one_click_has_no_limit_and_asks_for_no_origin(bench):
    everybody = [f"p{i}@example.org" for i in range(64)]
    active(bench, *everybody)
    with publicd.serve(bench, mails=False) as site:
        headers = {**ONE_CLICK["headers"], "origin": "https://mail.example", "sec-fetch-site": "cross-site"}
        for address in everybody:
            answer = site.client.post(leave_path(site, address), content=ONE_CLICK["content"], headers=headers)
            assert answer.status_code == 200


def test_leaving_by_hand_with_a_reason_and_a_way_back(site):
    site.join()
    path = leave_path(site)
    page = site.get(path).text
    assert page.count("<form") == page.count("<button") == 1
    assert site.state() == "active"
    for data in ({}, {"reason": "other"}):
        assert site.post(path, data).status_code == 400
    assert site.state() == "active"
    answer = site.post(path, {"do": "leave", "reason": "too_many"})
    assert answer.status_code == 200
    assert "You have left" in answer.text
    assert site.state() == "unsubscribed"
    assert ("reason", "too_many") in [(row.what, row.words) for row in consents(site)]
    assert "You have left" in site.get(path).text
    back = re.search(r'class="button" href="[^"]*(/preferences/\w+)"', answer.text)[1]
    assert "To come back" in site.get(back).text


def test_a_link_is_good_for_what_it_was_made_for_alone(bench):
    active(bench, ANNA)
    with publicd.serve(bench, mails=False) as site:
        token = leave_path(site).rpartition("/")[2]
        assert site.get(f"/preferences/{token}").status_code == 404
        assert site.get(f"/confirm/{token}").status_code == 404
        assert site.post(f"/preferences/{token}", {"do": "leave"}).status_code == 404
        assert site.state() == "active"


def test_pages_of_a_test_message_say_so_and_change_nobody(silent):
    for kind, purpose in (("unsubscribe", Purpose.UNSUBSCRIBE), ("preferences", Purpose.PREFERENCES)):
        path = f"/{kind}/{silent.app.signer.sign(purpose, 0, 0)}"
        assert "page of a test message" in silent.get(path).text
        for do in ("save", "pause", "resume", "address", "leave"):
            answer = silent.post(path, {"do": do, "until": "2026-10-08", "email": ANNA, "topic": BOTH[0]})
            assert answer.status_code == 200
    assert not waiting(silent)
    with silent.app.store.read() as session:
        assert not session.exec(select(tables.Subscriber)).all()


# -- who is refused ------------------------------------------------------------------------------------------------


def test_form_from_elsewhere_is_refused_and_changes_nothing(bench):
    active(bench, ANNA)
    with publicd.serve(bench, mails=False) as site:
        path, preferences = leave_path(site), preferences_path(site)
        for headers in ELSEWHERE:
            assert site.subscribe("new@example.org", headers=headers).status_code == 403
            assert site.post(path, {"do": "leave"}, headers).status_code == 403
            assert site.post(preferences, {"do": "leave"}, headers).status_code == 403
        assert not waiting(site)
        assert site.state() == "active"


def test_form_of_an_old_browser_or_of_none_is_taken(site):
    for headers in (
        {"sec-fetch-site": None},
        {"origin": None},
        {"origin": None, "sec-fetch-site": None},
        {"origin": "null"},
    ):
        assert site.subscribe(ANNA, headers=headers).status_code == 200
