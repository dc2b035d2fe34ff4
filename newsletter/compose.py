"""A period's entries -> a draft, and a draft -> the issue that is rendered. Pure: values in, values out.

Which entries an issue takes is the store's business (claims); this room decides their order, what is too much, and the
words that the draft begins with.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import zoneinfo
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from newsletter import calendar, config, dates, errors, issuefile, types

EARLIEST = dt.datetime(1, 1, 1, tzinfo=dt.UTC)


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """What an issue takes of what waits: `held` are (entry, why)."""

    taken: tuple[types.Claimed, ...]
    held: tuple[tuple[types.Claimed, str], ...]

    def more(self) -> dict[str, int]:
        """Topic -> how many of its entries were left out."""
        return dict(Counter(entry.topics[0] for entry, _ in self.held))


def issue_date(newsletter: config.Newsletter, cutoff: dt.datetime) -> dt.date:
    """The local day of the first scheduled sending at or after the cut-off: an issue's date.

    The schedule knows minutes: what is composed within the minute of the sending still belongs to it.
    """
    return calendar.following(newsletter.send, newsletter.timezone, cutoff.replace(second=0, microsecond=0)).date()


def ordered(entries: Iterable[types.Claimed], cutoff: dt.datetime, order: str = "newest") -> list[types.Claimed]:
    """By publication, newest first; a future date counts as the cut-off, none as first seen; ties as first seen.

    With `order` "score", what fits its topic best comes first; ties as above.
    """
    return sorted(entries, key=lambda entry: _rank(entry, cutoff, order), reverse=True)  # stable


def select(
    waiting: Sequence[types.Claimed],
    *,
    max_entries: int,
    per_source: Mapping[str, int],
    cutoff: dt.datetime,
    already: Sequence[types.Claimed] = (),
    order: str = "newest",
) -> Selection:
    """Of what waits, the first in order that fit: `max_entries` in all, `per_source` of a source's address.

    The rest is held. `already`: what the issue has. What an editor wants is taken beyond that.
    """
    taken: list[types.Claimed] = []
    held: list[tuple[types.Claimed, str]] = []
    counts = Counter(entry.source for entry in already)
    for entry in ordered(waiting, cutoff, order):
        limit = per_source.get(entry.source or "")
        if entry.wanted:
            taken.append(entry)
        elif limit is not None and counts[entry.source] >= limit:
            held.append((entry, f"more than {limit} of {entry.source_name or entry.source} in one issue"))
        elif len(already) + len(taken) >= max_entries:
            held.append((entry, f"more than {max_entries} entries in one issue"))
        else:
            counts[entry.source] += 1
            taken.append(entry)
    return Selection(tuple(taken), tuple(held))


def draft(
    newsletter: config.Newsletter,
    *,
    date: dt.date,
    cutoff: dt.datetime,
    number: int | None,
    selection: Selection,
    words: Mapping[str, types.Words],
) -> str:
    """The text of a new draft. `words`: ref -> what its block begins with."""
    parts = [
        issuefile.front(
            newsletter=newsletter.slug,
            date=date.isoformat(),
            cutoff=cutoff.astimezone(zoneinfo.ZoneInfo(newsletter.timezone)),
            subject=f"{newsletter.title}, {dates.written(date, newsletter.language)}",
            number=number,
            more=selection.more(),
        )
    ]
    for topic in newsletter.topic:
        blocks = [
            block(entry, newsletter, words[entry.ref]) for entry in selection.taken if entry.topics[0] == topic.slug
        ]
        if blocks or topic.slug in selection.more():
            parts.append(issuefile.new_section(topic.slug, topic.title).raw)
            parts += [each.raw for each in blocks]
    return "".join(parts).rstrip("\n") + "\n"


def refreshed(
    old: types.Draft,
    newsletter: config.Newsletter,
    *,
    entries: Sequence[types.Claimed],
    added: Sequence[types.Claimed],
    words: Mapping[str, types.Words],
    written: Mapping[str, str | None],
    more: Mapping[str, int],
    cutoff: dt.datetime,
    gone: Collection[str] = (),
) -> str:
    """A draft with `added` entries, and with blocks that are still as we wrote them (`written`: ref -> hash) anew.

    What an editor wrote, moved or cut stays so. New entries stand before the first older one of their section, newest
    first as of `cutoff`. `more`: topic -> how many were left out, all told. `gone`: refs whose blocks are taken out, if
    they are still as we wrote them. With nothing to change it is the same text.
    """
    known = {entry.ref: entry for entry in [*entries, *added]}
    sections = []
    for section in old.sections:
        blocks = []
        for each in section.blocks:
            entry = known.get(each.ref or "")
            as_written = written.get(each.ref or "")
            if entry is None or issuefile.fingerprint(each) != as_written:
                blocks.append(each)
                continue
            if each.ref in gone:
                continue
            fresh = block(entry, newsletter, words[entry.ref])
            blocks.append(each if issuefile.fingerprint(fresh) == as_written else fresh)
        sections.append(dataclasses.replace(section, blocks=tuple(blocks)))
    if not added and sections == list(old.sections) and dict(more) == dict(old.more):
        return issuefile.write(old)
    for entry in ordered(added, cutoff, newsletter.order):
        new = block(entry, newsletter, words[entry.ref])
        sections = _with(sections, entry, new, newsletter, known=known, cutoff=cutoff)
    raw = old.raw if dict(more) == dict(old.more) else issuefile.with_more(old.raw, dict(more))
    text = issuefile.write(dataclasses.replace(old, raw=_ended(raw), sections=tuple(map(_closed, sections))))
    text = text.rstrip("\r\n") + "\n"
    return re.sub(r"\r?\n", "\r\n", text) if "\r\n" in old.raw else text


def _with(
    sections: list[types.Section],
    entry: types.Claimed,
    new: types.Block,
    newsletter: config.Newsletter,
    *,
    known: Mapping[str, types.Claimed],
    cutoff: dt.datetime,
) -> list[types.Section]:
    """The sections with one more entry in its place; a section that is missing is made in the settings' order."""
    slug = entry.topics[0]
    order = [topic.slug for topic in newsletter.topic]
    if all(section.slug != slug for section in sections):
        place = sum(section.slug in order[: order.index(slug)] for section in sections)
        made = issuefile.new_section(slug, newsletter.topic_of(slug).title)
        sections = [*sections[:place], made, *sections[place:]]
    found = []
    for section in sections:
        if section.slug == slug:
            at = next(
                (
                    i
                    for i, each in enumerate(section.blocks)
                    if (other := known.get(each.ref or "")) is not None
                    and _rank(other, cutoff, newsletter.order) < _rank(entry, cutoff, newsletter.order)
                ),
                len(section.blocks),
            )
            blocks = (*section.blocks[:at], new, *section.blocks[at:])
            section = dataclasses.replace(section, blocks=blocks)  # noqa: PLW2901
        found.append(section)
    return found


def _rank(entry: types.Claimed, cutoff: dt.datetime, order: str) -> tuple[float, dt.datetime]:
    """What an entry is ordered by."""
    return entry.score if order == "score" else 0.0, min(entry.published or entry.first_seen, cutoff)


def _ended(raw: str) -> str:
    """Text that ends with an empty line, so that a heading may follow."""
    if raw.endswith(("\n\n", "\r\n\r\n")):
        return raw
    return raw.rstrip("\r\n") + "\n\n"


def _closed(section: types.Section) -> types.Section:
    blocks = tuple(dataclasses.replace(each, raw=_ended(each.raw)) for each in section.blocks)
    return dataclasses.replace(section, raw=_ended(section.raw), blocks=blocks)


def block(entry: types.Claimed, newsletter: config.Newsletter, words: types.Words) -> types.Block:
    """An entry as the draft first shows it."""
    parts = []
    if words.who:
        parts.append(words.who)
    if entry.published:
        day = dates.local_day(entry.published, newsletter.timezone, is_date=entry.published_is_date)
        parts.append(dates.written(day, newsletter.language))
    told_by = dict.fromkeys(name for name in (entry.source_name, *entry.also) if name)
    if told_by:
        parts.append(", ".join(told_by))
    line = escape_markdown(" · ".join(parts)) if parts else ""
    return issuefile.new_block(entry.ref, entry.title, entry.url, line, escape_markdown(words.text))


def escape_markdown(text: str) -> str:
    """Plain text as Markdown (CommonMark) that reads as that very text; one paragraph."""
    text = " ".join(text.split())
    text = re.sub(r"\\(?=[!-/:-@\[-`{-~]|$)", r"\\\\", text)
    text = re.sub(r"([*`])", r"\\\1", text)
    text = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)
    text = re.sub(r"<(?=[A-Za-z/!?])", r"\\<", text)
    text = re.sub(r"&(?=#?\w+;)", r"\\&", text)
    text = re.sub(r"([\[\]])", r"\\\1", text) if re.search(r"\][\[(:]|^\[", text) else text
    text = re.sub(r"^([#>=~+-])", r"\\\1", text)
    return re.sub(r"^(\d{1,9})([.)])(?= |$)", r"\1\\\2", text)


def issue_of(
    parsed: types.Draft,
    newsletter: config.Newsletter,
    *,
    period: str,
    base_url: str,
    path: str,
    claims: Mapping[str, types.Claimed] | None,
) -> types.Issue:
    """The issue that a draft describes. `claims`: ref -> entry, or None where there is no database to ask.

    Raises `errors.DraftError` for an unknown topic and for an id that this issue has not claimed.
    """
    problems = []
    known = [topic.slug for topic in newsletter.topic]
    if parsed.newsletter != newsletter.slug:
        problems.append(
            (1, f"front matter: newsletter is {parsed.newsletter!r}, but this is {newsletter.slug}'s draft")
        )
    if not period.startswith(parsed.date):
        problems.append((1, f"front matter: date is {parsed.date}, but the file's name says {period}"))
    for slug, _ in parsed.subjects:
        if slug not in known:
            problems.append((1, f"front matter: subjects: there is no topic {slug!r}; there is {', '.join(known)}"))
    sections = []
    for section in parsed.sections:
        if section.slug not in known:
            problems.append((section.line, f"there is no topic {section.slug!r}; there is {', '.join(known)}"))
        entries = []
        for each in section.blocks:
            claim = claims.get(each.ref) if claims is not None and each.ref else None
            if each.ref and claims is not None and claim is None:
                problems.append(
                    (each.line, f"{{#{each.ref}}} is no entry of this issue; take the id away to keep the text")
                )
            if not (each.title or each.body.strip()):
                problems.append((each.line, "this entry says nothing; write a text or take it away"))
            entries.append(_entry(each, section.slug, claim))
        more = dict(parsed.more).get(section.slug, 0)
        sections.append(types.IssueSection(section.slug, section.title, section.text, tuple(entries), more))
    if problems:
        raise errors.DraftError(path, sorted(problems))
    there = {section.slug for section in sections}
    for topic in newsletter.topic:  # who picked only this one still sees what other sections share with it
        if topic.slug not in there:
            sections.append(types.IssueSection(topic.slug, topic.title, "", (), drafted=False))
    return types.Issue(
        newsletter=newsletter.slug,
        period=period,
        date=dt.date.fromisoformat(parsed.date),
        number=parsed.number,
        subject=parsed.subject,
        subjects=parsed.subjects,
        preheader=parsed.preheader,
        intro=parsed.intro,
        sections=tuple(sections),
        **identity(newsletter, base_url),
    )


def identity(newsletter: config.Newsletter, base_url: str) -> dict[str, Any]:
    """What an issue has from the settings, by the names of its fields: in whose name it is sent, and how it looks."""
    return {
        "base_url": base_url,
        "title": newsletter.title,
        "language": newsletter.language,
        "postal_address": newsletter.postal_address,
        "sender": newsletter.sender,
        "reply_to": newsletter.reply_to,
        "bounce_domain": newsletter.bounce_domain,
        "timezone": newsletter.timezone,
        "direction": newsletter.direction,
        "accent": newsletter.accent,
        "dark_accent": newsletter.dark_accent,
        "logo": newsletter.logo,
        "logo_alt": newsletter.logo_alt,
        "footer": newsletter.footer,
    }


def _entry(each: types.Block, slug: str, claim: types.Claimed | None) -> types.IssueEntry:
    # Moved by hand, it belongs to the new section alone.
    topics = claim.topics if claim is not None and claim.topics[0] == slug else (slug,)
    published = claim.published if claim is not None else None
    return types.IssueEntry(each.ref, each.title, each.url, each.byline, each.body, topics, published)
