"""Refuses what a node of an older version would not see, or would read in another way."""

from collections.abc import Callable
from typing import Final

from service.authz.engine.rules import ASSURANCE, REQUEST, REVIEW
from service.errors import Conflict
from service.records.database.transactions import Connection
from service.records.published import policy_workers
from service.records.published.policy_workers import LINE_ENDS, WINDOWS, PolicyWorker

Knows = Callable[[PolicyWorker], bool]

_WITHOUT: Final[dict[str, tuple[Knows, str]]] = {
    ASSURANCE: (lambda worker: ASSURANCE in worker.layers, "that asks for no demand on authentication"),
    REQUEST: (lambda worker: REQUEST in worker.layers, "that knows no requests for access"),
    REVIEW: (lambda worker: REVIEW in worker.layers, "that knows no reviews"),
    WINDOWS: (
        lambda worker: WINDOWS in worker.knows,
        "that knows no assignments with a beginning or an end",
    ),
    LINE_ENDS: (lambda worker: LINE_ENDS in worker.knows, "for which no public access ends"),
}
"""Forms that older versions lack: a test of a worker, and a description of a worker without the form."""


async def require_known(connection: Connection, form: str) -> None:
    """Check that every worker that reports knows ``form``, such as ``ASSURANCE`` or ``WINDOWS``.

    Conflict else: that worker would let pass what the others refuse.
    """
    knows, kind = _WITHOUT[form]
    for worker in await policy_workers.present(connection):
        if not knows(worker):
            raise Conflict(
                f"{worker.worker} is of a version {kind}: change all nodes to a later one first",
                rule="older_nodes",
            )
