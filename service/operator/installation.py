"""The installation that a command reads: whether there is one, and how answers name it."""

from service.operator.embedded import embedded
from service.settings import Settings


def is_there(settings: Settings) -> bool:
    """Return whether the settings name a database, or the data directory has an embedded one.

    Raises OSError for a data directory that this user can't read.
    """
    return bool(settings.database.url) or embedded().has_database(settings.server.data)


def name_of(settings: Settings) -> str:
    """Return the database of the installation for people, without its password.

    ``settings`` are the loaded ones: ``reachable`` fills in the address of an embedded database.
    """
    if settings.database.url:
        from service.records.database.servers import described  # noqa: PLC0415 - the launcher needs no driver

        return described(settings.database.url)
    return f"the embedded database in {settings.server.data}"


def missing(settings: Settings) -> str:
    """Return the remedy for a missing installation."""
    return (
        f"There is no installation: {settings.server.data} has no database. Name the data directory of one "
        "by --data, or its database by DATABASE_URL"
    )
