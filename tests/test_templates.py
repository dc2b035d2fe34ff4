"""Templates: found, frozen, extended; every fault names its file and line; `reader` can only be printed."""

import dataclasses
import json
import re

import pytest
from test_render import TEMPLATES, edition, entry, issue, section, two_topics

from newsletter import errors, render, types, workspace
from newsletter.render import templates, views

SHIPPED = workspace.starter() / "templates"
PAGE = """\
<mjml lang="en"><mj-head><mj-title>T</mj-title></mj-head><mj-body><mj-section><mj-column>
<mj-text><h1>Own words</h1></mj-text>
{}
</mj-column></mj-section></mj-body></mjml>
"""


def own(**files):
    """The shipped templates and some of one's own: own(issue_mjml=…)."""
    return render.Templates({**TEMPLATES.sources, **{name.replace("_", "."): text for name, text in files.items()}})


def fault(source, name="issue.mjml"):
    with pytest.raises(errors.TemplateError) as caught:
        edition(two_topics(), templates=render.Templates({**TEMPLATES.sources, name: source}))
    return caught.value


def test_the_workspaces_own_file_comes_before_the_shipped_one(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "entry.txt").write_text("own entry\n")
    (tmp_path / "README.md").write_text("{{ no template }}")
    found = render.Templates.load((tmp_path, SHIPPED))
    assert found.sources["parts/entry.txt"] == "own entry\n"
    assert "default:parts/entry.txt" in found.sources
    assert "issue.mjml" not in found.sources
    assert not [name for name in found.sources if "README" in name]
    assert "own entry" in edition(two_topics(), templates=found).text


def test_in_a_checkout_the_workspace_is_the_shipped_sample():
    assert render.Templates.load((SHIPPED, SHIPPED)).sources == TEMPLATES.sources


def test_a_workspace_without_templates_has_the_shipped_ones(tmp_path):
    assert render.Templates.load((tmp_path / "none", SHIPPED)).sources == TEMPLATES.sources


def test_templates_are_frozen_as_json_and_thawed():
    thawed = render.Templates(json.loads(json.dumps(TEMPLATES.as_dict())))
    assert edition(two_topics(), templates=thawed) == edition(two_topics())


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "issue.mjml").write_bytes(b"\xff\xfe")
    with pytest.raises(errors.TemplateError, match=r"templates/issue\.mjml: is no UTF-8 text"):
        render.Templates.load((tmp_path, SHIPPED))


def test_to_extend_the_default_changes_nothing():
    made = edition(
        two_topics(),
        templates=own(issue_mjml='{% extends "default:issue.mjml" %}\n', issue_txt='{% extends "default:issue.txt" %}'),
    )
    assert made == edition(two_topics())


@pytest.mark.parametrize("block", ["top", "header", "intro", "topics", "footer"])
def test_a_block_is_replaced_and_the_rest_stays(block):
    piece = "<mj-section><mj-column><mj-text>ownword {{ say.unsubscribe }} {{ look.ink }}</mj-text></mj-column></mj-section>"
    source = f'{{% extends "default:issue.mjml" %}}\n{{% block {block} %}}{piece}{{% endblock %}}'
    html = edition(two_topics(), templates=own(issue_mjml=source)).html
    assert "ownword Unsubscribe #1c1b19" in html
    kept = {
        "top": "Read on the web",
        "header": "<h1",
        "intro": "things stand out",
        "topics": "<h2",
        "footer": "No tracking",
    }
    assert {name for name, words in kept.items() if words in html} == set(kept) - {block}


def test_one_file_changes_the_accent_everywhere():
    look = TEMPLATES.sources["default:parts/look.txt"].replace("#9a4a2f", "#00587a")
    html = edition(two_topics(), templates=render.Templates({**TEMPLATES.sources, "parts/look.txt": look})).html
    assert "#00587a" in html
    assert "#9a4a2f" not in html


def test_what_a_macro_of_a_text_file_returns_is_escaped_in_html_and_not_in_text():
    made = edition(issue(section(entry("Kelp grows.")), title="Kelp & <b>tides</b>"))
    assert "subscribed to Kelp &amp; &lt;b&gt;tides&lt;/b&gt; as" in made.html
    assert "subscribed to Kelp & <b>tides</b> as" in made.text


def test_a_service_mail_is_rendered_by_its_name():
    found = own()
    found = render.Templates(
        {**found.sources, "mail/hi.mjml": PAGE.format("<mj-text>{{ url }}</mj-text>"), "mail/hi.txt": "{{ url }}"}
    )
    html, text = render.mail(found, "mail/hi", url="https://example.org/?a=1&b=2")
    assert "https://example.org/?a=1&amp;b=2" in html
    assert text == "https://example.org/?a=1&b=2\n"


# -- faults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        ("{{ no_such_variable }}", "'no_such_variable' is undefined"),
        ("{{ issue.tilte }}", "issue has no 'tilte'; did you mean title?"),
        ("{{ issue.nothing.at_all }}", "issue has no 'nothing'; it has title, subject,"),
        ("{% if %}", "Expected an expression"),
        ("{% include 'no-such-part.mjml' %}", "there is no template 'no-such-part.mjml'"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ range(10 ** 9) }}", "Range too big"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% include 'issue.mjml' %}", "includes or extends itself without end"),
        ("{{ 'x' | styled({}) }}", "styled is for the text of an issue"),
    ],
)
def test_a_fault_names_its_template_and_line(piece, said):
    found = fault(PAGE.format(f"<mj-text>{piece}</mj-text>"))
    assert (found.name, found.line) == ("issue.mjml", 3)
    assert said in str(found)


def test_a_fault_in_a_part_names_the_part():
    found = fault("one line\n{{ entry.nope }}", "parts/entry.mjml")
    assert (found.name, found.line) == ("parts/entry.mjml", 2)
    assert fault("a\nb\n{{ nope }}", "issue.txt").line == 3


def test_a_template_that_extends_itself_is_told_so():
    assert "without end" in str(fault('{% extends "issue.mjml" %}'))


def test_a_template_that_gives_far_too_much_is_refused():
    assert "that is no mail" in str(fault("{{ 'x' * 5000000 }}"))


# -- what is personal ------------------------------------------------------------------------------------------------


def test_personal_fields_render_as_marks():
    made = edition(
        two_topics(),
        templates=own(
            issue_mjml=PAGE.format(
                '<mj-text>{{ reader.name }}, <a href="{{ reader.unsubscribe_url }}">go</a> {{ reader.email }}</mj-text>'
            )
        ),
    )
    for field in ("name", "unsubscribe_url", "email"):
        assert made.html.count(types.mark(field)) == 1


@pytest.mark.parametrize(
    "piece",
    [
        "{{ reader }}",
        "{{ reader.email | upper }}",
        "{{ reader.email ~ '!' }}",
        "{{ reader['email'] }}",
        "{{ reader.email.upper() }}",
        "{{ [reader.email] }}",
        "{{ range(reader.email) }}",
        "{{ 'a' if reader.name else 'b' }}",
        "{% if reader.name %}{% endif %}",
        "{% if reader.name is defined %}{% endif %}",
        "{% for letter in reader.name %}{% endfor %}",
        "{% for reader in [1] %}{% endfor %}",
        "{% set name = reader.name %}",
        "{% set reader = 1 %}",
        "{% set name %}{{ reader.name }}{% endset %}",
        "{% filter upper %}{{ reader.name }}{% endfilter %}",
        "{% macro greet() %}{{ reader.name }}{% endmacro %}",
        "{% macro greet(reader) %}{% endmacro %}",
        "{% with reader = 1 %}{% endwith %}",
        "{% import 'parts/words.txt' as reader %}",
        "{% from 'parts/words.txt' import leave as reader %}",
    ],
)
def test_a_personal_field_can_only_be_printed(piece):
    found = fault(PAGE.format(piece))
    assert (found.name, found.line) == ("issue.mjml", 3)
    assert "can only be printed" in str(found)


def test_an_unknown_personal_field_is_named():
    found = fault(PAGE.format("{{ reader.age }}"))
    assert found.line == 3
    assert "reader has no 'age'; it has email, name," in str(found)


def test_a_block_with_a_personal_field_cannot_be_changed_either():
    source = '{% extends "default:issue.mjml" %}{% block footer %}{{ super() | upper }}{% endblock %}'
    assert "changes a personal field" in str(fault(source))


# -- the documentation ------------------------------------------------------------------------------------------------


def test_the_readme_lists_exactly_the_variables_that_exist():
    text = (SHIPPED / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| `((?:issue|section|entry|reader)\.(?!mjml|txt)\w+)` \|", text, re.MULTILINE)
    kinds = {"issue": views.Issue, "section": views.Section, "entry": views.Entry, "reader": templates.Reader}
    assert listed == [f"{name}.{field.name}" for name, kind in kinds.items() for field in dataclasses.fields(kind)]
    assert tuple(field.name for field in dataclasses.fields(templates.Reader)) == types.PERSONAL


def test_the_readme_lists_exactly_the_blocks_that_exist():
    text = (SHIPPED / "README.md").read_text("utf-8")
    for name in ("issue.mjml", "issue.txt"):
        (listed,) = re.findall(rf"Blocks of `{re.escape(name)}`:([^;.]*)", text)
        blocks = re.findall(r"{% block (\w+) %}", TEMPLATES.sources[f"default:{name}"])
        assert re.findall(r"`(\w+)`", listed) == blocks


def test_every_example_of_the_readme_works():
    text = (SHIPPED / "README.md").read_text("utf-8")
    example = "\n".join(line[4:] for line in re.findall(r"^    .*$", text, re.MULTILINE) if "paper, ink" not in line)
    assert "Set in Georgia" in edition(two_topics(), templates=own(issue_mjml=example)).html
    (colours,) = re.findall(r"^    (.*paper, ink.*)$", text, re.MULTILINE)
    look = re.sub(r"{% set paper, ink.*", colours, TEMPLATES.sources["default:parts/look.txt"])
    html = edition(two_topics(), templates=render.Templates({**TEMPLATES.sources, "parts/look.txt": look})).html
    assert "#00587a" in html
