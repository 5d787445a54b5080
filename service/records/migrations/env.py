"""Alembic's environment: runs the steps on the connection, and in the transaction, of its caller."""

from __future__ import annotations

from alembic import context

from service.records.migrate import comparable
from service.records.schema import SCHEMA, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table_schema=SCHEMA,
    include_schemas=True,
    include_name=comparable,
)
context.run_migrations()
