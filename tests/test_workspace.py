"""The workspace: found, made, never overwritten; and names that mean an issue, and nothing else."""

import os
import stat

import pytest

from newsletter import config, errors, workspace


@pytest.fixture
def made(tmp_path):
    workspace.init(tmp_path / "letter")
    return tmp_path / "letter"


def test_init_makes_a_workspace_that_runs_as_it_is(made):
    assert config.load(made, {}).newsletter[0].topic[0].slug == "rl-agents"
    for name in ("templates", "subscribers", "issues"):
        assert (made / name / "README.md").is_file()
    assert len(config.load(made, {}).secret_keys()[0]) >= 32


def test_key_is_the_owners_alone(made):
    assert stat.S_IMODE((made / "secret.key").stat().st_mode) == 0o600


def test_each_workspace_has_a_key_of_its_own(made, tmp_path):
    workspace.init(tmp_path / "other")
    assert (made / "secret.key").read_text("utf-8") != (tmp_path / "other/secret.key").read_text("utf-8")


def test_git_takes_no_person_and_no_key(made):
    ignored = (made / ".gitignore").read_text("utf-8").split("\n")
    for line in ("/subscribers/*", "*.key", "*.db"):
        assert line in ignored


def test_init_again_changes_nothing(made):
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    assert workspace.init(made) == []
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before


def test_init_adds_what_is_missing_and_never_overwrites(made):
    (made / "newsletter.toml").write_text("mine", encoding="utf-8")
    (made / "secret.key").write_text("mine", encoding="utf-8")
    (made / "issues/README.md").unlink()
    assert workspace.init(made) == ["issues/README.md"]
    assert (made / "newsletter.toml").read_text("utf-8") == "mine"
    assert (made / "secret.key").read_text("utf-8") == "mine"


def test_init_makes_the_key_where_the_settings_want_it(made):
    text = (made / "newsletter.toml").read_text("utf-8")
    (made / "newsletter.toml").write_text(text.replace('"secret.key"', '"keys/own.key"'), encoding="utf-8")
    (made / "secret.key").unlink()
    assert workspace.init(made) == ["keys/own.key"]
    assert config.load(made, {}).secret_keys()


def test_init_on_a_file_says_why_it_cannot(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    for folder in (tmp_path / "file", tmp_path / "file/inside"):
        with pytest.raises(errors.WorkspaceError, match="cannot be made a workspace"):
            workspace.init(folder)


# -- finding -------------------------------------------------------------------------------------------------------


def test_nearest_workspace_up_is_found(made, monkeypatch):
    deep = made / "issues/weekly/drafts"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert workspace.find(None, {}).path == made.resolve()
    workspace.init(made / "issues/weekly")
    assert workspace.find(None, {}).path == (made / "issues/weekly").resolve()


def test_named_folder_beats_the_variable_and_that_beats_the_place(made, tmp_path, monkeypatch):
    workspace.init(tmp_path / "second")
    workspace.init(tmp_path / "third")
    monkeypatch.chdir(tmp_path / "third")
    environ = {"NEWSLETTER_WORKSPACE": str(tmp_path / "second")}
    assert workspace.find(made, environ).path == made.resolve()
    assert workspace.find(None, environ).path == (tmp_path / "second").resolve()
    assert workspace.find(None, {}).path == (tmp_path / "third").resolve()


def test_named_folder_is_not_looked_for_further_up(made):
    (made / "issues/weekly").mkdir()
    with pytest.raises(errors.WorkspaceError, match="is no workspace"):
        workspace.find(made / "issues/weekly", {})


def test_no_workspace_says_what_makes_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.WorkspaceError, match="newsletter init"):
        workspace.find(None, {})
    with pytest.raises(errors.WorkspaceError, match="newsletter init"):
        workspace.find(None, {"NEWSLETTER_WORKSPACE": str(tmp_path / "nowhere")})
    with pytest.raises(errors.WorkspaceError, match="is no workspace"):
        workspace.find(tmp_path / ("long" * 2000), {})


def test_folder_that_is_gone_says_so(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    os.rmdir(tmp_path / "gone")
    with pytest.raises(errors.WorkspaceError, match="is gone"):
        workspace.find(None, {})


# -- naming issues -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "weekly/2026-09-11",
        "weekly/2026-09-11.md",
        "issues/weekly/2026-09-11.md",
        "./issues/weekly/2026-09-11.md",
        "issues/../issues/weekly/2026-09-11",
    ],
)
def test_issue_has_many_names(made, monkeypatch, name):
    monkeypatch.chdir(made)
    assert workspace.find(None, {}).issue_name(name) == "weekly/2026-09-11"


def test_drafts_path_names_its_issue_from_anywhere(made, tmp_path, monkeypatch):
    place = workspace.find(made, {})
    path = place.draft("weekly/2026-09-11")
    path.parent.mkdir()
    monkeypatch.chdir(tmp_path)
    assert place.issue_name(str(path)) == "weekly/2026-09-11"
    assert place.issue_name(str(path.relative_to(tmp_path.resolve()))) == "weekly/2026-09-11"
    monkeypatch.chdir(path.parent)
    assert place.issue_name("2026-09-11.md") == "weekly/2026-09-11"


def test_special_issue_has_a_name(made):
    assert workspace.find(made, {}).issue_name("weekly/2026-09-11-launch") == "weekly/2026-09-11-launch"


def test_issues_may_lie_behind_a_link(made, tmp_path):
    (made / "issues").rename(tmp_path / "elsewhere")
    (made / "issues").symlink_to(tmp_path / "elsewhere")
    place = workspace.find(made, {})
    path = place.draft("weekly/2026-09-11")
    assert place.issue_name(str(path)) == "weekly/2026-09-11"
    assert place.shown(path) == "issues/weekly/2026-09-11.md"


@pytest.mark.parametrize(
    "name",
    [
        "", "weekly", "2026-09-11", "weekly/", "weekly/today", "weekly/2026-9-11", "weekly/2026-09-11/x", "/etc/passwd",
        "../2026-09-11", "weekly/../../2026-09-11", "../weekly/2026-09-11", "issues/../../weekly/2026-09-11",
        "We ekly/2026-09-11", "weekly/2026-09-11-", "weekly/2026-09-11-A", "weekly/2026-09-11\n", "weekly/2026-09-11\0",
        "weekly/" + "2026-09-11" * 1000, "weekly//2026-09-11", "/weekly/2026-09-11",
    ],
)  # fmt: skip
def test_other_names_are_no_issue(made, monkeypatch, name):
    monkeypatch.chdir(made.parent)
    with pytest.raises(errors.UsageError, match="is no issue; write it like"):
        workspace.find(made, {}).issue_name(name)


def test_paths_are_shown_relative_to_the_workspace(made, tmp_path):
    place = workspace.find(made, {})
    assert place.shown(place.path / "issues/a.md") == "issues/a.md"
    assert place.shown(tmp_path.resolve() / "other.md") == str(tmp_path.resolve() / "other.md")


def test_own_templates_come_before_the_shipped_ones(made):
    own, shipped = workspace.find(made, {}).template_folders
    assert own == made.resolve() / "templates"
    assert (shipped / "issue.mjml").is_file()
