"""Giving way to other tasks from synchronous code that SQLAlchemy runs on the event loop."""

from __future__ import annotations

from sqlalchemy.util.concurrency import await_only, in_greenlet

from service.kernel.cooperative_yield import CooperativeYield


def give_way_if_async(pauses: CooperativeYield) -> None:
    """Give way within a function that ``AsyncConnection.run_sync`` called; do nothing elsewhere."""
    if in_greenlet():
        await_only(pauses.give_way())
