"""Events: announcements of the core at some points of its work, so that it need not know its features.

An event is declared where it happens, and lists the facts that a listener may rely on. A feature names its
listeners in its ``feature.py``, as text. They are called one after the other, in the order of the registry,
and each is awaited. An error of a listener ends the work, as an error of the core does.
"""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Final, Generic, ParamSpec

from service.kernel.feature import declared

P = ParamSpec("P")

_DECLARED: Final[dict[str, "Event[...]"]] = {}


class Event(Generic[P]):
    """A point in the work of the core that features listen to; its parameters are those of its listeners.

    ``when`` names the moment. ``within`` names the open transaction and the locks held. ``locks`` names the
    locks that a listener may take. ``raises`` names the errors that it may raise, and their effect.

    Listeners run whether their feature is on or off, so that the feature's stored data stays consistent.
    """

    def __init__(self, name: str, *, when: str, within: str, locks: str, raises: str) -> None:
        if name in _DECLARED:
            raise ValueError(f"the event {name!r} is declared twice")
        self.name = name
        self.when = when
        self.within = within
        self.locks = locks
        self.raises = raises
        _DECLARED[name] = self

    @cached_property
    def listeners(self) -> tuple[Callable[P, Awaitable[None]], ...]:
        """Return the listeners in the order of the registry; they are imported at the first event."""
        return tuple(
            feature.part(feature.listens[self.name]) for feature in declared() if self.name in feature.listens
        )

    async def emit(self, *facts: P.args, **named: P.kwargs) -> None:
        """Call the listeners, each after the one before has returned; raises what one of them raises."""
        for listener in self.listeners:
            await listener(*facts, **named)


def events() -> dict[str, "Event[...]"]:
    """Return the events that are declared in the modules imported so far, by name."""
    return dict(sorted(_DECLARED.items()))
