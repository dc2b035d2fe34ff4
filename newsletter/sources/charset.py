"""In which encoding is a text that is not UTF-8 and does not say? Pure; an answer only where it is sure.

    seven bits, with shifts        their escapes (ISO/IEC 2022; RFC 1468, RFC 1557) stand in no other text
    several octets a character     it decodes without a fault, into what its language writes most of the time
    one octet a letter             its letters are the common ones of the language, and capitals begin words
    anything else                  Windows-1252, as HTML has it for Western texts (HTML, 13.2.3.2)

Texts in Latin letters all read as Windows-1252: of a few accents nobody can tell Polish from French. (General detectors
are no surer: charset-normalizer 3.5 takes short Spanish and Portuguese for Windows-1250, and German for cp775.)
"""

from __future__ import annotations

import codecs
import re
import unicodedata

WESTERN = "windows-1252"
# The second of Japanese has half-width kana as well, which mail may not have and feeds do.
_JAPANESE = ("iso2022_jp", "iso2022_jp_ext")
_SHIFTS = ((b"\x1b$)C", ("iso2022_kr",)), (b"\x1b$B", _JAPANESE), (b"\x1b$@", _JAPANESE), (b"\x1b(I", _JAPANESE))
_LOOKED_AT = 6_000  # octets
_LEAST = 6  # octets beyond ASCII: fewer tell nothing
_SURE = 0.6  # share of what is beyond ASCII that must look right
_TAG = re.compile(rb"<[^<>]*>|&#?\w{1,10};|https?://[^\s<>\"']*")
_FOREIGN = re.compile(rb"[^\s\x80-\xff]*[\x80-\xff]\S*")  # a word with an octet beyond ASCII; none has "<" inside it
_RUN = re.compile(r"[A-Za-z\u0080-\U0010ffff]+")
_LATIN = re.compile("[A-Za-z]")  # beside an octet beyond ASCII: Western words are written so, those of others never

# The letters that make up the most of a text; languages of one script share what is common.
_CYRILLIC = "оеаинтсрвлкмдпуяізьыбгчъ"
_GREEK = "αοιετσνηυρπκμλςωδγχθάέήίόύώ"
_HEBREW = "יוהלארמתבשנדכעחקפטםסןגצזךףץ"
_ARABIC = "الينمرتوبةعدسفهكقأحجشطصىخضذ"
_THAI = "านรอกเงมยลวดทสตะปบคหแจพชขไใโผถซศณ่้ีิัา์ุูืๆำ"
_LETTERS = (
    ("windows-1251", _CYRILLIC),
    ("koi8-u", _CYRILLIC),  # KOI8-R, and four letters more
    ("iso-8859-5", _CYRILLIC),
    ("windows-1253", _GREEK),
    ("iso-8859-7", _GREEK),
    ("windows-1255", _HEBREW),
    ("windows-1256", _ARABIC),
    ("iso-8859-6", _ARABIC),
    ("cp874", _THAI),
)


def guess(data: bytes) -> str:
    """The name of the encoding, as Python knows it."""
    text = _foreign(data)
    if sum(octet > 0x7F for octet in text) < _LEAST:
        return WESTERN
    several = {name: share(text) for name, share in _SEVERAL}
    one = {name: _letters(text, name, common) for name, common in _LETTERS}
    scores = several | one
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] >= _SURE else WESTERN


def shifted(data: bytes) -> str | None:
    """The name of the encoding of a text that is all ASCII but for ISO 2022's escapes, and decodes; None of another."""
    for escape, names in _SHIFTS:
        if escape in data:
            return next((name for name in names if _decodes(data, name)), None)
    return None


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return not text.isascii() and "\x1b" not in text  # else its escapes are no shifts


def _foreign(data: bytes) -> bytes:
    """The first words that are not ASCII, without markup."""
    found, size = [], 0
    for word in _FOREIGN.finditer(_TAG.sub(b" ", data)):
        found.append(word[0])
        size += len(word[0])
        if size > _LOOKED_AT:
            break
    return b" ".join(found)[:_LOOKED_AT]


# -- several octets a character ------------------------------------------------------------------------------------


def _decoded(text: bytes, encoding: str) -> list[str]:
    """The characters beyond ASCII; none when the text is not of that encoding. The last may be cut off."""
    try:
        decoded = codecs.getincrementaldecoder(encoding)().decode(text)
    except UnicodeDecodeError:
        return []
    return [character for character in decoded if not character.isascii()]


def _share(found: list[str], right: int) -> float:
    return right / len(found) if len(found) * 2 >= _LEAST else 0.0


def _japanese(text: bytes, encoding: str) -> float:
    """Japanese has kana in every sentence, and hardly any of half width; Chinese and Korean have none."""
    found = _decoded(text, encoding)
    kana = sum("\u3041" <= each <= "\u30fe" for each in found)
    rest = sum("\u4e00" <= each <= "\u9fff" or "\u3000" <= each <= "\u3020" or "！" <= each <= "～" for each in found)
    return _share(found, kana + rest) if kana * 8 >= len(found) else 0.0


def _chinese(text: bytes) -> float:
    """In GB 2312 common characters have lead octets B0 to D7, by their sound; Korean's syllables end at C8."""
    found = _decoded(text, "gb18030")
    codes = [each.encode("gb18030") for each in found]
    common = sum(len(code) == 2 and code[1] > 0xA0 and (code[0] <= 0xA3 or 0xB0 <= code[0] <= 0xD7) for code in codes)
    leads = [code[0] for code in codes if 0xB0 <= code[0] <= 0xD7]
    return _share(found, common) if sum(lead > 0xC8 for lead in leads) * 6 >= len(leads) > 0 else 0.0


def _traditional(text: bytes) -> float:
    """In Big5 common characters have lead octets up to C6, and no other has as many second octets below 80."""
    found = _decoded(text, "big5")
    codes = [each.encode("big5") for each in found]
    low = sum(code[1] < 0x80 for code in codes)
    return _share(found, sum(code[0] <= 0xC6 for code in codes)) if low * 10 >= len(codes) else 0.0


def _korean(text: bytes) -> float:
    found = _decoded(text, "euc-kr")
    return _share(found, sum("가" <= each <= "힣" for each in found))


_SEVERAL = (
    ("euc-jp", lambda text: _japanese(text, "euc-jp")),
    ("cp932", lambda text: _japanese(text, "cp932")),  # Shift-JIS, as it is written
    ("gb18030", _chinese),
    ("big5", _traditional),
    ("euc-kr", _korean),
)


# -- one octet a letter --------------------------------------------------------------------------------------------


def _letters(text: bytes, encoding: str, common: str) -> float:
    """How much of what is beyond ASCII is common letters, in words that are written like words."""
    decoded = text.decode(encoding, "replace")
    beyond = sum(not character.isascii() for character in decoded)
    right = 0
    for run in _RUN.findall(decoded):
        letters = "".join(filter(str.isalpha, run))
        odd = any(each not in common and unicodedata.category(each)[0] in "MS" for each in run)  # U+FFFD is one
        if not (odd or _LATIN.search(run)) and (letters.isupper() or letters[1:] == letters[1:].lower()):
            right += sum(each in common for each in run.lower())
    return right / beyond
