"""The state of a part of the service, for the readiness check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

State = Literal["up", "degraded", "read_only", "down"]
"""``degraded``: it works with limits. ``read_only``: it can be read and refuses writes."""


class Health(NamedTuple):
    """The state of a part, which anybody may read, and ``details`` for the operator."""

    state: State
    details: Mapping[str, Any] = {}
