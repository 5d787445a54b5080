"""What directories manage is read-only elsewhere: accounts that they provision, and roles that they give."""

import re
from collections.abc import Collection
from typing import Final

from service.errors import Conflict, NotFound
from service.features.directories import store as directories
from service.records import accounts, origins
from service.records.database.transactions import Connection

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")


def is_name(text: str) -> bool:
    """Tell whether a directory may have that name."""
    return _NAME.fullmatch(text) is not None


def target_of(name: str) -> str:
    """Return the name of a directory in the operation log."""
    return f"directory:{name}"


def managed_by(name: str, sentence: str) -> Conflict:
    """Return the refusal to edit what the directory ``name`` manages."""
    return Conflict(sentence.format(name=name), rule="directory", directory=name)


async def person_of(connection: Connection, user_name: str) -> int:
    """Return the id of the person with that name; ``NotFound``, and ``Conflict`` for a service account."""
    known = await accounts.standing(connection, user_name)
    if known is None:
        raise NotFound("There is no such user")
    if known.kind == "service":
        raise Conflict("A service account signs in nowhere", rule="kind_of_account")
    return known.user_id


async def require_unmanaged(connection: Connection, user_id: int, directory: str | None) -> None:
    """Return unless a directory but ``directory`` manages the user; ``Conflict`` that names it else."""
    manager = await origins.manager_of(connection, user_id)
    if manager is not None and manager != directory:
        raise managed_by(manager, "The account is managed by the directory {name}: edit it there")


async def require_not_given(connection: Connection, user_id: int, role_ids: Collection[int]) -> None:
    """Return unless a directory has given one of these roles to the user; ``Conflict`` that names it else."""
    if (name := await directories.giving(connection, user_id, role_ids)) is not None:
        raise managed_by(name, "The directory {name} has given the role, and takes it away")
