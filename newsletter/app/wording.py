"""The words of entries: extracted, or a model's behind the guard; and where each came from, for the editor.

Wording        asks a model outside of any transaction, and never twice for the same text
with_origins() a draft that says, in comments of its front matter, where its summaries come from
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import re
import time
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import types
from newsletter.curate import authors, guard, llm, sentences, summary
from newsletter.store import curation, tables

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

log = logging.getLogger(__name__)
IMPORT = "import:"  # the sources of what was given by hand begin so
WAIT = 180.0  # seconds that a compose waits for a model, in all
FAULTS = 3  # after so many in a row, the server is left alone


@dataclasses.dataclass(frozen=True, slots=True)
class Words(types.Words):
    """And where the words came from, for the editor. `fault`: why not from the model."""

    origin: str = ""
    fault: str | None = None


class Wording:
    """The words of entries, for one compose. `ask` may take minutes: call it outside of any transaction."""

    def __init__(self, app: App) -> None:
        self._app, self._settings = app, app.settings.summary
        self._answers: dict[str, str] = {}
        self._faults: dict[str, str] = {}  # hash of a text -> why there is no answer to it

    @property
    def asks(self) -> bool:
        """Is there a model to ask?"""
        return self._settings.engine == "openai"

    def ask(self, entries: Iterable[types.Claimed]) -> None:
        """Ask the model about what it was not asked before, as long as time, calls and the server allow."""
        if not self.asks:
            return
        wanted = {_hash(entry): entry for entry in entries if _askable(entry, _summary(entry))}
        with self._app.store.read() as session:
            self._answers |= self._known(session, list(wanted))
        missing = {text_hash: entry for text_hash, entry in wanted.items() if text_hash not in self._answers}
        end, calls, faults = time.monotonic() + WAIT, 0, 0
        stop: str | None = None
        for text_hash, entry in missing.items():
            left = end - time.monotonic()
            if stop is None and left <= 0:
                stop = f"all answers together took over {WAIT:g} s"
            if stop is None and calls >= self._settings.max_calls:
                stop = f"summary.max_calls ({self._settings.max_calls}) calls were made"
            if stop is not None:
                self._faults[text_hash] = stop
                continue
            calls += 1
            answer = self._call(entry, min(left, self._settings.timeout.total_seconds()))
            if answer.text is None:
                self._faults[text_hash] = answer.reason or "no answer"
                faults += 1
                stop = f"{answer.reason}, {FAULTS} times in a row" if faults >= FAULTS else None
                continue
            faults = 0
            self._keep(text_hash, answer.text, answer.tokens)
        if missing:
            extra = {"calls": calls, "unanswered": len(self._faults), "model": self._settings.model}
            log.info("a model was asked for summaries", extra=extra)

    def words(self, session: Session, entries: Sequence[types.Claimed]) -> dict[str, Words]:
        """ref -> words: the model's where there are any and they pass the guard, else those of the text."""
        made = {entry.ref: _summary(entry) for entry in entries}
        if not self.asks:
            return {entry.ref: Words(made[entry.ref].text, _who(entry), made[entry.ref].origin) for entry in entries}
        hashes = {entry.ref: _hash(entry) for entry in entries if _askable(entry, made[entry.ref])}
        known = self._answers | self._known(session, [each for each in hashes.values() if each not in self._answers])
        found = {}
        for entry in entries:
            own = made[entry.ref]
            text_hash = hashes.get(entry.ref)
            if text_hash is None:
                found[entry.ref] = Words(own.text, _who(entry), own.origin)
                continue
            answer = known.get(text_hash)
            if answer is None:
                why: str | None = self._faults.get(text_hash, "not asked yet; --refresh asks")
            else:
                why = guard.refusal(answer, _shown(entry), own.subject)
            if why is None and answer is not None:
                found[entry.ref] = Words(answer, _who(entry), f"by {self._settings.model}")
            else:
                origin = f"{own.origin}, not by {self._settings.model}: {why}"
                found[entry.ref] = Words(own.text, _who(entry), origin, why)
        return found

    def _call(self, entry: types.Claimed, timeout: float) -> llm.Answer:
        settings = self._settings
        server = llm.Server(settings.base_url, settings.model, settings.api_key.get_secret_value(), timeout)
        return llm.ask(
            server, title=entry.title or "", text=sentences.tidy(entry.summary), subject=_summary(entry).subject
        )

    def _known(self, session: Session, hashes: Sequence[str]) -> dict[str, str]:
        return curation.answers(session, hashes, self._settings.model, llm.prompt_hash())

    def _keep(self, text_hash: str, text: str, tokens: int) -> None:
        """At once: what was paid for outlives a kill."""
        self._answers[text_hash] = text
        with self._app.store.write() as session:
            curation.keep_answer(
                session,
                tables.ModelAnswer(
                    text_hash=text_hash,
                    model=self._settings.model,
                    prompt_hash=llm.prompt_hash(),
                    answer=text[: guard.LONGEST + 1],
                    tokens=tokens,
                    at=self._app.clock.now(),
                ),
            )


def _article(entry: types.Claimed) -> summary.Article:
    return summary.Article(
        text=entry.summary,
        authors=entry.authors,
        title=entry.title or "",
        url=entry.url or "",
        categories=entry.categories,
        by_hand=(entry.source or "").startswith(IMPORT),
    )


def _summary(entry: types.Claimed) -> summary.Summary:
    return summary.summarise(_article(entry))


def _who(entry: types.Claimed) -> str:
    found = authors.subject(entry.authors)
    return found.phrase if found.known else ""


def _askable(entry: types.Claimed, own: summary.Summary) -> bool:
    """Is there something that a model could do better? Not where the words are finished, or no English."""
    return own.origin != summary.AS_IT_CAME and sentences.is_english(sentences.tidy(entry.summary))


def _shown(entry: types.Claimed) -> str:
    """All that the model was shown of an entry: what its answer is measured by."""
    subject = _summary(entry).subject
    text = sentences.tidy(entry.summary)[: llm.MOST_TEXT]
    return f"{entry.title or ''}\n{text}\n{subject.phrase if subject else ''}"


def _hash(entry: types.Claimed) -> str:
    subject = _summary(entry).subject
    shown = [entry.title, sentences.tidy(entry.summary)[: llm.MOST_TEXT], subject.phrase if subject else None]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


# -- what the editor sees ------------------------------------------------------------------------------------------

_HEAD = "# Where the summaries come from (no reader sees this):"
_NOTE = re.compile(rf"(?m)^{re.escape(_HEAD)}\r?\n(?:# - .*\r?\n)*")


def with_origins(text: str, origins: Mapping[str, str]) -> str:
    """A draft whose front matter says where each summary came from, in comments: ref -> origin."""
    opening = re.match(r"\ufeff?\+\+\+[ \t]*\r?\n", text)
    closing = re.compile(r"(?m)^\+\+\+[ \t]*\r?$").search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return text
    front = _NOTE.sub("", text[opening.end() : closing.start()])
    eol = "\r\n" if "\r\n" in opening[0] else "\n"
    grouped: dict[str, list[str]] = {}
    for ref, origin in origins.items():
        grouped.setdefault(printable(origin), []).append(ref)
    lines = [f"# - {origin}: {' '.join(refs)}" for origin, refs in grouped.items()]
    note = "".join(line + eol for line in [_HEAD, *lines]) if lines else ""
    return text[: opening.end()] + front + note + text[closing.start() :]


def origins_in(text: str) -> dict[str, str]:
    """ref -> origin, as `with_origins` wrote them."""
    found: dict[str, str] = {}
    match = _NOTE.search(text)
    for line in match[0].splitlines()[1:] if match else []:
        origin, _, refs = line.removeprefix("# - ").rpartition(": ")
        found |= dict.fromkeys(refs.split(), origin)
    return found


def printable(text: str) -> str:
    """One line that a TOML comment may hold."""
    plain = "".join(char for char in text if unicodedata.category(char)[0] != "C" or char == " ")
    return plain if len(plain) <= 200 else plain[:199] + "…"
