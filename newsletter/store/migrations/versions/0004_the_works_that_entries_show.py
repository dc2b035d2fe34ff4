"""the works that entries show"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("entry") as batch:
        for name in ("arxiv", "doi", "journal"):
            batch.add_column(sa.Column(name, sqlmodel.sql.sqltypes.AutoString(), nullable=True))
        batch.create_index(batch.f("ix_entry_arxiv"), ["arxiv"])
        batch.create_index(batch.f("ix_entry_doi"), ["doi"])
    op.execute("update entry set arxiv = substr(key, 7) where key like 'arxiv:%'")
    op.execute("update entry set doi = substr(key, 5) where key like 'doi:%' and key not like 'doi:sha256:%'")


def downgrade() -> None:
    with op.batch_alter_table("entry") as batch:
        batch.drop_index(batch.f("ix_entry_doi"))
        batch.drop_index(batch.f("ix_entry_arxiv"))
        for name in ("journal", "doi", "arxiv"):
            batch.drop_column(name)
