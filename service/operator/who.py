"""The operator at the command line: the account's name, a new password, and the security log."""

import os
import pwd
import sys
from getpass import getpass
from time import perf_counter
from typing import Any

import structlog

from service.operator.errors import PasswordError
from service.records.logs.events import OperationEvent
from service.settings import Settings
from service.web.observability.log_format import configure_logging


def operator_name() -> str:
    """Return the account that runs the command; with sudo, also the account before.

    It is read from the user id, not from ``LOGNAME`` or ``USER``, which anybody can set.
    """
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's user without an entry
        name = f"uid {os.getuid()}"
    before = os.environ.get("SUDO_USER")
    return f"{name} (sudo by {before})" if before else name


def asked_password() -> str:
    """Return a new password: asked for twice on a terminal, without echo, else the first line of the input.

    Raises ``PasswordError`` if the two differ.
    """
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass("Password: ")
    if getpass("Once more: ") != password:
        raise PasswordError("The two passwords differ")
    return password


def log_to_errors(settings: Settings, level: str = "warning") -> None:
    """Log to standard error from ``level`` on, in the format of the service's log.

    Standard output is for the command's result.
    """
    configure_logging(settings.log.format, level, sys.stderr.buffer)


def tell_security(settings: Settings, event: str, **facts: object) -> None:
    """Log a security event, whatever ``log.level`` is; ``facts`` hold no secret."""
    log_to_errors(settings)
    log = structlog.get_logger(__name__)
    log.warning(event, event_type="security", operator=operator_name(), **facts)


def operator_event(command: str, begun: float, **facts: Any) -> OperationEvent:
    """Return the entry of a command that the operator has run, for the operation log.

    ``command`` is its words behind ``portcullis``, ``begun`` when it began, by ``perf_counter``. ``facts``
    are other fields of the entry; without them it is an update that was done.
    """
    done: dict[str, Any] = {"kind": "UPDATE", "status": 200, "user_name": operator_name()}
    elapsed_ms = round((perf_counter() - begun) * 1000, 3)
    return OperationEvent(method="CLI", url=f"portcullis {command}", elapsed_ms=elapsed_ms, **(done | facts))
