"""`bench`: how fast the parts are on this machine, with peers in the same run. Needs no workspace."""

from __future__ import annotations

import datetime as dt
import io
import resource
import statistics
import time
from pathlib import Path

import feedparser

from newsletter import errors
from newsletter.app import reports
from newsletter.sources import feed

MOST_BYTES = 15_000_000


def feeds(folder: Path, now: dt.datetime, *, peers: bool) -> reports.FeedBench:
    """Parse every file below a folder, one after the other. Raises `errors.NotFound` when there is none."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size <= MOST_BYTES)
    if not paths:
        raise errors.NotFound(f"there is no file in {folder}")
    began = time.perf_counter()
    ours: list[float] = []
    entries = refused = 0
    for path in paths:
        body = path.read_bytes()
        start = time.process_time()
        try:
            entries += len(feed.parse(body, url="https://bench.invalid/", now=now)[1])
        except errors.FeedError:
            refused += 1
        ours.append((time.process_time() - start) * 1000)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # KiB on Linux; before the peers run
    slowest = paths[ours.index(max(ours))]
    return reports.FeedBench(
        files=len(paths),
        refused=refused,
        entries=entries,
        cpu_ms=_spread(ours),
        slowest=slowest.relative_to(folder).as_posix(),
        seconds=round(seconds, 3),
        peak_mb=round(peak, 1),
        peers={"feedparser": _compared(ours, [_plain(path) for path in paths])} if peers else {},
    )


def _plain(path: Path) -> float:
    """CPU ms that feedparser takes by itself, as it comes."""
    body = io.BytesIO(path.read_bytes())  # a stream: of bytes it would try to open a file of that name
    start = time.process_time()
    feedparser.parse(body)
    return (time.process_time() - start) * 1000


def _compared(ours: list[float], theirs: list[float]) -> reports.Peer:
    return reports.Peer(_spread(theirs), round(sum(ours) / (sum(theirs) or 1e-9), 2))


def _spread(times: list[float]) -> reports.Spread:
    ordered = sorted(times)
    p90 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]
    return reports.Spread(*(round(value, 2) for value in (statistics.median(ordered), p90, ordered[-1], sum(ordered))))
