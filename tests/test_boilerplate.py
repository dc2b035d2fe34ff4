"""What generators put around a text goes; what an author wrote stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter.sources import boilerplate

TEXT = "Otters came back to the river this spring. Nobody knows why."


@pytest.mark.parametrize(
    "put",
    [
        "{}\n\nThe post Otters return appeared first on The River.",
        "{} The post Otters return first appeared on The River.",
        "{}\n\nDer Beitrag Otter kehren zurück erschien zuerst auf Der Fluss.",
        "{}\n\nL’article Le retour est apparu en premier sur La Rivière.",
        "{}\n\nArtykuł Wydry wracają pochodzi z serwisu Rzeka.",
        "{}\n\nRead more",
        "{}\n\nRead more »",
        "{}\n\nContinue reading Otters return →",
        "{} [Read more…]",
        "{}… Read More Here →",
        "{} Read more »",
        "{}\n\n(more…)",
        "{}\n\nLire la suite",
        "{}\n\nWeiterlesen",
        "{}\n\n12 comments",
        "{}\n\nArticle URL: https://site.test/a\n\nComments URL: https://news.test/item?id=1\n\nPoints: 4\n\n# Comments: 2",
        "{} submitted by /u/ann to r/otters [link] [3 comments]",
        "{}\n\nRead more\n\nThe post Otters return appeared first on The River.",
        "arXiv:2609.01234v1 Announce Type: new Abstract: {}",
        "The Lake, Published online: 02 October 2026; doi:10.5555/lake.77\n\n{}",
        "Otters Return\n\n{}",
        "Otters return!\n\n{}\n\nRead more",
    ],
)
def test_what_a_generator_puts_around_a_text_is_taken_off(put):
    assert boilerplate.without(put.format(TEXT), "Otters return").rstrip("…") == TEXT


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "We would like to read more.",
        "The post office appeared first on our map. It was red.",
        "The otters left comments",
        "Otters return, and with them the fish.",
        "There is more",
        "Published online: nothing.",
        "More",
    ],
)
def test_what_an_author_wrote_stays(text):
    assert boilerplate.without(text, "" if text == "More" else "Otters return") == text


def test_a_commits_first_line_is_not_said_twice():
    text = "Refactor the river parser This change avoids a flood."
    assert boilerplate.without(text, "Refactor the river parser") == "This change avoids a flood."


def test_a_text_that_only_says_its_title_says_nothing():
    assert boilerplate.without("Otters return.", "Otters return") == ""


@given(st.text(max_size=300), st.text(max_size=30))
def test_nothing_is_added_and_a_second_time_changes_nothing(text, title):
    found = boilerplate.without(text, title)
    assert found in text
    assert boilerplate.without(found, title) == found or len(found) < 40
