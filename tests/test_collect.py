"""What is new and what is the same: keys, the ladder, edits and age."""

import dataclasses
import datetime as dt

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from newsletter import collect, intents, types, works

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
SOURCE = "https://feeds.test/a.xml"
OTHER = "https://feeds.test/b.xml"


def entry(title=None, url=None, guid=None, date=None, summary="", **more):
    published = dt.datetime.fromisoformat(date).replace(tzinfo=dt.UTC) if date else None
    return types.FoundEntry(summary=summary, title=title, url=url, guid=guid, published=published, **more)


class Memory:
    """What a database would hold, in the plainest way."""

    def __init__(self):
        self.entries = {}  # id -> FoundEntry
        self.keys = {}  # key -> id
        self.shown = {}  # (source, id) -> FoundEntry, as that source last showed it
        self.told = {}  # (source, id) -> what it said
        self.first = {}  # id -> source

    def collect(self, *found, source=SOURCE, **options):
        options = {"first_fetch": False, "now": NOW, **options}
        decided = collect.decide(found, known=self.known(source), source_url=source, **options)
        for intent in decided:
            if isinstance(intent, intents.New):
                number = len(self.entries) + 1
                assert intent.key in collect.guids_and_keys(found, source)[1]
                assert intent.key not in self.keys
                self.keys[intent.key] = number
                self.first[number] = source
                self.entries[number] = dataclasses.replace(intent.entry, guid=None)
            else:
                number = intent.id
                if intent.edit:
                    self.entries[number] = intent.edit
            before = self.shown.get((source, number), types.FoundEntry(summary=""))
            self.told[source, number] = works.said(intent.entry) or self.told.get((source, number))
            told, dated = intent.entry, intent.entry if intent.entry.published else before
            self.shown[source, number] = types.FoundEntry(
                summary="",
                guid=told.guid or before.guid,
                url=told.url or before.url,
                title=told.title or before.title,
                published=dated.published,
                published_is_date=dated.published_is_date,
            )
        return decided

    def known(self, source):
        views = {
            number: intents.KnownEntry(
                number,
                found,
                self.shown.get((source, number)),
                self.first[number] == source,
            )
            for number, found in self.entries.items()
        }
        named = {}
        pages = {}
        for (by, number), shown in sorted(self.shown.items(), key=lambda each: each[0][1]):
            if by == source and shown.guid:
                named.setdefault(shown.guid, []).append(views[number])
            if shown.url:
                pages.setdefault(works.page(shown.url), []).append((by, number))
        once = {page: by for page, by in pages.items() if len({source for source, _ in by}) == len(by)}
        told = {}
        for (by, number), said in self.told.items():
            if by == source and said:
                told.setdefault(said, []).append(views[number])
        keys = {}
        for number, found in self.entries.items():
            keys.setdefault(f"arxiv:{found.arxiv}", views[number])
            keys.setdefault(f"doi:{found.doi}", views[number])
        keys |= {key: views[number] for key, number in self.keys.items()}
        return intents.Known(
            {guid: found[0] for guid, found in named.items() if len(found) == 1},
            keys,
            {page: views[by[0][1]] for page, by in once.items() if page not in keys},
            {said: found[0] for said, found in told.items() if len(found) == 1},
        )


def news(decided):
    return [intent for intent in decided if isinstance(intent, intents.New)]


# -- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "guid", "key"),
    [
        ("https://arxiv.org/abs/2609.01234v2", None, "arxiv:2609.01234"),
        ("http://arxiv.org/pdf/2609.01234", "abc", "arxiv:2609.01234"),
        ("https://export.arxiv.org/pdf/2609.01234v11.pdf", None, "arxiv:2609.01234"),
        (None, "oai:arXiv.org:2609.01234v1", "arxiv:2609.01234"),
        ("http://arxiv.org/abs/astro-ph/0601001v1", None, "arxiv:astro-ph/0601001"),
        ("https://doi.org/10.48550/arXiv.2609.01234", None, "arxiv:2609.01234"),
        ("https://doi.org/10.5555/LAKE.77", None, "doi:10.5555/lake.77"),
        ("http://dx.doi.org/10.5555%2Flake.77", None, "doi:10.5555/lake.77"),
        ("https://pub.test/doi/full/10.5555/lake.77", None, "doi:10.5555/lake.77"),
        ("https://pub.test/x", "doi:10.5555/lake.77", "doi:10.5555/lake.77"),
        ("https://blog.test/about-arxiv/2609.01234", None, "url:blog.test/about-arxiv/2609.01234"),
        (None, "tag:1", "guid:feeds.test/a.xml tag:1"),
    ],
)
def test_the_surest_key_comes_first(url, guid, key):
    assert collect.keys(entry("t", url, guid), SOURCE)[0] == key


def test_a_key_is_never_too_long_for_an_index():
    found = entry("t", "https://site.test/" + "x" * 1900, "g" * 500, summary="s" * 9000, date="2026-09-01")
    assert all(len(key) <= 500 for key in collect.keys(found, SOURCE))
    assert len(set(collect.keys(found, SOURCE))) == 5


# -- one document ----------------------------------------------------------------------------------------------------


def test_one_guid_for_all_items_hides_none_of_them():
    memory = Memory()
    items = [
        entry(f"Weather {word}", f"https://site.test/{word}", "the-one-guid") for word in ("amber", "basil", "cedar")
    ]
    assert len(news(memory.collect(*items))) == 3
    assert not news(memory.collect(*reversed(items)))
    assert len(news(memory.collect(entry("Weather dill", "https://site.test/dill", "the-one-guid")))) == 1


def test_one_link_for_all_items_hides_none_of_them():
    memory = Memory()
    items = [
        entry(f"Advisory {word}", "https://site.test/upcoming/", f"adv-{word}") for word in ("quartz", "river", "stone")
    ]
    assert len(news(memory.collect(*items))) == 3
    assert not news(memory.collect(*items[1:]))
    assert (
        len(news(memory.collect(*items[1:], entry("Advisory tulip", "https://site.test/upcoming/", "adv-tulip")))) == 1
    )


def test_items_without_link_and_guid_are_told_apart_by_their_words_then_by_their_dates():
    memory = Memory()
    items = [entry(summary=f"All about {word}.") for word in ("otters", "herons")]
    items += [entry("All is well", date=f"2026-09-0{day}") for day in (1, 2, 3)]
    assert len(news(memory.collect(*items))) == 5
    assert not news(memory.collect(*items))
    assert len(news(memory.collect(entry("All is well", date="2026-09-04")))) == 1
    assert not news(memory.collect(entry("All is well", date="2026-09-03")))


def test_an_item_that_stands_twice_is_one():
    item = entry("Otters", "https://site.test/a", "g")
    assert len(Memory().collect(item, item)) == 1


def test_two_versions_of_a_paper_in_one_document_are_one():
    memory = Memory()
    versions = [
        entry(f"Sparse {i}", f"https://arxiv.org/abs/2609.01234v{i}", f"oai:arXiv.org:2609.01234v{i}") for i in (1, 2)
    ]
    assert len(news(memory.collect(*versions))) == 1
    assert not news(memory.collect(*versions))


def test_notes_that_all_link_to_one_paper_are_several():
    notes = [entry(f"Note {word}", "https://arxiv.org/abs/2609.01234", f"note-{word}") for word in ("one", "two")]
    assert len(news(Memory().collect(*notes))) == 2


def test_a_known_item_stays_itself_when_a_second_one_takes_its_link():
    memory = Memory()
    first, second = entry("Otters", "https://site.test/now"), entry("Herons", "https://site.test/now")
    memory.collect(first)
    assert [intent.entry.title for intent in news(memory.collect(first, second))] == ["Herons"]
    assert not news(memory.collect(first, second))


def test_an_item_that_moves_leaves_its_old_address_to_another():
    memory = Memory()
    memory.collect(entry("Otters", "https://site.test/latest", "g1"))
    decided = memory.collect(
        entry("Otters", "https://site.test/otters", "g1"), entry("Herons", "https://site.test/latest", "g2")
    )
    assert [intent.entry.title for intent in news(decided)] == ["Herons"]


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [
        # the same address and title: one, whatever the guids and texts
        (entry("Otters", "https://site.test/a", "x?utm_source=1"), entry("Otters", "https://site.test/a", "x"), 1),
        (entry("Otters", "https://site.test/a"), entry("OTTERS", "http://site.test/a?utm_source=rss", summary="B"), 1),
        (entry("Otters", "https://site.test/a", "1", "2026-09-01"), entry("Otters", "https://site.test/a", "2"), 1),
        (entry("Otters", "https://site.test/a", "1"), entry("Otters", "https://site.test/a", "1", summary="More."), 1),
        (entry(None, "https://site.test/a", "1", summary="T"), entry(None, "https://site.test/a", "2", summary="T"), 1),
        # another date, another title, another address; without dates another guid and text: two
        (
            entry("Notice", "https://site.test/a", "1", summary="Otters."),
            entry("Notice", "https://site.test/a", "2", summary="Herons."),
            2,
        ),
        (
            entry("Otters", "https://site.test/a", "1", "2026-09-01"),
            entry("Otters", "https://site.test/a", "2", "2026-09-02"),
            2,
        ),
        (entry("Otters", "https://site.test/a", "1"), entry("Herons", "https://site.test/a", "2"), 2),
        (entry("Otters", "https://site.test/a", "1"), entry("Herons", "https://site.test/a", "1"), 2),
        (entry("Otters", "https://site.test/a", "1"), entry("Otters", "https://site.test/b", "1"), 2),
        (entry(None, "https://site.test/a", summary="T"), entry(None, "https://site.test/a", summary="U"), 2),
        # without an address, the guid; without a guid, the words
        (entry("Otters", None, "1", summary="A"), entry("Otters", None, "1", summary="B"), 1),
        (entry("Otters", None, "1"), entry("Otters", None, "2"), 2),
        (entry("Otters", summary="A"), entry("Otters", date="2026-09-01", summary="A"), 1),
        (entry("Otters", summary="A"), entry("Otters", summary="B"), 2),
        # works
        (entry("Otters", doi="10.5555/a", guid="1"), entry("Otters!", "https://site.test/a", doi="doi:10.5555/A"), 1),
        (entry("Otters", doi="10.5555/a", guid="1"), entry("Otters", doi="10.5555/b", guid="2"), 2),
        (
            entry("Otters", "https://arxiv.org/abs/2609.01234v1", doi="10.5555/a"),
            entry("The otters", "https://pub.test/otters", "p-1", doi="10.5555/a"),
            1,
        ),
        (
            entry("Otters", "https://arxiv.org/abs/2609.01234v1", "oai:arXiv.org:2609.01234v1", doi="10.5555/a"),
            entry("Herons", "https://arxiv.org/abs/2609.05678v1", "oai:arXiv.org:2609.05678v1", doi="10.5555/a"),
            2,
        ),
        (
            entry("Otters", "https://arxiv.org/abs/2609.01234v1", "oai:arXiv.org:2609.01234v1"),
            entry("Why we love otters", "https://arxiv.org/abs/2609.01234", "note-1"),
            2,
        ),
    ],
)
def test_two_items_of_one_document_are_one_or_two_as_the_table_says(one, other, are):
    for document in ([one, other], [other, one]):
        memory = Memory()
        assert len(news(memory.collect(*document))) == are
        assert not news(memory.collect(*reversed(document)))
        assert not any(intent.edit for intent in memory.collect(*document))
        assert not news(memory.collect(one))
        assert not news(memory.collect(other))


def test_a_paper_keeps_its_name_beside_a_note_that_links_to_it():
    memory = Memory()
    paper = entry("Otters", "https://arxiv.org/abs/2609.01234v1", "oai:arXiv.org:2609.01234v1")
    note = entry("Why we love otters", "https://arxiv.org/abs/2609.01234", "note-1")
    memory.collect(note, paper)
    assert not news(
        memory.collect(dataclasses.replace(paper, guid="x", url="https://arxiv.org/pdf/2609.01234"), source=OTHER)
    )


def test_an_item_that_stands_twice_is_as_full_as_both():
    twice = (
        entry("Otters", "https://site.test/a", "1", authors=("Ann",)),
        entry("Otters", "https://site.test/a", "2", "2026-09-01", summary="Text."),
    )
    (new,) = Memory().collect(*twice)
    assert (new.entry.guid, new.entry.authors, new.entry.summary) == ("2", ("Ann",), "Text.")


# -- across documents ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            entry("Sparse", "https://arxiv.org/abs/2609.01234v1", "a"),
            entry("Sparse rewards", "http://arxiv.org/pdf/2609.01234", "b"),
        ),
        (
            entry("Lakes", "https://doi.org/10.5555/LAKE.77", "a"),
            entry("Lakes", "http://dx.doi.org/10.5555/lake.77", "b"),
        ),
        (
            entry("Lakes", "https://arxiv.org/abs/2609.01234v1", doi="10.5555/lake.77"),
            entry("Warm lakes", "https://pub.test/77", "p", doi="doi:10.5555/LAKE.77"),
        ),
        (entry("A", "https://site.test/b?utm_source=rss", "a"), entry("B", "https://site.test/b", "b")),
        (
            entry("A", "https://site.test/b", "a", "2026-09-01"),
            entry("B", "https://SITE.test:443/b#c", "b", "2026-09-02"),
        ),
    ],
)
def test_one_story_of_two_sources_is_one_entry(one, other):
    memory = Memory()
    assert len(news(memory.collect(one))) == 1
    assert not news(memory.collect(other, source=OTHER))


@pytest.mark.parametrize(
    "again",
    [
        entry("Ferry", "https://site.test/ferry", "g1#edited", "2026-09-01"),
        entry("Ferry!", "https://site.test/ferry", "g2", "2026-09-01"),
        entry("Ferry", "https://site.test/ferry", "g2", "2026-09-02"),
        entry("Ferry!", "https://site.test/ferry", "g2"),
        entry("Ferry!", "https://site.test/new", "g1", "2026-09-01"),
        entry("Ferry", "http://site.test/ferry", "g1", "2026-09-05"),
        entry("Ferry!", "https://site.test/ferry", "g1", "2026-09-05"),
    ],
)
def test_an_edited_item_is_nothing_new(again):
    memory = Memory()
    memory.collect(entry("Ferry", "https://site.test/ferry", "g1", "2026-09-01"))
    assert not news(memory.collect(again))


def test_a_paper_that_was_joined_to_its_article_is_known_by_both_names():
    memory = Memory()
    article = entry("Lakes", "https://pub.test/77", "p", doi="10.5555/lake.77")
    paper = entry("Lakes", "https://arxiv.org/abs/2609.01234v1", "oai:arXiv.org:2609.01234v1")
    assert len(news(memory.collect(article))) == 1
    assert not news(memory.collect(dataclasses.replace(paper, doi="10.5555/lake.77"), source=OTHER))
    assert not news(memory.collect(dataclasses.replace(paper, guid="x"), source="https://feeds.test/c.xml"))
    assert not news(
        memory.collect(entry("Lakes", "https://doi.org/10.5555/LAKE.77"), source="https://feeds.test/d.xml")
    )


def test_another_doi_at_an_address_is_another_article():
    memory = Memory()
    memory.collect(entry("Lakes", "https://pub.test/latest", doi="10.5555/lake.77"))
    assert len(news(memory.collect(entry("Rivers", "https://pub.test/latest", doi="10.5555/river.1")))) == 1
    assert len(memory.entries) == 2


def test_two_papers_that_give_one_doi_are_two():
    memory = Memory()
    memory.collect(entry("Lakes I", "https://arxiv.org/abs/2609.01234v1", doi="10.5555/lake.77"))
    assert (
        len(news(memory.collect(entry("Lakes II", "https://arxiv.org/abs/2609.05678v1", doi="10.5555/lake.77")))) == 1
    )


@pytest.mark.parametrize(
    "another",
    [
        entry("Mill", "https://site.test/ferry", "g2", "2026-09-05"),  # the address is used again
        entry("Mill", "https://site.test/mill", "g1", "2026-09-05"),  # the guid is used again
    ],
)
def test_a_name_that_is_used_again_for_another_story_hides_nothing(another):
    memory = Memory()
    ferry = entry("Ferry", "https://site.test/ferry", "g1", "2026-09-01")
    memory.collect(ferry)
    assert len(news(memory.collect(another))) == 1
    assert not news(memory.collect(another))
    assert len(memory.entries) == 2


def test_an_address_that_a_feed_without_guids_uses_again_is_a_new_entry():
    memory = Memory()
    memory.collect(entry("Status one", "https://site.test/status", None, "2026-09-01"))
    assert len(news(memory.collect(entry("Status two", "https://site.test/status", None, "2026-09-02")))) == 1


def test_a_guid_counts_within_its_source_alone():
    memory = Memory()
    memory.collect(entry("A", None, "1", summary="a"))
    assert len(news(memory.collect(entry("B", None, "1", summary="b"), source=OTHER))) == 1


def test_an_item_that_was_gone_and_comes_back_is_nothing_new():
    memory = Memory()
    memory.collect(entry("A", "https://site.test/a", "a"), entry("B", "https://site.test/b", "b"))
    memory.collect(entry("A", "https://site.test/a", "a"))
    assert not news(memory.collect(entry("B edited", "https://site.test/b", "b")))


# -- edits -----------------------------------------------------------------------------------------------------------


def test_only_the_first_source_edits_and_others_fill_in():
    memory = Memory()
    memory.collect(entry("Ferry", "https://site.test/f", "g1"))
    (same,) = memory.collect(
        entry("The ferry, we hear", "https://site.test/f", "x", summary="Text.", authors=("Ann",)), source=OTHER
    )
    assert same.edit == types.FoundEntry(summary="Text.", title="Ferry", url="https://site.test/f", authors=("Ann",))
    (same,) = memory.collect(entry("Ferry sails", "https://site.test/f?utm_source=x", "g1", "2026-09-01"))
    assert same.changed
    assert same.edit.title == "Ferry sails"
    assert same.edit.url == "https://site.test/f"
    assert same.edit.summary == "Text."
    assert not memory.collect(entry("Ferry sails", "https://site.test/f", "g1"))[0].changed


# -- age -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "first_fetch", "is_held"),
    [(29, True, False), (31, True, True), (31, False, False), (59, False, False), (61, False, True)],
)
def test_old_entries_are_held_when_they_first_come(days, first_fetch, is_held):
    found = entry("Old", "https://site.test/a", "a", (NOW - dt.timedelta(days=days)).date().isoformat())
    (new,) = Memory().collect(found, first_fetch=first_fetch)
    assert (new.held_why is not None) is is_held
    if is_held:
        assert new.held_why.startswith(intents.HELD_FOR_AGE)


def test_flood_of_what_has_no_date_is_held_when_its_source_is_first_read():
    many = [entry(f"Undated {i}", f"https://site.test/{i}") for i in range(14)]
    dated = entry("Dated", "https://site.test/d", date="2026-09-08")
    memory = Memory()
    first = memory.collect(dated, *many, first_fetch=True)
    held = [intent.entry.title for intent in first if intent.held_why]
    assert held == [f"Undated {i}" for i in range(collect.MOST_UNDATED, 14)]
    assert all(intent.held_why.startswith(intents.HELD_FOR_AGE) for intent in first if intent.held_why)
    assert [same.release for same in memory.collect(*many, backfill=dt.timedelta(days=9))] == [True] * 14
    assert not any(new.held_why for new in Memory().collect(*many))
    assert not any(new.held_why for new in Memory().collect(*many, first_fetch=True, ages=False))
    assert not any(new.held_why for new in Memory().collect(*many, source="file:inbox/*", first_fetch=True))


def test_no_document_is_kept():
    collect.decide([entry("Otters")], known=intents.Known(), source_url=SOURCE, first_fetch=True, now=NOW)
    assert not collect._gathered.cache_info().currsize


def test_a_backfill_and_an_import_know_no_age():
    found = entry("Old", "https://site.test/a", "a", "2026-07-01")
    span = dt.timedelta(days=90)
    assert Memory().collect(found, first_fetch=True, backfill=span)[0].held_why is None
    assert Memory().collect(found, first_fetch=True, ages=False)[0].held_why is None
    assert Memory().collect(entry("Older", date="2026-01-01"), first_fetch=True, backfill=span)[0].held_why
    memory = Memory()
    memory.collect(found, first_fetch=True)
    assert not memory.collect(found)[0].release
    assert memory.collect(found, backfill=span)[0].release


# -- whatever comes --------------------------------------------------------------------------------------------------

words = st.sampled_from(["otters", "herons", "mills"])
dates = st.none() | st.dates(dt.date(2026, 9, 1), dt.date(2026, 9, 3)).map(
    lambda d: dt.datetime(d.year, d.month, d.day, tzinfo=dt.UTC)
)
entries = st.builds(
    types.FoundEntry,
    summary=st.just("") | words,
    title=st.none() | words,
    url=st.none()
    | words.map("https://site.test/{}".format)
    | st.sampled_from(["https://arxiv.org/abs/2609.01234v1", "https://doi.org/10.5555/a"]),
    published=dates,
    guid=st.none() | st.sampled_from(["a", "b", "c", "oai:arXiv.org:2609.01234v2"]),
    doi=st.none() | st.sampled_from(["10.5555/a", "10.5555/b"]),
).filter(lambda e: e.title or e.url or e.summary)
documents = st.lists(entries, max_size=5)
plain = entries.filter(lambda e: not e.doi and "arXiv" not in (e.guid or "") and "site" in (e.url or "site"))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from([SOURCE, OTHER]), documents), max_size=4))
@example(
    [
        (SOURCE, [entry(url="https://site.test/otters", guid="b", doi="10.5555/a")]),
        (
            SOURCE,
            [
                entry(url="https://site.test/otters", guid="a"),
                entry("otters", guid="b", doi="10.5555/b"),
                entry("otters", guid="a", doi="10.5555/b", date="2026-09-01"),
            ],
        ),
    ]
)
def test_the_same_document_twice_in_a_row_gives_nothing_new_and_nothing_changed(rounds):
    memory = Memory()
    for source, document in rounds:
        memory.collect(*document, source=source)
        assert not news(memory.collect(*document, source=source))
        assert not news(memory.collect(*document, source=source))


@given(plain, plain)
def test_two_items_are_one_when_the_table_says_so(one, other):
    same_words = one.summary == other.summary
    same_title = one.title == other.title if one.title or other.title else same_words
    same_date = None in (one.published, other.published) or one.published == other.published
    same_name = one.guid == other.guid if one.guid or other.guid else same_words
    if one.url:
        dated = one.published and other.published
        named = one.guid and other.guid and one.summary and other.summary
        same_name = dated or not named or one.guid == other.guid or same_words
    same = same_title and same_date and one.url == other.url and same_name
    assert len(Memory().collect(one, other)) == (1 if same else 2)


@given(documents, st.randoms())
def test_the_order_of_items_plays_no_part(document, random):
    shuffled = random.sample(document, len(document))
    one, other = Memory(), Memory()
    one.collect(*document)
    other.collect(*shuffled)
    assert {one.entries[i] for i in one.keys.values()} == {other.entries[i] for i in other.keys.values()}
    assert set(one.keys) == set(other.keys)
    assert not news(one.collect(*shuffled))


@given(st.lists(plain, max_size=5))
def test_every_item_of_a_first_document_is_new_or_the_same_as_one_of_it(document):
    decided = Memory().collect(*document)
    assert all(isinstance(intent, intents.New) for intent in decided)
    assert {e.title for e in document} <= {intent.entry.title for intent in decided}
    assert {e.url for e in document} <= {intent.entry.url for intent in decided}
