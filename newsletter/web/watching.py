"""Wakes whoever waits when a file changes. What changed is not told: those who wait look for themselves.

One watch for all who wait; it runs while somebody does. Where files cannot be watched (some network file systems), and
for what is no file, they are woken every SECONDS in any case.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

logger = logging.getLogger(__name__)
SECONDS = 1.0
STEP = 10  # milliseconds of quiet after which a change is told
DEBOUNCE = 50  # milliseconds after which it is told in any case


class Watch:
    """A watch on folders, each for itself; `folders` is asked again after each change, since it may make a folder."""

    def __init__(self, folders: Callable[[], Sequence[Path]]) -> None:
        self._folders = folders
        self._waiting: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = False

    async def changes(self) -> AsyncIterator[None]:
        """Yields at once, after each change, and every SECONDS; ends when the watch is closed."""
        mine = asyncio.Event()
        self._waiting.add(mine)
        self._loop = asyncio.get_running_loop()
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        try:
            while not self._over:
                yield
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(mine.wait(), SECONDS)
                mine.clear()
        finally:
            self._waiting.discard(mine)
            if not self._waiting and self._task is not None:
                self._task.cancel()
                self._task = None

    def close(self) -> None:
        """Let all who wait end; from any thread, also from a signal's handler."""
        before, self._over = self._over, True
        if self._loop is not None and not before:
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()

    async def _run(self) -> None:
        while True:
            try:
                await self._watch([folder for folder in await asyncio.to_thread(self._folders) if folder.is_dir()])
            except (OSError, RuntimeError):  # a folder has just gone, or the system watches no more files
                logger.info("files cannot be watched; looking at them every second", exc_info=True)
                await asyncio.sleep(SECONDS)

    async def _watch(self, folders: Sequence[Path]) -> None:
        """Until there are other folders."""
        import watchfiles

        watch = watchfiles.awatch(
            *folders, watch_filter=None, step=STEP, debounce=DEBOUNCE, recursive=False, rust_timeout=1000
        )
        async with contextlib.aclosing(watch) as found:
            async for _ in found:
                self._wake()
                if set(await asyncio.to_thread(self._folders)) != set(folders):
                    return
