"""The launcher's side of the process that checks and prepares a start.

Model, routes, schema, seed and policy need nearly all of the service and a hundred megabytes, but only once.
So they run in a process that ends before the first worker starts.
"""

from types import TracebackType
from typing import Any, Self

from service.operator.errors import LaunchError
from service.server.children import prepare, processes
from service.server.prepared import Prepared, Refused
from service.settings import Settings


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
        """Return the process."""
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
        """Return if keys, model, lines and routes are in order; else raise ``PreparationError``."""
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
