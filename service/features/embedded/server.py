"""One server process, kept alive by its own thread."""

import signal
import subprocess
import threading
import time
from contextlib import suppress

import structlog

from service.features.embedded.program import Program, at_work_in, freeze_all, send
from service.operator.errors import EmbeddedError

_log = structlog.get_logger(__name__)

_START_PATIENCE = 120.0  # seconds; recovery after a crash may take a while
_STOP_PATIENCE = 15.0  # seconds
_FIRST_BACKOFF, _LONGEST_BACKOFF = 0.1, 5.0  # seconds between restarts
_STEADY = 10.0  # seconds of life after which the back-off is reset
_POLL = 0.01  # seconds between two looks at a starting server


class Server:
    """A program that runs while it is required, and is restarted when it dies.

    The parent-death signal is tied to the *thread* that started the process. The keeper thread therefore
    starts it, and lives until ``close``. All state changes hold ``_changed``.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._changed = threading.Condition()
        self._wanted = False
        self._closed = False
        self._serving = False
        self._has_served = False  # since the last call of start
        self._process: subprocess.Popen[bytes] | None = None
        self._fault: EmbeddedError | None = None
        self._keeper = threading.Thread(target=self._keep, name=f"keeper-{program.name}", daemon=True)

    @property
    def pid(self) -> int | None:
        """Return the id of the running process, or None."""
        process = self._process
        return process.pid if process else None

    def begin(self) -> None:
        """Start the server in the background; raises EmbeddedError if it was closed."""
        with self._changed:
            if self._closed:
                raise EmbeddedError(f"{self._program.name} was closed and can't be started again")
            self._wanted = True
            self._has_served = self._serving
            self._fault = None
            if self._keeper.ident is None:
                self._keeper.start()
            self._changed.notify_all()

    def start(self) -> None:
        """Run the server and wait until it serves; raises EmbeddedError with the end of its log."""
        self.begin()
        self.wait()

    def wait(self) -> None:
        """Wait until the server serves; raises EmbeddedError if its first start failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._serving or self._fault is not None or not self._wanted)
            if self._fault is not None:
                raise self._fault

    def stop(self) -> None:
        """Stop the server in order, without a restart; do nothing if it does not run."""
        with self._changed:
            self._wanted = False
            self._changed.notify_all()
            process = self._process
        if process is None:
            return
        self.resume()
        process.send_signal(self._program.stop_signal)
        with self._changed:
            if not self._changed.wait_for(lambda: self._process is not process, _STOP_PATIENCE):
                process.kill()
                self._changed.wait_for(lambda: self._process is not process)

    def close(self) -> None:
        """Stop the server and its keeper permanently."""
        self.stop()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._keeper.ident is not None:
            self._keeper.join()

    def pause(self) -> None:
        """Freeze the server and all its children: connections stay open without answers.

        Waits until all of them have stopped. Raises TimeoutError after 5 s.
        """
        freeze_all(self._program.directory, self._program.process_name)

    def resume(self) -> None:
        program = self._program
        send(at_work_in(program.directory, program.process_name), signal.SIGCONT)

    def _keep(self) -> None:
        backoff = 0.0
        while self._may_start(backoff):
            began = time.monotonic()
            fault = self._live_once()
            if fault is None:
                backoff = 0.0
            elif not self._has_served:
                self._give_up(fault)
            else:
                steady = backoff == 0.0 or time.monotonic() - began > _STEADY
                backoff = _FIRST_BACKOFF if steady else min(backoff * 2, _LONGEST_BACKOFF)
                reason = str(fault).splitlines()[0]
                with suppress(OSError, ValueError):  # without a reader of the log, serve all the same
                    _log.warning("embedded_server_ended", reason=reason, restart_in_seconds=backoff)

    def _may_start(self, backoff: float) -> bool:
        """Sleep for ``backoff`` seconds and until the server is required; return false when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._wanted, backoff)
            self._changed.wait_for(lambda: self._closed or self._wanted)
            return not self._closed

    def _live_once(self) -> EmbeddedError | None:
        """Run the program to its end; return the error, or None if it was stopped on request."""
        try:
            self._program.prepare()
            process = self._spawn_if_wanted()
        except EmbeddedError as fault:
            return fault
        except OSError as error:
            return EmbeddedError(f"{self._program.name} can't be started: {error}")
        if process is None:
            return None
        self._watch(process)
        with self._changed:
            self._process, self._serving = None, False
            self._changed.notify_all()
            if not self._wanted:
                return None
        return EmbeddedError(
            f"{self._program.name} ended with status {process.returncode}; "
            f"the end of {self._program.log}:\n{self._program.last_words()}"
        )

    def _spawn_if_wanted(self) -> subprocess.Popen[bytes] | None:
        with self._changed:
            self._process = self._program.spawn() if self._wanted else None
            return self._process

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Set the state once ``process`` serves, and wait until it has ended."""
        deadline = time.monotonic() + _START_PATIENCE
        while process.poll() is None and not self._program.ready(process.pid):
            if time.monotonic() > deadline:
                process.kill()
            time.sleep(_POLL)
        with self._changed:
            if process.returncode is None:
                self._serving = self._has_served = True
                self._changed.notify_all()
        process.wait()

    def _give_up(self, fault: EmbeddedError) -> None:
        with self._changed:
            self._wanted, self._fault = False, fault
            self._changed.notify_all()
