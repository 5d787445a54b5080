"""The settings of the logs of operations and logins."""

from __future__ import annotations

from dataclasses import dataclass

from service.settings.checks import between
from service.settings.table import setting

_MIB = 1_048_576
_SHORTEST_KEY = 32


def _chain_key(value: str) -> str | None:
    if not value or len(value) >= _SHORTEST_KEY:
        return None
    return f"must be empty or at least {_SHORTEST_KEY} characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Oplog:
    """The logs of operations and logins."""

    memory_limit: int = setting(
        16 * _MIB,
        unit="bytes",
        check=between(_MIB, 1024 * _MIB),
        help="Entries that wait in the memory of one worker while the session store can't take them; more "
        "are dropped and counted.",
    )
    stream_limit: int = setting(
        256 * _MIB,
        unit="bytes",
        check=between(_MIB, 65_536 * _MIB),
        help="Entries that wait in the session store while the database can't take them; more wait in "
        "memory.",
    )
    operation_days: int = setting(
        0,
        unit="days",
        check=between(0, 36_500),
        help="How long operations are kept; 0 is for ever. A month goes as a whole, once its last day is "
        "so old.",
    )
    login_days: int = setting(
        0, unit="days", check=between(0, 36_500), help="How long logins are kept; as `operation_days`."
    )
    chain_key: str = setting(
        "",
        secret=True,
        check=_chain_key,
        help="Keys the hashes that chain the entries of a day, so that nobody without it can make new ones. "
        "All workers must have the same.",
    )
