"""What readers decide for themselves: asking, the yes, choosing, a pause, another address, leaving; and the mails."""

import asyncio
import datetime as dt
import email
import email.policy
import re

import pytest
from conftest import THURSDAY
from sqlmodel import select

from newsletter import errors, tokens, types
from newsletter.app import people, postroom, readers
from newsletter.store import audience, servicemail, signups, tables, throttle

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)
ANNA = "anna@example.org"
BOTH = ["weekly/rl-agents", "weekly/robots"]


def visit(ip="192.0.2.1", **more):
    return readers.Visit(ip, words="Send me the topics I chose.", page="p1", **more)


class House:
    """A workspace with a mail server, opened anew at a time of the test's choice."""

    def __init__(self, bench, smtpd):
        self.bench, self.smtpd = bench, smtpd
        bench.settings(more="")
        path = bench.folder / "newsletter.toml"
        path.write_text(path.read_text("utf-8").replace("port = 9\n", f"port = {smtpd.port}\n"), encoding="utf-8")

    def do(self, verb, *args, now=THURSDAY, **options):
        with self.bench.app(now) as app:
            return verb(app, *args, **options)

    def ask(self, address=ANNA, topics=("weekly/rl-agents",), now=THURSDAY, ip="192.0.2.1", **more):
        self.do(readers.ask, address, topics, visit(ip), now=now, **more)
        self.post(now)

    def post(self, now=THURSDAY):
        """Send what is due, a moment later: a rehearsal's clock runs."""
        return self.do(postroom.deliver_due, now=now + dt.timedelta(seconds=30))

    def mails(self, address=ANNA):
        return [
            email.message_from_bytes(each.octets, policy=email.policy.default)
            for each in self.smtpd.taken
            if each.rcpt == address
        ]

    def token(self, address=ANNA, place=-1):
        text = self.mails(address)[place].get_body(("plain",)).get_content()
        return re.search(r"/confirm/(\S+)", text)[1]

    def person(self, address=ANNA):
        return self.do(people.show, address)

    def confirm(self, token=None, now=THURSDAY, **more):
        return self.do(readers.confirm, token or self.token(), visit("198.51.100.7"), now=now, **more)

    def link(self, purpose=tokens.Purpose.PREFERENCES, address=ANNA, issue=0):
        with self.bench.app() as app, app.store.read() as session:
            row = session.get_one(tables.Subscriber, people.show(app, address).id)
            version = row.token_version if purpose is tokens.Purpose.PREFERENCES else 0
            return app.signer.sign(purpose, row.id, issue, version=version)

    def consent(self, address=ANNA):
        with self.bench.app() as app, app.store.read() as session:
            who = people.show(app, address).id
            rows = session.exec(select(tables.Consent).where(tables.Consent.subscriber_id == who)).all()
            return [(row.what, row.topic, row.how, row.ip, row.words, row.page) for row in rows]


@pytest.fixture
def house(bench, smtpd):
    return House(bench, smtpd)


def active(house, topics=("weekly/rl-agents",), **more):
    house.ask(topics=topics, **more)
    house.confirm()


# -- asking and the yes --------------------------------------------------------------------------------------------


def test_nobody_is_subscribed_before_the_yes_and_the_yes_is_proved(house):
    house.ask(name="Anna  Ångström", language="de")
    assert (house.person().state, house.person().topics, house.person().name) == ("pending", (), "")
    shown = house.do(readers.asked, house.token())
    assert (shown.email, shown.done, shown.offers[0].topics) == (
        ANNA,
        False,
        (("rl-agents", "Reinforcement learning"),),
    )
    done = house.confirm()
    assert done.done
    assert "/preferences/" in done.preferences
    person = house.person()
    assert (person.state, person.topics, person.name, person.language) == (
        "active",
        ("weekly/rl-agents",),
        "Anna Ångström",
        "de",
    )
    words, page = "Send me the topics I chose.", "p1"
    assert house.consent() == [
        ("subscribed", "rl-agents", "page", "192.0.2.1", words, page),
        ("confirmed", "rl-agents", "page", "198.51.100.7", words, page),
    ]


def test_the_question_and_the_welcome_are_one_mail_each_in_the_readers_language(house):
    active(house, language="de")
    house.post()
    question, welcome = house.mails()
    assert question["Auto-Submitted"] == welcome["Auto-Submitted"] == "auto-generated"
    assert question["List-Unsubscribe"] is None
    assert (question["Subject"], welcome["Subject"]) == (
        "Bitte bestätigen Sie Ihr Abonnement von „News without the noise“",
        "Willkommen bei „News without the noise“",
    )
    text = welcome.get_body(("plain",)).get_content()
    assert "11. September 2026" in text
    assert "news@example.org" in text
    assert f"/preferences/{house.link()}" in text
    assert house.post() == 0


def test_a_second_press_changes_nothing_also_after_leaving(house):
    active(house, topics=BOTH)
    token = house.token(place=0)
    assert house.confirm(token).done
    house.do(readers.choose, house.link(), ["weekly/robots"], visit(), name="", language=None)
    assert house.confirm(token).offers[0].topics == (("robots", "Robots that learn"),)  # as it is, not as it was
    house.do(readers.leave_everything, house.link(), visit())
    assert house.confirm(token) is None
    assert house.person().state == "unsubscribed"


def test_a_no_voids_what_was_asked_for_before_it(house):
    active(house)
    house.ask(topics=BOTH)
    house.do(people.unsubscribe, ANNA)
    assert house.confirm() is None
    assert house.person().state == "unsubscribed"


def test_a_no_to_what_somebody_never_had_holds_against_a_list(house):
    active(house)
    house.do(people.unsubscribe, ANNA, topics=["weekly/robots"])
    assert house.bench.people(ANNA, topics=["robots"]).suppressed == 1
    assert house.person().topics == ("weekly/rl-agents",)
    house.do(readers.choose, house.link(), BOTH, visit(), name="", language=None)  # but their own yes counts
    assert house.person().topics == tuple(BOTH)


def test_an_address_that_was_given_up_comes_back_by_its_readers_yes_alone(house):
    active(house)
    house.do(people.move, ANNA, "new@example.org")
    with pytest.raises(errors.StateError, match="moved away"):
        house.do(people.add, ANNA, topics=["weekly/robots"], state=types.SubscriberState.ACTIVE)
    assert house.bench.people(ANNA).suppressed == 1
    house.do(readers.ask_address, house.link(address="new@example.org"), ANNA, visit())
    house.post()
    house.confirm()
    assert (house.person().state, house.person().suppressed) == ("active", None)
    assert house.bench.people("new@example.org").suppressed == 1
    house.ask("new@example.org")  # and a form may ask for the other one, too
    house.confirm(house.token("new@example.org"))
    assert house.person("new@example.org").state == "active"


def test_a_long_run_reads_a_key_file_that_changed(house):
    with house.bench.app() as app:
        path = house.bench.folder / "secret.key"
        old = app.signer.key_id
        path.write_text("a-new-key-of-many-characters-for-this\n" + path.read_text("utf-8"), encoding="utf-8")
        assert app.signer.key_id != old


def test_a_link_that_expired_or_is_not_ours_confirms_nothing(house):
    house.ask()
    token = house.token()
    assert house.confirm(token, now=THURSDAY + signups.WORKS_FOR + HOUR) is None
    assert house.do(readers.asked, token, now=THURSDAY + signups.WORKS_FOR + HOUR) is None
    assert house.confirm(token + "A") is None
    assert house.person().state == "pending"


def test_who_left_comes_back_by_their_own_yes(house):
    active(house)
    house.do(readers.leave_everything, house.link(), visit())
    house.ask(topics=BOTH)
    assert house.person().state == "unsubscribed"
    house.confirm()
    assert (house.person().state, house.person().topics) == ("active", tuple(BOTH))


@pytest.mark.parametrize("when", ["before asking", "before the yes"])
@pytest.mark.parametrize("newsletter", [None, "weekly"])
def test_a_suppressed_address_is_not_mailed_and_not_confirmed(house, when, newsletter):
    if when == "before asking":
        house.do(people.suppress, ANNA, newsletter=newsletter)
        house.ask()
        assert house.mails() == []
    else:
        house.ask()
        house.do(people.suppress, ANNA, newsletter=newsletter)
        with pytest.raises(errors.StateError, match="cannot be confirmed"):
            house.confirm()
        assert house.person().state == "pending"


def test_an_erased_person_is_not_mailed_by_a_form(house):
    active(house)
    sent = len(house.mails())
    house.do(people.erase, ANNA)
    house.ask("Anna@Example.org")
    assert len(house.mails()) == sent
    assert house.do(readers.preferences, "x") is None


def test_an_address_is_asked_three_times_a_day_at_most(house):
    for turn in range(5):
        house.ask(ip=f"192.0.2.{turn}", now=THURSDAY + turn * HOUR)
    assert len(house.mails()) == 3
    house.ask(now=THURSDAY + DAY + HOUR)
    assert len(house.mails()) == 4


def test_one_network_cannot_ask_for_everybody(house):
    with pytest.raises(readers.TooOften):
        for number in range(100):
            house.do(readers.ask, f"a{number}@example.org", BOTH, visit("2001:db8::1"))
    with pytest.raises(readers.TooOften):
        house.do(readers.ask, "b@example.org", BOTH, visit("2001:db8::2"))  # the same household
    assert 5 <= house.post() <= 40
    house.ask("c@example.org", ip="2001:db8:1::1")
    assert house.mails("c@example.org")


def test_who_is_faster_than_people_is_stopped_sooner(house):
    counts = []
    for hasty in (False, True):
        seen = visit(f"192.0.2.{8 + hasty}", hasty=hasty)
        with pytest.raises(readers.TooOften):
            for number in range(100):
                house.do(readers.ask, f"{hasty}{number}@example.org", BOTH, seen)
                counts[hasty:] = [number]
    assert counts[True] < counts[False] / 2


@pytest.mark.parametrize("topics", [(), ("weekly/none",), ("other/robots",), ("robots",), ("weekly",)])
def test_without_a_topic_of_ours_nothing_is_asked(house, topics):
    with pytest.raises(errors.UsageError, match="at least one topic"):
        house.do(readers.ask, ANNA, topics, visit())


def test_confirmations_that_nobody_answers_are_forgotten_with_their_strangers(house):
    house.ask()
    house.ask("bo@example.org")
    house.confirm(house.token("bo@example.org"))
    later = THURSDAY + 8 * DAY
    with house.bench.app(later) as app, app.store.write() as session:
        assert signups.forget_expired(session, later) == 1
    with pytest.raises(errors.NotFound):
        house.person()
    assert house.person("bo@example.org").state == "active"


def test_a_yes_to_one_topic_is_none_to_another_that_an_import_left_waiting(house):
    with house.bench.app() as app:
        people.add(app, ANNA, topics=["weekly/robots"])
    house.ask(topics=["weekly/rl-agents"])
    house.confirm()
    assert (house.person().state, house.person().topics) == ("active", ("weekly/rl-agents",))
    assert ("unsubscribed", "robots") not in [
        each[:2] for each in house.consent()
    ]  # nobody said no: it was never a yes


# -- by a link of their own ----------------------------------------------------------------------------------------


def test_looking_changes_nothing(house):
    active(house)
    before = house.person()
    for verb, link in ((readers.preferences, house.link()), (readers.leaving, house.link(tokens.Purpose.UNSUBSCRIBE))):
        assert house.do(verb, link).email == ANNA
    assert house.do(readers.asked, house.token(place=0)).done
    assert house.person() == before
    assert house.do(readers.preferences, house.link(tokens.Purpose.UNSUBSCRIBE)) is None
    assert house.do(readers.leaving, house.link()) is None


def test_topics_name_and_language_are_as_chosen(house):
    active(house)
    found = house.do(readers.choose, house.link(), ["weekly/robots"], visit(), name="Ñame “New” <b>", language="fr")
    assert (found.topics, found.name, found.language) == (frozenset({"weekly/robots"}), "Ñame “New” <b>", "fr")
    assert [each[:2] for each in house.consent()[2:]] == [("subscribed", "robots"), ("unsubscribed", "rl-agents")]
    assert house.do(readers.choose, house.link(), [], visit(), name="", language=None).state == "unsubscribed"
    assert house.do(readers.choose, house.link(), BOTH, visit(), name="", language=None).topics == frozenset(BOTH)


def test_a_link_to_choose_wakes_nobody_who_is_pending_or_suppressed(house):
    house.ask()
    link = house.link()
    assert house.do(readers.choose, link, BOTH, visit(), name="", language=None).state == "pending"
    house.confirm()
    house.do(readers.leave_everything, link, visit())
    house.do(people.suppress, ANNA)
    found = house.do(readers.choose, link, BOTH, visit(), name="", language=None)
    assert found.suppressed
    assert not found.topics


def test_a_pause_keeps_issues_away_until_its_day(house):
    active(house)
    house.bench.entries("one")
    house.bench.compose()
    found = house.do(readers.pause, house.link(), dt.date(2026, 9, 20), visit())
    assert found.paused_until == dt.datetime(2026, 9, 19, 23, tzinfo=dt.UTC)  # midnight in London
    assert house.bench.approve().audience == {}
    with house.bench.app(THURSDAY + 14 * DAY) as app:
        assert app.audience("weekly/2026-09-11") == {"rl-agents": 1}
    assert house.do(readers.pause, house.link(), None, visit()).paused_until is None
    with house.bench.app() as app:
        assert app.audience("weekly/2026-09-11") == {"rl-agents": 1}
    with pytest.raises(errors.UsageError, match="still to come"):
        house.do(readers.pause, house.link(), dt.date(2026, 9, 10), visit())
    assert house.do(readers.pause, house.link(), dt.date(2999, 1, 1), visit()).paused_until.year == 2027
    assert house.person().state == "active"


def test_a_new_address_is_taken_when_its_reader_says_yes(house):
    active(house)
    old = house.link()
    house.do(readers.ask_address, old, "Anna.New@example.net", visit())
    house.post()
    (mail,) = house.mails("Anna.New@example.net")
    assert "new address" in mail["Subject"]
    assert house.person().email == ANNA
    shown = house.confirm(house.token("Anna.New@example.net"))
    assert (shown.purpose, shown.email) == ("address", "Anna.New@example.net")
    moved = house.person("anna.new@example.net")
    assert (moved.state, moved.topics) == ("active", ("weekly/rl-agents",))
    assert house.do(readers.preferences, old) is None  # links in mails to the old address choose nothing any more
    assert (
        house.do(readers.leaving, house.link(tokens.Purpose.UNSUBSCRIBE, "anna.new@example.net")).email == moved.email
    )


def test_who_bounced_is_reached_again_at_an_address_they_confirmed(house):
    active(house)
    with house.bench.app() as app, app.store.write() as session:
        row = session.get_one(tables.Subscriber, people.show(app, ANNA).id)
        row.state = "bounced"
        session.add(tables.Suppression(address=ANNA, reason="bounced: 550 5.1.1", since=THURSDAY))
    house.do(readers.ask_address, house.link(), "anna.new@example.net", visit())
    house.post()
    house.confirm(house.token("anna.new@example.net"))
    moved = house.person("anna.new@example.net")
    assert (moved.state, moved.suppressed, moved.topics) == ("active", None, ("weekly/rl-agents",))
    with house.bench.app() as app, app.store.read() as session:
        assert audience.is_suppressed(session, ANNA)


def test_an_address_that_is_somebody_elses_is_told_to_nobody_and_taken_by_nobody(house):
    active(house)
    house.ask("bo@example.org")
    house.confirm(house.token("bo@example.org"))
    assert house.do(readers.ask_address, house.link(), "bo@example.org", visit()).email == ANNA
    house.post()
    with pytest.raises(errors.StateError):
        house.confirm(house.token("bo@example.org"))
    assert house.person("bo@example.org").state == "active"


def test_leaving_by_a_mails_link_leaves_that_newsletter_at_once_and_twice_is_once(house):
    active(house)
    house.bench.entries("one")
    house.bench.compose()
    link = house.link(tokens.Purpose.UNSUBSCRIBE, issue=1)
    for _ in range(2):
        found = house.do(readers.leave, link, visit(), how="one-click", reason="too_many")
        assert found.state == "unsubscribed"
    assert [each[0] for each in house.consent()].count("unsubscribed") == 1
    assert house.do(readers.leave, link[:-1], visit()) is None


def test_the_link_of_a_test_message_changes_nobody(house):
    active(house)
    with house.bench.app() as app:
        leave = app.signer.sign(tokens.Purpose.UNSUBSCRIBE, 0, 1)
        choose = app.signer.sign(tokens.Purpose.PREFERENCES, 0, 1)
        assert readers.leave(app, leave, visit()).test
        assert readers.leave_everything(app, choose, visit()).test
        assert readers.choose(app, choose, [], visit(), name="", language=None).test
    assert house.person().state == "active"


# -- the mails -----------------------------------------------------------------------------------------------------


def test_a_mail_waits_until_the_relay_is_there_and_is_then_sent_once(house, smtpd):
    path = house.bench.folder / "newsletter.toml"
    there = path.read_text("utf-8")
    path.write_text(there.replace(f"port = {smtpd.port}", "port = 9"), encoding="utf-8")
    house.do(readers.ask, ANNA, BOTH, visit())
    with pytest.raises(errors.ServerError):
        house.post()
    path.write_text(there, encoding="utf-8")
    assert house.post() == 0  # not before its pause is over
    assert house.post(THURSDAY + servicemail.PAUSES[0] + HOUR) == 1
    assert len(house.mails()) == 1


@pytest.mark.parametrize(
    ("fault", "states"), [("grey", ["queued", "sent"]), ("nobody", ["failed"]), ("policy", ["queued", "queued"])]
)
def test_a_refused_mail_is_tried_again_unless_it_never_will_be_taken(house, fault, states):
    house.do(readers.ask, f"{fault}.anna@example.org", BOTH, visit())
    for turn, state in enumerate(states):
        house.post(THURSDAY + turn * DAY)
        with house.bench.app() as app, app.store.read() as session:
            (mail,) = session.exec(select(tables.ServiceMail)).all()
            assert mail.state == state
            assert bool(mail.facts) == (state == "queued")  # a link is kept no longer than it is needed


def test_a_mail_whose_sender_died_is_sent_again_with_the_same_message_id(house):
    house.do(readers.ask, ANNA, BOTH, visit())
    with house.bench.app() as app, app.store.write() as session:
        (due,) = servicemail.lease(session, THURSDAY + HOUR)
        assert servicemail.lease(session, THURSDAY + HOUR) == []
        first = postroom.made(app, due)
    house.post(THURSDAY + HOUR + servicemail.LEASE)
    assert house.mails()[0]["Message-ID"] == first.message_id


def test_the_postroom_sends_what_comes_until_it_is_stopped(house):
    with house.bench.app() as app:

        async def scene():
            stop = asyncio.Event()
            task = asyncio.create_task(postroom.run(app, stop))
            for address in (ANNA, "bo@example.org"):
                await asyncio.to_thread(readers.ask, app, address, BOTH, visit())
                while not house.mails(address):
                    assert not task.done()
                    await asyncio.sleep(0.05)
            stop.set()
            await task

        asyncio.run(asyncio.wait_for(scene(), 60))


# -- how often -----------------------------------------------------------------------------------------------------


def test_a_bucket_lets_a_burst_through_and_then_one_in_a_while(house):
    with house.bench.app() as app, app.store.write() as session:
        rate = {"every": dt.timedelta(minutes=2), "burst": 3}
        assert [throttle.allow(session, "b", THURSDAY, **rate) for _ in range(5)] == [True] * 3 + [False] * 2
        assert throttle.allow(session, "other", THURSDAY, **rate)
        later = THURSDAY + dt.timedelta(minutes=2)
        assert [throttle.allow(session, "b", later, **rate) for _ in range(2)] == [True, False]
        assert [throttle.allow(session, "b", later + DAY, **rate) for _ in range(4)] == [True] * 3 + [False]
        assert throttle.allow(session, "b", THURSDAY, **rate)  # a clock that was ahead locks nobody out
        throttle.forget(session, THURSDAY + 3 * DAY)
        assert session.exec(select(tables.Throttle)).all() == []


@pytest.mark.parametrize(
    ("ip", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:0:1:a:b:c:d", "2001:db8:0:1::/64"),
        ("", ""),
    ],
)
def test_whose_allowance_a_request_counts_against(ip, network):
    assert readers.network(ip) == network
