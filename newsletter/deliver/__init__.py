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
from newsletter.store import Store, attempts, outbox, owners
from newsletter.tokens import Purpose
from newsletter.types import DeliveryState, Verdict

logger = logging.getLogger(__name__)

BUDGET_AFTER = 50  # attempts before the error budget is looked at
POLICY_STOP = 5  # refusals for policy in a row: the run stops
MOST_LOSSES = 10  # connections lost in a row with nothing accepted between: the run gives the server up
MOST_COPIES = 3  # the server drops us after the last dot each time: from here on a person decides
TRIES = 3  # how often a row is taken up again within one run after the server was lost
FIRST_RETRY = dt.timedelta(minutes=1)
LONGEST_RETRY = dt.timedelta(hours=4)
CONNECT_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)  # seconds between attempts to connect; then the run gives up


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """What a run needs to know. `edition` loads one; `edition_of` renders, checks and stores one first needed now."""

    issue_id: int
    name: str
    newsletter: str
    smtp: config.Smtp
    signer: tokens.Signer
    edition: Callable[[int], message.Encoded]
    edition_of: Callable[[tuple[str, ...]], tuple[int, message.Encoded]]
    now: Callable[[], dt.datetime]
    wall_clock: Callable[[], float]
    locks: Path


@dataclasses.dataclass(slots=True)
class Result:
    """What a run did.

    `stopped`: by a signal; `held`: why the issue is to be paused; `trouble`: why the server was given up; `lost`:
    somebody took the issue away (held it), or has the batch.
    """

    done: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    stopped: bool = False
    held: str | None = None
    trouble: str | None = None
    lost: bool = False


async def run(job: Job, store: Store, *, stop: asyncio.Event, progress: Callable[[str], None]) -> Result:
    """Send what is due now; returns when nothing is, or when `stop` is set and what was under way is recorded.

    Cancelled, it closes its connections at once: whoever's body was under way is in doubt. `progress` is called with
    the new state of each delivery. Raises `errors.StoreError` when the ledger cannot be written: what was under way is
    then in doubt, and nothing more is sent.
    """
    owner = owners.Owner(job.locks)
    try:
        book = ledger.Ledger(store, job.issue_id, job.newsletter, owner.id)
        sender = Run(job, book, owner.id, stop, progress)
        try:
            return await sender.work()
        finally:
            try:
                await book.call(sender.give_back)
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
        self._editions: dict[int, message.Encoded] = {}
        self._tries: collections.Counter[int] = collections.Counter()
        self._taking = asyncio.Lock()
        self._connecting = asyncio.Lock()
        self._connections: set[smtp.Connection] = set()  # of those who will take another row
        self._policy = self._losses = 0
        self._refused = self._answered = 0  # of this run: who releases a held issue has seen what was before
        self._quit = asyncio.Event()  # set by `stop`, by trouble, by a held issue
        self.pace = pace.Pace({}, {}, job.wall_clock)

    async def work(self) -> Result:
        """All connections until nothing is due."""
        smtp_settings = self.job.smtp
        await self._prepare()
        watcher = asyncio.create_task(self._watch())
        workers = [asyncio.create_task(self._connection()) for _ in range(smtp_settings.connections)]
        try:
            _, others = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            self._quit.set()
            if others:  # one failed in a way that nobody foresaw: the others finish what they have in their hands
                await asyncio.wait(others)
            for task in workers:
                task.result()
        finally:
            self._quit.set()
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)
        self.result.stopped = self.stop.is_set()
        logger.info("sent", extra={"issue": self.job.name, **self.result.done})
        return self.result

    async def _watch(self) -> None:
        await self.stop.wait()
        self._quit.set()

    async def _prepare(self) -> None:
        job = self.job
        remembered = await self.book.call(outbox.paces)
        per_domain = {domain: config.parse_rate(rate) for domain, rate in job.smtp.per_domain_rate.items()}
        self.pace = pace.Pace(pace.limits(job.smtp.rates, per_domain), remembered, job.wall_clock)

    # -- rows ----------------------------------------------------------------------------------------------------

    async def _take(self) -> tuple[int, outbox.Row] | None:
        """The next delivery to be made; leases another batch when the last is used up. None: nothing is due."""
        async with self._taking:
            while not self._rows and not self._quit.is_set():
                found = await self.book.call(self._lease)
                if found is not None:
                    k, rows = found
                    self._rows.extend((k, row) for row in rows)
                elif not self._rows:  # else another connection has put its row back meanwhile
                    return None
            return self._rows.popleft() if self._rows and not self._quit.is_set() else None

    def _lease(self, session: Session) -> tuple[int, list[outbox.Row]] | None:
        job = self.job
        now = job.now()
        dead = self._reclaim(session, lambda owner: owner != self.owner and owners.is_dead(job.locks, owner), now)
        outbox.close_done(session, job.issue_id, self.owner)
        outbox.deal(session, job.issue_id, now)
        outbox.save_paces(session, self.pace.remembered())
        k = outbox.lease(session, job.issue_id, self.owner, now)
        for owner in dead:
            owners.bury(job.locks, owner)
        if k is None:
            return None
        outbox.skip_left(session, job.issue_id, k, job.newsletter, now)
        return k, outbox.load(session, job.issue_id, k)

    def _reclaim(self, session: Session, whose: Callable[[str], bool], now: dt.datetime) -> list[str]:
        resend = self.job.smtp.in_doubt == "resend"
        return outbox.reclaim(session, self.job.issue_id, whose, resend=resend, now=now)

    def give_back(self, session: Session) -> None:
        """At the end: nothing is leased to this run any more; what it could not record is in doubt."""
        outbox.close_done(session, self.job.issue_id, self.owner)
        self._reclaim(session, lambda owner: owner == self.owner, self.job.now())
        outbox.save_paces(session, self.pace.remembered())

    # -- a connection --------------------------------------------------------------------------------------------

    async def _connection(self) -> None:
        """Deliver row after row on one connection, and on a new one when it is lost."""
        connection: smtp.Connection | None = None
        try:
            while (taken := await self._take()) is not None:
                if connection is None or not connection.open:
                    if connection is not None:
                        self._connections.discard(connection)
                    connection = await self._connect(taken)
                    if connection is None:
                        return
                    self._connections.add(connection)
                await self._deliver(connection, *taken)
        finally:
            if connection is not None:
                self._connections.discard(connection)  # at once: nobody may leave a row to this one any more
                await connection.quit()

    async def _connect(self, taken: tuple[int, outbox.Row]) -> smtp.Connection | None:
        """A connection, after some attempts. None: there is none, and the row is given back to those who have one.

        When nobody has one, the run ends (`result.trouble` says why).
        """
        async with self._connecting:  # one attempt at a time: a server in trouble is not helped by ten
            trouble = ""
            for seconds in (*CONNECT_PAUSES, None):
                if self._quit.is_set():
                    return None
                try:
                    return await smtp.connect(self.job.smtp)
                except errors.ServerError as error:
                    trouble = str(error)
                if any(each.open for each in self._connections):  # it takes mail, only not from so many at once
                    self._rows.appendleft(taken)
                    return None
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
        encoded = await self._edition(row.edition_id)
        at = _whole_seconds(row.sending_at if row.in_doubt and row.sending_at else job.now())
        intent, letter = self._letter(k, row, encoded, at)
        if isinstance(letter, types.Outcome):
            await self._finish(k, row, letter, intent.message_id, began=False)
            return
        outcome = await connection.envelope(letter)
        if outcome is not None:
            await self._finish(k, row, outcome, intent.message_id, began=False)
            return
        try:
            begun = await self.book.begin(intent)
            outcome = await connection.data() if begun.go else None
        except asyncio.CancelledError:  # not one octet of the body has left: as if nothing had been begun
            connection.close()
            await self.book.call(lambda session: attempts.undo(session, intent))
            raise
        if begun.go:
            outcome = outcome or await self._hand_over(connection, k, row, letter)
            await self._finish(k, row, outcome, letter.message_id, began=True)
            return
        await connection.reset()
        if begun.lost:
            self.result.lost = True
            self._quit.set()
        elif begun.topics is not None:  # they dropped a topic after the plan: the edition of what is left
            try:
                edition_id, self._editions[edition_id] = await asyncio.to_thread(job.edition_of, begun.topics)
            except errors.CheckError as error:
                self._hold(str(error))
                return
            self._rows.appendleft((k, dataclasses.replace(row, edition_id=edition_id)))
        elif not begun.moved:
            self._count(DeliveryState.SKIPPED)

    async def _hand_over(
        self, connection: smtp.Connection, k: int, row: outbox.Row, letter: message.Message
    ) -> types.Outcome:
        """The body of a message whose `sending` is committed; cancelled, its reader is in doubt."""
        try:
            return await connection.body(letter)
        except asyncio.CancelledError:
            connection.close()
            stopped = types.Outcome(Verdict.DOUBT, "body", 0, "", "stopped while the message was being handed over")
            await self._record(k, row, stopped, letter.message_id, began=True)
            raise

    async def _edition(self, edition_id: int) -> message.Encoded:
        """An edition; another process may have stored it after this one began."""
        if edition_id not in self._editions:
            self._editions[edition_id] = await asyncio.to_thread(self.job.edition, edition_id)
        return self._editions[edition_id]

    def _letter(
        self, k: int, row: outbox.Row, encoded: message.Encoded, at: dt.datetime
    ) -> tuple[attempts.Begin, message.Message | types.Outcome]:
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
            letter = message.build(encoded, recipient, message_token=token, at=at)
            message_id = letter.message_id
        except (errors.HeaderError, errors.TokenError) as error:
            never = types.Outcome(Verdict.NEVER, "build", 0, "", str(error))
            return attempts.Begin(row, k, row.edition_id, encoded.topics, at, message_id, name, key_id), never
        return attempts.Begin(row, k, row.edition_id, encoded.topics, at, message_id, name, key_id), letter

    # -- the record ----------------------------------------------------------------------------------------------

    async def _finish(self, k: int, row: outbox.Row, outcome: types.Outcome, message_id: str, *, began: bool) -> None:
        lost = outcome.verdict in (Verdict.SERVER, Verdict.DOUBT)
        if lost:
            self._lose(outcome)
        if outcome.verdict is Verdict.SERVER and not began and (outcome.code == 0 or outcome.stage == "mail"):
            # The server was lost, or shut, before anything happened to this person: nobody's attempt.
            self._tries[row.id] += 1
            if self._tries[row.id] < TRIES or self._quit.is_set():
                self._rows.append((k, row))
                await self._pause(self._backoff())
                return
        await self._record(k, row, outcome, message_id, began=began)
        if lost:
            await self._pause(self._backoff())

    async def _record(self, k: int, row: outbox.Row, outcome: types.Outcome, message_id: str, *, began: bool) -> None:
        now, settings = self.job.now(), self.job.smtp
        state, next_at = decide(row, outcome, now, max_age=settings.max_age, resend=settings.in_doubt == "resend")
        bounced = verdicts.is_bounce(outcome)
        await self.book.finish(attempts.Finish(row, k, state, outcome, now, next_at, bounced, message_id, began))
        self._count(state)
        self._judge(outcome, state)

    def _lose(self, outcome: types.Outcome) -> None:
        """Give the server up when it is lost again and again with nothing accepted between."""
        self._losses += 1
        if self._losses >= max(MOST_LOSSES, 2 * self.job.smtp.connections) and not self._quit.is_set():
            where = f"{self.job.smtp.host}:{self.job.smtp.port}"
            self.result.trouble = f"the mail server {where} is in trouble: {outcome.reply}"
            self._quit.set()

    def _backoff(self) -> float:
        """Seconds."""
        return min(0.05 * 2.0 ** min(self._losses, 7), 5.0)

    def _count(self, state: DeliveryState) -> None:
        self.result.done[state.value] += 1
        self.progress(state.value)

    def _judge(self, outcome: types.Outcome, state: DeliveryState) -> None:
        """Is something wrong that is not about one person? Then pause the issue."""
        self._losses = 0 if state is DeliveryState.SENT else self._losses
        self._policy = self._policy + 1 if outcome.verdict is Verdict.POLICY else 0
        refused = state is DeliveryState.FAILED and outcome.code >= 500
        self._refused += refused
        self._answered += refused or state is DeliveryState.SENT
        reason = None
        if self._policy >= POLICY_STOP:
            said = f"{outcome.code} {outcome.reply}" if outcome.code else outcome.reply
            reason = (
                f"the mail server refuses everything: {said}; "
                f"mend that, then `newsletter retry {self.job.name} --state failed` takes these up again"
            )
        elif self._answered >= BUDGET_AFTER and self._refused > self.job.smtp.error_budget * self._answered:
            reason = (
                f"error budget: {self._refused} of {self._answered} were refused for good "
                f"(smtp.error_budget = {self.job.smtp.error_budget})"
            )
        if reason:
            self._hold(reason)

    def _hold(self, reason: str) -> None:
        if not self._quit.is_set():
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
    if outcome.verdict is Verdict.DOUBT:
        often = row.in_doubt and row.attempts + 1 >= MOST_COPIES
        return DeliveryState.IN_DOUBT, next_at if resend and not often else None
    if next_at - (row.first_at or now) > max_age:
        return DeliveryState.FAILED, None
    if row.in_doubt:  # it is being sent again: by `resend`, or because somebody asked for it
        return DeliveryState.IN_DOUBT, next_at
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
