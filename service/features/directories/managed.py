"""Protect accounts and roles that directories manage from edits by others."""

import re
from collections.abc import Collection
from typing import Final

from service.errors import Conflict, NotFound
from service.features.directories import store as directories
from service.features.directories.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.records import accounts, origins
from service.records.database.transactions import Connection

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")


def is_name(text: str) -> bool:
    """Return true if the text is a valid name of a directory."""
    return _NAME.fullmatch(text) is not None


def target_of(name: str) -> str:
    """Return the name of a directory in the operation log."""
    return f"directory:{name}"


def managed_by(name: str, stated: Sentence) -> Conflict:
    """Return the refusal to edit an object managed by the directory ``name``."""
    return Conflict(stated, rule="directory", directory=name)


async def person_of(connection: Connection, user_name: str) -> int:
    """Return the id of the person with that name; ``NotFound``, and ``Conflict`` for a service account."""
    known = await accounts.standing(connection, user_name)
    if known is None:
        raise NotFound(sentence("no_such_user"))
    if known.kind == "service":
        raise Conflict(sentence("service_without_sign_in"), rule="kind_of_account")
    return known.user_id


async def require_unmanaged(connection: Connection, user_id: int, directory: str | None) -> None:
    """Raise ``Conflict`` with the name if another directory than ``directory`` manages the user."""
    manager = await origins.manager_of(connection, user_id)
    if manager is not None and manager != directory:
        raise managed_by(manager, sentence("managed_account", directory=manager))


async def refuse_directory_roles(connection: Connection, user_id: int, role_ids: Collection[int]) -> None:
    """Raise ``Conflict`` with the name if a directory granted one of these roles to the user."""
    if (name := await directories.granting_directory(connection, user_id, role_ids)) is not None:
        raise managed_by(name, sentence("managed_role", directory=name))
