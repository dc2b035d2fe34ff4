"""What belongs to a topic, how well, and which entries tell the same story."""

import datetime as dt
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors
from newsletter.curate import duplicates, relevance

WORDS = ("Policy optimisation for agents", "We train an Agent.", "Ada Lovelace", "cs.LG")
DAY = dt.datetime(2026, 9, 8, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("include", "exclude", "belongs", "why"),
    [
        ([], [], True, None),
        (["policy optimi[sz]ation"], [], True, "matched: policy optimisation"),
        (["AGENT", "robots"], [], True, "matched: agent"),
        (["agents", "lovelace"], [], True, "matched: agents, lovelace"),
        (["robots"], [], False, "matched no include rule"),
        ([], ["lovelace"], False, "excluded: 'Lovelace'"),
        ([r"^cs\.LG$"], ["^agents"], True, "matched: cs.lg"),
        (["agent"], ["cs[.]LG"], False, "excluded: 'cs.LG'"),
    ],
)
def test_rules_decide_and_say_why(include, exclude, belongs, why):
    assert relevance.belongs(WORDS, include, exclude) == (belongs, why)


def text(title, body=""):
    return relevance.Text(title, body)


def test_what_has_the_topics_words_scores_and_the_rarest_word_most():
    collection = [
        text("Agentic policy optimisation", "An agent learns."),
        text("An agent for trams"),
        text("Bread prices"),
    ]
    best, second, nothing = relevance.Scorer(["Agents", "policy optimization"], collection).scores()
    assert best.value > second.value > nothing.value == 0
    assert "agent" in second.matched
    assert nothing.matched == ()


def test_what_editors_kept_before_counts_less_than_the_topics_words():
    kept = [text(f"Kelp reactor {word}") for word in ("north", "south", "west", "east")]
    collection = [text("A kelp reactor"), text("The tide"), text("Bread prices"), *[text("News of the day")] * 5]
    kelp, tide, bread, *_ = relevance.Scorer(["tide"], collection, kept).scores()
    assert (kelp.matched, set(kelp.learnt)) == ((), {"kelp", "reactor"})
    assert tide.value > kelp.value > bread.value == 0
    assert relevance.Scorer(["tide"], collection).scores()[0].value == 0


def test_score_is_explained():
    assert relevance.explained("matched: agentic", relevance.Score(7.123, ())) == "matched: agentic; score 7.1"
    assert relevance.explained(None, relevance.Score(2.0, ("tram", "ferry"))) == "matched: tram, ferry; score 2.0"
    assert relevance.explained(None, relevance.Score(0.0, ())) == "score 0.0"
    learnt = relevance.Score(0.3, (), ("kelp", "reactor"))
    assert relevance.explained(None, learnt) == "like what you kept: kelp, reactor; score 0.3"
    assert relevance.explained("matched: sea", learnt) == "matched: sea; like what you kept: kelp, reactor; score 0.3"
    assert relevance.explained(None, relevance.Score(0.3, ("tide",), ("kelp",))) == "matched: tide; score 0.3"


@given(st.lists(st.tuples(st.text(max_size=60), st.text(max_size=200)), max_size=6), st.text(max_size=30))
def test_scores_are_never_negative_and_always_the_same(rows, query):
    collection = [text(*row) for row in rows]
    found = relevance.Scorer([query], collection).scores()
    assert found == relevance.Scorer([query], collection).scores()
    assert all(score.value >= 0 for score in found)


# -- one story -----------------------------------------------------------------------------------------------------


def story(ref, title, source, day=0, rank=(), who=(), text=""):
    at = DAY + dt.timedelta(days=day)
    return duplicates.Story(ref, title, frozenset([source]), at, rank, duplicates.who(who), text)


def merged(*stories):
    return [(each.gone, each.kept) for each in duplicates.merges(stories)]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Learning agents cut data-centre cooling bills", "Learning agents cut data center cooling bills", True),
        ("Harbour bridge closed to lorries until spring", "Harbor Bridge closed to lorries until the Spring.", True),
        ("“Night trains” return to the coast in June", "Night trains return to the coast in June", True),
        ("Weekly robotics seminar with guests, Session 153", "Weekly robotics seminar with guests, Session 155", False),
        ("A beginner's guide to C# for data scientists", "A beginner's guide to F# for data scientists", False),
        ("A history of the river, told in maps, part I", "A history of the river, told in maps, part II", False),
        ("Council votes to raise the price of parking", "Council votes to lower the price of parking", False),
        ("Austria wins the cup after a long evening", "Australia wins the cup after a long evening", False),
        ("Plan A for the old harbour of the city", "Plan B for the old harbour of the city", False),
        ("Prices rise by 1.5 percent in the south", "Prices rise by 15 percent in the south", False),
        ("Introducing Kestrel: a small model for birds", "Kestrel: a small model for birds", True),
        ("Show HN: Kestrel – a small database for birds", "Kestrel - a small database for birds", True),
        ("Harbour bridge closed to lorries - The Verge", "Harbour bridge closed to lorries | TechCrunch", True),
        ("[R] Learning to see birds in the dark", "Learning to see birds in the dark [pdf]", True),
        ("Kestrel & Hawk merge their databases today", "Kestrel and Hawk merge their databases today", True),
        ("Harbour bridge closed to lorries - Part 1", "Harbour bridge closed to lorries - Part 2", False),
        ("Weather for the long weekend - London", "Weather for the long weekend - Paris", False),
        ("Flights to London resume after the storm", "Flights from London resume after the storm", False),
        ("Attack on Iran by Israel is condemned", "Attack on Israel by Iran is condemned", False),
        ("Kestrel v1.2 released with many new birds", "Kestrel v1.3 released with many new birds", False),
        ("A short title", "A short title", False),
    ],
)
def test_titles_that_differ_in_spelling_only_tell_one_story(one, other, same):
    assert merged(story("a", one, "x"), story("b", other, "y")) == ([("b", "a")] if same else [])


ABSTRACT = (
    "We introduce Kestrel, a database that decides for each query how many birds to count. On four lakes, Kestrel cuts the "
    "time of a count by 38% while it stays within 4 birds of the whole list. The code is free, and so are the birds. Older "
    "databases count every bird each time that they are asked, which no lake has time for."
)


@pytest.mark.parametrize(
    ("one", "other", "text", "same"),
    [
        ("[2609.01234] Kestrel: counting the birds", "Kestrel: counting the birds", None, True),
        ("arXiv:2609.01234v2 Kestrel: counting the birds", "Kestrel: counting the birds", None, True),
        ("Kestrel: counting the birds [v2]", "Kestrel: counting the birds", None, True),
        ("Kestrel: counting the birds (arXiv:2609.01234v1 [cs.DB])", "Kestrel: counting the birds", None, True),
        ("Kestrel: couting the birds", "Kestrel: counting the birds", ABSTRACT.replace("38%", "39%"), True),
        ("Counting the birds of lakes: Kestrel", "Kestrel: counting the birds of lakes", ABSTRACT + " More.", True),
        ("A new way to see how many there are", "Kestrel: counting the birds", ABSTRACT, True),
        ("A new way to see how many there are", "Kestrel: counting the birds", ABSTRACT.replace("38%", "39%"), False),
        ("Kestrel: couting the birds", "Kestrel: counting the birds", "Something else. " * 20, False),
        ("Seminar on birds, Session 153", "Seminar on birds, Session 155", ABSTRACT, False),
        ("Birds in C#", "Birds in F#", ABSTRACT, False),
        ("Birds, part I", "Birds, part II", ABSTRACT, False),
        ("Counting birds in London", "Counting birds in Paris", ABSTRACT, False),
        ("The birds of May, counted", "What was counted of birds in June", ABSTRACT, False),
        ("Counting the birds of the north sea", "Counting the birds of the south sea", ABSTRACT, False),
    ],
)
def test_the_same_text_by_the_same_authors_is_one_story_under_two_titles(one, other, text, same):
    first = story("a", one, "x", who=["Wei Liu", "Ana Chen"], text=ABSTRACT)
    second = story("b", other, "y", who=["Chen, Ana", "Liu, Wei"], text=text or "")
    assert merged(first, second) == ([("b", "a")] if same else [])
    strangers = story("c", other, "z", who=["Bo Park"], text=text or "")
    assert text is None or merged(first, strangers) == []
    assert merged(first, story("d", other, "x", who=["Wei Liu", "Ana Chen"], text=text or "")) == []


LONG = "Harbour bridge closed to lorries until the spring"


def test_never_inside_one_source_and_never_a_week_apart():
    assert merged(story("a", LONG, "x"), story("b", LONG, "x")) == []
    assert merged(story("a", LONG, "x"), story("b", LONG, "y", day=8)) == []
    assert merged(story("a", LONG, "x"), story("b", LONG, "y", day=7)) == [("b", "a")]


def test_two_of_one_source_are_never_joined_by_a_third():
    assert merged(story("a", LONG, "x"), story("b", LONG, "y"), story("c", LONG, "y")) == [("b", "a")]


def test_the_higher_rank_stays():
    assert merged(story("a", LONG, "x"), story("b", LONG, "y", rank=(1,))) == [("a", "b")]


@given(st.lists(st.tuples(st.sampled_from([LONG, LONG.upper(), LONG + ".", "x"]), st.sampled_from("uvw")), max_size=9))
def test_merging_is_idempotent(rows):
    stories = [story(str(i), title, source) for i, (title, source) in enumerate(rows)]
    found = duplicates.merges(stories)
    gone = {each.gone for each in found}
    assert not gone & {each.kept for each in found}
    assert found == duplicates.merges(stories)


@given(
    st.permutations(
        [story(ref, LONG + end, ref) for ref, end in zip("abcd", ["", ".", " | TechCrunch", "!"], strict=True)]
    )
)
def test_order_of_arrival_changes_no_merge(stories):
    assert sorted(merged(*stories)) == [("b", "a"), ("c", "a"), ("d", "a")]


@given(st.text(string.printable, max_size=80), st.text(max_size=80))
def test_same_title_is_symmetric(one, other):
    assert duplicates.same_title(one, other) == duplicates.same_title(other, one)
    assert duplicates.same_title(one, one)


def test_rule_that_would_never_end_is_named(monkeypatch):
    monkeypatch.setattr(relevance, "RULE_SECONDS", 0.05)
    with pytest.raises(errors.ConfigError, match=r"takes too long"):
        relevance.belongs(["a" * 60 + "!"], [r"(?:a|aa)+$"], [])


BRIEFING = "Morning briefing: what you need to know today"
TEXTS = (
    "Ministers will vote on the fishing bill this afternoon, and the harbours of the north expect a strike.",
    "A storm has closed schools around Leeds; trains between York and Hull are cancelled until the evening.",
    "The fishing bill comes to a vote this afternoon. Fishermen in northern harbours say that a strike is likely.",
)


@pytest.mark.parametrize(("one", "other", "same"), [(0, 1, False), (0, 2, True), (1, 2, False), (0, 0, True)])
def test_one_title_over_texts_about_other_things_is_two_stories(one, other, same):
    stories = [
        duplicates.Story(ref, BRIEFING, frozenset([f"https://{ref}.example"]), DAY, text=TEXTS[number])
        for ref, number in (("a", one), ("b", other))
    ]
    assert bool(duplicates.merges(stories)) is same


def test_title_that_a_source_gives_every_week_merges_nothing():
    weekly = "Weekly discussion thread: ask anything"
    assert merged(story("a", weekly, "one"), story("b", weekly, "one", day=3), story("c", weekly, "two")) == []
