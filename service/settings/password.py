"""The settings of passwords and their hashing."""

from __future__ import annotations

from dataclasses import dataclass

from service.settings.checks import between
from service.settings.table import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Password:
    """Passwords and their hashing (Argon2id, RFC 9106)."""

    argon2_memory: int = setting(
        19_456,
        unit="KiB",
        check=between(19_456, 1_048_576),
        help="Memory of one hash. After a raise, each user's hash is renewed at the next login.",
    )
    argon2_time: int = setting(2, unit="passes", check=between(2, 16), help="Passes over the memory.")
    argon2_parallelism: int = setting(1, unit="lanes", check=between(1, 16), help="Lanes of one hash.")
    max_waiting: int = setting(
        64,
        check=between(1, 10_000),
        help="Logins of one worker that may wait for their hash; further ones are answered 503 at once. A "
        "quarter of these places is kept for client addresses from which a login succeeded within a day.",
    )
    min_length: int = setting(8, unit="characters", check=between(8, 128), help="Shortest new password.")
    max_length: int = setting(
        128,
        unit="characters",
        check=between(64, 1024),
        help="Longest password; none is ever truncated.",
    )
