"""What generators put around a text, taken off: its title again, "Read more", "The post … appeared first on …". Pure.

Only what stands at the beginning or at the end goes, and only in a form that no author writes in passing: a text that
loses a sentence of its own is worse than one with a sentence too many.
"""

from __future__ import annotations

import re

# arXiv puts this before an abstract (arXiv/arxiv-feed, serializer.py), journals that before theirs.
_BEFORE = (
    re.compile(r"arXiv:\S+\s+Announce Type:\s*\S+\s+Abstract:\s*"),
    re.compile(r"[^,.;\n]{1,80}, Published online: [^;\n]{1,40}; doi:\s?10\.\S+\s*"),
    re.compile(
        r"(?:Publication date:|Published:) [^\n]{1,60}\n+(?:Source:[^\n]{1,200}\n+)?(?:Author\(s\): [^\n]*\n*)?"
    ),
)
# WordPress, in the languages of its translations: "The post TITLE appeared first on SITE."
_POST = (
    r"The post|L[’'](?:article|articolo)|Der Beitrag|El post|La entrada|El art[íi]culo|O post|O artigo|Het bericht"
    r"|Artyku[łl]|Wpis|Inl[äa]gget|Indl[æa]gget|Innlegget|P[řr][íi]sp[ěe]vek|Zapis|Запись|Artikel"
)
_FIRST = (
    r"(?:first )?appeared (?:first )?(?:on|in|at)|est apparu en premier sur|erschien zuerst (?:auf|bei)"
    r"|(?:apareci[óo]|se public[óo]) primero en|apareceu primeiro em|verscheen eerst op"
    r"|(?:proviene da|sembra essere il primo su)|pochodzi z(?: serwisu)?|d[öo]k f[öo]rst upp p[åa]"
    r"|blev f[øo]rst (?:udgivet|vist) p[åa]|dukket f[øo]rst opp p[åa]|впервые появилась|pojavio se prvo na"
    r"|pertama kali tampil pada"
)
_MORE = (
    r"(?:read (?:more|on|now|the (?:full |whole )?(?:article|post|story|rest)|full (?:article|post|story)"
    r"|the rest of .{1,200})|continue reading(?:\W.{0,200})?|keep reading|learn more|view (?:post|article)"
    r"|full story|more|lire (?:la suite|l[’']article|plus)|weiterlesen|mehr(?: lesen)?|leer m[áa]s|seguir leyendo"
    r"|leggi (?:tutto|di pi[ùu])|lees (?:verder|meer)|ler mais|continue (?:lendo|a ler)|l[äa]s mer|l[æa]s mere|les mer"
    r"|czytaj (?:dalej|wi[ęe]cej)|читать далее)(?: here)?"
)
_ARROWS = r"[\s.…:>→»⟶]"
_APPEARED = re.compile(rf"(^|\s+)(?:{_POST})\s[^\n]{{1,300}}?\s(?:{_FIRST})\s[^\n]{{1,150}}$")
_AFTER = (
    # hnrss.org's lines, and links to comments
    re.compile(r"(?:^|\n\n)(?:Article URL: \S+\s+)?Comments URL: \S+\s+Points: \d+\s+# Comments: \d+\s*$"),
    re.compile(r"(?i)(?:^|\n\n)(?:\[?(?:\d+ |read |leave a |view )?comments?(?: \(\d+\))?\]?|permalink)\s*$"),
    re.compile(r"\s*submitted by\s+\S+(?:\s+to\s+\S+)?\s*\[link\]\s*\[(?:\d+ )?comments?\]\s*$"),
    # as a paragraph of its own, in brackets, after an ellipsis, or after a sentence and with an arrow
    re.compile(rf"(?i)(?:^|\n\n)[(\[→»]?\s*{_MORE}(?:{_ARROWS}|[\])])*(?:\([^()\n]{{1,40}}\)\W*)?$"),
    re.compile(rf"(?i)\s*[(\[]\s*{_MORE}{_ARROWS}*[)\]]\s*$"),
    re.compile(rf"(?i)(?:(?<=…)|(?<=\.\.\.)|(?<=\[…\])|(?<=\[\.\.\.\]))\s*{_MORE}{_ARROWS}*$"),
    re.compile(rf"(?i)(?<=[.!?])\s*{_MORE}\s*[…>→»⟶]+\s*$"),
)
_MOST = 4  # things one after the other
_TAIL = 700  # characters: what is taken off the end is shorter


def without(text: str, title: str) -> str:
    """A text without what its generator put before and after it, and without its title again as first paragraph.

    Where there is no title, something is left.
    """
    whole = text
    for _ in range(_MOST):
        before = text
        for pattern in _BEFORE:
            found = pattern.match(text)
            text = text[found.end() :] if found else text
        text = _cut(_without_title(text, title) if title else text, title)
        if text == before:
            break
    return text if text or title else whole


def _without_title(text: str, title: str) -> str:
    head, _, rest = text.partition("\n\n")
    if _plain(head) == _plain(title):
        return rest
    # a commit's first line, run into the second: no punctuation after it, and a new sentence
    following = text[len(title) :]
    runs_on = (
        text.startswith(title) and title.count(" ") > 2 and title[-1].isalnum() and re.match(r" [A-Z]\w* ", following)
    )
    return following.lstrip() if runs_on else text


def _cut(text: str, title: str) -> str:
    kept, tail = text[:-_TAIL], text[-_TAIL:]
    appeared = _APPEARED.search(tail)
    # Within a paragraph it must name this post: other things have appeared, too.
    if appeared and ("\n\n" in appeared[1] or (title and _plain(title)[:12] in _plain(appeared[0]))):
        tail = tail[: appeared.start()]
    for pattern in _AFTER:
        found = pattern.search(tail)
        if found and (found.start() or not kept):
            tail = tail[: found.start()]
    return (kept + tail).rstrip()


def _plain(text: str) -> str:
    """The letters and digits of a text."""
    return re.sub(r"[\W_]+", "", text.casefold())
