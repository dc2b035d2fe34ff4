"""Send what is due of one issue: lease, hand over, record. The one code path of every mode.

    take a row -> build its message -> MAIL, RCPT -> commit `sending` -> DATA, body -> commit what the server said

Each connection has at most one message between those two commits: kill the process there and that one message is in
doubt; kill it anywhere else and nothing is. `Run` holds what the connections of one process share.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime as dt
import logging
from collections.abc import Callable
from pathlib import Path

from sqlmodel import Session

from newsletter import config, errors, tokens, types
from newsletter.deliver import ledger, message, pace, smtp, verdicts
from newsletter.store import Store, outbox, owners
from newsletter.tokens import Purpose
from newsletter.types import DeliveryState, Verdict

logger = logging.getLogger(__name__)

BUDGET_AFTER = 50  # attempts before the error budget is looked at
POLICY_STOP = 5  # refusals for policy in a row: the run stops
MOST_LOSSES = 10  # connections lost in a row with nothing accepted between: the run gives the server up
TRIES = 3  # how often a row is taken up again within one run after the server was lost
FIRST_RETRY = dt.timedelta(minutes=1)
LONGEST_RETRY = dt.timedelta(hours=4)
CONNECT_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)  # seconds between attempts to connect; then the run gives up

EditionOf = Callable[[tuple[str, ...]], tuple[int, message.Encoded]]


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """What a run needs to know. `edition_of` renders (and checks and stores) an edition that is first needed now."""

    issue_id: int
    name: str
    newsletter: str
    smtp: config.Smtp
    signer: tokens.Signer
    editions: dict[int, message.Encoded]
    edition_of: EditionOf
    now: Callable[[], dt.datetime]
    wall_clock: Callable[[], float]
    locks: Path


@dataclasses.dataclass(slots=True)
class Result:
    """What a run did. `stopped`: by a signal; `held`: why it is paused; `trouble`: why the server was given up."""

    done: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    stopped: bool = False
    held: str | None = None
    trouble: str | None = None
    lost: bool = False


async def run(job: Job, store: Store, *, stop: asyncio.Event, progress: Callable[[str], None]) -> Result:
    """Send what is due now; returns when nothing is, or when `stop` is set and what was under way is recorded.

    `progress` is called with the new state of each delivery. Raises `errors.StoreError` when the ledger cannot be
    written: what was under way is then in doubt, and nothing more is sent.
    """
    owner = owners.Owner(job.locks)
    try:
        book = ledger.Ledger(store, job.issue_id, job.newsletter, owner.id)
        try:
            return await Run(job, book, owner.id, stop, progress).work()
        finally:
            try:
                await book.call(lambda session: outbox.release(session, job.issue_id, owner.id))
            finally:
                await book.close()
    finally:
        owner.release()


class Run:
    """One process sending one issue."""

    def __init__(
        self, job: Job, book: ledger.Ledger, owner: str, stop: asyncio.Event, progress: Callable[[str], None]
    ) -> None:
        self.job, self.book, self.owner, self.stop, self.progress = job, book, owner, stop, progress
        self.result = Result()
        self._rows: collections.deque[tuple[int, outbox.Row]] = collections.deque()
        self._tries: collections.Counter[int] = collections.Counter()
        self._taking = asyncio.Lock()
        self._connecting = asyncio.Lock()
        self._policy = self._losses = 0
        self._failed = self._attempts = 0
        self._quit = asyncio.Event()  # set by `stop`, by trouble, by a held issue
        self.pace = pace.Pace({}, {}, job.wall_clock)

    async def work(self) -> Result:
        """All connections until nothing is due."""
        smtp_settings = self.job.smtp
        await self._prepare()
        watcher = asyncio.create_task(self._watch())
        workers = [asyncio.create_task(self._connection()) for _ in range(smtp_settings.connections)]
        try:
            done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            self._quit.set()
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)
        self.result.stopped = self.stop.is_set()
        logger.info(
            "sent", extra={"issue": self.job.name, **dict(self.result.done)}
        )
        return self.result

    async def _watch(self) -> None:
        await self.stop.wait()
        self._quit.set()

    async def _prepare(self) -> None:
        job = self.job

        def look(session: Session) -> tuple[dict[str, float], dict[str, int]]:
            alive = outbox.standing(session, job.issue_id, lambda owner: owners.is_dead(job.locks, owner))
            return outbox.paces(session), alive.counts

        remembered, counts = await self.book.call(look)
        self._failed = counts["failed"]
        self._attempts = counts["failed"] + counts["sent"]
        per_domain = {domain: config.parse_rate(rate) for domain, rate in job.smtp.per_domain_rate.items()}
        self.pace = pace.Pace(pace.limits(job.smtp.rates, per_domain), remembered, job.wall_clock)

    # -- rows ----------------------------------------------------------------------------------------------------

    async def _take(self) -> tuple[int, outbox.Row] | None:
        """The next delivery to be made; leases another batch when the last is used up. None: nothing is due."""
        async with self._taking:
            while not self._rows and not self._quit.is_set():
                found = await self.book.call(self._lease)
                if found is None:
                    return None
                k, rows = found
                self._rows.extend((k, row) for row in rows)
            return self._rows.popleft() if self._rows and not self._quit.is_set() else None

    def _lease(self, session: Session) -> tuple[int, list[outbox.Row]] | None:
        job = self.job
        now = job.now()
        outbox.reclaim(
            session,
            job.issue_id,
            lambda owner: owner != self.owner and owners.is_dead(job.locks, owner),
            resend=job.smtp.in_doubt == "resend",
            now=now,
        )
        outbox.release(session, job.issue_id, self.owner, only_done=True)
        outbox.deal(session, job.issue_id, now)
        k = outbox.lease(session, job.issue_id, self.owner, now)
        return None if k is None else (k, outbox.load(session, job.issue_id, k))

    # -- a connection --------------------------------------------------------------------------------------------

    async def _connection(self) -> None:
        """Deliver row after row on one connection, and on a new one when it is lost."""
        connection: smtp.Connection | None = None
        try:
            while (taken := await self._take()) is not None:
                k, row = taken
                if connection is None or not connection.open:
                    connection = await self._connect()
                    if connection is None:
                        self._rows.appendleft((k, row))
                        return
                await self._deliver(connection, k, row)
        finally:
            if connection is not None:
                if self._quit.is_set() and not connection.open:
                    connection.close()
                else:
                    await connection.quit()

    async def _connect(self) -> smtp.Connection | None:
        """A connection, after some attempts; None ends the run (`result.trouble` says why)."""
        async with self._connecting:  # one attempt at a time: a server in trouble is not helped by ten
            trouble = ""
            for seconds in (*CONNECT_PAUSES, None):
                if self._quit.is_set():
                    return None
                try:
                    return await smtp.connect(self.job.smtp)
                except errors.ServerError as error:
                    trouble = str(error)
                if seconds is not None:
                    await self._pause(seconds)
            self.result.trouble = trouble
            self._quit.set()
            return None

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._quit.wait(), seconds)
        except TimeoutError:
            return

    async def _deliver(self, connection: smtp.Connection, k: int, row: outbox.Row) -> None:
        """One row, from MAIL to the record of what the server said."""
        job = self.job
        await self.pace.wait(row.email.rpartition("@")[2].lower(), self._quit)
        if self._quit.is_set():
            return
        encoded = job.editions[row.edition_id]
        at = _whole_seconds(row.sending_at if row.in_doubt and row.sending_at else job.now())
        intent, letter = self._letter(k, row, encoded, at)
        if isinstance(letter, types.Outcome):
            await self._finish(k, row, letter, intent.message_id, began=False)
            return
        outcome = await connection.envelope(letter)
        if outcome is not None:
            await self._finish(k, row, outcome, intent.message_id, began=False)
            return
        begun = await self.book.begin(intent)
        if begun.go:
            await self._hand_over(connection, k, row, letter)
            return
        await connection.reset()
        if begun.lost:
            self.result.lost = True
            self._quit.set()
        elif begun.topics is None:
            self._count(DeliveryState.SKIPPED)
        else:  # they dropped a topic after the plan: the edition of what is left
            edition_id, encoded = await asyncio.to_thread(job.edition_of, begun.topics)
            job.editions[edition_id] = encoded
            self._rows.appendleft((k, dataclasses.replace(row, edition_id=edition_id)))

    async def _hand_over(self, connection: smtp.Connection, k: int, row: outbox.Row, letter: message.Message) -> None:
        """DATA and the body of a message whose `sending` is committed."""
        try:
            outcome = await connection.data() or await connection.body(letter)
        except asyncio.CancelledError:
            connection.close()
            stopped = types.Outcome(Verdict.DOUBT, "body", 0, "", "stopped while the message was being handed over")
            await self._finish(k, row, stopped, letter.message_id, began=True)
            raise
        await self._finish(k, row, outcome, letter.message_id, began=True)

    def _letter(
        self, k: int, row: outbox.Row, encoded: message.Encoded, at: dt.datetime
    ) -> tuple[outbox.Begin, message.Message | types.Outcome]:
        """The message for a row, or why there can be none."""
        job, signer = self.job, self.job.signer
        name = row.rcpt_name if row.in_doubt and row.rcpt_name is not None else row.name
        key_id = row.token_key if row.in_doubt and row.token_key is not None else signer.key_id
        message_id = row.message_id or ""
        try:
            token = (
                message_id.strip("<>").rpartition("@")[0]
                if message_id
                else signer.sign(Purpose.MESSAGE_ID, row.subscriber_id, job.issue_id)
            )
            recipient = recipient_of(
                signer,
                job.issue_id,
                subscriber_id=row.subscriber_id,
                email=row.email,
                name=name,
                version=row.token_version,
                key_id=key_id,
            )
            letter: message.Message | types.Outcome = message.build(encoded, recipient, message_token=token, at=at)
            message_id = message_id or f"<{token}@{encoded.letterhead.domain}>"
        except (errors.HeaderError, errors.TokenError) as error:
            letter = types.Outcome(Verdict.NEVER, "build", 0, "", str(error))
        return outbox.Begin(row, k, row.edition_id, encoded.topics, at, message_id, name, key_id), letter

    # -- the record ----------------------------------------------------------------------------------------------

    async def _finish(self, k: int, row: outbox.Row, outcome: types.Outcome, message_id: str, *, began: bool) -> None:
        now = self.job.now()
        if outcome.verdict is Verdict.SERVER and not began and (outcome.code == 0 or outcome.stage == "mail"):
            # The server was lost, or shut, before anything happened to this person: nobody's attempt.
            self._tries[row.id] += 1
            await self._lost(outcome)
            if self._tries[row.id] < TRIES or self._quit.is_set():
                self._rows.append((k, row))
                return
        state, next_at = decide(
            row, outcome, now, max_age=self.job.smtp.max_age, resend=self.job.smtp.in_doubt == "resend"
        )
        bounced = verdicts.is_bounce(outcome)
        await self.book.finish(outbox.Finish(row, k, state, outcome, now, next_at, bounced, message_id, began))
        self._count(state)
        await self._judge(outcome, state)

    async def _lost(self, outcome: types.Outcome) -> None:
        """Back off the server; give it up when it is lost again and again with nothing accepted between."""
        self._losses += 1
        if self._losses >= max(MOST_LOSSES, 2 * self.job.smtp.connections):
            self.result.trouble = (
                f"the mail server {self.job.smtp.host}:{self.job.smtp.port} is in trouble: {outcome.reply}"
            )
            self._quit.set()
        await self._pause(min(0.05 * 2 ** min(self._losses, 7), 5.0))

    def _count(self, state: DeliveryState) -> None:
        self.result.done[state.value] += 1
        self.progress(state.value)

    async def _judge(self, outcome: types.Outcome, state: DeliveryState) -> None:
        """Is something wrong that is not about one person? Then pause the issue."""
        self._losses = 0 if state is DeliveryState.SENT else self._losses
        self._policy = self._policy + 1 if outcome.verdict is Verdict.POLICY else 0
        if state is DeliveryState.FAILED and outcome.verdict is not Verdict.LATER:
            self._failed += 1
        self._attempts += state in (DeliveryState.SENT, DeliveryState.FAILED)
        reason = None
        if self._policy >= POLICY_STOP:
            reason = f"the mail server refuses everything: {outcome.code} {outcome.reply}"
        elif self._attempts >= BUDGET_AFTER and self._failed > self.job.smtp.error_budget * self._attempts:
            reason = (
                f"error budget: {self._failed} of {self._attempts} were refused for good "
                f"(smtp.error_budget = {self.job.smtp.error_budget})"
            )
        if reason and not self._quit.is_set():
            self.result.held = reason
            self._quit.set()


def decide(
    row: outbox.Row, outcome: types.Outcome, now: dt.datetime, *, max_age: dt.timedelta, resend: bool
) -> tuple[DeliveryState, dt.datetime | None]:
    """The new state of a delivery, and when it is due again. Pure."""
    if outcome.verdict is Verdict.SENT:
        return DeliveryState.SENT, None
    if outcome.verdict in (Verdict.NEVER, Verdict.POLICY):
        return DeliveryState.FAILED, None
    next_at = now + min(FIRST_RETRY * 2 ** min(row.attempts, 20), LONGEST_RETRY)
    if outcome.verdict is Verdict.DOUBT or row.in_doubt:
        return DeliveryState.IN_DOUBT, next_at if resend else None
    if next_at - (row.first_at or now) > max_age:
        return DeliveryState.FAILED, None
    return DeliveryState.DEFERRED, next_at


def recipient_of(
    signer: tokens.Signer,
    issue_id: int,
    *,
    subscriber_id: int,
    email: str,
    name: str,
    version: int = 0,
    key_id: int | None = None,
) -> types.Recipient:
    """A recipient with the links that are theirs in this issue."""
    sign = signer.sign
    return types.Recipient(
        subscriber_id=subscriber_id,
        email=message.ascii_address(email),
        name=name,
        unsubscribe_token=sign(Purpose.UNSUBSCRIBE, subscriber_id, issue_id, key_id=key_id),
        preferences_token=sign(Purpose.PREFERENCES, subscriber_id, issue_id, version=version, key_id=key_id),
        bounce_token=sign(Purpose.BOUNCE, subscriber_id, issue_id, key_id=key_id),
    )


def _whole_seconds(moment: dt.datetime) -> dt.datetime:
    return moment.replace(microsecond=0)
