"""what each source calls an entry"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

from newsletter import types, works

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

CHUNK = 1000


def upgrade() -> None:
    with op.batch_alter_table("entry_source") as batch:
        batch.add_column(sa.Column("page", sqlmodel.sql.sqltypes.AutoString(), nullable=True))
        batch.add_column(sa.Column("said", sqlmodel.sql.sqltypes.AutoString(), nullable=True))
        batch.add_column(sa.Column("title", sqlmodel.sql.sqltypes.AutoString(), nullable=True))
        batch.add_column(sa.Column("published_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True))
        batch.add_column(sa.Column("published_is_date", sa.Boolean(), nullable=False, server_default="0"))
        batch.create_index(batch.f("ix_entry_source_page"), ["page"])
        batch.create_index("ix_entry_source_said", ["source_id", "said"])
    # An entry's words are those of the source that showed it first; when the others dated it is not known.
    op.execute("update entry_source set title = (select title from entry where entry.id = entry_source.entry_id)")
    op.execute(
        "update entry_source set"
        " published_at = (select published_at from entry where entry.id = entry_source.entry_id),"
        " published_is_date = (select published_is_date from entry where entry.id = entry_source.entry_id)"
        " where id in (select min(id) from entry_source group by entry_id)"
    )
    connection = op.get_bind()
    rows = connection.execute(
        sa.text("select id, url from entry_source where url is not null and coalesce(guid, '') not like 'same-story:%'")
    ).all()
    for start in range(0, len(rows), CHUNK):
        connection.execute(
            sa.text("update entry_source set page = :page where id = :id"),
            [{"id": row.id, "page": works.page(row.url)} for row in rows[start : start + CHUNK]],
        )
    text, time = sqlmodel.sql.sqltypes.AutoString(), sqlmodel.sql.sqltypes.UTCDateTime()
    told = connection.execute(
        sa.text(
            "select s.id, s.title, s.published_at, e.summary from entry_source s join entry e on e.id = s.entry_id"
            " where s.published_at is not null"
        ).columns(title=text, published_at=time, summary=text)
    ).all()
    for start in range(0, len(told), CHUNK):
        said = [
            {"id": row.id, "said": works.said(types.FoundEntry(row.summary, row.title, published=row.published_at))}
            for row in told[start : start + CHUNK]
        ]
        connection.execute(sa.text("update entry_source set said = :said where id = :id"), said)


def downgrade() -> None:
    with op.batch_alter_table("entry_source") as batch:
        batch.drop_index("ix_entry_source_said")
        batch.drop_index(batch.f("ix_entry_source_page"))
        for name in ("published_is_date", "published_at", "title", "said", "page"):
            batch.drop_column(name)
