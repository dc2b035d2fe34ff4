"""`bench feeds`: how long many sources take, asked and stored by the whole program, as a process of its own.

    a server (`benching_host`, a process) <- newsletter collect (a process, and those it starts) -> a new database

Twice: the first visit takes everything in, at the second nothing has changed. Start-up is counted, the server is not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from newsletter import config, errors
from newsletter.app import benching_host, benching_peer, reports

PROC = Path("/proc")
LOOK = 0.05  # seconds between two looks at the memory; what is looked at is a peak, so that none is missed for long
_SETTINGS = """[site]
title = "Bench"
base_url = "http://127.0.0.1"
database = "sqlite:///bench.db"

[collect]
allow_private = ["127.0.0.0/8"]

[[newsletter]]
slug = "bench"
title = "Bench"
from = "Bench <bench@example.org>"
language = "en"
timezone = "UTC"
compose = "Thursday 12:00"
send = "Friday 09:00"
postal_address = "1 Example Street, London"

[[newsletter.topic]]
slug = "otters"
title = "Otters"
sources = """


def poll(*, sources: int, hosts: int, latency: int, entries: int, peers: bool) -> reports.PollBench:
    """Ask so many sources on so many hosts, each after `latency` ms. Raises `errors.NotFound` without such hosts."""
    concurrency = config.Collect().concurrency
    hosts = min(hosts, sources)
    with _serving(hosts, latency, entries) as port, tempfile.TemporaryDirectory() as made:
        urls = [f"http://127.0.{i % hosts // 250}.{i % hosts % 250 + 1}:{port}/{i}" for i in range(sources)]
        folder = Path(made)
        (folder / "newsletter.toml").write_text(_SETTINGS + json.dumps(urls) + "\n", encoding="utf-8")
        collect = [sys.executable, "-m", "newsletter", "-C", made, "collect", "--all", "--json"]
        first, told = measured(collect)
        again, told_again = measured(collect)
        compared = {}
        if peers:
            plain, _ = measured([sys.executable, benching_peer.__file__, str(concurrency)], "\n".join(urls))
            ratio = round(first.cpu_s / plain.cpu_s, 2)
            compared["urllib and feedparser, nothing stored"] = reports.PollPeer(plain, ratio)
    # However fast a program is: one connection a host, and so many at once.
    limit = max(-(-sources // hosts), -(-sources // concurrency)) * latency / 1000
    return reports.PollBench(
        sources=sources,
        hosts=hosts,
        latency_ms=latency,
        entries=json.loads(told)["entries_new"],
        failed=sum(each["status"] == "failed" for out in (told, told_again) for each in json.loads(out)["sources"]),
        limit_s=round(limit, 2),
        first=first,
        again=again,
        peers=compared,
    )


@contextlib.contextmanager
def _serving(hosts: int, latency: int, entries: int) -> Iterator[int]:
    command = [sys.executable, benching_host.__file__, str(hosts), str(latency), str(entries)]
    with subprocess.Popen(  # noqa: S603 - it is ours
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout
        port = server.stdout.readline()
        if not port:
            raise errors.NotFound(f"this system has no {hosts} loopback addresses (127.0.0.1, 127.0.0.2, …): --hosts 1")
        yield int(port)  # closing its stdin, on the way out, ends it


def measured(command: Sequence[str], given: str = "") -> tuple[reports.Run, str]:
    """A process with all that it starts: what it took, and what it wrote. Raises `errors.StateError` if it broke."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - it is ours
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        memory = _Memory(process.pid)
        try:
            out, complaint = process.communicate(given)
        finally:
            peak = memory.stop()
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - began
    if not out:
        raise errors.StateError(f"the measured process ended with {process.returncode}: {complaint.strip()[-500:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return reports.Run(round(seconds, 2), round(cpu, 2), peak), out


@dataclasses.dataclass
class _Memory:
    """Watches the peak memory of a process and of its children, each of its own, added up; None without /proc."""

    process: int

    def __post_init__(self) -> None:
        self._peaks: dict[str, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory")
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(LOOK):
            for number in [str(self.process), *_children(self.process)]:
                kilobytes = _peak(number)
                self._peaks[number] = max(kilobytes, self._peaks.get(number, 0))

    def stop(self) -> float | None:
        """The sum, in MB."""
        self._over.set()
        self._thread.join()
        return round(sum(self._peaks.values()) / 1024, 1) if any(self._peaks.values()) else None


def _children(process: int) -> list[str]:
    found: list[str] = []
    for task in (PROC / str(process) / "task").glob("*"):
        found += _text(task / "children").split()
    return found


def _peak(process: str) -> int:
    status = _text(PROC / process / "status")
    line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "VmHWM: 0 kB")
    return int(line.split()[1])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:  # it has ended meanwhile, or there is no /proc
        return ""
