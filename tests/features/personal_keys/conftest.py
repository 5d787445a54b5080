"""Two workers of one service, and people with keys of their own."""

from typing import Any

from tests.features.service_accounts.conftest import (  # noqa: F401 - fixtures
    _workers,
    workers,
)
from tests.support.members import Member

KEYS = "/api/user/profile/keys"
LIST = "system:role:list"


async def key_of(owner: Member, *scopes: str, seconds: int = 3600, name: str = "script") -> dict[str, Any]:
    """Let a person make a key, and return the answer."""
    order = {"name": name, "scopes": list(scopes), "expiresIn": seconds}
    made = await owner.ask("POST", KEYS, order)
    assert made.status == 201, made.body
    data: dict[str, Any] = made.json["data"]
    return data
