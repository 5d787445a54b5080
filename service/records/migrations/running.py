"""Runs migrations by Alembic; imported only where there is something to migrate."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, TypeAlias

from alembic import command
from alembic.config import Config
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection

from service.records.installation.new_database import make_functions
from service.records.installation.schema_revision import greatest, migration_folders, stored_schema

_WITH_FUNCTIONS: Final = "v0066"
"""The first schema with functions and triggers. Later migrations write out what they change of these."""

Kind: TypeAlias = Literal["expand", "contract"]
"""``expand`` adds what older versions ignore; ``contract`` removes or restricts what they may use."""


def configured(folders: Iterable[Path], **attributes: object) -> Config:
    """Return Alembic's configuration for the migrations in ``folders``; ``attributes`` go to ``env.py``."""
    config = Config(attributes=attributes)
    config.set_main_option("script_location", _escaped(Path(__file__).parent))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", "\n".join(map(_escaped, folders)))
    return config


def steps() -> ScriptDirectory:
    """Return the migrations of the service and its features."""
    return ScriptDirectory.from_config(configured(migration_folders()))


def upgrade(connection: Connection) -> str:
    """Run the missing migrations of the service on ``connection``, in its transaction.

    An older database that has no functions and triggers then gets all of them, as a new one does.

    Returns the least version of the program that can work with the result.
    """
    config = configured(migration_folders(), connection=connection)
    stored = stored_schema(connection)
    command.upgrade(config, "head")
    if lacks_functions(stored):
        make_functions(connection)
    return least_version_of(ScriptDirectory.from_config(config).walk_revisions())


def lacks_functions(stored: str | None) -> bool:
    """Return True if schema version ``stored`` predates functions and triggers: no migration adds them."""
    return stored is None or stored < _WITH_FUNCTIONS


def least_version_of(steps: Iterable[Script]) -> str:
    """Return the greatest of the least versions that ``steps`` declare."""
    return greatest(least for step in steps if (least := declared_least(step)))


def declared_kind(step: Script) -> Kind | None:
    """Return the kind that a migration declares; None for one from before kinds were declared."""
    kind: Kind | None = getattr(step.module, "kind", None)
    return kind


def declared_least(step: Script) -> str | None:
    """Return the least version that a migration declares; None for one from before they were declared."""
    least: str | None = getattr(step.module, "least_version", None)
    return least


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%%")  # Alembic expands it
