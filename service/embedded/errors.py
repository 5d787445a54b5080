"""The error of this package."""

from __future__ import annotations

from service.kernel.operator_error import OperatorError


class EmbeddedError(OperatorError):
    """An embedded store can't start; the message tells the operator what to do."""
