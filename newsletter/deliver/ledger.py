"""Group commit: one thread owns the ledger's writes and commits whatever all connections have ready.

As soon as one commit is done, everything that was asked for meanwhile goes into the next: ten connections cost one
commit for ten rows, and nobody waits for a timer. What a server accepted is recorded in any case: a database in trouble
is asked again and again, and no message is sent meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from sqlmodel import Session

from newsletter import errors
from newsletter.store import Store, attempts

logger = logging.getLogger(__name__)
T = TypeVar("T")
GROUP = 500
RETRY_SECONDS = (0.1, 0.5, 2.0, 5.0, 10.0, 20.0)  # with the store's own wait for a lock, some minutes


class Ledger:
    """The writer of one run; `owner` is what its leases carry."""

    def __init__(self, store: Store, issue_id: int, newsletter: str, owner: str) -> None:
        self._store, self._issue_id, self._newsletter, self._owner = store, issue_id, newsletter, owner
        self._asked: queue.SimpleQueue[tuple[Any, asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)
        self._thread.start()

    async def begin(self, intent: attempts.Begin) -> attempts.Begun:
        """Commit to handing a body over, or learn why not."""
        answer: attempts.Begun = await self._ask(intent)
        return answer

    async def finish(self, intent: attempts.Finish) -> None:
        """Record what became of an attempt; returns when that is on disk."""
        await self._ask(intent)

    async def call(self, work: Callable[[Session], T]) -> T:
        """Do something else within the next transaction."""
        answer: T = await self._ask(work)
        return answer

    async def close(self) -> None:
        """Wait for the last commit and end the thread."""
        self._asked.put(None)
        await asyncio.to_thread(self._thread.join)

    async def _ask(self, what: Any) -> Any:
        future: asyncio.Future[Any] = self._loop.create_future()
        self._asked.put((what, future))
        return await asyncio.shield(future)  # a cancelled sender must not lose the record

    def _run(self) -> None:
        ended = False
        while not ended:
            group = [self._asked.get()]
            while len(group) < GROUP and not self._asked.empty():
                group.append(self._asked.get_nowait())
            ended = None in group
            asked = [each for each in group if each is not None]
            if asked:
                answers = self._commit([what for what, _ in asked])
                pairs = list(zip((future for _, future in asked), answers, strict=True))
                self._loop.call_soon_threadsafe(_resolve, pairs)

    def _commit(self, asked: list[Any]) -> list[Any]:
        """One transaction for all; a failure is tried again, and then is everybody's answer."""
        for pause in (*RETRY_SECONDS, None):
            try:
                with self._store.write() as session:
                    return self._apply(session, asked)
            except errors.StoreError as error:
                if pause is None:
                    return [error] * len(asked)
                logger.warning("ledger write failed, trying again", extra={"issue": self._issue_id})
                time.sleep(pause)
            except Exception as error:  # a job's edge: whoever asked must get an answer
                if len(asked) > 1:  # one that cannot be written must not take the others' records with it
                    return [answer for what in asked for answer in self._commit([what])]
                logger.exception("ledger write failed", extra={"issue": self._issue_id})
                return [error]
        raise AssertionError  # the last pause is None

    def _apply(self, session: Session, asked: list[Any]) -> list[Any]:
        """Finishes first: a message that was taken must not wait for one that is not."""
        answers: list[Any] = [None] * len(asked)
        finished = [what for what in asked if isinstance(what, attempts.Finish)]
        if finished:
            attempts.finish(session, finished)
        begun = [i for i, what in enumerate(asked) if isinstance(what, attempts.Begin)]
        if begun:
            found = attempts.begin(session, self._issue_id, self._newsletter, self._owner, [asked[i] for i in begun])
            for i, answer in zip(begun, found, strict=True):
                answers[i] = answer
        for i, what in enumerate(asked):
            if callable(what):
                answers[i] = what(session)
        return answers


def _resolve(pairs: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, answer in pairs:
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
