"""Which of a name's words is the family's, where a culture writes it first: "Kim Min-jun", "Nguyễn Văn An". Pure.

Feeds do not say in which order a name is written, and most papers turn Asian names round: "Min-jun Kim". So the first
word is the family's only where the words themselves show it, and the last one is not as good a family name:

    Kim Min-jun, Nguyễn Văn An, Li Wei      a frequent family name stands first, and none stands last
    Wei Li, Min-jun Kim, An Van Nguyen      it stands last, as everywhere
    Li Wang                                 both could be: the last, as papers write it
    محمد علي, 王伟                          scripts without capitals: whole, unless commas tell; no letter says more
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# The most frequent family names (Ministry of Public Security of China 2020; Statistics Korea 2015; Lê Trung Hoa 2005;
# Meiji Yasuda 2018) in the spellings of papers, without those that are Western names too ("Lee", "Park", "Long", "Do").
_CHINESE = frozenset(
    "wang li zhang liu chen yang huang zhao wu zhou xu sun ma zhu hu guo he lin gao luo zheng liang xie song tang deng "
    "han feng cao peng zeng xiao tian dong pan yuan cai jiang yu du ye cheng wei su lu ding ren lü yao shen zhong cui "
    "tan fan wan jin shi liao jia xia fu fang bai zou meng qin qiu hou xiong jiang xue yan duan lei long tao shao "
    "qian mao "
    "chang wan gu lai kong xiang xi".split()
)
_KOREAN = frozenset(
    "kim lee park choi jung jeong kang cho yoon jang lim shin kwon hwang ahn seo song hong yoo moon".split()
)
_VIETNAMESE = frozenset("nguyen tran le pham hoang huynh phan vu vo dang bui do ho ngo duong ly".split())
_VIETNAMESE_MIDDLE = frozenset("van thi duc huu minh ngoc quang xuan thanh dinh cong hong kim anh chi quoc".split())
_JAPANESE = frozenset(
    "sato suzuki takahashi tanaka watanabe ito yamamoto nakamura kobayashi kato yoshida yamada sasaki yamaguchi saito "
    "matsumoto inoue kimura hayashi shimizu yamazaki mori abe ikeda hashimoto yamashita ishikawa nakajima maeda fujita "
    "ogawa goto okada hasegawa murakami kondo ishii sakamoto endo aoki fujii nishimura fukuda ota miura fujiwara "
    "okamoto matsuda nakagawa nakano harada ono tamura takeuchi kaneko wada nakayama ishida ueda morita hara shibata "
    "sakai kudo yokoyama miyazaki miyamoto uchida takagi ando taniguchi ohno maruyama imai takada fujimoto takeda "
    "murata ueno sugiyama masuda sugawara hirano otsuka kojima chiba kubo matsui iwasaki sakurai kinoshita noguchi "
    "matsuo nomura "
    "kikuchi sano onishi sugimoto arai hamada kawamura kurosawa oda".split()
)
# Chinese given names of two syllables are written as one word: "Zedong", "Yimou"; one syllable could be a family's.
_SYLLABLE = (
    r"(?:(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])?(?:iang|iong|uang|ang|eng|ing|ong|ian|iao|uai|uan|ai|an|ao|ei|en|ia|ie|"
    r"in|iu|ou|ua|ui|un|uo|(?<=[jqxynl])ue|a|e|i|(?<=[bpmfw])o|u)|er)"
)
_CHINESE_GIVEN = re.compile(rf"{_SYLLABLE}-?{_SYLLABLE}")
_KOREAN_SYLLABLE = r"(?:ch|sh|[bdghjkmnpstrl])?[yw]?(?:ae|eo|eu|ee|oo|ui|oe|ou|ah|oh|a|e|i|o|u)(?:ng|n|k|m|p|l|h|t)?"
_KOREAN_GIVEN = re.compile(rf"{_KOREAN_SYLLABLE}-{_KOREAN_SYLLABLE}")
_JAPANESE_GIVEN = re.compile(r"(?:(?:ch|sh|ts|[kstnhmyrwgzdbpjf]y?)?[aeiou]|n(?![aeiouy]))+")
_ARABIC = re.compile(r"[\u0590-\u08ff]")


def family(words: Sequence[str]) -> str | None:
    """The family name of a person with two words or more; None where the usual rule is to be asked."""
    plain = [_plain(word) for word in words]
    first, last = plain[0], plain[-1]
    if last in _VIETNAMESE and words[-2] == "Van":
        return words[-1]  # the middle name, not the Dutch particle
    if first in _VIETNAMESE and last not in _VIETNAMESE:
        middle = len(words) == 3 and plain[1] in _VIETNAMESE_MIDDLE
        return words[0] if _is_vietnamese(words) or middle else None
    if not all(word.isascii() for word in words):
        return None
    if first in _KOREAN and last not in _KOREAN and _KOREAN_GIVEN.fullmatch("-".join(plain[1:])):
        return words[0]
    if len(words) > 2 or last in _CHINESE or last in _JAPANESE:
        return None
    chinese = first in _CHINESE and _CHINESE_GIVEN.fullmatch(last)
    japanese = first in _JAPANESE and _JAPANESE_GIVEN.fullmatch(last)
    return words[0] if chinese or japanese else None


def uncased(name: str) -> str:
    """A name in a script without capitals: Arabic and Hebrew ones as they are, East Asian ones without blanks."""
    return name if _ARABIC.search(name) or not _EAST.search(name) else "".join(name.split())


_EAST = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


# The horn, the hook above, the dot below, and two accents on one letter: no other language writes these.
_ITS_LETTERS = re.compile("[đĐ\u031b\u0309\u0323]|[\u0302\u0306\u0303][\u0300\u0301\u0303]")


def _is_vietnamese(words: Sequence[str]) -> bool:
    return _ITS_LETTERS.search(unicodedata.normalize("NFD", " ".join(words))) is not None


def _plain(word: str) -> str:
    text = unicodedata.normalize("NFD", word.lower().replace("đ", "d"))
    return "".join(char for char in text if not unicodedata.combining(char))
