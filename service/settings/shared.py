"""A digest of each section that all nodes of an installation must have alike."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from service.settings.sections import Settings
from service.settings.table import table_of

_SECTIONS: Final = frozenset({"auth", "password", "throttle", "oplog", "upload", "objstore", "policy"})
# Paths of a node, what a node alone does, and what changes in the course of a roll-out.
_OWN: Final = frozenset(
    {
        "auth.jwt_private_key",
        "auth.jwt_public_key",
        "auth.jwt_previous_private_key",
        "auth.jwt_previous_until",
        "policy.model",
        "policy.folder",
        "policy.invariants",
        "policy.own_digests",
        "policy.decision_log",
        "policy.decision_log_allows",
    }
)
_LENGTH: Final = 8  # hexadecimal digits: enough to differ, too few to tell anything


def shared_digests(settings: Settings, secret: str) -> dict[str, str]:
    """Return a short digest of each section, keyed by the signing ``secret``, without other secrets.

    Paths, and where stores are reached, may differ from node to node and are left out.
    """
    lines: dict[str, list[str]] = {name: [] for name in sorted(_SECTIONS)}
    for row in table_of(Settings):
        if row.section in _SECTIONS and not row.secret and row.title not in _OWN:
            lines[row.section].append(f"{row.name}={getattr(getattr(settings, row.section), row.member)!r}")
    return {
        name: hmac.new(secret.encode(), "\n".join(values).encode(), hashlib.sha256).hexdigest()[:_LENGTH]
        for name, values in lines.items()
    }
