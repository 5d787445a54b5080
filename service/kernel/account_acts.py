"""What callers do with accounts, as the objects of the policy's layer ``account`` name it."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

Act: TypeAlias = Literal[
    "create",
    "edit",
    "set-contact",
    "set-service",
    "set-roles",
    "enable",
    "disable",
    "delete",
    "set-password",
    "create-key",
    "delete-key",
    "end-sessions",
    "ban",
    "unban",
]
"""What is done with an account. ``set-contact``: its email address or phone number; ``set-service``: the
service that it is bound to."""

Whom: TypeAlias = Literal["self", "others", "same-service", "other-service"]
"""Whose account it is, to the caller: the own one; another one; or, for a caller who is bound to a service,
another one that is bound to the same service, or one that is not."""

Proof: TypeAlias = Literal["by-session", "by-key"]
"""How the caller has come: logged in on a device, or with an API key or a token for one."""

ACTS: Final[tuple[Act, ...]] = get_args(Act)

OBJECTS: Final = frozenset(
    {f"{act} {whom}" for act in ACTS for whom in get_args(Whom)} - {"create self"}
    | {f"create-key {proof}" for proof in get_args(Proof)}
)
"""All objects of the layer: nobody creates the own account."""

_REFUSED: Final = {
    "set-roles self": "You can't change your own roles",
    "set-service self": "You can't change the service that your own account is bound to",
    "disable self": "You can't disable your own account",
    "delete self": "You can't delete your own account",
    "ban self": "You can't ban yourself",
    "set-password self": "Change your own password in your profile, with the current one",
    "create other-service": (
        "An account that is bound to a service creates service accounts of the same service only"
    ),
    "create-key by-key": "An API key can't make API keys",
}


def refusal_of(name: str) -> str:
    """Return the sentence that tells a caller that an object of the layer is closed to them."""
    return _REFUSED.get(name) or f"Your account may not do this with the account: {name}"
