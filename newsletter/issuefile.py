"""Draft Markdown <-> Draft, both ways and without loss: what is read and written out again is the same text.

    +++                                   TOML front matter
    newsletter = "weekly"
    date = 2026-09-11
    …
    +++

    An introduction in Markdown.

    ## Topic title {#topic-slug}          a section; free text may follow

    ### [Title](https://link) {#e-3f9a1c} an entry; written by hand it needs no id
    Wang et al. · 6 Sept 2026             its byline, if the heading's next line stands alone

    Two sentences. Markdown allowed.

An entry without a title has the heading `### ·`, with a link `### [·](https://link)`. Headings inside fenced code are
code. A file that cannot be read is reported with every fault and its line; nothing is guessed.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
import re
import tomllib
import urllib.parse
from typing import Any

from newsletter import dates, errors, types

UNTITLED = "·"
REF = re.compile(r"e-[0-9a-z]+")
_ID = r"(?:[ \t]+\{#(?P<id>[^{}\s]+)\})?[ \t]*"
_SECTION = re.compile(rf"##[ \t]+(?P<title>.*?){_ID}")
_ENTRY = re.compile(rf"###(?:[ \t]+(?P<title>.*?))??{_ID}")
_WORDS = r"(?:\\.|[^\[\]\\])"  # of a link, with brackets in pairs
_LINKED = re.compile(
    rf"\[(?P<title>(?:{_WORDS}|\[(?:{_WORDS}|\[{_WORDS}*\])*\])*)\]"
    r"\((?:<(?P<angle>[^<>]*)>|(?P<url>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*))\)"
)
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")  # CommonMark 4.5: no ` after one of `
# One that begins in a list's item or a quotation.
_NESTED = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+|>[ \t]?)+(`{3,}(?=[^`]*$)|~{3,})")
_CONFLICT = re.compile(r"(<{7}|>{7})( |$)")
_CONFLICT_BETWEEN = re.compile(r"(={7}|\|{7})( |$)")  # seven = alone may underline a heading
_CONFLICT_SAYS = "is the mark of a merge conflict; settle it and take the mark away"
_KEYS = ("newsletter", "date", "cutoff", "subject", "preheader", "number", "more", "subjects")


def read_bytes(data: bytes, path: str) -> types.Draft:
    """As `read`, from a file's bytes (UTF-8, with or without a BOM)."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise errors.DraftError(path, [(line, "is not UTF-8; save the file as UTF-8")]) from None
    return read(text, path)


def read(text: str, path: str) -> types.Draft:
    """Take a draft apart. `path` is for messages. Raises `errors.DraftError` with every fault and its line."""
    lines = text.split("\n")
    problems: list[tuple[int, str]] = []
    front, start = _front_matter(lines, path)
    fields = _fields(front, problems)
    heads = _headings(lines, start, problems)
    first = heads[0][0] if heads else len(lines)
    raw = "\n".join(lines[:first]) + ("\n" if first < len(lines) else "")
    sections = _sections(lines, heads, problems)
    _refuse_doubles(sections, problems)
    if problems:
        raise errors.DraftError(path, sorted(problems))
    return types.Draft(raw=raw, intro=_plain(lines[start:first]), sections=tuple(sections), **fields)


def write(draft: types.Draft) -> str:
    """The text of a draft; `write(read(text)) == text`."""
    return draft.raw + "".join(
        section.raw + "".join(block.raw for block in section.blocks) for section in draft.sections
    )


# -- reading -------------------------------------------------------------------------------------------------------


def _front_matter(lines: list[str], path: str) -> tuple[str, int]:
    """The TOML between the +++ lines (its first line is the file's second), and where the rest begins."""
    if lines[0].lstrip("\ufeff").rstrip() != "+++":
        raise errors.DraftError(path, [(1, "a draft begins with its front matter between two lines +++")])
    for i, line in enumerate(lines[1:], 1):
        if line.rstrip() == "+++":
            return "\n".join(line.rstrip("\r") for line in lines[1:i]), i + 1
        if re.match(r"###?[ \t].*\{#[^{}\s]+\}\s*$", line):
            break
    raise errors.DraftError(path, [(1, "the front matter that begins here has no end: a line +++ is missing")])


def _fields(front: str, problems: list[tuple[int, str]]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "newsletter": "", "date": "", "cutoff": dt.datetime(1970, 1, 1, tzinfo=dt.UTC), "subject": "",
        "preheader": "", "number": None, "more": (), "subjects": (),
    }  # fmt: skip
    try:
        values = tomllib.loads(front)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) + 1 if found else front.count("\n") + 2
        marks = [(i, _CONFLICT_SAYS) for i, text in enumerate(front.split("\n"), 2) if _is_conflict(text, within=True)]
        problems += marks or [(line, f"front matter: {str(error).partition(' (at')[0]}")]
        return fields

    def line_of(key: str) -> int:
        found = re.search(rf"(?m)^\s*(?:{re.escape(key)}\s*=|\[\s*{re.escape(key)}\s*\])", front)
        return front.count("\n", 0, found.start()) + 2 if found else 1

    for key, value in values.items():
        try:
            fields[key] = _field(key, value)
        except ValueError as error:
            problems.append((line_of(key), f"front matter: {error}"))
    for key in ("newsletter", "date", "cutoff", "subject"):
        if key not in values:
            problems.append((1, f"front matter: {key} is missing"))
    return fields


def _field(key: str, value: Any) -> Any:
    """A value of the front matter, checked; raises ValueError."""
    if key in ("newsletter", "subject", "preheader"):
        if not isinstance(value, str):
            raise ValueError(f"{key} must be a text in quotes")
        if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value):
            raise ValueError(f"{key} must be one line")
        return value
    if key == "date":
        text = value.isoformat() if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else value
        try:
            return dt.date.fromisoformat(text).isoformat()
        except (TypeError, ValueError):
            raise ValueError("date must be a day like 2026-09-11") from None
    if key == "cutoff":
        if not isinstance(value, dt.datetime) or value.tzinfo is None:
            raise ValueError("cutoff must be a time with an offset like 2026-09-10T12:00:00+01:00")
        return value
    if key == "number":
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError("number must be a whole number from 1")
        return value
    if key == "more":
        if not isinstance(value, dict) or not all(isinstance(n, int) and n > 0 for n in value.values()):
            raise ValueError("more must be like { topic-slug = 7 }")
        return tuple(value.items())
    if key == "subjects":
        if not isinstance(value, dict) or not all(isinstance(each, str) and each.strip() for each in value.values()):
            raise ValueError('subjects must be like { topic-slug = "A subject" }')
        return tuple((slug, _field("subject", each)) for slug, each in value.items())
    raise ValueError(f"{key} is no key of a draft; there is {', '.join(_KEYS)}")


def _headings(lines: list[str], start: int, problems: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """(index, "##" or "###") of each heading outside fenced code; conflict markers are faults."""
    found: list[tuple[int, str]] = []
    fence = nested = ""
    fence_line = 0
    within = any(_CONFLICT.match(line) for line in lines[start:])
    for i, line in enumerate(lines[start:], start):
        line = line.rstrip("\r")  # noqa: PLW2901
        mark = _FENCE.match(line)
        if nested and line.lstrip("> \t").startswith(nested):
            nested = ""
            continue
        if nested and (not line or line[0] in " \t>"):
            continue
        nested = ""
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            elif re.fullmatch(r"(##[ \t].*|###[ \t].*)\{#[^{}\s]+\}[ \t]*", line):
                problems.append((i + 1, f"this heading stands in the fenced code that begins in line {fence_line}"))
            continue
        if mark:
            fence, fence_line = mark[1], i + 1
        elif inner := _NESTED.match(line):  # it ends with its list at the latest: at a line that is not indented
            nested = inner[1]
        elif _is_conflict(line, within=within):
            problems.append((i + 1, _CONFLICT_SAYS))
        elif re.match(r"##([ \t]|$)", line):
            found.append((i, "##"))
        elif re.match(r"###([ \t]|$)", line):
            if not any(kind == "##" for _, kind in found):
                problems.append((i + 1, "this entry stands before the first section (## Title {#topic})"))
            found.append((i, "###"))
    return found


def _is_conflict(line: str, *, within: bool) -> bool:
    return bool(_CONFLICT.match(line) or (within and _CONFLICT_BETWEEN.match(line)))


def _sections(lines: list[str], heads: list[tuple[int, str]], problems: list[tuple[int, str]]) -> list[types.Section]:
    sections: list[types.Section] = []
    bounds = ([i for i, _ in heads] + [len(lines)])[1:]
    blocks: list[types.Block] = []
    pending: tuple[str, str, str, str, int] | None = None
    for (i, kind), end in zip(heads, bounds, strict=True):
        raw = "\n".join(lines[i:end]) + ("\n" if end < len(lines) else "")
        if kind == "##":
            if pending:
                sections.append(types.Section(*pending[:4], tuple(blocks), pending[4]))
            match = _SECTION.fullmatch(lines[i].rstrip("\r"))
            if not match or not match["id"] or not match["title"]:
                problems.append((i + 1, "a section's heading is written ## Title {#topic-slug}"))
            title, slug = (_unescape(match["title"]), match["id"] or "") if match else ("", "")
            pending, blocks = (raw, slug, title, _plain(lines[i + 1 : end]), i + 1), []
        elif pending:
            blocks.append(_block(lines[i:end], raw, i + 1, problems))
    if pending:
        sections.append(types.Section(*pending[:4], tuple(blocks), pending[4]))
    return sections


def _block(lines: list[str], raw: str, line: int, problems: list[tuple[int, str]]) -> types.Block:
    match = _ENTRY.fullmatch(lines[0].rstrip("\r"))
    title, ref = (match["title"] or "", match["id"]) if match else ("", None)
    if ref is not None and not REF.fullmatch(ref):
        problems.append((line, f"{{#{ref}}} is no entry's id; an entry written by hand needs none"))
    url = None
    linked = _LINKED.fullmatch(title)
    if linked:
        title, url = linked["title"], linked["angle"] if linked["angle"] is not None else linked["url"]
        if not re.match(r"(?i)https?://[^\s/]", url):
            problems.append((line, f"the link {url[:60]!r} must begin with http:// or https://"))
    elif "](" in re.sub(r"\\.", "", title):
        problems.append((line, "a title is plain text or one link: ### [Title](https://link)"))
    untitled = title.strip() in ("", UNTITLED)
    title = _unescape(title)
    rest = lines[1:]
    byline = ""
    if rest and rest[0].strip() and (len(rest) == 1 or not rest[1].strip()):
        alone = not any(line.strip() for line in rest[1:])
        if not alone or dates.stands_in(rest[0]):  # else it is all that the entry says
            byline, rest = rest[0].strip(), rest[1:]
    return types.Block(
        raw=raw,
        ref=ref,
        title=None if untitled else title,
        url=url,
        byline=byline,
        body=_plain(rest),
        line=line,
    )


def _refuse_doubles(sections: list[types.Section], problems: list[tuple[int, str]]) -> None:
    seen: dict[str, int] = {}
    for section in sections:
        for name, line in [(section.slug, section.line), *((b.ref, b.line) for b in section.blocks)]:
            if name and name in seen:
                problems.append((line, f"{{#{name}}} stands twice; the other one is in line {seen[name]}"))
            elif name:
                seen[name] = line


def _plain(lines: list[str]) -> str:
    """Lines as Markdown: LF line ends, no blank lines around."""
    return "\n".join(line.rstrip("\r") for line in lines).strip("\n").rstrip()


def _unescape(text: str) -> str:
    return re.sub(r"\\([\\\[\]{}·])", r"\1", text).strip() if text != f"\\{UNTITLED}" else UNTITLED


def _escape(text: str) -> str:
    text = re.sub(r"([\\\[\]{}])", r"\\\1", " ".join(text.split()))
    return "\\" + text if text == UNTITLED else text


# -- writing -------------------------------------------------------------------------------------------------------


def front(
    *,
    newsletter: str,
    date: str,
    cutoff: dt.datetime,
    subject: str,
    preheader: str = "",
    number: int | None = None,
    more: dict[str, int] | None = None,
) -> str:
    """The front matter of a new draft, with the blank line after it."""
    lines = [
        f"newsletter = {_toml(newsletter)}",
        f"date = {date}",
        f"cutoff = {cutoff.isoformat(timespec='seconds')}",
        *([f"number = {number}"] if number else []),
        f"subject = {_toml(subject)}",
        f"preheader = {_toml(preheader)}",
        *(["more = { " + ", ".join(f"{slug} = {n}" for slug, n in more.items()) + " }"] if more else []),
    ]
    return "\n".join(["+++", *lines, "+++", "", ""])


def with_more(raw: str, more: dict[str, int]) -> str:
    """A draft's beginning (front matter and introduction) with another `more`, or none when it is empty."""
    opening, inner, rest = re.split(r"(?m)^\ufeff?\+\+\+[ \t]*\r?\n", raw, maxsplit=2)
    opening = "\ufeff" if raw.startswith("\ufeff") else opening
    eol = "\r\n" if "\r\n" in raw else "\n"
    line = ("more = { " + ", ".join(f"{slug} = {n}" for slug, n in more.items()) + " }" + eol) if more else ""
    table = re.search(r"(?m)^[ \t]*\[", inner)  # keys after a table's head would be the table's
    top, tables = (inner[: table.start()], inner[table.start() :]) if table else (inner, "")
    top = re.sub(r"(?m)^[ \t]*more[ \t]*=.*\r?\n?", "", top)
    return f"{opening}+++{eol}{top}{line}{tables}+++{eol}{rest}"


def new_section(slug: str, title: str) -> types.Section:
    """An empty section."""
    return types.Section(f"## {_escape(title)} {{#{slug}}}\n\n", slug, title, "", (), 0)


def new_block(ref: str | None, title: str | None, url: str | None, byline: str, body: str) -> types.Block:
    """An entry, written the one way in which we write them."""
    shown = _escape(title) if title else UNTITLED
    if url:
        url = re.sub(r"[\s<>\x00-\x1f\x7f]", lambda found: urllib.parse.quote(found[0]), url)
        shown = f"[{shown}](<{url}>)" if re.search(r"[()]", url) else f"[{shown}]({url})"
    head = f"### {shown}" + (f" {{#{ref}}}" if ref else "")
    raw = "\n".join([head, *([byline] if byline else []), "", body, "", ""])
    return types.Block(raw, ref, title, url, byline, body, 0)


def fingerprint(block: types.Block) -> str:
    """The hash by which an unchanged block is known, whatever line ends an editor's program wrote."""
    text = "\n".join(line.rstrip() for line in block.raw.split("\n")).strip()
    return hashlib.sha256(text.encode()).hexdigest()


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# -- freezing ------------------------------------------------------------------------------------------------------


def freeze(issue: types.Issue) -> str:
    """An issue as JSON: always the same text for the same issue."""

    def plain(value: Any) -> Any:
        return value.isoformat() if isinstance(value, dt.date) else value

    return json.dumps(dataclasses.asdict(issue), ensure_ascii=False, sort_keys=True, default=plain)


def thaw(text: str) -> types.Issue:
    """The issue that `freeze` wrote."""
    values = json.loads(text)
    sections = tuple(
        types.IssueSection(
            **{
                **section,
                "entries": tuple(
                    types.IssueEntry(
                        **{
                            **entry,
                            "topics": tuple(entry["topics"]),
                            "published": dt.datetime.fromisoformat(entry["published"]) if entry["published"] else None,
                        }
                    )
                    for entry in section["entries"]
                ),
            }
        )
        for section in values["sections"]
    )
    subjects = tuple((slug, subject) for slug, subject in values.get("subjects", ()))
    date = dt.date.fromisoformat(values["date"])
    return types.Issue(**{**values, "date": date, "sections": sections, "subjects": subjects})
