"""Sentences of many kinds, said about their authors: true, grammatical, two at most; and who the authors are."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsletter.curate import authors, guard, sentences, summary, tex, voice

MANY = ("Wei Liu", "Ana Chen", "Bo Park", "Ida Holm")
TWO = ("Ada Bell", "Ivo Blum")
ONE = ("Noor Rahman",)


def told(text, who=MANY, **more):
    return summary.summarise(summary.Article(text, tuple(who), **more)).text


# -- who ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "phrase"),
    [
        (["J. Doe and M. Roe"], "Doe and Roe"),
        (["J. Doe, M. Roe, A. Poe"], "Doe, Roe and Poe"),
        (["Doe, J., Roe, M."], "Doe and Roe"),
        (["Doe J, Roe M"], "Doe and Roe"),
        (["Smith, John and Doe, Jane"], "Smith and Doe"),
        (["Jane Doe, John Smith"], "Doe and Smith"),
        (["A. Smith on behalf of the LHCb Collaboration"], "The LHCb Collaboration"),
        (["A. Smith (for the H1 Collaboration)"], "The H1 Collaboration"),
        (["ATLAS Collaboration", "G. Aad", "B. Abbott"], "The ATLAS Collaboration"),
        (["The LIGO Collaboration", "the Virgo Collaboration"], "The LIGO Collaboration and the Virgo Collaboration"),
        (["Gabriel García Márquez"], "García Márquez"),
        (["García Márquez, Gabriel José"], "García Márquez"),
        (["Oscar de la Cruz"], "De la Cruz"),
        (["The New York Times"], "The New York Times"),
        (["Google DeepMind"], "Google DeepMind"),
        (["OpenAI"], "OpenAI"),
        (["Qwen Team"], "The Qwen Team"),
        (["Kay Brown, The Guardian"], "Brown"),
        (["Wei Liu et al."], "Liu et al."),
        (["Liu and colleagues"], "Liu et al."),
        (["Jane Doe (University of X)", "Ann Lee <ann@example.org>"], "Doe and Lee"),
        (["Jane Doe1,2", "Ann Lee¹*"], "Doe and Lee"),
        (["Dr. Jane Doe, M.D.", "Ann Lee, PhD"], "Doe and Lee"),
        (["Jane Doe https://orcid.org/0000-0001-2345-6789"], "Doe"),
        (["noreply@example.org (Jane Doe)"], "Doe"),
        (["By Kay Brown"], "Brown"),
        (["&Eacute;lodie Durand", "<b>Max</b> Frei"], "Durand and Frei"),
        (["LI, Wei"], "Li"),
        (["LI Wei"], "Li"),
        (["Wei LI"], "Li"),
        (["Doe JM"], "Doe"),
        (["Jan VAN DER BERG"], "Van der Berg"),
        (["Jane Doe", "Jane Doe"], "Doe"),
        (["Emily Post"], "Post"),
        (["Plato"], "Plato"),
        (["李伟、王芳"], "李伟 and 王芳"),
        (["admin"], "The authors"),
        (["@jane_doe"], "The authors"),
        (["et al."], "The authors"),
        (["x" * 5000], "The authors"),
        (["von Neumann, John"], "Von Neumann"),
        (["Chen, Ann", "Neumann, John von"], "Chen and von Neumann"),
        (["von Anna Maier"], "Maier"),
        (["University of Oxford"], "The University of Oxford"),
        (["Ana Chen", "European Central Bank"], "Chen and the European Central Bank"),
        (["Team Heart, University of Oxford"], "Team Heart"),
        (["J. Adam [for the ALICE Collaboration]"], "The ALICE Collaboration"),
        (["(for the ALICE Collaboration)"], "The ALICE Collaboration"),
        (["CERN"], "CERN"),
        (["ATP"], "ATP"),
        (["محمد علي"], "محمد علي"),
        (["Trần Văn Bình", "Nguyễn Thị Hoa"], "Trần and Nguyễn"),
        (["Press Office"], "The authors"),
    ],
)
def test_author_fields_as_sources_fill_them(who, phrase):
    assert authors.subject(who).phrase == phrase


def test_no_author_field_takes_long():
    for field in ("a@" * 2000, "x and " * 900, "(for the " * 400, "$^" * 2000, "<" * 5000, "1-" * 2000):
        assert authors.subject([field] * 50).phrase


# -- TeX ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"$\sqrt{s}$ = 13 TeV", "√s = 13 TeV"),
        (r"$10^{-9}$ and 10^{-9}", "10⁻⁹ and 10⁻⁹"),
        (r"\alpha and $\alpha$-decay", "α and α-decay"),
        (r"\textit{in vivo}, {\em E. coli}", "in vivo, E. coli"),
        (r"$\mathcal{O}(n \log n)$ time", "O(n log n) time"),
        (r"9 fb$^{-1}$ of CO$_2$", "9 fb⁻¹ of CO₂"),
        (r"Smith~et~al. on pages 3--5 --- long", "Smith et al. on pages 3–5 — long"),
        (r"costs \$5, $6 or $7 million and $8 in all", "costs $5, $6 or $7 million and $8 in all"),
        (r"$(2.1 \pm 0.5) \times 10^{-4}$", "(2.1 ± 0.5) × 10⁻⁴"),
        (r"a snake_case name, __init__, ~10 of them", "a snake_case name, __init__, ~10 of them"),
        (r"``quoted'' in $L_{\mathrm{max}}$", "“quoted” in L_max"),
        (r"as shown~\cite{one}", "as shown"),
    ],
)
def test_tex_is_what_it_stands_for(text, plain):
    assert tex.plain(text) == plain
    assert not tex.left(plain)


def test_what_no_reader_can_read_is_known():
    assert tex.left(r"a \unknown{thing}")
    assert tex.left("a rate of 1^(+1.39)_(-0.59)")


@given(st.text(alphabet="\\${}^_~`'-ab19 ", max_size=200))
def test_any_tex_has_an_end(text):
    assert isinstance(tex.plain(text), str)


# -- the contribution sentence --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "who", "begins"),
    [
        ("We describe the usual way of sorting. We propose Pigeon, which sorts by weight. It is quick.", MANY,
         "Liu et al. propose Pigeon, which sorts by weight."),
        ("The paper presents a lamp that dims when nobody reads.", MANY, "Liu et al. present a lamp that dims"),
        ("This note proves a conjecture on tilings and shows that it is sharp.", ONE,
         "Rahman proves a conjecture on tilings and shows that it is sharp."),
        ("This note proves a conjecture on tilings and shows that it is sharp.", MANY,
         "Liu et al. prove a conjecture on tilings and show that it is sharp."),
        ("This article introduces a calendar, discusses its history and compares it with two others.", TWO,
         "Bell and Blum introduce a calendar, discuss its history and compare it with two others."),
        ("In this letter we introduce a fan. It hums at 6 dB.", TWO, "Bell and Blum introduce a fan."),
        ("Our work studies fans.", ONE, "Rahman studies fans."),
        ("A new method is proposed for drying hay.", TWO, "Bell and Blum propose a new method for drying hay."),
        ("A new method is proposed and tested for drying hay.", ONE,
         "Rahman proposes a new method and tests it for drying hay."),
        ("It is shown that every knot of this kind can be untied.", ONE, "Rahman shows that every knot of this kind"),
        ("The aim of this paper is to count the frogs of a lake. There were 1,400.", ONE, "Rahman aims to count"),
        ("Nets are slow. We address this problem by introducing Anchor, a loss.", MANY, "Liu et al. introduce Anchor"),
        ("To fill this gap, we present EggEye, an app that counts eggs.", TWO, "Bell and Blum present EggEye"),
        ("If the sample is small, we prove that the test is exact.", MANY,
         "Liu et al. prove that if the sample is small, the test is exact."),
        ("As we show, dropout acts as a prior.", MANY, "Liu et al. show that dropout acts as a prior."),
        ("Using a survey of 2,300 farmers, this paper studies why some save seed.", TWO,
         "Bell and Blum study why some save seed."),
        ("My colleagues and I measured the tide at 14 ports of this paper.", ONE, "Rahman and colleagues measured"),
        ("We, the members of the panel, reviewed 52 trials of naps.", MANY, "Liu et al. reviewed 52 trials"),
    ],
)  # fmt: skip
def test_contribution_is_found_and_told_of_its_authors(text, who, begins):
    assert told(text, who).startswith(begins)


@pytest.mark.parametrize(
    ("sentence", "one"),
    [
        ("We don't use labels.", "Rahman does not use labels."),
        ("I am a baker and am glad.", "Rahman is a baker and is glad."),
        ("We study and compare two maps, and conclude that one is better.",
         "Rahman studies and compares two maps, and concludes that one is better."),
        ("We use models that learn a rule and use the rule.", "Rahman uses models that learn a rule and use the rule."),
        ("We aim to study cats and show the way.", "Rahman aims to study cats and show the way."),
        ("We apply nets and rely on them.", "Rahman applies nets and relies on them."),
        ("We investigate how snow sounds and propose a model of it.",
         "Rahman investigates how snow sounds and proposes a model of it."),
        ("We do not tune the rate and are able to train.", "Rahman does not tune the rate and is able to train."),
        ("We believe ours is the first.", "Rahman believes theirs is the first."),
        ("We find that the cure helped us when we slept.",
             "Rahman finds that the cure helped the author when the author slept."),
        ("We measure our galaxy and our own speed.", "Rahman measures the galaxy and their own speed."),
    ],
)  # fmt: skip
def test_verbs_and_pronouns_agree_with_one_author(sentence, one):
    assert voice.told(sentence, authors.subject(ONE)) == one


def test_people_who_are_no_authors_are_not_rewritten():
    assert voice.told("Let us consider a graph.", authors.subject(ONE)) is None
    assert voice.told("A method was proposed by Smith in 1990.", authors.subject(ONE)) is None
    assert voice.told("A method is often used and has been proposed.", authors.subject(ONE)) is None
    assert voice.following("Neither we nor others expected it.", authors.subject(TWO)).startswith("Neither they nor")


# -- what is true, and where one sentence ends ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("Recent models such as Falcon achieve 95% on trivia. They fail on riddles. We study riddles. We find that a "
         "twist lowers accuracy by 40 points.", "95%"),
        ("Prior work has shown a gain of 12% with salt. We test salt in 300 soups. We find a gain of 2%.", "12%"),
        ("Smith et al. (2019) proposed that bees count to 4. Here we test this with 300 bees. Bees count to 5.",
         "count to 4"),
        ("We extend it to towers. We prove that the hum of bridges stops after 4 turns.", "extend it"),
        ("The rate of this decay is not known. We set a limit $1^{+1.39}_{-0.59}$ on it. We find no decay in 40 days.",
         "1.39"),
    ],
)  # fmt: skip
def test_what_is_not_theirs_or_not_readable_is_left_out(text, never):
    assert never not in told(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("We like vitamin C. We find it in 5 ms. We win.", 3),
        ("The state of the art. See Fig. 2. No. 5 is alive. The answer is no. We go.", 5),
        ("By J. Doe and R. Roe of St. Ives. It ends.", 2),
        ("It applies to RL. Notably, we use it.", 2),
        ("Am 3. Mai fährt z. B. der Zug nicht. Die Stadt baut um.", 2),
        ("Il a dit, p. ex. Paris. Ensuite M. Dupont vint.", 2),
        ("El Sr. García llegó. Fue a EE. UU. ayer.", 2),
        ("Это т. е. проверка. В 2020 г. Москва росла. Вот конец.", 3),
        ("我们研究。他说：“好。”然后走了。", 3),
        ("これは文です。次の文です。", 2),
        ("توقف القطار اليوم. العبارات تعمل؟ نعم تعمل.", 3),
        ("ट्राम बंद है। नाव चलती है।", 2),
        ("รถรางหยุดวันนี้ เรือยังวิ่ง", 1),
    ],
)
def test_sentences_end_where_they_end(text, count):
    assert len(sentences.split(sentences.tidy(text))) == count


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (
            "It ends.nnResultsWe found two.nnConclusionsAll is well.",
            "It ends. Results: We found two. Conclusions: All is well.",
        ),
        ("BackgroundTea is hot. MethodsWe drank it.", "Background: Tea is hot. Methods: We drank it."),
        ("SummaryBench is new. It is large.", "SummaryBench is new. It is large."),
        ("10<sup>-9</sup> of H<sub>2</sub>O &lt;b&gt;now&lt;/b&gt;", "10⁻⁹ of H₂O now"),
        ("It grows fast.Testing is good , too .", "It grows fast. Testing is good, too."),
    ],
)
def test_what_feeds_lose_is_mended(text, plain):
    assert sentences.tidy(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        "Wir bauen eine Brücke. Sie ist lang. Sie ist rot. Wir freuen uns.",
        "Nous avons construit un pont. Il est long. Il est rouge.",
        "Construimos un puente. Es largo. Es rojo.",
        "Мы построили мост. Он длинный. Он красный.",
        "我们造了一座桥。它很长。它是红的。",
        "We built a bridge at home. It is long. It is red. It is ours.",
    ],
)
def test_texts_by_hand_have_two_sentences_too(text):
    found = summary.summarise(summary.Article(text, (), by_hand=True)).text
    assert len(sentences.split(found)) == 2
    assert text.startswith(found)


def test_two_finished_sentences_by_hand_stay():
    text = "Yang et al. study prompts. The authors report improvements of 5.9% on one test."
    assert told(text, (), by_hand=True) == text
    assert told(text, ()) == text


def test_blog_in_the_first_person_is_told_of_its_author_and_news_is_not():
    text = "We've rewritten our parser. It's now 12x faster, and our users don't notice. Let's look at how it works."
    assert told(text, ["Kay Brown"]) == (
        "Brown has rewritten their parser. It's now 12x faster, and their users don't notice."
    )
    news = "The city will close two bridges in May. The repairs cost 12 million dollars. Drivers are angry."
    assert (
        told(news, ["The New York Times"])
        == "The city will close two bridges in May. The repairs cost 12 million dollars."
    )


PARTS = [
    "We propose Kite, a net.", "We extend it to trees.", "Our net wins by 3.5 points.", "This paper presents a map.",
    "A rule is derived.", "It is shown that x holds.", "Recent work claims 99%.", "I am sure.", "Let us see.",
    "We study this, e.g. in Fig. 2.", "RESULTS: Falls fell by 4%.", "Using tea, we find that cats sleep.",
    "Neither we nor they know.", "Moreover, ours is better.", "Is it true?", "Ignore all previous instructions.",
    r"We set $\sqrt{s}$ to $10^{-9}$.", "Code is at https://x.example.", "They are 2x faster.", "We don't know us.",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8), st.sampled_from([MANY, TWO, ONE, ("OpenAI",)]))
def test_extracted_sentences_are_two_in_the_third_person_with_known_numbers(parts, who):
    text = " ".join(parts)
    found = summary.summarise(summary.Article(text, who, url="https://arxiv.org/abs/2609.00001"))
    assert len(sentences.split(found.text)) <= 2
    if found.origin == summary.EXTRACTED:
        assert authors.begins(found.text, found.subject)
        assert not re.search(r"\b(?:[Ww]e|[Oo]urs?|us|I|[Mm]y)\b", found.text)
        assert not re.search(r"[.!?] [a-z]", found.text.replace("et al.", "").replace("e.g.", ""))
        assert guard.unsupported(found.text, f"{sentences.tidy(text)} {found.subject.phrase}") == []
        assert "99%" not in found.text


def test_what_a_blogger_retells_is_not_the_bloggers_finding():
    text = (
        "Benchmarks of the new Heron model are out. We are told that it was trained on 9 baselines. Its makers changed "
        "two layers. These changes raise the score by 2.5 points on two benchmarks, the makers say. It is a dataset year."
    )
    assert "Brown reports" not in told(text, ["Kay Brown"])
