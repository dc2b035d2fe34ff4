"""Entries in a real database: what is stored, found again, edited and held."""

import dataclasses
import datetime as dt

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import Session, create_engine, select

from newsletter import collect, intents, types
from newsletter.store import entries, sources, tables

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(days=1)
A, B, C = (f"https://feeds.test/{name}.xml" for name in "abc")
PLACES = (("weekly", "rl"),)


@pytest.fixture
def engine(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/test.db")
    sa.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys=ON"))
    tables.metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def session(engine):
    with Session(engine) as session:
        yield session


def entry(title=None, url=None, guid=None, date=None, summary="", **more):
    published = dt.datetime.fromisoformat(date).replace(tzinfo=dt.UTC) if date else None
    return types.FoundEntry(summary=summary, title=title, url=url, guid=guid, published=published, **more)


def save(session, *found, source=A, places=PLACES, now=NOW, first_fetch=False, **options):
    source_id = sources.ensure(session, [source])[source].id
    known = entries.lookup(session, source_id, *collect.guids_and_keys(found, source))
    decided = collect.decide(found, known=known, source_url=source, first_fetch=first_fetch, now=now, **options)
    saved = entries.apply(session, decided, source_id=source_id, places=places, now=now)
    session.commit()
    return saved


def rows(session, table):
    session.expire_all()
    return session.exec(select(table).order_by(table.id)).all()


def claim(session, number, state, newsletter="weekly"):
    """Put an entry into an issue in that state."""
    issue = tables.Issue(
        newsletter=newsletter, period=f"2026-09-{number:02}", cutoff_at=NOW, state=state, created_at=NOW
    )
    session.add(issue)
    session.flush()
    session.add(tables.Claim(newsletter=newsletter, entry_id=number, issue_id=issue.id, state="in_issue", at=NOW))
    session.commit()


def test_an_entry_is_stored_whole_and_found_again(session):
    found = entry(
        "Otters",
        "https://site.test/a?utm_source=rss",
        "g1",
        "2026-09-01",
        "Text.",
        authors=("Ann", "Bo"),
        categories=("rivers",),
    )
    found = dataclasses.replace(found, published_is_date=True)
    assert save(session, found) == entries.Saved(seen=1, new=1)
    (row,) = rows(session, tables.Entry)
    assert row.key == "url:site.test/a"
    assert len(row.ref) == 8
    assert (row.title, row.url, row.summary, row.authors, row.categories) == (
        "Otters",
        "https://site.test/a",
        "Text.",
        ["Ann", "Bo"],
        ["rivers"],
    )
    assert (row.published_at, row.published_is_date, row.first_seen_at) == (found.published, True, NOW)
    (by,) = rows(session, tables.EntrySource)
    assert (by.guid, by.url) == ("g1", "https://site.test/a")
    assert [(t.newsletter, t.topic) for t in rows(session, tables.EntryTopic)] == [("weekly", "rl")]
    assert save(session, found, now=LATER) == entries.Saved(seen=1)
    (row,) = rows(session, tables.Entry)
    assert row.first_seen_at == NOW
    assert row.changed_at is None


def test_a_known_entry_gains_topics_and_sources(session):
    save(session, entry("A", "https://site.test/a", "1"))
    saved = save(
        session,
        entry("A", "https://site.test/a", "2"),
        source=B,
        places=[("weekly", "rl"), ("weekly", "llm"), ("daily", "rl")],
    )
    assert saved.new == 0
    assert len(rows(session, tables.EntrySource)) == 2
    assert {(t.newsletter, t.topic) for t in rows(session, tables.EntryTopic)} == {
        ("weekly", "rl"),
        ("weekly", "llm"),
        ("daily", "rl"),
    }


def test_places_named_twice_count_once(session):
    save(session, entry("A"), places=[*PLACES, *PLACES])
    assert len(rows(session, tables.EntryTopic)) == 1


@pytest.mark.parametrize(
    ("state", "is_taken"),
    [("draft", True), ("cancelled", True), ("approved", False), ("sending", False), ("sent", False), ("held", False)],
)
def test_an_edit_is_taken_in_until_the_issue_is_approved(session, state, is_taken):
    save(session, entry("Otters", "https://site.test/a", "1"))
    claim(session, 1, state)
    saved = save(
        session, entry("Otters return", "https://site.test/a", "1", "2026-09-02", "More.", authors=("Ann",)), now=LATER
    )
    (row,) = rows(session, tables.Entry)
    assert saved.changed == is_taken
    assert (row.title == "Otters return") is is_taken
    assert row.changed_at == (LATER if is_taken else None)
    assert row.authors == (["Ann"] if is_taken else [])


def test_an_old_entry_is_held_in_each_newsletter_with_the_reason(session):
    old = entry("Old", "https://site.test/old", "1", "2026-01-01")
    saved = save(
        session,
        old,
        entry("New", "https://site.test/new", "2", "2026-09-09"),
        places=[("weekly", "rl"), ("daily", "rl")],
        first_fetch=True,
    )
    assert saved == entries.Saved(seen=2, new=2, held=1)
    claims = rows(session, tables.Claim)
    assert {(c.newsletter, c.entry_id, c.state, c.issue_id) for c in claims} == {
        ("weekly", 1, "held", None),
        ("daily", 1, "held", None),
    }
    assert all(c.why.startswith(intents.HELD_FOR_AGE) for c in claims)
    save(session, old, now=LATER)
    assert len(rows(session, tables.Claim)) == 2


def test_an_old_entry_is_held_too_in_a_newsletter_that_it_reaches_later(session):
    old = entry("Old", "https://site.test/old", "1", "2026-07-20")
    assert save(session, old).held == 0
    claim(session, 1, "sent")
    save(session, old, places=[("weekly", "rl"), ("daily", "rl")])
    assert [(c.newsletter, c.state) for c in rows(session, tables.Claim)] == [("weekly", "in_issue"), ("daily", "held")]


def test_a_backfill_releases_what_age_holds_and_nothing_else(session):
    old, dropped = (
        entry("Old", "https://site.test/old", "1", "2026-08-01"),
        entry("Gone", "https://site.test/gone", "2", "2026-08-01"),
    )
    save(session, old, dropped, first_fetch=True)
    held = rows(session, tables.Claim)
    held[1].why = "an editor's word"
    session.add(held[1])
    session.commit()
    save(session, old, dropped, backfill=dt.timedelta(days=90))
    assert [(c.entry_id, c.why) for c in rows(session, tables.Claim)] == [(2, "an editor's word")]


def test_a_guid_that_several_entries_have_names_none_of_them(session):
    items = [entry(f"W {word}", f"https://site.test/{word}", "one") for word in ("amber", "basil")]
    save(session, *items)
    assert entries.lookup(session, 1, ["one"], []) == intents.Known()
    assert save(session, entry("W cedar", "https://site.test/cedar", "one")).new == 1


def test_a_guid_is_looked_up_within_its_source(session):
    save(session, entry("A", None, "1", summary="a"))
    assert save(session, entry("B", None, "1", summary="b"), source=B).new == 1


def test_a_new_guid_is_remembered_and_a_missing_one_forgets_nothing(session):
    save(session, entry("A", "https://site.test/a", "1"))
    save(session, entry("A", "https://site.test/a", "2"))
    save(session, entry("A", "https://site.test/a"))
    assert [by.guid for by in rows(session, tables.EntrySource)] == ["2"]


def test_a_paper_and_its_article_are_one_whichever_comes_first(session):
    paper = entry("Lakes", "https://arxiv.org/abs/2609.01234v1", "p", doi="10.5555/LAKE.77", journal="Lakes 7 (2026)")
    article = entry("Lakes, warmer", "https://pub.test/77", "a", doi="doi:10.5555/lake.77")
    assert save(session, paper).new == 1
    assert save(session, article, source=B).new == 0
    assert save(session, dataclasses.replace(article, url="https://doi.org/10.5555/lake.77"), source=B).new == 0
    (row,) = rows(session, tables.Entry)
    assert (row.key, row.arxiv, row.doi, row.journal) == (
        "arxiv:2609.01234",
        "2609.01234",
        "10.5555/lake.77",
        "Lakes 7 (2026)",
    )


def test_an_entry_that_has_gone_out_still_learns_its_other_name(session):
    article = entry("Lakes", "https://pub.test/77", "a", doi="10.5555/lake.77")
    save(session, article)
    claim(session, 1, "sent")
    paper = entry("Lakes", "https://arxiv.org/abs/2609.01234v1", "p", doi="10.5555/lake.77", authors=("Ann",))
    assert save(session, paper, source=B) == entries.Saved(seen=1)
    assert save(session, dataclasses.replace(paper, doi=None, guid="x"), source=C).new == 0
    (row,) = rows(session, tables.Entry)
    assert (row.key, row.arxiv, row.authors, row.changed_at) == ("doi:10.5555/lake.77", "2609.01234", [], None)


def test_refs_that_collide_grow(session):
    keys = ["url:site.test/a", "url:site.test/b"]
    first = entries._refs(session, keys)
    session.add(tables.Entry(key="x", ref=first[keys[0]], first_seen_at=NOW))
    session.commit()
    again = entries._refs(session, keys)
    assert again[keys[0]].startswith(first[keys[0]])
    assert len(again[keys[0]]) == 9
    assert again[keys[1]] == first[keys[1]]


def test_a_large_document_takes_few_statements(engine, session):
    found = [entry(f"T {i}", f"https://site.test/{i}", f"g{i}", "2026-09-09", f"S {i}.") for i in range(1000)]
    counted = []
    sa.event.listen(engine, "before_cursor_execute", lambda *args: counted.append(args[2]))
    assert save(session, *found).new == 1000
    first = len(counted)
    assert save(session, *found) == entries.Saved(seen=1000)
    assert first < 60
    assert len(counted) - first < 60
    assert not [statement for statement in counted[first:] if statement.startswith(("UPDATE", "INSERT"))]


words = st.sampled_from(["otters", "herons"])
documents = st.lists(
    st.builds(
        entry,
        title=words,
        url=st.none() | words.map("https://site.test/{}".format) | st.just("https://arxiv.org/abs/2609.01234v1"),
        guid=st.none() | st.sampled_from("abc"),
        summary=words,
        doi=st.none() | st.sampled_from(["10.5555/a", "10.5555/b"]),
    ),
    max_size=5,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from([A, B]), documents), max_size=3))
def test_whatever_comes_twice_gives_nothing_new(engine, rounds):
    with Session(engine) as session:
        for source, document in rounds:
            save(session, *document, source=source)
            assert save(session, *document, source=source).new == 0


# -- what is learned later ---------------------------------------------------------------------------------------------


def test_an_entry_is_found_where_its_source_shows_it_now(session):
    save(session, entry("Otters", "https://site.test/old", "g1", "2026-09-01"))
    save(session, entry("Otters", "https://site.test/new", "g1", "2026-09-01"), now=LATER)
    assert save(session, entry("Otters return", "https://www.site.test/new/", "k1", "2026-09-02"), source=B).new == 0
    assert save(session, entry("Otters", "https://site.test/old", "c1", "2026-09-01"), source=C).new == 0  # known by it
    assert len(rows(session, tables.Entry)) == 1


def test_an_address_that_another_source_taught_counts_too(session):
    save(session, entry("Otters", "https://site.test/a", "g1", doi="10.5555/otters"))
    save(session, entry("On otters", "https://pub.test/o", "k1", doi="10.5555/otters"), source=B)
    assert save(session, entry("Otters!", "https://pub.test/o", "c1"), source=C).new == 0


def test_a_page_at_which_one_source_shows_several_entries_names_none_of_them(session):
    home = "https://site.test/"
    save(session, entry("One", home, "g1", "2026-09-01"), entry("Two", home, "g2", "2026-09-02"))
    save(session, entry("Elsewhere", home, "k1", "2026-09-03"), source=B)
    assert [row.title for row in rows(session, tables.Entry)] == ["One", "Two", "Elsewhere"]


@pytest.mark.parametrize("source", [A, B])
def test_a_page_that_shows_the_latest_article_never_swallows_the_next(session, source):
    """Whichever source has such a page: the first one, or one that was joined to the first by the work's name."""
    latest = "https://site.test/latest"
    save(session, entry("Otters", "https://site.test/a", "g1", "2026-09-01", doi="10.5555/otters"))
    save(session, entry("On otters", latest, "k1", "2026-09-01", doi="10.5555/otters"), source=source)
    assert save(session, entry("Beavers", latest, "k2", "2026-09-08"), source=source, now=LATER).new == 1


def test_two_entries_that_turn_out_to_be_one_work_both_say_so(session):
    """Which of them stays is decided when they are curated."""
    save(session, entry("Otters of the lake", "https://site.test/a", "g1"))
    save(session, entry("Where otters live", "https://pub.test/o", "k1"), source=B)
    save(session, entry("Otters of the lake", "https://site.test/a", "g1", doi="10.5555/otters"))
    save(session, entry("Where otters live", "https://pub.test/o", "k1", doi="10.5555/otters"), source=B)
    assert [row.doi for row in rows(session, tables.Entry)] == ["10.5555/otters"] * 2


@pytest.mark.parametrize("guids", [("wp-1", "ghost-1"), (None, None)])
def test_a_site_that_moves_with_all_its_ids_repeats_nothing(session, guids):
    old, new = guids
    save(session, entry("Otters", "https://www.site.test/2026/09/1", old, "2026-09-01T10:00:00", "All about otters."))
    moved = entry("Otters", "https://blog.site.test/posts/1", new, "2026-09-01T10:00:00", "All about otters.")
    assert save(session, moved, now=LATER).new == 0
    assert save(session, moved, now=LATER).new == 0
    (row,) = rows(session, tables.EntrySource)
    assert row.url == "https://blog.site.test/posts/1"


def test_what_a_source_shows_beside_its_like_is_another_entry(session):
    """Two notices with the same words at the same time are two, also when a third comes later."""
    one, two, three = (
        entry("Closed", f"https://site.test/{i}", f"g{i}", "2026-09-01T10:00:00", "We are closed.") for i in range(3)
    )
    assert save(session, one, two).new == 2
    assert save(session, one, two, three, now=LATER).new == 1
    assert save(session, three, now=LATER).new == 0


def test_untitled_notes_under_one_address_are_told_apart_by_their_text(session):
    status = "https://site.test/status"
    for week, text in enumerate(("All is well.", "The lift is broken.", "It runs again.")):
        saved = save(session, entry(None, status, f"j{week}", f"2026-09-0{week + 1}T10:00:00", text), now=LATER)
        assert saved.new == 1


def test_what_a_clock_that_was_ahead_saw_is_put_right_when_it_is_seen_again(session):
    ahead = NOW + dt.timedelta(days=365)
    two = entry("Two", "https://site.test/2", "g2", "2026-09-09")
    undated = entry("Undated", "https://site.test/3", "g3")
    save(session, two, undated, now=ahead)
    assert [row.why[:10] for row in rows(session, tables.Claim)] == ["older than"]
    save(session, two, undated, now=LATER)
    assert {row.first_seen_at for row in rows(session, tables.Entry)} == {LATER}
    assert rows(session, tables.Claim) == []
    save(session, two, undated, now=LATER + dt.timedelta(days=1))
    assert {row.first_seen_at for row in rows(session, tables.Entry)} == {LATER}
