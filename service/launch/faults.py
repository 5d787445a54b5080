"""What an operator can mend: reported in words, without a traceback."""

from __future__ import annotations

from service.kernel.operator_error import OperatorError


class LaunchFault(OperatorError):  # noqa: N818 - named for what is wrong, not for the act of raising
    """The root of the launcher's own faults."""


class ListenFault(LaunchFault):
    """The address can't be listened on."""


class PasswordFault(LaunchFault):
    """The first administrator's password will not do."""


class NameFault(LaunchFault):
    """The name will not do."""


class UnpreparedFault(LaunchFault):
    """The database has not been filled by a first start."""
