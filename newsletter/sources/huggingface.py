"""Hugging Face's daily papers: `hf:papers`, or `hf:papers?upvotes=20` -> papers of arXiv that people picked.

The list is picked by hand and never complete. Each paper is arXiv's own: it is the same entry as in an arXiv source.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import re
from typing import Any

from newsletter import errors, types
from newsletter.sources import plain, published, visits

MOST = 100
_SOURCE = re.compile(r"papers(?:\?upvotes=(\d{1,5}))?")
_ARXIV_ID = re.compile(r"\d{4}\.\d{4,5}")


def least_upvotes(source: str) -> int:
    """How many upvotes a source (what follows `hf:`) asks for. Raises `errors.FetchError` unless it can be read."""
    match = _SOURCE.fullmatch(source.strip())
    if not match:
        raise errors.FetchError(f"hf:{source}", "there is hf:papers, and hf:papers?upvotes=20")
    return int(match[1] or 0)


def read(body: bytes, *, least: int, now: dt.datetime) -> visits.Document:
    """The papers with at least so many upvotes. Raises `errors.FeedError` for what is no such list."""
    try:
        rows = json.loads(body)
    except (ValueError, RecursionError):
        rows = None
    if not isinstance(rows, list):
        raise errors.FeedError("not Hugging Face's list of daily papers: a JSON list")
    found = (
        _paper(row["paper"], least, now) for row in rows if isinstance(row, dict) and isinstance(row.get("paper"), dict)
    )
    return "Hugging Face daily papers", tuple(paper for paper in found if paper)


def _paper(paper: dict[str, Any], least: int, now: dt.datetime) -> types.FoundEntry | None:
    number, title, votes = str(paper.get("id") or ""), plain.line(str(paper.get("title") or "")), paper.get("upvotes")
    if not (_ARXIV_ID.fullmatch(number) and title) or (votes if isinstance(votes, int) else 0) < least:
        return None
    authors = paper.get("authors")
    names = (
        author.get("name") for author in (authors if isinstance(authors, list) else []) if isinstance(author, dict)
    )
    date = published.parse(str(paper.get("publishedAt") or ""), now=now)
    return types.FoundEntry(
        title=title,
        url=f"https://arxiv.org/abs/{number}",
        summary=plain.paragraphs(str(paper.get("summary") or "")),
        authors=tuple(filter(None, (plain.line(name, 200) for name in names if isinstance(name, str)))),
        published=date[0] if date else None,
        published_is_date=bool(date and date[1]),
        guid=f"arxiv:{number}",
    )


async def visit(ask: visits.Ask, tour: visits.Tour) -> types.Collected:
    """One list."""
    least = least_upvotes(ask.url.partition(":")[2])
    fetched = await tour.fetch(f"{tour.bases.huggingface}?limit={MOST}", ask.validators)
    return await visits.answer(ask, tour, fetched, functools.partial(read, least=least, now=tour.now))
