"""Whose turn it is at a host, among all processes of a workspace."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from newsletter.store import owners, sources

if TYPE_CHECKING:
    from newsletter.app import Newsletter as App


class Turns:
    """Keeps the turns of hosts in the database, by the machine's clock: a rehearsal does not govern them."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.writing = threading.Lock()  # two threads of ours need not find the database busy
        self.owner = owners.Owner(app.locks)

    def admit(self, source: str) -> float:
        """As `manners.Keeper.admit`: whoever is asked for by name is asked."""
        return 0.0

    def is_dead(self, owner: str) -> bool:
        """Has that owner's process ended? Then nothing is left of it."""
        dead = self.app.is_dead(owner)
        if dead:
            owners.bury(self.app.locks, owner)
        return dead

    def take(self, host: str) -> float:
        """As `manners.Keeper.take`."""
        with self.writing, self.app.store.write() as session:
            return sources.take_turn(session, host, self.owner.id, self.app.wall_clock(), self.is_dead)

    def give(self, host: str, pause: float) -> None:
        """As `manners.Keeper.give`."""
        with self.writing, self.app.store.write() as session:
            sources.give_turn(session, host, self.owner.id, self.app.wall_clock(), pause)

    def close(self) -> None:
        """No more turns."""
        self.owner.release()
