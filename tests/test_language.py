"""The words of the templates in other languages, and texts that are read from the right."""

import dataclasses
import io
import re

import jinja2
import pytest
from babel.messages import pofile
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import nodes
from test_render import TEMPLATES, Seen, edition, entry, issue, section, two_topics
from test_templates import ABOUT, letter

from newsletter import errors, render, types
from newsletter.render import language, markdown, text, views

LANGUAGES = ("ar", "de", "es", "fr")
FORMS = {"ar": 6, "de": 2, "es": 2, "fr": 2}


def source(tag):
    return TEMPLATES.sources[f"default:locale/{tag}.po"]


def catalogue(tag):
    return pofile.read_po(io.StringIO(source(tag)), abort_invalid=True)


def said_by_templates():
    """Every message of the shipped templates: a text, or a pair of one and many."""
    environment = jinja2.Environment()
    for name, template in TEMPLATES.sources.items():
        if name.endswith((".mjml", ".txt")):
            for call in environment.parse(template).find_all(nodes.Call):
                if isinstance(call.node, nodes.Name) and call.node.name == "gettext":
                    yield call.args[0].value
                elif isinstance(call.node, nodes.Name) and call.node.name == "ngettext":
                    yield call.args[0].value, call.args[1].value


# -- catalogues ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", LANGUAGES)
def test_a_catalogue_has_exactly_the_words_of_the_templates_all_translated(tag):
    found = {message.id: message for message in catalogue(tag) if message.id}
    assert set(found) == set(said_by_templates())
    for message in found.values():
        forms = message.string if isinstance(message.string, tuple) else (message.string,)
        assert len(forms) == (FORMS[tag] if message.pluralizable else 1)
        assert all(forms)
        assert not message.fuzzy
        one = message.id[1] if message.pluralizable else message.id
        assert re.findall(r"%\(\w+\)s", forms[-1]) == re.findall(r"%\(\w+\)s", one)
        assert one.endswith((".", ":")) == forms[-1].endswith((".", ":"))


@pytest.mark.parametrize("tag", ["en-GB", *LANGUAGES])
def test_no_two_links_read_alike(tag):
    say = TEMPLATES.words(tag).gettext
    words = [say(each) for each in views.SPOKEN_FOR]
    assert len({each.casefold() for each in words}) == len(words)
    assert set(views.SPOKEN_FOR) <= set(said_by_templates())
    seen = Seen(edition(dataclasses.replace(two_topics(), language=tag)).html)
    texts = [words for _, words in seen.links]
    assert len(set(texts)) == len(texts)


def test_arabic_has_six_forms():
    say = TEMPLATES.words("ar").ngettext
    counts = [say("%(n)s article", "%(n)s articles", n) for n in (0, 1, 2, 3, 10, 11, 99, 100, 102, 103, 1000)]
    assert counts == [
        "لا مقالات", "مقال واحد", "مقالان", "3 مقالات", "10 مقالات", "11 مقالًا", "99 مقالًا",
        "100 مقال", "102 مقال", "103 مقالات", "1,000 مقال",
    ]  # fmt: skip
    assert TEMPLATES.words("ar-EG").ngettext("%(n)s article", "%(n)s articles", 22) == "٢٢ مقالًا"


def test_french_counts_none_as_one():
    say = TEMPLATES.words("fr").ngettext
    assert [say("%(n)s article", "%(n)s articles", n) for n in (0, 1, 2)] == ["0 article", "1 article", "2 articles"]


@pytest.mark.parametrize(
    ("tag", "found"),
    [("de", "de"), ("de-CH", "de"), ("DE-ch-1996", "de"), ("es-419", "es"), ("it", None), ("en-GB", None), ("d", None)],
)
def test_the_nearest_catalogue_serves_a_language(tag, found):
    assert language.catalogue_name(TEMPLATES.sources, tag) == (found and f"default:locale/{found}.po")


def test_a_catalogue_of_ones_own_comes_before_the_shipped_one_and_may_be_of_a_new_language():
    mine = source("de").replace('"Abbestellen"', '"Nicht mehr schicken"')
    swiss = source("de").replace('"Abbestellen"', '"Kündigen"')
    templates = render.Templates(
        {**TEMPLATES.sources, "locale/de.po": mine, "locale/de_CH.po": swiss, "locale/it.po": source("es")}
    )
    assert templates.words("de-AT").gettext("Unsubscribe") == "Nicht mehr schicken"
    assert templates.words("de-CH").gettext("Unsubscribe") == "Kündigen"
    assert templates.strangers() == []
    assert [templates.speaks(tag) for tag in ("it", "pt", "en-US", "de")] == [True, False, True, True]
    assert "Número 37" in edition(dataclasses.replace(two_topics(), language="it"), templates=templates).text


def test_a_language_without_a_catalogue_has_english_words_and_its_own_dates():
    made = edition(dataclasses.replace(two_topics(), language="it"))
    assert "Venerdì 11 settembre 2026 · Issue 37 · 1 minute" in made.text
    assert dict(Seen(made.html).tags)["html"]["lang"] == "it"


def test_words_of_ones_own_count_as_a_language():
    templates = render.Templates({**TEMPLATES.sources, "parts/words.txt": "x"})
    assert templates.speaks("pt")


@pytest.mark.parametrize(
    ("broken", "said", "line"),
    [
        ('msgid "Leave"\nmsgstr "Weg %(title)s"\n', r"%(title)s is not in the message", 1),
        ('msgid "Leave"\nmsgstr Weg\n', "is no line of a catalogue: 'msgstr Weg'", 2),
        ('msgid "Leave"\nmsgstr "Weg\n', "is no line of a catalogue", 2),
        ('<<<<<<< HEAD\nmsgid "Leave"\nmsgstr "Weg"\n', "is no line of a catalogue", 1),
        ('msgid "Leave"\n', "is no catalogue: missing msgstr", 1),
        ('msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=evil();\\n"\n', "is no catalogue", None),
    ],
)
def test_a_broken_catalogue_is_named_with_its_line(broken, said, line):
    templates = render.Templates({**TEMPLATES.sources, "locale/de.po": broken})
    with pytest.raises(errors.TemplateError, match=re.escape(said)) as caught:
        edition(dataclasses.replace(two_topics(), language="de"), templates=templates)
    assert (caught.value.name, caught.value.line) == ("locale/de.po", line)


def test_a_catalogue_is_frozen_with_the_templates():
    assert render.Templates(TEMPLATES.as_dict()).words("de").gettext("Leave") == "Abmelden"


# -- issues and mails ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "line", "counts", "more", "way_out"),
    [
        (
            "de",
            "Freitag, 11. September 2026 · Ausgabe 37 · 1 Minute Lesezeit",
            ("2 Artikel", "1 Artikel"),
            "und 7 weitere",
            "Abbestellen:",
        ),
        (
            "fr",
            "Vendredi 11 septembre 2026 · Numéro 37 · 1 minute de lecture",
            ("2 articles", "1 article"),
            "et 7 autres",
            "Se désabonner\u00a0:",
        ),
        (
            "es",
            "Viernes, 11 de septiembre de 2026 · Número 37 · 1 minuto de lectura",
            ("2 artículos", "1 artículo"),
            "y 7 más",
            "Cancelar la suscripción:",
        ),
        (
            "ar",
            "الجمعة، 11 سبتمبر 2026 · العدد 37 · مدة القراءة دقيقة واحدة",
            ("مقالان", "مقال واحد"),
            "و7 مقالات أخرى",
            "إلغاء الاشتراك:",
        ),
        (
            "en-US",
            "Friday, Sept 11, 2026 · Issue 37 · 1 minute",
            ("2 articles", "1 article"),
            "and 7 more",
            "Unsubscribe:",
        ),
    ],
)
def test_an_issue_speaks_the_language_of_its_newsletter_in_both_parts(tag, line, counts, more, way_out):
    made = edition(dataclasses.replace(two_topics(), language=tag))
    seen = Seen(made.html)
    for words in (line, *counts, more):
        assert words in made.text
        assert words in seen.words
    assert f"{way_out}\n{types.mark('unsubscribe_url')}" in made.text
    assert dict(seen.tags)["html"]["lang"] == tag
    english = {each for each in said_by_templates() if isinstance(each, str) and "%" not in each and each[-1] == "."}
    assert tag.startswith("en") or not any(each in made.text or each in seen.words for each in english)


@pytest.mark.parametrize("tag", LANGUAGES)
@pytest.mark.parametrize("name", ["confirm", "welcome", "address", "goodbye"])
def test_a_service_mail_speaks_the_language_of_its_newsletter(tag, name):
    made = render.mail(TEMPLATES, f"mail/{name}", letter(tag), ABOUT)
    english = render.mail(TEMPLATES, f"mail/{name}", letter("en"), ABOUT)
    assert made.subject != english.subject
    shared = set(made.text.split("\n")) & set(english.text.split("\n"))
    assert {line for line in shared if not re.match("-|http|\ue000|1 Example|news@|$", line)} == set()
    assert len(Seen(made.html).links) == len(Seen(english.html).links)


def test_other_languages_read_at_their_own_pace():
    assert views.reading_minutes(["word " * 690], "en-GB") == 3
    assert views.reading_minutes(["word " * 540], "de-AT") == 3
    assert views.reading_minutes(["كلمة " * 420], "ar") == 3
    assert views.reading_minutes(["word " * 600], "tlh") == 3
    assert views.reading_minutes(["这里的潮汐很慢，" * 100, "GRPO 很好。"], "zh") == 3
    assert views.reading_minutes([], "de") == 1


# -- which side a text is read from ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("en-GB", "ltr"), ("ar", "rtl"), ("AR-eg", "rtl"), ("he", "rtl"), ("ur-PK", "rtl"), ("az", "ltr"),
        ("az-Arab-IR", "rtl"), ("ar-Latn", "ltr"), ("yi", "rtl"), ("ckb", "rtl"), ("zh-Hant", "ltr"),
    ],
)  # fmt: skip
def test_a_language_is_read_from_the_side_of_its_script(tag, expected):
    assert language.direction(tag) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Liu et al. يقدّمون طريقة جديدة", "rtl"),
        ("GPT-5 يتعلّم", "rtl"),
        ("The authors introduce SAGE", "ltr"),
        ("The authors introduce the كتاب method for agents", "ltr"),
        ("2026", "other"),
        ("", "other"),
        ("קרא", "rtl"),
    ],
)
def test_a_text_is_read_from_the_side_of_most_of_its_letters(words, expected):
    assert language.side(words, "other") == expected


def page_of(body, tag="ar", **changes):
    return edition(issue(section(entry(body, **changes)), language=tag)).html


def test_foreign_names_and_numbers_keep_their_own_order_in_arabic():
    html = page_of("تحسّنت النتيجة بمقدار +10.2 نقطة على SWE-bench باستخدام C++ كما يرى Liu et al. في 2026-09-03.")
    assert re.findall(r'<span dir="ltr">([^<]*)</span>', html)[:5] == [
        "+10.2", "SWE-bench", "C++", "Liu et al.", "2026-09-03",
    ]  # fmt: skip
    assert "</span>.</p>" in html  # the full stop is the sentence's


def test_a_paragraph_in_latin_letters_stands_at_its_own_side_of_an_arabic_page():
    html = page_of("The authors introduce SAGE, a framework.", url="https://example.org/")
    assert re.search(r'<p style="[^"]*" dir="ltr" align="left">', html)
    assert not re.search(r"<p [^>]*align=", page_of("يقدّم الباحثون نموذجًا."))
    english = edition(issue(section(entry("יש אור בקצה המנהרה."))))
    assert re.search(r'<p style="[^"]*" dir="rtl" align="right">', english.html)


def test_a_handle_in_latin_letters_is_isolated_in_an_arabic_sentence():
    html = page_of("Okafor et al. ثبّتوا مستشعرات في غابة من عشب البحر.", url="https://example.org/")
    assert re.search(r'<p style="[^"]*"><a class="handle" [^>]* dir="ltr">Okafor et al\.</a> ثبّتوا', html)


def test_an_item_in_latin_letters_keeps_its_sign_on_the_side_of_the_list():
    made = markdown.html(markdown.parse("- Robots that learn\n- مقال"), page="rtl")
    assert made == '<ul><li><span dir="ltr">Robots that learn</span></li><li>مقال</li></ul>'


def test_a_direction_that_is_set_beats_that_of_the_language():
    assert 'dir="rtl"' in edition(issue(section(entry("Kelp grows.")), direction="rtl")).html.partition("<head")[0]
    assert 'dir="ltr"' in edition(issue(section(entry("Kelp grows.")), language="ar", direction="ltr")).html[:500]


def test_letters_that_join_are_neither_spaced_nor_slanted():
    html = page_of("> يقدّم الباحثون نموذجًا.")
    assert "letter-spacing" not in html
    assert "font-style:italic" not in html
    assert "letter-spacing" in page_of("> Kelp grows.", "en")


def test_a_title_of_the_other_side_is_isolated_in_a_sentence():
    say = TEMPLATES.words("ar").gettext
    assert say("Welcome to %(title)s", title="The Tide (weekly)") == "مرحبًا بك في «\u2068The Tide (weekly)\u2069»"
    assert say("Welcome to %(title)s", title="المدّ") == "مرحبًا بك في «المدّ»"
    assert TEMPLATES.words("en").gettext("Welcome to %(title)s", title="المدّ") == "Welcome to \u2068المدّ\u2069"


def test_each_line_of_an_arabic_text_is_read_from_the_right():
    made = edition(
        issue(section(entry("Okafor et al. ثبّتوا ١٤٠ مستشعرًا. " * 6, url="https://example.org/x")), language="ar")
    )
    for line in made.text.split("\n"):
        first = next((char for char in line if char.isalpha() or char == "\u200f"), "")
        has_arabic = bool(re.search("[\u0600-\u06ff]", line))
        assert not has_arabic or first == "\u200f" or not first.isascii()
        assert text.columns(line) <= text.WIDTH
    assert "\nhttps://example.org/x\n" in made.text


@given(st.text(alphabet="abcXYZ 0123.,+-()%/:سلام" + "كتاب" + "#@«»\n"))
def test_isolating_changes_nothing_that_is_seen(words):
    assert "".join(piece for piece, _ in language.runs(words)) == words
    assert re.sub("[\u2066\u2069]", "", language.isolated(words)) == words
    isolated = language.isolated(words)
    assert isolated.count("\u2066") == isolated.count("\u2069")


@given(st.text(alphabet="ab cسلام 12+«»()[]*_`-\n"))
def test_html_of_a_mixed_text_holds_all_its_words(source_text):
    tokens = markdown.parse(source_text)
    for page in ("ltr", "rtl"):
        seen = re.sub(r"<[^>]*>", "", markdown.html(tokens, page=page))
        assert "".join(seen.split()) == "".join(re.sub(r"<[^>]*>", "", markdown.html(tokens)).split())
