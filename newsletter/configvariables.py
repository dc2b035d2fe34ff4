"""Settings that stand in variables: the environment's, and files of a secrets directory. Pure but for those files.

Everywhere, `known` is what `known()` says of the settings, and what is wrong is added to `problems`.
"""

from __future__ import annotations

import difflib
import json
import re
import typing
from collections.abc import Mapping
from pathlib import Path

import pydantic

PREFIX = "NEWSLETTER_"
# Read by the command line itself, not settings.
OTHER_VARIABLES = frozenset({"NEWSLETTER_WORKSPACE", "NEWSLETTER_SECRETS_DIR"})


def environment(environ: Mapping[str, str], known: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    """The environment's settings by upper-case name; pydantic-settings would ignore a misspelt one in silence."""
    found = {}
    for name, value in sorted(environ.items()):
        upper = name.upper()
        if not upper.startswith(PREFIX) or upper in OTHER_VARIABLES:
            continue
        try:
            found[upper] = _variable(upper, value, known)
        except ValueError as error:
            problems.append(f"environment: {name}: {error}")
    return found


def secrets(environ: Mapping[str, str], known: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    """The settings that stand in files of the secrets directory, by the name of their variable.

    Foreign files are faults in a directory of our own, and left alone among systemd's credentials.
    """
    own = "NEWSLETTER_SECRETS_DIR"
    variable = own if environ.get(own) else "CREDENTIALS_DIRECTORY"
    if not environ.get(variable):
        return {}
    folder = Path(environ[variable])
    found = {}
    try:
        for path in sorted(folder.iterdir()):
            upper = PREFIX + path.name.upper()
            if path.name.startswith(".") or not path.is_file():
                continue
            if variable != own and upper not in known:
                continue
            try:
                found[upper] = _variable(upper, path.read_text("utf-8").strip(), known)
            except UnicodeDecodeError:
                problems.append(f"secrets: {path}: is not UTF-8")
            except ValueError as error:
                problems.append(f"secrets: {path}: {in_secrets(str(error))}")
    except OSError as error:
        problems.append(f"environment: {variable}: {error.filename or folder} cannot be read: {error.strerror}")
    return found


def in_secrets(text: str) -> str:
    """A text with variables' names as they are in a secrets directory."""
    return re.sub(rf"{PREFIX}(\w+)", lambda found: found[1].lower(), text)


def _variable(name: str, value: str, known: Mapping[str, str]) -> str:
    """The value as pydantic-settings takes it; raises ValueError, which never shows it."""
    if name not in known:
        if name.startswith(f"{PREFIX}SMTP__PER_DOMAIN_RATE__"):
            return value
        names = {each.removeprefix(PREFIX): each for each in [*known, *OTHER_VARIABLES]}
        near = difflib.get_close_matches(name.removeprefix(PREFIX), names, 1)
        raise ValueError("is no setting" + (f"; did you mean {names[near[0]]}?" if near else ""))
    if not known[name]:
        return value
    if known[name] == "[…]" and not value.startswith("["):  # a list may be written as in a shell: a,b
        return json.dumps([part.strip() for part in value.split(",") if part.strip()])
    try:
        json.loads(value)
    except ValueError:
        raise ValueError(f"must be JSON, like {known[name]}") from None
    return value


def known(settings: type[pydantic.BaseModel]) -> dict[str, str]:
    """Name -> how its JSON looks, "" where it is plain text."""
    found = {}
    for section, field in settings.model_fields.items():
        kind = field.annotation
        table = isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)
        found[f"{PREFIX}{section}".upper()] = "{…}" if table else "[{…}]"
        if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
            for key, inner in kind.model_fields.items():
                origin = typing.get_origin(inner.annotation)
                shape = "[…]" if origin is list else "{…}" if origin is dict else ""
                found[f"{PREFIX}{section}__{key}".upper()] = shape
    return found
