"""The figures of an English text, however they are written: a value and what it counts. Pure.

    12,480 · 12480 · 12.48k                 -> 12480
    3.2 million · 3.2M                      -> 3200000
    5% · five per cent · ٥٪                 -> 1/20 share       but "5 points" are points, "5x" is a multiple
    half · halved · 1/2 · 50%               -> 1/2 share        but half an hour are 30 minutes
    twice · double · 2-fold · factor of 2   -> 2 x
    a dozen · two hundred and five          -> 12, 205          "dozens", "hundreds" are only themselves
    1,500 ms · 1.5 seconds                  -> 3/2 s            units of one kind are converted, others are others
    GPT-4 · Phase II · 60th · 3D            -> a name's, an ordinal's, a word's number: no count
    −3 · 3.2 × 10⁻⁴ · 1e-3                  -> sign and power belong to the value
    3.10                                    -> not 3.1 where nothing is measured: it may be a version

"one" alone is a word. What is no number in this table (a version, a date, a decimal comma) equals itself only.
"""

from __future__ import annotations

import dataclasses
import re
import string
import unicodedata
from fractions import Fraction

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_CARDINALS = {word: number for number, word in enumerate(_ONES)} | {
    word: 10 * number for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_SCALES = {"dozen": 12, "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SUFFIXES = {"k": 10**3, "K": 10**3, "M": 10**6, "mn": 10**6, "B": 10**9, "bn": 10**9, "T": 10**12}
_PARTS = {"half": 2, "halve": 2, "halved": 2, "halving": 2, "third": 3, "quarter": 4} | {
    f"{word}th": number
    for number, word in enumerate("four fif six seven eigh nin ten eleven twelf thirteen fourteen fifteen".split(), 4)
} | {"twentieth": 20, "hundredth": 100, "thousandth": 1000}  # fmt: skip
_NO_ORDINAL = frozenset("half halve halved halving quarter".split())
_MULTIPLES = {"twice": 2, "double": 2, "thrice": 3, "triple": 3, "treble": 3, "quadruple": 4, "quintuple": 5}
_MULTIPLES |= {f"{word[:-1]}{end}": number for word, number in [*_MULTIPLES.items()] if word[-1] == "e" != word[-2]
               for end in ("es", "ed", "ing")}  # fmt: skip
_FOLDS = {f"{word}fold": number for word, number in [*_CARDINALS.items(), *_SCALES.items()]}
_SPANS = {"decade": ("month", 120), "century": ("month", 1200)}
_PLURALS = {f"{word}s": word for word in (*_SCALES, "decade", *_PARTS)} | {
    "centuries": "century", "halves": "half", "tens": "ten"}  # fmt: skip
_IDEOGRAPHS = "〇二三四五六七八九十百千萬万億亿兆"  # "一" is a word, as "one" is


def _units() -> dict[str, tuple[str, Fraction]]:
    """Symbol or name -> (unit of its kind, how many of these it is)."""
    table = """
        share 1/100    % ٪ percent
        point 1        point points pt pts
        x 1            x × times fold
        s 1e-9 ns nanosecond nanoseconds; s 1e-6 µs us microsecond microseconds; s 1e-3 ms millisecond milliseconds
        s 1 s sec secs second seconds; s 60 min mins minute minutes; s 3600 h hr hrs hour hours
        s 86400 day days; s 604800 week weeks; month 1 month months; month 12 year years yr yrs
        B 1 byte bytes; B 1e3 kB KB kilobyte kilobytes; B 1e6 MB megabyte megabytes; B 1e9 GB gigabyte gigabytes
        B 1e12 TB terabyte terabytes; B 1e15 PB petabyte petabytes; B 1024 KiB; B 1048576 MiB; B 1073741824 GiB
        bit 1 bit bits; bit 1e3 kb kbit; bit 1e6 Mb Mbit; bit 1e9 Gb Gbit; bps 1e3 kbps; bps 1e6 Mbps; bps 1e9 Gbps
        Hz 1 Hz hertz; Hz 1e3 kHz; Hz 1e6 MHz; Hz 1e9 GHz; Hz 1e12 THz
        m 1e-9 nm nanometres nanometers; m 1e-6 µm um micrometres micrometers; m 1e-3 mm millimetres millimeters
        m 1e-2 cm centimetres centimeters; m 1 m metre metres meter meters
        m 1e3 km kilometre kilometres kilometer kilometers; mile 1 mile miles
        g 1e-6 µg; g 1e-3 mg milligrams; g 1 g gram grams; g 1e3 kg kilogram kilograms; g 1e6 tonne tonnes
        eV 1 eV; eV 1e3 keV; eV 1e6 MeV; eV 1e9 GeV; eV 1e12 TeV; J 1 J joule joules; J 1e3 kJ; J 1e6 MJ
        W 1e-3 mW; W 1 W watt watts; W 1e3 kW; W 1e6 MW; W 1e9 GW; Wh 1 Wh; Wh 1e3 kWh; Wh 1e6 MWh
        V 1e-3 mV; V 1 V volt volts; V 1e3 kV; °C 1 °C; °F 1 °F; K 1 K kelvin; Pa 1e3 kPa; Pa 1e6 MPa; Pa 1e9 GPa
        dB 1 dB decibel decibels; fps 1 fps; px 1 px pixel pixels
        $ 1 dollar dollars USD; € 1 euro euros EUR; £ 1 GBP; ¥ 1 yen
    """
    rows = [row.split() for row in re.split(r"[;\n]", table) if row.strip()]
    return {name: (unit, Fraction(factor)) for unit, factor, *names in rows for name in names}


_UNITS = _units()
_WORDS = sorted({*_CARDINALS, *_SCALES, *_PARTS, *_MULTIPLES, *_FOLDS, *_SPANS, *_PLURALS, "second"}, key=len)
_TOKEN = re.compile(
    r"(?P<digits>\d+(?:[.,]\d+)*)|(?<![^\W_])(?P<word>" + "|".join(reversed(_WORDS)) + r")(?![^\W_])"
    r"|(?<![^\W_])(?P<roman>[ivxlcdm]{2,})(?![^\W_])|(?P<ideograph>[" + _IDEOGRAPHS + "])"
)  # of a text in small letters, which is found three times as fast as by IGNORECASE
_LOWER = str.maketrans({letter: letter.lower() for letter in string.ascii_uppercase})
_ROMAN = re.compile(
    r"(?=.*[IVX])(?!CI|C?MI|VIM|DI|CV|MV|DX|MX|MIX)M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})"
)
_POWER = re.compile(r"(?:\s?[x×*·]\s?10(?:\^(?=[-+]?\d)|(?=[-+]))|e(?=[-+]?\d))([-+]?\d{1,3})(?!\w)", re.IGNORECASE)
_PART = re.compile(r"/([2-9])(?![\d/])")
_PART_OF = re.compile(
    r"[\s-](?:an?\s)?(hour|minute|second|day|year|mile|" + "|".join(_SCALES) + r")(?![^\W_])", re.IGNORECASE
)
_TEN = re.compile(r"\^([-+]?\d{1,3})(?!\d)")
_SUFFIX = re.compile(r"(?:bn|mn|[kKMBT])(?![^\W_])")
_UNIT = re.compile(
    r"[\s-]?(per[\s-]cent(?![^\W_])|percentage[\s-]points?\b|pp\b|[x×](?!\w|\s?\d)|[%٪]|°\s?[CF]|[^\W\d_]+)"
)
_PER = re.compile(
    r"(?:\s?/\s?|\sper\s|\s(?:an?|each|every)\s(?=(?:second|minute|hour|day|week|month|year)\b))([^\W\d_]+)"
)
_RANGE = re.compile(r"\s*(?:to|and|or|vs\.?|versus|[-–—/,(])\s*")
_GLUED = re.compile(r"[^\W\d_]+")
_BEFORE = re.compile(r"([^\W\d_]+)[\s-]?$")
_MONEY = re.compile(r"[$€£¥]\s?$")
_SIGN = re.compile(r"(?:^|[^\w%)\].^-])(?<!\d )([-–])(?:[$€£¥]\s?)?$")


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """A number at [start, end) of the normal text.

    `unit` is "" for a bare one, "#gpt" for a name's, "th", "~d" for one that is glued to letters, "many" for
    "hundreds", ".0" for a bare one with zeros at its end, "=2.0.1" for no plain number, else a kind of measure;
    `shown` is how it is written; `before` is the word in front of it. `lent`: its unit is the next figure's.
    """

    value: Fraction
    unit: str
    shown: str
    start: int
    end: int
    before: str = ""
    scale: int = 1
    lent: bool = False
    spelled: bool = False


def normal(text: str) -> str:
    """The text in one spelling of digits, signs and blanks; offsets of `Figure` are into it."""
    if text.isascii():
        return text
    text = re.sub(r"(?<=\d)(?=[⁺⁻⁰¹²³⁴-⁹])", "^", text)
    text = re.sub(r"(?<=\d)[\u2009\u202f\u00a0’](?=\d{3}(?!\d))", "", text)
    text = unicodedata.normalize("NFKC", re.sub(r"(?<=\d)(?=[½⅓⅔¼¾⅐-⅞])", " ", text)).translate(_SPELLINGS)
    return re.sub(r"(?![0-9])\d", lambda digit: str(unicodedata.decimal(digit[0])), text)


_SPELLINGS = str.maketrans({"−": "-", "‐": "-", "‑": "-", "٫": ".", "٬": ",", "μ": "µ", "⁄": "/", "\u00ad": None})


def figures(text: str) -> list[Figure]:
    """The figures of a text, in order."""
    text = normal(text)
    found: list[Figure] = []
    small = _TOKEN.finditer(text.translate(_LOWER))
    tokens = [token for token in small if not token["roman"] or text[token.start() : token.end()].isupper()]
    at = 0
    while at < len(tokens):
        stop = at + 1
        while stop < len(tokens) and _joins(text, tokens[stop - 1], tokens[stop]):
            stop += 1
        figure = _figure(text, tokens[at:stop])
        at = stop
        if figure is not None:
            found.append(figure)
            while at < len(tokens) and tokens[at].start() < figure.end:
                at += 1
    for i in range(len(found) - 2, -1, -1):
        between = text[found[i].end : found[i + 1].start]
        if not found[i].unit and found[i].scale == 1 and len(between) < 12 and _RANGE.fullmatch(between):
            found[i] = _lent(found[i], found[i + 1])
    return found


def _lent(figure: Figure, following: Figure) -> Figure:
    """The first figure of "3 to 5 million", of "41.2 to 58.9%": what both count is said once."""
    kind = following.unit if following.unit[:1] not in ("#", "~", ".") and following.unit not in ("th", "many") else ""
    factor = Fraction(1, 100) if kind == "share" else Fraction(1)
    if kind in ("", "share", "x", "point", "pp"):
        value = figure.value * factor * following.scale
        return dataclasses.replace(figure, value=value, unit=kind, scale=following.scale, lent=bool(kind))
    written = _UNIT.search(following.shown.lstrip("0123456789.,- "))
    unit = _UNITS.get(written[1], (kind, Fraction(1))) if written else (kind, Fraction(1))
    return dataclasses.replace(figure, value=figure.value * unit[1] * following.scale, unit=kind, lent=True)


def _word(token: re.Match[str]) -> str:
    word = token["word"] or ""
    return _PLURALS.get(word, word)


def _joins(text: str, left: re.Match[str], right: re.Match[str]) -> bool:
    """Do two tokens make one number? "two hundred", "hundred and five", "twenty-five", "two thirds", "3 million"."""
    one, two, gap = _word(left), _word(right), text[left.end() : right.start()]
    if gap not in (" ", "-", " and ") or not two or left["word"] in _PLURALS:
        return False
    if gap == " and ":
        return one in _SCALES and one != "dozen" and two in _CARDINALS
    if two in _SCALES or two in _SPANS:
        return bool(left["digits"]) or one in _CARDINALS or one in _SCALES
    if two in _PARTS:
        return one in _CARDINALS and 0 < _CARDINALS[one] < 20
    tens = one in _CARDINALS and _CARDINALS[one] >= 20
    return two in _CARDINALS and ((one in _SCALES and one != "dozen") or (tens and 0 < _CARDINALS[two] < 10))


def _figure(text: str, run: list[re.Match[str]]) -> Figure | None:
    start, end = run[0].start(), run[-1].end()
    unit, scale, literal = "", 1, ""
    lead = text[max(0, start - 24) : start]
    before_match = _BEFORE.search(lead)
    before = before_match[1].lower() if before_match else ""
    if run[0]["roman"]:
        shown = text[start:end]
        return Figure(_roman(shown), f"#{before}", shown, start, end, before) if _ROMAN.fullmatch(shown) else None
    if run[0]["ideograph"]:
        return Figure(Fraction(int(unicodedata.numeric(run[0][0]))), "", run[0][0], start, end)
    if run[0]["digits"]:
        literal = run[0]["digits"]
        known, end_of_digits = _digits(text, run[0])
        if known is None:
            shown = text[start:end_of_digits]
            return Figure(Fraction(0), f"={shown}", shown, start, end_of_digits, before)
        value = known
        if len(run) == 1:
            end = end_of_digits
            part = _PART.match(text, end)
            if part and literal in "123456789" and value < int(part[1]) and not lead.endswith("/"):
                return Figure(value / int(part[1]), "share", text[start : part.end()], start, part.end(), before)
            suffix = _SUFFIX.match(text, end)
            if suffix:
                scale, end = _SUFFIXES[suffix[0]], suffix.end()
        else:
            scale = _product(run[1:])
            unit = _SPANS[_word(run[-1])][0] if _word(run[-1]) in _SPANS else ""
        value = value * scale if scale != 1 else value
    else:
        spelled = _spelled(run, before)
        if spelled is None:
            return None
        value, unit, scale = spelled
        of = _PART_OF.match(text, end) if unit == "share" and _word(run[-1]) in ("half", "quarter") else None
        if of and of[1].lower() in _SCALES:
            value, unit, end = value * _SCALES[of[1].lower()], "", of.end()
        elif of:
            kind, factor = _UNITS[of[1].lower()]
            return Figure(value * factor, kind, text[start : of.end()], start, of.end(), before, spelled=True)
    if not unit:
        value, unit, end = _measured(text, value, start, end, lead)
    if literal and not unit and re.fullmatch(r"[1-9]\d*\.\d*?(0+)", literal) and scale == 1:
        unit = "." + "0" * (len(literal) - len(literal.rstrip("0")))
    if _word(run[0]) == "one" and len(run) == 1 and (not unit or unit[0] in "#~"):
        return None
    if lead.lower().endswith(("minus ", "negative ")):
        value = -value
    elif literal and (sign := _SIGN.search(lead)):
        value, start = -value, start - len(lead) + sign.start(1)
    return Figure(value, unit, text[start:end].strip(), start, end, before, scale, spelled=not literal)


def _digits(text: str, token: re.Match[str]) -> tuple[Fraction | None, int]:
    """(value, end) with the power of ten; None for what is no plain number."""
    plain, end = token["digits"], token.end()
    if re.fullmatch(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?", plain):
        plain = plain.replace(",", "")
    if len(plain) > 40 or not re.fullmatch(r"\d+(?:\.\d+)?", plain):
        return None, end
    value = Fraction(plain)
    power = _POWER.match(text, end) or (_TEN.match(text, end) if plain == "10" else None)
    if power:
        exponent = int(power[1]) - (power.re is _TEN)
        ten = Fraction(10 ** min(abs(exponent), 60))
        return (None if abs(exponent) > 60 else value * ten if exponent > 0 else value / ten), power.end()
    return value, end


def _product(run: list[re.Match[str]]) -> int:
    scale = 1
    for token in run:
        scale *= _SCALES.get(_word(token), 0) or _SPANS.get(_word(token), ("", 1))[1]
    return scale


def _spelled(run: list[re.Match[str]], before: str) -> tuple[Fraction, str, int] | None:
    """(value, unit, scale) of number words; None when they say no number."""
    words, last = [_word(token) for token in run], run[-1][0]
    first = words[0]
    if first in _MULTIPLES or first in _FOLDS:
        return Fraction(_MULTIPLES.get(first) or _FOLDS.get(first, 0)), "x", 1
    if first == "second":
        return None if before in ("per", "a", "each", "every") else (Fraction(2), "th", 1)
    if first in _PARTS and len(words) == 1:
        share = first in _NO_ORDINAL or last in _PLURALS or before == "a"
        return (Fraction(1, _PARTS[first]), "share", 1) if share else (Fraction(_PARTS[first]), "th", 1)
    if last in _PLURALS and (first in _SCALES or first in _SPANS or last == "tens"):
        vague = _SCALES.get(first) or _SPANS.get(first, ("", 10))[1]
        return Fraction(vague * (_product(run[1:]) if len(run) > 1 else 1)), "many", 1
    total, current, unit = 0, 0, ""
    for word in words:
        if word in _PARTS:
            return Fraction(current or 1, _PARTS[word]), "share", 1
        if word in _SPANS:
            unit, current = _SPANS[word][0], (current or 1) * _SPANS[word][1]
        elif word in ("hundred", "dozen"):
            current = (current or 1) * _SCALES[word]
        elif word in _SCALES:
            total, current = total + (current or 1) * _SCALES[word], 0
        else:
            current += _CARDINALS.get(word, 10)
    return Fraction(total + current), unit, _SCALES.get(words[-1], 1)


def _measured(text: str, value: Fraction, start: int, end: int, lead: str) -> tuple[Fraction, str, int]:
    """(value in the unit of its kind, the unit, where it ends)."""
    if _MONEY.search(lead):
        return value, lead.rstrip()[-1], end
    if lead.lower().endswith("factor of "):
        return value, "x", end
    match = _UNIT.match(text, end)
    word = match[1] if match else ""
    if word.lower().startswith(("percentage", "basis")) or word == "pp":
        return value, "pp", match.end() if match else end
    word = "%" if word.lower().startswith("per") and word.lower()[3:].strip(" -") == "cent" else word.replace(" ", "")
    known = _UNITS.get(word) or (_UNITS.get(word.lower()) if len(word) > 2 else None)
    if match and known and not (word == "point" and text[match.end() : match.end() + 1] == "-"):
        per = _PER.match(text, match.end())
        other = _UNITS.get(per[1]) if per else None
        if per and other:
            return value * known[1] / other[1], f"{known[0]}/{other[0]}", per.end()
        return value * known[1], known[0], match.end()
    glued = _GLUED.match(text, end)
    if glued:
        letters = glued[0].lower()
        return value, "th" if letters in ("st", "nd", "rd", "th") else f"~{letters}", glued.end()
    name = re.search(r"([^\W\d_]+)-?$", lead)
    return value, f"#{name[1].lower()}" if name else "", end


def _roman(letters: str) -> Fraction:
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}[letter] for letter in letters]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return Fraction(sum(-value if value < following else value for value, following in pairs))
