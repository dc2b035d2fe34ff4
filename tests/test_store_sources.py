"""What is kept of each source and each host."""

import datetime as dt

import pytest
import sqlalchemy as sa
from sqlmodel import Session

from newsletter import store, types
from newsletter.store import sources, tables

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(days=1)
HOUR = dt.timedelta(hours=1)
A, B = "https://feeds.test/a.xml", "https://feeds.test/b.xml"
PAIR = types.Validators('"1"', "Wed, 09 Sep 2026 10:00:00 GMT")


@pytest.fixture
def session(tmp_path):
    opened = store.connect(f"sqlite:///{tmp_path}/test.db")
    with Session(opened.engine) as session:
        yield session
    opened.close()


def good(status="new", **more):
    return types.Collected(A, status, **{"validators": PAIR, "whole": status == "new", "hash": "1:a", **more})


def failed(**more):
    return types.Collected(A, "failed", **{"error": "it broke", **more})


def test_a_visit_that_went_well_is_written_down(session):
    sources.record(session, good(title="A feed", note="x"), NOW, places=[("weekly", "rl")])
    session.commit()
    session.expire_all()
    row = sources.known(session, [A, B])[A]
    assert (row.etag, row.last_modified, row.title, row.note) == (PAIR.etag, PAIR.last_modified, "A feed", "x")
    assert (row.last_ok_at, row.last_checked_at, row.next_check_at) == (NOW, NOW, NOW + sources.EVERY)
    assert B not in sources.known(session, [A, B])
    assert not sources.is_due(row, NOW)
    assert sources.is_due(row, NOW + sources.EVERY - dt.timedelta(seconds=30))  # an hourly timer is not exact
    assert sources.is_due(None, NOW)


def test_a_skipped_source_was_not_visited(session):
    assert sources.record(session, types.Collected(A, "skipped"), NOW).last_checked_at is None


# -- when ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wait", "hours"), [(None, 1), (60, 1), (7200, 2), (3 * 86400, 72), (10**6, 8 * 24)])
def test_hints_push_the_next_check(session, wait, hours):
    row = sources.record(session, good(wait=wait), NOW)
    assert row.next_check_at == NOW + hours * HOUR
    assert not sources.asked_to_wait(row, NOW)  # --all asks all the same


def test_failures_back_off_and_a_success_forgets_them(session):
    waits = [(sources.record(session, failed(), NOW).next_check_at - NOW) for _ in range(12)]
    assert waits[:3] == [dt.timedelta(minutes=5), dt.timedelta(minutes=10), dt.timedelta(minutes=20)]
    assert waits[-1] == dt.timedelta(days=1)
    row = sources.known(session, [A])[A]
    assert (row.failures, row.last_error, row.last_ok_at) == (12, "it broke", None)
    assert sources.is_due(row, LATER)
    row = sources.record(session, good("unchanged"), LATER)
    assert (row.failures, row.last_error, row.last_ok_at) == (0, None, LATER)


def test_jitter_spreads_a_wait_and_never_lengthens_it():
    waits = [sources.wait_after(4, jitter=jitter) for jitter in (0.0, 0.5, 1.0)]
    assert waits == [dt.timedelta(minutes=40), dt.timedelta(minutes=35), dt.timedelta(minutes=30)]
    assert sources.wait_after(1, 7200.0, jitter=0.9) == 2 * HOUR


@pytest.mark.parametrize(("code", "first"), [(403, HOUR), (429, HOUR), (404, HOUR / 12), (503, HOUR / 12)])
def test_a_refusal_is_a_sign_to_come_less_often(session, code, first):
    assert sources.record(session, failed(code=code), NOW).next_check_at == NOW + first


def test_retry_after_is_honoured_also_by_all(session):
    row = sources.record(session, failed(retry_after=30 * 86400.0, code=429), NOW)
    assert row.next_check_at == row.wait_until == NOW + dt.timedelta(days=30)
    assert sources.asked_to_wait(row, NOW + dt.timedelta(days=29))
    assert not sources.asked_to_wait(row, NOW + dt.timedelta(days=30))
    row = sources.record(session, failed(retry_after=1.0), NOW)
    assert row.next_check_at == NOW + dt.timedelta(minutes=10)
    row = sources.record(session, failed(), NOW)
    assert not sources.asked_to_wait(row, NOW)
    assert not sources.asked_to_wait(None, NOW)


def test_what_is_gone_is_asked_by_all_alone_and_may_come_back(session):
    row = sources.record(session, failed(code=410), NOW)
    assert (row.gone_at, row.next_check_at) == (NOW, None)
    assert not sources.is_due(row, NOW + dt.timedelta(days=900))
    assert not sources.asked_to_wait(row, NOW)
    row = sources.record(session, failed(code=410), LATER)
    assert row.gone_at == NOW
    row = sources.record(session, good(), LATER)
    assert row.gone_at is None
    assert sources.is_due(row, LATER + HOUR)


def test_404_is_not_death(session):
    row = sources.record(session, failed(code=404), NOW)
    assert row.gone_at is None
    assert sources.is_due(row, LATER)


# -- with what -------------------------------------------------------------------------------------------------------


def test_validators_are_kept_as_a_pair_and_a_failure_keeps_them(session):
    sources.record(session, good(), NOW)
    row = sources.record(session, good(validators=types.Validators('"2"', None)), NOW)
    assert (row.etag, row.last_modified) == ('"2"', None)
    row = sources.record(session, failed(), LATER)
    assert (row.etag, row.body_hash, row.last_ok_at) == ('"2"', "1:a", NOW)


def test_after_many_304s_or_a_day_it_is_asked_unconditionally(session):
    row = sources.record(session, good(), NOW)
    for _ in range(sources.MOST_UNCHANGED):
        assert sources.validators(row, NOW) == PAIR
        sources.record(session, good("unchanged"), NOW)
    assert sources.validators(row, NOW) == types.Validators()
    sources.record(session, good("unchanged", whole=True), NOW)  # the same octets
    assert sources.validators(row, NOW + dt.timedelta(hours=22)) == PAIR
    assert sources.validators(row, NOW + dt.timedelta(days=1)) == types.Validators()


def test_validators_that_stay_while_the_content_changes_are_not_believed_until_they_change(session):
    row = sources.record(session, good(), NOW, changed=True)
    assert sources.validators(row, NOW) == PAIR
    sources.record(session, good(hash="1:b"), NOW, changed=False)  # other octets, no other entries: a clock in it
    assert sources.validators(row, NOW) == PAIR
    sources.record(session, good(hash="1:c"), NOW, changed=True)
    assert sources.validators(row, NOW) == types.Validators()
    sources.record(session, good(hash="1:c", status="unchanged", whole=True), NOW)
    assert sources.validators(row, NOW) == types.Validators()
    new = types.Validators('"2"')
    sources.record(session, good(hash="1:d", validators=new), NOW, changed=True)
    assert sources.validators(row, NOW) == new


def test_a_source_shows_everything_again_when_a_topic_was_added(session):
    row = sources.record(session, good(), NOW, places=[("weekly", "rl"), ("daily", "rl")])
    assert sources.has_fed(row, [("weekly", "rl")])
    assert not sources.has_fed(row, [("weekly", "rl"), ("weekly", "robots")])
    sources.record(session, good("unchanged"), NOW, places=[("weekly", "rl")])
    assert not sources.has_fed(row, [("daily", "rl")])  # it may have missed something there
    sources.record(session, failed(), NOW, places=[("daily", "rl")])
    assert sources.has_fed(row, [("weekly", "rl")])
    assert not sources.has_fed(tables.SourceState(url=B), [])


def test_pauses_are_kept(session):
    found = types.Pauses(60, (0, 1), (5, 6))
    sources.record(session, good(pauses=found), NOW)
    session.commit()
    session.expire_all()
    assert sources.pauses(sources.known(session, [A])[A]) == found
    sources.record(session, failed(), NOW)
    assert sources.pauses(sources.known(session, [A])[A]) == found
    assert sources.pauses(tables.SourceState(url=B)) == types.Pauses()


# -- where -----------------------------------------------------------------------------------------------------------


def visits(session, *moves):
    """Visits, one an (hour, address that permanent hops led to); where it is asked after each."""
    return [sources.record(session, good(moved_to=to), NOW + hour * HOUR, places=()).moved_to for hour, to in moves]


@pytest.mark.parametrize(
    ("moves", "asked"),
    [
        ([(0, "n"), (1, "n"), (2, "n"), (47, "n"), (48, "n")], [None, None, None, None, "n"]),
        ([(0, "n"), (90, "n"), (91, "n")], [None, None, "n"]),
        ([(0, "n"), (24, None), (48, "n"), (49, "n")], [None] * 4),
        ([(0, "n"), (24, "m"), (48, "n"), (49, "n")], [None] * 4),
        ([(0, "n"), (24, "n"), (48, "n"), (49, "n"), (50, None)], [None, None, "n", "n", None]),
        ([(0, "n"), (24, "n"), (48, "n"), (49, "m"), (73, "m"), (97, "m")], [None, None, "n", "n", "n", "m"]),
    ],
)
def test_a_permanent_redirect_counts_when_it_stays_so(session, moves, asked):
    assert visits(session, *moves) == asked


# -- hosts -----------------------------------------------------------------------------------------------------------


def take(session, owner, now, dead=()):
    return sources.take_turn(session, "arxiv.org", owner, now, dead.__contains__)


def test_a_host_is_one_owners_at_a_time(session):
    assert take(session, "a", 100.0) == 0
    assert take(session, "a", 101.0) == 0
    assert take(session, "b", 102.0) == sources.LOOK_AGAIN
    sources.give_turn(session, "arxiv.org", "a", 103.0, 3.0)
    assert take(session, "b", 104.0) == 2.0
    assert take(session, "b", 106.0) == 0
    sources.give_turn(session, "arxiv.org", "a", 107.0, 50.0)  # not theirs any more
    assert take(session, "b", 108.0) == 0


def test_a_host_of_a_dead_owner_is_free_at_once_and_of_a_silent_one_in_time(session):
    assert take(session, "a", 100.0) == 0
    assert take(session, "b", 100.0, dead=("a",)) == 0
    assert take(session, "c", 100.0 + sources.HOLD - 1) > 0
    assert take(session, "c", 100.0 + sources.HOLD) == 0


# -- from before -----------------------------------------------------------------------------------------------------


def test_sources_and_their_entries_survive_the_migration(tmp_path):
    from alembic import command
    from alembic.config import Config

    opened = store.connect_any(f"sqlite:///{tmp_path}/old.db")
    settings = Config()
    settings.set_main_option("script_location", str(store.MIGRATIONS))
    with opened.engine.execution_options(write=True).connect() as connection:
        settings.attributes["connection"] = connection
        command.upgrade(settings, "0001")
        connection.execute(sa.text(f"insert into source_state (id, url, failures, etag) values (7, '{A}', 2, 'e')"))
        connection.execute(
            sa.text(
                "insert into entry (id, key, ref, authors, categories, summary, published_is_date, first_seen_at)"
                " values (1, 'k', 'r', '[]', '[]', '', 0, '2026-09-01 00:00:00')"
            )
        )
        connection.execute(
            sa.text("insert into entry_source (entry_id, source_id, seen_at) values (1, 7, '2026-09-01 00:00:00')")
        )
        connection.commit()
    store.upgrade(opened)
    with opened.read() as session:
        row = sources.known(session, [A])[A]
        assert (row.id, row.failures, row.etag, row.moving_visits, row.distrusted) == (7, 2, "e", 0, False)
        assert sources.validators(row, NOW) == types.Validators()  # asked whole once, to learn what it feeds
        assert sources.entry_counts(session) == {7: 1}
    opened.close()
