"""The settings of the logs of operations and logins."""

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
        help="Entries that wait in the memory of one worker while the session store can't take them; further "
        "ones are dropped and counted.",
    )
    stream_limit: int = setting(
        256 * _MIB,
        unit="bytes",
        check=between(_MIB, 65_536 * _MIB),
        help="Entries that wait in the session store while the database can't take them; further ones wait "
        "in memory.",
    )
    operation_days: int = setting(
        0,
        unit="days",
        check=between(0, 36_500),
        help="How long operations are kept; 0: forever. A month is dropped as a whole, once its last day is "
        "older than this.",
    )
    login_days: int = setting(
        0, unit="days", check=between(0, 36_500), help="How long logins are kept; as `operation_days`."
    )
    chain_key: str = setting(
        "",
        secret=True,
        check=_chain_key,
        help="The key of the hashes that chain the entries of a day, and of the seals of policy revisions "
        "and of backups: nobody can forge one without it. All workers must have the same.",
    )
    chain_previous_key: str = setting(
        "",
        secret=True,
        check=_chain_key,
        help="The key before, while `chain_key` is replaced on one node after the other: what it has sealed "
        "is still trusted. Remove it once all nodes have the new one, and at once if it was stolen.",
    )
