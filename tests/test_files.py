"""The files that a pattern may name."""

import os

import pytest

from newsletter import errors
from newsletter.sources import files


def test_a_pattern_names_files_in_order(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "c.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "d.jsonl").mkdir()
    assert [path.name for path in files.find("*.jsonl", tmp_path)] == ["a.jsonl", "b.jsonl"]
    assert files.find("inbox/*.jsonl", tmp_path) == []


@pytest.mark.parametrize(
    "pattern", ["/etc/hostname", "//etc/hostname", "../x.jsonl", "a/../../x", "~/x", "", "a\0b", "nothing.jsonl", "**x"]
)
def test_a_pattern_that_leads_out_or_nowhere_is_refused(tmp_path, pattern):
    with pytest.raises(errors.FetchError):
        files.find(pattern, tmp_path)


def test_a_symbolic_link_out_of_the_workspace_is_not_followed(tmp_path):
    (tmp_path / "secret.jsonl").write_text("{}")
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (folder / "up").symlink_to(tmp_path)
    for pattern in ("*.jsonl", "up/*.jsonl", "link.jsonl"):
        with pytest.raises(errors.FetchError, match="symbolic link"):
            files.find(pattern, folder)
    (folder / "own.jsonl").write_text("{}")
    (folder / "also.jsonl").symlink_to(folder / "own.jsonl")
    assert [path.name for path in files.find("*.jsonl", folder)] == ["also.jsonl", "own.jsonl"]


def test_a_stamp_changes_with_the_files(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("1")
    first = files.stamp([path])
    assert files.stamp([path]) == first
    path.write_text("22")
    assert len({first, files.stamp([path]), files.stamp([])}) == 3


def test_other_kinds_and_large_files_are_refused(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_text("x")
    with pytest.raises(errors.FeedError, match="kind of file"):
        files.read(path, 10)
    path = path.rename(tmp_path / "a.xml")
    assert files.read(path, 1) == b"x"
    with pytest.raises(errors.FeedError, match="larger"):
        files.read(path, 0)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [("box", "is a folder"), ("pipe.jsonl", "is no regular file"), ("none.jsonl", "there is no file"),
     ("*/people.csv", "people are no entries")],
)  # fmt: skip
def test_what_is_no_file_of_entries_is_told(tmp_path, pattern, says):
    (tmp_path / "box").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "subscribers").mkdir()
    (tmp_path / "subscribers/people.csv").write_text("email", "utf-8")
    with pytest.raises(errors.FetchError, match=says):
        files.find(pattern, tmp_path)


def test_people_are_left_out_of_a_pattern(tmp_path):
    for name in ("subscribers", "inbox"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.csv").write_text("x", "utf-8")
    assert files.find("*/*.csv", tmp_path) == [tmp_path / "inbox/a.csv"]


def test_what_a_pattern_matches_and_is_not_read_is_told(tmp_path):
    folder = tmp_path / "workspace"
    for name in ("inbox/old.jsonl", "subscribers"):
        (folder / name).mkdir(parents=True)
    (tmp_path / "secret.jsonl").write_text("{}")
    (folder / "subscribers/people.jsonl").write_text("{}")
    (folder / "inbox/a.jsonl").write_text("{}")
    (folder / "inbox/b.jsonl").symlink_to(folder / "inbox/a.jsonl")
    (folder / "inbox/out.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (folder / "inbox/lost.jsonl").symlink_to(folder / "nowhere")
    (folder / "inbox/people.jsonl").symlink_to(folder / "subscribers/people.jsonl")
    os.mkfifo(folder / "inbox/pipe.jsonl")
    assert [path.name for path in files.find("inbox/*.jsonl", folder)] == ["a.jsonl", "b.jsonl"]
    assert files.left_out("inbox/*.jsonl", folder) == [
        "inbox/lost.jsonl is left out: it is a symbolic link to nothing",
        "inbox/old.jsonl is left out: it is a folder",
        "inbox/out.jsonl is left out: it leads out of the workspace by a symbolic link",
        "inbox/people.jsonl is left out: people are no entries",
        "inbox/pipe.jsonl is left out: it is no regular file (a pipe, a device)",
    ]
    assert files.left_out("inbox/a.jsonl", folder) == []


@pytest.fixture
def odd(tmp_path):
    """A file, and links beside it that lead nowhere."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "a.jsonl").write_text("{}")
    (inbox / "loop.jsonl").symlink_to("loop.jsonl")
    (inbox / "one.jsonl").symlink_to("two.jsonl")
    (inbox / "two.jsonl").symlink_to("one.jsonl")
    (inbox / "below.jsonl").symlink_to("loop.jsonl/x")
    (inbox / "nothing.jsonl").symlink_to("no-such")
    (inbox / "through.jsonl").symlink_to("a.jsonl/x")
    (inbox / "long.jsonl").symlink_to("x" * 300)
    return tmp_path


@pytest.mark.parametrize("pattern", ["inbox/*.jsonl", "**/*.jsonl", "inbox/?*"])
def test_links_that_cannot_be_followed_are_left_out_and_the_rest_is_read(odd, pattern):
    assert [path.name for path in files.find(pattern, odd)] == ["a.jsonl"]
    said = dict(line.split(" is left out: ") for line in files.left_out(pattern, odd))
    circle, broken = (
        "it is a symbolic link that leads round in a circle",
        "it is a symbolic link that cannot be followed",
    )
    assert said["inbox/loop.jsonl"] == said["inbox/one.jsonl"] == said["inbox/two.jsonl"] == circle
    assert said["inbox/below.jsonl"] == circle
    assert said["inbox/nothing.jsonl"] == "it is a symbolic link to nothing"
    assert said["inbox/through.jsonl"].startswith(broken)
    assert said["inbox/long.jsonl"].startswith(broken)


def test_link_that_leads_round_in_a_circle_is_named_where_it_is_the_source(odd):
    with pytest.raises(errors.FetchError, match="leads round in a circle"):
        files.find("inbox/loop.jsonl", odd)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look anywhere")
def test_link_into_a_folder_that_may_not_be_looked_into_costs_the_others_nothing(odd):
    closed = odd / "closed"
    closed.mkdir()
    (closed / "x.jsonl").write_text("{}")
    (odd / "inbox" / "shut.jsonl").symlink_to(closed / "x.jsonl")
    closed.chmod(0)
    try:
        assert [path.name for path in files.find("inbox/*.jsonl", odd)] == ["a.jsonl"]
        assert any("shut.jsonl is left out" in line for line in files.left_out("inbox/*.jsonl", odd))
    finally:
        closed.chmod(0o700)


def test_file_that_went_away_changes_the_stamp(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("1")
    first = files.stamp([path])
    path.unlink()
    assert files.stamp([path]) not in (first, files.stamp([]))
