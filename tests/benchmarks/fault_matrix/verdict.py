"""What is wrong with an outcome, in words; and its row in the table."""

from collections.abc import Iterator

from tests.benchmarks.fault_matrix.calls import NO_ANSWER
from tests.benchmarks.fault_matrix.cell import PATIENCE, Outcome

SLACK = 1.0  # seconds that a machine may add to a documented bound; more where it is slow before the fault
_UNAVAILABLE = 503
# What an emptied store answers by rights: nobody is logged in, and no object is there.
_EMPTIED = {"sessions": {401}, "objects": {404}}
_DATABASE_WRITES = {"role write", "bind"}
HEAD = "  operation     statuses                     slowest wrong allows lost writes recovered"


def row(outcome: Outcome) -> str:
    """Return the line of the table for an outcome."""
    statuses = ", ".join(f"{status or 'none'} x{count}" for status, count in sorted(outcome.statuses.items()))
    recovered = "never" if outcome.recovered is None else f"{outcome.recovered:.1f} s"
    return (
        f"  {outcome.operation.name:<13} {statuses:<26} {outcome.slowest:7.2f} s {outcome.wrong_allows:12}"
        f" {outcome.lost:11} {recovered:>9}"
    )


def complaints(store: str, fault: str, outcome: Outcome) -> Iterator[str]:
    """Say what is wrong with an outcome, a sentence each; nothing when all is as documented."""
    if outcome.wrong_allows:
        yield f"{outcome.wrong_allows} calls succeeded that must be refused"
    if outcome.lost:
        yield f"{outcome.lost} acknowledged writes or sessions were lost"
    if outcome.recovered is None:
        yield f"it did not work again within {PATIENCE:.0f} s"
    slack = max(SLACK, 2 * outcome.usual)
    for took, bound in (
        (outcome.slowest_begun, outcome.operation.bound),
        (outcome.slowest, outcome.operation.bound_of_work),
    ):
        if took > bound + slack:
            yield f"an answer took {took:.1f} s, more than {bound:.1f} s and {slack:.1f} s for a slow machine"
    allowed = {_UNAVAILABLE} | (_EMPTIED.get(store, set()) if fault == "emptied" else set())
    for status in sorted(outcome.statuses):
        if status == NO_ANSWER:
            yield "a call was cut off without an answer"
        elif not 200 <= status < 300 and status not in allowed:
            yield f"an answer was {status}"
    read_only = (store, fault) == ("database", "read-only")
    if read_only and outcome.operation.name in _DATABASE_WRITES and outcome.successes:
        yield f"{outcome.successes} writes of a database that is read-only were acknowledged"
