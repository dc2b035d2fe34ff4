"""Texts in many languages and encodings that do not say which: read right where that is sure, else as Western ones."""

import random

import babel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter.sources import charset

SENTENCES = {
    "ru": "Выдры строят плотины. Сегодня утром они переплыли реку на рассвете, и люди смотрели на них с моста.",
    "uk": "Видри будують греблі. Сьогодні вранці вони перепливли річку на світанку, і люди дивилися на них з мосту.",
    "bg": "Видрите строят бентове. Тази сутрин те преплуваха реката на разсъмване, а хората ги гледаха от моста.",
    "el": "Οι ενυδρίδες χτίζουν φράγματα. Σήμερα το πρωί διέσχισαν το ποτάμι και οι άνθρωποι τις κοίταζαν.",
    "he": "לוטרות בונות סכרים. הבוקר הן חצו את הנהר עם שחר, ואנשים צפו בהן מן הגשר.",
    "ar": "ثعالب الماء تبني السدود. عبرت النهر هذا الصباح عند الفجر وشاهدها الناس من الجسر.",
    "th": "นากสร้างเขื่อน เช้านี้ตัวนากว่ายข้ามแม่น้ำตอนรุ่งสาง และผู้คนมองดูจากสะพาน",
    "ja": "カワウソがダムを作る。今朝、川を渡り、人々は橋からそれを見ていた。",
    "zh": "水獭建造水坝。今天早上，水獭在黎明时分渡过了河流，人们在桥上看着它们。",
    "zh_Hant": "水獺建造水壩。今天早上，水獺在黎明時分渡過了河流，人們在橋上看著牠們。",
    "ko": "수달이 댐을 짓다. 오늘 아침 새벽에 강을 건넜고 사람들은 다리에서 그것을 바라보았다.",
    "fr": "Les loutres bâtissent des barrages : ce matin, elles ont traversé la rivière près de l’église.",
    "de": "Otter bauen Dämme. Heute früh überquerten sie den Fluss, und große Leute schauten von der Brücke aus zu.",
    "es": "¿Construyen más presas? Esta mañana las nutrias cruzaron el río, ¡qué señal!",
    "pt": "As lontras não param: esta manhã atravessaram o rio, e a informação é rápida.",
    "it": "Perché la città è già lì: le lontre hanno attraversato il fiume più veloce.",
    "sv": "Uttrar bygger dammar över ån, och människor såg på från bron på ön.",
    "da": "Oddere bygger dæmninger på øen, og folk så på fra broen på Fanø.",
    "is": "Otrar byggja stíflur þar sem áin rennur; fólkið horfði á þá af brúnni í morgun.",
    "en": "The otters’ café opened – “at last”, people said, and watched — naïvely.",
}
SURE = [
    ("ru", "windows-1251"),
    ("ru", "koi8-r"),
    ("ru", "iso-8859-5"),
    ("uk", "windows-1251"),
    ("uk", "koi8-u"),
    ("bg", "windows-1251"),
    ("el", "windows-1253"),
    ("el", "iso-8859-7"),
    ("he", "windows-1255"),
    ("ar", "windows-1256"),
    ("ar", "iso-8859-6"),
    ("th", "cp874"),
    ("ja", "euc-jp"),
    ("ja", "cp932"),
    ("zh", "gb2312"),
    ("zh", "gb18030"),
    ("zh_Hant", "big5"),
    ("ko", "euc-kr"),
]
WESTERN = ["fr", "de", "es", "pt", "it", "sv", "da", "is", "en"]


def legible(text, encoding):
    """What of a text can be written in an encoding, and its octets."""
    data = text.encode(encoding, "ignore")
    return data.decode(encoding), data


def names(language, many, seed):
    """Some names of countries and languages, as CLDR has them."""
    found = babel.Locale.parse(language)
    return ", ".join(random.Random(seed).sample([*found.territories.values(), *found.languages.values()], many)) + "."


@pytest.mark.parametrize(("language", "encoding"), SURE)
def test_sentence_is_read_in_the_encoding_that_it_is_written_in(language, encoding):
    text, data = legible(SENTENCES[language], encoding)
    assert data.decode(charset.guess(data), "replace") == text


@pytest.mark.parametrize(("language", "encoding"), SURE)
def test_so_is_it_among_markup_and_english_words(language, encoding):
    text, data = legible(f"<p>GitHub <a href='https://a.test/x'>{SENTENCES[language]}</a> &amp; RSS 2.0</p>", encoding)
    assert data.decode(charset.guess(data), "replace") == text


# ISO 8859-7 differs from Windows-1253 by one capital, which begins many of the names.
@pytest.mark.parametrize(("language", "encoding"), [pair for pair in SURE if pair != ("el", "iso-8859-7")])
def test_so_are_names_in_nine_of_ten_lists(language, encoding):
    right = 0
    for seed in range(20):
        text, data = legible(names(language, 25, seed), encoding)
        right += data.decode(charset.guess(data), "replace") == text
    assert right >= 18


@pytest.mark.parametrize("language", WESTERN)
def test_western_text_is_never_taken_for_anything_else(language):
    assert charset.guess(legible(SENTENCES[language], "windows-1252")[1]) == charset.WESTERN
    for seed in range(40):
        assert charset.guess(legible(names(language, 4 + seed, seed), "windows-1252")[1]) == charset.WESTERN


@pytest.mark.parametrize("language", ["ru", "ja", "zh"])
def test_long_text_is_looked_at_in_part_and_may_be_cut_in_a_character(language):
    encoding = {"ru": "koi8-r", "ja": "cp932", "zh": "gb18030"}[language]
    data = (SENTENCES[language] * 2_000).encode(encoding)
    assert data[:-1].decode(charset.guess(data[:-1]), "ignore").startswith(SENTENCES[language])


def test_little_tells_nothing():
    for data in (b"", b"plain", b"\xc4\xe0", b"caf\xe9 \xa9 2026", b"<\xe4\xe4\xe4\xe4\xe4\xe4\xe4\xe4>"):
        assert charset.guess(data) == charset.WESTERN


@given(st.binary(max_size=300))
def test_anything_gets_an_answer_that_python_knows(data):
    assert isinstance(data.decode(charset.guess(data), "replace"), str)
