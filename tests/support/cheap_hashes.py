"""Password hashes at a thousandth of the least cost that the settings allow.

Most of what tests do is to log in.
"""

from typing import Any, Final

from argon2 import PasswordHasher

COSTS: Final[dict[str, Any]] = {"argon2_memory": 8, "argon2_time": 1}
"""The same as settings of the section ``password``."""


def cheap_hasher(**_asked: Any) -> PasswordHasher:
    """Return a hasher at the least cost, whatever is asked for."""
    return PasswordHasher(COSTS["argon2_time"], COSTS["argon2_memory"], parallelism=1)
