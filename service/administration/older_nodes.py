"""Refuses data that a node of an older version would ignore or misread."""

from typing import Final

from service.authz.engine.rules import ASSURANCE, REQUEST, REVIEW
from service.errors import Conflict
from service.kernel.core_sentences import sentence
from service.records.database.transactions import Connection
from service.records.published import policy_workers

_LAYERS: Final = frozenset({ASSURANCE, REQUEST, REVIEW})
"""Forms that are layers of the policy; all others are forms of rights."""


async def require_known(connection: Connection, form: str) -> None:
    """Check that every worker that reports knows ``form``, such as ``ASSURANCE`` or ``WINDOWS``.

    Otherwise raises Conflict: an older worker would allow requests that the others refuse.
    """
    if (worker := await _without(connection, form)) is not None:
        raise Conflict(sentence("older_nodes", worker=worker, form=form), rule="older_nodes")


async def is_known(connection: Connection, form: str) -> bool:
    """Return True if every worker that reports knows ``form``."""
    return await _without(connection, form) is None


async def _without(connection: Connection, form: str) -> str | None:
    """Return the name of a worker that does not know ``form``."""
    for worker in await policy_workers.present(connection):
        if form not in (worker.layers if form in _LAYERS else worker.knows):
            return worker.worker
    return None
