"""What the headings and words in files of people mean: tables, and the functions that look them up. Pure.

Headings and words are compared as `key` makes them: without case, blanks and punctuation. The tables come from the
exports of other services: Mailchimp, Substack, Ghost, listmonk, beehiiv, Kit, Buttondown, Brevo, phpList, Shopify,
MailerLite, Google, Outlook and LinkedIn contacts.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from newsletter import errors, types

Kind = Literal["email", "name", "first", "last", "state", "language", "topics", "since", "suppressed"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# The surest heading first: of two columns the one named earlier here is taken.
_HEADINGS: dict[Kind, str] = {
    "email": "email emailaddress subscriberemail primaryemail emailid emailadresse emailadress emailadres"
    " adresseemail adresseelectronique courriel epost epostadress epostadresse correo correoelectronico"
    " correoelectrónico email1value useremail contactemail mail mailaddress mailadresse adressemail adresemail"
    " メールアドレス 邮箱 subscriber address",
    "name": "name fullname displayname subscribername namn navn nombre nomcomplet naam 名前 氏名",
    "first": "firstname fname givenname first forename vorname prénom prenom förnamn fornavn voornaam",
    "last": "lastname lname surname familyname last nachname nom nomdefamille efternamn etternavn achternaam apellido"
    " apellidos cognome",
    "state": "status subscriptionstatus subscriberstatus emailstatus state",
    "language": "language lang locale sprache langue språk idioma",
    "topics": "topics topic",
    "since": "since",
    "suppressed": "suppressed",
}
# A column `state` beside one of these is a part of a postal address.
_POSTAL = frozenset(("city", "zip", "zipcode", "postcode", "postalcode", "country", "region", "address1", "street"))

ACTIVE, PENDING = types.SubscriberState.ACTIVE, types.SubscriberState.PENDING
UNSUBSCRIBED, BOUNCED = types.SubscriberState.UNSUBSCRIBED, types.SubscriberState.BOUNCED
COMPLAINED, ERASED = types.SubscriberState.COMPLAINED, types.SubscriberState.ERASED
# From a yes to the firmest no: where two words meet, the stronger one holds.
STRENGTH = {ACTIVE: 0, PENDING: 1, UNSUBSCRIBED: 2, BOUNCED: 3, COMPLAINED: 4, ERASED: 5}
NOES = frozenset({UNSUBSCRIBED, BOUNCED, COMPLAINED, ERASED})

_WORDS = {
    ACTIVE: "active subscribed confirmed enabled optedin optin",
    PENDING: "pending unconfirmed unactivated notconfirmed waiting awaitingconfirmation",
    UNSUBSCRIBED: "unsubscribed inactive disabled deleted removed optedout optout left archived blocklisted blacklisted"
    " suppressed",
    BOUNCED: "bounced cleaned hardbounced hardbounce undeliverable",
    COMPLAINED: "complained complaint spam markedasspam junk abuse",
}
_STATES = {word: state for state, words in _WORDS.items() for word in words.split()}
# Somebody forbade to mail this address: that is a suppression too.
_FORBIDDEN = frozenset(("blocklisted", "blacklisted", "suppressed"))

# Columns that say no by themselves, and what they make of the person: when they hold anything (a date of leaving),
# when they hold a yes, and when they hold a no.
_WHEN_FILLED = {
    "unsubtime": UNSUBSCRIBED,
    "unsubscribedat": UNSUBSCRIBED,
    "unsubscriptiondate": UNSUBSCRIBED,
    "deletedat": UNSUBSCRIBED,
    "cleantime": BOUNCED,
    "bouncedat": BOUNCED,
    "undeliverabilitydate": BOUNCED,
}
_WHEN_YES = {
    "emaildisabled": UNSUBSCRIBED,
    "emailblacklisted": UNSUBSCRIBED,
    "isthissubscriberblacklisted": UNSUBSCRIBED,
    "isthisaccountdisabled": UNSUBSCRIBED,
    "blacklisted": UNSUBSCRIBED,
    "disabled": UNSUBSCRIBED,
    "unsubscribed": UNSUBSCRIBED,
    "optout": UNSUBSCRIBED,
    "optedout": UNSUBSCRIBED,
    "bounced": BOUNCED,
    "complained": COMPLAINED,
}
_WHEN_NO = {
    "subscribedtoemails": UNSUBSCRIBED,
    "acceptsemailmarketing": UNSUBSCRIBED,
    "acceptsmarketing": UNSUBSCRIBED,
    "optin": UNSUBSCRIBED,
    "subscribed": UNSUBSCRIBED,
    "confirmed": PENDING,
    "isthissubscriberconfirmed": PENDING,
}
# A column `type` is believed in a no only: elsewhere it says who pays.
_WHEN_WORD = frozenset(("type", "subscribertype"))
_TRUE = frozenset(("1", "true", "yes", "y", "t", "ja", "oui", "si", "sí", "x"))
_FALSE = frozenset(("0", "false", "no", "n", "f", "nein", "non", "nej"))
_NOTHING = _FALSE | frozenset(("", "null", "none", "na", "00000000", "00000000000000"))

LEFT = "(left)"  # behind a topic: the person had it and gave it up
EVERYWHERE = "*"  # the suppression that holds for all newsletters
_SCOPED = re.compile(r"([a-z0-9-]+|\*): (.+)", re.DOTALL)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclasses.dataclass(frozen=True, slots=True)
class Columns:
    """Which column is what. `verdicts` are those that can say no: (index, key of the heading).

    A row that is shorter than `needed` cells lacks the address, or what could say no.
    """

    headings: tuple[str, ...]
    at: Mapping[Kind, int]
    verdicts: tuple[tuple[int, str], ...] = ()
    needed: int = 1


def key(text: str) -> str:
    """A heading or a word as the tables have it: "E-mail 1 - Value" is "email1value"."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFC", text)).lower()


def find(headings: Sequence[str], mapping: Mapping[str, str]) -> Columns | None:
    """The columns of a header line; None where no column of addresses, or not every mapped one, is in it."""
    keys = [key(heading) for heading in headings]
    at: dict[Kind, int] = {}
    for kind in KINDS:
        names = [key(mapping[kind])] if kind in mapping else _HEADINGS[kind].split()
        if kind == "state" and kind not in mapping and not _POSTAL.isdisjoint(keys):
            names.remove("state")
        index = next((keys.index(name) for name in names if name in keys), None)
        if index is not None:
            at[kind] = index
        elif kind in mapping:
            return None
    if "email" not in at:
        return None
    if "name" in at and "last" in at and "first" not in at:  # "Name, Surname"
        at["first"] = at.pop("name")
    says_no = _WHEN_FILLED.keys() | _WHEN_YES.keys() | _WHEN_NO.keys() | _WHEN_WORD
    verdicts = tuple((i, name) for i, name in enumerate(keys) if name in says_no and i != at["email"])
    reach = [at["email"], *(at[kind] for kind in ("state", "suppressed") if kind in at), *(i for i, _ in verdicts)]
    return Columns(tuple(heading.strip() for heading in headings), at, verdicts, max(reach) + 1)


def check_mapping(mapping: Mapping[str, str]) -> None:
    """Raises `errors.UsageError` for a name that is no column of ours."""
    for name in mapping:
        if name not in KINDS:
            raise errors.UsageError(f"--map {name}=…: {name} is no column; there is {', '.join(KINDS)}")


def state_of(word: str, verdicts: Sequence[tuple[str, str]]) -> tuple[types.SubscriberState | None, str | None]:
    """What a row says of the person, and why the address is forbidden, if it is.

    `word` stands in the column of states, `verdicts` are (key of the heading, cell) of those that can say no. Of
    several the strongest holds. Raises `errors.UsageError` for a word that nobody knows.
    """
    said: list[types.SubscriberState] = []
    forbidden = None
    if word:
        known = _STATES.get(key(word))
        if known is None:
            raise errors.UsageError(f"{word!r} is no state; there is {', '.join(s for s in STRENGTH if s != ERASED)}")
        said.append(known)
        forbidden = key(word) if key(word) in _FORBIDDEN else None
    for heading, cell in verdicts:
        value = key(cell)
        if heading in _WHEN_WORD:
            found = _STATES.get(value)
            found = None if found is ACTIVE else found
        elif heading in _WHEN_FILLED:
            found = None if value in _NOTHING else _WHEN_FILLED[heading]
        elif heading in _WHEN_YES:
            found = _WHEN_YES[heading] if value in _TRUE else None
        else:
            found = _WHEN_NO[heading] if value in _FALSE else None
        if found:
            said.append(found)
    return (max(said, key=STRENGTH.__getitem__) if said else None), forbidden


def language_of(text: str) -> str | None:
    """A language tag (BCP 47), or None for what is none: a person counts for more than the language they read."""
    tag = text.strip().replace("_", "-")
    return tag if _LANGUAGE.fullmatch(tag) else None


def since_of(text: str) -> dt.datetime | None:
    """An ISO 8601 time, without a zone in UTC. Raises `errors.UsageError` for what is none."""
    text = text.strip()
    if not text:
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise errors.UsageError(f"{text!r} is no time; write it like 2026-09-11T09:00:00+00:00") from None


def topics_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The topics that a cell names, and those it says were left."""
    names = [name.strip() for name in re.split(r"[;|,]", text) if name.strip()]
    has = tuple(dict.fromkeys(name for name in names if not name.endswith(LEFT)))
    return has, tuple(dict.fromkeys(name.removesuffix(LEFT).strip() for name in names if name.endswith(LEFT)))


def topics_text(topics: Sequence[str], left: Sequence[str]) -> str:
    """The cell that `topics_of` reads."""
    return ";".join([*topics, *(f"{name} {LEFT}" for name in left)])


def suppressed_of(text: str) -> tuple[tuple[str, str], ...]:
    """The suppressions that a cell names, as (newsletter or "", reason); other services just say yes or no."""
    text = text.strip()
    if not _SCOPED.fullmatch(text):  # else a reason like "no" would be taken for the other services' word
        if key(text) in _NOTHING:
            return ()
        if key(text) in _TRUE:
            return (("", "imported"),)
    found = []
    for part in text.split(" | "):
        scoped = _SCOPED.fullmatch(part.strip())
        newsletter, reason = (scoped[1], scoped[2]) if scoped else (EVERYWHERE, part.strip())
        found.append(("" if newsletter == EVERYWHERE else newsletter, re.sub(r"\\([\\|])", r"\1", reason)))
    return tuple(found)


def suppressed_text(suppressions: Sequence[tuple[str, str]]) -> str:
    """The cell that `suppressed_of` reads: "complaint", or "weekly: asked by phone"."""
    parts = []
    for newsletter, reason in suppressions:
        plain = re.sub(r"([\\|])", r"\\\1", reason.strip()) or "suppressed"  # a bar parts one from the next
        clear = not newsletter and not _SCOPED.fullmatch(plain) and key(plain) not in _TRUE | _NOTHING
        parts.append(plain if clear else f"{newsletter or EVERYWHERE}: {plain}")
    return " | ".join(parts)
