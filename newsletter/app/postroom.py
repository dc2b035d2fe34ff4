"""Sends the mails to one person that wait in the database: the question, the welcome, the new address.

due -> rendered in their language -> the relay -> sent | later | never
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import logging
from typing import TYPE_CHECKING

from newsletter import addresses, calendar, config, dates, deliver, errors, render, types
from newsletter.deliver import dkim, message, smtp
from newsletter.render import views
from newsletter.store import apikeys, issues, servicemail, signups, throttle

if TYPE_CHECKING:
    from newsletter.app import Newsletter

logger = logging.getLogger(__name__)

LOOK = 0.5  # seconds between two looks at what waits
TROUBLE = 15.0  # … when the relay is not there
TIDY = dt.timedelta(hours=1)


async def run(app: Newsletter, stop: asyncio.Event) -> None:
    """Send what is due, and what comes, until `stop`; what is being handed over then is handed over.

    Once an hour it forgets what has expired: questions that nobody answered, allowances, mails that went long ago,
    what programs were answered.
    """
    tidied: dt.datetime | None = None
    while not stop.is_set():
        if tidied is None or app.clock.now() - tidied >= TIDY:
            tidied = app.clock.now()
            await asyncio.to_thread(_tidy, app)
        try:
            done = await _round(app)
        except errors.ServerError as error:
            logger.warning("service mails wait: the mail server is not there", extra={"reason": str(error)})
            await _sleep(stop, TROUBLE)
            continue
        if not done:
            await _sleep(stop, LOOK)


def _tidy(app: Newsletter) -> None:
    now = app.clock.now()
    with app.store.write() as session:
        signups.forget_expired(session, now)
        throttle.forget(session, now)
        servicemail.forget(session, now)
        apikeys.forget(session, now)


def deliver_due(app: Newsletter) -> int:
    """Send what is due now; returns how many the relay took. Raises `errors.ServerError` when it is not there."""
    return asyncio.run(_all_due(app))


async def _all_due(app: Newsletter) -> int:
    total = 0
    while done := await _round(app):
        total += sum(done)
    return total


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


async def _round(app: Newsletter) -> list[bool]:
    """Lease and send one handful: for each whether the relay took it."""
    found = await asyncio.to_thread(_lease, app)
    if not found:
        return []
    done = []
    left = list(found)
    try:
        connection = await smtp.connect(app.settings.smtp)
    except errors.ServerError as error:
        await asyncio.to_thread(_put_back, app, left, str(error))
        raise
    try:
        while left:
            if not connection.open:
                connection = await smtp.connect(app.settings.smtp)
            due = left.pop(0)
            done.append(await _send(app, connection, due))
    except errors.ServerError as error:
        await asyncio.to_thread(_put_back, app, left, str(error))
        raise
    finally:
        await connection.quit()
    return done


def _lease(app: Newsletter) -> list[servicemail.Due]:
    now = app.clock.now()
    with app.store.read() as session:
        at = servicemail.next_at(session)
    if at is None or at > now:
        return []
    with app.store.write() as session:
        return servicemail.lease(session, now)


def _put_back(app: Newsletter, left: list[servicemail.Due], reason: str) -> None:
    """The relay is not there: that costs nobody an attempt beyond a short pause."""
    now = app.clock.now()
    with app.store.write() as session:
        for due in left:
            servicemail.not_sent(session, due, reason, now, final=False)


async def _send(app: Newsletter, connection: smtp.Connection, due: servicemail.Due) -> bool:
    try:
        letter = await asyncio.to_thread(made, app, due)
    except (errors.TemplateError, errors.HeaderError, errors.NotFound) as error:
        logger.error("a service mail cannot be made", extra={"kind": due.kind, "reason": type(error).__name__})
        await asyncio.to_thread(_record, app, due, types.Outcome(types.Verdict.NEVER, "made", 0, "", str(error)))
        return False
    outcome = await connection.envelope(letter) or await connection.data() or await connection.body(letter)
    await asyncio.to_thread(_record, app, due, outcome)
    return outcome.verdict is types.Verdict.SENT


def _record(app: Newsletter, due: servicemail.Due, outcome: types.Outcome) -> None:
    now = app.clock.now()
    with app.store.write() as session:
        if outcome.verdict is types.Verdict.SENT:
            servicemail.sent(session, due.id, now)
            return
        final = outcome.verdict is types.Verdict.NEVER
        servicemail.not_sent(session, due, f"{outcome.code or ''} {outcome.reply}".strip(), now, final=final)


# -- what it says --------------------------------------------------------------------------------------------------


def made(app: Newsletter, due: servicemail.Due) -> message.Message:
    """The message of a mail that is due. Its Message-ID is the same each time.

    Raises `errors.NotFound` when its newsletter is gone, and as rendering does.
    """
    letter = app.settings.newsletter_of(due.newsletter)
    templates = render.Templates.load(app.workspace.template_folders)
    base = app.settings.site.base_url
    keys = [dkim.load(key.domain, key.selector, app.workspace.path / key.key_file) for key in app.settings.dkim]
    newsletter = _spoken(views.newsletter(letter, base), due, templates)
    edition = render.mail(templates, f"mail/{due.kind}", newsletter, _about(app, letter, due, newsletter.language))
    encoded = message.encode_service(edition, message.letterhead_of(letter, base, keys))
    given = due.facts.get("email")  # the one that is to be confirmed
    address = addresses.parse(given) if given else addresses.Address(due.email, due.email_norm)
    recipient = deliver.recipient_of(
        app.signer,
        0,
        subscriber_id=due.subscriber_id,
        email=address.wire,
        name=due.name,
        version=due.token_version,
    )
    token = app.signer.digest(f"service mail {due.id}")[:32]
    at = app.clock.now().replace(microsecond=0)
    return message.build(encoded, recipient, message_token=token, at=at)


def _spoken(newsletter: views.Newsletter, due: servicemail.Due, templates: render.Templates) -> views.Newsletter:
    """The newsletter in the person's language, where the templates speak it."""
    tag = due.facts.get("language") or due.language
    if not tag or tag == newsletter.language or not templates.speaks(tag):
        return newsletter
    return dataclasses.replace(newsletter, language=tag, direction=render.direction(tag))


def _about(app: Newsletter, letter: config.Newsletter, due: servicemail.Due, language: str) -> views.Mail:
    base = app.settings.site.base_url
    titles = {f"{each.slug}/{topic.slug}": topic.title for each in app.settings.newsletter for topic in each.topic}
    token = due.facts.get("token")
    with app.store.read() as session:
        last = issues.latest_sent(session, letter.slug)
    next_issue = calendar.following(letter.send, letter.timezone, app.clock.now())
    return views.Mail(
        url=f"{base}/confirm/{token}" if token else f"{base}/{letter.slug}/{last or ''}",
        topics=tuple(titles[topic] for topic in due.facts.get("topics", ()) if topic in titles),
        hours=int(signups.WORKS_FOR / dt.timedelta(hours=1)),
        next_issue=dates.with_weekday(next_issue.date(), language),
        sender=addresses.parse(letter.sender).email,
    )
