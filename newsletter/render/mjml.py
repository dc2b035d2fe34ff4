r"""MJML -> HTML that mail clients read (mjml-python, which is mrml in Rust).

What the library does not do itself: it fails on a control character, ends the process on markup nested some ten
thousand deep, names a fault by byte offsets at best, would link fonts at Google (a remote request from every reader),
and writes attributes as Rust shows strings to programmers (a combining accent becomes `\u{301}`, a quote `\"`). So:
strip, cap, find the fault, `fonts={}`, and give it attributes in ASCII.
"""

from __future__ import annotations

import re

import mjml

from newsletter import errors, types

MAX_CHARS = 4_000_000  # some forty times what a mail may hold: a fault in a template, not an issue
MAX_DEPTH = 200
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
_TAG = re.compile(r"<(?P<closes>/?)(?P<tag>[A-Za-z][\w:-]*)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?(?P<alone>/?)>")
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
# A tag from its < to its >, and a value in it: what is quoted may hold any sign, so both are read from their beginning.
_WHOLE_TAG = re.compile(r"""<mj-title>[^<]*|<[A-Za-z](?:[^<>"']|"[^"]*"|'[^']*')*>""")
_VALUE = re.compile(r"""=\s*("[^"]*"|'[^']*')""")
_ODD = re.compile(r"[^ !#-\[\]-~]")  # what must be written as a character reference
_NOT_PLAIN = re.compile(r"[^ -&(-\[\]-~]")
_OUR_MARKS = re.compile(f"&#x({ord(types.MARK_OPEN):X}|{ord(types.MARK_CLOSE):X});")
_POSITION = re.compile(r" (?:in root template )?at position (\d+)")


def to_html(source: str, name: str) -> str:
    """The HTML of an MJML document; raises `errors.TemplateError` with the template's name and the place in it."""
    if len(source) > MAX_CHARS:
        raise errors.TemplateError(name, None, f"gives {len(source):,} characters of MJML; that is no mail")
    source = _CONTROL.sub("", source)
    if source.count("<") - source.count("</") > MAX_DEPTH:
        _check_depth(source, name)
    source = _WHOLE_TAG.sub(_in_ascii, source)
    try:
        html: str = mjml.mjml2html(source, fonts={}, disable_comments=True)
    except ValueError as error:
        raise errors.TemplateError(name, None, _explained(source, str(error))) from None
    html = _OUR_MARKS.sub(lambda match: chr(int(match[1], 16)), html)
    html = html.replace(' role="article"', ' role="main"', 1)  # a landmark: where the mail is a page, this is its all
    return re.sub(r"<table(?![^>]*\brole=)", '<table role="presentation"', html)


def _in_ascii(match: re.Match[str]) -> str:
    """A tag with its values in ASCII; the title too, which becomes an aria-label."""
    tag = match[0]
    if tag.startswith("<mj-title>"):
        return "<mj-title>" + _ODD.sub(_reference, tag.removeprefix("<mj-title>"))
    return _VALUE.sub(_value_in_ascii, tag) if _NOT_PLAIN.search(tag) else tag


def _value_in_ascii(match: re.Match[str]) -> str:
    return f'="{_ODD.sub(_reference, match[1][1:-1])}"'


def _reference(match: re.Match[str]) -> str:
    return f"&#x{ord(match[0]):X};"


def _check_depth(source: str, name: str) -> None:
    depth = 0
    for match in _TAG.finditer(source):
        if match["alone"] or match["tag"].lower() in _VOID:
            continue
        depth += -1 if match["closes"] else 1
        if depth > MAX_DEPTH:
            what = f"gives MJML that is nested deeper than {MAX_DEPTH} levels at <{match['tag']}>"
            raise errors.TemplateError(name, None, what)


def _explained(source: str, said: str) -> str:
    position = _POSITION.search(said)
    if position:
        octets = source.encode()[: int(position[1])]
        at, what = len(octets.decode("utf-8", "ignore")), said[: position.start()]
    else:
        at, what = _suspect(source, said)
    line = source.count("\n", 0, at) + 1
    shown = source.split("\n")[line - 1].strip()[:90]
    return f"gives MJML that cannot be read: {what}, in line {line} of the MJML: {shown!r}"


def _suspect(source: str, said: str) -> tuple[int, str]:
    """(offset, what): the first tag that does not fit, where the library gives no place."""
    open_tags: list[tuple[str, int]] = []
    at = source.find("<")
    while at >= 0:
        match = _TAG.match(source, at)
        if not match:
            if not source.startswith("<!", at):
                return at, "a < that begins no tag (write &lt;)"
        elif match["closes"]:
            if not open_tags or open_tags[-1][0] != match["tag"]:
                inside = f"where <{open_tags[-1][0]}> is still open" if open_tags else "where nothing is open"
                return at, f"</{match['tag']}> stands {inside}"
            open_tags.pop()
        elif not match["alone"] and match["tag"].lower() not in _VOID:
            open_tags.append((match["tag"], at))
        at = source.find("<", match.end() if match else at + 1)
    if open_tags:
        return open_tags[-1][1], f"<{open_tags[-1][0]}> is never closed"
    return 0, said
