"""The latest admissions of callers, by which a repeated request is decided without asking again."""

from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple

from service.authz.engine.policy import Policy
from service.errors import Decided
from service.kernel.assurance import Satisfied
from service.kernel.cache_sizes import cache_size
from service.kernel.identity import Caller

MOST_ADMISSIONS: Final = cache_size("decisions", 4096)
"""Maximum number of admissions that a worker keeps; then all go."""


class Admitted(NamedTuple):
    """An admission of a caller to an operation: what was decided, and what that depends on.

    It holds for the same ``caller`` at the same ``path``, from ``since`` to before ``until``, when the caller
    satisfies other words.
    """

    caller: Caller
    path: str
    since: float
    until: float
    opened: Decided | None
    decision: Decided | None
    satisfied: Satisfied | None


class LatestAdmissions:
    """The latest admission of each caller to each operation; all are by one policy."""

    def __init__(self) -> None:
        self._policy: Policy | None = None
        self._kept: dict[Hashable, Admitted] = {}

    def by(self, policy: Policy) -> Mapping[Hashable, Admitted]:
        """Return the admissions by ``policy``, each by its place; forgets those by another."""
        if policy is not self._policy:
            self._policy, self._kept = policy, {}
        return self._kept

    def keep(self, place: Hashable, admitted: Admitted) -> None:
        """Keep an admission by the policy that was asked for last."""
        if len(self._kept) >= MOST_ADMISSIONS:
            self._kept.clear()
        if MOST_ADMISSIONS:
            self._kept[place] = admitted
