"""Sending from end to end: a real workspace, a real database, a real server, and everything that goes wrong between."""

from __future__ import annotations

import asyncio
import collections
import datetime as dt
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest
import sqlalchemy as sa
from conftest import ISSUE
from sqlmodel import select

from newsletter import deliver, errors, types
from newsletter.app import editing, people, sending
from newsletter.deliver import ledger
from newsletter.store import attempts, outbox, owners, tables
from newsletter.types import DeliveryState, Verdict

FRIDAY = dt.datetime(2026, 9, 11, 8, 0, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


class Post:
    """A workspace whose issue is approved, and a mail server."""

    def __init__(self, bench, server) -> None:
        self.bench, self.server = bench, server
        self.port = server.port
        self.smtp()

    def smtp(self, **values) -> None:
        self.bench.settings()
        path = self.bench.folder / "newsletter.toml"
        lines = [
            f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}" for key, value in values.items()
        ]
        path.write_text(path.read_text().replace("port = 9\n", "\n".join([f"port = {self.port}", *lines]) + "\n"))

    def approved(self, *names: str, topics=("rl-agents",)) -> None:
        self.bench.entries("A paper", "Another paper", topics=("rl-agents",))
        if "robots" in topics:
            self.bench.entries("A robot", topics=("robots",))
        self.bench.people(*(name if "@" in name else f"{name}@example.org" for name in names), topics=topics)
        self.bench.compose()
        self.bench.approve()

    def app(self, now=FRIDAY):
        return self.bench.app(now)

    def send(self, now=FRIDAY, **options):
        with self.app(now) as app:
            return app.send(ISSUE, **options)

    def status(self, now=FRIDAY):
        with self.app(now) as app:
            return app.status(ISSUE)

    def reason(self, name: str) -> str | None:
        with self.app() as app:
            return next(row.reason for row in app.deliveries(ISSUE) if row.email.startswith(f"{name}@"))

    def people(self) -> dict[str, str]:
        with self.app() as app, app.store.read() as session:
            rows = session.exec(select(tables.Subscriber.email, tables.Subscriber.state)).all()
        return {email.partition("@")[0]: state for email, state in rows}

    def change(self, statement) -> None:
        with self.app() as app, app.store.write() as session:
            session.execute(statement)

    def copies(self) -> dict[str, int]:
        return dict(collections.Counter(each.rcpt.partition("@")[0] for each in self.server.taken))


@pytest.fixture
def post(bench, smtpd):
    return Post(bench, smtpd)


def counts(report):
    return {state: count for state, count in report.counts.items() if count}


def once(action):
    """For the server's `on_data`: do something at the first message, and no more."""
    todo = [action]

    def work(rcpt: str) -> None:
        if todo:
            todo.pop()()

    return work


# -- the good way --------------------------------------------------------------------------------------------------


def test_everybody_gets_the_issue_once(post):
    post.approved(*(f"p{i}" for i in range(25)))
    report = post.send()

    assert (report.state, counts(report), report.complete) == ("sent", {"sent": 25}, True)
    assert post.copies() == {f"p{i}": 1 for i in range(25)}
    assert len({each.header("Message-ID") for each in post.server.taken}) == 25
    assert all(each.rcpt in each.header("To") for each in post.server.taken)
    assert post.server.objections == []
    assert post.send() == post.status()
    assert len(post.server.taken) == 25


def test_what_was_previewed_is_what_is_sent(post):
    post.approved("anna")
    with post.app() as app:
        previewed = app.render(ISSUE, reader="anna@example.org")[0].octets
    post.send()

    def undated(octets):
        return [line for line in octets.split(b"\r\n") if not line.startswith((b"Date:", b"Message-ID:"))]

    assert undated(post.server.taken[0].octets) == undated(previewed)


def test_an_issue_for_nobody_is_refused_and_says_who_is_pending(post):
    post.approved("anna", "ben")
    post.change(sa.update(outbox.S).where(outbox.S.c.email.like("anna%")).values(state="unsubscribed"))
    post.change(sa.update(outbox.S).where(outbox.S.c.email.like("ben%")).values(state="pending"))

    with pytest.raises(errors.StateError, match=r"nobody would get.*; 1 is pending.*--state active"):
        post.send()
    with post.app() as app:
        assert app.status(ISSUE).state == "approved"


# -- what a server says --------------------------------------------------------------------------------------------


def test_later_means_later(post):
    post.approved("grey.anna", "later.ben", "cy")
    report = post.send()

    assert counts(report) == {"sent": 1, "deferred": 2}
    assert (report.state, report.complete) == ("sending", False)
    assert report.next_due is not None and dt.timedelta() < report.next_due - FRIDAY < HOUR
    assert counts(post.send(FRIDAY)) == {"sent": 1, "deferred": 2}
    assert post.send(FRIDAY + HOUR).state == "sent"
    assert post.copies() == {"grey.anna": 1, "later.ben": 1, "cy": 1}


def test_wait_stays_until_what_is_deferred_is_settled(post, monkeypatch):
    monkeypatch.setattr(deliver, "FIRST_RETRY", dt.timedelta(milliseconds=1))
    post.approved("grey.anna", "cy")

    assert post.send(wait=True).state == "sent"


def test_deferred_mail_is_given_up_in_the_end(post):
    post.approved("full.anna", "ben")
    for hours in range(0, 60, 6):
        report = post.send(FRIDAY + hours * HOUR)

    assert (report.state, counts(report)) == ("sent", {"sent": 1, "failed": 1})
    assert post.reason("full.anna") == "4.2.2 mailbox full"
    assert post.people()["full.anna"] == "active"


def test_an_address_that_does_not_exist_is_never_mailed_again_and_nobody_else_is_marked(post):
    post.smtp(error_budget=1.0)
    post.approved("nobody.anna", "plain550.ben", "refused.cy", "policy.dan", "spam.eve", "fay")
    report = post.send()

    assert counts(report) == {"sent": 1, "failed": 5}
    assert post.people() == {
        "nobody.anna": "bounced", "plain550.ben": "active", "refused.cy": "active", "policy.dan": "active",
        "spam.eve": "active", "fay": "active",
    }  # fmt: skip
    with post.app() as app, app.store.read() as session:
        assert session.exec(select(tables.Suppression.address)).all() == ["nobody.anna@example.org"]


def test_who_bounced_left_or_is_suppressed_is_not_tried_again(post):
    post.smtp(connections=1, error_budget=1.0)
    post.approved("nobody.anna", "spam.ben", "spam.cleo", "spam.dora", "eve")
    post.send()
    with post.app() as app:
        people.unsubscribe(app, "spam.ben@example.org")
        people.suppress(app, "spam.cleo@example.org")
        asked = len(post.server.asked)
        assert app.retry(ISSUE, "failed") == 1
    report = post.send()

    assert post.server.asked[asked:] == ["spam.dora@example.org"]
    assert counts(report) == {"sent": 1, "failed": 4}


def test_who_left_after_the_plan_is_not_even_named_to_the_server(post):
    post.approved("later.anna", "ben")
    post.send()
    with post.app() as app:
        people.unsubscribe(app, "later.anna@example.org")
    asked = len(post.server.asked)
    report = post.send(FRIDAY + HOUR)

    assert post.server.asked[asked:] == []
    assert counts(report) == {"sent": 1, "skipped": 1}


def test_a_server_that_refuses_everybody_for_policy_holds_the_issue(post):
    post.smtp(connections=1, error_budget=1.0)
    post.approved(*(f"spam.p{i}" for i in range(9)))
    report = post.send()

    assert (report.state, counts(report)) == ("held", {"failed": 5, "queued": 4})
    assert "5.7.26" in report.reason and "retry" in report.reason
    assert set(post.people().values()) == {"active"}
    with pytest.raises(errors.StateError, match="held"):
        post.send()
    with post.app() as app:
        app.release(ISSUE)
        assert app.retry(ISSUE, "failed") == 5
    post.server.every = "many"  # all is well
    assert post.send(FRIDAY + HOUR).state == "sent"
    assert post.copies() == {f"spam.p{i}": 1 for i in range(9)}


def test_too_many_refusals_hold_the_issue_and_a_release_goes_on(post):
    post.smtp(connections=1)
    post.approved(*(f"nobody.p{i}" for i in range(4)), *(f"q{i}" for i in range(60)))
    report = post.send()

    assert report.state == "held"
    assert counts(report) == {"failed": 4, "sent": 46, "queued": 14}
    assert report.reason == "error budget: 4 of 50 were refused for good (smtp.error_budget = 0.05)"
    with post.app() as app:
        assert app.release(ISSUE) == "sending"
    assert post.send().state == "sent"
    assert counts(post.status()) == {"failed": 4, "sent": 60}


def test_a_local_part_that_the_server_cannot_take_fails_alone(post):
    post.server.keywords = ("PIPELINING", "8BITMIME")
    post.approved("jörg@example.org", "anna")
    report = post.send()

    assert (report.state, counts(report)) == ("sent", {"sent": 1, "failed": 1})
    assert "SMTPUTF8" in post.reason("jörg")


def test_a_server_that_takes_only_small_messages_says_so(post):
    post.smtp(connections=1)
    post.server.size = 1000
    post.approved(*(f"p{i}" for i in range(7)))
    report = post.send()

    assert (report.state, counts(report)) == ("held", {"failed": 5, "queued": 2})
    assert "takes 1,000" in post.reason("p0") and "takes 1,000" in report.reason
    assert post.server.taken == []


def test_who_makes_the_server_hang_up_costs_the_others_nothing(post, monkeypatch):
    monkeypatch.setattr(deliver.Run, "_backoff", lambda self: 0.0)
    post.smtp(connections=2)
    faulty = [f"{fault}.x" for fault in ("busy", "garbage", "badcode", "half", "at_data", "endless", "farewell")]
    post.approved(*faulty, *(f"p{i}" for i in range(10)))
    for hours in (0, 1):
        report = post.send(FRIDAY + hours * HOUR)

    assert (report.state, counts(report)) == ("sent", {"sent": 17})
    assert set(post.copies().values()) == {1}
    assert post.server.objections == []


# -- the server is gone --------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_without_a_server_nothing_changes(post):
    port, post.port = post.port, free_port()
    post.smtp()
    post.approved("anna")
    with pytest.raises(errors.ServerError, match="nothing listens there"):
        post.send()
    assert post.status().state == "approved"
    post.port = port
    post.smtp()
    assert post.send().state == "sent"


def test_a_server_that_goes_away_leaves_the_rest_for_the_next_run(post, monkeypatch):
    monkeypatch.setattr(deliver, "CONNECT_PAUSES", (0.01, 0.01))
    post.smtp(connections=2)
    post.approved(*(f"p{i}" for i in range(8)))

    def go(rcpt: str) -> None:
        if len(post.server.taken) >= 3:
            post.server.mail_reply = b"421 4.3.2 down\r\n"
            post.server.greeting = b"421 4.3.2 down\r\n"

    post.server.on_data = go
    report = post.send()

    assert report.state == "sending"
    assert "421" in report.trouble or "down" in report.trouble
    assert counts(report) == {"sent": len(post.server.taken), "queued": 8 - len(post.server.taken)}
    post.server.on_data, post.server.mail_reply, post.server.greeting = None, None, b"220 mx.test ESMTP\r\n"
    assert post.send().state == "sent"
    assert post.copies() == {f"p{i}": 1 for i in range(8)}


@pytest.mark.parametrize("fault", ["always_after_body", "at_data", "busy"])
def test_a_server_that_always_hangs_up_is_given_up_before_it_has_met_everybody(post, monkeypatch, fault):
    monkeypatch.setattr(deliver.Run, "_backoff", lambda self: 0.0)
    post.smtp(connections=2)
    post.approved(*(f"p{i}" for i in range(40)))
    post.server.every = fault
    report = post.send()

    assert "in trouble" in report.trouble
    assert counts(report)["queued"] >= 25
    post.server.every = None
    assert post.send(FRIDAY + HOUR).state == "sent"
    assert set(post.copies()) == {f"p{i}" for i in range(40)}
    assert max(post.copies().values()) <= (2 if fault == "always_after_body" else 1)


def test_a_server_that_takes_few_connections_gets_few(post, monkeypatch):
    monkeypatch.setattr(deliver, "CONNECT_PAUSES", (0.01, 0.01))
    post.smtp(connections=6)
    post.approved(*(f"p{i}" for i in range(30)))
    post.server.max_connections = 2

    assert post.send().state == "sent"
    assert set(post.copies().values()) == {1}


# -- in doubt ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["in_body", "after_body"])
def test_a_drop_after_the_first_octet_is_in_doubt_and_the_second_copy_is_the_same(post, fault):
    post.approved(f"{fault}.anna", "ben")
    report = post.send()

    assert counts(report) == {"sent": 1, "in_doubt": 1}
    assert report.in_doubt == [f"{fault}.anna@example.org"]
    assert post.send(FRIDAY + 5 * HOUR).state == "sent"
    copies = [each for each in post.server.taken if each.rcpt.startswith(fault)]
    assert len(copies) == (2 if fault == "after_body" else 1)
    assert len({each.octets for each in copies}) == 1


def test_with_hold_one_in_doubt_waits_until_somebody_asks(post):
    post.smtp(in_doubt="hold")
    post.approved("after_body.anna", "ben")
    for hours in (0, 10):
        report = post.send(FRIDAY + hours * HOUR)
        assert (counts(report), report.next_due) == ({"sent": 1, "in_doubt": 1}, None)
    with post.app(FRIDAY + 11 * HOUR) as app:
        assert app.retry(ISSUE, "in_doubt") == 1
    assert post.send(FRIDAY + 11 * HOUR).state == "sent"
    first, second = [each for each in post.server.taken if each.rcpt.startswith("after")]
    assert first == second


def test_who_is_dropped_again_and_again_does_not_get_it_again_and_again(post):
    post.approved("always_after_body.anna", "ben")
    for hours in range(0, 60, 5):
        report = post.send(FRIDAY + hours * HOUR)

    assert report.in_doubt == ["always_after_body.anna@example.org"]
    assert post.copies()["always_after_body.anna"] == deliver.MOST_COPIES


def test_after_a_death_the_resume_sends_the_same_again(post):
    """The process ended between the two commits; its lock is free. Nobody else comes before those in doubt."""
    post.smtp(connections=1)
    post.approved("anna", "ben")
    with post.app() as app:
        sending.plan(app, editing.open_issue(app, ISSUE))
        dead = owners.Owner(app.locks)
        with app.store.write() as session:
            k = outbox.lease(session, app_issue(app), dead.id, FRIDAY)
            anna, _ = outbox.load(session, app_issue(app), k)
            intent = attempts.Begin(
                anna, k, anna.edition_id, ("rl-agents",), FRIDAY - HOUR, "<old@example.org>", "Old", app.signer.key_id
            )
            assert attempts.begin(session, app_issue(app), "weekly", dead.id, [intent])[0].go
        assert counts(app.status(ISSUE)) == {"sending": 1, "queued": 1}
        os.close(dead._file)  # as the operating system does, and the file stays
        assert app.status(ISSUE).in_doubt == ["anna@example.org"]
        assert app.send(ISSUE).state == "sent"
        assert list(app.locks.iterdir()) == []
    letter, other = post.server.taken
    assert (letter.rcpt, other.rcpt) == ("anna@example.org", "ben@example.org")
    assert letter.header("Message-ID") == "<old@example.org>"
    assert letter.header("To") == "Old <anna@example.org>"
    assert letter.header("Date") == "Fri, 11 Sep 2026 08:00:00 +0100"


def app_issue(app) -> int:
    with app.store.read() as session:
        return session.exec(select(tables.Issue.id)).one()


# -- people change their minds -------------------------------------------------------------------------------------


def test_who_leaves_during_a_send_gets_nothing(post):
    post.smtp(connections=1)
    post.approved("a", "b", "c")
    left = sa.update(outbox.S).where(outbox.S.c.email == "c@example.org").values(state="unsubscribed")
    post.server.on_data = once(lambda: post.change(left))
    report = post.send()

    assert (report.state, counts(report)) == ("sent", {"sent": 2, "skipped": 1})
    assert post.copies() == {"a": 1, "b": 1}


def test_who_drops_a_topic_during_a_send_gets_what_is_left(post):
    post.smtp(connections=1)
    post.approved("a", "b", topics=("rl-agents", "robots"))
    b = sa.select(outbox.S.c.id).where(outbox.S.c.email == "b@example.org").scalar_subquery()
    dropped = sa.update(outbox.SUB).where(outbox.SUB.c.topic == "robots", outbox.SUB.c.subscriber_id == b)
    post.server.on_data = once(lambda: post.change(dropped.values(until=FRIDAY)))

    assert post.send().state == "sent"
    a, b = sorted(post.server.taken, key=lambda each: each.rcpt)
    assert b"A robot" in a.octets and b"A robot" not in b.octets
    assert b"A paper" in b.octets


def test_an_edition_that_is_first_needed_now_is_checked_before_it_goes(post):
    post.smtp(connections=1)
    (post.bench.folder / "templates/issue.txt").write_text(
        '{% extends "default:issue.txt" %}{% block footer %}'
        "{% if issue.sections | length > 1 %}{{ super() }}{% endif %}{% endblock %}"
    )
    post.approved("a", "b", topics=("rl-agents", "robots"))
    dropped = sa.update(outbox.SUB).where(outbox.SUB.c.topic == "robots").values(until=FRIDAY)
    post.server.on_data = once(lambda: post.change(dropped))
    report = post.send()

    assert (report.state, counts(report)) == ("held", {"sent": 1, "queued": 1})
    assert "unsubscribe" in report.reason


# -- stopping ------------------------------------------------------------------------------------------------------


def test_the_first_signal_drains(post):
    post.smtp(connections=3)
    post.approved(*(f"p{i}" for i in range(30)))
    post.server.on_data = once(lambda: os.kill(os.getpid(), signal.SIGTERM))
    report = post.send()

    assert report.stopped
    assert counts(report) == {"sent": len(post.server.taken), "queued": 30 - len(post.server.taken)}
    assert report.counts["queued"]
    assert post.send().state == "sent"
    assert post.copies() == {f"p{i}": 1 for i in range(30)}


def test_the_second_signal_stops_and_lists_who_is_in_doubt(post):
    post.smtp(connections=2)
    post.approved("a", "b", "c", "d")
    post.server.held = {"a@example.org"}

    def stop() -> None:
        post.server.waiting.wait(10)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=stop)
    thread.start()
    report = post.send()
    thread.join()
    post.server.let_go()

    assert report.trouble and not report.complete
    assert "a@example.org" in report.in_doubt
    assert report.counts["sending"] == 0 and report.audience == 4
    assert post.status().counts == report.counts
    assert post.send(FRIDAY + HOUR).state == "sent"
    assert set(post.copies()) == {"a", "b", "c", "d"}


def test_a_hold_stops_a_send_that_is_under_way(post):
    post.smtp(connections=1)
    post.approved("a", "b", "c")

    def hold() -> None:
        with post.app() as app:
            app.hold(ISSUE, "a wrong number")

    post.server.on_data = once(hold)
    report = post.send()

    assert (report.state, report.reason) == ("held", "a wrong number")
    assert counts(report) == {"sent": 1, "queued": 2}
    with post.app() as app:
        app.release(ISSUE)
    assert post.send().state == "sent"
    assert post.copies() == {"a": 1, "b": 1, "c": 1}


def test_two_sends_at_once_share_the_work_and_both_end_when_it_is_done(post, monkeypatch):
    monkeypatch.setattr(sending, "OTHERS_SECONDS", 0.02)
    post.smtp(connections=2)
    post.approved(*(f"p{i}" for i in range(20)))

    async def both(first, second):
        stop = asyncio.Event()
        work = (
            sending._work(app, editing.open_issue(app, ISSUE), stop, wait=False, progress=None)
            for app in (first, second)
        )
        return await asyncio.gather(*work)

    with post.app() as first, post.app() as second:
        reports = asyncio.run(both(first, second))

    assert [report.state for report in reports] == ["sent", "sent"]
    assert post.copies() == {f"p{i}": 1 for i in range(20)}


def test_a_send_takes_over_what_another_one_leaves(post, monkeypatch):
    monkeypatch.setattr(sending, "OTHERS_SECONDS", 0.02)
    post.approved("anna")
    with post.app() as app:
        sending.plan(app, editing.open_issue(app, ISSUE))
        other = owners.Owner(app.locks)
        with app.store.write() as session:
            outbox.lease(session, app_issue(app), other.id, FRIDAY)

        async def work():
            stop = asyncio.Event()
            task = asyncio.create_task(
                sending._work(app, editing.open_issue(app, ISSUE), stop, wait=False, progress=None)
            )
            done, _ = await asyncio.wait([task], timeout=0.3)
            assert not done
            os.close(other._file)
            return await task

        assert asyncio.run(work()).state == "sent"


def test_waiting_for_another_one_ends_when_asked(post, monkeypatch):
    monkeypatch.setattr(sending, "OTHERS_SECONDS", 0.02)
    post.approved("anna")
    with post.app() as app:
        sending.plan(app, editing.open_issue(app, ISSUE))
        other = owners.Owner(app.locks)
        with app.store.write() as session:
            outbox.lease(session, app_issue(app), other.id, FRIDAY)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        report = app.send(ISSUE)
        timer.join()
        other.release()

    assert report.stopped and counts(report) == {"queued": 1}


@pytest.mark.slow
def test_killed_again_and_again_nobody_is_lost_and_only_those_in_doubt_get_it_twice(post):
    post.smtp(connections=4)
    names = [f"p{i}" for i in range(120)]
    post.approved(*names)
    command = [sys.executable, "-m", "newsletter", "-C", str(post.bench.folder), "--now", FRIDAY.isoformat()]
    doubts: collections.Counter[str] = collections.Counter()
    for number in range(8):
        enough = threading.Event()
        left = [5 + 3 * number]

        def count(rcpt, left=left, enough=enough):
            left[0] -= 1
            if left[0] <= 0:
                enough.set()

        post.server.on_data = count
        with subprocess.Popen([*command, "send", ISSUE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            assert enough.wait(60)
            run.kill()
        found = post.status()
        assert found.audience == 120 and len(found.in_doubt) == found.counts["in_doubt"] <= 4
        doubts.update(email.partition("@")[0] for email in found.in_doubt)
    post.server.on_data = None
    assert post.send().state == "sent"
    copies = collections.defaultdict(list)
    for each in post.server.taken:
        copies[each.rcpt.partition("@")[0]].append(each)
    assert set(copies) == set(names)
    assert all(len(each) <= 1 + doubts[name] for name, each in copies.items())
    assert all(len({letter.octets for letter in each}) == 1 for each in copies.values())
    assert post.server.objections == []


# -- the ledger ----------------------------------------------------------------------------------------------------


def test_cancelled_before_the_body_nobody_is_in_doubt(post):
    """The commit of `sending` is done or under way, and not one octet of the body has left."""
    post.smtp(connections=1)
    post.approved("a", "b")
    reached, go = threading.Event(), threading.Event()

    def wait(rcpt: str) -> None:
        reached.set()
        go.wait(10)

    post.server.on_data = wait

    def stop() -> None:
        reached.wait(10)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=stop)
    thread.start()
    report = post.send()
    thread.join()
    go.set()

    assert counts(report) == {"queued": 2}
    post.server.on_data = None
    assert post.send().state == "sent"
    assert post.copies() == {"a": 1, "b": 1}


def test_one_record_that_cannot_be_written_does_not_take_the_others_with_it(post):
    post.approved("a")

    async def work(app):
        book = ledger.Ledger(app.store, app_issue(app), "weekly", "me")

        def broken(session):
            raise ZeroDivisionError

        def rename(session):
            session.execute(sa.update(outbox.S).values(name="kept"))

        answers = await asyncio.gather(book.call(rename), book.call(broken), return_exceptions=True)
        await book.close()
        return answers

    with post.app() as app:
        answers = asyncio.run(work(app))
        with app.store.read() as session:
            assert session.exec(select(tables.Subscriber.name)).one() == "kept"
    assert answers[0] is None and isinstance(answers[1], ZeroDivisionError)


def test_a_fault_of_ours_in_one_message_lets_the_others_be_finished(post, monkeypatch):
    post.smtp(connections=3)
    post.approved(*(f"p{i}" for i in range(12)))
    build = deliver.message.build

    def broken(encoded, recipient, **more):
        if recipient.email.startswith("p5@"):
            raise ZeroDivisionError
        return build(encoded, recipient, **more)

    monkeypatch.setattr(deliver.message, "build", broken)
    with pytest.raises(ZeroDivisionError):
        post.send()
    report = post.status()
    assert counts(report) == {"sent": len(post.server.taken), "queued": 12 - len(post.server.taken)}
    monkeypatch.undo()
    assert post.send().state == "sent"
    assert set(post.copies().values()) == {1}


# -- the decision --------------------------------------------------------------------------------------------------


def row_with(**changes) -> outbox.Row:
    values = {
        "id": 1, "subscriber_id": 1, "edition_id": 1, "state": "queued", "attempts": 0, "first_at": None,
        "sending_at": None, "message_id": None, "rcpt_name": None, "token_key": None, "email": "a@example.org",
        "name": "", "token_version": 0,
    }  # fmt: skip
    return outbox.Row(**values | changes)


MINUTE = dt.timedelta(minutes=1)


@pytest.mark.parametrize(
    ("row", "verdict", "resend", "state", "delay"),
    [
        ({}, Verdict.SENT, True, "sent", None),
        ({}, Verdict.NEVER, True, "failed", None),
        ({}, Verdict.POLICY, True, "failed", None),
        ({}, Verdict.LATER, True, "deferred", MINUTE),
        ({"attempts": 3}, Verdict.LATER, True, "deferred", 8 * MINUTE),
        ({"attempts": 30, "first_at": FRIDAY}, Verdict.LATER, True, "deferred", 4 * HOUR),
        ({"attempts": 9, "first_at": FRIDAY - 47 * HOUR}, Verdict.LATER, True, "failed", None),
        ({"attempts": 9, "first_at": FRIDAY - 47 * HOUR}, Verdict.SERVER, True, "failed", None),
        ({}, Verdict.SERVER, True, "deferred", MINUTE),
        ({}, Verdict.DOUBT, True, "in_doubt", MINUTE),
        ({}, Verdict.DOUBT, False, "in_doubt", None),
        ({"attempts": 4}, Verdict.DOUBT, True, "in_doubt", 16 * MINUTE),
        ({"state": "in_doubt", "attempts": 1}, Verdict.DOUBT, True, "in_doubt", 2 * MINUTE),
        ({"state": "in_doubt", "attempts": 2}, Verdict.DOUBT, True, "in_doubt", None),
        ({"state": "in_doubt", "attempts": 1}, Verdict.LATER, False, "in_doubt", 2 * MINUTE),
        ({"state": "in_doubt", "attempts": 1}, Verdict.NEVER, True, "failed", None),
        ({"state": "in_doubt", "first_at": FRIDAY - 48 * HOUR}, Verdict.LATER, True, "failed", None),
    ],
)  # fmt: skip
def test_what_an_outcome_makes_of_a_delivery(row, verdict, resend, state, delay):
    outcome = types.Outcome(verdict, "rcpt")
    found = deliver.decide(row_with(**row), outcome, FRIDAY, max_age=48 * HOUR, resend=resend)

    assert found == (DeliveryState(state), None if delay is None else FRIDAY + delay)
