"""Serves a page from this process: binds first, so that a taken port is told in one line, and stops on a signal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from newsletter import errors

if TYPE_CHECKING:
    from fastapi import FastAPI


def listen(host: str, port: int) -> socket.socket:
    """A listening TCP socket; port 0 takes a free one. Raises `errors.NewsletterError` when that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else error.strerror
        raise errors.NewsletterError(
            f"cannot listen on {host}, port {port}: {why}; stop what listens there, or choose another port"
        ) from None


def serve_page(
    app: FastAPI,
    host: str,
    port: int,
    opened: Callable[[str], None] | None = None,
    closing: Callable[[], None] | None = None,
) -> None:
    """Serve an app, without talk, until SIGINT or SIGTERM; `opened` is called with its address when it can be reached.

    `closing` is called on the signal: it ends answers that would go on for ever. Raises `errors.NewsletterError` when
    the port is taken.
    """
    import uvicorn

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """As uvicorn's, once the endless answers are told to end."""
            if closing is not None:
                closing()
            super().handle_exit(sig, frame)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Stop on a signal, and be done: uvicorn's own raises it again afterwards."""
            main = threading.current_thread() is threading.main_thread()
            wanted = (signal.SIGINT, signal.SIGTERM) if main else ()
            before = {number: signal.signal(number, self.handle_exit) for number in wanted}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    with listen(host, port) as listening:
        settings = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=1
        )
        if opened is not None:
            shown = f"[{host}]" if ":" in host else host
            opened(f"http://{shown}:{listening.getsockname()[1]}/")
        asyncio.run(Server(settings).serve(sockets=[listening]))
