"""Curating: what waits -> what belongs, once, explained; and the words of each entry, with where they came from.

curate()   values in, values out, the database only read
record()   writes down what `curate` decided
Wording    an entry's two sentences: extracted, or a model's behind the guard; the model is asked outside of
transactions, and never twice for the same text
rehearse() what the present rules would do to the last weeks
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
import logging
import re
import time
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlmodel import Session

from newsletter import config, types
from newsletter.app import reports
from newsletter.curate import duplicates, guard, llm, relevance, sentences, summary
from newsletter.store import claims, curation, sources, tables

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

log = logging.getLogger(__name__)
IMPORT = "import:"  # the sources of what was given by hand begin so
WAIT = 180.0  # seconds that a compose waits for a model, in all
FAULTS = 3  # after so many in a row, the server is left alone
MEMORY = dt.timedelta(weeks=8)  # how far back a topic's scores look


# -- what belongs --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Curated:
    """`belonging` has each story once, with the topics it fits; `dropped` are (entry, why).

    `merges` are (gone, kept) refs; `whys` explain what belongs; `scores` are (ref, topic) -> (score, why).
    """

    belonging: tuple[types.Claimed, ...]
    dropped: tuple[tuple[types.Claimed, str], ...]
    merges: tuple[tuple[str, str], ...]
    whys: Mapping[str, str]
    scores: Mapping[tuple[str, str], tuple[float, str | None]]

    @property
    def unfit(self) -> int:
        """How many match no rule; the other dropped ones are told by another entry."""
        return len(self.dropped) - len(self.merges)


def curate(
    session: Session, newsletter: config.Newsletter, waiting: Sequence[types.Claimed], now: dt.datetime
) -> Curated:
    """Decide about what waits. Reads what was kept and decided before; writes nothing."""
    scored = _scored(session, newsletter, waiting, now)
    belonging, dropped = [], []
    whys: dict[str, str] = {}
    scores: dict[tuple[str, str], tuple[float, str | None]] = {}
    for entry in waiting:
        fits, said = [], []
        for slug in entry.topics:
            topic, score = newsletter.topic_of(slug), scored[entry.ref, slug]
            good, why = _judge(entry, topic, score)
            scores[entry.ref, slug] = score.value, why
            said.append(f"{slug}: {why}")
            if good:
                fits.append(slug)
        if fits:
            best = max(scored[entry.ref, slug].value for slug in fits)
            belonging.append(dataclasses.replace(entry, topics=tuple(fits), score=best))
            whys[entry.ref] = "; ".join(said)
        else:
            dropped.append((entry, "; ".join(said)))
    merges = _merges(session, newsletter, belonging)
    into = dict(merges)
    once = _once(belonging, into, newsletter)
    gone = [(entry, _same_story(into[entry.ref], belonging)) for entry in belonging if entry.ref in into]
    return Curated(tuple(once), (*dropped, *gone), tuple(merges), whys, scores)


def record(session: Session, newsletter: config.Newsletter, curated: Curated, now: dt.datetime) -> None:
    """Write scores down, and let entries name the sources of those that they stand for."""
    curation.stand_for(session, newsletter.slug, curated.merges, now)
    curation.set_scores(session, newsletter.slug, curated.scores)


def fitting(
    entry: types.Claimed, newsletter: config.Newsletter, scores: Mapping[tuple[str, str], float]
) -> tuple[tuple[str, ...], str]:
    """(the topics that let an entry in that was curated before, what each of them says)."""
    fits, said = [], []
    for slug in entry.topics:
        topic, value = newsletter.topic_of(slug), scores.get((entry.ref, slug))
        good, why = _judge(entry, topic, relevance.Score(value, ()) if value is not None else None)
        said.append(f"{slug}: {why}")
        if good:
            fits.append(slug)
    return tuple(fits), "; ".join(said)


def _judge(entry: types.Claimed, topic: config.Topic, score: relevance.Score | None) -> tuple[bool, str | None]:
    words = [entry.title or "", entry.summary, *entry.authors, *entry.categories, entry.source_name or ""]
    good, why = relevance.belongs(words, topic.include, topic.exclude)
    if not good or score is None:
        return good, why
    if score.value < topic.min_score:
        return False, f"score {score.value:.1f} is under min_score {topic.min_score:g}"
    return True, relevance.explained(why, score)


def _scored(
    session: Session, newsletter: config.Newsletter, waiting: Sequence[types.Claimed], now: dt.datetime
) -> dict[tuple[str, str], relevance.Score]:
    """(ref, topic) -> score, measured against the topic's entries of the last weeks."""
    found: dict[tuple[str, str], relevance.Score] = {}
    for topic in newsletter.topic:
        mine = [entry for entry in waiting if topic.slug in entry.topics]
        if not mine:
            continue
        refs = {entry.ref for entry in mine}
        others = curation.of_topic(session, newsletter.slug, topic.slug, since=now - MEMORY)
        kept = curation.kept(session, newsletter.slug, topic.slug)
        collection = [_text(entry) for entry in mine] + [_text(seen) for seen in others if seen.ref not in refs]
        scorer = relevance.Scorer([topic.title, *topic.words], collection, [_text(seen) for seen in kept])
        found |= {(entry.ref, topic.slug): score for entry, score in zip(mine, scorer.scores(), strict=False)}
    return found


def _text(entry: types.Claimed | curation.Seen) -> relevance.Text:
    return relevance.Text(entry.title or "", " ".join([entry.summary, *entry.categories]))


def _merges(
    session: Session, newsletter: config.Newsletter, belonging: Sequence[types.Claimed]
) -> list[tuple[str, str]]:
    """(gone, kept): of each story, what an issue has stays, else what says most."""
    titled = [entry for entry in belonging if entry.title]
    if not titled:
        return []
    sources = curation.sources_of(session, [entry.ref for entry in titled])
    first = min(entry.published or entry.first_seen for entry in titled) - duplicates.APART
    old = [
        duplicates.Story(seen.ref, seen.title, seen.sources, seen.at, (1, 0, 0))
        for seen in curation.decided(session, newsletter.slug, first)
    ]
    new = [
        duplicates.Story(
            entry.ref,
            entry.title or "",
            sources.get(entry.ref, frozenset()),
            entry.published or entry.first_seen,
            (0, bool(entry.authors), len(entry.summary)),
        )
        for entry in titled
    ]
    mine = {entry.ref for entry in titled}
    return [(each.gone, each.kept) for each in duplicates.merges([*old, *new]) if each.gone in mine]


def _once(
    belonging: Sequence[types.Claimed], into: Mapping[str, str], newsletter: config.Newsletter
) -> list[types.Claimed]:
    """Each story once, with the topics of all that tell it."""
    topics = {entry.ref: set(entry.topics) for entry in belonging}
    for gone, kept in into.items():
        topics.setdefault(kept, set()).update(topics[gone])
    order = [topic.slug for topic in newsletter.topic]
    return [
        dataclasses.replace(entry, topics=tuple(slug for slug in order if slug in topics[entry.ref]))
        for entry in belonging
        if entry.ref not in into
    ]


def _same_story(ref: str, belonging: Sequence[types.Claimed]) -> str:
    title = next((entry.title for entry in belonging if entry.ref == ref), None)
    return f"{curation.SAME_STORY}{ref}" + (f" ({' '.join(title.split())[:80]})" if title else "")


# -- the words -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Words:
    """What an entry's block begins with, and where that came from, for the editor."""

    text: str
    origin: str


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
        end, calls, faults, stop = time.monotonic() + WAIT, 0, 0, self._unset()
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
            return {ref: Words(each.text, each.origin) for ref, each in made.items()}
        hashes = {entry.ref: _hash(entry) for entry in entries if _askable(entry, made[entry.ref])}
        known = self._answers | self._known(session, [each for each in hashes.values() if each not in self._answers])
        found, refused = {}, []
        for entry in entries:
            own = made[entry.ref]
            text_hash = hashes.get(entry.ref)
            if text_hash is None:
                found[entry.ref] = Words(own.text, own.origin)
                continue
            answer = known.get(text_hash)
            if answer is None:
                why: str | None = self._faults.get(text_hash, "not asked yet; --refresh asks")
            else:
                why = guard.refusal(answer, _shown(entry), own.subject)
            if why is None and answer is not None:
                found[entry.ref] = Words(answer, f"by {self._settings.model}")
            else:
                found[entry.ref] = Words(own.text, f"{own.origin}, not by {self._settings.model or 'a model'}: {why}")
                refused.append(why or "")
        if refused:
            log.warning(
                "summaries fell back to the extractive ones; the front matter of the draft says why",
                extra={"entries": len(refused), "reason": refused[0]},
            )
        return found

    def _unset(self) -> str | None:
        for key in ("base_url", "model"):
            if not getattr(self._settings, key):
                return f"summary.{key} is not set"
        return None

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
        grouped.setdefault(_printable(origin), []).append(ref)
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


def _printable(text: str) -> str:
    """One line that a TOML comment may hold."""
    plain = "".join(char for char in text if unicodedata.category(char)[0] != "C" or char == " ")
    return plain if len(plain) <= 200 else plain[:199] + "…"


# -- a dry run -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class TopicTest(reports.Report):
    """What the present rules say about one entry. `change`: "in" or "out" where that is not what was decided."""

    id: str
    title: str
    first_seen: dt.datetime
    state: str
    issue: str | None
    belongs: bool
    score: float
    why: str | None
    change: str | None


def rehearse(app: App, topic: str, newsletter: str | None, weeks: int) -> list[TopicTest]:
    """What the rules in newsletter.toml would do to a topic's entries of the last weeks; nothing is changed."""
    found, wanted = app.settings.topic_place(topic, newsletter)
    now = app.clock.now()
    result = []
    with app.store.read() as session:
        seen = curation.of_topic(session, found.slug, wanted.slug, since=now - dt.timedelta(weeks=weeks), limit=10_000)
        known = sources.known(session, list({url for each in seen for url in each.sources}))
        names = {url: row.title for url, row in known.items() if row.title}
        names |= {source.url: source.name for source in wanted.sources if source.name}
        claimed = [_as_claimed(each, wanted.slug, names) for each in seen]
        scored = _scored(session, found, claimed, now)
    for each, entry in zip(seen, claimed, strict=True):
        score = scored[each.ref, wanted.slug]
        good, why = _judge(entry, wanted, score)
        result.append(
            TopicTest(
                id=each.ref,
                title=each.title or " ".join(each.summary.split())[:80],
                first_seen=each.first_seen,
                state=each.state,
                issue=each.issue,
                belongs=good,
                score=score.value,
                why=why,
                change=_change(each, good=good),
            )
        )
    return result


def _change(seen: curation.Seen, *, good: bool) -> str | None:
    """What would be different: "in", "out" or nothing."""
    was_in = seen.state in (types.EntryState.IN_ISSUE, types.EntryState.HELD, types.EntryState.WAITING)
    if was_in and not good:
        return "out"
    by_rule = (
        seen.state == types.EntryState.DROPPED
        and seen.issue
        and not (seen.why or "").startswith((claims.CUT, curation.SAME_STORY))
    )
    return "in" if by_rule and good else None


def _as_claimed(seen: curation.Seen, topic: str, names: Mapping[str, str]) -> types.Claimed:
    return types.Claimed(
        ref=seen.ref,
        title=seen.title or None,
        url=None,
        authors=seen.authors,
        summary=seen.summary,
        published=seen.at,
        published_is_date=False,
        first_seen=seen.first_seen,
        topics=(topic,),
        categories=seen.categories,
        source_name=next((names[url] for url in sorted(seen.sources) if url in names), None),
    )
