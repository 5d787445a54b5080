"""Requests for roles for archives of evidence; the feature that keeps requests provides them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.feature import sole


class RequestHistory(Struct, frozen=True):
    """The dataclasses of a request and of a ``decision`` about it, and what reads them.

    ``read`` returns a request by its id as it was at an instant, and raises NotFound. ``decisions`` are those
    of requests, by id. ``of_user`` are the requests of a user that were pending between two instants.
    """

    request: type[Any]
    decision: type[Any]
    read: Callable[[AsyncConnection, int, datetime], Awaitable[Any]]
    decisions: Callable[[AsyncConnection, Sequence[int]], Awaitable[Mapping[int, Sequence[Any]]]]
    of_user: Callable[[AsyncConnection, int, datetime, datetime], Awaitable[Sequence[Any]]]


def request_history() -> RequestHistory:
    """Return the history of requests, whether their feature is on or off."""
    history: RequestHistory = sole("request-history")
    return history
