"""Whole abstracts in odd voices -> summaries that are true: null results, rivals, conditions, who "they" are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter.curate import authors, pronouns, sentences, summary, unbound, voice

MANY, ONE = ("Wei Liu", "Ana Chen", "Bo Park", "Ida Holm"), ("Noor Rahman",)
PAPER = "https://arxiv.org/abs/2609.00001"


def told(text, who=MANY, url=PAPER):
    return summary.summarise(summary.Article(text, tuple(who), url=url))


@pytest.mark.parametrize(
    ("text", "who", "expected"),
    [
        # nothing found is found, too
        ("Do higher fares empty trams? We study 138 changes of fares. We find no evidence that the number of riders fell. "
         "Fares rose in 40 towns. The data cover 1979 to 2016.", MANY,
         "Liu et al. study 138 changes of fares. They find no evidence that the number of riders fell."),
        ("It is often claimed that tea raises blood pressure. In a trial with 400 adults we find no evidence that tea "
         "raises blood pressure. The study lasted 12 weeks.", MANY,
         "Liu et al., in a trial with 400 adults, find no evidence that tea raises blood pressure. "
         "The study lasted 12 weeks."),
        # conditions
        ("Unless P = NP, we show that no program sorts all maps within a factor of 2. The proof is short.", MANY,
         "Liu et al. show that unless P = NP, no program sorts all maps within a factor of 2. The proof is short."),
        ("Assuming the Riemann hypothesis for all functions of the long and well known kind, we prove that gaps are at most "
         "5. The proof is short.", MANY,
         "Liu et al. prove that assuming the Riemann hypothesis for all functions of the long and well known kind, gaps "
         "are at most 5. The proof is short."),
        # rivals
        ("GPT-4 scores 93.1% on sums. We introduce TinyNet, a network for watches. GPT-4 reaches 94.0% with a calculator. "
         "TinyNet reaches 88.0%.", MANY,
         "Liu et al. introduce TinyNet, a network for watches. TinyNet reaches 88.0%."),
        # odd clauses
        ("Not only do we prove the conjecture of Ulam, but we also give an algorithm for it. It runs in 3 seconds.", MANY,
         "Liu et al. not only prove the conjecture of Ulam but also give an algorithm for it. It runs in 3 seconds."),
        ("Whereas our previous work considered trees, we now prove the bound for all graphs. The constant is 4.", MANY,
         "Liu et al. prove the bound for all graphs. The constant is 4."),
        ("We, the members of the panel, reviewed 52 trials of naps. The median trial lasted 3 days.", MANY,
         "Liu et al. reviewed 52 trials of naps. The median trial lasted 3 days."),
        ("Whether every space of this kind has a basis is unknown. We do not settle this. We do, however, construct a space "
         "without one.", MANY, "Liu et al. construct a space without one."),
        ("Bats avoid mills in rain, and nobody knows why. We find instead that moths hide 20 minutes before rain, and bats "
         "follow.", MANY, "Liu et al. find that moths hide 20 minutes before rain, and bats follow."),
        # "the authors" of somebody who says "we" are others
        ("We could not reproduce the 94% reported for DeepVein. With the authors' code we obtain 71%. The authors have "
         "confirmed the error. It is in line 40.", MANY,
         "Liu et al. could not reproduce the 94% reported for DeepVein."),
        # it is the paper
        ("This brief asks who owns the soil of the moon. It concludes that nobody does. Three states disagree.", ONE,
         "Rahman asks who owns the soil of the moon. Rahman concludes that nobody does."),
        ("The paper revisits the letters of a doctor. Reading ledgers beside them, it finds that he treated 1,500 patients.",
         ONE, "Rahman revisits the letters of a doctor. Rahman finds that he treated 1,500 patients."),
        # passives
        ("It is shown that every map of this kind is sparse. The proof uses 3 lemmas.", MANY,
         "Liu et al. show that every map of this kind is sparse. The proof uses 3 lemmas."),
        ("An open problem of Ulam is answered in the negative. The map has 17 points.", ONE,
         "Rahman answers an open problem of Ulam in the negative. The map has 17 points."),
    ],
)  # fmt: skip
def test_odd_voices_are_told_truly(text, who, expected):
    assert told(text, who).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # what "it", "them", "this" are, only the sentence before says
        ("Old scrolls are hard to date. We propose a method that dates them by ink.",
         "Liu et al. write: “Old scrolls are hard to date. We propose a method that dates them by ink.”"),
        ("Courts cite machines. This article argues that they should not.",
         "Liu et al. write: “Courts cite machines. This article argues that they should not.”"),
        ("The star dimmed, we said, because of dust. Pictures of 2025 show none. We withdraw the claim.",
         "Liu et al. write: “The star dimmed, we said, because of dust. Pictures of 2025 show none.”"),
        # nothing stands before: what follows is quoted, too
        ("In a trial I led, 48 patients took salt or sugar. Progress was the same in both arms.",
         "Liu et al. write: “In a trial I led, 48 patients took salt or sugar. Progress was the same in both arms.”"),
        ("Suppose that buyers are tired. Then, I show, a hidden tax is paid by buyers.",
         "Liu et al. write: “Suppose that buyers are tired. Then, I show, a hidden tax is paid by buyers.”"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_for_certain_is_quoted(text, expected):
    found = told(text)
    assert (found.text, found.origin) == (expected, summary.QUOTED)
    assert authors.begins(found.text, found.subject)


@pytest.mark.parametrize(
    ("sentence", "back"),
    [
        ("We raise this to 9 points.", True),
        ("We show why this works.", True),
        ("We bring data from 52,000 sales to bear on this puzzle.", True),
        ("We withdraw the claim.", True),
        ("We report a gene, OsBr9, that protects against it.", True),
        ("Our program predicts it six hours ahead.", True),
        ("We prove that none can do better than 1.53.", True),
        ("We give a proof that uses nothing new.", True),
        ("We ask how they were made.", True),
        ("We give a proof of the theorem of Gauss.", False),
        ("We study this kind of tree.", False),
        ("We build a tram and test it for two winters.", False),
        ("We follow nine crabs and find that they count.", False),
        ("We release a map that names every tree in the town.", False),
        ("We show that it is possible to sleep.", False),
    ],
)
def test_what_only_the_sentence_before_explains_is_known(sentence, back):
    assert unbound.points_back(sentence) is back


@pytest.mark.parametrize(
    ("sentence", "who", "third"),
    [
        ("prove the bound, and we also give a map.", MANY, "prove the bound, and they also give a map."),
        ("show that models fail when we shuffle words.", MANY, "show that models fail when the authors shuffle words."),
        ("was surprised, and I am sorry.", ONE, "was surprised, and the author is sorry."),
        ("find that the tide falls when we sleep.", ONE, "find that the tide falls when the author sleeps."),
        ("show that users trust our rivals.", MANY, "show that users trust the authors' rivals."),
        ("show that users trust our method.", MANY, "show that users trust their method."),
        ("ask 40 people: “Do you trust us?”", MANY, "ask 40 people: “Do you trust us?”"),
        (
            "measures our galaxy with our telescope.",
            ("ATLAS Collaboration",),
            "measures the galaxy with its telescope.",
        ),
    ],
)
def test_the_first_person_becomes_whoever_it_is(sentence, who, third):
    assert pronouns.they(sentence, authors.subject(who)) == third


WE = st.sampled_from(["we", "our", "us", "ourselves", "ours", "my", "I", "We", "Our", "the", "models", "they", "this"])
SAID = st.lists(
    WE | st.sampled_from("show that a map of 5 birds is small , and when if it".split()), min_size=2, max_size=16
)


@given(st.lists(SAID.map(lambda words: " ".join(words).capitalize() + "."), min_size=1, max_size=5),
       st.sampled_from([MANY, ONE, ("ATLAS Collaboration",)]))  # fmt: skip
def test_no_paper_speaks_in_the_first_person_outside_of_quotation_marks(parts, who):
    found = told(" ".join(["We introduce Glide.", *parts]), who)
    if found.origin in (summary.EXTRACTED, summary.QUOTED):
        assert not pronouns.left(found.text)
        assert authors.begins(found.text, found.subject)
        assert len(sentences.split(re.sub("“.*”", "x.", found.text))) <= 2


def test_a_capital_that_may_be_the_sentences_own_stands_behind_a_colon():
    subject = authors.subject(MANY)
    assert voice.opening("Measles rose by 5%.", subject) == "Liu et al. report: Measles rose by 5%."
    assert voice.opening("Measles rose by 5%.", subject, {"Measles"}) == "Liu et al. report that Measles rose by 5%."
    assert voice.opening("Measles rose by 5%.", subject, {"measles"}) == "Liu et al. report that measles rose by 5%."
    assert voice.opening("The sea rose by 5%.", subject) == "Liu et al. report that the sea rose by 5%."


def test_a_list_of_changes_is_a_sentence_each_and_its_heading_none():
    text = (
        "<h2>What's new</h2><ul><li>The tram stops at night too now</li><li>It has 2 doors</li><li>It is red</li></ul>"
    )
    assert told(text, (), "https://trams.example/news").text == "The tram stops at night too now. It has 2 doors."


def test_blog_that_says_i_is_quoted_and_news_is_not():
    blog = "Last week I moved our mail to a new host. It took four hours, not two. We lost nothing. I will do it again."
    found = told(blog, ("Sue Park",), "https://blog.example/x")
    assert found.text == "Park writes: “Last week I moved our mail to a new host. It took four hours, not two.”"
    assert (
        told(blog, (), "https://blog.example/x").text
        == "Last week I moved our mail to a new host. It took four hours, not two."
    )


# -- whose result it is ----------------------------------------------------------------------------------------------

TWO = ("Ann Bell", "Bo Park")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We present Owl, a tracker for drones. ByteTrack reaches a HOTA of 61.3 on this benchmark. Owl reaches 66.8.",
         "Bell and Park present Owl, a tracker for drones. Owl reaches 66.8."),
        ("We introduce Zed, an optimizer. Adam reaches 71.2% here and needs 40 hours. Zed reaches 71.0% in 11 hours.",
         "Bell and Park introduce Zed, an optimizer. Zed reaches 71.0% in 11 hours."),
        ("We introduce Zed, an agent. GPT-4 alone achieves 35%. With Zed it achieves 62%.",
         "Bell and Park introduce Zed, an agent. GPT-4 alone achieves 35%; with Zed it achieves 62%."),
        ("We introduce a solver of puzzles. The previous best, Orr, solves 71%. Ours solves 83%.",
         "Bell and Park introduce a solver of puzzles. The previous best, Orr, solves 71%; theirs solves 83%."),
        ("We report a trial of a vaccine in 900 adults. The placebo arm had 12%. The vaccine arm had 3%.",
         "Bell and Park report a trial of a vaccine in 900 adults. The placebo arm had 12%; the vaccine arm had 3%."),
        ("We test if news move hopes. Households in the control group expected 4.8%. Those who saw it expected 3.9%.",
         "Bell and Park test if news move hopes. Households in the control group expected 4.8%; those who saw it expected "
         "3.9%."),
        ("We report a trial of a vaccine in 900 adults. The placebo arm had 12% fevers.",
         "Bell and Park report a trial of a vaccine in 900 adults."),
        # "it" stands for what a sentence names that is left out
        ("We ask whether sleep improves memory. According to Walker, one night halves recall. In our sample of 412 "
         "students it lowers recall by 4%.", "Bell and Park ask whether sleep improves memory."),
        ("The crisis is blamed on loans. Mian and Sufi estimate that it explains 60% of the fall. We use new data on 3,000 "
         "towns and find that it explains 22%.",
         "Bell and Park write: “Mian and Sufi estimate that it explains 60% of the fall. We use new data on 3,000 towns "
         "and find that it explains 22%.”"),
        # where a paper stands is not what it does
        ("This study contributes to the growing literature on fares. We estimate that 94% is passed on. Riders bore it.",
         "Bell and Park estimate that 94% is passed on. Riders bore it."),
        ("OBJECTIVES To compare two lenses. DESIGN Trial in 3 towns. RESULTS Halos were seen by 12% and 31% of people. "
         "CONCLUSIONS Lens A causes fewer halos.",
         "Bell and Park report that halos were seen by 12% and 31% of people. Lens A causes fewer halos."),
    ],
)  # fmt: skip
def test_a_rivals_number_is_never_told_as_the_result(text, expected):
    assert told(text, TWO).text == expected


@given(st.sampled_from(["The placebo arm had", "Controls had", "The previous best had", "Baselines had", "GPT-4 alone had"]),
       st.integers(11, 48), st.integers(50, 99))  # fmt: skip
def test_a_comparators_number_stands_only_beside_the_own(who, theirs, ours):
    text = f"We build a new way to count bees. {who} {theirs}%. The new way had {ours}%. It rained on all days of the study."
    found = told(text, TWO).text
    assert f"{theirs}%" not in found or f"{ours}%" in found


def test_they_are_not_those_who_are_named_last():
    text = "We test what Lane and Roe claim of bees, as Lane and Roe claim. We find that 3 of 4 bees count."
    assert "They" not in told(text, TWO).text


# -- blogs, shows and news -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "who", "expected"),
    [
        ("The third release candidate of the press is now available. We've made changes that we love. Hope you test it!",
         ("Matt Roe",), "The third release candidate of the press is now available."),
        ("We knew the Earth was flat, and then we knew it was round. Science is slow. It took 300 years.", ("Neil Orr",),
         "Orr writes: “We knew the Earth was flat, and then we knew it was round. Science is slow.”"),
        ("We have decided to make a big change to our marketing strategy. It starts now. This report explains why.", (),
         "We have decided to make a big change to our marketing strategy. It starts now."),
        ("Get $50 off with code POD. In this episode we meet a fisherman. We ask how he reads tides. Join the author!",
         TWO, "Bell and Park write: “In this episode we meet a fisherman. We ask how he reads tides.”"),
        ("I asked him. He said: “We were wrong.” I left the town. It was late.", ("Ann Bell",),
         "Bell writes: “I asked him. He said: ‘We were wrong.’”"),
    ],
)  # fmt: skip
def test_no_blog_is_told_as_a_paper(text, who, expected):
    assert told(text, who, "https://blog.example/x").text == expected


def test_collaboration_before_a_colon_is_the_author():
    assert authors.subject(["LHCb collaboration: R. Aaij"]).phrase == "The LHCb Collaboration"
