"""The guard's pairs: what a figure, a name or a date stands beside in an answer, it stands beside in the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter.curate import authors, guard, numbers, pairing

LIU = authors.subject(["Wei Liu", "Ana Chen", "Bo Park", "Ida Holm"])
FALSE = [  # the text, an answer that is refused
    (
        "SkipStep wins on 3 of the 5 tasks and loses on 2.",
        "Liu et al. test SkipStep on tasks. SkipStep wins 5 of 3 tasks.",
    ),
    (
        "SkipStep wins on 3 of the 5 tasks and loses on 2.",
        "Liu et al. test SkipStep on tasks. SkipStep wins on 2 of the 5 tasks.",
    ),
    (
        "Sleep did not differ between groups (p = 0.62) in the trial of naps.",
        "Liu et al. study naps and sleep. Sleep did not differ between groups (p < 0.62).",
    ),
    (
        "Sleep fell in the nap group (p < 0.05) in the trial of naps.",
        "Liu et al. study naps. Sleep fell in the nap group (p = 0.05).",
    ),
    (
        "TinyNet reaches 88.0% and GPT-4 reaches 93.1% on the test of birds.",
        "Liu et al. test birds. TinyNet reaches 93.1% and GPT-4 reaches 88.0% on the test.",
    ),
    (
        "TinyNet reaches 88.0% and GPT-4 reaches 93.1% on the test of birds.",
        "Liu et al. show that TinyNet reaches 93.1% on the test of birds.",
    ),
    (
        "Mortality was 12% in the treatment group and 17% in the control group.",
        "Liu et al. find that mortality was 17% in the treatment group and 12% in the control group.",
    ),
    (
        "Men scored 41 points and women scored 47 points in the test of memory.",
        "Liu et al. test memory. Men scored 47 points and women scored 41 points.",
    ),
    (
        "The service costs $5 per year for each school and is free for pupils.",
        "Liu et al. describe a service for pupils. It costs $5 per month for each school.",
    ),
    (
        "Falls happened 3 times per year in the old homes we studied.",
        "Liu et al. study falls in old homes. Falls happened 3 times per month.",
    ),
    (
        "The survey ran from March to June 2024 in two towns of the north.",
        "Liu et al. ran the survey in two towns. It ran from March to July 2024.",
    ),
    (
        "The eruption began on 3 May 2021 and ended on 9 June 2021 on the island.",
        "Liu et al. describe the eruption on the island. It began on 3 June 2021.",
    ),
    (
        "We introduce SkipStep, a router.",
        "Liu et al. introduce SkipStep, a router, see skipstep dot example.",
    ),
    (
        "We introduce SkipStep, a router.",
        "Liu et al. introduce SkipStep, a router, see skipstep (dot) io.",
    ),
    (
        "We introduce SkipStep, a router.",
        "Liu et al. introduce SkipStep, a router at router dot dev slash x.",
    ),
    (
        "The drug does not reduce mortality (3% and 3%). Older drugs reduce mortality in mice.",
        "Liu et al. test the drug. It reduces mortality (3% and 3%).",
    ),
    (
        "No significant difference in pain was seen (12% and 13%). The difference in cost was large.",
        "Liu et al. study pain. A significant difference was seen (12% and 13%).",
    ),
    (
        "Wages rose by 4% in towns. Rents did not rise in villages.",
        "Liu et al. study wages. Wages did not rise by 4% in towns.",
    ),
    (
        "The new drug lowers blood pressure and raises the pulse in adults.",
        "Liu et al. show that the new drug raises blood pressure in adults.",
    ),
    (
        "SkipStep outperforms GPT-4 on all tasks of the benchmark.",
        "Liu et al. show that GPT-4 outperforms SkipStep on all tasks of the benchmark.",
    ),
    (
        "Accuracy moves from 41.2% to 58.9% with the router.",
        "Liu et al. study accuracy. It moves from 58.9% to 41.2% with the router.",
    ),
    (
        "SkipStep cuts token use by 38%. Latency is measured, too, on all devices.",
        "Liu et al. introduce SkipStep. It cuts latency by 38%.",
    ),
    (
        "SkipStep cuts token use by up to 38% on four tasks.",
        "Liu et al. introduce SkipStep. It cuts token use by 38% on four tasks.",
    ),
    (
        "SkipStep cuts token use by 38% on four tasks.",
        "Liu et al. introduce SkipStep. It cuts token use by more than 38%.",
    ),
    (
        "The vote is on Tuesday in the town hall, said the mayor.",
        "Liu et al. say that the vote is on Thursday in the town hall.",
    ),
]
TRUE = [  # the text, an answer that passes
    (
        "SkipStep wins on 3 of the 5 tasks and loses on 2.",
        "Liu et al. test SkipStep, which wins three of five tasks.",
    ),
    (
        "Of 40 tasks, SkipStep solves 12 without help.",
        "Liu et al. show that SkipStep solves 12 of 40 tasks without help.",
    ),
    (
        "Sleep did not differ between groups (p = 0.62) in the trial of naps.",
        "Liu et al. study naps and sleep, which did not differ between groups (p = 0.62).",
    ),
    (
        "Sleep fell in the nap group (p < 0.05) in the trial of naps.",
        "Liu et al. find less sleep in the nap group (p < 0.05).",
    ),
    (
        "Latency stays below 250 ms on every phone that we tested.",
        "Liu et al. keep latency under 250 ms on every phone.",
    ),
    (
        "TinyNet reaches 88.0% and GPT-4 reaches 93.1% on the test of birds.",
        "Liu et al. test birds: TinyNet reaches 88.0%, and GPT-4 reaches 93.1%.",
    ),
    (
        "TinyNet reaches 88.0% and GPT-4 reaches 93.1% on the test of birds.",
        "Liu et al. find that GPT-4 (93.1%) beats TinyNet (88.0%) on the test of birds.",
    ),
    (
        "TinyNet and GPT-4 reach 88.0% and 93.1%, respectively.",
        "Liu et al. find that GPT-4 reaches 93.1% and TinyNet 88.0%.",
    ),
    (
        "Mortality was 12% in the treatment group and 17% in the control group.",
        "Liu et al. find a mortality of 12% with treatment, against 17% in the control group.",
    ),
    (
        "Mortality was 12% in the treatment group and 17% in the control group.",
        "Liu et al. find that treatment brings mortality in the group from 17% down to 12%.",
    ),
    (
        "The service costs $5 annually for each school and is free for pupils.",
        "Liu et al. describe a service that costs schools $5 a year.",
    ),
    (
        "Falls happened 3 times per year in the old homes we studied.",
        "Liu et al. study falls in old homes, which happened three times a year.",
    ),
    (
        "The survey ran from March to June 2024 in two towns of the north.",
        "Liu et al. ran a survey in two towns between March and June 2024.",
    ),
    (
        "The eruption began on 3 May 2021 and ended on 9 June 2021 on the island.",
        "Liu et al. describe the eruption on the island. It began in May 2021 and may return.",
    ),
    (
        "We compute dot products of vectors quickly with a router.",
        "Liu et al. compute dot products of vectors with a router.",
    ),
    (
        "The drug does not reduce mortality (3% and 3%).",
        "Liu et al. find that the drug has no effect on mortality (3% and 3%).",
    ),
    (
        "No significant difference in pain was seen (12% and 13%).",
        "Liu et al. study pain, without a significant difference (12% and 13%).",
    ),
    (
        "The new drug lowers blood pressure and raises the pulse in adults.",
        "Liu et al. show that the new drug reduces blood pressure in adults.",
    ),
    (
        "SkipStep outperforms GPT-4 on all tasks of the benchmark.",
        "Liu et al. show that SkipStep beats GPT-4 on all tasks of the benchmark.",
    ),
    (
        "SkipStep outperforms GPT-4 on all tasks of the benchmark.",
        "Liu et al. show that GPT-4 is outperformed by SkipStep on all tasks.",
    ),
    (
        "Accuracy moves from 41.2% to 58.9% with the router.",
        "Liu et al. move accuracy from 41.2 to 58.9% with the router.",
    ),
    (
        "Token use is high. SkipStep cuts it by 38%. Latency is measured.",
        "Liu et al. introduce SkipStep. It cuts token use by 38%.",
    ),
    (
        "SkipStep cuts token use by up to 38% on four tasks.",
        "Liu et al. introduce SkipStep, which cuts token use by up to 38%.",
    ),
    (
        "Averaged over 12 tasks, SkipStep cuts token use by 38%.",
        "Liu et al. cut token use by 38% on average over 12 tasks.",
    ),
    (
        "We evaluate 9 models in 5 programming languages. Python gives the best plans for 8 of the 9 models; the gap to the worst language is 12.5 points.",
        "Liu et al. evaluate 9 models in 5 languages. Python gives the best plans for eight of nine models.",
    ),
    (
        "Payments for results cut nitrate by 19% in two years, payments for effort by 7%.",
        "Liu et al. find that payments for results cut nitrate by 19%, and payments for effort by 7%.",
    ),
    (
        "A recogniser trained on it has a word error rate of 8.2%, compared with 11.9% for the best public model.",
        "Liu et al. train a recogniser whose word error rate is 8.2%, against 11.9% for the best public model.",
    ),
    (
        "A recogniser trained on it has a word error rate of 8.2%, compared with 11.9% for the best public model.",
        "Liu et al. train a recogniser. Its word error rate of 8.2% is below that of the best public model.",
    ),
    (
        "More than 3,000 patients took part; 12% stopped within a year.",
        "Liu et al. follow over 3,000 patients, of whom 12% stopped within a year.",
    ),
    (
        "At least 40 homes were lost in March, and 12 more by May 2022.",
        "Liu et al. count at least 40 homes lost in March.",
    ),
]


@pytest.mark.parametrize(("text", "answer"), FALSE)
def test_what_is_paired_otherwise_is_refused(text, answer):
    assert guard.refusal(answer, text, LIU) is not None


@pytest.mark.parametrize(("text", "answer"), TRUE)
def test_what_is_paired_as_in_the_text_is_not_refused(text, answer):
    assert guard.refusal(answer, text, LIU) is None


@given(st.text(max_size=300) | st.text("0123456789.%<>= offrmtomaypebyA-Zx,;", max_size=120))
def test_every_text_pairs_its_figures_as_itself(text):
    normal = numbers.normal(text)
    if "of" not in normal and "/" not in normal:  # "5 of 3" is refused whoever says it
        assert pairing.mispaired(normal, normal) is None


@given(st.integers(2, 900), st.integers(2, 900), st.sampled_from(["points", "%", "ms"]))
def test_exchanged_scores_are_refused(one, other, unit):
    text = f"On the test of birds, TinyNet reaches {one} {unit} and GPT-4 reaches {other} {unit}."
    answer = f"Liu et al. test birds. TinyNet reaches {other} {unit} and GPT-4 reaches {one} {unit}."
    assert (guard.refusal(answer, text, LIU) is None) == (one == other)
