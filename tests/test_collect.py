"""What is new and what is the same: keys, the ladder, edits and age."""

import dataclasses
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import collect, intents, types

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
        self.shown = {}  # (source, id) -> guid
        self.first = {}  # id -> source

    def collect(self, *found, source=SOURCE, **options):
        options = {"first_fetch": False, "now": NOW, **options}
        decided = collect.decide(found, known=self.known(source), source_url=source, **options)
        for intent in decided:
            if isinstance(intent, intents.New):
                number = len(self.entries) + 1
                assert intent.key not in self.keys
                self.keys[intent.key] = number
                self.first[number] = source
                self.entries[number] = dataclasses.replace(intent.entry, guid=None)
            else:
                number = intent.id
                if intent.edit:
                    self.entries[number] = intent.edit
            self.shown[source, number] = intent.entry.guid or self.shown.get((source, number))
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
        for (by, number), guid in self.shown.items():
            if by == source and guid:
                named.setdefault(guid, []).append(views[number])
        return intents.Known(
            {guid: found[0] for guid, found in named.items() if len(found) == 1},
            {key: views[number] for key, number in self.keys.items()},
        )


def news(decided):
    return [intent for intent in decided if isinstance(intent, intents.New)]


# -- addresses and keys ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://site.test/a", "http://site.test/a"),
        ("https://site.test/a", "https://SITE.test:443/a/"),
        ("https://site.test/a", "http://www.site.test:80/a#comments"),
        ("https://site.test/a?utm_source=rss&fbclid=x&mc_cid=1&gclid=2", "https://site.test/a"),
        ("https://site.test/a?b=1&a=2", "https://site.test/a?a=2&b=1"),
        ("https://site.test/%7euser/%C3%BC", "https://site.test/~user/ü"),
        ("https://site.test/", "https://site.test"),
        ("https://site.test/a/index.html", "https://site.test/a/"),
        ("https://site.test/a?rss=1", "https://site.test/a"),
    ],
)
def test_two_spellings_of_an_address_are_one(one, other):
    assert collect.canonical_url(one) == collect.canonical_url(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://site.test/show?id=1", "https://site.test/show?id=2"),
        ("https://site.test/A", "https://site.test/a"),
        ("https://site.test/a", "https://site.test:8080/a"),
        ("https://site.test/a%2Fb", "https://site.test/a?b"),
        ("https://site.test/#/one", "https://site.test/#/two"),
        ("https://site.test/a?ref=x", "https://site.test/a?ref=y"),
        ("https://a.site.test/", "https://b.site.test/"),
    ],
)
def test_two_addresses_are_not_taken_for_one(one, other):
    assert collect.canonical_url(one) != collect.canonical_url(other)


def test_a_link_keeps_everything_but_its_tracking():
    assert collect.clean_url("https://site.test/a?b=%20x&utm_medium=feed&a=1#c") == "https://site.test/a?b=%20x&a=1#c"
    assert collect.clean_url("https://site.test/a?utm_medium=feed") == "https://site.test/a"
    assert collect.clean_url("http://[::1?a=b") == "http://[::1?a=b"


@given(st.text(max_size=60))
def test_any_text_has_a_canonical_form_that_stays(text):
    form = collect.canonical_url(f"https://site.test/{text}")
    assert collect.canonical_url(f"https://{form}") == form


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
    assert len(set(collect.keys(found, SOURCE))) == 4


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


def test_what_has_no_date_is_never_held():
    assert Memory().collect(entry("Undated"), first_fetch=True)[0].held_why is None


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
entries = st.builds(
    types.FoundEntry,
    summary=st.just("") | words,
    title=st.none() | words,
    url=st.none() | words.map("https://site.test/{}".format) | st.just("https://arxiv.org/abs/2609.01234v1"),
    published=st.none()
    | st.dates(dt.date(2026, 9, 1), dt.date(2026, 9, 3)).map(
        lambda d: dt.datetime(d.year, d.month, d.day, tzinfo=dt.UTC)
    ),
    guid=st.none() | st.sampled_from(["a", "b", "c", "oai:arXiv.org:2609.01234v2"]),
)
documents = st.lists(entries.filter(lambda e: e.title or e.url or e.summary), max_size=5)


@given(st.lists(st.tuples(st.sampled_from([SOURCE, OTHER]), documents), max_size=4))
def test_the_same_document_twice_in_a_row_gives_nothing_new_and_nothing_changed(rounds):
    memory = Memory()
    for source, document in rounds:
        memory.collect(*document, source=source)
        again = memory.collect(*document, source=source)
        assert not news(again)
        more = memory.collect(*document, source=source)
        assert not news(more)


@given(documents)
def test_every_item_of_a_first_document_is_new_or_the_same_as_one_of_it(document):
    decided = Memory().collect(*document)
    assert all(isinstance(intent, intents.New) for intent in decided)
    distinct = {
        (e.title, e.summary)
        for e in document
        if not (e.url and "arxiv" in e.url) and not (e.guid and "arXiv" in e.guid)
    }
    assert distinct <= {(intent.entry.title, intent.entry.summary) for intent in decided}
