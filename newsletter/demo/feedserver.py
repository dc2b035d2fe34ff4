"""The demo's feeds over real HTTP on this machine, with validators, so that a second visit gets 304."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TYPES = {".atom": "application/atom+xml", ".rss": "application/rss+xml", ".json": "application/feed+json"}


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the feeds of a folder on a free port of the loopback interface; gives the address, `http://127.0.0.1:40123`."""
    feeds = {f"/{path.name}": path.read_bytes() for path in folder.iterdir() if path.suffix in _TYPES}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(feeds))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="feed server", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(feeds: dict[str, bytes]) -> type[http.server.BaseHTTPRequestHandler]:
    """A handler that knows these paths and no other: no path of a request ever reaches the file system."""

    class Handler(http.server.BaseHTTPRequestHandler):
        server_version = "demo-feeds"
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, *, with_body: bool) -> None:
            body = feeds.get(self.path)
            if body is None:
                self.send_error(404)
                return
            etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            unchanged = self.headers.get("If-None-Match") == etag
            self.send_response(304 if unchanged else 200)
            self.send_header("ETag", etag)
            self.send_header("Cache-Control", "max-age=0")
            if not unchanged:
                self.send_header("Content-Type", f"{_TYPES[Path(self.path).suffix]}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body and not unchanged:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    return Handler
