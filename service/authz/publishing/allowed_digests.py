"""The setting that names which static policies may serve."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from service.authz.engine.errors import PolicyError

SETTING: Final = "policy.own_digests"


def require_allowed(digest: str, allowed: Collection[str]) -> None:
    """Raise PolicyError unless ``digest`` is in ``allowed`` or ``allowed`` is empty."""
    if allowed and digest not in allowed:
        raise PolicyError(
            f"the digest of this node's static policy, {digest}, is not among those that {SETTING} lets serve"
        )
