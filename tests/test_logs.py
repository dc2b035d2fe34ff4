"""Nobody's address stands in a log: what is written there is constant words and keys that name no person."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "newsletter"
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
PERSONAL = {"email", "address", "recipient", "rcpt", "to", "person", "subscriber", "ip", "value", "facts", "row"}


def logged():
    """(place, call) of each line that is logged."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in LEVELS
                and ast.unparse(node.func.value) in ("logger", "log", "logging", "_logger", "_log")
            ):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def test_the_words_of_a_log_are_constant():
    assert len(list(logged())) > 5
    odd = [place for place, call in logged() if not isinstance(call.args[0], ast.Constant) or len(call.args) > 1]
    assert not odd


def test_no_key_of_a_log_is_about_a_person():
    odd = [
        f"{place}: {key}"
        for place, call in logged()
        for keyword in call.keywords
        for part in ast.walk(keyword.value)
        for key in ([k.value for k in part.keys if isinstance(k, ast.Constant)] if isinstance(part, ast.Dict) else [])
        if key in PERSONAL
    ]
    assert not odd
