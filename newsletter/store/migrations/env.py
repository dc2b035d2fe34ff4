"""Alembic's way in: always on the connection that `newsletter.store.upgrade` gives."""

from alembic import context

from newsletter.store import tables

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=tables.metadata,
    render_as_batch=True,
    transaction_per_migration=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
