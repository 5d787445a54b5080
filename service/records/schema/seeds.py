"""The records that this service has seeded, so that what an administrator deletes stays deleted."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Table, Text

from service.records.schema.base import metadata, moment

seeded = Table(
    "seeded",
    metadata,
    Column(
        "kind", Text, CheckConstraint("kind IN ('menu', 'button', 'resource')", name="kind"), primary_key=True
    ),
    # The name of a Menu, the permission code of a Button, the code of a resource.
    Column("code", Text, primary_key=True),
    moment("create_time"),
)
