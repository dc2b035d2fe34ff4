"""The API of a workspace on a free loopback port, with keys: `with apid.serve(bench) as api`. It is the whole site."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Iterator

import httpx2
import publicd
from conftest import THURSDAY

from newsletter.app import apikeys

YES = {"text": "Send me the topics I chose.", "at": "2026-09-01T10:00:00+02:00", "ip": "192.0.2.7", "page": "join v3"}
ROBOTS, AGENTS = "weekly/robots", "weekly/rl-agents"


_KEYS = (("website", "write"), ("reports", "read"))


@dataclasses.dataclass
class Api:
    site: publicd.Site
    write: str
    read: str

    @property
    def app(self):
        return self.site.app

    def ask(self, method, path, *, key="write", **options) -> httpx2.Response:
        """A request with a key: write, read, none, or a token."""
        token = {"write": self.write, "read": self.read}.get(key, key)
        headers = {**({"authorization": f"Bearer {token}"} if token != "none" else {}), **options.pop("headers", {})}
        return self.site.client.request(method, f"/api/v1{path}", headers=headers, **options)

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, path, body, **options):
        return self.ask("POST", path, json=body, **options)

    def patch(self, path, body, **options):
        return self.ask("PATCH", path, json=body, **options)

    def delete(self, path, **options):
        return self.ask("DELETE", path, **options)

    def make(self, email, topics=(ROBOTS,), **more):
        """Ask for a subscriber."""
        return self.post("/subscribers", {"email": email, "topics": list(topics), **more})

    def active(self, email, topics=(ROBOTS,), **more):
        """A subscriber who has said yes."""
        answer = self.make(email, topics, state="active", consent=YES, **more)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def state(self, email):
        return self.get(f"/subscribers/{email}").json()["state"]


@contextlib.contextmanager
def serve(bench, now=THURSDAY, *, keys=True, **options) -> Iterator[Api]:
    """`keys` False: they were made before."""
    with publicd.serve(bench, now, **options) as site:
        made = [apikeys.add(site.app, name, scope) if keys else "" for name, scope in _KEYS]
        yield Api(site, *made)


def problem(answer, status, kind="about:blank"):
    """A problem document (RFC 9457) of this status, and what it says."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert found["type"].rpartition("/")[2] == kind
    return found


def at_once(*calls):
    """Call them all at the same time, each in a thread; their results in order."""
    results = [None] * len(calls)
    gate = threading.Barrier(len(calls))

    def run(place):
        gate.wait()
        results[place] = calls[place]()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
