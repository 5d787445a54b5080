"""Password hashes at a thousandth of the least cost that the settings allow.

Most of what tests do is to log in.
"""

from __future__ import annotations

from typing import Any

from argon2 import PasswordHasher


def cheap_hasher(**_asked: Any) -> PasswordHasher:
    """Return a hasher at the least cost, whatever is asked for."""
    return PasswordHasher(memory_cost=8, time_cost=1, parallelism=1)
