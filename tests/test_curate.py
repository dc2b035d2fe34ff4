"""What belongs to a topic, and the words that an entry begins with."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsletter.curate import relevance, summary

WORDS = ("Policy optimisation for agents", "We train an Agent.", "Ada Lovelace", "cs.LG")


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


def test_short_text_is_left_alone_word_for_word():
    text = "Liu et al. replace X. It gains 3.2 %. A third sentence stays too."
    assert summary.lead(text) == text
    assert summary.lead("  A \n\t text ") == "A text"
    assert summary.lead("") == ""


def test_long_text_is_cut_to_its_first_two_sentences():
    first = "Liu et al. replace the reward model by Dr. Smith's rule, e.g. for 3.2 % of tasks."
    second = "It gains a lot."
    assert summary.lead(" ".join([first, second, "And more of it. " * 60])) == f"{first} {second}"


def test_text_without_full_stops_is_cut_between_words():
    found = summary.lead("word " * 2000)
    assert len(found) <= summary.LONGEST + 2
    assert found.endswith("word …")


def test_text_without_spaces_is_cut_too():
    assert len(summary.lead("x" * 5000)) <= summary.LONGEST + 2


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=3000))
def test_every_text_begins_as_it_did_and_is_short(text):
    found = summary.lead(text)
    assert len(found) <= summary.LONGEST + 2
    assert " ".join(text.split()).startswith(found.removesuffix(" …"))
