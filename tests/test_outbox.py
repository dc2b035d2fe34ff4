"""The ledger: who is to get an issue is planned once, and every step from there proves that it may be taken."""

from __future__ import annotations

import datetime as dt
import threading

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlmodel import select

from newsletter import errors, store, types
from newsletter.store import attempts, outbox, owners, tables
from newsletter.types import DeliveryState, Verdict

NOW = dt.datetime(2026, 9, 11, 8, 0, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)
TOPICS = ("rl", "robots")
SETS = (("rl",), ("robots",), ("rl", "robots"))
SENT = types.Outcome(Verdict.SENT, "body", 250, "2.0.0", "ok")
LATER = types.Outcome(Verdict.LATER, "rcpt", 451, "4.7.1", "later")
NOBODY = types.Outcome(Verdict.NEVER, "rcpt", 550, "5.1.1", "no such user")


class Ledger:
    """A database with one approved issue of two topics, and short words for what tests do with it."""

    def __init__(self, folder) -> None:
        self.store = store.Store(store._engine(f"sqlite:///{folder}/newsletter.db"))
        tables.metadata.create_all(self.store.engine)
        with self.store.write() as session:
            session.add(tables.Issue(id=1, newsletter="weekly", period="2026-09-11", state="sending", cutoff_at=NOW, created_at=NOW))  # fmt: skip
            session.flush()
            for number, topics in enumerate(SETS, 1):
                session.add(tables.Edition(id=number, issue_id=1, topics=",".join(topics), subject="", html="", text="", hash=""))  # fmt: skip

    def people(self, *names: str, topics=("rl",), state="active") -> None:
        with self.store.write() as session:
            for name in names:
                email = f"{name}@example.org"
                person = tables.Subscriber(
                    email=email, email_norm=email, name=name, state=state, created_at=NOW, changed_at=NOW
                )
                session.add(person)
                session.flush()
                for topic in topics:
                    session.add(
                        tables.Subscription(
                            subscriber_id=person.id, newsletter="weekly", topic=topic, since=NOW, how="test"
                        )
                    )

    def plan(self, size=500) -> int:
        with self.store.write() as session:
            editions = {topics: number for number, topics in enumerate(SETS, 1)}
            return outbox.plan(session, 1, "weekly", TOPICS, editions, now=NOW, size=size)

    def change(self, statement) -> None:
        with self.store.write() as session:
            session.execute(statement)

    def lease(self, owner="me", now=NOW):
        """(batch, rows), or None."""
        with self.store.write() as session:
            k = outbox.lease(session, 1, owner, now)
            return None if k is None else (k, outbox.load(session, 1, k))

    def begin(self, k, *rows, owner="me"):
        with self.store.write() as session:
            return attempts.begin(session, 1, "weekly", owner, [intent(k, row) for row in rows])

    def finish(self, k, row, state, outcome, *, began=True, next_at=None, bounced=False):
        with self.store.write() as session:
            attempts.finish(
                session, [attempts.Finish(row, k, DeliveryState(state), outcome, NOW, next_at, bounced, "<m@x>", began)]
            )

    def reclaim(self, *dead, resend=True):
        with self.store.write() as session:
            return outbox.reclaim(session, 1, lambda owner: owner in dead, resend=resend, now=NOW)

    def deal(self, now=NOW, size=500) -> int:
        with self.store.write() as session:
            return outbox.deal(session, 1, now, size=size)

    def standing(self, *dead):
        with self.store.read() as session:
            return outbox.standing(session, 1, lambda owner: owner in dead)

    def counts(self, *dead):
        return {state: count for state, count in self.standing(*dead).counts.items() if count}

    def rows(self):
        """Name -> (edition, batch, state)."""
        with self.store.read() as session:
            found = session.exec(
                select(tables.Subscriber.name, tables.Delivery).join(
                    tables.Delivery, tables.Delivery.subscriber_id == tables.Subscriber.id
                )
            ).all()
        return {name: (row.edition_id, row.batch, row.state) for name, row in found}


def intent(k, row):
    topics = SETS[row.edition_id - 1]
    return attempts.Begin(row, k, row.edition_id, topics, NOW, "<m@x>", row.name, 1)


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path)
    yield made
    made.store.close()


# -- the plan ------------------------------------------------------------------------------------------------------


def test_the_plan_deals_everybody_into_batches_by_edition(ledger):
    ledger.people("a", "b", topics=("robots",))
    ledger.people("c", "d", "e", topics=("rl",))
    ledger.people("f", topics=("robots", "rl"))

    assert ledger.plan(size=2) == 6
    assert ledger.rows() == {
        "c": (1, 1, "queued"), "d": (1, 1, "queued"), "e": (1, 2, "queued"),
        "a": (2, 2, "queued"), "b": (2, 3, "queued"), "f": (3, 3, "queued"),
    }  # fmt: skip


def test_only_active_people_with_a_topic_of_the_issue_are_in_the_audience(ledger):
    ledger.people("yes")
    for state in types.SubscriberState:
        if state != "active":
            ledger.people(state.value, state=state.value)
    ledger.people("elsewhere", topics=("city",))
    ledger.people("gone", "suppressed", "suppressed-here", "suppressed-elsewhere")
    ledger.change(sa.update(outbox.SUB).where(outbox.SUB.c.subscriber_id == _id("gone")).values(until=NOW))
    for name, newsletter in (("suppressed", ""), ("suppressed-here", "weekly"), ("suppressed-elsewhere", "monthly")):
        ledger.change(
            sa.insert(outbox.SUP).values(address=f"{name}@example.org", newsletter=newsletter, reason="x", since=NOW)
        )

    with ledger.store.read() as session:
        assert outbox.audience(session, "weekly", TOPICS, NOW) == {("rl",): 2}
    ledger.plan()
    assert set(ledger.rows()) == {"yes", "suppressed-elsewhere"}


def test_who_comes_after_the_plan_is_not_in_it_and_nobody_is_planned_twice(ledger):
    ledger.people("a")
    ledger.plan()
    ledger.people("b")

    assert set(ledger.rows()) == {"a"}
    with pytest.raises(sa.exc.IntegrityError):
        ledger.plan()
    assert set(ledger.rows()) == {"a"}


def test_a_plan_that_lacks_an_edition_plans_nobody(ledger):
    ledger.people("a", topics=("rl",))
    with pytest.raises(sa.exc.IntegrityError), ledger.store.write() as session:
        outbox.plan(session, 1, "weekly", TOPICS, {("robots",): 2}, now=NOW)
    assert ledger.rows() == {}


# -- leases --------------------------------------------------------------------------------------------------------


def test_two_owners_never_have_one_batch(ledger):
    ledger.people(*(f"p{i}" for i in range(40)))
    ledger.plan(size=2)
    got = {"a": [], "b": []}

    def take(owner):
        while (found := ledger.lease(owner)) is not None:
            got[owner].append(found[0])

    threads = [threading.Thread(target=take, args=(owner,)) for owner in got]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got["a"] + got["b"]) == list(range(1, 21))


def test_a_held_issue_is_neither_leased_nor_begun(ledger):
    ledger.people("a", "b")
    ledger.plan(size=1)
    k, (row,) = ledger.lease()
    ledger.change(sa.update(outbox.ISSUE).values(state="held"))

    assert ledger.lease() is None
    assert ledger.begin(k, row) == [attempts.Begun(go=False, lost=True)]
    assert ledger.counts() == {"queued": 2}


def test_a_batch_that_is_somebody_elses_is_not_begun(ledger):
    ledger.people("a")
    ledger.plan()
    k, (row,) = ledger.lease("other")

    assert ledger.begin(k, row, owner="me") == [attempts.Begun(go=False, lost=True)]
    assert ledger.counts() == {"queued": 1}


def test_a_row_that_is_not_as_it_was_is_left_alone(ledger):
    ledger.people("a", "b")
    ledger.plan()
    k, (a, b) = ledger.lease()
    ledger.begin(k, a)
    ledger.change(sa.update(outbox.D).where(outbox.D.c.id == b.id).values(batch=None))

    assert ledger.begin(k, a, b) == [attempts.Begun(go=False, moved=True)] * 2
    assert ledger.counts() == {"sending": 1, "queued": 1}


# -- people change their minds -------------------------------------------------------------------------------------


def _id(name):
    return sa.select(outbox.S.c.id).where(outbox.S.c.name == name).scalar_subquery()


LEAVING = {
    "unsubscribed": lambda: sa.update(outbox.S).values(state="unsubscribed"),
    "complained": lambda: sa.update(outbox.S).values(state="complained"),
    "paused": lambda: sa.update(outbox.S).values(paused_until=NOW + dt.timedelta(days=8)),
    "topic ended": lambda: sa.update(outbox.SUB).values(until=NOW),
    "suppressed": lambda: sa.insert(outbox.SUP).values(
        address="a@example.org", newsletter="", reason="asked", since=NOW
    ),
    "suppressed here": lambda: sa.insert(outbox.SUP).values(
        address="a@example.org", newsletter="weekly", reason="asked", since=NOW
    ),
}


@pytest.mark.parametrize("how", LEAVING)
def test_who_left_after_the_plan_is_skipped(ledger, how):
    ledger.people("a")
    ledger.plan()
    k, (row,) = ledger.lease()
    ledger.change(LEAVING[how]())

    assert ledger.begin(k, row) == [attempts.Begun(go=False)]
    assert ledger.counts() == {"skipped": 1}
    with ledger.store.read() as session:
        (view,) = outbox.listing(session, 1, lambda _: True, None)
    assert view.reason == "left, paused or was suppressed after the plan"


def test_who_dropped_a_topic_gets_the_rest(ledger):
    ledger.people("a", topics=TOPICS)
    ledger.plan()
    k, (row,) = ledger.lease()
    ledger.change(sa.update(outbox.SUB).where(outbox.SUB.c.topic == "rl").values(until=NOW))

    assert ledger.begin(k, row) == [attempts.Begun(go=False, topics=("robots",))]
    assert ledger.counts() == {"queued": 1}


def test_who_is_in_doubt_gets_the_same_again_although_a_topic_was_dropped(ledger):
    ledger.people("a", topics=TOPICS)
    ledger.plan()
    k, rows = ledger.lease()
    ledger.begin(k, *rows)
    ledger.reclaim("me")
    ledger.deal()
    ledger.change(sa.update(outbox.SUB).where(outbox.SUB.c.topic == "rl").values(until=NOW))
    k, (row,) = ledger.lease()

    assert row.in_doubt and (row.sending_at, row.rcpt_name, row.message_id) == (NOW, "a", "<m@x>")
    assert ledger.begin(k, row) == [attempts.Begun(go=True)]


# -- death ---------------------------------------------------------------------------------------------------------


def test_what_a_dead_owner_was_sending_is_in_doubt_before_anyone_resumes(ledger):
    ledger.people("a", "b")
    ledger.plan()
    k, (a, _) = ledger.lease()
    ledger.begin(k, a)

    assert ledger.counts() == {"sending": 1, "queued": 1}
    assert ledger.counts("me") == {"in_doubt": 1, "queued": 1}
    assert ledger.standing("me").in_doubt == ["a@example.org"]


def test_a_resume_takes_those_in_doubt_first(ledger):
    ledger.people("a", "b", "c", "d", "e", "f")
    ledger.plan(size=2)
    k, (e, f) = ledger.lease("dead")
    ledger.begin(k, e, owner="dead")
    ledger.finish(k, f, "deferred", LATER, began=False, next_at=NOW)

    assert ledger.reclaim("dead") == ["dead"]
    assert ledger.deal(size=1) == 2
    order = []
    while (found := ledger.lease()) is not None:
        order.append("".join(row.name for row in found[1]))
    assert order[:2] == ["e", "f"]
    assert sorted(order[2:]) == ["", "ab", "cd"]
    assert ledger.counts() == {"in_doubt": 1, "queued": 5}


def test_with_hold_those_in_doubt_wait_for_a_person(ledger):
    ledger.people("a")
    ledger.plan()
    k, (row,) = ledger.lease()
    ledger.begin(k, row)
    ledger.reclaim("me", resend=False)

    assert ledger.deal(NOW + 1000 * MINUTE) == 0
    with ledger.store.write() as session:
        assert outbox.next_due(session, 1) is None
        assert outbox.retry(session, 1, DeliveryState.IN_DOUBT, NOW) == 1
    assert ledger.deal() == 1
    assert ledger.counts() == {"in_doubt": 1}


def test_the_living_keep_what_they_have(ledger):
    ledger.people("a", "b")
    ledger.plan(size=1)
    k, (row,) = ledger.lease("alive")
    ledger.begin(k, row, owner="alive")

    assert ledger.reclaim("dead") == []
    assert ledger.counts() == {"sending": 1, "queued": 1}


def test_what_nobody_is_sending_is_in_doubt_too(ledger):
    ledger.people("a")
    ledger.plan()
    k, (row,) = ledger.lease()
    ledger.begin(k, row)
    ledger.change(sa.update(outbox.B).values(lease_owner=None))
    ledger.reclaim()

    assert ledger.counts() == {"in_doubt": 1}
    assert ledger.deal() == 1


def test_a_begin_that_is_taken_back_leaves_no_trace(ledger):
    ledger.people("a")
    ledger.plan()
    k, (row,) = ledger.lease()
    ledger.begin(k, row)
    with ledger.store.write() as session:
        attempts.undo(session, intent(k, row))

    with ledger.store.read() as session:
        assert outbox.load(session, 1, k) == [row]


# -- the end of an attempt -----------------------------------------------------------------------------------------


def test_deferred_rows_are_dealt_again_when_they_are_due_and_not_before(ledger):
    ledger.people("a")
    ledger.plan()
    k, (row,) = ledger.lease()
    ledger.finish(k, row, "deferred", LATER, began=False, next_at=NOW + MINUTE)

    assert ledger.deal(NOW + MINUTE / 2) == 0
    with ledger.store.read() as session:
        assert outbox.next_due(session, 1) == NOW + MINUTE
    assert ledger.deal(NOW + MINUTE) == 1
    assert ledger.deal(NOW + MINUTE) == 0
    (again,) = ledger.lease()[1]
    assert (again.attempts, again.first_at, again.state) == (1, NOW, "queued")


def test_a_record_of_a_row_that_somebody_else_has_changes_nothing(ledger):
    ledger.people("a")
    ledger.plan()
    k, (row,) = ledger.lease()
    ledger.begin(k, row)
    ledger.reclaim("me")
    ledger.finish(k, row, "sent", SENT)

    assert ledger.counts() == {"in_doubt": 1}


def test_a_bounce_suppresses_once_also_when_it_comes_again(ledger):
    ledger.people("a", "b")
    ledger.plan()
    for _ in range(2):
        k, rows = ledger.lease()
        a = next(row for row in rows if row.name == "a")
        ledger.finish(k, a, "failed", NOBODY, began=False, bounced=True)
        with ledger.store.write() as session:
            assert session.exec(select(tables.Subscriber.state).where(tables.Subscriber.name == "a")).one() == "bounced"
            assert session.exec(select(tables.Suppression.address)).all() == ["a@example.org"]
            assert session.exec(select(tables.Feedback)).all()
            session.execute(sa.update(outbox.S).values(state="active"))  # a person brought them back
            session.execute(sa.delete(outbox.SUP))
            outbox.retry(session, 1, DeliveryState.FAILED, NOW)
            session.execute(sa.update(outbox.B).values(lease_owner=None, state="open"))
            outbox.deal(session, 1, NOW)
    assert ledger.counts() == {"queued": 2}


def test_a_bounce_in_an_issue_that_was_cancelled_meanwhile_is_no_fault(ledger):
    ledger.people("a")
    ledger.plan()
    k, (row,) = ledger.lease()
    with ledger.store.write() as session:
        outbox.forget(session, 1)
    ledger.finish(k, row, "failed", NOBODY, began=False, bounced=True)

    assert ledger.counts() == {}


@pytest.mark.parametrize("state", ["unsubscribed", "complained", "erased"])
def test_a_bounce_does_not_undo_what_a_person_said_meanwhile(ledger, state):
    ledger.people("a")
    ledger.plan()
    k, (row,) = ledger.lease()
    ledger.change(sa.update(outbox.S).values(state=state))
    ledger.finish(k, row, "failed", NOBODY, began=False, bounced=True)

    with ledger.store.read() as session:
        assert session.exec(select(tables.Subscriber.state)).one() == state
        assert session.exec(select(tables.Suppression)).all() == []


def test_retry_leaves_alone_what_a_living_sender_has_in_its_hands(ledger):
    ledger.people("a")
    ledger.plan()
    k, (row,) = ledger.lease()
    ledger.begin(k, row)
    ledger.reclaim("me")
    ledger.deal()
    ledger.lease("alive")

    with ledger.store.write() as session:
        assert outbox.retry(session, 1, DeliveryState.IN_DOUBT, NOW) == 0


STEPS = st.lists(
    st.tuples(st.sampled_from(["lease", "begin", "sent", "later", "die", "deal", "done", "skip"]), st.integers(0, 5)),
    max_size=40,
)


@given(STEPS)
@settings(max_examples=12, deadline=None)
def test_whatever_happens_nobody_is_lost_and_nobody_is_sent_twice(tmp_path_factory, steps):
    ledger = Ledger(tmp_path_factory.mktemp("ledger"))
    ledger.people(*"abcdef")
    ledger.plan(size=2)
    mine: list = []
    sending: list = []
    sent: list = []
    for what, i in steps:
        if what == "lease" and (found := ledger.lease()) is not None:
            mine += [(found[0], row) for row in found[1]]
        elif what == "begin" and mine:
            k, row = mine.pop(i % len(mine))
            if ledger.begin(k, row)[0].go:
                sending.append((k, row))
        elif what in ("sent", "later") and sending:
            k, row = sending.pop(i % len(sending))
            if what == "sent":
                ledger.finish(k, row, "sent", SENT)
                sent.append(row.name)
            else:
                ledger.finish(k, row, "deferred", LATER, next_at=NOW)
        elif what == "die":
            mine, sending = [], []
            ledger.reclaim("me")
        elif what == "deal":
            ledger.deal()
        elif what == "done":
            with ledger.store.write() as session:
                outbox.close_done(session, 1, "me")
        elif what == "skip" and mine:
            ledger.change(sa.update(outbox.S).where(outbox.S.c.id == mine[i % len(mine)][1].subscriber_id).values(state="unsubscribed"))  # fmt: skip
        assert ledger.standing().audience == 6
    ledger.reclaim("me")
    ledger.deal()
    while (found := ledger.lease()) is not None:
        for row in found[1]:
            if ledger.begin(found[0], row)[0].go:
                ledger.finish(found[0], row, "sent", SENT)
                sent.append(row.name)
    assert len(sent) == len(set(sent))
    assert ledger.standing().finished
    assert set(ledger.counts()) <= {"sent", "skipped"}
    assert ledger.counts().get("sent", 0) == len(sent)
    ledger.store.close()


# -- owners --------------------------------------------------------------------------------------------------------


def test_an_owner_is_alive_until_it_lets_go(tmp_path):
    owner = owners.Owner(tmp_path / "locks")

    assert not owners.is_dead(tmp_path / "locks", owner.id)
    owner.release()
    assert owners.is_dead(tmp_path / "locks", owner.id)
    assert list((tmp_path / "locks").iterdir()) == []


def test_who_looks_at_the_same_time_does_not_see_the_other_one_looking(tmp_path):
    """Else a `status` at the wrong moment would keep a `send` from resuming."""
    (tmp_path / "dead.lock").touch()
    seen: list[bool] = []

    def look():
        seen.extend(owners.is_dead(tmp_path, "dead") for _ in range(300))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(seen)


def test_an_owner_that_cannot_be_asked_is_not_taken_for_dead(tmp_path):
    (tmp_path / "loop.lock").symlink_to("loop.lock")
    with pytest.raises(errors.StoreError):
        owners.is_dead(tmp_path, "loop")


def test_a_database_has_one_place_for_locks_however_it_is_called(tmp_path):
    (tmp_path / "real.db").touch()
    (tmp_path / "link.db").symlink_to("real.db")

    assert owners.folder_of(tmp_path / "link.db") == owners.folder_of(tmp_path / "real.db")
