"""What an operator can mend: reported in words, without a traceback."""

from __future__ import annotations

from service.kernel.operator_error import OperatorError


class LaunchError(OperatorError):
    """The root of the launcher's own faults."""


class ListenError(LaunchError):
    """The address can't be listened on."""


class PasswordError(LaunchError):
    """The first administrator's password will not do."""


class NameFormatError(LaunchError):
    """The name will not do."""


class UnpreparedError(LaunchError):
    """The database has not been filled by a first start."""
