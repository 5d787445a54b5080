"""Items that wait for a thread: bounded, in order, tried again, and handed on at the end."""

import asyncio
import threading

from service.kernel.backlog import Backlog
from tests.support.waiting import eventually


class Taker:
    """Takes what waits when it is called; ``free`` lets it go on, and then it asks for ``again`` seconds."""

    def __init__(self, most: int = 10, gather: float = 0.001) -> None:
        self.backlog: Backlog[int] = Backlog("test", most, gather, self.take)
        self.taken: list[int] = []
        self.calls = 0
        self.again: float | None = None
        self.begun = threading.Event()
        self.free = threading.Event()
        self.free.set()

    def take(self) -> float | None:
        self.calls += 1
        if self.again is None:
            pending = [*self.backlog.waiting]
            self.backlog.waiting.clear()
            self.begun.set()
            self.free.wait(10)
            self.taken += pending
        return self.again


async def test_what_comes_while_others_are_handed_on_is_handed_on_before_the_end() -> None:
    taker = Taker()
    taker.free.clear()
    taker.backlog.start()
    taker.backlog.put(1)
    assert taker.begun.wait(10)
    ending = asyncio.create_task(taker.backlog.finish(10))
    await asyncio.sleep(0)  # the end has begun
    taker.backlog.put(2)
    taker.free.set()
    assert await ending
    assert taker.taken == [1, 2]


async def test_what_could_not_be_handed_on_is_tried_again() -> None:
    taker = Taker()
    taker.again = 0.001
    taker.backlog.start()
    taker.backlog.put(1)
    assert eventually(lambda: taker.calls > 2)
    taker.again = None
    assert eventually(lambda: taker.taken == [1])
    assert await taker.backlog.finish(10)


async def test_what_finds_no_room_is_counted_and_an_end_that_takes_too_long_is_not_waited_for() -> None:
    taker = Taker(most=1)
    assert not await taker.backlog.finish(10)  # it does not run
    taker.free.clear()
    taker.backlog.start()
    assert taker.backlog.put(1)
    assert taker.begun.wait(10)
    assert [taker.backlog.put(number) for number in (2, 3)] == [True, False]
    assert taker.backlog.missed == 1
    assert not await taker.backlog.finish(0.01)
    taker.free.set()


async def test_as_many_of_several_are_taken_as_find_room() -> None:
    taker = Taker(most=3)
    assert taker.backlog.put_all([1, 2])
    assert not taker.backlog.put_all([3, 4, 5])
    assert not taker.backlog.put_all([6])
    assert taker.backlog.missed == 3
    taker.backlog.start()
    assert eventually(lambda: taker.taken == [1, 2, 3])
    assert await taker.backlog.finish(10)


async def test_many_that_wait_are_handed_on_at_once_and_few_wait_for_others() -> None:
    taker = Taker(most=8, gather=3_600)
    taker.backlog.start()
    taker.backlog.put_all([1, 2])
    taker.backlog.put(3)
    assert eventually(lambda: taker.taken == [1, 2, 3])
    taker.backlog.put(4)
    await asyncio.sleep(0.05)
    assert taker.taken == [1, 2, 3]
    assert await taker.backlog.finish(10)
    assert taker.taken == [1, 2, 3, 4]


async def test_many_that_wait_do_not_hurry_what_is_tried_again() -> None:
    taker = Taker(most=4)
    taker.again = 3_600
    taker.backlog.start()
    taker.backlog.put_all([1, 2, 3])
    assert eventually(lambda: taker.calls == 1)
    taker.backlog.put(4)
    await asyncio.sleep(0.05)
    assert taker.calls == 1
    taker.again = None
    assert await taker.backlog.finish(10)
    assert taker.taken == [1, 2, 3, 4]
