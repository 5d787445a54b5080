"""The table of orders."""

from __future__ import annotations

from alembic import op

revision = "r0001"
down_revision = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE orders.purchase (
            id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            number TEXT NOT NULL UNIQUE,
            customer TEXT NOT NULL,
            create_time TIMESTAMPTZ NOT NULL DEFAULT now()
        )
        """
    )
