"""What directories manage is read-only elsewhere: accounts that they provision, and roles that they give."""

from collections.abc import Collection

from service.administration.managed_accounts import managed_by
from service.records import directories
from service.records.database.transactions import Connection


async def require_unmanaged(connection: Connection, user_id: int, directory: str | None) -> None:
    """Return unless a directory but ``directory`` manages the user; ``Conflict`` that names it else."""
    manager = await directories.manager_of(connection, user_id)
    if manager is not None and manager != directory:
        raise managed_by(manager, "The account is managed by the directory {name}: edit it there")


async def require_not_given(connection: Connection, user_id: int, role_ids: Collection[int]) -> None:
    """Return unless a directory has given one of these roles to the user; ``Conflict`` that names it else."""
    if (name := await directories.giving(connection, user_id, role_ids)) is not None:
        raise managed_by(name, "The directory {name} has given the role, and takes it away")
