"""What a caller's own account lets the caller do: the objects of the policy's layer ``account``."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

from service.kernel.feature import declared
from service.kernel.persons import ControlAct

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
    "invite",
    "start-reset",
    "verify-address",
    "confirm-owner",
    "create-key",
    "delete-key",
    "end-sessions",
    "ban",
    "unban",
    "enrol-first-factor",
    "change-factors",
    "reset-factors",
    "change-credentials",
    "change-credentials-by-factor",
    "change-credentials-beside-factor",
]
"""What is done with an account. ``set-contact``: its email address or phone number; ``set-service``: the
service that it is bound to; ``invite``: has its owner set the first password; ``start-reset``: has its owner
set another one, by mail; ``verify-address``: declares its address confirmed; ``confirm-owner``: says that its
owner is another person than those who acted on it; ``change-factors``: adds or removes second factors beside
the first one; ``reset-factors``: sees and removes all of them. ``change-credentials``: changes the own
password, or the own address, by which a forgotten password is replaced; ``change-credentials-by-factor``: the
same for an account without a password; ``change-credentials-beside-factor``: asked besides for an account
with a second factor."""

Whom: TypeAlias = Literal["self", "others", "same-service", "other-service"]
"""Whose account it is, to the caller: the own one; another one; or, for a caller who is bound to a service,
another one that is bound to the same service, or one that is not."""

Proof: TypeAlias = Literal["by-session", "by-key"]
"""How the caller has come: logged in on a device, or with an API key or a token for one."""

Asking: TypeAlias = Literal["evaluate", "introspect", "forward", "follow"]
"""What is asked about others: whether somebody may do something, in evaluations and searches; what a token is
worth; by a proxy, whether a request may go on to a service; and by a follower, what decides about a
service."""

Where: TypeAlias = Literal["any-service", "same-service", "other-service"]
"""Which service a question is about, to the caller: any one, for a caller who is bound to none; the one that
the caller is bound to; or another one."""

_BY_PEOPLE: Final = {act: text for feature in declared() for act, text in feature.by_people.items()}
"""What people alone do with features that are on or off, with the sentence that refuses an API key."""

ACTS: Final[tuple[Act, ...]] = get_args(Act)
ASKING: Final[tuple[Asking, ...]] = get_args(Asking)

BY_PERSON: Final = "forward by-person"
"""A person asks in place of a proxy."""
FOLLOW_BY_PERSON: Final = "follow by-person"
"""A person follows in place of a program beside a service."""

OBJECTS: Final = frozenset(
    {f"{act} {whom}" for act in ACTS for whom in get_args(Whom)} - {"create self"}
    | {f"{act} {proof}" for act in ("create-key", *_BY_PEOPLE) for proof in get_args(Proof)}
    | {f"{asking} {where}" for asking in ASKING for where in get_args(Where)}
    | {BY_PERSON, FOLLOW_BY_PERSON}
    | {name for feature in declared() for name in feature.account_objects}
)
"""All objects of the layer: nobody creates the own account."""


_OUT_OF_REACH: Final = frozenset(
    {
        "set-service",
        "set-password",
        "invite",
        "start-reset",
        "verify-address",
        "confirm-owner",
        "reset-factors",
    }
)
"""What only a caller who is bound to no service does, with the account of somebody else."""
_OWN_PROOFS: Final = frozenset(
    {"enrol-first-factor", "change-factors", "change-credentials"}
    | {"change-credentials-by-factor", "change-credentials-beside-factor"}
)

_NEVER: Final[Mapping[Whom, frozenset[str]]] = {
    "self": _OUT_OF_REACH | {"set-roles", "disable", "delete", "ban"},
    "others": _OWN_PROOFS,
    "same-service": _OUT_OF_REACH | _OWN_PROOFS,
    "other-service": _OUT_OF_REACH | _OWN_PROOFS | {"create", "set-contact", "create-key"},
}

NEVER_OPEN: Final = frozenset(
    {f"{act} {whom}" for whom, acts in _NEVER.items() for act in acts}
    | {f"{act} by-key" for act in ("create-key", *_BY_PEOPLE)}
    | {f"{asking} other-service" for asking in ASKING}
    | {BY_PERSON, FOLLOW_BY_PERSON}
)
"""The objects that are closed since no line opens them: a line that would is refused wherever it stands."""

CONTROL_ACTS: Final[Mapping[Act, ControlAct]] = {
    "set-contact": "address",
    "set-password": "password",
    "reset-factors": "factor",
    "create-key": "key",
}
"""The acts by which somebody could get to act as the owner of another account, and what they count as."""

DEMANDED: Final = frozenset(
    {"set-contact self", "enrol-first-factor self", "change-factors self", "change-credentials self"}
    | {"change-credentials-by-factor self", "change-credentials-beside-factor self"}
)
"""The objects on which the policy's layer ``assurance`` has demands: acts that are asked about where they
happen, since the request that they come with does much else too."""


def where(bound_to: str | None, service: str) -> Where:
    """Return what ``service`` is to a caller who is bound to ``bound_to``, None for none."""
    if bound_to is None:
        return "any-service"
    return "same-service" if service == bound_to else "other-service"


_REFUSED: Final = {
    "set-roles self": "You can't change your own roles",
    "set-service self": "You can't change the service that your own account is bound to",
    "disable self": "You can't disable your own account",
    "delete self": "You can't delete your own account",
    "ban self": "You can't ban yourself",
    "reset-factors self": "Change your own second factors in your profile",
    "invite self": "You have a password already",
    "verify-address self": "Confirm your own address by the link that is mailed to it",
    "confirm-owner self": "Somebody else confirms who the owner of your account is",
    "start-reset self": "Ask for a link on the page to log in",
    "set-password self": "Change your own password in your profile, with the current one",
    "create other-service": (
        "An account that is bound to a service creates service accounts of the same service only"
    ),
    "create-key by-key": "An API key can't make API keys",
    FOLLOW_BY_PERSON: "Only service accounts follow the policy: use an API key",
    **{f"{act} by-key": text for act, text in _BY_PEOPLE.items()},
    BY_PERSON: "The proxy has the token of a person, and needs the key of a service account",
}


CLOSED_TO_ALL: Final = frozenset(
    {"set-roles self", "disable self", "delete self", "ban self"}
    | {
        "set-password self",
        "invite self",
        "start-reset self",
        "verify-address self",
        "confirm-owner self",
        "reset-factors self",
    }
)
"""What nobody does to the own account, whatever they hold: no permission would help."""


def refusal_of(name: str) -> str:
    """Return the sentence that tells a caller that an object of the layer is closed to them."""
    return _REFUSED.get(name) or f"Your account may not do this: {name}"
