"""``portcullis serve``: prepare everything once, then run the workers until told to stop."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping

from service import settings as table
from service.app import check_routes
from service.authn.signing_keys import signing_keys
from service.authz.publishing.shipped import configured
from service.files.bucket import create_bucket
from service.files.object_store import object_store
from service.installation import check_installation
from service.launch.banner import banner
from service.launch.capacity import raise_file_limit
from service.launch.listening import listener
from service.launch.prepare import PASSWORD, prepare_database, publish_policy
from service.launch.seclusion import OWNER_ONLY, close_to_others, forget_variable
from service.launch.server import DRAIN
from service.launch.stores import Stores, running
from service.launch.supervisor import Supervisor
from service.settings import Settings
from service.web.observability.log_format import configure_logging

STOP_MARGIN = 10  # seconds for a worker to let go of its stores, after its grace and its drain

# mallopt(3): the 19 MiB of a password hash go back to the system instead of staying in an arena per thread:
# after forty logins a worker of 100 MB had grown to 140 MB.
_MALLOC = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "1048576"}


def serve(environ: Mapping[str, str]) -> None:
    """Run the service with the settings of ``environ`` until SIGINT or SIGTERM.

    Everything that can be wrong is found before the first worker starts, and raised: ``InstallationError``,
    ``SettingsError``, ``PolicyError``, ``RoutesError``, ``ListenError``, ``EmbeddedError``, ``SchemaError``,
    ``PasswordError`` and, when an external store is out of reach, ``Unavailable``.
    """
    check_installation()
    forget_variable(PASSWORD)  # ``environ`` has it, and nobody else needs it
    os.umask(OWNER_ONLY)
    settings = table.load(environ)
    _check_keys(settings)
    configure_logging(settings.log.format, settings.log.level)
    shipped = configured(settings.policy)
    check_routes(shipped)
    for name in ("logs", "files"):
        close_to_others(settings.server.data / name)
    with listener(settings) as bound, running(settings) as stores:
        first = prepare_database(stores.settings, environ)
        policy = publish_policy(stores.settings, shipped)
        create_bucket(settings.objstore, settings.server)
        rows = {
            "API docs": f"{_address(bound)}/docs",
            "workers": str(settings.server.workers),
            "database": stores.database,
            "sessions": stores.sessions,
            "files": object_store(settings.objstore, settings.server.data / "files").description,
            "policy": f"revision {policy.revision}, {len(policy.rules)} lines",
        }
        print(banner(_address(bound), rows, first), file=sys.stderr, flush=True)
        _run_workers(stores, bound)


def _check_keys(settings: Settings) -> None:
    """Raise ``SettingsError`` for keys that don't fit: a worker would find out, and be started for ever."""
    if settings.auth.jwt_secret or not settings.auth.jwt_algorithm.startswith("HS"):
        signing_keys(settings.auth)


def _address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _run_workers(stores: Stores, bound: socket.socket) -> None:
    # Workers read their settings from the environment: what was filled in here must be in it.
    os.environ.update({**_MALLOC, **os.environ, **stores.settings.environment()})
    raise_file_limit()
    server = stores.settings.server
    Supervisor(bound, server.workers, server.stop_grace + DRAIN + STOP_MARGIN).run()
