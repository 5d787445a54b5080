"""Alembic's environment: runs migrations on the caller's connection, in its transaction.

They are those of the service, or of an extension whose schema the caller names.
"""

from alembic import context

from service.records.schema.base import SCHEMA

_given = context.config.attributes
context.configure(connection=_given["connection"], version_table_schema=_given.get("schema", SCHEMA))
context.run_migrations()
