"""Names of directories, the refusal to edit what they manage, and the people they may take over."""

import re
from typing import Final

from service.errors import Conflict, NotFound
from service.records import accounts
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
