"""Events call the listeners of features in the order of the registry."""

import pytest

from service.kernel import events
from service.kernel.events import Event
from service.kernel.feature import Feature

HEARD: list[tuple[str, int]] = []


class Listening(Feature):
    def part(self, text: str) -> object:
        async def hear(number: int) -> None:
            if self.name == "refusing":
                raise ValueError(text)
            HEARD.append((self.name, number))

        return hear


def declare(monkeypatch: pytest.MonkeyPatch, *names: str) -> Event[[int]]:
    HEARD.clear()
    listening = tuple(Listening(name=name, title="", listens={"counted": "here:hear"}) for name in names)
    monkeypatch.setattr(events, "declared", lambda: (*listening, Feature(name="deaf", title="")))
    monkeypatch.setattr(events, "_DECLARED", {})
    return Event("counted", when="", within="", locks="", raises="")


async def test_listeners_are_called_in_the_order_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    event: Event[[int]] = declare(monkeypatch, "second", "first")
    await event.emit(3)
    assert HEARD == [("second", 3), ("first", 3)]


async def test_what_a_listener_raises_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    event: Event[[int]] = declare(monkeypatch, "one", "refusing", "other")
    with pytest.raises(ValueError, match="here:hear"):
        await event.emit(3)
    assert HEARD == [("one", 3)]


def test_an_event_is_declared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    declare(monkeypatch)
    with pytest.raises(ValueError, match="'counted' is declared twice"):
        Event("counted", when="", within="", locks="", raises="")
