"""A dry run that is too long for one transaction: a second database with the same people, thrown away afterwards.

Its numbers are exact, and no running send waits for it: the real database is only read, once, at the beginning.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from newsletter import store
from newsletter.store import tables

PEOPLE = ("subscriber", "subscription", "suppression", "tag")


@contextlib.contextmanager
def rehearsal(real: store.Store) -> Iterator[store.Store]:
    """A store with the people of `real`, without their records of consent, as long as the block lasts."""
    path = Path(real.engine.url.database or "")
    with tempfile.TemporaryDirectory(prefix=".rehearsal-", dir=path.parent) as folder:
        copy = store.connect_any(f"sqlite:///{folder}/newsletter.db")
        try:
            tables.metadata.create_all(copy.engine, tables=[tables.metadata.tables[n] for n in (*PEOPLE, "consent")])
            _fill(copy, path)
            yield copy
        finally:
            copy.close()


def _fill(copy: store.Store, path: Path) -> None:
    with copy.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver
        connection.rollback()  # ATTACH stands outside of any transaction
        driver.execute("ATTACH ? AS real", (str(path),))
    with copy.write() as session:
        for name in PEOPLE:
            columns = ", ".join(column.name for column in tables.metadata.tables[name].columns)
            session.execute(sa.text(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM real.{name}"))  # noqa: S608
    with copy.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver
        connection.rollback()
        driver.execute("DETACH real")
