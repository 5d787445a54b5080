"""Checks that the workers of all nodes use the same, allowed static policy."""

from collections.abc import Collection, Iterable
from typing import Final

import structlog

from service.authz.publishing.shipped import OWN_DIGESTS
from service.records.published.policy_workers import PolicyWorker

_log = structlog.get_logger()


class StaticPolicies:
    """Compares the static policy digests that workers report with the digest of this node.

    ``allowed`` are the digests that may serve; empty, all may. Each change of the findings is logged once. It
    is an error while a worker decides by a static policy that is not in ``allowed``, or, if ``allowed`` is
    empty, differs from this worker's. An older version reports no digest: it counts as another one.
    """

    def __init__(self, digest: str, allowed: Collection[str] = ()) -> None:
        self.digest: Final = digest
        self._allowed = frozenset(allowed)
        self._alarmed: frozenset[str | None] = frozenset()
        self.differing = 0
        """The number of workers with another static policy than this one."""
        self.not_allowed = 0
        """The number of workers with a static policy not in ``allowed``; 0 if ``allowed`` is empty."""

    def observe(self, workers: Iterable[PolicyWorker]) -> None:
        """Record the recent reports of all workers of all nodes."""
        others = [worker for worker in workers if worker.own_digest != self.digest]
        strangers = [other for other in others if other.own_digest not in self._allowed]
        self.differing = len(others)
        self.not_allowed = len(strangers) if self._allowed else 0
        digests = frozenset(stranger.own_digest for stranger in strangers)
        if digests == self._alarmed:
            return
        self._alarmed = digests
        if not digests:
            _log.info("no worker decides by another own part of the policy any more", event_type="security")
            return
        reason = f"{OWN_DIGESTS} does not list it" if self._allowed else "it differs from this node"
        _log.error(
            "workers decide by another own part of the policy",
            event_type="security",
            reason=reason,
            own_digest=self.digest,
            workers={stranger.worker: stranger.own_digest for stranger in strangers},
        )
