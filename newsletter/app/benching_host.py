"""A web server of feeds for `bench feeds`, run as a script: so many loopback hosts, a latency, entries in each feed.

    python benching_host.py HOSTS MILLISECONDS ENTRIES     writes its port, and ends with its stdin

It stands on the standard library alone, so that it starts at once and takes little from what is measured. A path is a
feed; what comes with its ETag is answered by 304.
"""

from __future__ import annotations

import asyncio
import sys

_ITEM = """<item><title>Item {item} of feed {feed}: otters cross the river at dawn</title>
<link>https://feeds.example.org/{feed}/{item}</link><guid isPermaLink="false">{feed}-{item}</guid>
<pubDate>{day:02d} Sep 2026 09:00:00 +0000</pubDate><author>ann@example.org (Ann Lee)</author>
<description>&lt;p&gt;Story {item} says that &lt;a href="/dams"&gt;otters&lt;/a&gt; build dams of reed, and that people
watch them from the bridge of village {feed} every morning.&lt;/p&gt;&lt;p&gt;The river is 40 m wide.&lt;/p&gt;
</description></item>
"""


def feed(name: str, entries: int) -> bytes:
    """An RSS document; each name has other entries."""
    items = "".join(_ITEM.format(feed=name, item=item, day=item % 28 + 1) for item in range(1, entries + 1))
    head = f"<title>Feed {name}</title><link>https://feeds.example.org/{name}</link><description>Otters</description>"
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>{head}\n{items}</channel></rss>'.encode()
    )


async def serve(hosts: int, latency: float, entries: int) -> None:
    """Answer on 127.0.0.1 and the hosts after it, at one port, until stdin ends."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            name = head.split(b" ", 2)[1].decode("ascii").strip("/")
            await asyncio.sleep(latency)
            if f'"{name}"'.encode() in head:
                writer.write(f'HTTP/1.1 304 Not Modified\r\nETag: "{name}"\r\nConnection: close\r\n\r\n'.encode())
            else:
                body = feed(name, entries)
                kind = f'Content-Type: application/rss+xml\r\nETag: "{name}"\r\nContent-Length: {len(body)}'
                writer.write(f"HTTP/1.1 200 OK\r\n{kind}\r\nConnection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    first = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000)
    port = first.sockets[0].getsockname()[1]
    others = [
        await asyncio.start_server(answer, f"127.0.{number // 250}.{number % 250 + 1}", port, backlog=1000)
        for number in range(1, hosts)
    ]
    sys.stdout.buffer.write(f"{port}\n".encode())
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    for each in (first, *others):
        each.close()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]) / 1000, int(sys.argv[3])))
