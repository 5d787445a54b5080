"""The settings of PostgreSQL."""

from dataclasses import dataclass

from service.settings.checks import (
    between,
    postgres_url,
)
from service.settings.table import setting
from service.settings.values import OptionalPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """The PostgreSQL database."""

    url: str = setting(
        "",
        env="DATABASE_URL",
        secret=True,
        check=postgres_url,
        help="An external PostgreSQL: `postgresql://user:password@host:5432/name`, or with its standbys "
        "`…@host1:5432,host2:5432/name`: see [high availability](../guides/high-availability.md#postgresql). "
        "Empty: an embedded one in the data directory.",
    )
    direct_url: str = setting(
        "",
        env="DATABASE_DIRECT_URL",
        secret=True,
        check=postgres_url,
        help="Set it where `database.url` leads to a pooler in transaction mode, such as PgBouncer: how the "
        "server itself is reached, by the start, the commands and what listens for announcements. Requests "
        "then use no prepared statements.",
    )
    replica_url: str = setting(
        "",
        env="DATABASE_REPLICA_URL",
        secret=True,
        check=postgres_url,
        help="A standby from which pages and exports of the logs are read, once it has replayed what was "
        "written before. Empty: they are read from the primary.",
    )
    pool_size: int = setting(
        5,
        check=between(1, 200),
        help="The most connections that one worker opens for transactions; single reads and the logs have "
        "two more each.",
    )
    timeout: float = setting(
        2.0, unit="s", check=between(0.1, 30.0), help="Longest wait for a connection; then the answer is 503."
    )
    migrate: bool = setting(
        True,
        help="Whether a start brings the schema to its version. If not, it refuses to run on an older one: "
        "run `portcullis db migrate` first. `serve --no-migrate` is the same.",
    )
    backup_days: int = setting(
        7,
        unit="days",
        check=between(0, 3650),
        help="How old the last `portcullis backup` may be before `doctor` warns; 0: others make backups.",
    )
    programs: OptionalPath = setting(
        None,
        shown="none",
        help="The directory of `pg_dump` and `pg_restore`, for `portcullis backup` and `restore`, not "
        "older than the server. Empty: those of the `PATH`, or of the embedded PostgreSQL.",
    )
