"""Serves pages from this process: binds first, so that a taken port is told in one line, and stops on a signal."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import signal
import socket
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING

from newsletter import errors

if TYPE_CHECKING:
    from fastapi import FastAPI

PATIENCE = 30  # seconds that a task has to end
PAUSES = (1, 2, 5, 15, 60)  # seconds before a task that failed is begun again
WELL = 300  # seconds after which a failure counts as the first one

Task = Callable[[asyncio.Event], Awaitable[None]]  # it runs until the event is set

logger = logging.getLogger(__name__)


def listen(host: str, port: int) -> socket.socket:
    """A listening TCP socket; port 0 takes a free one. Raises `errors.NewsletterError` when that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
        # Else a kept connection waits 40 ms for each answer's second half; asyncio forgets it for a given socket.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        why = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else error.strerror
        raise errors.NewsletterError(
            f"cannot listen on {host}, port {port}: {why}; stop what listens there, or choose another port"
        ) from None


@dataclasses.dataclass(frozen=True, slots=True)
class Served:
    """An app and where it is. `opened` is called with its address when it can be reached, `closing` on the signal.

    `closing` ends answers that would go on for ever.
    """

    app: FastAPI
    host: str
    port: int
    opened: Callable[[str], None] | None = None
    closing: Callable[[], None] | None = None


def serve(*pages: Served, tasks: Sequence[Task] = ()) -> None:
    """Serve pages, without talk, until SIGINT or SIGTERM; then `tasks`, which run beside them, may end in peace.

    Raises `errors.NewsletterError` when a port is taken.
    """
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Signals are for all servers: `_signals` has them."""
            yield

    async def serving(sockets: list[socket.socket]) -> None:
        async with beside(tasks):
            await asyncio.gather(
                *(server.serve(sockets=[listening]) for server, listening in zip(servers, sockets, strict=True))
            )

    def stop(number: int, frame: FrameType | None) -> None:
        for page in pages:
            if page.closing is not None:
                page.closing()
        for server in servers:
            server.handle_exit(number, frame)

    with contextlib.ExitStack() as open_sockets:
        sockets = [open_sockets.enter_context(listen(page.host, page.port)) for page in pages]
        servers = [
            Server(
                uvicorn.Config(
                    page.app,
                    log_config=None,
                    access_log=False,
                    lifespan="off",
                    server_header=False,
                    proxy_headers=False,  # whom to believe is a setting, and the pages' business
                    timeout_graceful_shutdown=1,
                )
            )
            for page in pages
        ]
        for page, listening in zip(pages, sockets, strict=True):
            if page.opened is not None:
                shown = f"[{page.host}]" if ":" in page.host else page.host
                page.opened(f"http://{shown}:{listening.getsockname()[1]}/")
        with _signals(stop):
            asyncio.run(serving(sockets))


@contextlib.asynccontextmanager
async def beside(tasks: Sequence[Task]) -> AsyncIterator[None]:
    """Run tasks beside what the block does; at its end they are asked to stop, and waited for."""
    stop = asyncio.Event()
    running = [asyncio.create_task(_kept_up(task, stop)) for task in tasks]
    try:
        yield
    finally:
        stop.set()
        if running:
            _, late = await asyncio.wait(running, timeout=PATIENCE)
            for task in late:
                logger.warning("a task did not end in time")
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)


async def _kept_up(task: Task, stop: asyncio.Event) -> None:
    """Run a task until it is asked to stop; one that fails is begun again after a pause that grows."""
    failures = 0
    while not stop.is_set():
        began = time.monotonic()
        try:
            await task(stop)
        except Exception as error:  # noqa: BLE001 - the task's edge; the error's values may name people
            failures = 1 if time.monotonic() - began > WELL else failures + 1
            pause = PAUSES[min(failures, len(PAUSES)) - 1]
            where = traceback.extract_tb(error.__traceback__)[-1]
            about = {"error": type(error).__name__, "place": f"{where.filename}:{where.lineno}", "pause": pause}
            logger.error("a task failed and is begun again", extra=about)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)


@contextlib.contextmanager
def _signals(stop: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Stop on a signal, and be done: uvicorn's own raises it again afterwards."""
    main = threading.current_thread() is threading.main_thread()
    wanted = (signal.SIGINT, signal.SIGTERM) if main else ()
    before = {number: signal.signal(number, stop) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
