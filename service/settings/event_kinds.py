"""Kinds of events about rights. A kind is recorded by a trigger of the database: ``functions.sql``."""

from typing import Final, Literal, TypeAlias, get_args

EventKind: TypeAlias = Literal[
    "role.given",
    "role.changed",
    "role.begun",
    "role.taken",
    "role.ended",
    "role.codes_changed",
    "user.disabled",
    "user.enabled",
    "user.banned",
    "user.unbanned",
    "user.deleted",
    "sessions.ended",
    "access_request.submitted",
    "access_request.decided",
    "review.opened",
    "review.decided",
    "key.created",
    "key.revoked",
    "delegation.made",
    "delegation.ended",
    "policy.published",
]

EVENT_KINDS: Final[tuple[EventKind, ...]] = get_args(EventKind)
