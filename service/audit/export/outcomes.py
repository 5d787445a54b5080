"""How an attempt to send a batch may end, other than well."""

from __future__ import annotations


class Failed(Exception):  # noqa: N818 - an outcome that the sender handles
    """The batch was not taken; it may be later. The message says why, and holds no secret.

    ``retry_after`` is what the receiver asked for, in seconds. ``internal``: it has failed itself.
    """

    def __init__(self, reason: str, *, retry_after: float | None = None, internal: bool = False) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.internal = internal


class Refused(Failed):
    """The receiver does not take the batch as it is, or it can't be encoded: one entry may be the cause."""
