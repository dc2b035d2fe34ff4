"""A template that would run or grow without end is an error at its line, soon and in little memory."""

import resource
import time

import pytest
from test_render import TEMPLATES, edition, entry, issue, section, two_topics
from test_templates import PAGE, fault, own

from newsletter import errors, render
from newsletter.render import sandbox

BIG = "{% set big = 'ab' * 1999999 %}"
GROW = "{% set ns = namespace(a='x', b=[1], c=[1]) %}{% for i in range(60) %}"

ENDLESS = {
    "a loop in a loop": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "a loop that prints": "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "a loop that looks at itself": "{% for a in range(99999) %}{% for b in range(99999) %}{{ loop.revindex }}{% endfor %}{% endfor %}",
    "a loop with much in it": "{% for a in range(99999) %}" + "{% if a %}b{% endif %}" * 500 + "{% endfor %}",
    "a loop over a macro": "{% macro f() %}{% for i in range(999) %}x{% endfor %}{% endmacro %}{% for i in range(99999) %}{{ f() }}{% endfor %}",
    "a macro in itself": "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "a block in itself": "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "a loop that calls itself": "{% for x in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
    "sorting again and again": "{% set l = range(90000) | list %}{% for i in range(9999) %}{% set x = l | sort %}{% endfor %}",
    "searching again and again": BIG + "{% for i in range(99999) %}{% if 'c' in big %}{% endif %}{% endfor %}",
    "a test again and again": BIG + "{% for i in range(99999) %}{% if 'c' is in big %}{% endif %}{% endfor %}",
    "slicing again and again": BIG + "{% for i in range(99999) %}{% set x = big[1:] %}{% endfor %}",
    "wrapping again and again": "{% for i in range(99999) %}{{ ('x ' * 30000) | wrap }}{% endfor %}",
    "a power": "{{ (10 ** 900) ** 900 }}",
    "rounding": "{{ 1.5 | round(1000000000, 'ceil') }}",
    "comparing what is nested": GROW + "{% set ns.b = [ns.b, ns.b] %}{% set ns.c = [ns.c, ns.c] %}{% endfor %}{{ ns.b == ns.c }}",
}  # fmt: skip
ENORMOUS = {
    "a product": "{{ 'x' * 10 ** 10 }}",
    "a list": "{{ ([1] * 10 ** 10) | length }}",
    "doubling": GROW + "{% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a }}",
    "adding": GROW + "{% set ns.a = ns.a + ns.a %}{% endfor %}{{ ns.a }}",
    "adding lists": GROW + "{% set ns.b = ns.b + ns.b %}{% endfor %}",
    "a set block": GROW + "{% set x %}{{ ns.a }}{{ ns.a }}{% endset %}{% set ns.a = x %}{% endfor %}",
    "nesting": GROW + "{% set ns.b = dict(x=ns.b, y=ns.b) %}{% endfor %}{{ ns.b }}",
    "a format": "{{ '{:>1000000000}'.format(1) }}",
    "a percent": "{{ '%1000000000d' % 1 }}",
    "a filter": "{{ 'x' | center(1000000000) }}",
    "a method": "{{ 'x'.ljust(1000000000) }}",
    "bytes": "{{ (5).to_bytes(1000000000, 'big') }}",
    "replacing": "{% set big = 'x' * 999999 %}{{ big | replace('x', big) }}",
    "mapping": BIG + "{{ range(99999) | map('replace', '1', big) | list | length }}",
    "joining": BIG + "{{ range(99999) | join(big) }}",
    "joining lists": BIG + "{{ ([big] * 99999) | join }}",
    "summing": "{{ ([[1]] * 90000) | sum(start=[]) }}",
    "batching": "{{ [1] | batch(1000000000, 'x') | list }}",
    "printing": "{% set big = '<' * 3999999 %}{% for i in range(1000) %}{{ big }}{% endfor %}",
    "translating": "{{ gettext('%(a)s' * 99999, a='x' * 99999) }}",
    "styling": "{% for i in range(9999) %}{{ issue.intro | styled({'p': 'x' * 300000}) }}{% endfor %}",
}
PYTHON = {
    "a class": "{{ ''.__class__ }}",
    "a function's globals": "{{ gettext.__self__ }}",
    "a format's attributes": "{{ '{0.__class__}'.format(issue) }}",
    "an attribute by its name": "{{ issue | attr('__class__') }}",
    "an attribute of each": "{{ [issue] | map(attribute='__class__') | list }}",
    "a file": "{% include '/etc/passwd' %}",
    "a file above": "{% include '../newsletter.toml' %}",
    "a module": "{% import 'os' as os %}",
    "a catalogue": "{% include 'locale/de.po' %}",
    "what it was not given": "{{ lipsum() }}",
    "all of an object": "{{ issue }}",
    "a change of an issue": "{% set issue.title = 'x' %}",
}


@pytest.mark.parametrize("piece", [*ENDLESS.values(), *ENORMOUS.values()], ids=[*ENDLESS, *ENORMOUS])
def test_what_would_not_end_is_stopped_at_its_line(piece):
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    found = fault(PAGE.format(piece))
    assert (found.name, found.line) == ("issue.mjml", 3)
    assert time.process_time() - began < 20  # far more than it takes, and far less than for ever
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KB


@pytest.mark.parametrize("piece", PYTHON.values(), ids=PYTHON)
def test_python_and_files_are_out_of_reach(piece):
    found = fault(PAGE.format(piece))
    assert found.name in ("issue.mjml", "locale/de.po")
    assert found.line == 3 or found.name == "locale/de.po"


@pytest.mark.parametrize(
    "source", ["{{ " + "(" * 9_000 + "1" + ")" * 9_000 + " }}", "{% if 1 %}" * 2_000 + "{% endif %}" * 2_000]
)
def test_nesting_without_end_is_told(source):
    assert "nested too deeply" in str(fault(source))


def test_a_template_that_is_far_too_long_is_refused(tmp_path):
    (tmp_path / "issue.mjml").write_text("x" * 100_000)
    with pytest.raises(errors.TemplateError, match=r"issue\.mjml: has 100,000 characters"):
        render.Templates.load((tmp_path, tmp_path / "none"))


def test_what_templates_may_need_is_there():
    piece = """\
{% set names = issue.sections | map(attribute="title") | map("upper") | list %}
{% set total = namespace(n=0) %}
{% for section in issue.sections %}{% set total.n = total.n + section.count * 2 %}{% endfor %}
{{ names | join(", ") }}; {{ total.n }}; {{ issue.title[:4] ~ "!" }}; {{ "a b".split(" ") | last }};
{{ issue.sections | sum(attribute="count") }}; {{ {"a": 1}.get("a") }}; {{ 1.234 | round(1) }}; {{ 7 % 4 }};
{{ issue.sections | selectattr("more") | list | length }}; {{ loop_of() }}; {{ none or "nothing" }}
"""
    macro = "{% macro loop_of() %}{% for x in [3, 1, 2] | sort %}{{ loop.cycle('a', 'b') }}{{ x }}{% endfor %}{% endmacro %}"
    made = edition(two_topics(), templates=own(issue_txt=macro + piece)).text
    assert made.split() == "LIVING WITH THE TIDE, TRAMS; 6; News!; b; 3; 1; 1.2; 3; 1; a1b2a3; nothing".split()


def test_an_issue_of_300_entries_has_room(monkeypatch):
    steps = []
    tick = sandbox._tick
    monkeypatch.setattr(sandbox, "_tick", lambda cost: (steps.append(cost), tick(cost)))
    edition(
        issue(
            section(
                *(entry(f"The authors count kelp in {i} harbours.", url=f"https://example.org/{i}") for i in range(300))
            )
        )
    )
    assert sum(steps) < sandbox.MAX_STEPS / 10


def test_limits_hold_for_each_rendering_alone():
    nearly = "{% for i in range(60000) %}{% endfor %}" + TEMPLATES.sources["default:issue.txt"]
    for _ in range(20):
        assert edition(two_topics(), templates=own(issue_txt=nearly)).text.strip()
