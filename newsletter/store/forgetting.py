"""Erasing a person: what names them goes, what counts stays, and their no is kept as hashes that nobody can read."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable

import sqlalchemy as sa
from sqlmodel import Session

from newsletter import addresses, errors, types
from newsletter.store import intake, tables

_known = tables.metadata.tables
_subscriber, _consent, _suppression = _known["subscriber"], _known["consent"], _known["suppression"]
_MOVED = re.compile(r"from (\S+) to ")  # as `signups.move` writes it down


def erase(session: Session, subscriber_id: int, digest: Callable[[str], str], now: dt.datetime) -> None:
    """Forget a person: address, name, words, links. What was sent to them is counted still, without saying to whom.

    `digest` makes the keyed hash of an address: by it theirs, and those they had before, stay suppressed everywhere.
    """
    gone = types.SubscriberState.ERASED
    c = _subscriber.c
    email, norm = session.execute(sa.select(c.email, c.email_norm).where(c.id == subscriber_id)).one()
    norms = [norm, *_earlier(session, subscriber_id)]
    _forget_mentions(session, {email, *norms})
    for name in ("subscription", "confirmation", "service_mail", "tag"):
        session.execute(sa.delete(_known[name]).where(_known[name].c.subscriber_id == subscriber_id))
    session.execute(
        sa.update(_consent).where(_consent.c.subscriber_id == subscriber_id).values(ip=None, words=None, page=None)
    )
    session.execute(sa.insert(_consent).values(subscriber_id=subscriber_id, what=gone.value, at=now, how="cli"))
    for name, values in (("delivery", {"rcpt_name": None, "reply": None}), ("feedback", {"raw": None})):
        session.execute(sa.update(_known[name]).where(_known[name].c.subscriber_id == subscriber_id).values(**values))
    session.execute(sa.delete(_suppression).where(_suppression.c.address.in_(norms)))
    names = [intake.ERASED_AS + digest(each) for each in norms]
    rows = [{"address": name, "newsletter": "", "reason": gone.value, "since": now} for name in names]
    intake.insert(session, _suppression, rows)
    session.execute(
        sa.update(_subscriber)
        .where(c.id == subscriber_id)
        .values(
            email=f"erased-{subscriber_id}",
            email_norm=_unused(session, names[0], subscriber_id),
            name="",
            language=None,
            state=gone.value,
            token_version=c.token_version + 1,
            paused_until=None,
            changed_at=now,
        )
    )


def _earlier(session: Session, subscriber_id: int) -> list[str]:
    """The addresses that a person had before, unless they are somebody's now: an old list may still hold them."""
    c = _consent.c
    words = session.execute(sa.select(c.words).where(c.subscriber_id == subscriber_id, c.what == "moved")).scalars()
    found = []
    for match in filter(None, (_MOVED.match(text or "") for text in words)):
        try:
            found.append(addresses.parse(match[1]).norm)
        except errors.AddressError:  # written by another hand: nothing to keep
            continue
    taken = session.execute(sa.select(_subscriber.c.email_norm).where(_subscriber.c.email_norm.in_(found))).scalars()
    return sorted(set(found) - set(taken))


def _unused(session: Session, name: str, subscriber_id: int) -> str:
    """`email_norm` is unique: somebody erased, let in again by `unsuppress` and erased again has one row more."""
    c = _subscriber.c
    taken = session.execute(sa.select(c.id).where(c.email_norm == name)).first()
    return f"{name}-{subscriber_id}" if taken else name


def _forget_mentions(session: Session, spellings: set[str]) -> None:
    """What others' rows say of an address: a move to it that was never confirmed, an answer kept for a program."""
    for name, column in (("confirmation", "wanted"), ("service_mail", "facts"), ("api_answer", "body")):
        text = sa.func.lower(sa.cast(_known[name].c[column], sa.Text))
        for spelling in spellings:  # in its quotes: bo@example.org is no part of jumbo@example.org
            for written in {json.dumps(spelling.lower(), ensure_ascii=ascii_only) for ascii_only in (True, False)}:
                session.execute(sa.delete(_known[name]).where(text.contains(written, autoescape=True)))
