"""Drafts: read without loss, every fault named with its line, and written so that they are read again."""

import datetime as dt
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors, issuefile, types

FRONT = """\
+++
newsletter = "weekly"
date = 2026-09-11
cutoff = 2026-09-10T12:00:00+01:00
subject = "News"
+++

"""
DRAFT = (
    FRONT
    + """\
An *introduction*.

Of two paragraphs.

## Reinforcement learning {#rl-agents}

Free text before the first entry.

### [A title](https://papers.example/a) {#e-3f9a1c}
Wang et al. · 6 Sept 2026

Two sentences. Markdown **allowed**.

### · {#e-77}
6 Sept 2026

No title at all.

### [·](https://papers.example/c) {#e-78}

A link without a title.

### By hand
No byline here: this is the text,
in two lines.

## Robots that learn {#robots}
"""
)


def read(text):
    return issuefile.read(text, "issues/weekly/2026-09-11.md")


def faults(text):
    with pytest.raises(errors.DraftError) as caught:
        read(text)
    return caught.value.problems


def test_draft_is_taken_apart():
    draft = read(DRAFT)
    assert (draft.newsletter, draft.date, draft.subject, draft.preheader) == ("weekly", "2026-09-11", "News", "")
    assert draft.cutoff == dt.datetime(2026, 9, 10, 11, 0, tzinfo=dt.UTC)
    assert draft.intro == "An *introduction*.\n\nOf two paragraphs."
    assert [(s.slug, s.title, s.text) for s in draft.sections] == [
        ("rl-agents", "Reinforcement learning", "Free text before the first entry."),
        ("robots", "Robots that learn", ""),
    ]
    assert [(b.ref, b.title, b.url, b.byline, b.body) for b in draft.sections[0].blocks] == [
        ("e-3f9a1c", "A title", "https://papers.example/a", "Wang et al. · 6 Sept 2026", "Two sentences. Markdown **allowed**."),
        ("e-77", None, None, "6 Sept 2026", "No title at all."),
        ("e-78", None, "https://papers.example/c", "", "A link without a title."),
        (None, "By hand", None, "", "No byline here: this is the text,\nin two lines."),
    ]  # fmt: skip
    assert [b.line for b in draft.sections[0].blocks] == [16, 21, 26, 30]


# -- without loss --------------------------------------------------------------------------------------------------

LINES = st.sampled_from(
    ["", "text", "  indented", "* list", "```", "~~~~", "    code", "\t", "# H1", "#### H4", "## New {#bins}",
     "### Hand", "### [T](https://a.org) {#e-9}", "## ", "###", "é · 中", "{#e-1}", "+++", "a  ", "\\", "---", "====="]
)  # fmt: skip


@given(
    edits=st.lists(st.tuples(st.integers(0, 40), st.booleans(), LINES), max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    bom=st.booleans(),
    last=st.booleans(),
)
def test_what_is_read_is_written_out_again_as_the_same_text(edits, end, bom, last):
    lines = DRAFT.split("\n")[:-1]
    for place, instead, line in edits:
        at = 6 + place % (len(lines) - 6)
        lines[at : at + instead] = [line]
    text = ("\ufeff" if bom else "") + end.join(lines) + (end if last else "")
    try:
        draft = read(text)
    except errors.DraftError as error:
        assert all(1 <= line <= len(lines) + 1 for line, _ in error.problems)
    else:
        assert issuefile.write(draft) == text
        assert issuefile.write(issuefile.read_bytes(text.encode(), "x")) == text


@given(st.text(alphabet="#ab {}[]()`~·+\\\n\r\t=<>", max_size=200))
def test_any_text_is_read_without_loss_or_refused_with_a_line(text):
    try:
        draft = read(FRONT + text)
    except errors.DraftError as error:
        assert error.problems
    else:
        assert issuefile.write(draft) == FRONT + text


@given(st.binary(max_size=100))
def test_any_octets_are_read_or_refused(data):
    with pytest.raises(errors.DraftError):
        issuefile.read_bytes(data, "x")


def test_windows_line_ends_do_not_show_in_what_is_read():
    unix, windows = read(DRAFT), read(DRAFT.replace("\n", "\r\n"))
    assert windows.intro == unix.intro
    for one, other in zip(unix.sections, windows.sections, strict=True):
        assert (one.title, one.slug, one.text) == (other.title, other.slug, other.text)
        for a, b in zip(one.blocks, other.blocks, strict=True):
            assert (a.title, a.url, a.byline, a.body, a.line) == (b.title, b.url, b.byline, b.body, b.line)
            assert issuefile.fingerprint(a) == issuefile.fingerprint(b)


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(str.strip)
urls = st.one_of(
    st.none(),
    st.text(alphabet="abc/()<>[]{}\\ &?=#%é·", max_size=20).map(lambda rest: f"https://papers.example/{rest}"),
)


bodies = st.lists(
    st.sampled_from(
        ["Two *sentences*.", "", "- one\n- two", "> quoted", "```\n## code\n```", "    code", "[a](b)", "É · 中"]
    ),
    min_size=1,
    max_size=3,
).map(lambda parts: "\n\n".join(["Text.", *parts]).strip())
EDITS = ("move", "cut", "write anew", "write by hand", "say more", "swap sections")


@given(
    titles=st.lists(st.tuples(st.one_of(st.none(), words), urls, bodies), min_size=1, max_size=6),
    edits=st.lists(
        st.tuples(st.sampled_from(EDITS), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), words, bodies),
        max_size=8,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    bom=st.booleans(),
)
def test_every_edit_of_an_issue_is_read_as_it_was_made_and_nothing_else_changes(titles, edits, end, bom):
    made = [
        issuefile.new_block(f"e-{i:x}", title, url, "6 Sept 2026", body) for i, (title, url, body) in enumerate(titles)
    ]
    # slug -> [the text of the section, its blocks]
    issue = {"one": ["", made[::2]], "two": ["", made[1::2]]}
    for what, a, b, c, title, body in edits:
        slug, other = list(issue)[a % 2], list(issue)[b % 2]
        blocks, others = issue[slug][1], issue[other][1]
        if what == "swap sections":
            issue = dict(reversed(issue.items()))
        elif what == "say more":
            issue[slug][0] = body
        elif what == "write by hand":
            others.insert(c % (len(others) + 1), issuefile.new_block(None, title, None, "", body))
        elif blocks:
            block = blocks.pop(c % len(blocks))
            if what == "move":
                others.insert(c % (len(others) + 1), block)
            elif what == "write anew":
                blocks.append(issuefile.new_block(block.ref, title, block.url, "Ada · 7 Sept 2026", body))
    text = FRONT + "An introduction.\n\n"
    for slug, (said, blocks) in issue.items():
        text += issuefile.new_section(slug, slug.title()).raw + f"{said}\n\n" + "".join(block.raw for block in blocks)
    text = ("\ufeff" if bom else "") + text.replace("\n", end)
    draft = read(text)
    assert issuefile.write(draft) == text
    assert [(found.slug, found.text) for found in draft.sections] == [(slug, said) for slug, (said, _) in issue.items()]
    for found, (_, blocks) in zip(draft.sections, issue.values(), strict=True):
        assert [(one.ref, one.byline, one.body) for one in found.blocks] == [
            (one.ref, one.byline, one.body) for one in blocks
        ]
        assert [issuefile.fingerprint(one) for one in found.blocks] == [issuefile.fingerprint(one) for one in blocks]


@given(
    ref=st.sampled_from([None, "e-3f9a1c20"]),
    title=st.one_of(st.none(), words, st.sampled_from(["·", "\\·", "[x](y)", "a {#e-1}", "] [", "a\\", "{", "#", "`"])),
    url=urls,
    byline=st.sampled_from(["", "Wang et al. · 6 Sept 2026", "Müller · 2026-09-06"]),
    body=st.sampled_from(["Text.", "", "One.\n\nTwo."]),
)
def test_entry_that_we_write_is_read_as_it_was(ref, title, url, byline, body):
    made = issuefile.new_block(ref, title, url, byline, body)
    section = issuefile.new_section("rl-agents", "A [title] {of} \\ all")
    draft = read(FRONT + section.raw + made.raw)
    (found,) = draft.sections[0].blocks
    assert draft.sections[0].title == "A [title] {of} \\ all"
    assert found.ref == ref
    assert found.title == (" ".join(title.split()) if title else None)
    assert (found.byline, found.body) == (byline, body)
    assert issuefile.fingerprint(found) == issuefile.fingerprint(made)
    if url is None:
        assert found.url is None
    else:
        assert found.url.replace("%20", " ").replace("%3C", "<").replace("%3E", ">") == url


@given(subject=words, preheader=words, number=st.sampled_from([None, 1, 37]), more=st.sampled_from([{}, {"a-b": 7}]))
def test_front_matter_that_we_write_is_read_as_it_was(subject, preheader, number, more):
    cutoff = dt.datetime(2026, 9, 10, 11, 0, tzinfo=dt.UTC)
    draft = read(
        issuefile.front(
            newsletter="weekly",
            date="2026-09-11",
            cutoff=cutoff,
            subject=subject,
            preheader=preheader,
            number=number,
            more=more,
        )
    )
    assert (draft.subject, draft.preheader, draft.number) == (subject, preheader, number)
    assert (draft.cutoff, dict(draft.more)) == (cutoff, more)


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", 'more = { robots = 1 }\npreheader = ""\n'])
def test_more_is_put_into_the_front_matter(start, end, before):
    text = start + (FRONT.replace("subject", f"{before}subject") + "An intro\n+++\n").replace("\n", end)
    changed = issuefile.with_more(text, {"rl-agents": 7, "robots": 2})
    draft = read(changed)
    assert dict(draft.more) == {"rl-agents": 7, "robots": 2}
    assert draft.intro == "An intro\n+++"
    assert changed.startswith(start + "+++")
    assert ("\r\n" in changed) == (end == "\r\n")
    assert changed.count("\n") == changed.count(end)


def test_more_stands_before_tables_and_goes_when_nothing_is_left_out():
    front, _, rest = FRONT.replace("date =", "more = { robots = 1 }\ndate =").rpartition("+++\n")
    text = f'{front}[subjects]\nrobots = "R"\nmore = "a topic"\n+++\n{rest}'
    changed = issuefile.with_more(text, {"robots": 3})
    assert dict(read(changed).more) == {"robots": 3}
    assert dict(read(changed).subjects) == {"robots": "R", "more": "a topic"}
    assert read(issuefile.with_more(changed, {})).more == ()
    assert "more = {" not in issuefile.with_more(changed, {})


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('subjects = { robots = "" }', "subjects must be like"),
        ("[subjects]\nrobots = 5", "subjects must be like"),
        ('[subjects]\nrobots = "a\\nb"', "subject must be one line"),
    ],
)
def test_bad_subjects_are_named_with_their_line(table, says):
    front, _, rest = FRONT.rpartition("+++\n")
    ((line, what),) = faults(f"{front}{table}\n+++\n{rest}")
    assert line == front.count("\n") + 1
    assert says in what


# -- titles and bylines --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heading", "title", "url"),
    [
        ("### Plain", "Plain", None),
        ("###\tTabbed", "Tabbed", None),
        ("###", None, None),
        ("### ·", None, None),
        ("### \\·", "·", None),
        ("### a · b", "a · b", None),
        ("### [A [nested [pair]] of brackets](https://a.org)", "A [nested [pair]] of brackets", "https://a.org"),
        (r"### [A \] bracket](https://a.org)", "A ] bracket", "https://a.org"),
        ("### [T](https://a.org/wiki/Tea_(drink))", "T", "https://a.org/wiki/Tea_(drink)"),
        ("### [T](<https://a.org/(odd>)", "T", "https://a.org/(odd"),
        ("### [·](https://a.org)", None, "https://a.org"),
        (r"### C:\\dir \{x\}", r"C:\dir {x}", None),
        (r"### C:\dir", r"C:\dir", None),
        ("### [1] first", "[1] first", None),
    ],
)
def test_heading_is_read_as(heading, title, url):
    (block,) = read(f"{FRONT}## T {{#x}}\n\n{heading}\n\nText.\n").sections[0].blocks
    assert (block.title, block.url) == (title, url)


@pytest.mark.parametrize(
    ("lines", "byline", "body"),
    [
        ("Wang · 6 Sept 2026\n\nText.", "Wang · 6 Sept 2026", "Text."),
        ("Wang et al.\n\nText.", "Wang et al.", "Text."),
        ("\nText.", "", "Text."),
        ("Text of\ntwo lines.\n\nMore.", "", "Text of\ntwo lines.\n\nMore."),
        ("All that it says.", "", "All that it says."),
        ("Wang · 6 Sept 2026", "Wang · 6 Sept 2026", ""),
        ("Wang · 6 Sept 2026 · A blog", "Wang · 6 Sept 2026 · A blog", ""),
        ("Müller · 2026-09-06", "Müller · 2026-09-06", ""),
        ("", "", ""),
    ],
)
def test_byline_is_the_line_that_stands_alone(lines, byline, body):
    (block,) = read(f"{FRONT}## T {{#x}}\n\n### A\n{lines}\n").sections[0].blocks
    assert (block.byline, block.body) == (byline, body)


# -- fenced code ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "```\n## no heading\n### nor this\n```",
        "~~~ sh\n## no heading\n```\n~~~~",
        "   ````\n```\n## no heading\n`````",
        "- ```\n  ## no heading\n  ```",
        "1. text\n\n   ```\n   ## no heading\n   ```",
        "> ```\n> ## no heading\n> ```",
        "- ```\n  a fence that ends with its list",
        "```inline``` is no fence",
        "    ```\n    nor is indented code",
    ],
)
def test_code_is_text_and_what_follows_it_is_read(code):
    draft = read(f"{FRONT}## T {{#x}}\n\n### A\n\n{code}\n\n### B {{#e-1}}\n\nText.\n")
    assert [block.title for block in draft.sections[0].blocks] == ["A", "B"]
    assert draft.sections[0].blocks[0].body == code.strip("\n")


def test_fence_that_never_ends_is_found_by_what_it_swallows():
    found = faults(f"{FRONT}## T {{#x}}\n\n### A\n\n```\ncode\n\n### B {{#e-1}}\n\n## U {{#y}}\n")
    assert found == [
        (15, "this heading stands in the fenced code that begins in line 12"),
        (17, "this heading stands in the fenced code that begins in line 12"),
    ]


# -- faults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("+++\nnewsletter", "newsletter", 1, "begins with its front matter"),
        ('"News"\n+++', '"News"\n', 1, "has no end"),
        ('"weekly"', "weekly", 2, "front matter: Invalid value"),
        ("date = 2026-09-11", "date = 2026-13-11", 3, "front matter: "),
        ("date = 2026-09-11", 'date = "soon"', 3, "date must be a day like 2026-09-11"),
        ("+01:00", "", 4, "cutoff must be a time with an offset"),
        ('"News"', "5", 5, "subject must be a text in quotes"),
        ('"News"', '"News\\nBcc: x"', 5, "subject must be one line"),
        ('subject = "News"\n', "", 1, "subject is missing"),
        ("+++\n\nAn", 'sbject = "x"\n+++\n\nAn', 6, "sbject is no key of a draft"),
        ("+++\n\nAn", "number = 0\n+++\n\nAn", 6, "number must be a whole number from 1"),
        ("+++\n\nAn", "more = 5\n+++\n\nAn", 6, "more must be like"),
        ("Of two paragraphs.", "### Too early", 10, "stands before the first section"),
        (" {#rl-agents}", "", 12, "a section's heading is written"),
        ("## Reinforcement learning {#rl-agents}", "## {#rl-agents}", 12, "a section's heading is written"),
        ("{#robots}", "{#rl-agents}", 34, "{#rl-agents} stands twice; the other one is in line 12"),
        ("{#e-77}", "{#e-3f9a1c}", 21, "{#e-3f9a1c} stands twice; the other one is in line 16"),
        ("{#e-77}", "{#77}", 21, "{#77} is no entry's id"),
        ("(https://papers.example/a)", "(papers.example/a)", 16, "must begin with http:// or https://"),
        ("(https://papers.example/a)", "(javascript:alert(1))", 16, "must begin with http:// or https://"),
        ("(https://papers.example/a)", "(https://papers.example/a b)", 16, "plain text or one link"),
        ("(https://papers.example/a)", '(https://papers.example/a "hint")', 16, "plain text or one link"),
        ("[A title]", "See [A title]", 16, "plain text or one link"),
        ("Free text", "<<<<<<< HEAD\nFree text", 14, "merge conflict"),
    ],
)  # fmt: skip
def test_fault_is_named_with_its_line(old, new, line, says):
    assert old in DRAFT
    found = faults(DRAFT.replace(old, new, 1))
    assert [at for at, _ in found] == [line]
    assert says in found[0][1]


def test_every_fault_is_named_at_once_in_order():
    text = DRAFT.replace('"News"', "5").replace(" {#rl-agents}", "").replace("{#e-77}", "{#77}")
    assert [line for line, _ in faults(text)] == [5, 12, 21]


@pytest.mark.parametrize("at", ["front", "body"])
def test_every_mark_of_a_merge_conflict_is_named(at):
    marks = "<<<<<<< ours\na = 1\n||||||| base\n=======\nb = 2\n>>>>>>> theirs\n"
    text = FRONT.replace("date", marks + "date") if at == "front" else FRONT + marks
    first = 3 if at == "front" else 8
    found = faults(text)
    assert [line for line, what in found if "merge conflict" in what] == [first, first + 2, first + 3, first + 5]


def test_underlined_heading_is_no_merge_conflict():
    assert read(FRONT + "Welcome\n=======\n").intro == "Welcome\n======="


def test_comment_in_the_front_matter_is_no_heading():
    assert read(FRONT.replace("date =", "## a comment\ndate =")).date == "2026-09-11"


def test_message_names_file_and_line():
    with pytest.raises(errors.DraftError, match=r"^issues/weekly/2026-09-11\.md:12: "):
        read(DRAFT.replace(" {#rl-agents}", ""))


def test_octets_that_are_no_utf8_are_named_with_their_line():
    with pytest.raises(errors.DraftError) as caught:
        issuefile.read_bytes(DRAFT.replace("Of two", "Of café").encode("latin-1", "replace"), "x")
    assert caught.value.problems == [(10, "is not UTF-8; save the file as UTF-8")]


def test_hostile_headings_are_read_in_no_time():
    long = "[" * 3000 + "a" * 3000 + "(" * 3000
    assert faults(f"{FRONT}## T {{#x}}\n\n### [{long}](\n")
    assert read(f"{FRONT}## T {{#x}}\n\n### {long}\n").sections[0].blocks
    assert read(f"{FRONT}## T {{#x}}\n\n### {' ' * 5000}a {{#\n").sections[0].blocks


# -- freezing ------------------------------------------------------------------------------------------------------

texts = st.text(max_size=30)
moments = st.one_of(st.none(), st.just(dt.datetime(2026, 9, 6, tzinfo=dt.UTC)))
entries = st.builds(
    types.IssueEntry, st.one_of(st.none(), texts), st.one_of(st.none(), texts), st.one_of(st.none(), texts),
    texts, texts, st.lists(texts, min_size=1, max_size=3).map(tuple), moments,
)  # fmt: skip
sections = st.builds(
    types.IssueSection, texts, texts, texts, st.lists(entries, max_size=3).map(tuple), st.integers(0, 9)
)
issues = st.builds(
    types.Issue, texts, texts, texts, texts, st.dates(), st.one_of(st.none(), st.integers(1)), texts, texts, texts,
    st.lists(sections, max_size=3).map(tuple), texts, texts,
    subjects=st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
)  # fmt: skip


@given(issues)
def test_frozen_issue_is_thawed_as_it_was(issue):
    frozen = issuefile.freeze(issue)
    assert issuefile.thaw(frozen) == issue
    assert issuefile.freeze(issuefile.thaw(frozen)) == frozen


def test_ids_of_entries_are_the_only_ones():
    assert re.fullmatch(issuefile.REF, "e-3f9a1c20")
    assert not re.fullmatch(issuefile.REF, "x-3f9a1c20")
