"""Alembic's way in: on the connection that `newsletter.store.upgrade` gives, all migrations in one transaction.

So no other process ever sees a schema half-way, and a migration that fails leaves the old schema whole.
"""

from alembic import context

from newsletter.store import tables

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=tables.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
