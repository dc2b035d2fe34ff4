"""A workspace's templates: found, frozen as text, compiled once for a language, and run in a sandbox with limits.

`issue.mjml` is the workspace's own file where there is one, else the shipped one; `default:issue.mjml` is always the
shipped one, so that an own template can extend it. What is undefined is an error, never an empty place. `reader` is
personal: an edition is rendered once for many, so its fields render as marks and nothing may be done with them. That is
checked in the syntax tree: a filter that met a mark instead of a name would go wrong for everybody, in silence.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
import types as kinds
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import jinja2
import markupsafe
from jinja2 import bccache, nodes

from newsletter import errors, types
from newsletter.render import language, markdown, sandbox
from newsletter.render import text as plain_text

DEFAULT = "default:"
SUFFIXES = (".mjml", ".txt", language.SUFFIX)
PAGES = "web/"  # the public pages: they belong to no issue, and have words and catalogues of their own
PAGE_SUFFIXES = (".html", ".css", language.SUFFIX)
LOOK = "parts/look.txt"
WORDS = "parts/words.txt"
MAX_CHARS = 60_000  # of one file: to compile more would take seconds
MAX_OUTPUT = 4_000_000
MAX_COMPILED = 256  # templates; an issue has twelve
_FILE = "template:"  # what Python believes the file of a compiled template to be: finds its lines in a traceback
_MARKS = "|".join(re.escape(types.mark(field)) for field in types.PERSONAL)
_STRAY = re.compile(f"(?:{_MARKS})|([{types.MARK_OPEN}{types.MARK_CLOSE}])")


def _mark(field: str) -> markupsafe.Markup:
    return markupsafe.Markup(types.mark(field))  # noqa: S704 - two private-use characters and a name of ours


@dataclasses.dataclass(frozen=True, slots=True)
class Reader:
    """The recipient, as a template sees them: marks that are filled in for each message."""

    email: str = _mark("email")
    name: str = _mark("name")
    unsubscribe_url: str = _mark("unsubscribe_url")
    preferences_url: str = _mark("preferences_url")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Templates:
    """All template files as text, by name: `parts/entry.mjml`; the shipped ones as `default:parts/entry.mjml`."""

    sources: Mapping[str, str]

    @classmethod
    def load(cls, folders: tuple[Path, ...]) -> Templates:
        """Read the templates of `folders`: the workspace's first, the shipped ones last.

        Raises `errors.TemplateError` for a file that is no UTF-8 text or far too long.
        """
        return cls(cls._load(folders, "", SUFFIXES))

    @staticmethod
    def _load(folders: tuple[Path, ...], inside: str, suffixes: tuple[str, ...]) -> dict[str, str]:
        *own, shipped = folders
        sources = {f"{DEFAULT}{name}": source for name, source in _files(shipped, inside, suffixes)}
        for folder in own:
            if folder.resolve() != shipped.resolve():  # in a checkout the workspace is the shipped sample itself
                for name, source in _files(folder, inside, suffixes):
                    sources.setdefault(name, source)
        return sources

    @classmethod
    def load_pages(cls, folders: tuple[Path, ...]) -> Templates:
        """As `load`, the templates of the public pages; they share the look of the mails, not their words."""
        mails = cls.load(folders).sources
        pages = cls._load(folders, PAGES, PAGE_SUFFIXES)
        return cls(pages | {name: source for name, source in mails.items() if _plain_name(name) == LOOK})

    def shipped(self) -> list[str]:
        """The names of the shipped templates."""
        return [_plain_name(name) for name in self.sources if name.startswith(DEFAULT)]

    def is_shipped(self, name: str) -> bool:
        """Is it the shipped one that is used under this name?"""
        return name not in self.sources

    def source(self, name: str) -> str:
        """The text of a template that is used under this name."""
        return self.sources.get(name) or self.sources[f"{DEFAULT}{name}"]

    def strangers(self) -> list[str]:
        """The workspace's files that replace no shipped one: perhaps misspelt. A catalogue is of a new language."""
        own = [name for name in self.sources if not name.startswith(DEFAULT) and f"{DEFAULT}{name}" not in self.sources]
        return [name for name in own if not (name.startswith(language.FOLDER) and name.endswith(language.SUFFIX))]

    def speaks(self, tag: str) -> bool:
        """Are the templates' own words in this language? English ones are; else there is a catalogue, or own words."""
        return tag.partition("-")[0].lower() == "en" or not self.is_shipped(WORDS) or self.has_catalogue(tag)

    def has_catalogue(self, tag: str) -> bool:
        """Is there a catalogue for this language?"""
        return language.catalogue_name(self.sources, tag) is not None

    def catalogues(self) -> list[str]:
        """The languages that there are catalogues for: `ar`, `de`, `pt-BR`."""
        found = (name.rpartition("/")[2] for name in self.sources if name.endswith(language.SUFFIX))
        return sorted({name.removesuffix(language.SUFFIX).replace("_", "-") for name in found})

    def words(self, tag: str) -> language.Words:
        """The words of a language; raises `errors.TemplateError` for a broken catalogue."""
        return language.words(self.sources, tag)

    def as_dict(self) -> dict[str, str]:
        """To freeze as JSON; `Templates(d)` thaws."""
        return dict(self.sources)

    def render(self, name: str, tag: str = "en", **values: object) -> str:
        """What the template gives in the language `tag` for these values, and `reader`.

        Raises `errors.TemplateError` with name and line.
        """
        return self._run(name, tag, lambda template: template.render(values, reader=Reader()))

    def render_block(self, name: str, block: str, tag: str = "en", **values: object) -> str:
        """As `render`, one block alone: a service mail's subject."""

        def run(template: jinja2.Template) -> str:
            context = template.new_context({**values, "reader": Reader()})
            list(template.root_render_func(context))  # its blocks come from the templates that it extends
            if block not in context.blocks:
                raise errors.TemplateError(name, None, f"has no block {block!r}")
            return template.environment.concat(context.blocks[block][0](context))

        return self._run(name, tag, run)

    def _run(self, name: str, tag: str, run: Callable[[jinja2.Template], str]) -> str:
        environment = _environment(_contents(self), tag, escapes=name.endswith((".mjml", ".html")))
        try:
            with sandbox.budget():
                found = run(environment.get_template(name))
        except jinja2.TemplateSyntaxError as error:
            raise errors.TemplateError(_plain_name(error.name or name), error.lineno, error.message or "") from None
        except jinja2.TemplateNotFound as error:
            where, line = _place(error, name)
            raise errors.TemplateError(where, line, f"there is no template {error.name!r}") from None
        except RecursionError as error:
            where, line = _place(error, name)
            what = "includes, extends or calls itself without end, or is nested too deeply"
            raise errors.TemplateError(where, line, what) from None
        except errors.TemplateError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an editor's template may do wrong is a fault in the template
            where, line = _place(error, name)
            raise errors.TemplateError(where, line, str(error) or type(error).__name__) from None
        if not name.endswith(PAGE_SUFFIXES):
            _check_output(found, name)
        return found


def _files(folder: Path, inside: str, suffixes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for path in sorted((folder / inside).rglob("*")):
        if path.suffix in suffixes and path.is_file():
            name = path.relative_to(folder).as_posix()
            if inside or not name.startswith(PAGES):
                yield name, _read(path, name)


def _read(path: Path, name: str) -> str:
    try:
        source = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise errors.TemplateError(name, None, f"is no UTF-8 text ({error.reason} at octet {error.start})") from None
    except OSError as error:
        raise errors.TemplateError(name, None, f"cannot be read: {error.strerror}") from None
    if len(source) > MAX_CHARS:
        raise errors.TemplateError(name, None, f"has {len(source):,} characters; {MAX_CHARS:,} are the limit")
    return source.replace("\r\n", "\n")


def _plain_name(name: str) -> str:
    return name.removeprefix(DEFAULT)


def _place(error: BaseException, name: str) -> tuple[str, int | None]:
    """The innermost template and line that an error came through."""
    where, line = name, None
    step = error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if file.startswith(_FILE):
            where, line = file.removeprefix(_FILE), step.tb_lineno
        step = step.tb_next
    return _plain_name(where), line


def _check_output(found: str, name: str) -> None:
    if len(found) > MAX_OUTPUT:
        raise errors.TemplateError(name, None, f"gives {len(found):,} characters; that is no mail")
    if any(match[1] for match in _STRAY.finditer(found)):
        raise errors.TemplateError(name, None, "changes a personal field; write it plainly, like {{ reader.email }}")


# -- the environment -------------------------------------------------------------------------------------------


class _Missing(jinja2.StrictUndefined):
    """What is not there; says what is."""

    @property
    def _undefined_message(self) -> str:
        if self._undefined_hint:
            return self._undefined_hint
        name = str(self._undefined_name)
        fields = getattr(type(self._undefined_obj), "__dataclass_fields__", None)
        if fields is None:
            return f"{name!r} is undefined; templates/README.md lists the variables that exist"
        near = difflib.get_close_matches(name, fields, 1)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(fields)}"
        return f"{type(self._undefined_obj).__name__.lower()} has no {name!r}; {hint}"


class _Loader(jinja2.BaseLoader):
    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources

    def get_source(
        self, environment: jinja2.Environment, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        name = template if template in self._sources else f"{DEFAULT}{template}"
        source = self._sources.get(name)
        if source is None:
            raise jinja2.TemplateNotFound(template)
        if name.endswith(language.SUFFIX):
            raise errors.TemplateError(_plain_name(template), None, "is a catalogue of words, not a template")
        return source, f"{_FILE}{template}", lambda: True


class _Compiled(jinja2.BytecodeCache):
    """What was compiled, by name and text: when an editor saves one file, the others are not compiled again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], kinds.CodeType] = {}

    def load_bytecode(self, bucket: bccache.Bucket) -> None:
        bucket.code = self._kept.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: bccache.Bucket) -> None:
        while len(self._kept) >= MAX_COMPILED:
            self._kept.pop(next(iter(self._kept)), None)
        if bucket.code is not None:
            self._kept[bucket.key, bucket.checksum] = bucket.code


_COMPILED = {True: _Compiled(), False: _Compiled()}  # with and without escaping, which is compiled in


class _Environment(sandbox.Sandbox):
    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        if "reader" in source:
            _check_personal(tree, _plain_name(name or ""))
        return tree


@functools.lru_cache(maxsize=8)
def _contents(templates: Templates) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(templates.sources.items()))


@functools.lru_cache(maxsize=48)
def _environment(sources: tuple[tuple[str, str], ...], tag: str, *, escapes: bool) -> jinja2.Environment:
    """One environment a language for all that goes into HTML, one for text: what a file goes into decides on escaping.

    By the file's name it would not do: Jinja takes for safe what a macro of an imported text file returns.
    """
    environment = _Environment(
        loader=_Loader(dict(sources)),
        undefined=_Missing,
        autoescape=escapes,
        bytecode_cache=_COMPILED[escapes],
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    words = language.words(dict(sources), tag)
    environment.globals |= {"gettext": words.gettext, "ngettext": words.ngettext}
    environment.filters["number"] = words.number
    environment.filters["direction"] = functools.partial(language.side, otherwise=language.direction(tag))
    environment.filters["styled"] = sandbox.pays(_styled, 4)
    environment.filters["wrap"] = sandbox.pays(_wrapped, 20)
    return environment


def _wrapped(text: str) -> str:
    return plain_text.wrap(str(text))


def _styled(html: str, styles: Mapping[str, str]) -> markupsafe.Markup:
    if not isinstance(html, markupsafe.Markup):
        raise errors.NewsletterError("styled is for the text of an issue: issue.intro, section.text, entry.body")
    return markupsafe.Markup(markdown.styled(html, styles))  # noqa: S704 - our own HTML, its styles escaped


# -- what is personal --------------------------------------------------------------------------------------------


def _check_personal(tree: nodes.Template, name: str) -> None:
    """Raise `errors.TemplateError` unless `reader` stands only as a plain `{{ reader.field }}`."""
    plain = {id(field.node) for field in _plain_fields(tree, name)}
    for node in tree.find_all(nodes.Name):
        if node.name == "reader" and id(node) not in plain:
            _refuse(name, node.lineno)
    for imported in tree.find_all(nodes.Import):
        if imported.target == "reader":
            _refuse(name, imported.lineno)
    for names in tree.find_all(nodes.FromImport):
        if "reader" in map(_alias, names.names):
            _refuse(name, names.lineno)


def _plain_fields(tree: nodes.Node, name: str) -> Iterator[nodes.Getattr]:
    """The `reader.field`s that are printed as they are, and not into something that may be worked on later."""
    for child in tree.iter_child_nodes():
        if isinstance(child, (nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.AssignBlock)):
            continue
        if isinstance(child, nodes.Getattr) and isinstance(tree, nodes.Output):
            if isinstance(child.node, nodes.Name) and child.node.name == "reader":
                if child.attr not in types.PERSONAL:
                    known = ", ".join(types.PERSONAL)
                    raise errors.TemplateError(name, child.lineno, f"reader has no {child.attr!r}; it has {known}")
                yield child
        else:
            yield from _plain_fields(child, name)


def _alias(name: str | tuple[str, str]) -> str:
    return name if isinstance(name, str) else name[1]


def _refuse(name: str, line: int) -> NoReturn:
    raise errors.TemplateError(
        name,
        line,
        "reader is filled in when a message is sent and can only be printed, like {{ reader.email }}: no filter, no "
        "test, no set, no macro",
    )
