"""Where the log lines of a service in the test's own process go."""

import io
import sys

import structlog


class _StandardError(io.TextIOBase):
    """Standard error as it is when a line is written: a test may have begun to capture it meanwhile."""

    def write(self, text: str, /) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def log_to_standard_error() -> None:
    """Leave standard output to what commands print: a service logs beside them at any moment."""
    output = _StandardError()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(output))  # type: ignore[arg-type]
