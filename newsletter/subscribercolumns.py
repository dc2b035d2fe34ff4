"""What the headings and words in files of people mean: tables, and the functions that look them up. Pure.

Headings and words are compared as `key` makes them: without case, blanks and punctuation. The tables come from the
exports of other services: Mailchimp, Substack, Ghost, listmonk, beehiiv, Kit, Buttondown, Brevo, phpList, Shopify,
MailerLite, Google, Outlook and LinkedIn contacts.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from newsletter import errors, types
from newsletter import subscribercells as cells
from newsletter.subscribercells import key

Kind = Literal[
    "email", "name", "first", "last", "state", "language", "topics", "since", "suppressed", "tags", "paused_until",
    "optin_time", "optin_ip", "confirm_time", "confirm_ip", "left_time", "left_reason", "groups",
]  # fmt: skip
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
    "since": "since createdat creationdate createdtime dateadded addedtime addedat entered dateregistered joinedat"
    " joindate registrationdate signupdate",
    "suppressed": "suppressed",
    "tags": "tags",
    "paused_until": "pauseduntil",
    # What a person said at the other service, and from where: it is kept as the proof of their consent.
    "optin_time": "optintime optinat optindate subscribedat subscribedon subscribeddate datesubscribed subscriptiondate"
    " subscribetime subscribed signedupat signuptime",
    "optin_ip": "optinip signupip subscribeip subscribedip subscriptionip",
    "confirm_time": "confirmtime confirmedat confirmeddate confirmationtime confirmationdate doubleoptintime",
    "confirm_ip": "confirmip confirmedip confirmationip",
    "left_time": "unsubtime unsubscribedat unsubscriptiondate unsubscribedate unsubscribed cleantime bouncedat"
    " undeliverabilitydate deletedat",
    "left_reason": "unsubreason unsubscriptionreason unsubscribereason",
    "groups": "",  # only where --topic-from names a column
}
_MORE = frozenset(KINDS[KINDS.index("tags") :])
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
    PENDING: "pending unconfirmed unactivated notconfirmed waiting awaitingconfirmation validating needsattention"
    " upcoming nonsubscribed transactional",
    UNSUBSCRIBED: "unsubscribed inactive disabled deleted removed optedout optout left archived blocklisted blacklisted"
    " suppressed blocked cancelled canceled",
    BOUNCED: "bounced cleaned hardbounced hardbounce undeliverable undelivered invalid",
    COMPLAINED: "complained complaint complaints spam markedasspam spamcomplaint junk abuse spammy",
}
_STATES = {word: state for state, words in _WORDS.items() for word in words.split()}
# Somebody forbade to mail this address: that is a suppression too.
_FORBIDDEN = frozenset(("blocklisted", "blacklisted", "suppressed", "blocked"))

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
    "emailblocklisted": UNSUBSCRIBED,
    "blocklisted": UNSUBSCRIBED,
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
# These are believed in a no only: elsewhere `type` says who pays. A second column of states is one of them, too.
_WHEN_WORD = frozenset(("type", "subscribertype", "unsubreason"))
_SECOND_STATE = frozenset(("status", "subscriptionstatus", "subscriberstatus", "emailstatus"))
_DATE = re.compile(r"(?:19|20)\d\d")

# Files of one kind of people, known by a heading (unless the file has LAST_CHANGED, too) or by how their name begins:
# Mailchimp's four. Each row says at least this.
_WHOLE_FILE = {"unsubcampaignid": UNSUBSCRIBED, "cleancampaignid": BOUNCED}
_NAMES = re.compile(r"(?i)(nonsubscribed|unsubscribed|cleaned)_")


@dataclasses.dataclass(frozen=True, slots=True)
class Columns:
    """Which column is what. `verdicts` are those that can say no: (index, key of the heading).

    A row that is shorter than `needed` cells lacks the address, or what could say no. `floor`: each row says at least
    this. `exact`: the column `since` is our own, and holds nothing but times. `has_more`: a column that few files have.
    """

    headings: tuple[str, ...]
    at: Mapping[Kind, int]
    verdicts: tuple[tuple[int, str], ...] = ()
    needed: int = 1
    floor: types.SubscriberState | None = None
    exact: bool = False
    has_more: bool = False


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
    says_no = _WHEN_FILLED.keys() | _WHEN_YES.keys() | _WHEN_NO.keys() | _WHEN_WORD | _SECOND_STATE
    taken = {at["email"], at.get("state")}
    verdicts = tuple((i, name) for i, name in enumerate(keys) if name in says_no and i not in taken)
    reach = [at["email"], *(at[kind] for kind in ("state", "suppressed") if kind in at), *(i for i, _ in verdicts)]
    return Columns(
        headings=tuple(heading.strip() for heading in headings),
        at=at,
        verdicts=verdicts,
        needed=max(reach) + 1,
        floor=next((s for name, s in _WHOLE_FILE.items() if name in keys and "lastchanged" not in keys), None),
        exact="since" in at and ("since" in mapping or keys[at["since"]] == "since"),
        has_more=not _MORE.isdisjoint(at),
    )


def of_name(name: str) -> types.SubscriberState | None:
    """What the name of a file says of everybody in it: Mailchimp's `cleaned_members_export_3f.csv` bounced."""
    found = _NAMES.match(name)
    return _STATES[found[1].lower()] if found else None


def check_mapping(mapping: Mapping[str, str]) -> None:
    """Raises `errors.UsageError` for a name that is no column of ours."""
    for name in mapping:
        if name not in KINDS:
            known = ", ".join(kind for kind in KINDS if kind != "groups")
            raise errors.UsageError(f"--map {name}=…: {name} is no column; there is {known}")


def state_of(word: str, verdicts: Sequence[tuple[str, str]]) -> tuple[types.SubscriberState | None, str | None]:
    """What a row says of the person, and why the address is forbidden, if it is.

    `word` stands in the column of states, `verdicts` are (key of the heading, cell) of those that can say no. Of
    several the strongest holds. Raises `errors.UsageError` for a word that nobody knows.
    """
    said: list[types.SubscriberState] = []
    forbidden = None
    if word:
        known = _STATES.get(word) or _STATES.get(key(word))
        if known is None:
            raise errors.UsageError(f"{word!r} is no state; there is {', '.join(s for s in STRENGTH if s != ERASED)}")
        said.append(known)
        if known is UNSUBSCRIBED and key(word) in _FORBIDDEN:
            forbidden = key(word)
    for heading, cell in verdicts:
        value = key(cell)
        if heading in _WHEN_WORD or heading in _SECOND_STATE:
            found = _STATES.get(value)
            found = None if found is ACTIVE else found
        elif heading in _WHEN_FILLED:
            found = None if value in cells.NOTHING else _WHEN_FILLED[heading]
        elif heading in _WHEN_YES:
            found = _WHEN_YES[heading] if value in cells.TRUE or _DATE.match(value) else None
        else:
            found = _WHEN_NO[heading] if value in cells.FALSE else None
        if found:
            said.append(found)
    return said[0] if len(said) == 1 else stronger(*said), forbidden


def stronger(*said: types.SubscriberState | None) -> types.SubscriberState | None:
    """Of several words about a person the firmest."""
    return max((state for state in said if state), key=STRENGTH.__getitem__, default=None)
