"""The log on standard output: JSON lines for machines, readable lines on a terminal, one per event.

structlog and the standard library's ``logging`` (so also uvicorn) write through the same processors. Headers,
query values, tokens and bodies are never logged. Clients can't inject lines: JSON and
the readable lines escape control characters.
"""

import json
import logging
import os
import sys
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from time import time
from typing import Any, BinaryIO, Final, Literal

import msgspec
import structlog
from structlog.typing import Processor, WrappedLogger

from service.kernel.clock import TextClock
from service.kernel.origin import ORIGIN
from service.kernel.text import printable

Event = MutableMapping[str, Any]

_TRACEBACK: Final = "exception"
_STANDARD_ERROR: Final = 2

_CHATTY: Final = ("alembic", "casbin", "httpcore", "httpx")
"""Libraries whose info lines repeat those of this service, are not wanted, or name webhooks with tokens."""


def configure_logging(
    format: Literal["auto", "json", "console"] = "auto",  # noqa: A002 - the setting's name
    level: str = "info",
    stream: BinaryIO | None = None,
) -> None:
    """Send all logging of this process to ``stream``, standard output by default.

    ``auto`` is ``console`` on a terminal, else ``json``. ``level`` is debug, info, warning or error.
    uvicorn must be started with ``log_config=None, access_log=False``: requests have a line of their own.
    """
    out = stream or sys.stdout.buffer
    terminal = out.isatty()
    readable = format == "console" or (format == "auto" and terminal)
    losses = _Losses()
    structlog.configure(
        processors=[_complete, _console(colors=terminal) if readable else _json],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_name: _Lines(out, losses),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _IntoStructlog)]:
        root.removeHandler(handler)
    root.addHandler(_IntoStructlog())
    root.setLevel(level.upper())
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Lines(structlog.BytesLogger):
    """Writes lines. A line that can't be written is lost: the service goes on when the log's reader has gone.

    The reason, such as a full disk, is reported once on standard error. When lines can be written again, the
    number of lost lines is logged. Nothing is left in a buffer, which ``multiprocessing`` flushes before it
    starts a process.
    """

    def __init__(self, stream: BinaryIO, losses: "_Losses") -> None:
        super().__init__(stream)
        self._raw = getattr(stream, "raw", stream)
        self._losses = losses

    def msg(self, message: bytes) -> None:
        """Write one line."""
        losses = self._losses
        with self._lock, suppress(ValueError):  # of a file that was closed
            try:
                if losses.count:
                    self._put(losses.line())
                    losses.count = 0
                self._put(message + b"\n")
            except OSError as error:
                losses.add(error)

    def _put(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest and (written := self._raw.write(rest)):
            rest = rest[written:]

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg


class _Losses:
    """The lines that a stream did not take, until it takes some again; of all loggers of the stream."""

    def __init__(self) -> None:
        self.count = 0
        self._reason = ""

    def add(self, error: OSError) -> None:
        """Count a lost line; report the first one on standard error, unless the stream's reader has gone."""
        self.count += 1
        self._reason = error.strerror or type(error).__name__
        if self.count == 1 and not isinstance(error, BrokenPipeError):
            words = (
                f"portcullis: the log can't be written: {self._reason}. Lines are lost until there is room\n"
            )
            with suppress(OSError):
                os.write(_STANDARD_ERROR, words.encode())

    def line(self) -> bytes:
        """Return a log line with the number of lost lines."""
        facts = {"event": "lines of the log were lost", "count": self.count, "reason": self._reason}
        return b"\n" + json_line({**facts, "level": "warning", "time": clock.text()}) + b"\n"


class _IntoStructlog(logging.Handler):
    """Passes the records of the standard library to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; a record that can't be formatted is reported as the standard library does."""
        try:
            level = max(logging.DEBUG, min(record.levelno // 10 * 10, logging.CRITICAL))
            message = record.getMessage()
            structlog.get_logger().log(level, message, logger=record.name, exc_info=record.exc_info)
        except Exception:  # noqa: BLE001 - logging must not raise into its caller; handleError reports it
            self.handleError(record)


clock: Final = TextClock(time)
"""The clock of the log."""


def _complete(logger: WrappedLogger, name: str, event: Event) -> Event:
    event["level"] = name
    event["time"] = clock.text()
    if (origin := ORIGIN.get()) is not None:
        event["request_id"] = origin.request_id
        if origin.trace_id:
            event["trace_id"] = origin.trace_id
    if "exc_info" in event:
        return structlog.processors.format_exc_info(logger, name, event)
    return event


def _json(_logger: WrappedLogger, _name: str, event: Event) -> bytes:
    return json_line(event)


def json_line(event: Event | msgspec.Struct) -> bytes:
    """Return ``event`` as JSON in ASCII, without the line feed."""
    try:
        line = _encode(event)
        if line.isascii():
            return line
        event = msgspec.to_builtins(event, enc_hook=repr)
    except UnicodeEncodeError:
        pass  # a lone surrogate
    # Slower, and escapes all that is not ASCII: C1 controls and line separators among it.
    return json.dumps(event, default=repr).encode("ascii")


_encode: Final = msgspec.json.Encoder(enc_hook=repr).encode


def json_output() -> Callable[[bytes], None] | None:
    """Return the function that writes a finished JSON line; None unless JSON at level info is on."""
    config = structlog.get_config()
    as_json = config["processors"][-1] is _json
    if not as_json or not structlog.get_logger().bind().is_enabled_for(logging.INFO):
        return None
    output: Callable[[bytes], None] = config["logger_factory"]().msg
    return output


def _console(*, colors: bool) -> Processor:
    render = structlog.dev.ConsoleRenderer(colors=colors, timestamp_key="time")

    def readable(logger: WrappedLogger, name: str, event: Event) -> bytes:
        traceback = str(event.pop(_TRACEBACK, ""))
        event = {key: printable(value) if isinstance(value, str) else value for key, value in event.items()}
        line = str(render(logger, name, event))
        # Indented, so that a line of a traceback never looks like a line of the log.
        return "\n    ".join([line, *map(printable, traceback.splitlines())]).encode()

    return readable
