"""A job: work that is repeated, or done on request."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from service.kernel.metrics import Health, Sample
from service.records.database.transactions import Connection, Database

Work: TypeAlias = Callable[[Database], Awaitable[str]]
"""Does the work with a database of its own, and returns a summary in a few words: a coded sentence, or a
text of an extension.

Raises OperatorError with the problem for the operator, in words without a secret.
"""
Pending: TypeAlias = Callable[[Connection], Awaitable[bool]]
"""Returns, by one short query, whether a job has work."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work that is repeated every ``interval`` seconds; None: only on request.

    A run that takes longer than ``within`` seconds is stopped, and has failed. After a failure the job is due
    again in ``retry`` seconds, or after its interval, if that is shorter. If ``pending`` finds no work, a
    scheduled run is skipped, neither recorded nor logged: a job may be due every few seconds. A job of a
    feature follows the job named ``after``, or comes last. ``samples`` yields this worker's metrics of the
    work.
    """

    name: str
    title: str
    work: Work
    interval: float | None
    within: float = 600.0
    retry: float = 300.0
    pending: Pending | None = None
    after: str = ""
    samples: Callable[[], Iterable[Sample]] = tuple

    def again_in(self, *, failed: bool) -> float | None:
        """Return the seconds from the end of a run to the next one; None without a schedule."""
        if self.interval is None or not failed:
            return self.interval
        return min(self.interval, self.retry)


class Runs(Protocol):
    """Runs jobs, with connections of their own."""

    worker: str


class Schedule(Protocol):
    """Runs jobs when they are due, unless another worker has."""

    @property
    def jobs(self) -> Sequence[Job]:
        """All jobs of the installation."""

    @property
    def counts(self) -> Mapping[tuple[str, str], int]:
        """The runs of this worker since its start, by job and outcome."""

    @property
    def runner(self) -> Runs:
        """Its runner, under the name of the worker."""

    async def run(self) -> None:
        """Check and run due jobs until cancelled; raises nothing else."""

    async def health(self) -> Health:
        """Return ``degraded`` while the last run of a job has failed; raises Unavailable."""
