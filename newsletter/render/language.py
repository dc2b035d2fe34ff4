"""The language that a mail is written in: its words, its numbers, and the side that it is read from.

The words of the templates are English in `parts/words.txt`, each in `gettext` or `ngettext`; the catalogues beside
them, `locale/de.po`, translate them. A catalogue is a template file like any other: found, overridden and frozen with
an issue, and compiled here when it is needed. A language without one has the English words, and its own dates and
numbers.
"""

from __future__ import annotations

import dataclasses
import functools
import gettext
import io
import re
from collections.abc import Iterator, Mapping

import markupsafe

from newsletter import dates, errors

MAX_CHARS = 100_000  # of what is filled into one message
FOLDER = "locale/"
SUFFIX = ".po"
RIGHT_TO_LEFT = frozenset("ar arc ckb dv fa he iw ks lrc mzn nqo pnb prs ps sd syr ug ur yi".split())
_SCRIPTS_RIGHT_TO_LEFT = frozenset("adlm arab aran hebr mand mend nkoo rohg samr syrc thaa".split())
_LEFT, _ISOLATE, _POP = "\u2066", "\u2068", "\u2069"  # LEFT-TO-RIGHT and FIRST STRONG ISOLATE, their end (UAX 9)
_STRONG_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = "A-Za-z\u00c0-\u024f\u0370-\u04ff\u1e00-\u1fff"
_TOKEN = rf"[+\-\u2212\u00b1~#@$€£]?[{_LATIN}0-9](?:[^\s\u0590-\u08ff·«»“”()\[\]]*[{_LATIN}0-9%+#°×/]|(?<=\bal)\.)*"
_FOREIGN = re.compile(rf"{_TOKEN}(?:[ \u00a0]{_TOKEN})*(?:(?<=\bet al)\.)?")
_PLAIN = re.compile(rf"[{_LATIN}]+|\d+(?:[.,]\d+)*%?")  # needs no isolation: nothing at its ends can stray
_LINE = re.compile(r'\s*(?:#.*|(?:(?:msgctxt|msgid|msgid_plural|msgstr(?:\[\d\])?)\s*)?"(?:[^"\\]|\\.)*"\s*)?')
_FIELD = re.compile(r"%\((\w+)\)s")


def direction(language: str) -> str:
    """`rtl` or `ltr`: by the script in the tag (`az-Arab`), else by the language."""
    first, *rest = language.lower().split("-")
    script = next((part for part in rest if len(part) == 4 and part.isalpha()), None)
    if script:
        return "rtl" if script in _SCRIPTS_RIGHT_TO_LEFT else "ltr"
    return "rtl" if first in RIGHT_TO_LEFT else "ltr"


def side(text: str, otherwise: str) -> str:
    """The direction of a text: that of most of its letters, `otherwise` for one without letters.

    Not that of its first letter, as `dir="auto"` has it: an Arabic sentence may begin with a name in Latin letters.
    Words written from the right win ties, and need half as many letters: names and terms between them are longer.
    """
    if text.isascii() or not _STRONG_RTL.search(text):
        return "ltr" if _LETTER.search(text) else otherwise
    right = len(_STRONG_RTL.findall(text))
    left = len(_LETTER.findall(text)) - right
    return "rtl" if 2 * right >= left else "ltr"


def runs(text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text that is read from the right: (piece, is it a run of the other direction to be isolated?).

    Names, terms, signed numbers and addresses keep the marks at their ends with them: "Liu et al.", "+10.2", "C++".
    """
    start = 0
    for match in _FOREIGN.finditer(text):
        if not _PLAIN.fullmatch(match[0]):
            yield text[start : match.start()], False
            yield match[0], True
            start = match.end()
    yield text[start:], False


def isolated(text: str) -> str:
    """A plain text; in one that is read from the right, foreign runs are isolated by marks that nobody sees.

    Addresses of the web are not: who makes links of them would take the marks along.
    """
    if side(text, "ltr") == "ltr":
        return text
    pieces = ((piece, foreign and "://" not in piece) for piece, foreign in runs(text))
    return "".join(f"{_LEFT}{piece}{_POP}" if foreign else piece for piece, foreign in pieces)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Words:
    """What templates call: the words of one language."""

    language: str
    catalogue: gettext.NullTranslations

    def gettext(self, message: str, /, **values: object) -> str:
        """A message in this language, with its `%(name)s` filled in."""
        return self._filled(self.catalogue.gettext(message), values)

    def ngettext(self, one: str, many: str, count: int, /, **values: object) -> str:
        """The form of a message that goes with `count`, which stands in it as `%(n)s`."""
        return self._filled(self.catalogue.ngettext(one, many, count), {"n": self.number(count), **values})

    def number(self, value: int) -> str:
        """`1,234`, `1.234`."""
        return dates.number(value, self.language)

    def _filled(self, translated: str, values: Mapping[str, object]) -> str:
        """Values of the other direction are isolated, so that they do not pull the marks around them along."""
        if any(isinstance(value, markupsafe.Markup) for value in values.values()):
            translated = markupsafe.escape(translated)
            values = {name: markupsafe.escape(value) for name, value in values.items()}
        fields = _FIELD.findall(translated)
        if sum(len(str(values[name])) for name in fields) > MAX_CHARS:
            raise errors.NewsletterError(f"fills a message with more than {MAX_CHARS:,} characters")
        own = side(_FIELD.sub("", translated), direction(self.language))

        def one(match: re.Match[str]) -> str:
            text = str(values[match[1]])
            return text if side(text, own) == own else f"{_ISOLATE}{text}{_POP}"

        return type(translated)(_FIELD.sub(one, translated))


def words(sources: Mapping[str, str], language: str) -> Words:
    """The words of a language; `sources` are the template files by name, `default:` before the shipped ones."""
    name = catalogue_name(sources, language)
    return Words(language, _compiled(name.rpartition(":")[2], sources[name]) if name else gettext.NullTranslations())


def catalogue_name(sources: Mapping[str, str], language: str) -> str | None:
    """The catalogue that serves a language, the nearest one first: `de-CH`, then `de`; None where there is none."""
    parts = language.lower().split("-")
    known = {name.rpartition("/")[2].removesuffix(SUFFIX).lower().replace("_", "-"): name for name in _names(sources)}
    tags = ("-".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((known[tag] for tag in tags if tag in known), None)


def _names(sources: Mapping[str, str]) -> list[str]:
    """The catalogues: the shipped ones first, so that a workspace's own of the same name comes after and counts."""
    found = [name for name in sources if name.endswith(SUFFIX) and FOLDER in name]
    return sorted(found, key=lambda name: ":" not in name)


@functools.lru_cache(maxsize=16)
def _compiled(name: str, source: str) -> gettext.NullTranslations:
    """A catalogue, ready; raises `errors.TemplateError` with its line for one that is broken."""
    from babel.messages import mofile, pofile

    for number, line in enumerate(source.split("\n"), 1):  # Babel cuts off what has no quotes, in silence
        if not _LINE.fullmatch(line):
            raise errors.TemplateError(
                name, number, f'is no line of a catalogue: {line.strip()[:60]!r}; texts are in "…"'
            )
    compiled = io.BytesIO()
    try:
        catalogue = pofile.read_po(io.StringIO(source), abort_invalid=True)
        mofile.write_mo(compiled, catalogue)
        compiled.seek(0)
        translations = gettext.GNUTranslations(compiled)
    except pofile.PoFileError as error:
        raise errors.TemplateError(name, error.lineno + 1, f"is no catalogue: {error}") from None
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise errors.TemplateError(name, None, f"is no catalogue: {error}") from None
    for message in catalogue:
        known = _fields(message.id)
        for field in _fields(message.string) - known if message.id else ():
            raise errors.TemplateError(name, message.lineno, f"%({field})s is not in the message that it translates")
    return translations


def _fields(texts: object) -> set[str]:
    """The names of the values in a message, or in its forms."""
    forms = texts if isinstance(texts, (tuple, list)) else (texts,)
    return {field for form in forms for field in _FIELD.findall(str(form))}
