"""Pre-flight: each planted fault is found by its code, and a sound edition has none."""

import dataclasses

import pytest
from test_render import TEMPLATES, edition, entry, issue, section, two_topics

from newsletter import render, types
from newsletter.render import check, page

SAMPLE = {
    "email": "ada@example.org",
    "name": "Ada",
    "unsubscribe_url": "https://news.example.org/unsubscribe/sample",
    "preferences_url": "https://news.example.org/preferences/sample",
}
PAGE = """\
<mjml lang="en"><mj-head><mj-title>T</mj-title></mj-head><mj-body background-color="#ffffff"><mj-section><mj-column>
<mj-text color="#222222"><h1>Own words</h1><p>{{ issue.postal_address }} {{ reader.unsubscribe_url }}</p></mj-text>
EXTRA
</mj-column></mj-section></mj-body></mjml>
"""


def filled(text):
    for field, value in SAMPLE.items():
        text = text.replace(types.mark(field), value)
    return text


def codes(made, *, html=None, text=None, **files):
    """(codes of errors, codes of warnings) of an issue, with templates of one's own or with other parts."""
    names = {name.replace("_", "."): source for name, source in files.items()}
    got = edition(made, templates=render.Templates({**TEMPLATES.sources, **names}))
    found = check.check(got, made, html=html or filled(got.html), text=text or filled(got.text))
    return tuple({finding.code for finding in kind} for kind in found)


def extra(piece):
    return PAGE.replace("EXTRA", piece)


def test_a_sound_edition_has_no_findings():
    assert codes(two_topics()) == (set(), set())


@pytest.mark.parametrize(
    ("change", "errors", "warnings"),
    [
        ({"subject": ""}, {"subject-empty"}, set()),
        ({"subject": "  "}, {"subject-empty"}, set()),
        ({"subject": "News\nBcc: spy@example.net"}, {"subject-control"}, set()),
        ({"subject": "Hello {{ name }}"}, {"leftover"}, set()),
        ({"subject": "KELP AND TRAMS"}, set(), {"subject-capitals"}),
        ({"subject": "Kelp " * 20}, set(), {"subject-long"}),
        ({"postal_address": ""}, set(), {"postal-unset"}),
        ({"intro": "Read [this](/foo.html)."}, {"link-relative"}, set()),
        ({"intro": "Read [this](http:///)."}, {"link-relative"}, set()),
        ({"intro": "Write [me](mailto:)."}, {"link-relative"}, set()),
        ({"intro": "Dear {{ name }}, hello."}, set(), {"placeholder"}),
        ({"intro": "See ![the pier](pier.jpg)"}, set(), {"image-left-out"}),
        ({"intro": "caf\u00c3\u00a9"}, set(), {"broken-letters"}),
        ({"intro": "[here](https://example.org/1) [here](https://example.org/2)"}, set(), {"link-text-twice"}),
    ],
)
def test_what_is_wrong_with_an_issues_words_is_found(change, errors, warnings):
    assert codes(dataclasses.replace(two_topics(), **change)) == (errors, warnings)


@pytest.mark.parametrize(
    ("entries", "errors", "warnings"),
    [
        ([entry("Kelp grows.", byline="")], set(), {"entry-undated"}),
        ([entry("", "Kelp grows")], set(), {"entry-empty"}),
        ([entry("Kelp grows.", url="javascript:x")], {"link-relative"}, set()),
        ([entry("Kelp grows.", url="https://example.org/1")] * 2, set(), {"entry-twice"}),
        ([entry("Kelp grows.")] * 2, set(), {"entry-twice"}),
        ([], set(), {"section-empty"}),
        ([entry("Kelp grows.", "Kelp at https://example.org/x")], set(), {"link-unlinked"}),
    ],
)
def test_what_is_wrong_with_entries_is_found(entries, errors, warnings):
    assert codes(issue(section(*entries), intro="A quiet week.")) == (errors, warnings)


@pytest.mark.parametrize(
    ("piece", "errors"),
    [
        ("", set()),
        ('<mj-image src="https://news.example.org/logo.png" width="100px" />', {"image-alt"}),
        ('<mj-text color="#bbbbbb" container-background-color="#cccccc">pale</mj-text>', {"contrast"}),
        ("<mj-text><h3>Too deep</h3></mj-text>", {"html-headings"}),
        ("<mj-text><h1>Another</h1></mj-text>", {"html-h1"}),
        ('<mj-text><a href="/relative">x</a></mj-text>', {"link-relative"}),
        ("<mj-raw><script>x()</script></mj-raw>", {"html-active"}),
        ('<mj-text><p onclick="x()">x</p></mj-text>', {"html-active"}),
        ("<mj-text>{{ '{{' }} name }}</mj-text>", {"leftover"}),
        ('<mj-text><a href="https://example.org/only-here">x</a></mj-text>', {"links-differ"}),
    ],
)
def test_what_is_wrong_with_a_template_is_found(piece, errors):
    found, warnings = codes(issue(section(entry("Kelp grows."))), issue_mjml=extra(piece))
    assert (found, warnings) == (errors, {"html-dark"})


def test_a_way_out_and_the_address_must_stand_in_both_parts():
    made = issue(section(entry("Kelp grows.")))
    assert codes(made, issue_txt="Own text that says quite enough words.\n")[0] == {
        "unsubscribe-missing",
        "postal-missing",
    }
    bare = extra("").replace("{{ issue.postal_address }} {{ reader.unsubscribe_url }}", "Nothing")
    assert codes(made, issue_mjml=bare)[0] == {"unsubscribe-missing", "postal-missing"}


def test_language_and_title_must_be_named():
    nameless = extra("").replace(' lang="en"', "").replace("<mj-title>T</mj-title>", "")
    assert codes(issue(section(entry("Kelp grows."))), issue_mjml=nameless)[0] == {"html-lang", "html-title"}


def test_the_size_is_told_before_gmail_cuts():
    made = two_topics()
    html = filled(edition(made).html)
    room = check.MAX_BYTES - len(html.encode())
    assert codes(made, html=html + "é" * (room // 2 + 1))[0] == {"html-size"}
    assert codes(made, html=html + " " * (room - 100))[1] == {"html-size-near"}


def test_what_is_wrong_with_the_text_is_found():
    made = two_topics()
    text = filled(edition(made).text)
    assert codes(made, text=text + "word " * 20 + "\n")[1] == {"text-width", "text-blank"}
    assert codes(made, text=text + "<table>\n")[1] == {"text-markup"}
    assert "text-empty" in codes(made, text="Hello.\n")[1]
    assert "leftover-mark" in codes(made, text=text + types.mark("email"))[0]


def test_findings_say_where_and_how_to_mend():
    made = issue(section(dataclasses.replace(entry("Kelp grows.", byline=""), ref="e-3f9a1c")))
    got = edition(made)
    _, (found,) = check.check(got, made, html=filled(got.html), text=filled(got.text))
    assert found == types.Finding(
        "entry-undated", "has no date; write it under the heading, like “6 Sept 2026”", "e-3f9a1c"
    )


def test_the_shipped_colours_can_be_read_in_the_dark_too():
    look = TEMPLATES.sources["default:parts/look.txt"]

    def colour(name):
        names, values = next(
            line for line in look.splitlines() if line.startswith("{% set") and name in line.replace(",", " ").split()
        ).split(" = ")
        position = names.removeprefix("{% set ").split(", ").index(name)
        return page.parse_colour(values.removesuffix(" %}").split(", ")[position].strip('"'))

    for prefix in ("", "dark_"):
        for name in ("ink", "quiet", "accent"):
            assert page.contrast(colour(prefix + name), colour(prefix + "paper")) >= 4.5
