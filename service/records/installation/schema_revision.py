"""Schema revision of a database, and whether this version can work with it; without Alembic.

Each migration declares the least version that can work with its result, and the database keeps the greatest
of these. So an older version that does not know the newest migrations can decide whether to start. Rows that
older versions would misread, such as second factors, raise that version while they exist:
``sys.needed_version`` lists their forms, and triggers keep the version by that list.

Alembic takes a fifth of a second and nine megabytes, and is needed only for pending migrations.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, func, select, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service import __version__
from service.kernel.feature import folders
from service.kernel.operator_error import OperatorError
from service.records.database.failures import out_of_reach
from service.records.database.transactions import engine
from service.records.schema.base import SCHEMA
from service.records.schema.installation import needed_version, schema_support

_NUMBERS: Final = re.compile(r"\d+(?:\.\d+)*")
_EXISTS: Final = text("SELECT to_regclass(:name) IS NOT NULL")
_SETTLED: Final = text("SELECT sys.settle_least_version(false)")


LEAST_VERSION: Final = "0.2.0"
"""The least version that can work with this version's schema: the greatest that a migration declares."""

_LAST_SINGLE_STEPS: Final = "25571e91"
"""The last commit with a migration for each step of the development, before they became one per feature."""


class SchemaError(OperatorError):
    """This version of the program cannot work with the database; the message states the reason."""


def migration_folders() -> list[Path]:
    """Return the folders of migrations: the one of the core, then those of features. All are one chain."""
    return [Path(__file__).parent.parent / "migrations" / "versions", *folders("migrations")]


@cache
def known_schemas() -> tuple[str, ...]:
    """Return the revisions of this version's migrations, the newest last; the names of files begin so.

    They sort as texts: a revision between two of them, which this version no longer has, is not a newer one.
    """
    return tuple(
        sorted(path.name.partition("_")[0] for each in migration_folders() for path in each.glob("v*_*.py"))
    )


def expected_schema() -> str:
    """Return the revision of this version's schema."""
    return known_schemas()[-1]


def stored_schema(connection: Connection, schema: str = SCHEMA) -> str | None:
    """Return the revision of the tables in ``schema``; None before the first migration."""
    table = f'"{schema}".alembic_version'
    if not connection.execute(_EXISTS, {"name": table}).scalar_one():
        return None
    return connection.execute(text(f"SELECT version_num FROM {table}")).scalar_one_or_none()  # noqa: S608 - a name of the service


def require_current(url: str) -> None:
    """Raise SchemaError unless this version can work with the database at ``url``; changes nothing."""
    with out_of_reach(in_words=True), engine(url).connect() as connection:
        schema_standing(connection).require_usable()


class SchemaStanding(Struct, frozen=True):
    """The schema of a database, as this version sees it.

    ``stored`` is its revision, None before the first migration; ``expected`` is that of this version.
    ``known`` is True if this version has the migration ``stored``. ``least_version`` is the least version
    that can work with the schema, and ``migrated_by`` the version that made it; None before they were kept.
    ``forms`` names the rows for which that version is needed, and by the migrations alone is not.
    """

    stored: str | None
    expected: str
    known: bool
    least_version: str | None = None
    migrated_by: str | None = None
    forms: tuple[str, ...] = ()

    @property
    def is_newer(self) -> bool:
        """True if a newer version has migrated the database, beyond what this one knows."""
        return self.stored is not None and not self.known and self.stored > self.expected

    @property
    def is_between(self) -> bool:
        """True if the schema is at a step of the development that this version has merged with others."""
        return self.stored is not None and not self.known and not self.is_newer

    @property
    def is_usable(self) -> bool:
        """True if this version can work with the schema: its own, or a newer one that allows this version."""
        if not self.is_newer:
            return self.stored == self.expected
        return self.least_version is not None and not is_older(__version__, self.least_version)

    def require_supported(self) -> None:
        """Raise SchemaError if the schema is of a newer version, and this one is too old for it.

        Also if it is at a step between two releases that this version no longer has.
        """
        if self.is_between:
            raise SchemaError(
                f"The database has schema {self.stored}, a step of the development between two releases, "
                "which this version can't migrate: run 'portcullis db migrate' of commit "
                f"{_LAST_SINGLE_STEPS} once, and start this version again. Nothing was changed."
            )
        if not self.is_newer or self.is_usable:
            return
        if self.least_version is None:
            raise SchemaError(
                f"The database has schema {self.stored}, which this version of the program does not know: a "
                "newer version has migrated it. Start that version, or restore an older backup."
            )
        because = f" because of {', '.join(self.forms)}" if self.forms else ""
        raise SchemaError(
            f"The database has schema {self.stored}, made by version {self.migrated_by}. It needs version "
            f"{self.least_version} or later{because}, and this is {__version__}: start version "
            f"{self.least_version} or later, or restore a backup from before version {self.migrated_by}"
        )

    def require_usable(self) -> None:
        """Raise SchemaError unless this version can work with the present schema."""
        self.require_supported()
        if self.is_usable:
            return
        first = ""
        if self.stored is not None:
            by = f", {self.migrated_by}" if self.migrated_by else ""
            first = f"make a backup by the version that made its schema{by}, and "
        raise SchemaError(
            f"The database does not have this version's schema: {first}start the service once. "
            "If it has run, this is another database: name that one by the same --data, or by DATABASE_URL"
        )


def schema_standing(connection: Connection) -> SchemaStanding:
    """Read how the schema of the database stands; changes nothing, and works in an empty one."""
    stored = stored_schema(connection)
    standing = SchemaStanding(stored, expected_schema(), stored is None or stored in known_schemas())
    if not connection.execute(_EXISTS, {"name": schema_support.fullname}).scalar_one():
        return standing
    kept = select(schema_support.c.least_version, schema_support.c.migrated_by)
    row = connection.execute(kept).one_or_none()
    if row is None:
        return standing
    forms = tuple(_forms(connection, row.least_version))
    return SchemaStanding(stored, standing.expected, standing.known, *row, forms)


def _forms(connection: Connection, version: str) -> list[str]:
    """Return the forms of rows that need ``version``."""
    if not connection.execute(_EXISTS, {"name": needed_version.fullname}).scalar_one():
        return []
    forms = connection.execute(select(needed_version.c.version, needed_version.c.form))
    return [form for needed, form in forms if not is_older(needed, version)]


def record_support(connection: Connection, least_version: str) -> None:
    """Store the least version that the migrations need, and this version as the one that made the schema.

    The needs of rows can raise that version further.
    """
    values = {"schema_version": least_version, "migrated_by": __version__}
    row = upsert(schema_support).values(id=1, least_version=least_version, **values)
    renewed = values | {"migrate_time": func.now()}
    connection.execute(row.on_conflict_do_update(index_elements=[schema_support.c.id], set_=renewed))
    connection.execute(_SETTLED)


async def settle(connection: AsyncConnection) -> None:
    """Lower the least version to what the rows need.

    Triggers do so at once, except for those that other writers have kept from it.
    """
    await connection.execute(_SETTLED)


def is_older(version: str, than: str) -> bool:
    """True if ``version`` is before ``than``; both are numbers with dots, and any suffix is ignored."""
    return _parts(version) < _parts(than)


def greatest(versions: Iterable[str]) -> str:
    """Return the latest of ``versions``; ``0`` for none."""
    return max(versions, key=_parts, default="0")


def _parts(version: str) -> tuple[int, ...]:
    match = _NUMBERS.match(version)
    numbers = [int(part) for part in match[0].split(".")] if match else []
    while numbers and numbers[-1] == 0:  # 0.3.0 is 0.3
        numbers.pop()
    return tuple(numbers)
