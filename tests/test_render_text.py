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


def test_wide_letters_count_twice_and_marks_upon_letters_not_at_all():
    assert text.columns("kelp") == 4
    assert text.columns("海带 kelp") == 9
    assert text.columns("مُقَالٌ") == 4
    assert text.columns("e\u0301") == 1
    assert text.columns("한국") == 4


def test_no_line_is_wider_than_72_columns_in_any_script():
    for source in (
        "这里的潮汐很慢，海带很多。GRPO 方法在 15 个实验中提高了 6.75 个百分点（见图 2）。" * 6,
        "ここの潮はとても遅く、昆布がたくさんあります。「GRPO」という方法を使います。" * 6,
        "여기의 조수는 매우 느리고 다시마가 많습니다. " * 12,
        "يُقدِّمُ الباحثون نموذجًا لمدينةٍ يسكنها أربعون ألفًا. " * 12,
    ):
        lines = text.wrap(source, "- ", "  ").split("\n")
        assert max(map(text.columns, lines)) <= text.WIDTH
        assert min(map(text.columns, lines[:-1])) > text.WIDTH - 20
        assert not any(line.lstrip()[0] in "，。、」）" for line in lines)
        assert not any(line.rstrip()[-1] in "「（" for line in lines)


def test_a_latin_word_between_wide_letters_stays_whole():
    lines = text.wrap("方法" * 17 + "reinforcement方法", width=72).split("\n")
    assert lines == ["方法" * 17, "reinforcement方法"]


def test_a_stray_line_is_told_its_side_on_a_page_from_the_right_only():
    source = "GPT-5 يتعلّم\nقال GPT\nhttps://example.org/مقال\nplain words\n"
    assert text.tidy(source) == source
    assert text.tidy("GPT-5 يتعلّم\nplain words\n", "rtl") == "\u200fGPT-5 يتعلّم\nplain words\n"


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
