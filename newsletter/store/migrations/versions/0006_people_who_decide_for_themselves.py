"""people who decide for themselves"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    text, time = sqlmodel.sql.sqltypes.AutoString, sqlmodel.sql.sqltypes.UTCDateTime
    with op.batch_alter_table("subscriber") as batch:
        batch.add_column(sa.Column("paused_until", time(), nullable=True))
    with op.batch_alter_table("consent") as batch:
        batch.add_column(sa.Column("page", text(), nullable=True))
    op.create_table(
        "tag",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subscriber_id", sa.Integer(), nullable=False),
        sa.Column("name", text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["subscriber_id"], ["subscriber.id"], name=op.f("fk_tag_subscriber_id_subscriber"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tag")),
        sa.UniqueConstraint("subscriber_id", "name", name=op.f("uq_tag_subscriber_id_name")),
    )
    op.create_index("ix_tag_name", "tag", ["name", "subscriber_id"])
    op.create_table(
        "confirmation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subscriber_id", sa.Integer(), nullable=False),
        sa.Column("purpose", text(), nullable=False),
        sa.Column("token_hash", text(), nullable=False),
        sa.Column("wanted", sa.JSON(), nullable=False),
        sa.Column("words", text(), nullable=True),
        sa.Column("page", text(), nullable=True),
        sa.Column("ip", text(), nullable=True),
        sa.Column("asked_at", time(), nullable=False),
        sa.Column("expires_at", time(), nullable=False),
        sa.Column("used_at", time(), nullable=True),
        sa.CheckConstraint("purpose in ('subscribe', 'address')", name=op.f("ck_confirmation_purpose")),
        sa.ForeignKeyConstraint(
            ["subscriber_id"],
            ["subscriber.id"],
            name=op.f("fk_confirmation_subscriber_id_subscriber"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_confirmation")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_confirmation_token_hash")),
    )
    op.create_index(op.f("ix_confirmation_subscriber_id"), "confirmation", ["subscriber_id"])
    op.create_table(
        "service_mail",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", text(), nullable=False),
        sa.Column("subscriber_id", sa.Integer(), nullable=False),
        sa.Column("newsletter", text(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("state", text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", time(), nullable=False),
        sa.Column("next_at", time(), nullable=False),
        sa.Column("sent_at", time(), nullable=True),
        sa.Column("reply", text(), nullable=True),
        sa.CheckConstraint("state in ('queued', 'sending', 'sent', 'failed')", name=op.f("ck_service_mail_state")),
        sa.ForeignKeyConstraint(
            ["subscriber_id"],
            ["subscriber.id"],
            name=op.f("fk_service_mail_subscriber_id_subscriber"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service_mail")),
    )
    op.create_index("ix_service_mail_due", "service_mail", ["state", "next_at"])
    op.create_index("ix_service_mail_person", "service_mail", ["subscriber_id", "kind", "created_at"])
    op.create_table(
        "throttle",
        sa.Column("bucket", text(), nullable=False),
        sa.Column("free_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("bucket", name=op.f("pk_throttle")),
    )
    op.create_index(op.f("ix_throttle_free_at"), "throttle", ["free_at"])
    op.create_table(
        "api_key",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", text(), nullable=False),
        sa.Column("token_hash", text(), nullable=False),
        sa.Column("scope", text(), nullable=False),
        sa.Column("created_at", time(), nullable=False),
        sa.Column("used_at", time(), nullable=True),
        sa.Column("revoked_at", time(), nullable=True),
        sa.CheckConstraint("scope in ('read', 'write')", name=op.f("ck_api_key_scope")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("name", name=op.f("uq_api_key_name")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_key_token_hash")),
    )
    op.create_table(
        "api_answer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("api_key_id", sa.Integer(), nullable=False),
        sa.Column("key", text(), nullable=False),
        sa.Column("request_hash", text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", text(), nullable=False),
        sa.Column("at", time(), nullable=False),
        sa.ForeignKeyConstraint(
            ["api_key_id"], ["api_key.id"], name=op.f("fk_api_answer_api_key_id_api_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_answer")),
        sa.UniqueConstraint("api_key_id", "key", name=op.f("uq_api_answer_api_key_id_key")),
    )
    op.create_index(op.f("ix_api_answer_at"), "api_answer", ["at"])


def downgrade() -> None:
    for table in ("api_answer", "api_key", "throttle", "service_mail", "confirmation", "tag"):
        op.drop_table(table)
    with op.batch_alter_table("consent") as batch:
        batch.drop_column("page")
    with op.batch_alter_table("subscriber") as batch:
        batch.drop_column("paused_until")
