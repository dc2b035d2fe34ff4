"""Do the links of an issue answer? One request a link, with the manners and the guard that sources are fetched with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from newsletter import errors, types
from newsletter.render import page
from newsletter.render.check.rules import found
from newsletter.sources import links

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

# What a server says to programs, and often not to people.
_TO_PROGRAMS = frozenset({401, 403, 405, 406, 408, 429, 451, 500, 502, 503, 504, 999})


def check(
    app: App,
    texts: Sequence[str],
    issue: types.Issue,
    places: Mapping[str, str],
    progress: Callable[[int, int], None] | None,
) -> list[types.Finding]:
    """What does not answer of all links of an issue's HTML `texts`; links to its own pages are not tried."""
    seen = dict.fromkeys(href.partition("#")[0] for html in texts for href, _ in page.read(html).links)
    home = f"{issue.base_url}/"
    urls = [url for url in seen if url.lower().startswith(("http://", "https://")) and not f"{url}/".startswith(home)]
    answers = asyncio.run(
        links.ask(urls, app.settings.collect, user_agent=app.user_agent, now=app.clock.now(), progress=progress)
    )
    return [_said(url, answers[url], places.get(url, "HTML")) for url in urls if answers[url] is not None]


def _said(url: str, error: errors.FetchError | None, where: str) -> types.Finding:
    shown = url if len(url) <= 100 else url[:99] + "…"
    if error is not None and error.status in _TO_PROGRAMS:
        return found("link-unproven", f"{shown}: {error}", where)
    return found("link-dead", f"{shown}: {error}", where)
