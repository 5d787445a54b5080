"""Refuses data that a node of an older version would ignore or misread."""

from collections.abc import Callable
from typing import Final

from service.authz.engine.rules import ASSURANCE, REQUEST, REVIEW
from service.errors import Conflict
from service.kernel.core_sentences import sentence
from service.records.database.transactions import Connection
from service.records.published import policy_workers
from service.records.published.policy_workers import LINE_ENDS, WINDOWS, PolicyWorker

Knows = Callable[[PolicyWorker], bool]

_WITHOUT: Final[dict[str, tuple[Knows, str]]] = {
    ASSURANCE: (lambda worker: ASSURANCE in worker.layers, "that does not support authentication demands"),
    REQUEST: (lambda worker: REQUEST in worker.layers, "that does not support access requests"),
    REVIEW: (lambda worker: REVIEW in worker.layers, "that does not support reviews"),
    WINDOWS: (
        lambda worker: WINDOWS in worker.knows,
        "that does not support assignments with a start or an end",
    ),
    LINE_ENDS: (lambda worker: LINE_ENDS in worker.knows, "that does not support an expiry of public access"),
}
"""Forms that older versions lack: a test of a worker, and a description of a worker without the form."""


async def require_known(connection: Connection, form: str) -> None:
    """Check that every worker that reports knows ``form``, such as ``ASSURANCE`` or ``WINDOWS``.

    Otherwise raises Conflict: an older worker would allow requests that the others refuse.
    """
    knows, kind = _WITHOUT[form]
    for worker in await policy_workers.present(connection):
        if not knows(worker):
            raise Conflict(
                sentence("older_nodes", worker=worker.worker, version=kind),
                rule="older_nodes",
            )
