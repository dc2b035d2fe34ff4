"""Templates: found, frozen, extended; every fault names its file and line; `reader` can only be printed."""

import dataclasses
import datetime as dt
import json
import re

import pytest
from test_render import TEMPLATES, Seen, edition, entry, issue, section, two_topics

from newsletter import colours, compose, config, errors, issuefile, render, types, workspace
from newsletter.render import sandbox, templates, views

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


def letter(tag="en-GB", **changes):
    made = dataclasses.replace(two_topics(), language=tag, **changes)
    return views.newsletter(made, made.base_url)


ABOUT = views.Mail(
    "https://news.example.org/confirm/abc?x=1&y=2",
    ("Living with the tide", "Trams"),
    48,
    "Friday 11 Sept 2026",
    "news@example.org",
)


def test_a_confirmation_asks_once_and_says_what_for():
    made = render.mail(TEMPLATES, "mail/confirm", letter(), ABOUT)
    assert made.subject == "Please confirm your subscription to News without the noise"
    assert made.topics == ()
    assert (
        made.text
        == f"""\
Please confirm your subscription to News without the noise

Somebody, most likely you, asked us to send News without the noise to
{types.mark("email")}

Your topics:
- Living with the tide
- Trams

Yes, send it to me:
https://news.example.org/confirm/abc?x=1&y=2

The link works for 48 hours. If it was not you, do nothing: without your
yes you will not hear from us again.

{"-" * 72}

1 Example Street, London

No tracking: nobody sees what you open or follow.
"""
    )
    seen = Seen(made.html)
    assert seen.links == [("https://news.example.org/confirm/abc?x=1&y=2", "Yes, send it to me")]
    assert types.mark("unsubscribe_url") not in made.html + made.text
    for words in ("One more step", "Living with the tide", "The link works for 48 hours.", types.mark("email")):
        assert words in seen.words


@pytest.mark.parametrize("name", ["mail/confirm", "mail/welcome", "mail/address", "mail/goodbye"])
def test_a_service_mail_says_the_same_in_both_parts(name):
    made = render.mail(TEMPLATES, name, letter(), ABOUT)
    seen = Seen(made.html)
    assert [tag for tag, _ in seen.tags if re.fullmatch("h[1-6]", tag)] == ["h1"]
    assert f"<title>{made.subject}</title>" in made.html
    for url, words in seen.links:
        assert f"{words}:\n{url}\n" in made.text
    for line in made.text.split("\n")[1:]:
        assert line.startswith(("---", "http", types.MARK_OPEN)) or line.removeprefix("- ").rstrip(":") in seen.words
    assert max(map(len, made.text.split("\n"))) <= 72


def test_a_service_mail_without_topics_lists_none():
    made = render.mail(TEMPLATES, "mail/welcome", letter(), dataclasses.replace(ABOUT, topics=()))
    assert "Your topics" not in made.html + made.text
    assert "<li" not in made.html


def test_the_subject_of_a_service_mail_is_a_block_of_its_own_template():
    source = (
        '{% extends "default:mail/confirm.txt" %}{% block subject %}One click, {{ newsletter.title }}{% endblock %}'
    )
    found = render.Templates({**TEMPLATES.sources, "mail/confirm.txt": source})
    made = render.mail(found, "mail/confirm", letter(), ABOUT)
    assert made.subject == "One click, News without the noise"
    assert "Yes, send it to me" in made.text
    with pytest.raises(errors.TemplateError, match="has no block 'subject'"):
        render.mail(render.Templates({**TEMPLATES.sources, "mail/confirm.txt": "x"}), "mail/confirm", letter(), ABOUT)


def test_hostile_titles_are_only_text_in_service_mails():
    title = "</mj-title><script>x</script> {{ 7 * 191 }} \"'"
    for name in ("mail/confirm", "mail/welcome", "mail/address", "mail/goodbye"):
        made = render.mail(TEMPLATES, name, letter(title=title), dataclasses.replace(ABOUT, topics=(title,)))
        assert "script" not in {tag for tag, _ in Seen(made.html).tags}
        assert "1337" not in made.html + made.text


# -- how a newsletter looks ----------------------------------------------------------------------------------------


def test_the_accent_of_the_settings_is_used_in_light_and_in_dark():
    html = edition(dataclasses.replace(two_topics(), accent="#00587a")).html
    assert "color:#00587a" in html
    assert f".words .accent{{color:{colours.for_dark('#00587a')}!important}}" in html
    assert "#9a4a2f" not in html
    assert "#e0a58e" not in html
    assert "#ffcc00" in edition(dataclasses.replace(two_topics(), accent="#00587a", dark_accent="#ffcc00")).html


def test_a_logo_stands_above_the_title_with_its_words():
    made = dataclasses.replace(two_topics(), logo="https://news.example.org/a.png?x=1&y=2", logo_alt='A "pier"')
    html = edition(made).html
    (logo,) = (given for tag, given in Seen(html).tags if tag == "img")
    assert (logo["src"], logo["alt"]) == ("https://news.example.org/a.png?x=1&y=2", 'A "pier"')
    assert html.index("<img") < html.index("<h1")
    assert "<img" in render.mail(TEMPLATES, "mail/confirm", views.newsletter(made, made.base_url), ABOUT).html
    assert "<img" not in edition(two_topics()).html


def test_a_footer_of_ones_own_stands_in_both_parts_of_every_mail():
    made = dataclasses.replace(two_topics(), footer="Set by hand & sent on Fridays.")
    welcome = render.mail(TEMPLATES, "mail/welcome", views.newsletter(made, made.base_url), ABOUT)
    for got in (edition(made), welcome):
        assert "Set by hand & sent on Fridays." in got.text
        assert "Set by hand & sent on Fridays." in Seen(got.html).words


def test_the_settings_and_an_issue_that_was_frozen_look_alike():
    settings = config.read((workspace.starter() / "newsletter.toml").read_text("utf-8"), SHIPPED.parent, {})
    of = settings.newsletter[0]
    made = dataclasses.replace(two_topics(), title=of.title, language=of.language, postal_address=of.postal_address)
    assert views.newsletter(of, "https://news.example.org") == views.newsletter(made, "https://news.example.org")


LOOKS = {
    "direction": "rtl",
    "accent": "#00587a",
    "dark_accent": "#88ccee",
    "logo": "https://news.example.org/logo.png",
    "logo_alt": "A pier",
    "footer": "Set by hand.",
}


def test_how_it_looks_is_frozen_with_an_issue():
    lines = "\n".join(f'{key} = "{value}"' for key, value in LOOKS.items())
    sample = re.sub(r"(?m)^(?:accent|direction) = .*$", "", (SHIPPED.parent / "newsletter.toml").read_text("utf-8"))
    text = sample.replace('slug = "weekly"', f'slug = "weekly"\n{lines}')
    of = config.read(text, SHIPPED.parent, {}).newsletter[0]
    cutoff = dt.datetime(2026, 9, 10, 11, tzinfo=dt.UTC)
    head = issuefile.front(newsletter="weekly", date="2026-09-11", cutoff=cutoff, subject="Kelp")
    draft = issuefile.read(f"{head}## Tides {{#rl-agents}}\n\n### Kelp grows\n", "x.md")
    made = compose.issue_of(
        draft, of, period="2026-09-11", base_url="https://news.example.org", path="x.md", claims=None
    )
    assert {key: getattr(made, key) for key in LOOKS} == LOOKS
    assert issuefile.thaw(issuefile.freeze(made)) == made


def test_an_issue_that_was_frozen_before_there_was_a_choice_still_thaws():
    values = json.loads(issuefile.freeze(two_topics()))
    old = json.dumps({key: value for key, value in values.items() if key not in LOOKS})
    assert edition(issuefile.thaw(old)) == edition(two_topics())


def test_a_look_and_an_issue_template_of_the_time_before_go_on_working():
    old = TEMPLATES.sources["default:issue.mjml"].replace(" with context", "").replace("newsletter.", "issue.")
    html = edition(two_topics(), templates=own(issue_mjml=old)).html
    assert "#9a4a2f" in html


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
        ("{% include 'issue.mjml' %}", "includes, extends or calls itself without end"),
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
    assert "makes a value of 5,000,000 characters" in str(fault("{{ 'x' * 5000000 }}"))


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


KINDS = {
    "issue": views.Issue,
    "section": views.Section,
    "entry": views.Entry,
    "newsletter": views.Newsletter,
    "mail": views.Mail,
    "reader": templates.Reader,
}


def test_the_readme_lists_exactly_the_variables_that_exist():
    text = (SHIPPED / "README.md").read_text("utf-8")
    listed = re.findall(
        r"^\| `((?:issue|section|entry|newsletter|mail|reader)\.(?!(?:mjml|txt|po)\b)\w+)` \|", text, re.MULTILINE
    )
    assert listed == [f"{name}.{field.name}" for name, kind in KINDS.items() for field in dataclasses.fields(kind)]
    assert tuple(field.name for field in dataclasses.fields(templates.Reader)) == types.PERSONAL


def asked_of(render_it):
    """What a template may name, found by naming all of it: {kind: fields}."""
    piece = "{{ " + " ~ ".join(f"{kind} is defined" for kind in KINDS) + " }}"
    said = render_it(piece)
    return [kind for kind, there in zip(KINDS, re.findall("True|False", said), strict=True) if there == "True"]


def test_an_issue_and_a_service_mail_have_the_variables_that_the_readme_gives_them():
    def issue_text(piece):
        source = f"{{% set _ = 1 %}}{piece.replace('reader is defined', '1 is defined')}{{{{ reader.email }}}}"
        return edition(two_topics(), templates=own(issue_txt=source)).text

    def mail_text(piece):
        source = f"{{% block subject %}}s{{% endblock %}}{piece.replace('reader is defined', '1 is defined')}"
        found = render.Templates({**TEMPLATES.sources, "mail/welcome.txt": source})
        return render.mail(found, "mail/welcome", letter(), ABOUT).text

    assert asked_of(issue_text) == ["issue", "newsletter", "reader"]
    assert asked_of(mail_text) == ["newsletter", "mail", "reader"]


def test_every_variable_prints_in_its_template():
    def fields(kind):
        return "".join(f"{{% set _ = {kind}.{field.name} %}}" for field in dataclasses.fields(KINDS[kind]))

    inner = f"{{% for section in issue.sections %}}{fields('section')}{{% for entry in section.entries %}}{fields('entry')}{{% endfor %}}{{% endfor %}}"
    source = fields("issue") + fields("newsletter") + inner + "{{ reader.email }}{{ reader.name }}done"
    assert "done" in edition(two_topics(), templates=own(issue_txt=source)).text
    source = "{% block subject %}s{% endblock %}" + fields("mail") + fields("newsletter") + "done"
    found = render.Templates({**TEMPLATES.sources, "mail/goodbye.txt": source})
    assert "done" in render.mail(found, "mail/goodbye", letter(), ABOUT).text


def test_the_readme_lists_exactly_the_blocks_that_exist():
    text = (SHIPPED / "README.md").read_text("utf-8")
    for name in ("issue.mjml", "issue.txt", "parts/mail.mjml", "parts/mail.txt"):
        (listed,) = re.findall(rf"Blocks of `{re.escape(name)}`:([^;.]*)", text)
        blocks = re.findall(r"{% block (\w+)", TEMPLATES.sources[f"default:{name}"])
        assert re.findall(r"`(\w+)`", listed) == blocks


def test_the_readme_lists_exactly_the_files_and_the_filters_that_exist():
    text = (SHIPPED / "README.md").read_text("utf-8")
    table = text.partition("## To change")[0]
    listed = set(re.findall(r"`([\w/]+\.(?:mjml|txt|po))`", table))
    listed = {f"locale/{name}" if name.endswith(".po") and "/" not in name else name for name in listed}
    listed |= {f"mail/{name}.{kind}" for name in re.findall(r"`mail/(\w+)`", table) for kind in ("mjml", "txt")}
    assert listed == set(TEMPLATES.shipped())
    (filters,) = re.findall(r"Of Jinja's filters these:\n(.*?)\.\n", text, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", filters)) == sandbox.FILTERS


def test_every_example_of_the_readme_works():
    text = (SHIPPED / "README.md").read_text("utf-8")
    example = "\n".join(line[4:] for line in re.findall(r"^    .*$", text, re.MULTILINE) if "paper, ink" not in line)
    assert "Set in Georgia" in edition(two_topics(), templates=own(issue_mjml=example)).html
    (colours,) = re.findall(r"^    (.*paper, ink.*)$", text, re.MULTILINE)
    look = re.sub(r"{% set paper, ink.*", colours, TEMPLATES.sources["default:parts/look.txt"])
    html = edition(two_topics(), templates=render.Templates({**TEMPLATES.sources, "parts/look.txt": look})).html
    assert "#00587a" in html
