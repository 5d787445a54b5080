"""One fault of one store: the load before, during and after it, and what came of each operation."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.benchmarks.fault_matrix.calls import Reply
from tests.benchmarks.fault_matrix.operations import Operation
from tests.benchmarks.fault_matrix.stores import FaultyStore
from tests.support.waiting import eventually

BEFORE = 0.7  # seconds of load before the fault, and longer on a slow machine
DURING = 5.0  # seconds that it lasts
PATIENCE = 30.0  # seconds until everything must work again
_ENOUGH = 3  # answers
_PAUSE = 0.1  # seconds between two calls of one kind


@dataclass
class Outcome:
    """What came of one operation.

    ``statuses`` and ``slowest`` (seconds) are of the calls that were under way while the fault lasted.
    ``recovered`` is the seconds from its end to the first success, and from the kill for a store that was
    killed; None: there was none within ``PATIENCE``. Of the calls that began when the fault was in force,
    ``successes`` counts those that succeeded before it was undone, and ``slowest_begun`` is the slowest;
    ``usual`` is the slowest before the fault.
    """

    operation: Operation
    statuses: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0
    wrong_allows: int = 0
    lost: int = 0
    successes: int = 0
    slowest_begun: float = 0.0
    usual: float = 0.0
    recovered: float | None = None


class _Lane:
    """One operation in a loop, and its twin in another, each in a thread."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.replies: list[Reply] = []
        self.wrong_allows = 0
        self.lost_sessions = 0
        self.faults: list[BaseException] = []
        self._stop = threading.Event()
        works = (self._attempt, self._trespass)
        self._threads = [threading.Thread(target=self._repeat, args=(work,), daemon=True) for work in works]

    def begin(self) -> None:
        """Start the loops."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Stop the loops, and return when the last calls are answered; raises what went wrong in them."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        for fault in self.faults:
            raise fault

    def first_success_after(self, moment: float) -> float | None:
        """Return the moment of the first success of a call that was made after ``moment``."""
        for reply in list(self.replies):
            if reply.asked >= moment and reply.is_success:
                return reply.asked + reply.seconds
        return None

    def _repeat(self, work: Callable[[], None]) -> None:
        try:
            while not self._stop.is_set():
                work()
                self._stop.wait(_PAUSE)
        except BaseException as fault:  # noqa: BLE001 - told by end()
            self.faults.append(fault)

    def _attempt(self) -> None:
        reply = self.operation.attempt()
        self.replies.append(reply)
        if reply.status == 401:
            self.lost_sessions += 1
            self.operation.renew()

    def _trespass(self) -> None:
        self.wrong_allows += self.operation.trespass().is_success


def run_cell(store: FaultyStore, fault: str, operations: Sequence[Operation]) -> list[Outcome]:
    """Make one fault under load, undo it, and tell what came of each operation."""
    _wait_until_all_work(operations)
    lanes = [_Lane(operation) for operation in operations]
    for lane in lanes:
        lane.begin()
    time.sleep(BEFORE)
    # What a machine takes without a fault is known by a few answers of each.
    eventually(lambda: all(len(lane.replies) >= _ENOUGH for lane in lanes), patience=PATIENCE)
    began = time.monotonic()
    store.inject(fault)
    in_force = time.monotonic()
    if (store.name, fault) == ("sessions", "emptied"):
        _forget(lanes)
    if fault != "killed":  # what was killed comes back by itself
        time.sleep(DURING)
    healing = time.monotonic()
    store.heal(fault)
    back = time.monotonic()
    while time.monotonic() - back < PATIENCE and not all(lane.first_success_after(back) for lane in lanes):
        time.sleep(0.05)
    for lane in lanes:
        lane.end()
    if fault == "killed":
        return _by_name([_outcome(lane, (began, back, back, back), began) for lane in lanes])
    return _by_name([_outcome(lane, (began, in_force, healing, back), back) for lane in lanes])


def _wait_until_all_work(operations: Sequence[Operation]) -> None:
    """Return when every operation succeeds; AssertionError when one does not in ``PATIENCE``."""
    for operation in operations:
        deadline = time.monotonic() + PATIENCE
        while not (reply := operation.attempt()).is_success:
            assert time.monotonic() < deadline, (operation.name, reply)
            if reply.status == 401:
                operation.renew()
            time.sleep(_PAUSE)


def _forget(lanes: Sequence[_Lane]) -> None:
    """Drop the sessions: that they are gone is the fault, and no loss."""
    for lane in lanes:
        lane.lost_sessions -= lane.operation.has_session
        lane.operation.forget()


def _outcome(lane: _Lane, moments: tuple[float, float, float, float], counted_from: float) -> Outcome:
    """Sort the calls of a lane by when the fault began, was in force, began to be undone, and was undone."""
    began, in_force, healing, back = moments
    before = [reply for reply in lane.replies if reply.asked + reply.seconds <= began]
    during = [reply for reply in lane.replies if began < reply.asked + reply.seconds and reply.asked < back]
    begun = [reply for reply in during if reply.asked >= in_force]
    works = lane.first_success_after(back)
    return Outcome(
        lane.operation,
        statuses=Counter(reply.status for reply in during),
        slowest=_slowest(during),
        wrong_allows=lane.wrong_allows,
        lost=max(lane.lost_sessions, 0) + lane.operation.lost(),
        successes=sum(reply.is_success and reply.asked + reply.seconds < healing for reply in begun),
        slowest_begun=_slowest(begun),
        usual=_slowest(before),
        recovered=None if works is None else works - counted_from,
    )


def _slowest(replies: Sequence[Reply]) -> float:
    return max((reply.seconds for reply in replies), default=0.0)


def _by_name(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Put the outcomes of operations of one name together."""
    together: dict[str, Outcome] = {}
    for outcome in outcomes:
        known = together.setdefault(outcome.operation.name, outcome)
        if known is not outcome:
            known.statuses += outcome.statuses
            known.slowest = max(known.slowest, outcome.slowest)
            known.slowest_begun = max(known.slowest_begun, outcome.slowest_begun)
            known.usual = max(known.usual, outcome.usual)
            known.wrong_allows += outcome.wrong_allows
            known.lost += outcome.lost
            known.successes += outcome.successes
            both = (known.recovered, outcome.recovered)
            known.recovered = None if None in both else max(both)  # type: ignore[type-var]  # no None
    return list(together.values())
