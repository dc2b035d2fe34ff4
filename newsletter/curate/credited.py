r"""Author fields as sources fill them -> who is meant: "J. Doe and M. Roe", "LI, Wei", "X on behalf of the Y". Pure.

A field may hold one name, several, an organisation, or nobody ("admin"). What is no name (ORCID, affiliation, degree,
address) is left away. Of a person the family name is kept: `newsletter.names` finds it where the order is the usual
one; capitals, initials behind and double family names are looked at here.
"""

from __future__ import annotations

import dataclasses
import html
import re
import unicodedata
from collections.abc import Sequence

from newsletter import names
from newsletter.curate import familynames, tex

MOST = 8  # fields that are looked at: the first names are those that are said
LONGEST, LONGEST_NAME = 1_000, 90


@dataclasses.dataclass(frozen=True, slots=True)
class Credit:
    """How a person (by family name) or a group (whole) is called."""

    name: str
    group: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Credits:
    """Those that are named, each once, and whether there are others ("et al.")."""

    named: tuple[Credit, ...]
    others: bool = False


_NOBODY = re.compile(
    r"(?i)(?:admin(?:istrator)?|anonymous(?: authors?)?|unknown(?: authors?)?|none|n/?a|null|nobody|authors?|the "
    r"authors?|editors?|staff|root|user|guest|webmaster|no-?reply|info|contact|press(?: (?:office|team|releases?))?|"
    r"(?:the )?(?:news|web)(?:room| ?team| ?desk)|media relations|communications|by|\W*|\d+)"
)
_JUNK = re.compile(
    r"(?i)https?://\S+|\bwww\.\S+|<[^<>@]*@[^<>]*>|[^\s@]{1,64}@[^\s@]{1,80}\.\w+|\bmailto:\S*|\b(?:orcid|ORCID "
    r"iD)[: ]*[\dX-]*|\b\d{4}-\d{4}-\d{4}-\d{3}[\dX]\b|\[[^\[\]]{0,80}\]|[¹²³⁰-⁹*†‡§¶#]+(?!\w)|\{[\d, ]*\}|"
    r"\^\{?[\d,a-z*]{1,6}\}?"
)
_BEHALF = re.compile(
    r"(?i)\b(?:on\s+behalf\s+of|for\s+and\s+on\s+behalf\s+of|for)\s+(?:the\s+)?"
    r"(?P<group>[\w'’&+. -]{2,80}?\b(?:collaborations?|consortium|group|team|investigators|network|committee|"
    r"initiative|project|authors))\b|\bon\s+behalf\s+of\s+(?:the\s+)?(?P<any>[\w'’&+. -]{2,80})"
)
_INSIDE = re.compile(r"(?i)[(,]\s*(?P<group>(?:the\s+)?[\w'’&+. -]{2,60}?\b(?:collaboration|consortium))\)?")
_BEFORE_COLON = re.compile(r"(?i)^(?:the\s+)?(?P<group>[\w'’&+. -]{2,60}?\b(?:collaboration|consortium))\s*:\s")
_BRACKETED = re.compile(r"\[((?:for|on behalf of)\s[^\[\]]{3,90})\]", re.IGNORECASE)
_OTHERS = re.compile(
    r"(?i)[,;]?\s*(?:\bet al\b\.?|\b(?:and|&)\s+(?:(?:his|her|their|several|many|\d+)\s+)?(?:colleagues|co-?authors|"
    r"co-?workers|(?:\d+\s+)?(?:others|more)(?:\s+authors)?)\b|\b\d+\s+(?:more|other|additional)\s+authors\b|(?:…|"
    r"\.\.\.)\s*$).*$"
)
_HANDLE = re.compile(r"@\w+|/?u/.*|[\w.-]*[\d_][\w.-]*")
_TITLES = re.compile(
    r"(?i)^(?:by|written by|posted by|(?:von|par)(?=\s+\w+\s+\w+$))\s+(?=\S+\s)|^(?:(?:dr|prof|professor|mr|mrs|ms|"
    r"sir|dame|rev)\.?\s+)+(?=\S)"
)
_DEGREES = re.compile(
    r",?\s+(?:Ph\.?\s?D|M\.?D|D\.?Phil|M\.?Sc|B\.?Sc|MBA|MPH|Pharm\.?D)\.?(?=,|$)|,\s*(?:M\.?A|M\.?S|Esq|FRS|FRCP|"
    r"FACS|RN|DDS|DVM|LLM|JD)\.?(?=,|$)"
)
_ORGANISATION = re.compile(
    r"(?i)^the\s+(?!rev)\w|\b(?:times|post|news|newsroom|guardian|journal|research|labs?|laborator(?:y|ies)|"
    r"deepmind|google|microsoft|nvidia|meta ai|openai|anthropic|ibm|amazon|apple inc|hugging face|mistral|reuters|"
    r"press|blog|magazine|editorial|editors|staff|desk|team|bureau|office|ministry|department|faculty|school|college|"
    r"hospital|clinic|cent(?:er|re)s?"
    r"|council|society|union|federation|authority|bank|corporation|corp|gmbh|llc|plc|ag|systems|technologies|studios?|"
    r"software|community|contributors|developers|maintainers|organi[sz]ation|academy|observatory|commission|parliament|"
    r"services?|museum|library|archive|weekly|daily|herald|tribune|gazette|chronicle|review|podcast|radio|tv|"
    r"media|group|collaborations?|consortium|consortia|project|initiative|network|committee|institutes?|foundation|"
    r"investigators|association|agency|university|universität|universidad|université|company|inc|ltd|ai)\b"
)
_PLACE_OF_WORK = re.compile(r"(?i)\b(?:universit\w+|hospital|college|institute|department|school|faculty)\b")
_FAMILY_TOO = frozenset(
    "post news guardian press bank school college center office blog desk ag daily meta apple".split()
)
_THE = re.compile(
    r"(?i)\b(?:collaboration|consortium|team|group|network|committee|council|investigators|foundation|institute|"
    r"initiative|project|association|agency|society|commission)$"
)
# "University of Oxford", "Ministry of Health", "European Central Bank"; not "Bank of America".
_THE_FIRST = re.compile(
    r"(?i)(?:university|ministry|department|institute|school|college|faculty|museum|office|council|society|academy|"
    r"government|house|centers?|centres?|board|city|state|parliament|court|port|library|archdiocese|republic) (?:of|"
    r"for) |(?:[\w.-]+ ){1,4}(?:central bank|reserve bank|organi[sz]ation|union|office|authority|academy|parliament|"
    r"ministry|observatory|federation|corporation|bureau|department|museum|court|government|library)$"
)
_SUFFIX = re.compile(r"(?i)(?:jr|sr|ii|iii|iv|ph\.?\s?d|m\.?d|inc|ltd|llc|gmbh)\.?")
_INITIALS = re.compile(r"[^\W\d_a-z]{1,3}|(?:[^\W\d_]\.[\s-]?|[^\W\d_a-z][\s-]){1,4}[^\W\d_a-z]?\.?")
_VANCOUVER = re.compile(r"\w{2,} [A-Z]{1,3}$")  # "Doe JM"
_DOTTED = re.compile(r"(?:[^\W\d_]\.[\s-]?){1,4}")
_ACRONYMS = frozenset(
    "CERN NASA MIT ESA ESO WHO OECD IMF ECB NIST NOAA NIH NSF NHS CDC FDA EPA DARPA UNESCO UNICEF IEEE ACM IETF "
    "W3C EFF "
    "RAND EPFL CNRS INRIA JAXA ISRO CSIRO".split()
)
_PARTICLES = frozenset(
    "af al av ben bin da das de del della den der des di do dos du el ibn la le st ten ter van von zu zum zur".split()
)
# Family names that stand before a second one ("García Márquez"), without accents.
_FIRST_OF_TWO = frozenset(
    "garcia gonzalez rodriguez fernandez lopez martinez sanchez perez gomez jimenez ruiz hernandez diaz munoz alvarez "
    "gutierrez dominguez vazquez vasquez ramos ramirez serrano molina morales suarez ortega delgado castro ortiz "
    "rubio marin nunez medina cortes castillo guerrero mendez flores herrera vargas vega reyes rojas mendoza aguilar "
    "chavez rivera "
    "velasquez pena soto contreras fuentes carrillo espinosa ibanez bermudez cardenas".split()
)
# Short Chinese and Korean family names, which look like initials when all in capitals.
_SHORT = frozenset(
    "LI LIU XU WU HE YU MA HU LU SU DU FU GU HO JI JIN KIM KANG LEE LIN LUO NI NG OH PAN QI QIN REN SHI SUN TAN "
    "WEI XIA XIE XU YAN YAO YE YI YIN YU YUAN ZHU ZOU CAI CAO CHO CHU CUI DAI DAO DENG FAN FANG GAO GE GUO HAN HAO HE "
    "AN BAI "
    "BAO BO".split()
)


def read(fields: Sequence[str]) -> Credits:
    """Who is meant by these author fields, in their order, each once."""
    cleaned = [_cleaned(field) for field in fields[:MOST] if field.strip()]
    inverted = len(cleaned) > 1 and sum(_is_inverted(text) for text, _ in cleaned) * 2 > len(cleaned)
    found: dict[str, Credit] = {}
    others = len(fields) > MOST
    for text, more in cleaned:
        others = others or more
        group = _represented(text)
        if group:
            return Credits((group,))
        parts = {part.casefold(): credit for part in _parted(text, inverted=inverted) if (credit := _credit(part))}
        people = {part: credit for part, credit in parts.items() if not credit.group}
        groups = {part: credit for part, credit in parts.items() if not _PLACE_OF_WORK.search(part)}
        found |= people or groups or parts  # "Kay Brown, The Guardian" is Brown; "Team Heart, University of X" the team
    collaborations = tuple(each for each in found.values() if re.search(r"(?i)\bcollaborations?$", each.name))
    if collaborations:
        return Credits(collaborations[:2], others=len(collaborations) > 2)
    return Credits(tuple(found.values()), others)


def the(group: str) -> str:
    """A group's name with its article, where it has one."""
    if re.match(r"(?i)the\b", group) or not (_THE.search(group) or _THE_FIRST.match(group)):
        return group
    return f"The {group}"


def _cleaned(field: str) -> tuple[str, bool]:
    """(a field without what is no name, whether it says that there are others)."""
    text = _BRACKETED.sub(r"(\1)", html.unescape(field[:LONGEST]))
    text = _JUNK.sub(" ", re.sub(r"<[^<>@]{0,200}>", " ", tex.plain(re.sub(r"\$\^?\{?[^$]{0,20}\$", "", text))))
    text = "".join(
        " " if char in "\t\r\n\u2028\u2029" else char
        for char in text
        if char in "\t\r\n" or unicodedata.category(char)[0] != "C"
    )
    text = re.sub(r"(?<=[^\W\d_]{2})\d+(?:,\d+)*\b", "", text).replace("{", "").replace("}", "")
    more = _OTHERS.search(text) is not None
    text = _OTHERS.sub("", text)
    return " ".join(text.split()).strip(" ,;:|·-–"), more


def _represented(text: str) -> Credit | None:
    """Whom a text was written on behalf of."""
    for pattern in (_BEFORE_COLON, _BEHALF, _INSIDE):
        match = pattern.search(text)
        if match:
            name = match["group"] or match.groupdict().get("any") or ""
            name = re.sub(r"(?i)^the\s+", "", re.split(r"\s*[(),;]", name)[0].strip())
            name = re.sub(r"\b[cC](?=\w+$)", "C", name) if pattern is _BEFORE_COLON else name
            return Credit(name, group=True) if name else None
    return None


def _is_inverted(text: str) -> bool:
    """Is this "Family, Given"?"""
    parts = [part.strip() for part in text.split(",")]
    return len(parts) == 2 and all(parts) and not _SUFFIX.fullmatch(parts[1]) and not is_organisation(text)


def is_organisation(text: str) -> bool:
    """Is a name that of a paper, a firm, an institute, a team?"""
    match = _ORGANISATION.search(text)
    if not match:
        return names.is_group(text)
    words = text.split()
    # "Emily Post" and "Tyra Banks" are people; "Washington Post Staff" is not.
    only = {each[0].lower() for each in _ORGANISATION.finditer(text)}
    return not (len(words) == 2 and only <= _FAMILY_TOO and words[0].istitle())


def _parted(text: str, *, inverted: bool) -> list[str]:
    """One field with several names -> each name."""
    text = (re.sub(r"\s*\([^()]{0,200}\)?", "", text) or text.strip("()")).strip(" ,;")
    if not text or len(text) > LONGEST:
        return []
    both = re.split(r"\s+(?:and|&)\s+", text)
    if len(both) > 1 and all(each.count(",") == 1 and not each.startswith(",") for each in both):
        return both
    if ";" in text or "；" in text or "、" in text or "，" in text:
        return [name for part in re.split(r"[;；、，]", text) for name in _parted(part.strip(), inverted=True)]
    if is_organisation(text) and not re.search(r",\s", text):
        return [text]
    text = _DEGREES.sub("", text)
    whole: list[str] = []
    for part in re.split(r",\s*(?:and\s+|&\s*)?", text):
        if not part.strip():
            continue
        if whole and _SUFFIX.fullmatch(part.strip()):
            continue
        whole.append(part.strip())
    if len(whole) == 2 and not re.search(r"\s(?:and|&)\s", text) and _one_person(*whole, inverted=inverted):
        return [", ".join(whole)]
    pairs = list(zip(whole[::2], whole[1::2], strict=False))
    if len(whole) > 2 and len(whole) % 2 == 0 and all(_INITIALS.fullmatch(given) for _, given in pairs):
        return [f"{family}, {given}" for family, given in pairs]
    return [name for part in whole for name in re.split(r"\s+(?:and|&|und|et)\s+", part) if name.strip()]


def _one_person(first: str, second: str, *, inverted: bool) -> bool:
    """Is it "Family, Given" and not two people?"""
    if _VANCOUVER.search(first) and _VANCOUVER.search(second):
        return False
    if is_organisation(second):
        return False
    words = first.split()
    return (
        inverted
        or len(words) == 1
        or " " not in second
        or _INITIALS.fullmatch(second) is not None
        or words[0].lower() in _PARTICLES
        or _plain(words[0]) in _FIRST_OF_TWO
    )


def _credit(text: str) -> Credit | None:
    text = _TITLES.sub("", text).strip(" .,;") if not _DOTTED.fullmatch(text) else text
    if not text or _NOBODY.fullmatch(text) or not any(char.isalpha() for char in text):
        return None
    if _HANDLE.fullmatch(text) or len(text) > LONGEST_NAME:
        return None
    known = text.removesuffix(", Inc")
    if known in _ACRONYMS:
        return Credit(known, group=True)
    if ("," not in text and is_organisation(text)) or re.search(r"\w['’]s\s|^(\w+) \1$", text):
        return Credit(text, group=True)
    return Credit(_family(text))


def _family(name: str) -> str:
    if "," in name:
        family, _, given = (part.strip() for part in name.partition(","))
        behind = re.search(r"(?:^|\s)((?:[^\W\d_]+\s)*[^\W\d_]+)$", given)
        # "Neumann, John von": the particle stands with the given names, and belongs to the family's.
        if behind and " " in given and not family.isupper():
            words = given.split()
            at = len(words)
            while at > 1 and words[at - 1] in _PARTICLES:
                at -= 1
            family = " ".join([*words[at:], family])
        return _cased(family, other=name.partition(",")[2])
    if not any(char.lower() != char.upper() for char in name):
        return familynames.uncased(name)
    words = name.split()
    while len(words) > 2 and _SUFFIX.fullmatch(words[-1]):
        words.pop()
    name = " ".join(words)
    if len(words) > 1:
        last = words[-1]
        if _DOTTED.fullmatch(last) or (_INITIALS.fullmatch(last) and last not in _SHORT and not words[0].isupper()):
            rest = [word for word in words if not _INITIALS.fullmatch(word) or word in _SHORT]
            return " ".join(rest) or name
        capitals = [word for word in words if len(word) > 1 and word.isupper() and not _DOTTED.fullmatch(word)]
        if (
            capitals
            and len(capitals) < len(words)
            and not (
                len(capitals) == 1 and capitals[0] == words[0] and len(capitals[0]) == 2 and capitals[0] not in _SHORT
            )
        ):
            return _cased(" ".join(capitals), other="")
        if len(words) > 2 and _plain(words[-2]) in _FIRST_OF_TWO and words[-1][:1].isupper():
            at = len(words) - 2
            while at > 1 and words[at - 1].lower() in _PARTICLES:
                at -= 1
            return " ".join(words[at:])
        found = familynames.family(words)
        if found:
            return _cased(found, other="" if name.isupper() else name)
    return _cased(names.family(name), other=name if not name.isupper() else "")


def _cased(family: str, *, other: str) -> str:
    """As from "LI" to "Li", "VAN DER BERG" -> "van der Berg", "zhang" -> "Zhang"; "McDonald" and initials stay."""
    if not family.isascii() and not any(char.isalpha() and char.lower() != char.upper() for char in family):
        return family
    if not other and family.isupper() and len(family) < 5 and family not in _SHORT:
        return family  # "ATP" alone is no family
    if family.isupper() and len(family) > 1 and not other.isupper():
        words = [word.lower() if word.lower() in _PARTICLES else _titled(word) for word in family.split()]
        return " ".join(words)
    if family.islower():
        return " ".join(word if word in _PARTICLES else _titled(word) for word in family.split())
    return family


def _titled(word: str) -> str:
    return re.sub(r"[^\W\d_]+", lambda match: match[0][:1].upper() + match[0][1:].lower(), word)


def _plain(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(char))
