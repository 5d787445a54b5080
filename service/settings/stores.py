"""The settings of the process and of the stores that it uses."""
# ruff: noqa: RUF009 - setting() returns a dataclass field, which the rule knows only by its own name

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from service.settings.checks import (
    between,
    hard_to_guess,
    not_empty,
    not_everyone,
    postgres_url,
    public_base,
    store_url,
    url,
)
from service.settings.table import setting
from service.settings.values import Networks, OptionalPath, Origins


def _cores(_environ: Mapping[str, str]) -> int:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(4, usable)


def _data_directory(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_DATA_HOME", "")
    if not Path(base).is_absolute():  # the XDG specification says to ignore relative paths
        base = f"{_home(environ)}/.local/share"
    return Path(base) / "portcullis"


def _home(environ: Mapping[str, str]) -> str:
    if Path(environ.get("HOME", "")).is_absolute():
        return environ["HOME"]
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a container's user without an entry; the folder is made only when it is needed
        return "/var/lib"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where the service listens and keeps its files."""

    host: str = setting(
        "127.0.0.1", check=not_empty, help="The address to listen on; `0.0.0.0` for all of IPv4."
    )
    port: int = setting(8080, check=between(0, 65535), help="The TCP port; 0 takes any free one.")
    workers: int = setting(
        derive=_cores,
        shown="one per core, at most 4",
        check=between(1, 64),
        help="Worker processes. Each has its own connections and its own copy of the policy.",
    )
    data: Path = setting(
        derive=_data_directory,
        shown="`$XDG_DATA_HOME/portcullis`, else `~/.local/share/portcullis`",
        help="The data directory: embedded stores, local files, the local signing secret.",
    )
    trusted_proxies: Networks = setting(
        (),
        check=not_everyone,
        help="Networks whose `X-Forwarded-For` is trusted, in CIDR form; comma-separated in the "
        "environment, a list in the file. From any other peer the header is ignored, and the peer's own "
        "address is the client's.",
    )
    public_url: str = setting(
        "",
        check=public_base,
        shown="none",
        help="How other services reach this one, such as `https://access.example.com`: "
        "`/.well-known/authzen-configuration` says so. Without it that answers 404.",
    )
    cors_origins: Origins = setting(
        Origins(),
        help="The origins, besides this service's own, whose pages may call the API from a browser, such as "
        "`https://app.example.com`: exact, comma-separated in the environment, a list in the file. Not "
        "together with cookie mode.",
    )
    head_timeout: float = setting(
        15.0,
        unit="s",
        check=between(0.1, 300.0),
        help="How long the head of a request may take, and a new connection to send its first byte.",
    )
    body_timeout: float = setting(
        15.0, unit="s", check=between(0.1, 300.0), help="Longest silence within the body of a request."
    )
    min_rate: int = setting(
        500,
        unit="bytes/s",
        check=between(0, 1_000_000),
        help="The lowest rate at which a client may send a body, measured over `body_timeout`, or take an "
        "answer, measured over `write_timeout`. 0: any rate, but no silence.",
    )
    write_timeout: float = setting(
        30.0,
        unit="s",
        check=between(0.1, 300.0),
        help="How long an answer may wait for a client that does not take it; then the connection is reset.",
    )
    keep_alive: float = setting(
        75.0,
        unit="s",
        check=between(1.0, 3600.0),
        help="How long a connection is kept open after an answer. Longer than the same setting of the proxy, "
        "or the proxy may send a request into a connection that is being closed.",
    )
    max_connections: int = setting(
        0,
        check=between(0, 1_000_000),
        help="Connections of one worker; further ones are answered 503 and closed. 0: 10,000, or as many as "
        "the limit for open files allows.",
    )
    stop_grace: float = setting(
        5.0,
        unit="s",
        check=between(0.0, 300.0),
        help="How long the service still takes connections and requests after the signal to stop, while "
        "`/health/ready` answers 503 and each answer closes its connection. Longer than a load balancer "
        "needs to notice.",
    )
    metrics_token: str = setting(
        "",
        secret=True,
        check=hard_to_guess,
        help="The bearer token that opens `/metrics`, at least 32 characters. Empty: no such page.",
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Redis:
    """The session store: Valkey or Redis, version 7 or later."""

    url: str = setting(
        "",
        env="REDIS_URL",
        secret=True,
        check=store_url,
        help="An external session store: `redis://user:password@host:6379/0`, `rediss://` with TLS, "
        "`unix:///path`, or `redis+sentinel://user:password@host1:26379,host2:26379/name`: see "
        "[high availability](../guides/high-availability.md#valkey-with-sentinel). Empty: an embedded Valkey "
        "in the data directory.",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Objstore:
    """The object store for files: S3-compatible, or a local directory."""

    endpoint: str = setting(
        "",
        env="OBJSTORE_ENDPOINT",
        check=url("https", "http"),
        help="The S3 endpoint. Empty with a bucket: Amazon S3 of the region.",
    )
    bucket: str = setting(
        "", env="OBJSTORE_BUCKET", help="The bucket. Empty: files are kept in the data directory."
    )
    region: str = setting(
        "us-east-1", env="OBJSTORE_REGION", check=not_empty, help="The region of the bucket."
    )
    access_key: str = setting(
        "",
        env="OBJSTORE_ACCESS_KEY",
        secret=True,
        help="The access key. Empty together with the secret key: the credentials of the machine's role.",
    )
    secret_key: str = setting("", env="OBJSTORE_SECRET_KEY", secret=True, help="The secret key.")
    addressing: Literal["path", "virtual"] = setting(
        "path",
        help="Where the bucket stands in requests: in the `path`, or in the host name (`virtual`), as newer "
        "buckets of Amazon S3 want it.",
    )
    create_bucket: bool = setting(
        False, help="Create a missing bucket at the start; the keys must have the permission."
    )
    timeout: float = setting(
        10.0,
        unit="s",
        check=between(0.1, 300.0),
        help="Longest silence of the store within a transfer; then the answer is 503.",
    )
    presigned_links: bool = setting(
        False,
        help="Answer downloads with 307 and a signed URL of the store instead of the bytes. It needs both "
        "keys, clients that reach the store, and a store that obeys `response-content-disposition`: see "
        "[files](files.md).",
    )
    presigned_life: int = setting(
        60, unit="s", check=between(1, 3600), help="How long such a URL can be used."
    )
