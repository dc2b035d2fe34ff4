"""Composing, in values: order, room, the first words of a draft, what a refresh may touch, what an issue is."""

import datetime as dt

import markdown_it
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import compose, config, errors, issuefile, types

CUTOFF = dt.datetime(2026, 9, 10, 11, 0, tzinfo=dt.UTC)
LETTER = config.Newsletter.model_validate(
    {
        "slug": "weekly",
        "title": "The News",
        "from": "News <news@example.org>",
        "timezone": "Europe/London",
        "topic": [{"slug": "rl", "title": "Learning"}, {"slug": "robots", "title": "Robots"}],
    }
)


def entry(ref, day=1, *, topics=("rl",), **more):
    """An entry published on that September day (None: not dated), first seen on the 9th."""
    published = dt.datetime(2026, 9, day, tzinfo=dt.UTC) if day else None
    seen = dt.datetime(2026, 9, 9, tzinfo=dt.UTC)
    values = {
        "title": ref.upper(), "url": f"https://a.org/{ref}", "authors": ("Ada Wang",), "summary": f"About {ref}.",
        "published": published, "published_is_date": True, "first_seen": seen,
    }  # fmt: skip
    return types.Claimed(ref=f"e-{ref}", topics=topics, **(values | more))


def refs(entries):
    return [each.ref.removeprefix("e-") for each in entries]


def words(*entries):
    return {each.ref: types.Words(each.summary, " ".join(each.authors).rpartition(" ")[2]) for each in entries}


def draft(*entries, held=(), **more):
    values = {"date": dt.date(2026, 9, 11), "cutoff": CUTOFF, "number": 1, "words": words(*entries)} | more
    return compose.draft(LETTER, selection=compose.Selection(tuple(entries), tuple(held)), **values)


# -- order and room ------------------------------------------------------------------------------------------------


def test_newest_comes_first_and_ties_stay_as_first_seen():
    found = compose.ordered([entry("a", 3), entry("b", 5), entry("c", 3), entry("d", 5)], CUTOFF)
    assert refs(found) == ["b", "d", "a", "c"]


def test_future_date_counts_as_the_cutoff():
    today = entry("today", published=CUTOFF)
    assert refs(compose.ordered([today, entry("future", 28)], CUTOFF)) == ["today", "future"]
    assert refs(compose.ordered([entry("future", 28), today], CUTOFF)) == ["future", "today"]


def test_entry_without_a_date_stands_where_it_was_first_seen():
    assert refs(compose.ordered([entry("a", 8), entry("none", None), entry("b", 10)], CUTOFF)) == [
        "b",
        "none",
        "a",
    ]


def select(entries, most=30, per_source=None, already=()):
    return compose.select(entries, max_entries=most, per_source=per_source or {}, cutoff=CUTOFF, already=already)


def test_what_does_not_fit_is_held_and_says_why():
    found = select([entry("a", 1), entry("b", 2), entry("c", 3, topics=("robots", "rl"))], 1)
    assert refs(found.taken) == ["c"]
    assert [(each.ref, why) for each, why in found.held] == [
        ("e-b", "more than 1 entries in one issue"),
        ("e-a", "more than 1 entries in one issue"),
    ]
    assert found.more() == {"rl": 2}


def test_one_source_may_have_its_own_limit():
    blog = {"source": "https://b.org/f", "source_name": "The Blog"}
    namesake = {"source": "https://c.org/f", "source_name": "The Blog"}
    entries = [entry("a", 1, **blog), entry("b", 2, **blog), entry("c", 3), entry("d", 4, **namesake)]
    found = select(entries, per_source={"https://b.org/f": 1})
    assert refs(found.taken) == ["d", "c", "b"]
    assert [why for _, why in found.held] == ["more than 1 of The Blog in one issue"]


def test_room_is_what_the_issue_has_left():
    blog = {"source": "https://b.org/f"}
    already = [entry("x", **blog), entry("y")]
    assert refs(select([entry("a", 1), entry("b", 2)], 3, already=already).taken) == ["b"]
    assert refs(select([entry("a", 1, **blog), entry("b", 2)], 9, {"https://b.org/f": 1}, already).taken) == ["b"]


@given(st.lists(st.tuples(st.sampled_from([None, *range(1, 31)]), st.booleans()), max_size=30), st.integers(1, 12))
def test_every_entry_is_taken_or_held_once_and_in_order(what, most):
    entries = [entry(f"{i:x}", day, source="https://b.org/f" if blog else None) for i, (day, blog) in enumerate(what)]
    found = select(entries, most, {"https://b.org/f": 2})
    assert sorted(refs([*found.taken, *(each for each, _ in found.held)])) == sorted(refs(entries))
    assert len(found.taken) <= most
    assert list(found.taken) == compose.ordered(found.taken, CUTOFF)
    assert sum(each.source is not None for each in found.taken) <= 2


# -- the words of a draft ------------------------------------------------------------------------------------------


def test_draft_has_a_section_a_topic_and_one_block_an_entry():
    text = draft(entry("b", 6, topics=("rl", "robots")), entry("a", 5, topics=("robots",)), held=[(entry("x"), "why")])
    assert (
        text
        == """\
+++
newsletter = "weekly"
date = 2026-09-11
cutoff = 2026-09-10T12:00:00+01:00
number = 1
subject = "The News, 11 Sept 2026"
preheader = ""
more = { rl = 1 }
+++

## Learning {#rl}

### [B](https://a.org/b) {#e-b}
Wang · 6 Sept 2026

About b.

## Robots {#robots}

### [A](https://a.org/a) {#e-a}
Wang · 5 Sept 2026

About a.
"""
    )
    assert issuefile.write(issuefile.read(text, "x")) == text


def test_topic_of_which_nothing_fitted_is_named_all_the_same():
    parsed = issuefile.read(draft(entry("a"), held=[(entry("x", topics=("robots",)), "why")]), "x")
    assert [section.slug for section in parsed.sections] == ["rl", "robots"]


def test_words_that_are_given_are_used():
    text = draft(entry("a"), words={"e-a": types.Words("Other words.", "Wang")})
    assert "Other words." in text
    assert "\nWang · " in text


def test_byline_has_who_when_and_where_from():
    shown = compose.block(entry("a", 6, source_name="A *Blog*"), LETTER, types.Words("x", "Wang"))
    assert shown.byline == r"Wang · 6 Sept 2026 · A \*Blog\*"
    late = entry("a", published=dt.datetime(2026, 9, 6, 23, 30, tzinfo=dt.UTC), published_is_date=False, authors=())
    assert compose.block(late, LETTER, types.Words("x")).byline == "7 Sept 2026"
    assert compose.block(entry("a", None, authors=()), LETTER, types.Words("x")).byline == ""


def reads_as(text):
    """What a reader sees of a Markdown text: its paragraph's words, or None when there is more than words."""
    tokens = markdown_it.MarkdownIt("commonmark").parse(text)
    if [token.type for token in tokens] != ["paragraph_open", "inline", "paragraph_close"]:
        return None
    kinds = {child.type for child in tokens[1].children}
    return "".join(child.content for child in tokens[1].children) if kinds <= {"text", "text_special"} else None


MARKED = st.text(alphabet="ab1 *_`~[]()<>!#&;:/.\\+-=|\"'@{}é·", max_size=40)


@given(st.one_of(MARKED, st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)))
def test_escaped_text_reads_as_that_very_text(text):
    plain = " ".join(text.split())
    escaped = compose.escape_markdown(text)
    assert (reads_as(escaped) if plain else escaped) == plain


@pytest.mark.parametrize(
    "text",
    [
        "__init__ and snake_case and _this_", "1. not a list", "2) nor this", "- nor this", "+ nor", "# nor", "> nor", "a <b>c</b>",
        "&copy; &amp; &#35;", "[a](b) [a][b] [a]: b", "![x](y)", "<https://a.org>", "C:\\*dir\\", "* * *", "***", "---",
        "a_b_", "_a_b", "\\_", "5 * 3 * 2", "`code`", "~~~", "===", "a\n\nb", "[^1] note", "-", "1.", "<!-- x -->", "<?x?>",
    ],
)  # fmt: skip
def test_escaped_text_reads_as_that_very_text_in_known_traps(text):
    assert reads_as(compose.escape_markdown(text)) == " ".join(text.split())


@pytest.mark.parametrize(
    "text", ["Liu et al. (2026) gain 3.2 % in snake_case.", "A < B & C > D", "It's [sic] fine - so"]
)
def test_plain_sentences_are_left_as_they_are(text):
    assert compose.escape_markdown(text) == text


# -- refreshing ----------------------------------------------------------------------------------------------------


def refreshed(text, entries, added, *, written=None, more=None):
    old = issuefile.read(text, "x")
    blocks = [block for section in old.sections for block in section.blocks]
    return compose.refreshed(
        old,
        LETTER,
        entries=entries,
        added=added,
        words=words(*entries, *added),
        written={b.ref: issuefile.fingerprint(b) for b in blocks} if written is None else written,
        more=dict(old.more) if more is None else more,
        cutoff=CUTOFF,
    )


def test_refresh_with_nothing_new_is_the_same_text():
    entries = [entry("b", 6), entry("a", 5)]
    for text in (draft(*entries), draft(*entries).rstrip("\n"), draft(*entries).replace("\n", "\r\n")):
        assert refreshed(text, entries, []) == text


def test_new_entries_stand_where_their_date_says():
    entries = [entry("c", 7), entry("a", 3)]
    added = [entry("d", 8), entry("x", 3), entry("b", 5), entry("y", 5), entry("z", 1)]
    found = issuefile.read(refreshed(draft(*entries), entries, compose.ordered(added, CUTOFF)), "x")
    assert [block.ref for block in found.sections[0].blocks] == [f"e-{each}" for each in "dcbyaxz"]


def test_new_entry_is_not_put_behind_a_date_in_the_future():
    entries = [entry("future", 28)]
    now = entry("now", published=CUTOFF + dt.timedelta(hours=1))
    found = issuefile.read(refreshed(draft(*entries), entries, [now]), "x")
    assert [block.ref for block in found.sections[0].blocks] == ["e-future", "e-now"]


def test_refresh_keeps_what_an_editor_wrote_and_cut_and_moved():
    entries = [entry("c", 7), entry("b", 6), entry("a", 5)]
    text = draft(*entries)
    written = {b.ref: issuefile.fingerprint(b) for b in issuefile.read(text, "x").sections[0].blocks}
    cut = text.partition("### [B]")[0] + "### [A]" + text.partition("### [A]")[2]
    edited = cut.replace("About c.", "Better words.").replace("+++\n\n", "+++\n\nHello.\n\n")
    changed = [entry("c", 7, summary="Changed."), entry("b", 6), entry("a", 5, summary="Changed too.")]
    found = refreshed(edited, changed, [entry("new", 9)], written=written)
    assert "Hello." in found
    assert "Better words." in found
    assert "Changed." not in found
    assert "Changed too." in found
    assert "About a." not in found
    assert "e-b" not in found
    parsed = issuefile.read(found, "x")
    assert [block.ref for block in parsed.sections[0].blocks] == ["e-new", "e-c", "e-a"]


def test_section_that_is_missing_is_made_in_its_place():
    found = issuefile.read(refreshed(draft(entry("a", topics=("robots",))), [], [entry("b")]), "x")
    assert [section.slug for section in found.sections] == ["rl", "robots"]


def test_refresh_of_a_draft_without_an_end_of_line_keeps_its_headings_apart():
    text = refreshed(draft(entry("a")).rstrip("\n"), [entry("a")], [entry("z", 1)])
    assert [block.body for block in issuefile.read(text, "x").sections[0].blocks] == ["About a.", "About z."]
    assert text.endswith("About z.\n")


def test_refresh_keeps_windows_line_ends():
    text = refreshed(draft(entry("a")).replace("\n", "\r\n"), [entry("a")], [entry("z", 1)])
    assert text.count("\n") == text.count("\r\n")


def test_refresh_counts_what_no_longer_fits():
    text = refreshed(draft(entry("a")), [entry("a")], [], more={"rl": 3})
    assert dict(issuefile.read(text, "x").more) == {"rl": 3}


# -- an issue ------------------------------------------------------------------------------------------------------


def issue_of(text, claims=None, period="2026-09-11"):
    return compose.issue_of(
        issuefile.read(text, "draft.md"),
        LETTER,
        period=period,
        base_url="https://n.org",
        path="draft.md",
        claims=claims,
    )


def test_issue_has_what_the_draft_says():
    both = entry("a", topics=("rl", "robots"))
    made = issue_of(
        draft(both, entry("b", topics=("robots",)), held=[(entry("x"), "why")]), {"e-a": both, "e-b": entry("b")}
    )
    assert (made.name, made.number, made.subject) == ("weekly/2026-09-11", 1, "The News, 11 Sept 2026")
    assert [(section.slug, section.more) for section in made.sections] == [("rl", 1), ("robots", 0)]
    assert made.sections[0].entries[0].topics == ("rl", "robots")
    assert made.sections[0].entries[0].published == both.published


def test_entry_moved_by_hand_belongs_to_its_new_section_alone():
    both = entry("a", topics=("rl", "robots"))
    text = draft(both).replace("## Learning {#rl}", "## Robots {#robots}")
    assert issue_of(text, {"e-a": both}).sections[0].entries[0].topics == ("robots",)


def test_draft_can_be_read_without_a_database():
    assert issue_of(draft(entry("a")), None).sections[0].entries[0].ref == "e-a"


def test_special_issue_has_the_date_of_its_day():
    assert issue_of(draft(entry("a")), None, "2026-09-11-launch").period == "2026-09-11-launch"


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('"weekly"', '"daily"', 1, "but this is weekly's draft"),
        ("2026-09-11\n", "2026-09-18\n", 1, "date is 2026-09-18, but the file's name says 2026-09-11"),
        ("{#rl}", "{#cats}", 10, "there is no topic 'cats'; there is rl, robots"),
        ("{#e-a}", "{#e-ff}", 12, "{#e-ff} is no entry of this issue; take the id away"),
        ("### [A](https://a.org/a) {#e-a}\nWang · 1 Sept 2026\n\nAbout a.", "###", 12, "this entry says nothing"),
    ],
)  # fmt: skip
def test_draft_that_is_no_issue_is_refused_with_its_line(old, new, line, says):
    text = draft(entry("a"))
    assert old in text
    with pytest.raises(errors.DraftError) as caught:
        issue_of(text.replace(old, new, 1), {"e-a": entry("a")})
    assert [(at, says in what) for at, what in caught.value.problems] == [(line, True)]


def test_issue_is_named_by_the_first_sending_at_or_after_the_cutoff():
    friday = dt.datetime(2026, 9, 11, 8, 0, tzinfo=dt.UTC)  # 09:00 in London
    assert compose.issue_date(LETTER, CUTOFF) == dt.date(2026, 9, 11)
    assert compose.issue_date(LETTER, friday) == dt.date(2026, 9, 11)
    assert compose.issue_date(LETTER, friday + dt.timedelta(seconds=59)) == dt.date(2026, 9, 11)
    assert compose.issue_date(LETTER, friday + dt.timedelta(minutes=1)) == dt.date(2026, 9, 18)
