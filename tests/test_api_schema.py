"""The API is what its description says: the OpenAPI document, and schemathesis with all its checks on a real server."""

import datetime as dt
import os
import re
import subprocess
import sys
from pathlib import Path

import apid
import pytest
from apid import AGENTS, ROBOTS
from conftest import ISSUE, THURSDAY, Bench

FRIDAY = THURSDAY + dt.timedelta(hours=22)
METHODS = ("get", "post", "patch", "delete")

# An address, a time of consent, a key that came before: what these refuse, no schema can say.
CONFIG = """
[[operations]]
include-path = "/subscribers"
include-method = "POST"
checks.positive_data_acceptance.expected-statuses = ["2xx", 401, 403, 404, 409, 422, 429]

[[operations]]
include-path = "/subscribers/{subscriber}"
include-method = "PATCH"
checks.positive_data_acceptance.expected-statuses = ["2xx", 401, 403, 404, 409, 422, 429]

[[operations]]
include-path = "/suppressions"
include-method = "POST"
checks.positive_data_acceptance.expected-statuses = ["2xx", 401, 403, 404, 409, 422, 429]
"""


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    with apid.serve(Bench(tmp_path_factory.mktemp("schema") / "letter"), mails=False) as api:
        yield api.get("/openapi.json", key="none").json()


def operations(document):
    return [
        (method, path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]


def test_every_operation_says_what_it_does_and_what_can_go_wrong(document):
    assert document["openapi"].startswith("3.")
    assert document["servers"] == [{"url": "/api/v1"}]
    assert document["security"] == [{"key": []}]
    assert len(operations(document)) == 13
    for method, path, operation in operations(document):
        assert operation["description"], path
        needed = {"401", "429", "500", "503"}
        needed |= {"404"} if "{" in path else set()
        needed |= {"403", "409", "413"} if method != "get" else set()
        needed |= {"400", "415", "422"} if "requestBody" in operation else set()
        assert needed <= operation["responses"].keys(), (method, path)
        for status, answer in operation["responses"].items():
            if status >= "4":
                assert list(answer["content"]) == ["application/problem+json"]


def test_the_document_names_the_topics_that_there_are(document):
    new = document["components"]["schemas"]["NewSubscriber"]
    assert new["properties"]["topics"]["items"]["enum"] == [AGENTS, ROBOTS]
    assert set(new["required"]) == {"email", "topics"}
    suppression = document["components"]["schemas"]["NewSuppression"]
    assert suppression["properties"]["newsletter"]["anyOf"][0]["enum"] == ["weekly"]
    assert "newsletter-topic" not in str(document)
    assert "HTTPValidationError" not in str(document)


def test_the_only_topic_need_not_be_named(bench):
    path = bench.folder / "newsletter.toml"
    text = path.read_text("utf-8")
    path.write_text(text[: text.rindex("[[newsletter.topic]]")], encoding="utf-8")
    with apid.serve(bench, mails=False) as api:
        new = api.get("/openapi.json", key="none").json()["components"]["schemas"]["NewSubscriber"]
        assert new["required"] == ["email"]
        answer = api.post("/subscribers", {"email": "a@example.org", "confirm": False})
        assert answer.json()["topics"] == [AGENTS]


def test_every_operation_is_in_the_docs(document):
    text = (Path(__file__).parents[1] / "docs" / "api.md").read_text("utf-8")
    assert not [path for method, path, _ in operations(document) if f"`{method.upper()} {path}`" not in text]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["subscribers", "the rest"])
def test_schemathesis_finds_nothing(bench, tmp_path, part):
    """Valid and invalid requests of every operation, without state, from a fixed seed; all of its checks."""
    bench.people("anna@example.org", "bo@example.org")
    bench.entries("A paper")
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG, "utf-8")
    with apid.serve(bench, FRIDAY, mails=False) as api:
        bench.compose()
        bench.approve()
        with bench.app(FRIDAY) as app:
            app.send(ISSUE)
        program = Path(sys.executable).with_name("schemathesis")
        only = ["--include-tag" if part == "subscribers" else "--exclude-tag", "subscribers"]
        done = subprocess.run(
            [
                *(program, "--config-file", config, "--no-color", "run"),
                *(f"{api.site.url}/api/v1/openapi.json", "--header", f"Authorization: Bearer {api.write}"),
                *("--checks", "all", "--phases", "examples,coverage,fuzzing", "--max-examples", "6", "--seed", "1"),
                *("--generation-database", "none", "--continue-on-failure", *only),
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONWARNINGS": "default"},
        )
        well = api.get("/topics").status_code == 200
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    count = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert count, done.stdout[-2000:]
    assert int(count[1]) >= 200
    assert well
