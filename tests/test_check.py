"""Pre-flight: each planted fault is found by its code, and a sound edition has none."""

import dataclasses
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_render import TEMPLATES, edition, entry, issue, section, two_topics

from newsletter import issuefile, render, types
from newsletter.render import check, css, page
from newsletter.render.check import clients, places

ROOT = Path(__file__).parents[1]

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


def judged(made, *, html=None, text=None, **files):
    """(errors, warnings) of an issue, with templates of one's own or with other parts."""
    names = {name.replace("_", "."): source for name, source in files.items()}
    got = edition(made, templates=render.Templates({**TEMPLATES.sources, **names}))
    return check.check(got, made, html=html or filled(got.html), text=text or filled(got.text))


def codes(made, **more):
    """As `judged`, the codes alone."""
    return tuple({finding.code for finding in kind} for kind in judged(made, **more))


def extra(piece):
    return PAGE.replace("EXTRA", piece)


def test_a_sound_edition_has_no_findings():
    assert judged(two_topics()) == ([], [])


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
        ({"intro": "See [it](https://bit.ly/x)."}, set(), {"link-short"}),
        ({"intro": "See [it](http://intranet/x) and [that](http://10.1.2.3/)."}, set(), {"link-private"}),
        (
            {"intro": "See [https://bank.example.org/](https://example.net/x)."},
            set(),
            {"link-disguised", "link-unlinked"},
        ),
        ({"intro": "See [https://www.example.org/a](https://example.org/b)."}, set(), {"link-unlinked"}),
        ({"intro": "Act now!!! It is risk-free."}, set(), {"spam-words"}),
        ({"subject": "Re: kelp"}, set(), {"subject-spam"}),
        ({"subject": "Kelp! Trams! Now!"}, set(), {"subject-spam"}),
        ({"subject": "$$$ for kelp"}, set(), {"subject-spam"}),
        ({"preheader": "word " * 40}, set(), {"preheader-long"}),
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
        (
            [entry(f"Text {i}.", "Kelp grows in the sea", url=f"https://example.org/{i}") for i in range(2)],
            set(),
            {"entry-twice", "link-text-twice"},
        ),
        ([], set(), {"section-empty"}),
        ([entry("Kelp grows.", "Kelp at https://example.org/x")], set(), {"link-unlinked"}),
    ],
)
def test_what_is_wrong_with_entries_is_found(entries, errors, warnings):
    assert codes(issue(section(*entries), intro="A quiet week.")) == (errors, warnings)


DARK = """\
<mj-raw><meta name="color-scheme" content="light dark" /></mj-raw>
<mj-style>@media (prefers-color-scheme:dark){.page,body{background-color:#171614!important}STYLE}</mj-style>
"""


@pytest.mark.parametrize(
    ("piece", "errors", "warnings"),
    [
        ("", set(), set()),
        ('<mj-image src="https://news.example.org/logo.png" width="100px" />', {"image-alt"}, set()),
        ('<mj-raw><img src="https://x.example.org/p.png" alt="" width="1" height="1"></mj-raw>', set(), {"image-dot"}),
        (
            '<mj-text color="#bbbbbb" container-background-color="#cccccc">pale</mj-text>',
            {"contrast"},
            set(),
        ),
        ('<mj-raw><p style="font-size:16px"><font color="#eeeeee">pale</font></p></mj-raw>', {"contrast"}, set()),
        ("<mj-text><h3>Too deep</h3></mj-text>", {"html-headings"}, set()),
        ("<mj-text><h1>Another</h1></mj-text>", {"html-h1"}, set()),
        ('<mj-text><a href="/relative">x</a></mj-text>', {"link-relative"}, set()),
        ('<mj-text><a href="https://news.example.org/x"></a></mj-text>', set(), {"link-empty"}),
        ("<mj-raw><form>x</form></mj-raw>", {"html-active"}, {"client-support", "html-small"}),
        ('<mj-text><p onclick="x()">x</p></mj-text>', {"html-active"}, set()),
        ('<mj-raw><img src="data:image/png;base64,AAAA" alt="" /></mj-raw>', {"html-active"}, set()),
        ('<mj-text><a href="https://a:b@news.example.org/x">x</a></mj-text>', set(), {"link-password"}),
        ("<mj-text>{{ '{{' }} name }}</mj-text>", {"leftover"}, set()),
        ('<mj-text><a href="https://example.org/only-here">x</a></mj-text>', {"links-differ"}, set()),
        ('<mj-text><p style="font-size:9px">tiny</p></mj-text>', set(), {"html-small"}),
        ('<mj-text><p style="display:flex">flexible</p></mj-text>', set(), {"client-support"}),
        ('<mj-text><p style="width:calc(1px + 2%)">sums</p></mj-text>', set(), {"client-support"}),
    ],
)
def test_what_is_wrong_with_a_template_is_found(piece, errors, warnings):
    made = issue(section(entry("Kelp grows.")))
    assert codes(made, issue_mjml=extra(piece)) == (errors, warnings | {"html-dark"})


def styled(css):
    return PAGE.replace("</mj-head>", f"<mj-style>{css}</mj-style></mj-head>").replace("EXTRA", "")


@pytest.mark.parametrize(
    ("css", "errors", "warnings"),
    [
        ("p{color:#222222}" * 600, set(), {"style-size"}),
        ("p{color:#222222} }", set(), {"style-broken"}),
        ("p{color:#222222", set(), {"style-broken"}),
        ("{color:#222222}", set(), {"style-broken"}),
        ("@import 'https://fonts.example.org/x.css';", {"html-remote"}, {"client-support"}),
        ("@font-face{font-family:X;src:url(https://fonts.example.org/x)}", {"html-remote"}, {"client-support"}),
        ("p:hover{color:#222222}", set(), {"client-support"}),
        ("td > div > p{color:#dddddd!important}", {"contrast"}, {"client-support"}),
        ("@media print{p{color:#dddddd!important}}", set(), set()),
        ("span.no p,.never{color:#dddddd!important}", set(), set()),
    ],
)
def test_what_is_wrong_with_styles_is_found(css, errors, warnings):
    made = issue(section(entry("Kelp grows.")))
    assert codes(made, issue_mjml=styled(css)) == (errors, warnings | {"html-dark"})


@pytest.mark.parametrize(
    ("css", "errors"),
    [
        ("", {"contrast-dark"}),  # dark ink of the light scheme on dark paper
        ("p,h1{color:#ece6dc!important}", set()),
        ("p,h1{color:#ece6dc}", set()),
        ("div p{color:#ece6dc!important}", {"contrast-dark"}),  # the heading stays dark
        ("p,h1{color:#333!important}", {"contrast-dark"}),
        ("p,h1{color:#ece6dc!important}td p{color:#222!important}", {"contrast-dark"}),  # the more specific one
        ("td p,td h1{color:#ece6dc!important}p{color:#222!important}", set()),
    ],
)
def test_contrast_is_judged_as_dark_mode_shows_it(css, errors):
    dark = PAGE.replace("</mj-head>", DARK.replace("STYLE", css) + "</mj-head>").replace("EXTRA", "")
    dark = dark.replace('<mj-body background-color="#ffffff">', '<mj-body background-color="#ffffff" css-class="page">')
    found, _ = codes(issue(section(entry("Kelp grows."))), issue_mjml=dark)
    assert found == errors


def test_text_that_runs_over_the_whole_screen_and_tables_without_a_role_are_found():
    made = issue(section(entry("Kelp grows.")))
    html = filled(edition(made).html)
    assert codes(made, html=html.replace("max-width:600px", ""))[1] == {"html-width"}
    assert codes(made, html="".join(html.rsplit('role="presentation"', 1)))[1] == {"html-tables"}


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


def test_a_large_mail_has_a_way_out_near_its_top():
    made = issue(
        section(*(entry(f"Kelp {i} grows. " + "It is long. " * 140, url=f"https://example.org/{i}") for i in range(50)))
    )
    late = PAGE.replace(
        "<p>{{ issue.postal", "{{ issue.sections[0].entries | map(attribute='body') | join }}<p>{{ issue.postal"
    )
    assert "unsubscribe-late" in codes(made, issue_mjml=late.replace("EXTRA", ""))[1]
    assert "unsubscribe-late" not in codes(made)[1]
    assert "postal-late" in codes(made)[1]  # the shipped one has it in its last lines, which a mail of this size loses
    early = PAGE.replace("EXTRA", "").replace("<mj-text>", "<mj-text>{{ issue.postal_address }}", 1)
    assert "postal-late" not in codes(made, issue_mjml=early)[1]


def test_a_way_out_that_cannot_be_seen_is_none():
    made = issue(section(entry("Kelp grows.")))
    whole = edition(made)
    html, text = filled(whole.html), filled(whole.text)
    leave = re.search(r"https://\S+/unsubscribe\S*", text)[0] if "/unsubscribe" in text else "unsubscribe_url"

    def found(shown):
        said = check.of_edition(whole, made, html=shown, text=text, leave=leave)
        return [each.where for each in said if each.code == "unsubscribe-missing"]

    assert found(html) == []
    assert found(re.sub(rf'<a href="{re.escape(leave)}"', f'<a hidden href="{leave}"', html)) == ["HTML"]


def test_what_is_wrong_with_the_text_is_found():
    made = two_topics()
    text = filled(edition(made).text)
    assert codes(made, text=text + "word " * 20 + "\n")[1] == {"text-width", "text-blank"}
    assert codes(made, text=text + "<table>\n")[1] == {"text-markup"}
    assert "text-empty" in codes(made, text="Hello.\n")[1]
    assert "leftover-mark" in codes(made, text=text + types.mark("email"))[0]


def test_findings_say_where_and_how_to_mend():
    made = issue(section(dataclasses.replace(entry("Kelp grows.", byline=""), ref="e-3f9a1c")))
    _, (found,) = judged(made)
    assert found == types.Finding(
        "entry-undated", "this entry has no date; write it under the heading, like “6 Sept 2026”", "e-3f9a1c"
    )


DRAFT = """\
+++
newsletter = "weekly"
date = 2026-09-11
cutoff = 2026-09-10T12:00:00+01:00
subject = ""
preheader = "{{ name }}"
+++

See [this](/nowhere).

## Living with the tide {#tides}

### Kelp
6 Sept 2026

It grows.

### Kelp
6 Sept 2026

It grows.
"""


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_findings_name_the_line_of_the_draft(change):
    draft = issuefile.read(change(DRAFT), "d.md")
    entries = tuple(entry(block.body, block.title, byline=block.byline) for block in draft.sections[0].blocks)
    made = issue(section(*entries), subject="", preheader=draft.preheader, intro=draft.intro)
    found = check.of_issue(made, places.of(draft, "d.md"))
    assert [(each.code, each.where) for each in found] == [
        ("subject-empty", "d.md:5"),
        ("entry-twice", "d.md:18"),
        ("link-relative", "d.md:9"),
        ("placeholder", "d.md:6"),
    ]
    assert "d.md:13" in found[1].message


# -- what an edition lacks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "spoken"),
    [
        ({"subject": "Kelp, and more"}, {"subject"}),
        ({"subject": "Trams, and more"}, set()),
        ({"subject": "News without the noise, 11 Sept 2026"}, set()),
        ({"preheader": "Why kelp slows tides"}, {"preheader"}),
        ({"intro": "Kelp is a plant."}, set()),
        ({"intro": "How kelp slows what the tide brings."}, {"introduction"}),
        ({"intro": "Read [this](https://example.org/kelp) first."}, {"introduction"}),
    ],
)
def test_words_about_an_entry_that_an_edition_lacks_are_found(change, spoken):
    whole = dataclasses.replace(two_topics(), **{"subject": "Plain", "intro": "", **change})
    got = edition(whole, ("trams",))
    _, warnings = check.check(got, whole, html=filled(got.html), text=filled(got.text))
    assert {each.message.split()[1] for each in warnings if each.code == "edition-lacks"} == spoken
    got = edition(whole)
    _, warnings = check.check(got, whole, html=filled(got.html), text=filled(got.text))
    assert "edition-lacks" not in {each.code for each in warnings}


def test_a_subject_of_its_own_says_what_an_edition_has():
    whole = dataclasses.replace(two_topics(), subject="Kelp and more", intro="", subjects=(("trams", "Trams, Trams"),))
    got = edition(whole, ("trams",))
    assert got.subject == "Trams, Trams"
    found = check.of_edition(got, whole, html=filled(got.html), text=filled(got.text))
    assert "edition-lacks" not in {each.code for each in found}
    whole = dataclasses.replace(whole, subjects=(("trams", "RE: TRAMS AND KELP"),))
    got = edition(whole, ("trams",))
    found = check.of_edition(got, whole, html=filled(got.html), text=filled(got.text))
    assert {each.code for each in found} == {"edition-lacks"}


def test_every_subject_is_looked_at_whoever_gets_it():
    whole = dataclasses.replace(two_topics(), subject="Kelp", intro="", subjects=(("trams", "RE: TRAMS {{ name }}"),))
    found = {each.code for each in check.of_issue(whole)}
    assert {"subject-spam", "leftover"} <= found


# -- what mail programs lack ---------------------------------------------------------------------------------------


MJML = '<mj-image src="https://x.example.org/a.png" alt="" /><mj-button href="https://x.example.org/">Go</mj-button><mj-divider />'


def test_the_baseline_holds_what_the_shipped_templates_and_plain_mjml_need_and_no_more():
    made = two_topics()
    logo = {"logo": "https://news.example.org/logo.png", "logo_alt": "News", "accent": "#336699", "footer": "Write us."}
    own = render.Templates({**TEMPLATES.sources, "issue.mjml": extra(MJML)})
    code = issue(
        section(entry("> Quoted `code`\n\n- a\n\n1. b\n\n```\ncode\n```\n\n* * *\n\n[m](mailto:a@example.org)"))
    )
    needed = {feature.slug for feature in clients.lacked(page.read(edition(made, templates=own).html))}
    needed |= {feature.slug for feature in clients.lacked(page.read(edition(code).html))}
    needed |= {
        feature.slug
        for each in (made, dataclasses.replace(made, **logo), dataclasses.replace(made, language="ar", **logo))
        for feature in clients.lacked(page.read(filled(edition(each).html)))
    }
    assert needed == set(clients.baseline())
    assert all(len(why.split()) > 3 for why in clients.baseline().values())


def test_every_feature_of_the_data_can_be_found():
    kinds = {feature.how[0] for feature in clients.features()}
    assert kinds == set(clients._TESTS)
    assert len(clients.features()) > 200
    empty = page.read("")
    assert clients.lacked(empty) == []


# -- hostile input -------------------------------------------------------------------------------------------------

TEXT = st.text(max_size=60) | st.sampled_from(
    ["\ud800", "{{ x }}", "<style>a{", "](", "[a](javascript:x)", "!!!", "\x00"]
)


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT, TEXT, TEXT)
def test_any_words_can_be_judged(subject, intro, title, body):
    made = issue(section(entry(body or "x", title)), subject=subject, intro=intro)
    errors_, warnings = judged(made)
    known = check.rules.RULES
    assert all(each.code in known and known[each.code].is_error for each in errors_)
    assert all(each.code in known and not known[each.code].is_error for each in warnings)
    assert all(len(each.message) < 500 for each in errors_ + warnings)


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="abp{}<>/*@;:.,()[]'\"#! \n", max_size=80))
def test_any_style_and_any_page_can_be_read(text):
    css.parse(text)
    page.read(f"<style>{text}</style><p style='{text}'>{text}</p>")


def test_much_is_judged_in_little_time():
    rows = [entry(f"Kelp {i}. " + "word " * 300, f"Title {i}", f"https://example.org/{i}") for i in range(300)]
    made = issue(section(*rows), intro="word " * 200_000)
    began = time.process_time()
    errors_, _ = judged(made)
    assert {each.code for each in errors_} == {"html-size"}
    assert time.process_time() - began < 60


# -- the table -----------------------------------------------------------------------------------------------------


def test_the_documentation_is_the_table_of_codes():
    text = (ROOT / "docs" / "checks.md").read_text("utf-8")
    listed = [line for line in text.splitlines() if line.startswith("| `")]
    assert listed == [
        f"| `{code}` | {'error' if rule.is_error else 'warning'} | {rule.what} | {rule.mend} |"
        for code, rule in check.rules.RULES.items()
    ]


def test_every_rule_of_bulk_mail_names_codes_that_exist():
    text = (ROOT / "docs" / "checks.md").read_text("utf-8")
    rows = text.partition("| rule |")[2].partition("\n\n")[0].splitlines()[2:]
    judged_by = [set(re.findall("`([a-z-]+)`", row.rpartition(" | ")[2])) for row in rows]
    assert len(rows) > 20
    assert all(codes_ and codes_ <= set(check.rules.RULES) for codes_ in judged_by)


def test_every_code_is_found_somewhere_and_none_is_unknown():
    sources = "".join(
        path.read_text("utf-8") for path in (ROOT / "newsletter").rglob("*.py") if path.name != "rules.py"
    )
    used = set(re.findall(r"""(?:found|Finding)\(\s*"([a-z-]+)",""", sources))
    known = set(check.rules.RULES)
    named = {code for code in known if f'"{code}"' in sources}
    assert named == known
    assert used <= known


def test_every_code_is_planted_by_a_test():
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests").glob("test_*.py"))
    assert not [code for code in check.rules.RULES if f'"{code}"' not in tests]
