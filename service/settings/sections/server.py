"""The settings of the process: where it listens, and its bounds."""

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from service.settings import checks
from service.settings.table import setting
from service.settings.values import Networks, OptionalNumber, Origins


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
        "127.0.0.1", check=checks.not_empty, help="The address to listen on; `0.0.0.0` for all of IPv4."
    )
    port: int = setting(8080, check=checks.between(0, 65535), help="The TCP port; 0 takes any free one.")
    workers: int = setting(
        derive=_cores,
        shown="one per core, at most 4",
        check=checks.between(1, 64),
        help="Worker processes. Each has its own connections and its own copy of the policy.",
    )
    data: Path = setting(
        derive=_data_directory,
        shown="`$XDG_DATA_HOME/portcullis`, else `~/.local/share/portcullis`",
        help="The data directory: embedded stores, local files, the local signing secret.",
    )
    trusted_proxies: Networks = setting(
        (),
        check=checks.not_everyone,
        help="Networks whose `X-Forwarded-For` is trusted, in CIDR form; comma-separated in the "
        "environment, a list in the file. From any other peer the header is ignored, and the peer's own "
        "address is the client's.",
    )
    public_url: str = setting(
        "",
        check=checks.public_base,
        shown="none",
        help="How others reach this service, such as `https://access.example.com`: a host of its own, "
        "without a path. `/.well-known/authzen-configuration` and `servers` of the OpenAPI document say so. "
        "Without it the first answers 404.",
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
        check=checks.between(0.1, 300.0),
        help="How long the head of a request may take, and a new connection to send its first byte.",
    )
    body_timeout: float = setting(
        15.0, unit="s", check=checks.between(0.1, 300.0), help="Longest silence within the body of a request."
    )
    min_rate: int = setting(
        500,
        unit="bytes/s",
        check=checks.between(0, 1_000_000),
        help="The lowest rate at which a client may send a body, measured over `body_timeout`, or take an "
        "answer, measured over `write_timeout`. 0: any rate, but no silence.",
    )
    write_timeout: float = setting(
        30.0,
        unit="s",
        check=checks.between(0.1, 300.0),
        help="How long an answer may wait for a client that does not take it; then the connection is reset.",
    )
    keep_alive: float = setting(
        75.0,
        unit="s",
        check=checks.between(1.0, 3600.0),
        help="How long a connection is kept open after an answer. Longer than the same setting of the proxy, "
        "or the proxy may send a request into a connection that is being closed.",
    )
    max_connections: int = setting(
        0,
        check=checks.between(0, 1_000_000),
        help="Connections of one worker; further ones are answered 503 and closed. 0: 10,000, or as many as "
        "the limit for open files allows.",
    )
    stop_grace: OptionalNumber = setting(
        None,
        unit="s",
        shown="`5.0`, and `0.0` if all stores are embedded",
        check=checks.between(0.0, 300.0),
        help="How long the service still takes connections and requests after the signal to stop, while "
        "`/health/ready` answers 503 and each answer closes its connection. Longer than a load balancer "
        "needs to notice; with embedded stores there is no other node that it could choose.",
    )
    metrics_token: str = setting(
        "",
        secret=True,
        check=checks.hard_to_guess,
        help="The bearer token that opens `/metrics`, at least 32 characters. Empty: no such page.",
    )
