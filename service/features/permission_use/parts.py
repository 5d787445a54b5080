"""The part of a worker that records the use of permissions."""

from collections.abc import Iterator
from typing import Any

from service.app.parts import Part
from service.features.permission_use.notes import UseNotes
from service.features.permission_use.uses import PermissionUses
from service.kernel.metrics import Sample


class UsesPart(Part):
    """The uses that the worker has not merged yet."""

    def __init__(self, container: Any) -> None:
        stores = container.stores
        self.uses = PermissionUses(
            stores.database, stores.sessions.synchronized.now, container.policy.live.remapped
        )
        self.note = UseNotes(self.uses).note
        self.runs = self.uses.run

    async def finish(self) -> None:
        """Merge the remaining notes."""
        await self.uses.finish()

    def samples(self) -> Iterator[Sample]:
        """Yield how many uses were missed."""
        return self.uses.samples()


def uses_of(container: Any) -> PermissionUses:
    """Return the uses that the worker of ``container`` notes."""
    part: UsesPart = container.parts["permission_use"]
    return part.uses
