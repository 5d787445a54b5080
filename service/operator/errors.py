"""Errors that an operator can correct: printed as a message, without a traceback."""

from service.kernel.operator_error import OperatorError


class EmbeddedError(OperatorError):
    """An embedded store can't start, or the data directory can't be used."""


class LaunchError(OperatorError):
    """The base class of the launcher's errors."""


class ListenError(LaunchError):
    """The address can't be listened on."""


class PasswordError(LaunchError):
    """A new password is not acceptable."""


class NameFormatError(LaunchError):
    """A new user name is not acceptable."""


class NoInstallationError(LaunchError):
    """There is no installation that a command could read or change."""


class UnpreparedError(LaunchError):
    """The database has not been seeded by a first start."""
