"""Documents are read here: small ones by a thread, large ones by a process of its own that may die of them.

    read(call, size) -> [a thread] | [a process: so much memory, so many seconds] -> what the call makes of it

A document of 14 MB can cost a parser 300 MB or many minutes: what it costs then is that process, and a line that says
so. Large ones are read one at a time, and hold up no small one. Where many small ones come, a second process reads
them, on another core.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import ctypes
import functools
import pickle
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import TypeVar

from newsletter import errors

LARGE = 500_000  # octets: a document beyond is read by a process of its own
MANY = 50  # sources of a run: from here on a second core is worth the start of a process, 0.3 s
MEMORY = 150_000_000  # octets of its own data that the process may have; its code takes some 25 MB more
_MMAP_THRESHOLD = -3  # malloc.h
T = TypeVar("T")


@functools.cache
def give_back_large_blocks() -> None:
    """Let what a large body took go back to the system at once, in this process.

    glibc keeps freed blocks of up to 32 MB once it has seen one (mallopt(3), M_MMAP_THRESHOLD); other C libraries have
    no such setting, and need none.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, LARGE)


class Reader:
    """Reads documents for one run, of so many sources. One may take `seconds` of CPU time in a process."""

    def __init__(self, seconds: float, sources: int = 1) -> None:
        give_back_large_blocks()
        self._large = _Lane(_Process(seconds))
        self._small = _Lane(_Process(seconds) if sources >= MANY else None)

    async def read(self, call: Callable[[], T], size: int) -> T:
        """What `call` returns; it and its answer can be pickled. `size` is in octets. Raises `errors.FeedError`."""
        return await (self._small if size <= LARGE else self._large).read(call)

    def close(self) -> None:
        """No more documents; one that is being read is given up."""
        self._large.close()
        self._small.close()


class _Lane:
    """One document after the other, by a process, or by a thread of ours."""

    def __init__(self, process: _Process | None) -> None:
        self._process = process
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "parse")

    async def read(self, call: Callable[[], T]) -> T:
        process = self._process
        work = functools.partial(process.call, call) if process else call
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def close(self) -> None:
        if self._process:
            self._process.close()
        self._thread.shutdown(wait=False, cancel_futures=True)  # who leaves early need not wait for a document


class _Process:
    """The process that answers calls; started by the first, and anew after one that it died of."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def call(self, call: Callable[[], T]) -> T:
        """What `call` returns. Raises `errors.FeedError`."""
        if self._is_closed:
            raise errors.FeedError("it was not read: the run is over")
        running = self._running = self._running or _start()
        assert running.stdin
        assert running.stdout
        try:
            pickle.dump((self._seconds, call), running.stdin)
            running.stdin.flush()
            kind, value = pickle.load(running.stdout)  # noqa: S301 - of our own process
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self._running = None
            raise errors.FeedError(_cause(_end(running), self._seconds)) from None
        if kind is not None:
            raise kind(value)
        found: T = value
        return found

    def close(self) -> None:
        """End it, whatever it does."""
        self._is_closed = True
        if self._running:
            self._running.kill()
            _end(self._running)


def _start() -> subprocess.Popen[bytes]:
    code = f"import sys; sys.path[:] = {sys.path!r}; from newsletter.sources import reading; reading.main()"
    return subprocess.Popen(  # noqa: S603 - it is ourselves
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def _end(process: subprocess.Popen[bytes]) -> int:
    """Close what leads to a process that is ending; returns its exit code."""
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with contextlib.suppress(OSError):  # what it was being given is lost with it
                pipe.close()
    return process.wait()


def _cause(code: int, seconds: float) -> str:
    if code == -signal.SIGPROF:
        return f"it takes longer than {seconds:g} s to read"
    if code == -signal.SIGKILL:
        return "the process that read it was killed, perhaps for want of memory"
    return f"it takes more than {MEMORY / 1e6:g} MB of memory to read"


# -- the process ---------------------------------------------------------------------------------------------------


def main() -> None:
    """Answer calls from stdin on stdout, within limits; the end of stdin is the end."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks
    calls, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while True:
        try:
            seconds, call = pickle.load(calls)  # noqa: S301 - of our own process
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, seconds)  # not caught: it ends this process whatever it does
        answer = _answer(call)
        del call
        signal.setitimer(signal.ITIMER_PROF, 0)
        pickle.dump(answer, answers)
        answers.flush()
        del answer


def _answer(call: Callable[[], object]) -> tuple[type[Exception] | None, object]:
    try:
        return None, call()
    except errors.FeedError as error:
        return errors.FeedError, str(error)
    except MemoryError:
        raise SystemExit(1) from None
    except Exception:  # noqa: BLE001 - told to who asked, who logs it
        return RuntimeError, traceback.format_exc()
