"""Curating: what waits -> what belongs, once, explained.

curate()   values in, values out, the database only read
record()   writes down what `curate` decided
rehearse() what the present rules would do to the last weeks
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlsplit

from sqlmodel import Session

from newsletter import config, types
from newsletter.app import reports
from newsletter.curate import relevance
from newsletter.store import claims, curation, sources

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App

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
        if entry.wanted:
            fits, said = fits or list(entry.topics), [claims.WANTED]
        if fits:
            best = max(scored[entry.ref, slug].value for slug in fits)
            belonging.append(dataclasses.replace(entry, topics=tuple(fits), score=best))
            whys[entry.ref] = "; ".join(said)
        else:
            dropped.append((entry, "; ".join(said)))
    merges = _merges(session, newsletter, belonging)
    into = dict(merges)
    once = _once(belonging, into, newsletter)
    gone = [(entry, same_story(into[entry.ref], belonging)) for entry in belonging if entry.ref in into]
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
    host = (urlsplit(entry.source).hostname or "") if entry.source else ""
    words = [entry.title or "", entry.summary, *entry.authors, *entry.categories, entry.source_name or "", host]
    good, why = relevance.belongs(words, topic.include, topic.exclude)
    if not good or score is None:
        return good, why
    if score.value < topic.min_score:
        shown = f"{score.value:.1f}" if round(score.value, 1) < topic.min_score else f"{score.value:.2f}"
        return False, f"score {shown} is under min_score {topic.min_score:g}"
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
    return _told_twice(session, newsletter, belonging, frozenset())


def doubles(
    session: Session, newsletter: config.Newsletter, standing: Sequence[types.Claimed], edited: AbstractSet[str]
) -> list[tuple[str, str]]:
    """(gone, kept) of what a draft has: two that turned out to be one story, or one that another issue has told.

    Of two, the one stays that an editor changed.
    """
    return _told_twice(session, newsletter, standing, edited, standing={entry.ref for entry in standing})


def _told_twice(
    session: Session,
    newsletter: config.Newsletter,
    entries: Sequence[types.Claimed],
    edited: AbstractSet[str],
    standing: AbstractSet[str] = frozenset(),
) -> list[tuple[str, str]]:
    from newsletter.curate import duplicates

    titled = [entry for entry in entries if entry.title and not entry.wanted]
    if not titled:
        return []
    first = min(entry.published or entry.first_seen for entry in titled) - duplicates.APART
    decided = [
        seen
        for seen in curation.decided(session, newsletter.slug, first)
        if not standing or (seen.ref not in standing and seen.state == types.EntryState.IN_ISSUE)
    ]
    refs = [entry.ref for entry in titled]
    sources = curation.sources_of(session, refs)
    names = curation.names_of(session, refs + [seen.ref for seen in decided])
    old = [
        duplicates.Story(
            seen.ref,
            seen.title,
            seen.sources,
            seen.at,
            (1, 0, 0),
            duplicates.who(seen.authors),
            seen.summary,
            names[seen.ref],
        )
        for seen in decided
    ]
    new = [
        duplicates.Story(
            entry.ref,
            entry.title or "",
            sources.get(entry.ref, frozenset()),
            entry.published or entry.first_seen,
            (
                0,
                entry.ref in edited,
                duplicates.told(title, sources.get(entry.ref, ())) == title,  # not "Show HN: ": the article itself
                bool(entry.authors),
                len(entry.summary),
            ),
            duplicates.who(entry.authors),
            entry.summary,
            names[entry.ref],
        )
        for entry, title in ((entry, " ".join((entry.title or "").split())) for entry in titled)
    ]
    return [(each.gone, each.kept) for each in duplicates.merges([*old, *new]) if each.gone in refs]


def _once(
    belonging: Sequence[types.Claimed], into: Mapping[str, str], newsletter: config.Newsletter
) -> list[types.Claimed]:
    """Each story once, with the topics and the sources of all that tell it."""
    topics = {entry.ref: set(entry.topics) for entry in belonging}
    named = {entry.ref: [entry.source_name, *entry.also] for entry in belonging}
    also = {entry.ref: list(entry.also) for entry in belonging}
    for gone, kept in into.items():
        topics.setdefault(kept, set()).update(topics[gone])
        also.setdefault(kept, []).extend(name for name in named[gone] if name)
    order = [topic.slug for topic in newsletter.topic]
    return [
        dataclasses.replace(
            entry,
            topics=tuple(slug for slug in order if slug in topics[entry.ref]),
            also=tuple(dict.fromkeys(also[entry.ref])),
        )
        for entry in belonging
        if entry.ref not in into
    ]


def same_story(ref: str, belonging: Sequence[types.Claimed]) -> str:
    """Why an entry is left out that the entry `ref` stands for."""
    title = next((entry.title for entry in belonging if entry.ref == ref), None)
    return f"{curation.SAME_STORY}{ref}" + (f" ({' '.join(title.split())[:80]})" if title else "")


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


class Rules(TypedDict, total=False):
    """Rules to try in place of those in newsletter.toml; what is missing, or None, stays as it is there."""

    include: Sequence[str] | None
    exclude: Sequence[str] | None
    min_score: float | None


def rehearse(app: App, topic: str, newsletter: str | None, weeks: int, rules: Rules | None = None) -> list[TopicTest]:
    """What the rules in newsletter.toml, or `rules`, would do to a topic's last weeks; nothing is changed."""
    found, wanted = app.settings.topic_place(topic, newsletter)
    given = {name: value for name, value in (rules or {}).items() if value is not None}
    wanted = wanted.model_copy(update=given)
    relevance.valid([*wanted.include, *wanted.exclude])
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
        source=min(seen.sources, default=None),
    )
