"""Where the eye lands: the author phrase at the start of a summary ("Liu et al.", "The authors", "Yu, Jang and Yu").

Pure, on plain text: it says where a handle may end, and neither loses nor changes a character. The forms are those of
the house voice (who did what, in a sentence that begins with the authors) and of scholarly English (APA Style, 8.17:
"et al."), and the same forms in German, French and Spanish. Text in other words, or in a script without blanks, gets
its first few words.
"""

from __future__ import annotations

import itertools
import re
import unicodedata

_BLOCKS = (range(0x41, 0x530), range(0x1E00, 0x1F00))  # Latin, Greek, Cyrillic; Latin with Vietnamese accents
# A pattern that lists hundreds of capitals sixty times takes longer to compile than a mail to render: one stands in.
_ONE_CAPITAL = {code: "À" for block in _BLOCKS for code in block if code > 0x7F and chr(code).isupper()}
_UPPER = "A-ZÀ"
_LOWER = "".join(char for char in map(chr, range(0x61, 0x180)) if char.islower())
_PARTICLE = "(?:van|von|de|der|den|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ben|ter|ten|zu|af|av)"
_WORD = rf"(?:{_PARTICLE} )*(?:[{_UPPER}]\.|[{_UPPER}][\w'’\-]*)"
_NAME = rf"{_WORD}(?: {_WORD}){{0,3}}"
_NAMES = rf"{_NAME}(?:, {_NAME}){{0,9}}"
_AND = "(?:and|&|und|et|y|e)"
_MATES = (
    r"(?:colleagues|co-?authors|co-?workers|collaborators|others|Kollegen|Kolleginnen|Mitautoren|andere|collègues|"
    r"coauteurs|collaborateurs|colegas|coautores|colaboradores|otros)"
)
_THEIR = "(?:her|his|their|several|many|two|three|four|five|ses|leurs|sus|seine|ihre)"
_PEOPLE = "(?:authors|researchers|scientists|engineers|developers|physicists|mathematicians|economists|writers)"
_PEOPLE_ELSEWHERE = (
    "(?:Die (?:Autoren|Autorinnen|Forscher|Forscherinnen|Forschenden|Wissenschaftler|Wissenschaftlerinnen)"
    "|Les (?:auteurs|autrices|auteures|chercheurs|chercheuses|scientifiques|ingénieurs)"
    "|(?:Los|Las) (?:autores|autoras|investigadores|investigadoras|científicos|científicas|ingenieros))"
)
_GROUP = (
    "(?:[Tt]eam|[Cc]ollaboration|[Cc]onsortium|[Gg]roup|[Ll]ab|[Ll]aboratory|[Pp]roject|[Ff]oundation|[Cc]ommittee)"
)
_VERBS = (
    "argues|asks|builds|compares|demonstrates|describes|develops|discusses|evaluates|examines|explains|explores|"
    "extends|finds|gives|introduces|investigates|looks|makes|measures|offers|outlines|presents|proposes|proves|"
    "publishes|releases|replaces|reports|reviews|says|shares|shows|studies|suggests|surveys|tests|trains|uses|writes"
)
# In this order: the longest reading of the same beginning first.
_PHRASES = re.compile(
    rf"(?:{_NAMES}(?:,? {_AND} {_NAME})?,? et al\b\.?"
    rf"|{_NAMES},? {_AND} (?:{_THEIR} )?{_MATES}\b"
    rf"|The (?:{_WORD} ){{1,6}}{_GROUP}\b"
    rf"|{_NAMES},? {_AND} {_NAME}(?= [{_LOWER}])"
    rf"|{_PEOPLE_ELSEWHERE}\b"
    rf"|(?:The|These|Both|All|A) (?:(?:same|research|whole|joint|two|three|four) )?(?:{_PEOPLE}|{_GROUP})\b"
    rf"(?: (?:at|from|of) (?:the )?{_NAMES}(?:,? {_AND} {_NAME})?)?"
    rf"|(?:Researchers|Scientists|Engineers|Developers)\b(?: (?:at|from) (?:the )?{_NAMES}(?:,? {_AND} {_NAME})?)?"
    rf"|{_NAME}(?= (?:{_VERBS})\b))"
)
_REACH = 300  # a phrase ends within so many characters
_WEAK = frozenset(
    "a an the this that these those its their his her our of in on at to for from by with and or but as is are was "
    "were be into over under between through via than then how why when where which who whose what not no very most "
    "more one two both each every all any some "
    "der die das den dem des ein eine einen einem einer eines und oder mit ohne von vom zu zum zur im am auf für bei "
    "aus nach über unter zwischen dass sich nicht wie les la le du une et ou avec sans de en dans sur pour par que "
    "qui ne los las el del al una unos unas y o con sin para por se su sus".split()
)
_TAKEN = re.compile(r"\S+")
_TRAILING = " \t\n,;:.!?…·–—-\"'”’)]}"
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_UNSPACED_LENGTH = 8  # characters of a script without blanks that make a handle
_FEW = 3
_MOST = 40  # words that a handle may have at the utmost


def phrase(text: str) -> int:
    """How many characters the author phrase at the start of `text` has; 0 where there is none."""
    found = _PHRASES.match(text[:_REACH].translate(_ONE_CAPITAL))
    return found.end() if found else 0


def ends(text: str) -> list[int]:
    """Where a handle at the start of `text` may end, shortest first.

    The first is the author phrase, or the first few words where there is none; the others take in one word more each,
    and never stop after a word that leaves the reader hanging ("The authors built a"). Empty for a text without words.
    """
    words = [match.span() for match in itertools.islice(_TAKEN.finditer(text), _MOST)]
    if not words:
        return []
    first = phrase(text) or _few(text, words)
    found = [first]
    for start, end in words:
        stop = start + len(text[start:end].rstrip(_TRAILING))
        if stop > first and stop > start and text[start:stop].lower() not in _WEAK:
            found.append(stop)
    whole = len(text.rstrip())
    if found[-1] < whole == words[-1][1]:
        found.append(whole)
    return found


def said(part: str, text: str) -> bool:
    """Whether `text` begins with `part`, a byline's authors ("Wang et al." is also said by "Wang and colleagues")."""
    part, text = " ".join(part.split()).casefold(), " ".join(text.split()).casefold()
    if not part or any(char.isdigit() for char in part):
        return False
    if text.startswith(part) and not text[len(part) : len(part) + 1].isalnum():
        return True
    mates = rf",? (?:et al\.?|{_AND} (?:{_THEIR} )?{_MATES})(?!\w)"
    names = re.sub(rf"{mates}$", "", part, flags=re.IGNORECASE)
    return names != part and re.match(re.escape(names) + mates, text, re.IGNORECASE) is not None


def _few(text: str, words: list[tuple[int, int]]) -> int:
    first = text[words[0][0] : words[0][1]]
    if _UNSPACED.search(first):
        return words[0][0] + _few_unspaced(first)
    stop = words[0][1]
    for count, (start, end) in enumerate(words, 1):
        word = text[start:end]
        kept = word.rstrip(_TRAILING)
        stop = start + len(kept) if kept else end
        clause_ends = len(kept) > 2 and word[len(kept) : len(kept) + 1] in (*",;:.!?…—",)
        if clause_ends or (count >= _FEW and kept.lower() not in _WEAK) or count > _FEW + 2:
            break
    return stop


def _few_unspaced(word: str) -> int:
    """Up to the first punctuation, never between a letter and the marks that combine with it."""
    length = 0
    for char in word:
        category = unicodedata.category(char)
        if length and category.startswith("P"):
            break
        if length >= _UNSPACED_LENGTH and not category.startswith("M"):
            break
        length += 1
    return length
