"""Of refusals that are alike the first is entered at once, and the others as one, however many there are."""

import asyncio
from collections.abc import Callable

from service.audit.collector import MOST, RefusedReads
from service.records.logs.events import OperationEvent
from tests.audit.conftest import operation, until

SHORT = 0.05  # seconds, in place of a minute
NEVER = 3600.0


class Refusals:
    """What has been entered, and how many entries were made for it."""

    def __init__(self, **options: float) -> None:
        self.entered: list[OperationEvent] = []
        self.made = 0
        self.reads = RefusedReads(self.entered.append, **options)  # type: ignore[arg-type]

    def refuse(self, what: str, times: int = 1) -> None:
        for _ in range(times):
            self.reads.note(what, self._event(what))

    def reported(self) -> list[tuple[str, int | None]]:
        return [(operation_event.url, operation_event.repetitions) for operation_event in self.entered]

    def _event(self, what: str) -> Callable[[], OperationEvent]:
        def event() -> OperationEvent:
            self.made += 1
            return operation(self.made, url=what)

        return event


async def test_the_first_is_entered_before_anything_else_happens() -> None:
    refusals = Refusals(within=NEVER)

    refusals.refuse("a")

    assert refusals.reported() == [("a", None)]
    refusals.reads.finish()


async def test_repetitions_are_one_entry_with_their_number_once_the_time_is_over() -> None:
    refusals = Refusals(within=SHORT)

    refusals.refuse("a", 4)
    refusals.refuse("b")
    assert refusals.reported() == [("a", None), ("b", None)]
    await until(lambda: len(refusals.entered) == 3)

    assert refusals.reported() == [("a", None), ("b", None), ("a", 3)]
    assert refusals.entered[0].event_id != refusals.entered[2].event_id
    assert refusals.entered[2].action == "action 2"  # the first repetition is the one that it tells


async def test_what_is_not_repeated_makes_no_further_entry() -> None:
    refusals = Refusals(within=SHORT)
    refusals.refuse("a")
    refusals.refuse("b", 2)  # its time is over later

    await until(lambda: len(refusals.entered) == 3)

    assert refusals.reported() == [("a", None), ("b", None), ("b", 1)]


async def test_after_the_time_the_next_one_is_a_first_one_again() -> None:
    refusals = Refusals(within=SHORT)
    refusals.refuse("a", 2)
    await until(lambda: len(refusals.entered) == 2)

    refusals.refuse("a", 3)
    await until(lambda: len(refusals.entered) == 4)

    assert refusals.reported() == [("a", None), ("a", 1), ("a", None), ("a", 2)]


async def test_a_flood_of_one_refusal_makes_two_entries_and_no_more() -> None:
    refusals = Refusals(within=NEVER)

    refusals.refuse("a", 10_000)
    refusals.reads.finish()

    assert refusals.reported() == [("a", None), ("a", 9_999)]
    assert refusals.made == 2


async def test_when_too_many_differ_the_oldest_is_entered_early_and_nothing_is_lost() -> None:
    refusals = Refusals(within=NEVER, most=2)

    refusals.refuse("a", 3)
    refusals.refuse("b", 2)
    refusals.refuse("c")
    assert refusals.reported() == [("a", None), ("b", None), ("c", None), ("a", 2)]
    refusals.refuse("a")
    refusals.reads.finish()

    assert refusals.reported()[4:] == [("a", None), ("b", 1)]


async def test_what_is_held_is_bounded() -> None:
    refusals = Refusals(within=NEVER)

    for number in range(3 * MOST):
        refusals.refuse(str(number), 2)
    held = len(refusals.reads._counted)
    refusals.reads.finish()

    assert held == MOST
    assert len(refusals.entered) == 6 * MOST
    assert len(refusals.reads._counted) == 0


async def test_nothing_goes_on_after_the_end() -> None:
    refusals = Refusals(within=SHORT)
    refusals.refuse("a", 2)

    refusals.reads.finish()
    refusals.reads.finish()
    await asyncio.sleep(2 * SHORT)

    assert refusals.reported() == [("a", None), ("a", 1)]
