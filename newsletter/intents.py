"""What `collect` decides and the store carries out: frozen values between deciding and doing. Standard library only.

lookup (store) -> Known -> decide (collect) -> [New | Same, ...] -> apply (store)
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping

from newsletter import types


@dataclasses.dataclass(frozen=True, slots=True)
class KnownEntry:
    """An entry that the database holds, as a source looks at it.

    `shown` is what that source called it when it last showed it (guid, title and date; the rest is empty), None when it
    never did. `own` says whether that source showed it first: only its edits count, else two sources would overwrite
    each other in turn. `first_seen` lies ahead of now when a clock was.
    """

    id: int
    entry: types.FoundEntry
    shown: types.FoundEntry | None = None
    own: bool = False
    first_seen: dt.datetime | None = None

    @property
    def guid(self) -> str | None:
        """What that source calls it."""
        return self.shown.guid if self.shown else None


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What the database holds of a document.

    By the source's own guids and by what it said of entries (only where one names one entry), by key, and by the pages
    at which sources show their entries now (only where no source shows two entries at one).
    """

    guids: Mapping[str, KnownEntry] = dataclasses.field(default_factory=dict)
    keys: Mapping[str, KnownEntry] = dataclasses.field(default_factory=dict)
    pages: Mapping[str, KnownEntry] = dataclasses.field(default_factory=dict)
    said: Mapping[str, KnownEntry] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class New:
    """An entry that was never seen, under its `key`. `held_why` is the rule that keeps it out, else None."""

    entry: types.FoundEntry
    key: str
    held_why: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Same:
    """A known entry shown again.

    `edit` is what its row shall say from now on, None when nothing changed. `held_why` holds it in newsletters that it
    has not reached yet; `release` lets it go where an age rule holds it; `sooner`: it was first seen now, not later.
    """

    id: int
    entry: types.FoundEntry
    edit: types.FoundEntry | None = None
    held_why: str | None = None
    release: bool = False
    sooner: bool = False

    @property
    def changed(self) -> bool:
        """Does its row need an update?"""
        return self.edit is not None


Intent = New | Same
HELD_FOR_AGE = "older than "  # every reason of the age rules begins so
