"""Who is on file, and that a no is for ever."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import io
import itertools

import pytest
import sqlmodel
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from newsletter import addresses, errors, subscriberfile, types
from newsletter.store import audience, tables

S = types.SubscriberState
NOW = dt.datetime(2026, 9, 11, 8, 0, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(days=1)
RL = ("weekly", "rl-agents")
ROBOTS = ("weekly", "robots")
CITY = ("monthly", "city")


@contextlib.contextmanager
def database(path=None):
    """A session on a new database, in memory without a path."""
    engine = sqlmodel.create_engine(f"sqlite:///{path}" if path else "sqlite://")
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys=ON"))
    tables.metadata.create_all(engine)
    with sqlmodel.Session(engine) as session:
        yield session
    engine.dispose()


@pytest.fixture
def session(tmp_path):
    with database(tmp_path / "newsletter.db") as opened:
        yield opened


def load(session, text, *, places=(RL,), state=None, now=NOW, dry_run=False):
    rows = subscriberfile.read(text.encode())
    return audience.import_rows(session, rows, places=places, state=state, now=now, how="people.csv", dry_run=dry_run)


def counts(result):
    return result.rows, result.added, result.updated, result.unchanged, result.suppressed, len(result.rejected)


def states(session):
    return {person.email: person.state.value for person in audience.listing(session)}


def topics(session, email):
    return audience.get(session, email).topics


def leave(session, email, **which):
    return audience.unsubscribe(session, audience.get(session, email).id, now=LATER, how="one-click", **which)


def consents(session):
    rows = session.exec(sqlmodel.select(tables.Consent).order_by(tables.Consent.id)).all()
    return [(row.what, row.newsletter, row.topic, row.how) for row in rows]


def exported(session):
    stream = io.StringIO()
    subscriberfile.write(audience.export(session), stream)
    return stream.getvalue()


# -- imports -------------------------------------------------------------------------------------------------------


def test_people_come_in_with_their_names_their_topic_and_a_proof(session):
    result = load(session, 'email,name\ncomma@example.org,"Häagen, Inc."\nplus+tag@example.org,\n', state=S.ACTIVE)
    assert counts(result) == (2, 2, 0, 0, 0, 0)
    first, second = audience.listing(session)
    assert (first.email, first.name, first.state, first.topics) == (
        "comma@example.org",
        "Häagen, Inc.",
        S.ACTIVE,
        ("weekly/rl-agents",),
    )
    assert (first.since, first.suppressed, first.language, second.name) == (NOW, None, None, "")
    assert consents(session) == [("imported", *RL, "people.csv")] * 2


def test_bad_rows_are_counted_and_the_others_go_in(session):
    result = load(session, "email,name\nfoo@,Foo\nanna@example.org,Anna\nbo@example.org,Bo,extra\n")
    assert counts(result) == (3, 1, 0, 0, 0, 2)
    assert [(bad.line, bad.value) for bad in result.rejected] == [(2, "foo@"), (4, "bo@example.org,Bo,extra")]


def test_importing_twice_changes_nobody(session):
    text = "email,name,language\nanna@example.org,Anna,de\nANNA@example.org,,\nbo@example.org,,\n"
    assert counts(load(session, text, state=S.ACTIVE)) == (3, 2, 0, 1, 0, 0)
    before = list(audience.listing(session))
    assert counts(load(session, text, state=S.ACTIVE, now=LATER)) == (3, 0, 0, 3, 0, 0)
    assert list(audience.listing(session)) == before
    assert len(consents(session)) == 2


def test_one_person_in_several_spellings_is_one_row(session):
    load(session, "email\ninfo@bücher.example\nINFO@XN--BCHER-KVA.example\ninfo@BÜCHER.example\n")
    assert [person.email for person in audience.listing(session)] == ["info@bücher.example"]
    assert audience.find(session, "Info <info@xn--bcher-kva.example>")


def test_names_and_languages_are_filled_in_and_updated_but_never_emptied(session):
    load(session, "email,name,language\nanna@example.org,,\n")
    assert load(session, "email,name,language\nanna@example.org,Anna,de\n").updated == 1
    assert load(session, "email,name,language\nanna@example.org,,\n").unchanged == 1
    assert load(session, "email,name\nanna@example.org,Anna Ångström\n").updated == 1
    person = audience.get(session, "anna@example.org")
    assert (person.name, person.language) == ("Anna Ångström", "de")


@pytest.mark.parametrize(
    ("cell", "asked", "state"),
    [
        ("", None, "pending"),
        ("active", None, "active"),
        ("active", S.PENDING, "pending"),
        ("", S.ACTIVE, "active"),
        ("pending", S.ACTIVE, "pending"),
        ("unsubscribed", S.ACTIVE, "unsubscribed"),
        ("bounced", S.ACTIVE, "bounced"),
        ("complained", None, "complained"),
    ],
)
def test_a_new_person_gets_the_state_of_the_file_unless_the_admin_says_more_and_the_file_says_no_less(
    session, cell, asked, state
):
    load(session, f"email,status\nanna@example.org,{cell}\n", state=asked)
    assert states(session) == {"anna@example.org": state}
    assert bool(topics(session, "anna@example.org")) == (state in ("active", "pending"))


def test_who_waits_for_confirmation_is_made_active_only_when_the_admin_says_so(session):
    load(session, "email\nanna@example.org\n")
    assert load(session, "email,status\nanna@example.org,active\n").unchanged == 1
    assert load(session, "email,status\nanna@example.org,pending\n", state=S.ACTIVE).unchanged == 1
    assert states(session) == {"anna@example.org": "pending"}
    assert load(session, "email\nanna@example.org\n", state=S.ACTIVE).updated == 1
    assert states(session) == {"anna@example.org": "active"}
    assert load(session, "email\nanna@example.org\n", state=S.PENDING).unchanged == 1
    assert states(session) == {"anna@example.org": "active"}


@pytest.mark.parametrize("no", ["unsubscribed", "bounced", "complained"])
def test_a_no_of_the_file_is_taken_over(session, no):
    load(session, "email\nanna@example.org\n", state=S.ACTIVE)
    result = load(session, f"email,status\nanna@example.org,{no}\nnew@example.org,{no}\n", state=S.ACTIVE, now=LATER)
    assert counts(result) == (2, 0, 1, 0, 1, 0)  # who is new is noted: added nobody
    assert result.noted == 1
    assert set(states(session).values()) == {no}
    assert topics(session, "anna@example.org") == ()
    expected = None if no == "unsubscribed" else no
    assert audience.is_suppressed(session, "anna@example.org") == expected
    assert audience.is_suppressed(session, "new@example.org") == expected
    assert (no, None, None, "people.csv") in consents(session)
    assert counts(load(session, f"email,status\nanna@example.org,{no}\n")) == (1, 0, 0, 1, 0, 0)


def test_the_firmer_of_two_noes_stays(session):
    load(session, "email,status\nanna@example.org,complained\n")
    assert load(session, "email,status\nanna@example.org,unsubscribed\n").unchanged == 1
    assert states(session) == {"anna@example.org": "complained"}


def test_who_left_stays_gone_whatever_a_file_says(session):
    load(session, "email\nanna@example.org\n", state=S.ACTIVE)
    assert leave(session, "anna@example.org") == ("weekly/rl-agents",)
    for places in ((RL,), (ROBOTS,), (CITY,)):
        result = load(session, "email,name\nAnna@Example.org,Anna\n", places=places, state=S.ACTIVE)
        assert counts(result) == (1, 0, 0, 0, 1, 0)
    person = audience.get(session, "anna@example.org")
    assert (person.state, person.topics, person.name) == (S.UNSUBSCRIBED, (), "")


def test_a_suppressed_address_is_left_out_known_or_not(session):
    load(session, "email\nanna@example.org\n")
    audience.suppress(session, "ANNA@example.org", reason="asked by phone", now=NOW)
    audience.suppress(session, "stranger@bücher.example", reason="asked by phone", now=NOW)
    text = "email,name\nanna@example.org,Anna\nstranger@xn--bcher-kva.example,S\nbo@example.org,Bo\n"
    assert counts(load(session, text, places=(ROBOTS,), state=S.ACTIVE)) == (3, 1, 0, 0, 2, 0)
    assert states(session) == {"anna@example.org": "pending", "bo@example.org": "active"}
    assert topics(session, "anna@example.org") == ("weekly/rl-agents",)


def test_a_topic_that_was_left_is_not_given_again_but_others_are(session):
    load(session, "email\nanna@example.org\n", places=(RL, CITY), state=S.ACTIVE)
    leave(session, "anna@example.org", topics=["city"])
    assert counts(load(session, "email\nanna@example.org\n", places=(CITY,), state=S.ACTIVE))[4] == 1
    assert counts(load(session, "email\nanna@example.org\n", places=(CITY, ROBOTS), state=S.ACTIVE))[2] == 1
    assert topics(session, "anna@example.org") == ("weekly/rl-agents", "weekly/robots")


def test_who_left_a_newsletter_gets_no_other_topic_of_it(session):
    load(session, "email\nanna@example.org\n", places=(RL, CITY), state=S.ACTIVE)
    leave(session, "anna@example.org", newsletter="weekly")
    assert counts(load(session, "email\nanna@example.org\n", places=(ROBOTS,), state=S.ACTIVE))[4] == 1
    assert topics(session, "anna@example.org") == ("monthly/city",)


def test_a_topic_that_the_file_says_was_left_is_ended(session):
    load(session, "email\nanna@example.org\nbo@example.org\n", places=(RL, CITY), state=S.ACTIVE)
    leave(session, "bo@example.org", newsletter="monthly")
    text = "email,topics\nanna@example.org,weekly/robots;monthly/city (left)\nbo@example.org,monthly/city;weekly/rl-agents (left)\n"
    assert counts(load(session, text, places=())) == (2, 0, 1, 0, 1, 0)
    assert topics(session, "anna@example.org") == ("weekly/rl-agents", "weekly/robots")
    assert states(session) == {"anna@example.org": "active", "bo@example.org": "unsubscribed"}


def test_a_suppression_of_one_newsletter_leaves_the_others(session):
    audience.suppress(session, "anna@example.org", newsletter="weekly", reason="asked", now=NOW)
    assert counts(load(session, "email\nanna@example.org\n", places=(RL,)))[4] == 1
    assert load(session, "email\nanna@example.org\n", places=(RL, CITY)).added == 1
    assert topics(session, "anna@example.org") == ("monthly/city",)
    assert audience.is_suppressed(session, "anna@example.org", "weekly") == "asked"
    assert audience.is_suppressed(session, "anna@example.org", "monthly") is None


def test_a_dry_run_foretells_the_numbers_and_changes_nothing(session):
    load(session, "email\nleft@example.org\n")
    leave(session, "left@example.org")
    session.commit()
    before = list(audience.listing(session))
    text = "email\nnew@example.org\nNEW@example.org\nleft@example.org\nbad@\n"
    foretold = load(session, text, dry_run=True)
    assert list(audience.listing(session)) == before
    assert counts(foretold) == counts(load(session, text)) == (4, 1, 0, 1, 1, 1)


def test_rows_beyond_one_chunk_are_merged_too(session):
    text = "email\n" + "".join(f"r{i % 2500}@example.org\n" for i in range(5000))
    assert counts(load(session, text)) == (5000, 2500, 0, 2500, 0, 0)
    assert sum(1 for _ in audience.listing(session)) == 2500


# -- the round trip ------------------------------------------------------------------------------------------------


def test_an_export_makes_the_same_people_elsewhere_and_changes_nobody_at_home(session):
    load(
        session,
        'email,name,language\na@example.org,\'=1+1,de\nb@example.org,"B, b",\n',
        places=(RL, CITY),
        state=S.ACTIVE,
    )
    load(session, "email\nwaits@example.org\n", places=(ROBOTS,))
    load(session, "email,status\ngone@example.org,bounced\n")
    leave(session, "a@example.org", topics=["city"])
    audience.suppress(session, "b@example.org", reason="asked: by phone", now=NOW)
    audience.suppress(session, "waits@example.org", newsletter="weekly", reason="asked", now=NOW)
    audience.suppress(session, "stranger@example.org", reason="never", now=NOW)
    text, before = exported(session), list(audience.listing(session))
    home = load(session, text, places=(), now=LATER)
    assert (home.added, home.updated, home.rejected) == (0, 0, ())
    assert list(audience.listing(session)) == before
    with database() as other:
        moved = load(other, text, places=(), now=LATER)
        assert (moved.added, moved.noted, len(before)) == (3, 2, 4)
        assert list(audience.listing(other)) == before
        assert exported(other) == text
        assert audience.is_suppressed(other, "stranger@example.org") == "never"
        assert load(other, "email\na@example.org\n", places=(CITY,), state=S.ACTIVE).suppressed == 1


def test_export_and_listing_take_one_state_or_one_topic(session):
    load(session, "email,status\na@example.org,active\nb@example.org,pending\n")
    load(session, "email\nc@example.org\n", places=(CITY,))
    audience.suppress(session, "stranger@example.org", reason="never", now=NOW)
    assert [row.address.email for row in audience.export(session, state=S.PENDING)] == [
        "b@example.org",
        "c@example.org",
    ]
    assert [p.email for p in audience.listing(session, topic="city")] == ["c@example.org"]
    assert [p.email for p in audience.listing(session, newsletter="weekly", state=S.ACTIVE)] == ["a@example.org"]


EMAILS = [f"{local}@example.org" for local in ("a", "b", "c")]
PLACES = [RL, ROBOTS, CITY]
ROW = st.builds(
    subscriberfile.Row,
    line=st.just(1),
    address=st.sampled_from(EMAILS).map(addresses.parse),
    name=st.sampled_from(["", "Anna"]),
    state=st.sampled_from([None, None, *[*S][:5]]),
    topics=st.lists(st.sampled_from(PLACES).map("/".join), max_size=2, unique=True).map(tuple),
    left=st.lists(st.sampled_from(PLACES).map("/".join), max_size=1).map(tuple),
    suppressed=st.sampled_from([(), (), (), (("", "asked"),), (("weekly", "asked"),)]),
    tags=st.lists(st.sampled_from(["VIP", "=1+1", "Berlin, Mitte", "a|b"]), max_size=2, unique=True).map(tuple),
    paused_until=st.sampled_from([None, None, LATER]),
    proofs=st.sampled_from(
        [
            (),
            (subscriberfile.Proof("subscribed", NOW, "192.0.2.1"),),
            (subscriberfile.Proof("subscribed", NOW), subscriberfile.Proof("confirmed", NOW, "2001:db8::1")),
        ]
    ),
)


def row_of(**known):
    return subscriberfile.Row(line=1, address=addresses.parse("c@example.org"), **known)


IMPORT = st.tuples(
    st.lists(ROW, max_size=4),
    st.lists(st.sampled_from(PLACES), max_size=2, unique=True),
    st.sampled_from([None, S.ACTIVE, S.PENDING]),
)


def take(session, step, now=NOW):
    rows, places, state = step
    return audience.import_rows(session, rows, places=places, state=state, now=now, how="people.csv")


def may_be_mailed(session):
    """Every (address, newsletter, topic) that an issue would go to."""
    return {
        (person.email, *place.split("/"))
        for person in audience.listing(session, state=S.ACTIVE)
        for place in person.topics
        if not audience.is_suppressed(session, person.email, place.split("/")[0])
    }


@settings(max_examples=60, deadline=None)
@given(
    st.lists(IMPORT, min_size=1, max_size=2),
    st.sampled_from(["leave", "leave newsletter", "leave topic", "suppress", "suppress newsletter", "bounce"]),
    st.lists(IMPORT, min_size=1, max_size=3),
)
def test_nobodys_no_is_undone_by_any_sequence_of_imports(before, no, after):
    with database() as session:
        audience.add(session, EMAILS[0], places=PLACES, state=S.ACTIVE, now=NOW, how="cli")
        for step in before:
            take(session, step)
        who = audience.get(session, EMAILS[0])
        if no.startswith("leave"):
            which = (
                {"newsletter": "weekly"}
                if no == "leave newsletter"
                else {"topics": ["robots"]}
                if "topic" in no
                else {}
            )
            audience.unsubscribe(session, who.id, now=NOW, how="one-click", **which)
            gone = [
                p for p in PLACES if no == "leave" or (no == "leave newsletter" and p[0] == "weekly") or p == ROBOTS
            ]
        elif no.startswith("suppress"):
            letter = "weekly" if "newsletter" in no else ""
            audience.suppress(session, who.email, newsletter=letter, reason="asked", now=NOW)
            gone = [p for p in PLACES if letter in ("", p[0])]
        else:
            load(session, f"email,status\n{who.email},bounced\n")
            gone = PLACES
        others = {email: audience.find(session, email) for email in EMAILS[1:]}
        for step in after:
            result = take(session, step, LATER)
            assert result.rows == sum(counts(result)[1:])
            reached = may_be_mailed(session)
            assert not reached & {(who.email, *place) for place in gone}
        for email, was in others.items():
            if was and was.state in (S.UNSUBSCRIBED, S.BOUNCED, S.COMPLAINED):
                assert email not in {reader for reader, _, _ in may_be_mailed(session)}


@settings(max_examples=40, deadline=None)
@given(st.lists(IMPORT, max_size=3))
def test_whoever_is_on_file_an_export_taken_back_gives_the_same_people(steps):
    with database() as session, database() as other:
        for step in steps:
            take(session, step)
        before, text = list(audience.listing(session)), exported(session)
        home = load(session, text, places=(), now=LATER)
        assert (home.added, home.updated, home.rejected) == (0, 0, ())
        assert list(audience.listing(session)) == before
        load(other, text, places=(), now=LATER)
        strip = [without_id(person) for person in before]
        assert [without_id(person) for person in audience.listing(other)] == strip
        assert exported(other) == text


def without_id(person):
    return dataclasses.replace(person, id=0)


@settings(max_examples=40, deadline=None)
@given(IMPORT)
@example(([row_of(left=("weekly/rl-agents",), suppressed=(("weekly", "asked"),)), row_of()], [], None))
@example(
    ([row_of(left=("monthly/city",), suppressed=(("weekly", "asked"),)), row_of(topics=("monthly/city",))], [], None)
)
def test_the_same_import_again_adds_and_brings_back_nobody(step):
    with database() as session:
        take(session, step)
        before = list(audience.listing(session))
        again = take(session, step, LATER)
        assert again.added == 0
        assert [(p.email, p.state, p.suppressed) for p in audience.listing(session)] == [
            (p.email, p.state, p.suppressed) for p in before
        ]


# -- one person ----------------------------------------------------------------------------------------------------


def test_adding_somebody_says_what_happened(session):
    steps = [
        audience.add(session, "Anna <anna@example.org>", name="Anna", places=[RL], state=state, now=NOW, how="cli")
        for state in (S.PENDING, S.PENDING, S.ACTIVE)
    ]
    assert [(person.state.value, what) for person, what in steps] == [
        ("pending", "added"),
        ("pending", "unchanged"),
        ("active", "updated"),
    ]


def test_who_left_or_is_suppressed_cannot_be_added_back(session):
    audience.add(session, "anna@example.org", places=[RL], state=S.ACTIVE, now=NOW, how="cli")
    leave(session, "anna@example.org")
    audience.suppress(session, "bo@example.org", reason="asked", now=NOW)
    for email, why in (("anna@example.org", "is unsubscribed"), ("bo@example.org", r"is suppressed \(asked\)")):
        with pytest.raises(errors.StateError, match=why):
            audience.add(session, email, places=[RL], state=S.ACTIVE, now=NOW, how="cli")


def test_leaving_ends_subscriptions_and_the_last_one_unsubscribes(session):
    audience.add(session, "anna@example.org", places=[RL, ROBOTS, CITY], state=S.ACTIVE, now=NOW, how="cli")
    assert leave(session, "anna@example.org", newsletter="weekly", topics=["robots"]) == ("weekly/robots",)
    assert leave(session, "anna@example.org", newsletter="weekly") == ("weekly/rl-agents",)
    assert states(session) == {"anna@example.org": "active"}
    assert leave(session, "anna@example.org", newsletter="weekly") == ()
    assert leave(session, "anna@example.org", newsletter="monthly") == ("monthly/city",)
    assert states(session) == {"anna@example.org": "unsubscribed"}
    proofs = consents(session)
    assert proofs[3:] == [("unsubscribed", *place, "one-click") for place in (ROBOTS, RL, CITY)]
    assert leave(session, "anna@example.org") == ()
    assert consents(session) == proofs


def test_somebody_without_a_topic_can_leave_too(session):
    audience.add(session, "anna@example.org", places=[], state=S.ACTIVE, now=NOW, how="cli")
    assert leave(session, "anna@example.org") == ()
    assert states(session) == {"anna@example.org": "unsubscribed"}
    assert consents(session) == [("imported", None, None, "cli"), ("unsubscribed", None, None, "one-click")]


def test_strangers_are_not_found(session):
    assert audience.find(session, "nobody@example.org") is None
    with pytest.raises(errors.NotFound, match=r"nobody@example\.org is not on file"):
        audience.get(session, "nobody@example.org")
    with pytest.raises(errors.NotFound):
        audience.unsubscribe(session, 99, now=NOW, how="cli")


def test_a_suppression_is_made_once_and_can_be_taken_back(session):
    assert audience.suppress(session, "Anna@example.org", reason="asked\r\nby phone", now=NOW)
    assert not audience.suppress(session, "anna@EXAMPLE.org", reason="again", now=LATER)
    assert audience.is_suppressed(session, "anna@example.org", "weekly") == "asked by phone"
    assert audience.unsuppress(session, "anna@example.org")
    assert not audience.unsuppress(session, "anna@example.org")
    with pytest.raises(errors.AddressError):
        audience.suppress(session, "anna@", reason="asked", now=NOW)


def test_a_page_ends_where_the_next_begins(session):
    load(session, "email\n" + "".join(f"r{i}@example.org\n" for i in range(2 * audience.PAGE)))
    emails = [person.email for person in audience.listing(session)]
    assert emails == [f"r{i}@example.org" for i in range(2 * audience.PAGE)]
    assert all(a != b for a, b in itertools.pairwise(emails))
