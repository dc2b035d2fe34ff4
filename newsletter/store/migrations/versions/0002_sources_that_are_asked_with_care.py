"""sources that are asked with care"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("source_state") as batch:
        batch.add_column(sa.Column("places", sa.JSON(), nullable=True))
        batch.add_column(sa.Column("moving_to", sqlmodel.sql.sqltypes.AutoString(), nullable=True))
        batch.add_column(sa.Column("moving_since", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True))
        batch.add_column(sa.Column("moving_visits", sa.Integer(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("body_hash", sqlmodel.sql.sqltypes.AutoString(), nullable=True))
        batch.add_column(sa.Column("whole_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True))
        batch.add_column(sa.Column("unchanged_visits", sa.Integer(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("distrusted", sa.Boolean(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("wait_until", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True))
        batch.add_column(sa.Column("pauses", sa.JSON(), nullable=True))
        batch.add_column(sa.Column("gone_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True))
        batch.add_column(sa.Column("note", sqlmodel.sql.sqltypes.AutoString(), nullable=True))
    # Its rows say when a host was last asked: of no use after a moment.
    op.drop_table("host")
    op.create_table(
        "host",
        sa.Column("host", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("next_at", sa.Float(), nullable=False),
        sa.Column("owner", sqlmodel.sql.sqltypes.AutoString(), nullable=True),
        sa.Column("held_until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_host")),
    )


def downgrade() -> None:
    op.drop_table("host")
    op.create_table(
        "host",
        sa.Column("host", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("last_request_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_host")),
    )
    with op.batch_alter_table("source_state") as batch:
        for name in (
            "places", "moving_to", "moving_since", "moving_visits", "body_hash", "whole_at", "unchanged_visits",
            "distrusted", "wait_until", "pauses", "gone_at", "note",
        ):
            batch.drop_column(name)
