"""Runs migrations by Alembic; imported only where there is something to migrate."""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def upgrade(connection: Connection, scripts: str) -> None:
    """Run the missing migrations of the service on ``connection``, in its transaction.

    ``scripts`` is the folder of Alembic's environment, as Alembic reads it: a ``%`` is written twice.
    """
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", scripts)
    command.upgrade(config, "head")
