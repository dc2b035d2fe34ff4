"""All that the database knows of one person, in the order in which it came about: for the admin, and for the person.

What is kept of links and programs (hashes of tokens, the octets of messages) is theirs in no useful sense and left out.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from newsletter.store import intake, tables

Record = dict[str, Any]  # JSON, with times as aware datetimes

_known = tables.metadata.tables
_OF_PERSON = {
    "consent": ("what", "newsletter", "topic", "at", "how", "ip", "words", "page"),
    "subscription": ("newsletter", "topic", "since", "until", "how"),
    "confirmation": ("purpose", "wanted", "words", "page", "ip", "asked_at", "expires_at", "used_at"),
    "service_mail": ("kind", "newsletter", "facts", "state", "attempts", "created_at", "next_at", "sent_at", "reply"),
    "feedback": ("kind", "permanent", "status", "action", "at", "raw"),
}
_SECRET = frozenset(("token", "url", "link"))  # in a mail's facts: whoever has it, acts as that person


def story(session: Session, subscriber_id: int) -> Record:
    """Somebody's records by kind, each oldest first."""
    s = _known["subscriber"].c
    chosen = sa.select(s.created_at, s.changed_at, s.paused_until, s.email_norm).where(s.id == subscriber_id)
    person = session.execute(chosen).mappings().one()
    found: Record = {name: person[name] for name in ("created_at", "changed_at", "paused_until")}
    found["tags"] = list(intake.tags(session, [subscriber_id]).get(subscriber_id, ()))
    for name, columns in _OF_PERSON.items():
        table = _known[name]
        order = next(
            (table.c[each] for each in ("at", "since", "asked_at", "created_at") if each in table.c), table.c.id
        )
        rows = session.execute(
            sa.select(*(table.c[column] for column in columns))
            .where(table.c.subscriber_id == subscriber_id)
            .order_by(order, table.c.id)
        )
        found[name] = [_without_secrets(dict(row)) for row in rows.mappings()]
    found["suppression"] = suppressions(session, person["email_norm"])
    found["delivery"] = _deliveries(session, subscriber_id)
    return found


def suppressions(session: Session, norm: str) -> list[Record]:
    """Why an address must not be mailed, also one that is not on file; a newsletter of None means all."""
    c = _known["suppression"].c
    rows = session.execute(
        sa.select(c.newsletter, c.reason, c.since).where(c.address == norm).order_by(c.since, c.id)
    ).mappings()
    return [{**row, "newsletter": row["newsletter"] or None} for row in rows]


def _deliveries(session: Session, subscriber_id: int) -> list[Record]:
    d, i, e = _known["delivery"].c, _known["issue"].c, _known["edition"].c
    columns = (
        d.state, d.attempts, d.first_at, d.sending_at, d.next_at, d.done_at, d.message_id, d.rcpt_name, d.smtp_code,
        d.enhanced_code, d.reply, e.topics, e.subject,
    )  # fmt: skip
    rows = session.execute(
        sa.select((i.newsletter + "/" + i.period).label("issue"), *columns)
        .join_from(_known["delivery"], _known["issue"], i.id == d.issue_id)
        .join(_known["edition"], e.id == d.edition_id)
        .where(d.subscriber_id == subscriber_id)
        .order_by(d.id)
    )
    return [dict(row) for row in rows.mappings()]


def _without_secrets(row: Record) -> Record:
    facts = row.get("facts")
    if isinstance(facts, dict):
        row["facts"] = {name: value for name, value in facts.items() if name not in _SECRET}
    return row


def as_json(value: Any) -> Any:
    """The same with times as ISO 8601."""
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    return value.isoformat() if isinstance(value, dt.datetime) else value
