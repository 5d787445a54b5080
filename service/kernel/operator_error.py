"""The root of the errors that a command tells its operator in words."""

from __future__ import annotations


class OperatorError(Exception):
    """What an operator can correct; the message says what is wrong and holds no secret."""
