"""The author phrase at the start of a summary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter.render import words

PHRASES = [
    "Okafor et al.",
    "Lindqvist and Mora",
    "Yilmaz, Novák and O’Neil",
    "Silva and colleagues",
    "Ada Lovelace and her co-authors",
    "Van den Berg, de la Fontaine and Ben-David",
    "J. Smith & K. Łuczak",
    "The authors",
    "The researchers",
    "The Harbour Light team",
    "The ATLAS collaboration",
    "Researchers at Uppsala and Bergen",
    "A team from Delft",
    "Ferrari",
]


@pytest.mark.parametrize("phrase", PHRASES)
def test_an_author_phrase_is_found_whole(phrase):
    text = f"{phrase} shows that kelp slows the tide."
    assert text[: words.phrase(text)] == phrase


@pytest.mark.parametrize("text", ["Kelp slows the tide.", "It works.", "2 pumps are enough.", "", "the authors differ"])
def test_a_sentence_that_begins_otherwise_has_no_phrase(text):
    assert words.phrase(text) == 0


def test_without_a_phrase_the_first_words_are_taken_up_to_the_end_of_a_clause():
    cases = {
        "Trams that brake early save a tenth.": "Trams that brake",
        "Why the 14 is always late.": "Why the 14",
        "Kelp, once cut, grows back.": "Kelp",
        "All of the harbour was dry.": "All of the harbour",
        "Done.": "Done",
        "这里的潮汐很慢，海带很多。": "这里的潮汐很慢",
    }
    assert {text: text[: words.ends(text)[0]] for text in cases} == cases


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Okafor et al. haben 140 Sensoren angebracht.", "Okafor et al."),
        ("Lindqvist und Mora vergleichen zwei Marschen.", "Lindqvist und Mora"),
        ("Müller und Kollegen messen den Tang.", "Müller und Kollegen"),
        ("Die Autorinnen modellieren eine Stadt.", "Die Autorinnen"),
        ("Les chercheuses étudient la marée.", "Les chercheuses"),
        ("Lefèvre et ses collègues étudient la marée.", "Lefèvre et ses collègues"),
        ("Lindqvist et Mora étudient la marée.", "Lindqvist et Mora"),
        ("Los autores modelan una ciudad.", "Los autores"),
        ("Núñez y colaboradores miden la marea.", "Núñez y colaboradores"),
        ("Warum die 14 immer zu spät kommt.", "Warum die 14"),
        ("Une note de la côte sans lien.", "Une note de la côte"),
    ],
)
def test_the_same_forms_in_german_french_and_spanish(text, phrase):
    assert text[: words.ends(text)[0]] == phrase


def test_a_longer_handle_takes_words_that_tell_something():
    text = "The authors built a tide table for trams."
    assert [text[:end] for end in words.ends(text)][:4] == [
        "The authors",
        "The authors built",
        "The authors built a tide",
        "The authors built a tide table",
    ]


@given(st.text())
def test_ends_grow_and_never_leave_the_text(text):
    ends = words.ends(text)
    assert ends == sorted(set(ends))
    assert all(0 < end <= len(text) for end in ends)
    assert bool(ends) == bool(text.split())


def test_a_handle_of_an_endless_text_stays_short():
    assert len(words.ends("The authors count " + "kelp and " * 50_000)) <= 40


def test_authors_that_the_summary_begins_with_are_said():
    assert words.said("Okafor et al.", "Okafor et al. fitted sensors.")
    assert words.said("Okafor et al.", "Okafor and colleagues fitted sensors.")
    assert words.said("Lindqvist  and Mora", "Lindqvist and Mora compare marshes.")
    assert not words.said("Okafor et al.", "Okafors et al. fitted sensors.")
    assert words.said("Okafor et al.", "Okafor und Kollegen messen.")
    assert words.said("Okafor y colaboradores", "Okafor et al. miden.")
    assert not words.said("Okafor", "Okaforian tides.")
    assert not words.said("Mora et al.", "The authors fitted sensors.")
    assert not words.said("6 Sept 2026", "6 Sept 2026 was dry.")
    assert not words.said("", "Okafor")
