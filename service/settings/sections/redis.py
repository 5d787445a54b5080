"""The settings of the session store."""

from dataclasses import dataclass

from service.settings.checks import (
    between,
    store_url,
)
from service.settings.table import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Redis:
    """The session store: Valkey or Redis, version 7 or later."""

    url: str = setting(
        "",
        env="REDIS_URL",
        secret=True,
        check=store_url,
        help="An external session store: `redis://user:password@host:6379/0`, `rediss://` with TLS, "
        "`unix:///path`, or `redis+sentinel://user:password@host1:26379,host2:26379/name`: see [high "
        "availability](../guides/high-availability.md#valkey-with-sentinel). For a cluster: "
        "`redis+cluster://user:password@host1:6379,host2:6379`. Empty: an embedded Valkey in the "
        "data directory.",
    )
    wait_replicas: int = setting(
        0,
        check=between(0, 10),
        help="How many replicas must have a login, a refresh, and all that ends sessions or tokens, before "
        "it is answered; with fewer the answer is 503. 0: a failover may lose what was just answered.",
    )
    timeout: float = setting(
        1.0,
        unit="s",
        check=between(0.1, 30.0),
        help="Longest wait for an answer; then guarded routes answer 503, never a pass.",
    )
