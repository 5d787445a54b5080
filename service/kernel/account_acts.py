"""Acts on accounts: the objects of the policy's layer ``account``."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
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
    "erase",
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
    "create-personal-key",
    "create-personal-key-beside-factor",
    "delegate",
    "delegate-beside-factor",
    "erase-beside-factor",
]
"""Acts on an account. ``set-contact``: change its email address or phone number. ``set-service``: change
the service that it is bound to. ``erase``: erase the personal data of its owner. ``invite``: let its
owner set the first password. ``start-reset``: mail its owner a link to set another password.
``verify-address``: declare its address confirmed. ``confirm-owner``: confirm that its owner is not a
person who acted on it. ``change-factors``: add or remove second factors after the first.
``reset-factors``: read and remove all second factors. ``change-credentials``: change the caller's own
password, or own address for password recovery. ``change-credentials-by-factor``: the same for an account
without a password. ``change-credentials-beside-factor``: an additional check for an account with a second
factor. ``create-personal-key``: create an API key of the caller's own account, a person's.
``create-personal-key-beside-factor``: an additional check for an account with a second factor.
``delegate``: let an agent act for the caller, and end that. ``delegate-beside-factor``: an additional
check for an account with a second factor. ``erase-beside-factor``: an additional check of a caller with a
second factor who erases another account.
"""

Whom: TypeAlias = Literal["self", "others", "same-service", "other-service"]
"""Relation of the account to the caller: the caller's account or another one. For a caller bound to a
service: another account bound to the same service, or any other account.
"""

Proof: TypeAlias = Literal["by-session", "by-key", "by-personal-key"]
"""Authentication of the caller: a device session; an API key of a service account, or a token issued for one;
or an API key of a person, or a token of an agent that acts for one.
"""

SessionAct: TypeAlias = Literal["step-up", "sign-off", "change-access", "mark-notices"]
"""Acts on no account that an API key of a person may not do. ``change-access``: change what roles give, who
may ask for them, which requests are open, what directories hand out, or restore a revision.
``mark-notices``: mark the caller's notices as read, also those about the key.
"""

Asking: TypeAlias = Literal["evaluate", "introspect", "forward", "follow"]
"""Questions about others. ``evaluate``: permissions, in evaluations and searches. ``introspect``: the
validity of a token. ``forward``: a proxy's question about a request. ``follow``: a follower's question for
the lines that decide about a service.
"""

Where: TypeAlias = Literal["any-service", "same-service", "other-service"]
"""Relation of the questioned service to the caller: any service for a caller bound to none; the caller's
service; or another service.
"""

_BY_PEOPLE: Final = {act: feature for feature in declared() for act in feature.by_people}
"""Acts of features, on or off, that are reserved to people, with the feature that refuses an API key."""

ACT_FOR_NAMED: Final = "act-for named-service"
"""An agent acts for a person at a service that the delegation names."""
ACT_FOR_OTHER: Final = "act-for other-service"
"""An agent acts for a person at another service."""

USE_KEY: Final = "use-personal-key self"
"""A person sends a request with their own API key."""
USE_BARRED_KEY: Final = "use-personal-key barred-by-role"
"""The same, by a person with a role whose holders may not have API keys."""

ACTS: Final[tuple[Act, ...]] = get_args(Act)
ASKING: Final[tuple[Asking, ...]] = get_args(Asking)

BY_PERSON: Final = "forward by-person"
"""A person asks in place of a proxy."""
FOLLOW_BY_PERSON: Final = "follow by-person"
"""A person follows in place of a program beside a service."""

OBJECTS: Final = frozenset(
    {f"{act} {whom}" for act in ACTS for whom in get_args(Whom)} - {"create self"}
    | {f"{act} {proof}" for act in ("create-key", *_BY_PEOPLE) for proof in get_args(Proof)}
    | {f"{act} by-personal-key" for act in (*ACTS, *get_args(SessionAct))}
    | {f"{asking} {where}" for asking in ASKING for where in get_args(Where)}
    | {BY_PERSON, FOLLOW_BY_PERSON, ACT_FOR_NAMED, ACT_FOR_OTHER, USE_KEY, USE_BARRED_KEY}
    | {name for feature in declared() for name in feature.account_objects}
)
"""All objects of the layer. ``create self`` does not exist."""


_OUT_OF_REACH: Final = frozenset(
    {
        "set-service",
        "set-password",
        "invite",
        "start-reset",
        "verify-address",
        "confirm-owner",
        "reset-factors",
        "erase",
    }
)
"""Acts on another account that require a caller bound to no service."""
_OWN_PROOFS: Final = frozenset(
    {"enrol-first-factor", "change-factors", "change-credentials"}
    | {"change-credentials-by-factor", "change-credentials-beside-factor"}
    | {"create-personal-key", "create-personal-key-beside-factor", "delegate", "delegate-beside-factor"}
    | {"erase-beside-factor"}
)
_OPEN_TO_PERSONAL_KEYS: Final = frozenset({"edit", "disable", "delete", "ban"})
"""Acts by which nobody gets access: a stolen key may take access away, and give none."""

_NEVER: Final[Mapping[Whom, frozenset[str]]] = {
    "self": _OUT_OF_REACH | {"set-roles", "disable", "delete", "ban"},
    "others": _OWN_PROOFS,
    "same-service": _OUT_OF_REACH | _OWN_PROOFS,
    "other-service": _OUT_OF_REACH | _OWN_PROOFS | {"create", "set-contact", "create-key"},
}

NEVER_OPEN: Final = frozenset(
    {f"{act} {whom}" for whom, acts in _NEVER.items() for act in acts}
    | {f"{act} by-key" for act in ("create-key", *_BY_PEOPLE)}
    | {
        f"{act} by-personal-key"
        for act in (*ACTS, *get_args(SessionAct), *_BY_PEOPLE)
        if act not in _OPEN_TO_PERSONAL_KEYS
    }
    | {f"{asking} other-service" for asking in ASKING}
    | {BY_PERSON, FOLLOW_BY_PERSON, ACT_FOR_OTHER, USE_BARRED_KEY}
)
"""The objects that are closed since no line opens them: a line that would is refused wherever it stands."""

CONTROL_ACTS: Final[Mapping[Act, ControlAct]] = {
    "set-contact": "address",
    "set-password": "password",
    "reset-factors": "factor",
    "create-key": "key",
}
"""The acts that give the actor a way into another account, with the kind of control that each counts as."""

DEMANDED: Final = frozenset(
    {"set-contact self", "enrol-first-factor self", "change-factors self", "change-credentials self"}
    | {"change-credentials-by-factor self", "change-credentials-beside-factor self"}
    | {"create-personal-key-beside-factor self", "delegate-beside-factor self", "erase-beside-factor self"}
)
"""The objects on which the policy's layer ``assurance`` has demands. These acts are checked in the act
itself, since the request around them does much else too.
"""


def where(bound_to: str | None, service: str) -> Where:
    """Return the relation of ``service`` to a caller bound to ``bound_to``; None for an unbound caller."""
    if bound_to is None:
        return "any-service"
    return "same-service" if service == bound_to else "other-service"


_REFUSED: Final = {
    "set-roles self": sentence("roles_of_oneself"),
    "set-service self": sentence("service_of_oneself"),
    "disable self": sentence("disable_oneself"),
    "delete self": sentence("delete_oneself"),
    "erase self": sentence("delete_oneself"),
    "ban self": sentence("ban_oneself"),
    "reset-factors self": sentence("reset_own_factors"),
    "invite self": sentence("invite_oneself"),
    "verify-address self": sentence("verify_own_address"),
    "confirm-owner self": sentence("confirm_own_account"),
    "start-reset self": sentence("reset_own_password"),
    "set-password self": sentence("set_own_password"),
    "create other-service": sentence("create_for_other_service"),
    "create-key by-key": sentence("key_by_key"),
    "create-key by-personal-key": sentence("key_by_key"),
    "create-personal-key by-personal-key": sentence("key_by_key"),
    FOLLOW_BY_PERSON: sentence("follow_by_person"),
    BY_PERSON: sentence("proxy_by_person"),
    ACT_FOR_OTHER: sentence("service_not_delegated"),
    USE_BARRED_KEY: sentence("keys_barred_by_role"),
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
        "erase self",
    }
)
"""Objects closed to every caller: no permission opens them."""


def refusal_of(name: str) -> Sentence:
    """Return the sentence that refuses a caller an object of the layer."""
    act, _, proof = name.rpartition(" ")
    if proof in ("by-key", "by-personal-key") and (feature := _BY_PEOPLE.get(act)) is not None:
        stated: Sentence = feature.part(feature.sentences)(feature.by_people[act])
        return stated
    if name not in _REFUSED and proof == "by-personal-key":
        return sentence("act_by_personal_key")
    return _REFUSED.get(name) or sentence("account_act_refused", act=name)
