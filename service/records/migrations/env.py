"""Alembic's environment: runs the steps on the connection, and in the transaction, of its caller."""

from __future__ import annotations

from alembic import context

from service.records.schema import SCHEMA

context.configure(connection=context.config.attributes["connection"], version_table_schema=SCHEMA)
context.run_migrations()
