"""The conventions of the house, held by tests so that they cannot rot."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from newsletter import config, workspace
from newsletter.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "newsletter"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "versions" not in path.parts)

# Library -> where it may be imported: to replace one is to touch one room.
ROOM_OF = {
    "click": ["cli"],
    "rich": ["cli"],
    "pydantic": ["config", "web/apimodels"],
    "pydantic_settings": ["config"],
    "tomlkit": ["settingsfile"],
    "sqlmodel": ["store", "app", "deliver/ledger", "deliver/__init__"],  # the others: the type of a session
    "sqlalchemy": ["store", "app/health"],
    "alembic": ["store"],
    "httpx2": ["sources/fetch", "sources/reach"],
    "httpcore2": ["sources/fetch", "sources/reach"],
    "brotli": ["sources/unpack"],
    "zstandard": ["sources/unpack"],
    "feedparser": ["sources/feed", "app/benching"],
    "nh3": ["sources"],
    "nupunkt": ["curate/sentences"],
    "regex": ["curate/relevance", "curate/sentences"],
    "rapidfuzz": ["curate/duplicates"],
    "openai": ["curate/llm"],
    "jinja2": ["render"],
    "markupsafe": ["render"],
    "mjml": ["render/mjml"],
    "markdown_it": ["render"],
    "babel": ["dates", "render/language"],
    "aiosmtplib": ["deliver/smtp"],
    "cryptography": ["deliver/dkim"],
    "idna": ["addresses", "deliver/message", "sources"],
    "email_validator": ["addresses"],
    "aiosmtpd": ["web/mailbox"],
    "fastapi": ["web"],
    "starlette": ["web"],
    "uvicorn": ["web"],
    "watchfiles": ["web"],
}


def place(path):
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def trees():
    for path in MODULES:
        yield path, ast.parse(path.read_text("utf-8"))


def calls(tree):
    return {ast.unparse(node.func): node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call)}


def test_rooms_import_only_what_lies_below_them():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_each_library_has_one_room():
    stray = [
        f"{place(path)} imports {name}"
        for path, tree in trees()
        for name in set(imports(tree))
        if name in ROOM_OF and not any(place(path).startswith(room) for room in ROOM_OF[name])
    ]
    assert not stray


def test_every_library_is_declared_and_has_a_room():
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["dependencies"]
    names = {re.split(r"[<>=\[]", line)[0].replace("-", "_") for line in declared}
    renamed = {"markdown_it_py": "markdown_it", "mjml_python": "mjml"}
    known = {"newsletter", *ROOM_OF, *sys.stdlib_module_names}
    used = {name for _, tree in trees() for name in imports(tree)}
    assert used <= known
    assert {renamed.get(name, name) for name in names} - {"tzdata"} <= used


def test_every_dependency_says_what_it_is_for():
    lines = (ROOT / "pyproject.toml").read_text("utf-8").split("\n")
    start = lines.index("dependencies = [")
    listed = lines[start + 1 : lines.index("]", start)]
    assert all(re.fullmatch(r'    "[^"]+",\s+# \S.*', line) for line in listed)


def test_only_the_app_knows_the_time():
    allowed = {"app/__init__", "demo/__init__"}
    found = [
        f"{place(path)}:{line}: {call}"
        for path, tree in trees()
        for call, line in calls(tree).items()
        if re.search(r"\b(datetime\.now|date\.today|time\.time|utcnow|datetime\.today)$", call)
        and place(path) not in allowed
        and not place(path).startswith("web/")
    ]
    assert not found


def test_only_the_settings_and_the_workspace_read_the_environment():
    found = [
        place(path)
        for path, tree in trees()
        if any(
            isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv") and ast.unparse(node.value) == "os"
            for node in ast.walk(tree)
        )
    ]
    assert set(found) <= {"config", "workspace", "cli/mailbox"}


def test_only_the_command_line_prints():
    found = [
        f"{place(path)}:{line}"
        for path, tree in trees()
        for call, line in calls(tree).items()
        if call in ("print", "click.echo", "sys.stdout.write") and not place(path).startswith("cli/")
    ]
    assert not found


def test_every_module_says_what_it_does():
    assert not [place(path) for path, tree in trees() if not ast.get_docstring(tree)]


def test_no_module_is_too_large_to_read():
    large = {place(path): path.read_text("utf-8").count("\n") for path in MODULES}
    assert not {name: size for name, size in large.items() if size > 650}
    ordered = sorted(large.values())
    assert ordered[len(ordered) // 2] <= 180


def test_log_messages_are_constant():
    loose = [
        f"{place(path)}:{node.lineno}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and re.fullmatch(r"log(ger)?\.(debug|info|warning|error|exception|critical)", ast.unparse(node.func))
        and not (node.args and isinstance(node.args[0], ast.Constant) and len(node.args) == 1)
    ]
    assert not loose


def test_nothing_foreseen_is_swallowed():
    edges = {
        "deliver/ledger",  # a job's edge: logged, and told to whoever asked
        "sources/__init__",  # one source's fault is its own
        "sources/reading",  # a process hands it on to who asked, who logs it
        "app/collecting",  # a source that cannot be stored: logged, and named in the report
        "render/templates",  # whatever an editor's template does wrong is a TemplateError
        "curate/llm",  # whatever a server makes the client raise is the reason why there are no words
        "web/guard",  # a request's edge: logged without its values; the server would print them
        "web/serving",  # a task's edge: logged, and begun again
        "web/mailbox",  # hostile mail has made every part of `email` raise something
    }
    broad = [
        f"{place(path)}:{node.lineno}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
        and place(path) not in edges
    ]
    assert not broad


def test_every_command_is_in_the_readme():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert not [name for name in COMMANDS if f"`{name}`" not in readme]
    assert readme.count("\n") <= 200


def test_every_setting_is_in_the_sample_with_a_comment():
    text = (ROOT / "newsletter.toml").read_text("utf-8")
    tables = {"site": config.Site, "smtp": config.Smtp, "collect": config.Collect, "dkim": config.Dkim}
    keys = {field.alias or name for model in tables.values() for name, field in model.model_fields.items()}
    keys |= {field.alias or name for name, field in config.Newsletter.model_fields.items()}
    keys |= set(config.Topic.model_fields) - {"slug", "title"}
    absent = [
        key for key in sorted(keys) if not re.search(rf"(?m)^(# )?{key} = ", text) and f"[newsletter.{key}]" not in text
    ]
    assert set(absent) == {"password", "secret_key"}  # secrets belong into the environment


def test_the_starter_has_what_init_writes():
    assert not [name for name in workspace.STARTER_FILES if not (workspace.starter() / name).is_file()]


@pytest.mark.slow
def test_the_wheel_holds_the_starter_and_nothing_private(tmp_path):
    private = ROOT / "subscribers" / "private-of-a-test.csv"
    private.write_text("email\nada@example.org\n", "utf-8")
    try:
        subprocess.run(
            [sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT], check=True, capture_output=True
        )
    finally:
        private.unlink()
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    for name in (*workspace.STARTER_FILES, "templates/issue.mjml", "templates/issue.txt"):
        assert f"newsletter/starter/{name}" in names
    assert not [n for n in names if n.endswith((".db", ".key", ".pem")) or "private-of-a-test" in n]
    assert [n for n in names if n.endswith(".csv") and "/starter/" in n] == [
        "newsletter/starter/subscribers/example.csv"
    ]
    assert any(n.startswith("newsletter/store/migrations/versions/0001") for n in names)
    assert any(n.startswith("newsletter/demo/feeds/") for n in names)
