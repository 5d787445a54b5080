"""How long a stop may take, in seconds."""

from __future__ import annotations

from typing import Final

DRAIN: Final = 10
"""For requests in flight, after the listener is closed."""
STOP_MARGIN: Final = 10
"""For a worker to disconnect from its stores, after its grace and its drain."""
