"""Writes into newsletter.toml what a command adds (sources, topics) and leaves all else as it stands, comments too.

    text -> `with_sources` -> the new text, compared with what was meant -> `replace`: the file, whole or not at all

Reading the settings is `config`'s business. A layout in which something cannot be added safely is refused: then the
file stays, and the message says what to write by hand.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import os
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, Comment, InlineTable, Item, Null, Table, Whitespace

from newsletter import config, errors

Row = tuple[str, str]  # a source's address, and its name or ""
_BOM = "\ufeff"


@dataclasses.dataclass(frozen=True, slots=True)
class Addition:
    """Sources for a topic of a newsletter. `title` makes the topic when there is none of that slug."""

    newsletter: str
    topic: str
    title: str
    sources: tuple[Row, ...]


def with_sources(text: str, additions: Iterable[Addition]) -> str:
    """The text of newsletter.toml with more sources in it. Raises `errors.ConfigError` where that cannot be done."""
    found = list(additions)
    mark = _BOM if text.startswith(_BOM) else ""
    old = text.removeprefix(_BOM)
    wanted = tomllib.loads(old)
    for addition in found:
        _add_plain(wanted, addition)
    try:
        document = tomlkit.parse(old if old.endswith("\n") or not old else f"{old}\n")
        for addition in found:
            _add(document, addition)
        new = tomlkit.dumps(document)
        if old.count("\r\n") == old.count("\n"):
            new = new.replace("\r\n", "\n").replace("\n", "\r\n")
        if tomllib.loads(new) == wanted:
            return mark + new
    except (TOMLKitError, tomllib.TOMLDecodeError, LookupError, TypeError, AttributeError, ValueError):
        pass  # tomlkit has layouts that it cannot change; what follows is said of them too
    lines = [f"  {_shown(addition)}" for addition in found]
    raise errors.ConfigError(
        "\n".join([f"{config.FILE} is laid out so that nothing is added safely; write in:", *lines])
    )


def _shown(addition: Addition) -> str:
    urls = ", ".join(url for url, _ in addition.sources)
    return f"{addition.newsletter}/{addition.topic}: {urls or 'no source'}"


def _add_plain(settings: dict[str, Any], addition: Addition) -> None:
    """What is meant, on plain values. Raises `errors.ConfigError` when the newsletter is not in the file."""
    newsletter = next(
        (each for each in settings.get("newsletter", ()) if each.get("slug") == addition.newsletter), None
    )
    if newsletter is None:
        raise errors.ConfigError(
            f"newsletter {addition.newsletter} is not in {config.FILE}; it can be changed only there"
        )
    topic = next((each for each in newsletter["topic"] if each.get("slug") == addition.topic), None)
    if topic is None:
        topic = {"slug": addition.topic, "title": addition.title}
        newsletter["topic"].append(topic)
    if addition.sources:
        rows = [{"url": url, "name": name} if name else url for url, name in addition.sources]
        if topic.get("sources") and all(isinstance(each, dict) for each in topic["sources"]):
            rows = [row if isinstance(row, dict) else {"url": row} for row in rows]  # as [[newsletter.topic.sources]]
        topic["sources"] = [*topic.get("sources", ()), *rows]


# -- the same with tomlkit, which keeps comments and order -----------------------------------------------------------


def _add(document: tomlkit.TOMLDocument, addition: Addition) -> None:
    newsletter: Any = next(each for each in _items(document["newsletter"]) if each["slug"] == addition.newsletter)
    topics = newsletter["topic"]
    topic: Any = next((each for each in _items(topics) if each["slug"] == addition.topic), None)
    if topic is None:
        topic = tomlkit.inline_table() if isinstance(topics, Array) else tomlkit.table()
        topic["slug"], topic["title"] = addition.topic, addition.title
        if addition.sources:
            topic["sources"] = _array(addition.sources, lines=not isinstance(topics, Array))
        if isinstance(topics, Array):
            topics.append(topic)
        else:
            topic.trivia.indent = "\n"
            _with_end_moved(topics[-1], topic)
            topics.append(topic)
    elif addition.sources and "sources" in topic:
        _extend(topic["sources"], addition.sources)
    elif addition.sources:
        rest = [] if isinstance(topic, InlineTable) else _cut_end(topic)
        topic["sources"] = _array(addition.sources, lines=not isinstance(topic, InlineTable))
        for item in rest:
            topic.add(item)


def _items(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, (AoT, Array)) else [value]


def _extend(sources: Any, rows: Sequence[Row]) -> None:
    """More rows at the end of the list, in the way that it is written."""
    if isinstance(sources, AoT):
        last = sources[-1]
        for url, name in rows:
            table = tomlkit.table()
            table["url"] = url
            if name:
                table["name"] = name
            _with_end_moved(last, table)
            sources.append(table)
            last = table
        return
    tables = len(sources) > 0 and all(isinstance(each, dict) for each in sources)
    was_on_one_line = "\n" not in sources.as_string()
    indent = _indent_of(sources)
    for row in rows:
        sources.add_line(_value(row, table=tables), indent=indent)
    if was_on_one_line:
        sources.add_line(indent="", add_comma=False)


def _indent_of(sources: Array) -> str:
    """How far the rows of a list stand in."""
    for line in sources.as_string().splitlines()[1:]:
        text = line.lstrip()
        if text and not text.startswith("]"):
            return line[: len(line) - len(text)]
    return "  "


def _array(rows: Sequence[Row], *, lines: bool) -> Array:
    found = tomlkit.array()
    for row in rows:
        if lines:
            found.add_line(_value(row), indent="  ")
        else:
            found.append(_value(row))
    if lines:
        found.add_line(indent="", add_comma=False)
    return found


def _value(row: Row, *, table: bool = False) -> Item:
    url, name = row
    if not name and not table:
        return tomlkit.string(url)
    found = tomlkit.inline_table()
    found["url"] = url
    if name:
        found["name"] = name
    return found


def _with_end_moved(old: Table, new: Table) -> None:
    """Comments and blank lines at the end of a table stand before the next one: they go behind the new table."""
    for item in _cut_end(old):
        new.add(item)


def _cut_end(table: Any) -> list[Comment | Whitespace]:
    body = table.value.body
    last = next((item for _, item in reversed(body) if not isinstance(item, (Comment, Whitespace, Null))), None)
    if isinstance(last, AoT):
        return _cut_end(last[-1])
    if isinstance(last, Table):
        return _cut_end(last)
    end: list[Comment | Whitespace] = []
    while body and isinstance(body[-1][1], (Comment, Whitespace)):
        end.append(copy.copy(body.pop()[1]))
    return end[::-1]


# -- the file --------------------------------------------------------------------------------------------------------


def read(folder: Path) -> str:
    """newsletter.toml as it stands, with its line ends. Raises `errors.WorkspaceError` when it cannot be read."""
    try:
        return (folder / config.FILE).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.WorkspaceError(f"{folder / config.FILE} cannot be read: {error}") from None


def replace(folder: Path, old: str, new: str) -> None:
    """Write newsletter.toml anew, whole or not at all; `old` is what it must hold until then.

    Raises `errors.ConfigError` for settings that would not load, and `errors.WorkspaceError` when the file cannot be
    written or was changed meanwhile. Then it is as it was.
    """
    config.read(new, folder)
    path = (folder / config.FILE).resolve()
    temporary: Path | None = None
    try:
        descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=f".{config.FILE}.")
        temporary = Path(made)
        with os.fdopen(descriptor, "wb") as file:
            file.write(new.encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(path.stat().st_mode & 0o777)
        if read(folder) != old:
            raise errors.WorkspaceError(f"{config.FILE} was changed meanwhile; nothing is written: run this again")
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise errors.WorkspaceError(f"{path} cannot be written ({error.strerror}); it is as it was") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
