"""Alembic's environment: runs the migrations on the caller's connection, in its transaction."""

from __future__ import annotations

from alembic import context

from service.records.schema import SCHEMA

context.configure(connection=context.config.attributes["connection"], version_table_schema=SCHEMA)
context.run_migrations()
