"""Refuses data that a node of an older version would ignore or misread."""

from collections.abc import Callable
from typing import Final

from service.authz.engine.rules import ASSURANCE, REQUEST, REVIEW
from service.errors import Conflict
from service.kernel.core_sentences import sentence
from service.records.database.transactions import Connection
from service.records.published import policy_workers
from service.records.published.policy_workers import (
    AGENTS,
    LINE_ENDS,
    PERSONAL_KEYS,
    WINDOWS,
    PolicyWorker,
)

Knows = Callable[[PolicyWorker], bool]

_KNOWN: Final[dict[str, Knows]] = {
    ASSURANCE: lambda worker: ASSURANCE in worker.layers,
    REQUEST: lambda worker: REQUEST in worker.layers,
    REVIEW: lambda worker: REVIEW in worker.layers,
    WINDOWS: lambda worker: WINDOWS in worker.knows,
    LINE_ENDS: lambda worker: LINE_ENDS in worker.knows,
    PERSONAL_KEYS: lambda worker: PERSONAL_KEYS in worker.knows,
    AGENTS: lambda worker: AGENTS in worker.knows,
}
"""Forms that older versions lack: a test of a worker."""


async def require_known(connection: Connection, form: str) -> None:
    """Check that every worker that reports knows ``form``, such as ``ASSURANCE`` or ``WINDOWS``.

    Otherwise raises Conflict: an older worker would allow requests that the others refuse.
    """
    for worker in await policy_workers.present(connection):
        if not _KNOWN[form](worker):
            raise Conflict(sentence("older_nodes", worker=worker.worker, form=form), rule="older_nodes")
