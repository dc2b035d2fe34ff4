"""The public pages as HTML, in a language that their reader knows.

    who may see it, what was done   `readers`
    what it says                    here: dates, titles and choices as values that templates print
    how it looks                    templates/web/*.html and style.css, of the workspace or as shipped

A form holds a stamp: when it was shown, and which words stood on it, signed. So what is kept as proof is what was seen.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import hashlib
import hmac
import html
import itertools
import re
import time
import urllib.parse
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from newsletter import addresses, dates, render
from newsletter.app import readers
from newsletter.render import views

if TYPE_CHECKING:
    from newsletter.app import Newsletter

FRESH = 2.0  # seconds that the answer to "what is there to subscribe to?" is used again
TYPING = dt.timedelta(seconds=2)  # nobody fills a form in faster
PAUSE = dt.timedelta(weeks=4)  # what the form proposes
MOST_PREFERENCES = 10  # languages of an Accept-Language that are looked at
_ACCEPTED = re.compile(r"\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*|\*)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?")
_PLACE, _MAC = "stamp-goes-here", 20


# -- values that templates print -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Site:
    """What every page has. Addresses begin with the path of `base_url`."""

    title: str
    language: str
    direction: str
    style: str
    subscribe: str
    again: str
    address: str
    logo: str
    logo_alt: str
    embedded: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """A language, by the name that it calls itself."""

    tag: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Topic:
    """A topic that may be picked."""

    place: str
    title: str
    chosen: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Letter:
    """A newsletter; `day` is when its next issue comes, in words."""

    title: str
    topics: tuple[Topic, ...]
    day: str
    sender: str
    latest: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Filled:
    """What somebody wrote into the form to subscribe, and what is wrong with it."""

    email: str = ""
    name: str = ""
    topics: tuple[str, ...] = ()
    language: str | None = None
    email_wrong: str = ""  # address, domain
    topics_wrong: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """The form to subscribe. `choice`: is there more than one topic?"""

    stamp: str
    email: str
    name: str
    language: str
    choice: bool
    email_wrong: str
    topics_wrong: bool
    wrong: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A confirmation. `moves`: it is about a new address."""

    email: str
    moves: bool
    preferences: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Person:
    """Whose page it is. `paused` is a day in words, or empty."""

    email: str
    name: str
    language: str
    paused: str
    gone: bool
    blocked: bool
    test: bool
    preferences: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Wrong:
    """What was wrong on the page of preferences."""

    until: bool = False
    email: str = ""  # address, domain
    typed: str = ""
    any: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Until:
    """The days that a pause may end on: `2026-10-08`."""

    value: str
    first: str
    last: str


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """What a stamp proves: the words and the version of the page that was sent, and that it came back at once."""

    words: str | None
    page: str | None
    hasty: bool


# ------------------------------------------------------------------------------------------------------------------


class Pages:
    """The pages of a workspace; made once, for as long as it is served. Templates are read at the start.

    Its methods raise `errors.TemplateError` for a template that cannot be used.
    """

    def __init__(self, app: Newsletter) -> None:
        self._app = app
        self._templates = render.Templates.load_pages(app.workspace.template_folders)
        self._main = app.settings.newsletter[0]
        self.root = urllib.parse.urlsplit(app.settings.site.base_url).path
        self.choices = self._languages()
        self._known = {choice.tag.lower(): choice.tag for choice in self.choices}
        self.language = self.matching(self._main.language) or "en"
        self.style = self._style()
        self._version = hashlib.sha256(self.style.encode()).hexdigest()[:12]
        self._offers: tuple[float, list[readers.Offer]] = (float("-inf"), [])
        self._forms: dict[tuple[str, bool], tuple[list[readers.Offer], str]] = {}

    def try_out(self) -> None:
        """Render each page once, so that what is wrong with a template is told before anybody sees it."""
        tag, offers = self.language, tuple(self.offers())
        for choice in self.choices:
            self._templates.words(choice.tag)
        for embedded in (False, True):
            self.subscribe(tag, embedded=embedded, filled=Filled(email_wrong="address", topics_wrong=True))
            self.sent(tag, "reader@example.org", embedded=embedded)
        for purpose, done in itertools.product(("subscribe", "address"), (False, True)):
            self.confirm(tag, readers.Asked(purpose, "reader@example.org", offers, done, "/preferences/"))
        somebody = readers.nobody(offers[0].slug)
        self.preferences(tag, somebody, note="saved", wrong=Wrong(until=True, email="domain", any=True))
        self.leaving(tag, somebody)
        self.left(tag, somebody)
        self.trouble(tag, "missing")

    def _languages(self) -> tuple[Choice, ...]:
        """English and what there are catalogues for; of a language that a newsletter has, its variety."""
        found = {tag.partition("-")[0].lower(): tag for tag in (*self._templates.catalogues(), "en")}
        for letter in reversed(self._app.settings.newsletter):
            first = letter.language.partition("-")[0].lower()
            if first in found:
                found[first] = letter.language
        return tuple(Choice(tag, dates.language_name(tag)) for tag in sorted(found.values(), key=str.lower))

    def _style(self) -> str:
        look = views.newsletter(self._main, self._app.settings.site.base_url)
        return self._templates.render("web/style.css", self._main.language, newsletter=look)

    # -- languages ---------------------------------------------------------------------------------------------------

    def matching(self, tag: str | None) -> str | None:
        """The language of ours that serves a tag: itself, or its language without a country; None for neither."""
        if not tag:
            return None
        first = tag.lower().partition("-")[0]
        exact = self._known.get(tag.lower())
        return exact or next((own for key, own in self._known.items() if key.partition("-")[0] == first), None)

    def negotiated(self, accepted: str, *wanted: str | None) -> str:
        """The first of `wanted` that we have, else what a browser prefers (RFC 9110, 12.5.4), else the newsletter's."""
        ranked = sorted(_accepted(accepted), key=lambda each: -each[1])
        tags = [*wanted, *(tag for tag, weight in ranked if weight)]
        return next(filter(None, map(self.matching, tags)), self.language)

    # -- subscribing -------------------------------------------------------------------------------------------------

    def offers(self) -> list[readers.Offer]:
        """What may be subscribed to; asked of the database every two seconds at most."""
        asked_at, found = self._offers
        if time.monotonic() - asked_at > FRESH:
            found = readers.offers(self._app)
            self._offers = (time.monotonic(), found)
        return found

    def subscribe(
        self, tag: str, *, embedded: bool = False, filled: Filled | None = None, picked: Sequence[str] = ()
    ) -> str:
        """The form. `filled`: as it came back with a mistake; `picked`: topics or newsletters that are ticked."""
        offers = self.offers()
        if filled is None and not picked:
            known = self._forms.get((tag, embedded))
            if known is None or known[0] is not offers:
                known = (offers, self._subscribe(tag, offers, Filled(), embedded=embedded))
                self._forms[tag, embedded] = known
            page = known[1]
        else:
            page = self._subscribe(tag, offers, filled or Filled(topics=tuple(picked)), embedded=embedded)
        return page.replace(_PLACE, self.stamp("subscribe", tag), 1)

    def _subscribe(self, tag: str, offers: list[readers.Offer], filled: Filled, *, embedded: bool) -> str:
        form = Form(
            stamp=_PLACE,
            email=filled.email,
            name=filled.name,
            language=self.matching(filled.language) or tag,
            choice=sum(len(offer.topics) for offer in offers) > 1,
            email_wrong=filled.email_wrong,
            topics_wrong=filled.topics_wrong,
            wrong=bool(filled.email_wrong) or filled.topics_wrong,
        )
        letters = _letters(offers, tag, filled.topics)
        return self._page("subscribe", tag, embedded=embedded, letters=letters, form=form, choices=self.choices)

    def sent(self, tag: str, email: str, *, embedded: bool = False) -> str:
        """The answer to the form: the same for every address."""
        return self._page("sent", tag, embedded=embedded, email=email, sender=_address(self._main.sender))

    # -- the yes -----------------------------------------------------------------------------------------------------

    def confirm(self, tag: str, found: readers.Asked) -> str:
        """One form, one button; after its press the welcome."""
        letters, about = _letters(found.offers, tag), _asked(found)
        if found.done:
            return self._page("welcome", tag, letters=letters, asked=about)
        return self._page("confirm", tag, letters=letters, asked=about, stamp=self.stamp(_confirming(found), tag))

    # -- by a link of their own --------------------------------------------------------------------------------------

    def preferences(self, tag: str, reader: readers.Reader, *, note: str = "", wrong: Wrong | None = None) -> str:
        """Everything that a person decides."""
        today = self._app.clock.now().date()
        until = Until(
            value=(today + PAUSE).isoformat(),
            first=(today + dt.timedelta(days=1)).isoformat(),
            last=(today + readers.LONGEST_PAUSE).isoformat(),
        )
        return self._page(
            "preferences",
            tag,
            person=self._person(reader, tag),
            letters=_letters(self.offers(), tag, reader.topics),
            choices=self._with_theirs(reader.language),
            note=note,
            wrong=wrong or Wrong(),
            until=until,
        )

    def leaving(self, tag: str, reader: readers.Reader) -> str:
        """One form, one button; for who has left already, a way back."""
        has = any(topic.partition("/")[0] == reader.newsletter for topic in reader.topics)
        return self._leaving("unsubscribe" if has or reader.test else "left", tag, reader)

    def left(self, tag: str, reader: readers.Reader) -> str:
        """After the press."""
        return self._leaving("left", tag, reader)

    def _leaving(self, name: str, tag: str, reader: readers.Reader) -> str:
        offers = [offer for offer in self.offers() if offer.slug == reader.newsletter] or self.offers()
        return self._page(name, tag, person=self._person(reader, tag), letter=_letters(offers, tag)[0])

    def _person(self, reader: readers.Reader, tag: str) -> Person:
        zone = dates.local_day
        return Person(
            email=reader.email,
            name=reader.name,
            language=reader.language or self._main.language,
            paused=(
                dates.with_weekday(zone(reader.paused_until, self._main.timezone, is_date=False), tag)
                if reader.paused_until
                else ""
            ),
            gone=not reader.topics and not reader.test,
            blocked=reader.suppressed,
            test=reader.test,
            preferences=reader.preferences,
        )

    def _with_theirs(self, language: str | None) -> tuple[Choice, ...]:
        """The languages to choose from, and the one that somebody has already: saving must not lose it."""
        mine = language or self._main.language
        if mine in [choice.tag for choice in self.choices]:
            return self.choices
        return (Choice(mine, dates.language_name(mine)), *self.choices)

    # -- trouble -----------------------------------------------------------------------------------------------------

    def trouble(self, tag: str, what: str, *, embedded: bool = False) -> str:
        """A page that says why something is not there, or not done."""
        return self._page("trouble", tag, embedded=embedded, what=what)

    # -- stamps ------------------------------------------------------------------------------------------------------

    def stamp(self, name: str, tag: str) -> str:
        """What a form carries: when it was shown, and in which version; signed."""
        return self._signed(name, tag, f"{int(self._app.clock.now().timestamp()):x}", self._words(name, tag)[1])

    def shown(self, stamp: str, name: str, tag: str) -> Shown:
        """What a stamp proves; a forged one nothing, and in no time."""
        when, _, rest = stamp.partition(".")
        version = rest.partition(".")[0]
        if not hmac.compare_digest(self._signed(name, tag, when, version).encode(), stamp.encode()):
            return Shown(None, None, hasty=True)
        passed = self._app.clock.now().timestamp() - int(when, 16)
        words, current = self._words(name, tag)
        return Shown(words if version == current else None, version, hasty=passed < TYPING.total_seconds())

    def shown_of(self, stamp: str, found: readers.Asked, tag: str) -> Shown:
        """The same for the form of a confirmation."""
        return self.shown(stamp, _confirming(found), tag)

    def _signed(self, name: str, tag: str, when: str, version: str) -> str:
        mac = self._app.signer.digest(f"form {name} {tag} {when} {version}")[:_MAC]
        return f"{when}.{version}.{mac}"

    @functools.lru_cache(maxsize=64)  # noqa: B019 - one for as long as the process serves
    def _words(self, name: str, tag: str) -> tuple[str, str]:
        """The words of consent of a page, and its version: a hash of its template and of them."""
        page, _, about = name.partition(":")
        values = {"asked": Asked("", about == "address", None), "site": self._site(tag), "letters": ()}
        text = self._templates.render_block(f"web/{page}.html", "consent", tag, **self._blank(), **values)
        words = " ".join(html.unescape(text).split())
        parts = [self._templates.source(f"web/{each}.html") for each in ("page", "fields", page)]
        return words, hashlib.sha256("\0".join([*parts, words]).encode()).hexdigest()[:12]

    def _blank(self) -> dict[str, object]:
        return {"form": Form("", "", "", "", True, "", False, False), "choices": (), "stamp": ""}

    # ----------------------------------------------------------------------------------------------------------------

    def _page(self, name: str, tag: str, *, embedded: bool = False, **values: object) -> str:
        return self._templates.render(f"web/{name}.html", tag, site=self._site(tag, embedded=embedded), **values)

    @functools.lru_cache(maxsize=64)  # noqa: B019
    def _site(self, tag: str, *, embedded: bool = False) -> Site:
        return Site(
            title=self._app.settings.site.title,
            language=tag,
            direction=render.direction(tag),
            style=f"{self.root}/style.css?v={self._version}",
            subscribe=f"{self.root}/subscribe",
            again=f"{self.root}/subscribe{'/embed' if embedded else ''}?language={tag}",
            address=self._main.postal_address,
            logo=self._main.logo,
            logo_alt=self._main.logo_alt,
            embedded=embedded,
        )

    def is_style(self, version: str) -> bool:
        """Is it the version of the style sheet that pages name? Then it may be kept for ever."""
        return version == self._version


def _letters(offers: Iterable[readers.Offer], tag: str, chosen: Collection[str] = ()) -> tuple[Letter, ...]:
    return tuple(
        Letter(
            title=offer.title,
            topics=tuple(
                Topic(f"{offer.slug}/{slug}", title, bool({slug, offer.slug, f"{offer.slug}/{slug}"} & set(chosen)))
                for slug, title in offer.topics
            ),
            day=dates.with_weekday(offer.next_issue.date(), tag),
            sender=_address(offer.sender),
            latest=offer.latest,
        )
        for offer in offers
    )


def _asked(found: readers.Asked) -> Asked:
    return Asked(found.email, found.purpose == "address", found.preferences)


def _confirming(found: readers.Asked) -> str:
    return f"confirm:{found.purpose}"


@functools.lru_cache(maxsize=64)
def _address(sender: str) -> str:
    return addresses.parse(sender).email


def _accepted(header: str) -> Iterable[tuple[str, float]]:
    for part in header.split(",", MOST_PREFERENCES)[:MOST_PREFERENCES]:
        match = _ACCEPTED.fullmatch(part)
        if match and match[1] != "*":
            yield match[1], float(match[2] or 1)
