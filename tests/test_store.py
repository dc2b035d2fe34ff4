"""The database: its schema is the models', it is made once, and what is wrong with it is said in one line."""

import datetime as dt
import sqlite3
import subprocess
import sys

import pytest
import sqlalchemy as sa
from alembic import autogenerate, command, script
from alembic.config import Config
from alembic.runtime import migration

from newsletter import errors, store, types, works
from newsletter.store import tables


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/newsletter.db"


@pytest.fixture
def opened(url):
    found = store.connect(url)
    yield found
    found.close()


def alembic():
    config = Config()
    config.set_main_option("script_location", str(store.MIGRATIONS))
    return config


def set_revision(path, revision):
    with sqlite3.connect(path) as connection:
        connection.execute("update alembic_version set version_num = ?", [revision])
    connection.close()


# -- the schema ----------------------------------------------------------------------------------------------------


def test_all_migrations_make_what_the_models_say(opened):
    with opened.engine.connect() as connection:
        context = migration.MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True, "render_as_batch": True}
        )
        assert autogenerate.compare_metadata(context, tables.metadata) == []
        made = sa.inspect(connection)
        for table in tables.metadata.sorted_tables:
            checks = {check["name"] for check in made.get_check_constraints(table.name)}
            assert checks == {each.name for each in table.constraints if isinstance(each, sa.CheckConstraint)}


def test_head_is_alembics_head(opened):
    assert script.ScriptDirectory.from_config(alembic()).get_heads() == [store.HEAD]
    assert store.revision(opened) == store.HEAD


def test_a_way_back_leads_to_an_empty_database(opened):
    config = alembic()
    with opened.engine.execution_options(write=True).connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    with opened.engine.connect() as connection:
        assert sa.inspect(connection).get_table_names() == ["alembic_version"]
    assert store.revision(opened) is None
    assert store.upgrade(opened) == store.HEAD


def test_entries_of_an_older_schema_are_known_by_their_works(opened):
    config = alembic()
    keys = ["arxiv:2609.01234", "doi:10.5555/lake.77", "doi:sha256:0123", "url:site.test/a"]
    with opened.engine.execution_options(write=True).connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0003")
        for number, key in enumerate(keys):
            values = f"('{key}', '{number}', '[]', '[]', '', 0, '2026-09-11')"
            columns = "key, ref, authors, categories, summary, published_is_date, first_seen_at"
            connection.exec_driver_sql(f"insert into entry ({columns}) values {values}")
        connection.commit()
    store.upgrade(opened)
    with opened.read() as session:
        found = session.execute(sa.text("select arxiv, doi from entry order by id")).all()
    assert [tuple(row) for row in found] == [
        ("2609.01234", None),
        (None, "10.5555/lake.77"),
        (None, None),
        (None, None),
    ]


def test_entries_of_an_older_schema_are_known_by_their_pages(opened):
    config = alembic()
    with opened.engine.execution_options(write=True).connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0004")
        for number in (1, 2):
            connection.exec_driver_sql(f"insert into source_state (id, url, failures) values ({number}, '{number}', 0)")
        connection.exec_driver_sql(
            "insert into entry (id, key, ref, title, authors, categories, summary, published_at, published_is_date,"
            " first_seen_at) values (1, 'k', 'r', 'Otters', '[]', '[]', '', '2026-09-10 00:00:00', 1, '2026-09-11 00:00:00')"
        )
        for source, guid, url in ((1, "g", "https://www.site.test/a/"), (2, "same-story:e-1", "https://b.test/")):
            connection.exec_driver_sql(
                "insert into entry_source (entry_id, source_id, guid, url, seen_at)"
                f" values (1, {source}, '{guid}', '{url}', '2026-09-11')"
            )
        connection.commit()
    store.upgrade(opened)
    with opened.read() as session:
        found = session.execute(
            sa.text("select page, title, published_at, published_is_date, said from entry_source order by source_id")
        ).all()
    day = dt.datetime(2026, 9, 10, tzinfo=dt.UTC)
    assert [tuple(row) for row in found] == [
        (
            "url:site.test/a",
            "Otters",
            "2026-09-10 00:00:00",
            1,
            works.said(types.FoundEntry("", "Otters", published=day)),
        ),
        (None, "Otters", None, 0, None),
    ]


def test_migration_that_fails_leaves_nothing_behind(url, monkeypatch, tmp_path):
    found = store.connect_any(url)

    @sa.event.listens_for(found.engine, "before_cursor_execute")
    def _fail(connection, cursor, statement, *_):
        if "CREATE TABLE feedback" in statement:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.upgrade(found)
    with sqlite3.connect(tmp_path / "newsletter.db") as connection:
        left = connection.execute("select name from sqlite_master where name = 'entry'").fetchall()
    connection.close()
    found.close()
    assert left == []
    again = store.connect(url)
    assert store.revision(again) == store.HEAD
    again.close()


def test_newer_schema_is_refused(opened, url, tmp_path):
    set_revision(tmp_path / "newsletter.db", "9999")
    with pytest.raises(errors.StoreError, match="newer than this program's"):
        store.connect(url)
    with pytest.raises(errors.StoreError, match="newer than this program's"):
        store.upgrade(opened)


def test_older_schema_is_refused_with_advice(opened, url, tmp_path):
    set_revision(tmp_path / "newsletter.db", "0000")
    with pytest.raises(errors.StoreError, match=r"back it up, then run `newsletter db upgrade`"):
        store.connect(url)
    with pytest.raises(errors.StoreError, match="does not know"):
        store.upgrade(opened)


def test_database_that_is_not_there_is_made_only_when_wanted(url, tmp_path):
    with pytest.raises(errors.StoreError, match="no database yet"):
        store.connect(url, create=False)


def test_processes_that_make_the_database_at_once_agree(tmp_path):
    code = (
        "import sys; from newsletter import store; s = store.connect(sys.argv[1]); print(store.revision(s)); s.close()"
    )
    command_line = [sys.executable, "-c", code, f"sqlite:///{tmp_path}/newsletter.db"]
    running = [
        subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    answers = [process.communicate(timeout=50) for process in running]
    assert answers == [(f"{store.HEAD}\n", "")] * 3


# -- how it is opened ----------------------------------------------------------------------------------------------


def test_what_is_committed_survives_a_power_cut(opened):
    with opened.read() as session:
        found = [
            session.execute(sa.text(f"pragma {name}")).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]
    assert found == ["wal", 2, 1, 30_000]  # 2: FULL


def test_foreign_keys_hold(opened):
    with pytest.raises(sa.exc.IntegrityError), opened.write() as session:
        session.execute(sa.text("insert into subscription values (1, 99, 'w', 't', '2026-09-11', null, 'cli')"))


def test_write_that_raises_leaves_nothing(opened):
    with pytest.raises(KeyError), opened.write() as session:
        session.add(tables.Pace(bucket="a", next_at=1.0))
        session.flush()
        raise KeyError
    with opened.read() as session:
        assert session.get(tables.Pace, "a") is None


def test_read_sees_one_state_while_another_writes(opened):
    with opened.read() as reading:
        assert reading.get(tables.Pace, "a") is None
        with opened.write() as writing:
            writing.add(tables.Pace(bucket="a", next_at=1.0))
        reading.expire_all()
        assert reading.get(tables.Pace, "a") is None
    with opened.read() as reading:
        assert reading.get(tables.Pace, "a") is not None


# -- what an operator can mend -------------------------------------------------------------------------------------


def one_line(error):
    text = str(error.value)
    assert "\n" not in text
    return text


def test_locked_database_says_so(opened, url, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "BUSY_SECONDS", 0)
    other = store.connect_any(url)
    holder = sqlite3.connect(tmp_path / "newsletter.db", isolation_level=None)
    holder.execute("begin immediate")
    with pytest.raises(errors.StoreError) as caught, other.write() as session:
        session.add(tables.Pace(bucket="a", next_at=1.0))
    holder.close()
    other.close()
    assert "is locked by another program" in one_line(caught)


def test_full_disk_says_so(opened):
    with pytest.raises(errors.StoreError) as caught, opened.write() as session:
        pages = session.execute(sa.text("pragma page_count")).scalar()
        session.execute(sa.text(f"pragma max_page_count = {pages}"))
        session.add(tables.Pace(bucket="x" * 100_000, next_at=1.0))
    assert "full" in one_line(caught)
    assert "nothing half-done was kept" in str(caught.value)


def test_database_that_may_only_be_read_says_so(opened):
    with pytest.raises(errors.StoreError) as caught, opened.write() as session:
        session.execute(sa.text("pragma query_only = on"))
        session.add(tables.Pace(bucket="a", next_at=1.0))
    assert "readonly" in one_line(caught)


def test_other_things_in_the_databases_place_are_named(tmp_path):
    (tmp_path / "text").write_text("no database " * 1000, encoding="utf-8")
    for place, says in [("text", "not a database"), ("", "unable to open"), ("text/x.db", "cannot be made")]:
        with pytest.raises(errors.StoreError) as caught:
            store.connect(f"sqlite:///{tmp_path}/{place}")
        assert says in one_line(caught)


def test_another_programs_database_is_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table issue (x)")
    connection.close()
    with pytest.raises(errors.StoreError, match="another program's database"):
        store.connect(f"sqlite:///{path}")
    with sqlite3.connect(path) as connection:
        assert connection.execute("select name from sqlite_master").fetchall() == [("issue",)]
    connection.close()


@pytest.mark.parametrize("url", ["nonsense", "postgresql://me:hunter2@db/x", "mysql://me:hunter2@db/x"])
def test_other_databases_are_refused_without_their_password(url):
    with pytest.raises(errors.ConfigError) as caught:
        store.connect(url)
    assert str(caught.value).startswith("newsletter.toml: site.database: ")
    assert "hunter2" not in str(caught.value)


# -- care ----------------------------------------------------------------------------------------------------------


def test_backup_is_a_sound_copy_of_a_database_in_use(opened, tmp_path):
    with opened.write() as session:
        session.add(tables.Pace(bucket="a", next_at=1.0))
    with opened.read():
        store.backup(opened, tmp_path / "copies/one.db")
    copy = store.connect(f"sqlite:///{tmp_path}/copies/one.db", create=False)
    assert store.integrity(copy) == []
    with copy.read() as session:
        assert session.get(tables.Pace, "a") is not None
    copy.close()
    assert not (tmp_path / "copies/one.db.part").exists()


def test_backup_never_overwrites(opened, tmp_path):
    (tmp_path / "there").write_text("mine", encoding="utf-8")
    with pytest.raises(errors.UsageError, match="name a new file"):
        store.backup(opened, tmp_path / "there")
    with pytest.raises(errors.StoreError, match="cannot be written"):
        store.backup(opened, tmp_path / "there/inside.db")
    assert (tmp_path / "there").read_text("utf-8") == "mine"


def test_damage_is_found(opened):
    assert store.integrity(opened) == []
    with opened.engine.connect() as connection:
        connection.exec_driver_sql("rollback")
        connection.exec_driver_sql("pragma foreign_keys = off")
        connection.exec_driver_sql("insert into claim values (1, 'w', 77, null, 'held', null, '2026-09-11', null)")
        connection.exec_driver_sql("pragma foreign_keys = on")
        connection.exec_driver_sql("begin")
    assert store.integrity(opened) == ["claim row 1 points to no entry"]
