"""`api-keys`: made, listed, revoked, from the command line."""

import hashlib
import json
import re
import sqlite3

import pytest
from conftest import SETTINGS

from newsletter import cli, workspace


@pytest.fixture
def run(tmp_path, capsys):
    folder = tmp_path / "letter"
    workspace.init(folder)
    (folder / "newsletter.toml").write_text(SETTINGS.format(more="", rules=""), encoding="utf-8")

    def call(*args, code=0):
        found = cli.run(["-C", str(folder), "api-keys", *args])
        said = capsys.readouterr()
        assert found == code, said.err
        return said.out, said.err

    call.folder = folder
    return call


def test_a_token_is_shown_once_and_kept_as_a_hash(run):
    made = json.loads(run("add", "website", "--scope", "write", "--json")[0])
    assert {**made, "token": None} == {"name": "website", "token": None, "scope": "write"}
    assert re.fullmatch(r"nlk_[A-Za-z0-9_-]{43}", made["token"])
    with sqlite3.connect(run.folder / "subscribers" / "newsletter.db") as database:
        (kept,) = database.execute("select token_hash from api_key").fetchone()
    database.close()
    assert kept == hashlib.sha256(made["token"].encode()).hexdigest()
    listed = run("list", "--json")[0]
    assert made["token"] not in listed
    assert [(key["name"], key["scope"], key["used"], key["revoked"]) for key in json.loads(listed)["api_keys"]] == [
        ("website", "write", None, None)
    ]


def test_without_json_the_token_alone_is_on_stdout(run):
    out, err = run("add", "reports")
    assert re.fullmatch(r"nlk_\S{43}\n", out)
    assert "reports may read" in err
    assert run("list")[0].split() == ["reports", "read", "never"]


def test_a_revoked_key_is_listed_and_its_name_stays_taken(run):
    run("add", "old")
    assert json.loads(run("revoke", "old", "--json")[0]) == {"name": "old", "revoked": True, "changed": True}
    assert json.loads(run("revoke", "old", "--json")[0])["changed"] is False
    assert "revoked" in run("list")[0]
    assert "already" in run("add", "old", code=1)[1]


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "-x", "ä", "a\nb"])
def test_a_name_is_short_and_plain(run, name):
    assert "name" in run("add", "--", name, code=2)[1]


def test_a_key_that_there_is_not_cannot_be_revoked(run):
    assert "no API key" in run("revoke", "none", code=1)[1]


def test_a_scope_is_read_or_write(run):
    assert "admin" in run("add", "x", "--scope", "admin", code=2)[1]
