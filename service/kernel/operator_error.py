"""The base class of errors that a command prints for its operator."""

from __future__ import annotations


class OperatorError(Exception):
    """A fault that the operator can correct; the message says what is wrong and holds no secret."""
