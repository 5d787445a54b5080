"""``sys.policy_worker``: the revision that each worker uses, as reported by the worker."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, NotRequired, TypedDict

from msgspec import Meta, Struct
from sqlalchemy import bindparam, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.coded_sentences import Sentence
from service.kernel.stored_sentences import STORED_REFUSALS
from service.records.database.row_mapper import RowMapper
from service.records.schema.policy import policy_worker

REPORT_EVERY: Final = 5.0
"""Seconds after which a worker reports again, even if nothing has changed."""

_SILENT: Final = timedelta(seconds=3 * REPORT_EVERY)
KEPT: Final = timedelta(hours=13)
"""Retention of a silent worker's last report: a little longer than it may use its permission map."""


WINDOWS: Final = "windows"
"""A worker knows it if rights begin and end for it by the windows of assignments."""
LINE_ENDS: Final = "line_ends"
"""A worker knows it if lines of the policy end for it."""
USES: Final = "permission_use"
"""A worker knows it if it records which codes are needed."""
PERSONAL_KEYS: Final = "personal_keys"
"""A worker knows it if keys of people are decided within their scopes, and end with the sessions."""
COMMITMENTS: Final = "commitments"
"""A worker knows it if it verifies entries of the logs with commitments to personal values."""
AGENTS: Final = "agents"
"""Delegations to agents, which end with the sessions of their person: see ``older_nodes``."""
KNOWN: Final = (WINDOWS, LINE_ENDS, USES, PERSONAL_KEYS, COMMITMENTS, AGENTS)
"""Forms of rights that this version knows, and others might not."""


class NodeFacts(TypedDict):
    """Report of a worker about its node: JSON.

    ``version`` is that of the service. ``settings`` has a digest of each section that all nodes must have
    alike. ``parts`` are the parts of readiness that are not up, each with its ``state`` and its details.
    ``seal_keys`` are the ids of the keys by which it seals revisions; absent in versions without seals.
    ``layers`` are the layers of the policy that it asks; absent in versions older than demands on
    authentication. ``knows`` are the forms of rights that it reads, such as ``WINDOWS`` and ``LINE_ENDS``.
    """

    version: str
    settings: Mapping[str, str]
    parts: Mapping[str, Mapping[str, Any]]
    seal_keys: NotRequired[Sequence[str]]
    layers: NotRequired[Sequence[str]]
    knows: NotRequired[Sequence[str]]


class PolicyWorker(Struct, frozen=True):
    """A worker, the revision that it uses, and the fault that keeps it from the newest one, or None.

    ``own_digest`` is the digest of its node's static policy, ``facts`` are its report about its node; None
    for a version that reports none.
    """

    worker: Annotated[str, Meta(examples=["node-1:4711:9f03ab"])]
    revision: Annotated[int, Meta(ge=0, examples=[12])]
    fault: str | None
    seen_time: datetime
    own_digest: str | None
    facts: NodeFacts | None = None

    @property
    def stated_fault(self) -> Sentence | None:
        """The fault as a sentence; None without a fault."""
        return STORED_REFUSALS.read(self.fault)

    @property
    def seal_keys(self) -> frozenset[str]:
        """The ids of the keys by which it seals revisions."""
        return frozenset(() if self.facts is None else self.facts.get("seal_keys", ()))

    @property
    def layers(self) -> frozenset[str]:
        """The layers of the policy that it asks, if reported."""
        return frozenset(() if self.facts is None else self.facts.get("layers", ()))

    @property
    def knows(self) -> frozenset[str]:
        """The forms of rights that it reads, if reported."""
        return frozenset(() if self.facts is None else self.facts.get("knows", ()))


_WORKER: Final = RowMapper(PolicyWorker, policy_worker)

# Each worker runs these every few seconds: they are built once.
_REPORTED: Final[dict[str, Any]] = {
    name: bindparam(name) for name in ("worker", "revision", "fault", "own_digest", "facts")
}
_RENEWED: Final = {name: given for name, given in _REPORTED.items() if name != "worker"}
_REPORT: Final = (
    upsert(policy_worker)
    .values(_REPORTED)
    .on_conflict_do_update(index_elements=[policy_worker.c.worker], set_=_RENEWED | {"seen_time": func.now()})
)
_SILENT_FOR_LONG: Final = select(policy_worker.c.worker).where(policy_worker.c.seen_time < func.now() - KEPT)
# A locked row is being renewed or removed already; waiting for it could end in a deadlock.
_FORGET: Final = delete(policy_worker).where(
    policy_worker.c.worker.in_(_SILENT_FOR_LONG.with_for_update(skip_locked=True))
)
_AHEAD: Final = select(policy_worker.c.worker).where(policy_worker.c.seen_time > func.now())
_SETTLE: Final = (
    update(policy_worker)
    .where(policy_worker.c.worker.in_(_AHEAD.with_for_update(skip_locked=True)))
    .values(seen_time=func.now())
)
_PRESENT: Final = _WORKER.select.where(policy_worker.c.seen_time >= func.now() - _SILENT).order_by(
    policy_worker.c.worker
)


async def report(
    connection: AsyncConnection,
    worker: str,
    revision: int,
    fault: str | None,
    *,
    own_digest: str | None,
    facts: NodeFacts | None = None,
) -> None:
    """Record that ``worker`` uses ``revision`` and the static policy with ``own_digest``, and ``facts``."""
    reported = {
        "worker": worker,
        "revision": revision,
        "fault": fault,
        "own_digest": own_digest,
        "facts": facts,
    }
    await connection.execute(_REPORT, reported)


async def forget(connection: AsyncConnection) -> None:
    """Delete the rows of workers that have been silent for longer than ``KEPT``.

    Reports from the future were made while the database's clock was ahead, and count as made now.
    """
    await connection.execute(_SETTLE)
    await connection.execute(_FORGET)


async def leave(connection: AsyncConnection, *workers: str) -> None:
    """Delete the rows of workers that end, or have ended."""
    if workers:
        await connection.execute(delete(policy_worker).where(policy_worker.c.worker.in_(workers)))


async def present(connection: AsyncConnection) -> list[PolicyWorker]:
    """Return the workers that have reported within 15 seconds, by name."""
    return await _WORKER.all(connection, _PRESENT)
