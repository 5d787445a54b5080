"""Names of guarded services."""

from __future__ import annotations

import re
from typing import Final

SERVICE: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")


def is_service_name(text: str) -> bool:
    """True for a lower-case letter, followed by at most 31 lower-case letters, digits and hyphens."""
    return SERVICE.fullmatch(text) is not None
