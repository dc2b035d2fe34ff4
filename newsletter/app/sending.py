"""Sending: plan once, then deliver what is due, as often as it is asked for; and the states around it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from newsletter import addresses, deliver, errors, types
from newsletter.app import checking, editing, reports
from newsletter.deliver import message, smtp
from newsletter.store import issues, outbox, tables
from newsletter.types import DeliveryState, IssueState

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

logger = logging.getLogger(__name__)
Counts = Callable[[dict[str, int]], None]
OTHERS_SECONDS = 0.5  # how often to look whether another process is still sending


def send(
    app: App, name: str, *, frozen: bool, wait: bool, progress: Callable[[dict[str, int]], None] | None
) -> reports.StatusReport:
    """See `App.send`. Raises `errors.StateError`, `errors.CheckError`, `errors.ServerError` before any mail is out."""
    with app.store.read() as session:
        row = issues.get(session, name)
    if row.state == IssueState.SENT:
        return status(app, name)
    advice = {
        IssueState.DRAFT: f"approve it first: newsletter approve {name}",
        IssueState.HELD: f"`newsletter release {name}` lets it go on",
    }
    issues.require(
        row, [IssueState.APPROVED, IssueState.SENDING], advice.get(IssueState(row.state), "it cannot be sent")
    )
    _refuse_drift(app, row, frozen=frozen)
    opened = editing.open_issue(app, name)
    if row.state == IssueState.APPROVED:
        found = editing.check_opened(app, opened)
        if not found.ok:
            raise errors.CheckError(name, [f"  {each.code}: {each.message}" for each in found.errors])
        _refuse_nobody(app, opened)
    return asyncio.run(_send(app, opened, wait=wait, progress=progress))


def _refuse_nobody(app: App, opened: editing.Opened) -> None:
    """An issue sent to nobody would be sent for good; most often people were imported and never made active."""
    with app.store.read() as session:
        if outbox.audience(session, opened.newsletter.slug, opened.topics, app.clock.now()):
            return
        pending = outbox.pending(session, opened.newsletter.slug, opened.topics)
    why = f"nobody would get {opened.name}: no active subscriber has one of its topics ({', '.join(opened.topics)})"
    if pending:
        why += (
            f"; {pending} {'is' if pending == 1 else 'are'} pending: they must confirm, or, where you have their "
            "consent, import them with --state active"
        )
    raise errors.StateError(why)


def _refuse_drift(app: App, row: tables.Issue, *, frozen: bool) -> None:
    """Refuse a draft that is not what was approved, as long as nobody got it; later, only say so."""
    difference = None if frozen else editing.drift(app, row)
    if difference is None:
        return
    name = f"{row.newsletter}/{row.period}"
    if row.state == IssueState.SENDING:
        logger.warning("the draft differs from what is being sent; what was approved is sent", extra={"issue": name})
        return
    shown = [f"  {line}" for line in difference[:40]]
    more = [f"  … and {len(difference) - 40} more lines"] if len(difference) > 40 else []
    raise errors.StateError(
        "\n".join(
            [
                f"the draft of {name} differs from what was approved; nothing is sent:",
                *shown,
                *more,
                f"  to send the draft as it is now: newsletter unapprove {name}, then newsletter approve {name}",
                f"  to send what was approved:      newsletter send {name} --frozen",
            ]
        )
    )


async def _send(app: App, opened: editing.Opened, *, wait: bool, progress: Counts | None) -> reports.StatusReport:
    stop = asyncio.Event()
    work = asyncio.create_task(_work(app, opened, stop, wait=wait, progress=progress))
    with _signals(stop, work):
        await asyncio.wait([work])
    if work.cancelled():
        report = await asyncio.to_thread(status, app, opened.name)
        return dataclasses.replace(report, trouble="stopped while messages were being handed over")
    return work.result()


async def _work(
    app: App, opened: editing.Opened, stop: asyncio.Event, *, wait: bool, progress: Counts | None
) -> reports.StatusReport:
    probe = await smtp.connect(app.settings.smtp)  # a server that is not there: say so before anything changes
    await probe.quit()
    if stop.is_set():
        return dataclasses.replace(await asyncio.to_thread(status, app, opened.name), stopped=True)
    await asyncio.to_thread(plan, app, opened)
    while True:
        result = await _run(app, opened, stop, progress)
        ended = bool(result.stopped or result.held or result.trouble or result.lost)
        waited = not ended and await _wait_for_others(app, opened, stop)
        report = await asyncio.to_thread(_settle, app, opened, result)
        if result.stopped or stop.is_set():
            return dataclasses.replace(report, stopped=True)
        if ended or report.state != IssueState.SENDING:
            return report
        if waited:  # what they left is ours now
            continue
        if not wait or report.next_due is None:
            return report
        await _pause(stop, max(1.0, (report.next_due - app.clock.now()).total_seconds()))


async def _wait_for_others(app: App, opened: editing.Opened, stop: asyncio.Event) -> bool:
    """Wait until no other living process has a part of this issue. Was there one?"""

    def busy() -> bool:
        with app.store.read() as session:
            return any(not app.is_dead(owner) for owner in outbox.lease_owners(session, opened.issue_id))

    if not await asyncio.to_thread(busy):
        return False
    logger.warning("another `send` has the rest of this issue; waiting for it", extra={"issue": opened.name})
    while not stop.is_set() and await asyncio.to_thread(busy):
        await _pause(stop, OTHERS_SECONDS)
    return True


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


@contextlib.contextmanager
def _signals(stop: asyncio.Event, task: asyncio.Task[reports.StatusReport]) -> Iterator[None]:
    """The first SIGTERM or Ctrl-C drains, the second one stops: what is under way is then recorded as in doubt."""
    loop = asyncio.get_running_loop()

    def asked() -> None:
        if stop.is_set():
            task.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def plan(app: App, opened: editing.Opened) -> int:
    """Make the deliveries, once; every edition of the audience is rendered and checked before. Returns how many."""
    with app.store.write() as session:
        row = issues.get(session, opened.name)
        if row.state in (IssueState.SENDING, IssueState.SENT):  # another `send` was faster
            return outbox.audience_size(session, row.id or 0)
        issues.require(row, [IssueState.APPROVED], "it cannot be planned")
        now = app.clock.now()
        sets = outbox.audience(session, opened.newsletter.slug, opened.topics, now)
        editions = {topics: issues.add_edition(session, row, opened.edition(topics)).id or 0 for topics in sets}
        total = outbox.plan(session, row.id or 0, opened.newsletter.slug, opened.topics, editions, now=now)
        row.state, row.planned_at, row.reason = IssueState.SENDING, now, None
        return total


async def _run(app: App, opened: editing.Opened, stop: asyncio.Event, progress: Counts | None) -> deliver.Result:
    counts = (await asyncio.to_thread(status, app, opened.name)).counts

    def edition(edition_id: int) -> message.Encoded:
        with app.store.read() as session:
            stored = issues.editions(session, issues.get(session, opened.name)).values()
        return message.encode(dict(stored)[edition_id], opened.letterhead)

    def edition_of(topics: tuple[str, ...]) -> tuple[int, message.Encoded]:
        """An edition first needed now: from what is frozen, checked and stored before its first mail."""
        found = opened.edition(topics)
        checking.refuse_bad(app, opened, found)
        with app.store.write() as session:
            stored = issues.add_edition(session, issues.get(session, opened.name), found)
        return stored.id or 0, message.encode(found, opened.letterhead)

    def count(state: str) -> None:
        counts[state] += 1
        for taken in ("queued", "in_doubt", "deferred"):
            if counts[taken] and taken != state:
                counts[taken] -= 1
                break
        if progress is not None:
            progress(counts)

    job = deliver.Job(
        issue_id=opened.issue_id,
        name=opened.name,
        newsletter=opened.newsletter.slug,
        smtp=app.settings.smtp,
        signer=app.signer,
        edition=edition,
        edition_of=edition_of,
        now=app.clock.now,
        wall_clock=app.wall_clock,
        locks=app.locks,
    )
    return await deliver.run(job, app.store, stop=stop, progress=count)


def _settle(app: App, opened: editing.Opened, result: deliver.Result) -> reports.StatusReport:
    """After a run: sent when every row is final, held when the run says so."""
    with app.store.write() as session:
        row = issues.get(session, opened.name)
        if row.state == IssueState.SENDING:
            if result.held:
                row.state, row.reason = IssueState.HELD, result.held
            elif not outbox.unfinished(session, row.id or 0):
                row.state, row.sent_at, row.reason = IssueState.SENT, app.clock.now(), None
    report = status(app, opened.name)
    return dataclasses.replace(report, stopped=result.stopped, trouble=result.trouble)


def status(app: App, name: str) -> reports.StatusReport:
    """How far an issue is. Who is in doubt after a crash is told at once, before anyone resumes."""
    with app.store.read() as session:
        row = issues.get(session, name)
        standing = outbox.standing(session, row.id or 0, app.is_dead)
        due = outbox.next_due(session, row.id or 0) if row.state == IssueState.SENDING else None
    return reports.StatusReport(
        issue=name,
        state=row.state,
        counts=standing.counts,
        in_doubt=standing.in_doubt,
        audience=standing.audience,
        reason=row.reason,
        next_due=due,
    )


def deliveries(app: App, name: str, state: str | None) -> list[outbox.DeliveryView]:
    """Who got it, who did not, and why."""
    with app.store.read() as session:
        row = issues.get(session, name)
        return outbox.listing(session, row.id or 0, app.is_dead, state)


def retry(app: App, name: str, state: str) -> int:
    """Let failed or doubtful deliveries go out again at the next `send`."""
    with app.store.write() as session:
        row = issues.get(session, name)
        issues.require(
            row, [IssueState.SENDING, IssueState.SENT, IssueState.HELD], "only what was sent can be tried again"
        )
        outbox.reclaim(session, row.id or 0, app.is_dead, resend=False, now=app.clock.now())
        # By when this command began: a `send` at the same pretended time finds them due.
        done = outbox.retry(session, row.id or 0, DeliveryState(state), app.clock.started)
        if done and row.state == IssueState.SENT:
            row.state, row.sent_at = IssueState.SENDING, None
        return done


def hold(app: App, name: str, reason: str) -> None:
    """Stop an issue; a send under way stops within one message a connection, because each asks the ledger first."""
    with app.store.write() as session:
        row = issues.get(session, name)
        issues.require(
            row, [IssueState.APPROVED, IssueState.SENDING], "only an approved issue, or one on its way, can be held"
        )
        row.state, row.reason = IssueState.HELD, reason


def release(app: App, name: str) -> str:
    """Let a held issue go on: back to `sending` when it was planned, else to `approved`."""
    with app.store.write() as session:
        row = issues.get(session, name)
        issues.require(row, [IssueState.HELD], "only a held issue can be released")
        row.state = IssueState.SENDING if row.planned_at else IssueState.APPROVED
        row.reason = None
        return row.state


def send_test(app: App, name: str, to: Sequence[str]) -> list[tuple[str, str | None]]:
    """Send the issue as it is now to any addresses; strangers get links that say "test". Nothing is recorded."""
    opened = editing.open_issue(app, name)
    letters: list[tuple[str, message.Message]] = []
    for text in to:
        address = addresses.parse(text)
        try:
            made, _, _ = editing.render_message(app, opened, reader=address.email, topics=())
        except errors.NotFound:
            made, _, _ = editing.render_message(app, opened, reader=None, topics=(), email=address.wire)
        letters.append((address.email, made))
    return asyncio.run(_send_test(app, letters))


async def _send_test(app: App, letters: Sequence[tuple[str, message.Message]]) -> list[tuple[str, str | None]]:
    connection = await smtp.connect(app.settings.smtp)
    answers: list[tuple[str, str | None]] = []
    try:
        for email, letter in letters:
            if not connection.open:
                try:
                    connection = await smtp.connect(app.settings.smtp)
                except errors.ServerError as error:  # it was there for the first ones: say who got it
                    answers.append((email, str(error)))
                    continue
            outcome = await connection.envelope(letter) or await connection.data() or await connection.body(letter)
            sent = outcome.verdict is types.Verdict.SENT
            answers.append((email, None if sent else f"{outcome.code or ''} {outcome.reply}".strip()))
    finally:
        await connection.quit()
    return answers


def due_in(report: reports.StatusReport, now: dt.datetime) -> dt.timedelta | None:
    """How long until the next waiting delivery is due."""
    return None if report.next_due is None else max(dt.timedelta(), report.next_due - now)
