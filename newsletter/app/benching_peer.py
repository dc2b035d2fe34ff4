"""What a plain reader does with many feeds, for `bench feeds --peers`, run as a script: addresses on stdin.

    python benching_peer.py THREADS < addresses     writes how many entries it found

urllib and feedparser as they come, in threads; no politeness, no limits, no guard, and nothing is stored.
"""

from __future__ import annotations

import concurrent.futures
import io
import sys
import urllib.request

import feedparser


def count(url: str) -> int:
    """How many entries a feed has."""
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - of our own server
        return len(feedparser.parse(io.BytesIO(answer.read())).entries)


if __name__ == "__main__":
    with concurrent.futures.ThreadPoolExecutor(int(sys.argv[1])) as threads:
        sys.stdout.buffer.write(f"{sum(threads.map(count, sys.stdin.read().split()))}\n".encode())
