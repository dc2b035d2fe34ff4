"""At most two sentences, in every script, whatever ends them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter.curate import familynames, sentences, summary

# A script's words, what stands between its sentences, and what ends them.
SCRIPTS = {
    "English": ("rivers rise after rain", " ", ".!?"),
    "Russian": ("реки растут после дождя", " ", ".!?…"),
    "Greek": ("Ποταμοί φουσκώνουν μετά βροχή", " ", ".!;\u037e"),
    "Georgian": ("მდინარეები წვიმის შემდეგ", " ", ".!?"),
    "Armenian": ("գետերը բարձրանում են", " ", "։"),
    "Arabic": ("ترتفع الأنهار بعد المطر", " ", ".!؟"),
    "Urdu": ("بارش کے بعد دریا", " ", "۔؟!"),
    "Hebrew": ("הנהרות עולים אחרי גשם", " ", ".!?"),
    "Hindi": ("बारिश के बाद नदियाँ", " ", "।॥.!?"),
    "Tamil": ("மழைக்குப் பிறகு ஆறுகள்", " ", ".!?"),
    "Thai": ("แม่น้ำสูงขึ้นหลังฝนตก", " ", ".!?"),
    "Burmese": ("မိုးရွာပြီးနောက် မြစ်များ", " ", "။"),
    "Khmer": ("ទន្លេឡើងក្រោយភ្លៀង", " ", "។៕"),
    "Amharic": ("ከዝናብ በኋላ ወንዞች", " ", "።"),
    "Tibetan": ("ཆུ་བོ་ཆེ་བ", " ", "།"),
    "Korean": ("비가 온 뒤 강이 불어난다", " ", ".!?"),
    "Chinese": ("雨后河水上涨很快", "", "。！？!?"),
    "Japanese": ("雨のあと川が増える", "", "。！？!?"),
}


@given(st.sampled_from(sorted(SCRIPTS)), st.lists(st.integers(0, 3), min_size=3, max_size=6), st.booleans())
def test_a_summary_has_two_sentences_at_most_in_every_script(script, which, by_hand):
    words, gap, ends = SCRIPTS[script]
    if script == "Tibetan":
        return  # its full stop ends clauses as well, and is not taken for an end
    marks = [ends[number % len(ends)] for number in which]
    text = gap.join(f"{words[:1].upper()}{words[1:]} {number}{words[-1]}{mark}" for number, mark in enumerate(marks))
    found = summary.summarise(summary.Article(text, url="https://news.example/x", by_hand=by_hand)).text
    assert "0" in found
    assert not {"2", "3", "4", "5"} & set(found)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Он читал стихи, сказки и т. д. А. С. Пушкин жил в Москве. Это всё.",
         ["Он читал стихи, сказки и т. д.", "А. С. Пушкин жил в Москве.", "Это всё."]),
        ("Это книга Ф. М. Достоевского. Она вышла в 1866 г. Её читают все. В г. Москве тоже.",
         ["Это книга Ф. М. Достоевского.", "Она вышла в 1866 г.", "Её читают все.", "В г. Москве тоже."]),
        ("В 1799 г. А. С. Пушкин родился. Это всё.", ["В 1799 г. А. С. Пушкин родился.", "Это всё."]),
        ("他说：“今天很好。”我们走吧!明天见。", ["他说：“今天很好。”", "我们走吧!", "明天见。"]),
        ("“你好吗?”他问。她笑了!", ["“你好吗?”他问。", "她笑了!"]),
        ("「はい。」と彼は言った。雨だ。", ["「はい。」と彼は言った。", "雨だ。"]),
        ("Methods: We weighed 200 mice Results: They grew by 12% Conclusions: Food helps",
         ["Methods: We weighed 200 mice.", "Results: They grew by 12%.", "Conclusions: Food helps"]),
        ("- The first thing is here\n- The second is there\n- Third",
         ["- The first thing is here.", "The second is there.", "Third"]),
        ("Background\n\nMice are small\n\nMethods\n\nWe weighed some", ["Background: Mice are small.", "Methods: We weighed some"]),
        ("A line that is broken\nin its middle. The next.", ["A line that is broken in its middle.", "The next."]),
    ],
)  # fmt: skip
def test_sentences_end_where_their_script_and_their_list_end_them(text, parts):
    assert sentences.split(sentences.tidy(text)) == parts


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Deng Xiaoping", "Deng"), ("Kim Min-jun", "Kim"), ("Kim Jong Un", "Kim"), ("Tanaka Hiroshi", "Tanaka"),
        ("Nguyễn Văn An", "Nguyễn"), ("Ho Chi Minh", "Ho"), ("An Van Nguyen", "Nguyen"),
        ("Xiaoping Deng", None), ("Min-jun Kim", None), ("Hiroshi Tanaka", None), ("Li Wei", None), ("Ren Sato", None),
        ("Lee Harvey Oswald", None), ("Kim Basinger", None), ("Abe Lincoln", None), ("Han Solo", None),
    ],
)  # fmt: skip
def test_family_name_that_stands_first_is_known_where_it_can_be(name, family):
    assert familynames.family(name.split()) == family


@pytest.mark.parametrize(
    ("line", "stays"), [("What's changed", False), ("Update", False), ("S085x", True), ("Version 2", True)]
)
def test_a_short_title_line_goes_and_what_names_something_stays(line, stays):
    text = f"<p>{line}</p><p>The bridge over the river is open again for trams.</p>"
    assert (line in sentences.tidy(text)) is stays


# Words that a splitter takes for abbreviations, and what begins a sentence and is no plain word.
WORDS = st.sampled_from("tasks code hard free found low human series lab stars sleep per house good fast".split())
STARTS = st.sampled_from(
    ["GPT-4", "PyTorch", "OpenAI", "SAP", "IKEA", "AI", "B12", "Llama-3", "A/B tests", "12 models"]
)


@given(st.lists(st.tuples(WORDS, STARTS), min_size=1, max_size=4))
def test_a_plain_word_ends_a_sentence_whatever_begins_the_next(found):
    parts = ["We look at the thing.", *(f"{start} solves what is {word}." for word, start in found)]
    assert sentences.split(" ".join(parts)) == parts


@pytest.mark.parametrize(
    "parts",
    [
        ["We test 9 models on 12 tasks.", "GPT-4 solves 80% of them.", "Llama-3 solves 31%.", "All fail at counting."],
        ["Remission came to 44% on A and 31% on B.", "B caused fewer side effects."],
        ["We give children vitamin D.", "Falls were rare.", "J. Smith did it first."],
        ["It took approx. GPT-4 a day.", "See fig. 3 and eq. 4 for that, i.e. B."],
        ["The meeting is called try! Swift and is in May.", "We go to it."],
        ["We use strings.Builder for the job.", "It is a fine thing."],
        ["Se mer i kap. 3 och s. 5 om det.", "Vi har inte mer."],
        ["Spotkanie jest o godz. 15 w Warszawie.", "To jest wszystko."],
        ["Dhr. Jansen komt ook mee naar huis.", "Wij wachten niet op hem."],
        ["Han bor i bl.a. København og Aarhus.", "Toget kører ikke."],
        ["Use max. 5 of them and approx. 100 g.", "No more is needed."],
        ["Er arbeitet bei Fa. Meier in Bonn.", "Das ist alles."],
    ],
)
def test_abbreviations_and_names_end_no_sentence(parts):
    assert sentences.split(sentences.tidy(" ".join(parts))) == parts


def test_terse_english_is_english():
    text = "We present OmniBench, a multilingual, multimodal benchmark covering 14 languages, 9 modalities, 31 domains."
    assert sentences.is_english(f"{text} GPT-5 scores 61.2%, Claude 58.4%, Gemini 57.0%.")
    assert not sentences.is_english("Wir zeigen OmniBench, einen Benchmark mit 14 Sprachen und 9 Modalitäten.")


def test_list_of_links_is_no_text():
    links = "".join(f"<li><a href='/{number}'>Thing {number}</a></li>" for number in range(4))
    assert sentences.tidy(f"<p>The tram is back.</p><ul>{links}</ul>") == "The tram is back."
    assert sentences.tidy("The tram is back.\n\n- [One](/1)\n- [Two](/2)\n- [Three](/3)\n") == "The tram is back."


def test_headings_in_capitals_are_labels():
    text = "OBJECTIVES To weigh 3 bees. METHODS A scale was used. RESULTS They weigh 0.1 g. CONCLUSIONS Bees are light."
    assert sentences.tidy(text).count(": ") == 4
