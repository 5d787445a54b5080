"""``portcullis serve``: prepare everything once, then run the workers until a stop is requested."""

import os
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import structlog

from service import settings as table
from service.installation import check_installation
from service.kernel.feature import provided
from service.operator.data_directory import is_open_to_group, require_own
from service.operator.errors import LaunchError
from service.operator.stores import running
from service.server.children import (
    import_what_the_launcher_does,
    prepare,
    processes,
    tell_the_template,
    use_short_sockets,
)
from service.server.handover import Handover
from service.server.hardening import MALLOC, OWNER_ONLY, close_to_others, forget_variable
from service.server.listening import bound_listener, listen
from service.server.prepared import Prepared, Refused, banner
from service.server.shares import raise_file_limit
from service.server.stop_order import longest_stop, with_stop_grace
from service.server.supervisor import Supervisor
from service.settings import Settings
from service.web.observability.log_format import configure_logging


class PreparationError(LaunchError):
    """The start can't continue; the message is the one of the error that was found."""


class Preparation:
    """A process that checks what needs no store, then prepares the stores. It ends with the ``with``."""

    def __init__(self, settings: Settings) -> None:
        """Start it; ``settings`` are those that the operator gave."""
        self._pipe, theirs = processes.Pipe()
        self._process = processes.Process(target=prepare, args=(theirs, settings))
        self._process.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process if it has not ended by itself."""
        self._pipe.close()
        if kind is not None:
            self._process.terminate()
        self._process.join()

    def check(self) -> None:
        """Check keys, model, lines and routes; raises ``PreparationError`` for a fault."""
        self._answer()

    def prepare(self, settings: Settings, password: str | None) -> Prepared:
        """Prepare the stores of ``settings`` for the workers; ``PreparationError`` if that fails.

        ``password`` is for the first administrator of a new database; None for a random one.
        """
        self._pipe.send((settings, password))
        prepared = self._answer()
        assert isinstance(prepared, Prepared)  # noqa: S101 - see service.server.prepare.run
        return prepared

    def _answer(self) -> Any:
        try:
            answer = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            status = self._process.exitcode
            raise PreparationError(f"The preparation ended with status {status}; see above") from None
        if isinstance(answer, Refused):
            raise PreparationError(answer.reason)
        return answer


_STANDARD_ERROR: Final = 2

_log = structlog.get_logger()


def serve(environ: Mapping[str, str]) -> None:
    """Run the service with the settings of ``environ`` until SIGINT or SIGTERM.

    Errors are found and raised before the first worker starts: ``InstallationError``, ``SettingsError``,
    ``ListenError``, ``EmbeddedError`` and, for all else, ``PreparationError``.
    """
    check_installation()
    password = table.first_password(environ)
    forget_variable(table.FIRST_PASSWORD)  # it is not needed any more
    os.umask(OWNER_ONLY)
    settings = with_stop_grace(table.load(environ))
    configure_logging(settings.log.format, settings.log.level)
    use_short_sockets()
    import_what_the_launcher_does()
    tell_the_template(settings)
    # Before the first child: the process that all are forked from inherits both.
    os.environ.update({**MALLOC, **os.environ})
    raise_file_limit()
    handover = Handover()
    with ExitStack() as held:
        with Preparation(settings) as preparation:
            preparation.check()
            _check_data(settings.server.data)
            for name in ("logs", "files"):
                close_to_others(settings.server.data / name)
            bound = held.enter_context(bound_listener(settings))
            stores = held.enter_context(running(settings))
            prepared = preparation.prepare(stores.settings, password)
        console = {"console": f"{_address(bound)}/console"} if settings.console.enabled else {}
        pages = {
            name: f"{_address(bound)}{path}"
            for rows in provided("banner", settings.features.off).values()
            for name, path in rows.items()
        }
        rows = {
            **console,
            **pages,
            "workers": str(settings.server.workers),
            "database": stores.database,
            "sessions": stores.sessions,
            "files": prepared.files,
            "policy": prepared.policy,
        }
        listen(bound)
        _show(banner(_address(bound), rows, prepared.first_login))
        handover.give(stores.settings)
        Supervisor(bound, stores.settings, longest_stop(stores.settings)).run()


def _show(text: str) -> None:
    """Write the banner to standard error; a failure, as on a full disk, does not stop the start.

    It bypasses the buffer: buffered text would fail again when ``multiprocessing`` flushes it.
    """
    rest = f"{text}\n".encode(errors="backslashreplace")
    try:
        while rest:
            rest = rest[os.write(_STANDARD_ERROR, rest) :]
    except OSError as error:
        _log.error(
            "the banner can't be written; portcullis admin reset makes another first password",
            reason=error.strerror,
        )


def _check_data(directory: Path) -> None:
    require_own(directory)
    if is_open_to_group(directory):
        _log.warning("a group may write the data directory", directory=str(directory))


def _address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
