"""One delivery, from the intent to hand a body over to the record of what the server said.

    begin     `sending` is committed before the first octet of a body; the lease, the issue and the person are checked
    undo      not one octet of the body has left after all
    finish    what the server said; an address that does not exist is never mailed again

`begin` and `finish` take many at once: they share one commit.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, select

from newsletter import types
from newsletter.store import outbox, tables
from newsletter.types import DeliveryState

D, B, S, SUB, ISSUE = outbox.D, outbox.B, outbox.S, outbox.SUB, outbox.ISSUE


@dataclasses.dataclass(frozen=True, slots=True)
class Begin:
    """The intent to hand a body over now."""

    row: outbox.Row
    batch: int
    edition_id: int
    topics: tuple[str, ...]
    sending_at: dt.datetime
    message_id: str
    rcpt_name: str
    token_key: int


@dataclasses.dataclass(frozen=True, slots=True)
class Begun:
    """The answer: `go`, or not.

    `lost`: the batch is somebody else's, or the issue is held; `moved`: this row is not as it was; `topics`: those that
    are left; none of them: the person has left.
    """

    go: bool
    lost: bool = False
    moved: bool = False
    topics: tuple[str, ...] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Finish:
    """What became of an attempt: the new state and what to remember."""

    row: outbox.Row
    batch: int
    state: DeliveryState
    outcome: types.Outcome
    at: dt.datetime
    next_at: dt.datetime | None
    bounced: bool
    message_id: str
    began: bool  # `sending` was committed


def begin(session: Session, issue_id: int, newsletter: str, owner: str, intents: Sequence[Begin]) -> list[Begun]:
    """Commit to handing these bodies over; the lease, the issue's state and each person are checked once more."""
    now = max((intent.sending_at for intent in intents), default=dt.datetime.min.replace(tzinfo=dt.UTC))
    held = session.execute(sa.select(ISSUE.c.state).where(ISSUE.c.id == issue_id)).scalar_one() != "sending"
    leased = set(
        session.execute(
            sa.select(B.c.k).where(
                B.c.issue_id == issue_id,
                B.c.lease_owner == owner,
                B.c.k.in_({intent.batch for intent in intents}),
            )
        ).scalars()
    )
    ids = [intent.row.id for intent in intents]
    facts = {
        row.id: row
        for row in session.execute(
            sa.select(
                D.c.id,
                D.c.state,
                D.c.batch,
                S.c.state.label("person"),
                outbox.suppressed(newsletter).label("suppressed"),
                outbox.paused(now).label("paused"),
            )
            .join(S, S.c.id == D.c.subscriber_id)
            .where(D.c.id.in_(ids))
        )
    }
    picked: dict[int, set[str]] = {}
    for subscriber, topic in session.execute(
        sa.select(SUB.c.subscriber_id, SUB.c.topic).where(
            SUB.c.subscriber_id.in_([intent.row.subscriber_id for intent in intents]),
            SUB.c.newsletter == newsletter,
            SUB.c.until.is_(None),
        )
    ):
        picked.setdefault(subscriber, set()).add(topic)
    answers = []
    updates: list[dict[str, Any]] = []
    skipped: list[int] = []
    for intent in intents:
        fact = facts.get(intent.row.id)
        if held or intent.batch not in leased:
            answers.append(Begun(go=False, lost=True))
            continue
        if fact is None or (fact.state, fact.batch) != (intent.row.state, intent.batch):
            answers.append(Begun(go=False, moved=True))
            continue
        left = tuple(topic for topic in intent.topics if topic in picked.get(intent.row.subscriber_id, ()))
        if fact.person != types.SubscriberState.ACTIVE or fact.suppressed or fact.paused or not left:
            skipped.append(intent.row.id)
            answers.append(Begun(go=False))
        elif left != intent.topics and not intent.row.in_doubt:
            answers.append(Begun(go=False, topics=left))
        else:
            updates.append(
                {
                    "b_id": intent.row.id,
                    "b_edition": intent.edition_id,
                    "b_sending_at": intent.sending_at,
                    "b_first_at": intent.row.first_at or intent.sending_at,
                    "b_message_id": intent.message_id,
                    "b_rcpt_name": intent.rcpt_name,
                    "b_token_key": intent.token_key,
                    "b_attempts": intent.row.attempts + 1,
                }
            )
            answers.append(Begun(go=True))
    if updates:
        session.connection().execute(_BEGIN, updates)
    if skipped:
        session.execute(
            D.update()
            .where(D.c.id.in_(skipped))
            .values(state="skipped", reply=outbox.LEFT, done_at=sa.bindparam("skip_at")),
            {"skip_at": intents[0].sending_at},
        )
    return answers


_BEGIN = (
    D.update()
    .where(D.c.id == sa.bindparam("b_id"))
    .values(
        state="sending",
        edition_id=sa.bindparam("b_edition"),
        sending_at=sa.bindparam("b_sending_at"),
        first_at=sa.bindparam("b_first_at"),
        message_id=sa.bindparam("b_message_id"),
        rcpt_name=sa.bindparam("b_rcpt_name"),
        token_key=sa.bindparam("b_token_key"),
        attempts=sa.bindparam("b_attempts"),
        next_at=None,
    )
)

_FINISH = (
    D.update()
    .where(
        D.c.id == sa.bindparam("b_id"),
        D.c.state == sa.bindparam("b_from"),
        D.c.batch == sa.bindparam("b_batch"),
    )
    .values(
        state=sa.bindparam("b_state"),
        batch=sa.bindparam("b_to_batch"),
        attempts=sa.bindparam("b_attempts"),
        first_at=sa.bindparam("b_first_at"),
        next_at=sa.bindparam("b_next_at"),
        done_at=sa.bindparam("b_done_at"),
        smtp_code=sa.bindparam("b_code"),
        enhanced_code=sa.bindparam("b_enhanced"),
        reply=sa.bindparam("b_reply"),
        message_id=sa.bindparam("b_message_id"),
    )
)


def undo(session: Session, intent: Begin) -> None:
    """Take a `begin` back of which not one octet of the body has left."""
    row = intent.row
    session.execute(
        D.update()
        .where(D.c.id == row.id, D.c.state == "sending", D.c.batch == intent.batch)
        .values(
            state=row.state,
            attempts=row.attempts,
            first_at=row.first_at,
            sending_at=row.sending_at,
            message_id=row.message_id,
            rcpt_name=row.rcpt_name,
            token_key=row.token_key,
        )
    )


def finish(session: Session, intents: Iterable[Finish]) -> None:
    """Record what became of attempts. A row that is not as we left it is somebody else's and stays so."""
    rows = list(intents)
    session.connection().execute(
        _FINISH,
        [
            {
                "b_id": each.row.id,
                "b_from": DeliveryState.SENDING.value if each.began else each.row.state,
                "b_batch": each.batch,
                "b_state": each.state.value,
                "b_to_batch": each.batch if each.state in types.FINAL else None,
                "b_attempts": each.row.attempts + 1,
                "b_first_at": each.row.first_at or each.at,
                "b_next_at": each.next_at,
                "b_done_at": each.at if each.state in types.FINAL else None,
                "b_code": each.outcome.code or None,
                "b_enhanced": each.outcome.enhanced or None,
                "b_reply": each.outcome.reply or None,
                "b_message_id": each.message_id or None,
            }
            for each in rows
        ],
    )
    for each in rows:
        if each.bounced:
            _bounce(session, each)


def _bounce(session: Session, each: Finish) -> None:
    """The address does not exist: never mail it again, and keep the server's word for it.

    Somebody who left, complained or was erased meanwhile stays what they are.
    """
    recorded = session.execute(sa.select(D.c.state).where(D.c.id == each.row.id)).scalar()
    person = session.get(tables.Subscriber, each.row.subscriber_id)
    if recorded != DeliveryState.FAILED or person is None or person.state != types.SubscriberState.ACTIVE:
        return
    person.state, person.changed_at = types.SubscriberState.BOUNCED.value, each.at
    known = session.exec(
        select(tables.Suppression).where(
            tables.Suppression.address == person.email_norm, tables.Suppression.newsletter == ""
        )
    ).first()
    if known is None:
        reason = f"bounced: {each.outcome.code} {each.outcome.enhanced}".strip()
        session.add(tables.Suppression(address=person.email_norm, reason=reason, since=each.at))
    fingerprint = f"smtp:{each.row.id}:{each.row.attempts + 1}"
    again = session.exec(select(tables.Feedback.id).where(tables.Feedback.fingerprint == fingerprint)).first()
    if again is not None:  # they came back, were tried once more, and it is the same
        return
    session.add(
        tables.Feedback(
            fingerprint=fingerprint,
            subscriber_id=person.id,
            delivery_id=each.row.id,
            kind="bounce",
            permanent=True,
            status=each.outcome.enhanced,
            action="bounced",
            at=each.at,
            raw=each.outcome.reply,
        )
    )
