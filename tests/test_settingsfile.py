"""Writing into newsletter.toml: what is added is there, and nothing else moves."""

import os
import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from newsletter import errors, settingsfile
from newsletter.settingsfile import Addition

LETTER = '[[newsletter]]\nslug = "weekly"\ntitle = "News"\nfrom = "n@example.org"\n'
TOPIC = '\n[[newsletter.topic]]\nslug = "agents"\ntitle = "Agents"\n'
SECOND = '\n# The other one.\n[[newsletter]]\nslug = "daily"\ntitle = "Day"\nfrom = "d@example.org"\n'
ONE = Addition("weekly", "agents", "Agents", (("https://a.test/feed", ""),))
NEW = Addition("weekly", "robots", "Robots", (("https://r.test/feed", 'The "R"'),))

LAYOUTS = {
    "none": ("", 'sources = [\n  "https://a.test/feed",\n]\n'),
    "empty": ("sources = []\n", 'sources = [\n  "https://a.test/feed",\n]\n'),
    "one line": ('sources = ["https://b.test/"] # mine\n', 'sources = ["https://b.test/",\n  "https://a.test/feed",\n] # mine\n'),
    "comments": (
        'sources = [  # first\n    # "https://no.test/",\n    "https://b.test/", # second\n    # third\n]\ninclude = []\n',
        ('sources = [  # first\n    # "https://no.test/",\n    "https://b.test/", # second\n    # third\n'
        '    "https://a.test/feed",\n]\ninclude = []\n'),
    ),
    "tables": (
        'sources = [\n  { url = "https://b.test/" },\n]\n',
        'sources = [\n  { url = "https://b.test/" },\n  {url = "https://a.test/feed"},\n]\n',
    ),
    "headers": (
        '\n[[newsletter.topic.sources]]\nurl = "https://b.test/"\n',
        '\n[[newsletter.topic.sources]]\nurl = "https://b.test/"\n[[newsletter.topic.sources]]\nurl = "https://a.test/feed"\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_source_joins_the_list_in_the_way_that_it_is_written(layout):
    before, after = LAYOUTS[layout]
    rest = SECOND + TOPIC
    assert settingsfile.with_sources(LETTER + TOPIC + before + rest, [ONE]) == LETTER + TOPIC + after + rest


def test_new_topic_stands_behind_the_last_one_of_its_newsletter():
    rest = SECOND + TOPIC
    made = '\n[[newsletter.topic]]\nslug = "robots"\ntitle = "Robots"\nsources = [\n'
    made += '  {url = "https://r.test/feed", name = "The \\"R\\""},\n]\n'
    assert settingsfile.with_sources(LETTER + TOPIC + rest, [NEW]) == LETTER + TOPIC + made + rest
    assert settingsfile.with_sources((LETTER + TOPIC)[:-1], [NEW]) == LETTER + TOPIC + made


def test_line_ends_and_the_mark_of_the_file_stay():
    text = "\ufeff" + (LETTER + TOPIC).replace("\n", "\r\n")
    made = settingsfile.with_sources(text, [ONE, NEW])
    assert made.startswith(text[:-2])
    assert made.count("\n") == made.count("\r\n")


def test_settings_written_inline_are_added_to():
    text = 'newsletter = [{ slug = "weekly", title = "N", from = "n@a.org", topic = [{ slug = "agents", title = "A" }] }]\n'
    (letter,) = tomllib.loads(settingsfile.with_sources(text, [ONE, NEW]))["newsletter"]
    assert [(topic["slug"], len(topic["sources"])) for topic in letter["topic"]] == [("agents", 1), ("robots", 1)]


def test_newsletter_that_is_not_in_the_file_is_a_fault():
    with pytest.raises(errors.ConfigError, match=r"daily is not in newsletter\.toml"):
        settingsfile.with_sources(LETTER + TOPIC, [Addition("daily", "x", "X", (("https://a.test/", ""),))])


# What people write around their settings.
comments = st.lists(st.sampled_from(["", "# a note", "  # [[newsletter]]", '# sources = ["x"]']), max_size=3).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)
layouts = st.sampled_from([before for name, (before, _) in LAYOUTS.items()])
texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=30)
urls = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30).map("https://{}".format)
additions = st.lists(
    st.builds(
        Addition,
        st.sampled_from(["weekly", "daily"]),
        st.sampled_from(["agents", "new-one", "new-two"]),
        texts,
        st.lists(st.tuples(urls, texts), min_size=1, max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=4,
)


@given(st.lists(comments, min_size=7, max_size=7), layouts, layouts, additions)
@example(["# a\n"] * 7, LAYOUTS["headers"][0], LAYOUTS["comments"][0], [NEW, ONE])
def test_every_other_value_and_every_comment_stays(notes, first, second, wanted):
    pieces = [notes[0], "[smtp]\nport = 9 # ours\n", notes[1], LETTER, notes[2], TOPIC, first, notes[3]]
    pieces += [SECOND, notes[4], TOPIC, second, notes[5], "[site]\n", notes[6]]
    old = "".join(pieces)
    new = settingsfile.with_sources(old, wanted)
    before, after = tomllib.loads(old), tomllib.loads(new)
    for was, now in zip(before["newsletter"], after["newsletter"], strict=True):
        added = [each for each in wanted if each.newsletter == was["slug"]]
        titles = {each.topic: each.title for each in reversed(added)}
        assert {**was, "topic": None} == {**now, "topic": None}
        assert now["topic"][0] == {**was["topic"][0], **{k: v for k, v in now["topic"][0].items() if k == "sources"}}
        assert [topic["title"] for topic in now["topic"][1:]] == [titles[topic["slug"]] for topic in now["topic"][1:]]
        for topic in now["topic"]:
            had = was["topic"][0].get("sources", []) if topic["slug"] == "agents" else []
            rows = [row for each in added if each.topic == topic["slug"] for row in each.sources]
            tables = [{"url": row} if isinstance(row, str) else row for row in topic.get("sources", [])]
            listed = [(table["url"], table.get("name", "")) for table in tables]
            assert listed[len(had) :] == rows
    assert {**before, "newsletter": 0} == {**after, "newsletter": 0}
    lines = iter(new.splitlines())
    assert all(line in lines for line in old.splitlines() if not line.startswith(("sources =", "]")))  # in their order
    assert "# The other one.\n[[newsletter]]\n" in new


# -- the file --------------------------------------------------------------------------------------------------------


def test_file_is_replaced_whole_and_keeps_its_mode(bench):
    path = bench.folder / "newsletter.toml"
    path.chmod(0o600)
    old = settingsfile.read(bench.folder)
    settingsfile.replace(bench.folder, old, old + "# more\n")
    assert path.read_text("utf-8") == old + "# more\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert not [name for name in os.listdir(bench.folder) if name.startswith(".newsletter.toml")]


def test_link_to_the_settings_stays_a_link(bench):
    path = bench.folder / "newsletter.toml"
    path.rename(bench.folder / "real.toml")
    path.symlink_to("real.toml")
    old = settingsfile.read(bench.folder)
    settingsfile.replace(bench.folder, old, old + "# more\n")
    assert path.is_symlink()
    assert (bench.folder / "real.toml").read_text("utf-8").endswith("# more\n")


@pytest.mark.parametrize("new", ["[smtp]\nport = 'x'\n", "no toml"])
def test_settings_that_would_not_load_are_not_written(bench, new):
    old = settingsfile.read(bench.folder)
    with pytest.raises(errors.ConfigError):
        settingsfile.replace(bench.folder, old, new)
    assert settingsfile.read(bench.folder) == old


def test_file_that_was_changed_meanwhile_is_left_alone(bench):
    old = settingsfile.read(bench.folder)
    with pytest.raises(errors.WorkspaceError, match="changed meanwhile"):
        settingsfile.replace(bench.folder, f"{old}# stale\n", old + "# more\n")
    assert settingsfile.read(bench.folder) == old
    assert not [name for name in os.listdir(bench.folder) if name.startswith(".newsletter.toml")]
