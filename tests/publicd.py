"""The public pages of a workspace on a free loopback port, with the mails that they send: `with publicd.serve(bench) as site`."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import email
import email.policy
import functools
import html.parser
import re
import smtpd as smtp_server
import threading
import time
from collections.abc import Iterator

import httpx2
import uvicorn
from conftest import THURSDAY

from newsletter import app as wiring
from newsletter.app import people, postroom
from newsletter.web import public, serving

PATIENCE = 20  # seconds


class Form(html.parser.HTMLParser):
    """The forms of a page, each a list of (name, value) as a browser sends it, without buttons; and its buttons."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.forms, self.buttons, self._select = [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            self.forms.append([])
            self.buttons.append([])
        elif tag == "button":
            self.buttons[-1].append((given.get("name"), given.get("value")))
        elif tag == "select":
            self._select = given["name"]
        elif tag == "option" and "selected" in given:
            self.forms[-1].append((self._select, given["value"]))
        elif tag == "input" and (given["type"] not in ("checkbox", "radio") or "checked" in given):
            self.forms[-1].append((given["name"], given.get("value", "")))


@dataclasses.dataclass
class Site:
    url: str
    client: httpx2.Client
    app: wiring.Newsletter
    smtpd: smtp_server.Server

    def get(self, path, **options):
        return self.client.get(path, **options)

    def post(self, path, data, headers=(), **options):
        """A POST as the page itself sends it; `headers` replace what it would send (None: not sent)."""
        usual = {"origin": self.url, "sec-fetch-site": "same-origin", **dict(headers)}
        given = {name: value for name, value in usual.items() if value is not None}
        return self.client.post(path, data=data, headers=given, **options)

    def fields(self, path, place=0):
        """The fields of a form of a page, as they stand."""
        sent = {}
        for name, value in Form(self.get(path).text).forms[place]:
            sent.setdefault(name, []).append(value)
        return sent

    def subscribe(self, address, topics=("weekly/rl-agents",), path="/subscribe", headers=(), **more):
        """Fill the form in, and send it."""
        return self.post(path, {**self.fields(path), "email": address, "topic": list(topics), **more}, headers)

    def mails(self, address, number=1):
        """The mails to an address, once there are that many."""
        until(lambda: len(self._to(address)) >= number)
        return [email.message_from_bytes(each, policy=email.policy.default) for each in self._to(address)]

    def _to(self, address):
        return [each.octets for each in self.smtpd.taken if each.rcpt == address]

    def link(self, address, kind="confirm", number=1):
        """The path of a link in the newest mail to an address."""
        text = self.mails(address, number)[-1].get_body(("plain",)).get_content()
        return re.search(rf"/{kind}/\S+", text)[0]

    def join(self, address="anna@example.org", topics=("weekly/rl-agents",), **more):
        """Somebody subscribes and says yes; returns the path of their preferences."""
        assert self.subscribe(address, topics, **more).status_code == 200
        path = self.link(address)
        answer = self.post(path, {**self.fields(path), "yes": "1"})
        assert answer.status_code == 200, answer.text
        return re.search(r'href="[^"]*(/preferences/\w+)"', answer.text)[1]

    def person(self, address="anna@example.org"):
        return people.show(self.app, address)

    def state(self, address="anna@example.org"):
        return self.person(address).state


@contextlib.contextmanager
def serve(bench, now=THURSDAY, *, mails=True, settings="") -> Iterator[Site]:
    with contextlib.ExitStack() as stack:
        smtpd = stack.enter_context(mail_server())
        listening = stack.enter_context(serving.listen("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        point(bench, url, smtpd.port, settings)
        app = wiring.open_app(bench.folder, now)
        stack.callback(app.close)
        site = public.build(app)
        config = uvicorn.Config(
            site, log_config=None, access_log=False, lifespan="off", proxy_headers=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)

        async def running():
            async with serving.beside([functools.partial(postroom.run, app)] if mails else []):
                await server.serve(sockets=[listening])

        thread = threading.Thread(target=asyncio.run, args=(running(),))
        thread.start()
        try:
            with httpx2.Client(base_url=url, timeout=PATIENCE) as client:
                yield Site(url, client, app, smtpd)
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def mail_server() -> Iterator[smtp_server.Server]:
    """A catch-all that ends in a thread of its own: playwright's loop runs in the one of a browser's test."""
    running = smtp_server.serve()
    try:
        yield running.__enter__()
    finally:
        ending = threading.Thread(target=running.__exit__, args=(None, None, None))
        ending.start()
        ending.join()


def point(bench, url, port, settings=""):
    """Let a workspace's settings speak of this site and this mail server."""
    path = bench.folder / "newsletter.toml"
    text = re.sub(r"(?ms)^\[site\].*?(?=^\[)", "", path.read_text("utf-8"))
    text = re.sub(r"(?m)^port = \d+$", f"port = {port}", text)
    path.write_text(f'[site]\nbase_url = "{url}"\n{settings}\n\n{text}', encoding="utf-8")


def until(true) -> None:
    """Wait for something that comes by itself."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
