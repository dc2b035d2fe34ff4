"""`newsletter serve`: the public pages, and the mails about subscriptions, in one process."""

from __future__ import annotations

import functools
import logging
import sys

import click

from newsletter import config
from newsletter.cli import output


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="The port.")
@click.pass_context
@output.example("newsletter serve", "newsletter -v serve --port 8080")
def serve(ctx: click.Context, *, host: str, port: int) -> None:
    """Serve the public pages, and send the mails about subscriptions. Runs until Ctrl-C or SIGTERM.

    A reverse proxy in front has the certificate, and passes everything on (docs/pages.md). With -v: a line a request.
    """
    from newsletter.app import postroom
    from newsletter.web import public, serving

    _tell_more()
    app = output.app(ctx)
    page = public.build(app)
    if not config.is_loopback(host):
        output.warn(f"warning: {host} can be reached from outside, without encryption: put a proxy with TLS in front")
    mails = functools.partial(postroom.run, app)
    serving.serve(serving.Served(page, host, port, _opened), tasks=[mails])
    output.say("stopped")


def _opened(url: str) -> None:
    output.say(f"pages    {url}subscribe  (Ctrl-C stops)")


class _Whole(logging.Formatter):
    """A message and what goes with it: `request method=GET route=/confirm/{token} status=200 ms=3`."""

    _USUAL = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}

    def format(self, record: logging.LogRecord) -> str:
        more = {name: value for name, value in record.__dict__.items() if name not in self._USUAL}
        return " ".join([super().format(record), *(f"{name}={value}" for name, value in more.items())])


def _tell_more() -> None:
    ours = (each for each in logging.getLogger().handlers if getattr(each, "stream", None) is sys.stderr)
    for handler in ours:
        handler.setFormatter(_Whole("%(asctime)s %(levelname)s %(name)s: %(message)s"))
