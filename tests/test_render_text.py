"""Lines of 72, and Markdown as plain text."""

from hypothesis import given
from hypothesis import strategies as st

from newsletter.render import markdown, text

LONG = "https://example.org/" + "a-long-way/" * 8


def plain(source):
    return markdown.plain(markdown.parse(source))


def test_an_address_is_never_broken_and_stands_alone_when_it_is_long():
    assert text.wrap(f"See {LONG} for more.").split("\n") == ["See", LONG, "for more."]


def test_indents_count():
    lines = text.wrap("tide " * 40, first="- ", rest="  ").split("\n")
    assert lines[0].startswith("- tide")
    assert all(line.startswith("  tide") for line in lines[1:])
    assert max(map(len, lines)) <= text.WIDTH


def test_a_script_without_blanks_is_broken_between_its_letters():
    source = "这里的潮汐很慢" * 20 + "。"
    lines = text.wrap(source).split("\n")
    assert "".join(lines) == source
    assert max(map(len, lines)) <= text.WIDTH


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_wrapping_loses_and_changes_nothing_but_blanks(source):
    assert "".join(text.wrap(source).split()) == "".join(source.split())


def test_tidy_leaves_one_empty_line_and_no_blank_at_an_end():
    assert text.tidy("\n\na  \r\n\n\n\nb\t\n\n") == "a\n\nb\n"


def test_markdown_reads_well_without_its_signs():
    source = f"""\
A **quiet** week with *one* [surprise](https://example.org/kelp?a=1&b=2) and `1.2 m` of it.
The same, at <https://example.org/plain>.

# Seen from the pier

- the quiet
- the neighbours, who have much to say about bins and post and about being seasick at night
  1. Ada
  2. Bo

> Nobody drowned.
> Nobody complained.

    pump --hours 6

---

[{LONG}]({LONG}) ![a pier](pier.jpg) [here](/relative)
"""
    assert plain(source) == (
        """\
A quiet week with one surprise <https://example.org/kelp?a=1&b=2> and
1.2 m of it. The same, at https://example.org/plain.

Seen from the pier

- the quiet
- the neighbours, who have much to say about bins and post and about
  being seasick at night
  1. Ada
  2. Bo

> Nobody drowned. Nobody complained.

    pump --hours 6

* * *

"""
        f"{LONG}\na pier here"
    )


def test_long_lines_of_code_are_wrapped_too():
    assert max(map(len, plain("```\n  " + "pump " * 40 + "\n```").split("\n"))) <= text.WIDTH


def test_an_empty_item_keeps_its_sign():
    assert plain("- one\n-\n- three") == "- one\n-\n- three"


@given(st.text())
def test_any_text_at_all_gives_text_and_html(source):
    tokens = markdown.parse(source)
    markdown.plain(tokens)
    assert "\ue000" not in markdown.plain(tokens) + markdown.html(tokens)
