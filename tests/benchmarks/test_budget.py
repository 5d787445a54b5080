"""A request makes no more calls than its budget: a count, which no noise of a machine moves."""

import platform

import msgspec
import pytest

from tests.benchmarks import calls


def test_no_request_makes_more_calls_than_its_budget() -> None:
    file = calls.budget_file()
    if not file.exists():
        pytest.skip(f"`python3 dev.py bench calls` makes the budget of Python {platform.python_version()}")
    budget = msgspec.json.decode(file.read_bytes(), type=dict[str, calls.Calls])
    counted = calls.measure()
    if over := _over(budget, counted):
        # On a busy machine fewer requests share work, which may add calls once. The code adds them always.
        counted |= calls.measure([*over])
        over = _over(budget, counted)
    assert not over, "\n".join(over.values())
    assert counted.keys() == budget.keys()

    read, by_key = (counted[name].calls for name in ("a guarded read", calls.BY_KEY))
    made = by_key.python + by_key.c
    assert made <= calls.MOST_BY_KEY * (read.python + read.c), calls.table(counted[calls.BY_KEY])


def _over(budget: dict[str, calls.Calls], counted: dict[str, calls.Counted]) -> dict[str, str]:
    """Return the kinds of requests that make more calls than allowed, each with what it calls."""
    return {
        name: f"{kind}: {made} of {allowed}\n{calls.table(counted[name])}"
        for name, most in budget.items()
        for kind, made, allowed in (
            ("Python", counted[name].calls.python, most.python),
            ("C", counted[name].calls.c, most.c),
        )
        if made > allowed * calls.MARGIN
    }
