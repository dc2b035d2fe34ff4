"""Where in a draft the parts of an issue stand: `issues/weekly/2026-09-11.md:17`."""

from __future__ import annotations

import dataclasses
import re

from newsletter import types


@dataclasses.dataclass(frozen=True, slots=True)
class Places:
    """The file and the lines of an issue's parts, in the order of its sections; without a file, their names."""

    path: str = ""
    front: str = ""
    intro: int = 0
    sections: tuple[int, ...] = ()
    entries: tuple[tuple[int, ...], ...] = ()

    def of_key(self, key: str) -> str:
        """Of `subject` or `preheader` in the front matter."""
        found = re.search(rf"(?m)^[ \t]*{key}[ \t]*=", self.front)
        return self._line(self.front.count("\n", 0, found.start()) + 1 if found else 1, key)

    def of_intro(self) -> str:
        """Of the introduction."""
        return self._line(self.intro, "introduction")

    def of_section(self, number: int, section: types.IssueSection) -> str:
        """Of a section's heading."""
        return self._line(self.sections[number] if number < len(self.sections) else 0, section.slug)

    def of_entry(self, number: int, place: int, section: types.IssueSection) -> str:
        """Of an entry's heading."""
        entry = section.entries[place]
        words = " ".join((entry.title or entry.body).split())
        lines = self.entries[number] if number < len(self.entries) else ()
        return self._line(lines[place] if place < len(lines) else 0, entry.ref or f"{section.slug}: {words[:60]}")

    def _line(self, line: int, name: str) -> str:
        return f"{self.path}:{line}" if self.path and line else name


def of(draft: types.Draft, path: str) -> Places:
    """The places of a draft's parts."""
    front = re.split(r"(?m)^\ufeff?\+\+\+[ \t\r]*$", draft.raw, maxsplit=2)
    head = draft.raw[: draft.raw.index(front[2])] if len(front) > 2 and front[2] else draft.raw
    after = draft.raw[len(head) :]
    blank = len(after) - len(after.lstrip())
    return Places(
        path=path,
        front=head,
        intro=draft.raw.count("\n", 0, len(head) + blank) + 1,
        sections=tuple(section.line for section in draft.sections),
        entries=tuple(tuple(block.line for block in section.blocks) for section in draft.sections),
    )
