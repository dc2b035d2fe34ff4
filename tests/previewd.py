"""The preview of a workspace on a free loopback port, served by uvicorn in a thread: `with previewd.serve(bench) as page`."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import re
import threading
import time
from collections.abc import Callable, Iterator

import httpx2
import uvicorn
from conftest import ISSUE, THURSDAY

from newsletter import app as wiring
from newsletter.app import previewing
from newsletter.web import preview, serving

PATIENCE = 20  # seconds


@dataclasses.dataclass
class Page:
    url: str
    client: httpx2.Client
    stop: Callable[[], None]

    def get(self, path: str = f"/{ISSUE}", **options) -> httpx2.Response:
        return self.client.get(path, **options)

    def text(self, path: str = f"/{ISSUE}") -> str:
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    def message(self, query: str = "") -> str:
        return self.text(f"/{ISSUE}/message{query}")

    def field(self, name: str, path: str = f"/{ISSUE}") -> str:
        """The value of a hidden field."""
        return html.unescape(re.search(rf'name="{name}" value="([^"]*)"', self.text(path))[1])

    def post(self, what: str, headers=(), **fields) -> httpx2.Response:
        """A POST as the page itself sends it; `headers` and `fields` replace what it would send."""
        sent = {"token": self.field("token"), **fields}
        usual = {"origin": self.url, "sec-fetch-site": "same-origin", **dict(headers)}
        given = {name: value for name, value in usual.items() if value is not None}
        return self.client.post(f"/{ISSUE}/{what}", data=sent, headers=given)

    def events(self) -> Iterator[str]:
        """The stamps as they come."""
        with self.client.stream("GET", f"/events?issue={ISSUE}", timeout=PATIENCE) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    yield line.removeprefix("data: ")


@contextlib.contextmanager
def serve(bench, issue: str | None = None, now=THURSDAY, port: int = 0) -> Iterator[Page]:
    desk = previewing.Desk(wiring.open_app(bench.folder, now))
    app = preview.preview_app(desk, issue, by="Ada")
    with serving.listen("127.0.0.1", port) as listening:
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()

        def stop() -> None:
            app.state.closing()
            server.should_exit = True
            thread.join()

        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with httpx2.Client(base_url=url, timeout=PATIENCE) as client:
                yield Page(url, client, stop)
        finally:
            stop()
            desk.close()


def until(true: Callable[[], object]) -> None:
    """Wait for something that comes by itself."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
