"""The published lines, from the rows of ``sys.casbin_rule``."""

from __future__ import annotations

from service.authz.engine.errors import PolicyError
from service.authz.engine.lines import Lines, changes
from service.records.policy.lines import Stored


def published(stored: Stored) -> Lines:
    """Return all published lines, in order; raises PolicyError for rows that are no lines."""
    if stored.strangers:
        raise PolicyError(f"sys.casbin_rule has {stored.strangers} rows that are no lines")
    return Lines().changed(changes({}, stored.objects))
