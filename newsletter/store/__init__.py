"""The database: opens it, brings it into being, refuses one that is too new or too old, and hands out sessions.

SQLite runs in WAL mode with `synchronous=FULL`: what is committed survives a power cut. A write begins with BEGIN
IMMEDIATE, so that two writers wait for each other instead of failing half-way. One module a noun does the rest.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DatabaseError
from sqlmodel import Session

from newsletter import errors

HEAD = "0006"  # the newest migration; a test holds it equal to Alembic's head
BUSY_SECONDS = 30
MIGRATIONS = Path(__file__).parent / "migrations"


class Store:
    """One database. `read()` and `write()` give sessions; a write commits at its end, or not at all."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.is_sqlite = engine.dialect.name == "sqlite"

    @contextlib.contextmanager
    def read(self) -> Iterator[Session]:
        """A session that sees one state of the database and changes nothing."""
        with _explained(self.engine), Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextlib.contextmanager
    def write(self) -> Iterator[Session]:
        """One transaction: committed when the block ends, rolled back when it raises."""
        engine = self.engine.execution_options(write=True)
        with _explained(engine), Session(engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextlib.contextmanager
    def erase(self) -> Iterator[Session]:
        """As `write`; what is deleted is overwritten in SQLite's files, too, as far as no other process reads them."""
        with self.write() as session:
            if self.is_sqlite:
                session.execute(sa.text("PRAGMA secure_delete=ON"))
            yield session
        if self.is_sqlite:
            with _explained(self.engine), self.engine.connect() as connection:
                connection.rollback()  # outside of any transaction
                driver = connection.connection.driver_connection
                assert driver
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()


def connect(url: str, *, create: bool = True) -> Store:
    """Open a database; a new one gets its tables. Raises `errors.StoreError` when its schema is not ours."""
    store = Store(_engine(url))
    try:
        found = revision(store)
        if found is None and not create:
            raise errors.StoreError("there is no database yet; `newsletter db upgrade` makes it")
        if found is None:
            upgrade(store)
        elif found != HEAD:
            raise errors.StoreError(wrong_schema(found))
    except errors.StoreError:
        store.close()
        raise
    return store


def connect_any(url: str) -> Store:
    """Open a database whatever its schema; for `db` and `doctor`."""
    return Store(_engine(url))


def _engine(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise errors.ConfigError(
            'newsletter.toml: site.database: must be like "sqlite:///subscribers/newsletter.db" or "postgresql://…"'
        ) from None
    if parsed.get_backend_name() != "sqlite":
        raise errors.ConfigError("newsletter.toml: site.database: only SQLite is supported by this version")
    if parsed.database:
        try:
            Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise errors.StoreError(f"{parsed.database} cannot be made: {error.strerror}") from None
    engine = sa.create_engine(
        parsed,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        hide_parameters=True,  # a statement that fails is logged: its values are people's addresses
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    _use_wal(connection)
    for pragma in (
        "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_SECONDS * 1000}",
        "cache_size=-16384", "temp_store=MEMORY",
    ):  # fmt: skip
        connection.execute(f"PRAGMA {pragma}")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL, once a database; two that do it at once are told "locked" without the usual wait for the lock."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def _begin_sqlite(connection: sa.Connection) -> None:
    write = connection.get_execution_options().get("write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextlib.contextmanager
def _explained(engine: sa.Engine) -> Iterator[None]:
    """Turn what the operator can mend into a StoreError; leave what is our mistake alone."""
    try:
        yield
    except DatabaseError as error:
        text = str(error.orig)
        where = engine.url.database or ""
        if "locked" in text or "busy" in text:
            raise errors.StoreError(
                f"{where} is locked by another program for over {BUSY_SECONDS} s; end it and run this again"
            ) from error
        for sign in ("disk I/O", "full", "readonly", "read-only", "unable to open", "malformed", "not a database"):
            if sign in text:
                raise errors.StoreError(
                    f"{where}: {text}; nothing half-done was kept: mend that and run this again"
                ) from error
        raise


# -- the schema ----------------------------------------------------------------------------------------------------


def revision(store: Store) -> str | None:
    """Which migration the database has, or None when it has no tables. Another program's raises `errors.StoreError`."""
    with _explained(store.engine), store.engine.connect() as connection:
        names = sa.inspect(connection).get_table_names()
        ours = "alembic_version" in names
        found: str | None = (
            connection.execute(sa.text("select version_num from alembic_version")).scalar() if ours else None
        )
        if names and found is None and names != ["alembic_version"]:
            where = store.engine.url.database
            raise errors.StoreError(f"{where} is another program's database; name a new file in site.database")
        return found


def upgrade(store: Store) -> str:
    """Bring the schema to `HEAD` in one transaction: all of it or nothing; returns the revision.

    Raises `errors.StoreError` when the database is newer than this program.
    """
    import logging

    from alembic import command
    from alembic.config import Config
    from alembic.util.exc import CommandError

    found = revision(store)
    if found is not None and found > HEAD:
        raise errors.StoreError(wrong_schema(found))
    logging.getLogger("alembic").setLevel(logging.WARNING)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    try:
        with store.engine.execution_options(write=True).connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except CommandError:
        raise errors.StoreError(f"the database has schema {found}, which this program does not know") from None
    except DatabaseError:
        with _explained(store.engine):
            if revision(store) != HEAD:  # else another process was faster
                raise
    return HEAD


def wrong_schema(found: str) -> str:
    """What to do about a schema that is not this program's."""
    if found > HEAD:
        return (
            f"the database has schema {found}, which is newer than this program's ({HEAD}); "
            "install the newsletter version that made it"
        )
    return f"the database has schema {found}, this program needs {HEAD}; back it up, then run `newsletter db upgrade`"


# -- care ----------------------------------------------------------------------------------------------------------


def integrity(store: Store) -> list[str]:
    """What is wrong with the file, in the database's own words; empty when it is sound."""
    with store.read() as session:
        found = [str(row[0]) for row in session.execute(sa.text("pragma integrity_check(10)"))]
        broken = [
            f"{row[0]} row {row[1]} points to no {row[2]}"
            for row in session.execute(sa.text("pragma foreign_key_check"))
        ]
    return [line for line in found if line != "ok"] + broken[:10]


def backup(store: Store, target: Path) -> None:
    """Copy the database while it is in use (SQLite's online backup), and check the copy. Never overwrites."""
    if target.exists():
        raise errors.UsageError(f"{target} is there already; name a new file")
    partial = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            contextlib.closing(sqlite3.connect(store.engine.url.database or "")) as source,
            contextlib.closing(sqlite3.connect(partial)) as copy,
        ):
            source.backup(copy)
            verdict = copy.execute("pragma integrity_check(1)").fetchone()[0]
        if verdict != "ok":
            raise errors.StoreError(f"the copy is damaged ({verdict}); is the disk sound?")
        partial.rename(target)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise errors.StoreError(f"{target} cannot be written: {why}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
