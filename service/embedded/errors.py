"""The one fault of this package."""

from __future__ import annotations

from service.kernel.operator_error import OperatorError


class EmbeddedError(OperatorError):
    """An embedded store can't start; the message is for the person at the terminal and says what to do."""
