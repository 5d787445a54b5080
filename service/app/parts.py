"""Parts of a worker that features bring."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from typing import Any, TypeVar

from service.authz.engine.refused import Requestable
from service.kernel.feature import Feature
from service.kernel.metrics import Sample
from service.records.database.transactions import Connection
from service.web.messages.context import RequestContext
from service.web.messages.dry_run import ImpactOf
from service.web.requests.middleware import RequestTracing
from service.web.requests.operation import Followed

T = TypeVar("T")


class Part:
    """State of a feature for the lifetime of the worker. Each method does nothing by default."""

    runs: Callable[[], Awaitable[None]] | None = None
    """Runs beside the requests until it is cancelled."""
    arrived: Callable[[], None] | None = None
    """Called when a request has arrived, before it is read; at most one part has it."""
    note: Callable[[RequestContext], None] | None = None
    """Takes each finished request; it must not block or raise."""
    tracing: RequestTracing | None = None
    """Records the spans of requests; one part may have it."""
    last: bool = False
    """The part finishes after everything else in the worker, because the others still use it."""
    decisions: object | None = None
    """The decision log, in the one part that keeps it."""
    database_samples: Callable[[Connection], Awaitable[Collection[Sample]]] | None = None
    """Returns what the database knows of the whole installation. Each scrape asks."""
    requestable: Requestable | None = None
    """Names roles that would open to a person what was refused; one part at most has it."""
    impact_of: ImpactOf | None = None
    """Makes the dry runs of writes; exactly one part has it."""
    followed: Followed | None = None
    """Is waited for after a change of rights or of the policy; one part at most has it."""

    def name_worker(self, worker: str) -> None:
        """Take the name of the worker: the part may have been made before the process was forked."""

    def start(self) -> None:
        """Begin, in the event loop of the worker."""

    def serves(self) -> None:
        """Handle the start of serving: the worker accepts requests."""

    def stops(self) -> None:
        """Handle the start of a stop: the worker answers the requests in flight, and accepts few others."""

    async def finish(self) -> None:
        """Release threads and connections."""

    def samples(self) -> Iterator[Sample]:
        """Yield the metrics of the part."""
        return iter(())

    async def stored_samples(self) -> Collection[Sample]:
        """Return metrics of the whole installation from a store; raises ``Unavailable``. Each scrape asks."""
        return ()


def parts_of(container: Any, features: Iterable[Feature]) -> dict[str, Part]:
    """Return the part of each of ``features`` that has one, by the name of the feature."""
    made = {feature.name: feature.part(feature.parts)(container) for feature in features if feature.parts}
    return {name: part for name, part in made.items() if part is not None}


def only(parts: Iterable[Part], read: Callable[[Part], T | None]) -> T | None:
    """Return the result of ``read`` for the only part that has one; None if no part has one."""
    return next((value for part in parts if (value := read(part)) is not None), None)
