"""What makes the collection of all tests cheaper, which each process of a parallel run does for itself."""

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[1]
_COLLECT_AFTER: Final = 10_000, 20, 20
"""More objects than Python's default of 700: a test leaves little garbage."""


@contextmanager
def spared_garbage() -> Iterator[None]:
    """Look for no garbage during the collection, and never among what it has made: that stays to the end."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*_COLLECT_AFTER)
        gc.enable()


def import_share(config: pytest.Config) -> None:
    """In a run of all tests, import a share of their modules before those of the other processes.

    pytest rewrites the assertions of each module and keeps the result in a file. In a fresh checkout, all
    processes would rewrite the same module at the same time.
    """
    worker: dict[str, str | int] | None = getattr(config, "workerinput", None)
    if worker is None or [Path(argument).resolve() for argument in config.args] != [TESTS]:
        return
    number, count = int(str(worker["workerid"]).removeprefix("gw")), int(worker["workercount"])
    for path in sorted(TESTS.rglob("test_*.py"))[number::count]:
        with suppress(Exception, pytest.skip.Exception):  # the collection meets it again, and reports it
            importlib.import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))
