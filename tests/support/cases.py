"""Cases of a claim within one test: an item of its own for each would cost more than most cases."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import pytest

_Test = TypeVar("_Test", bound=Callable[..., Any])


def with_each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[_Test], _Test]:
    """Run a test with each of ``values`` as ``names``, and report all that fail together.

    The arguments are those of ``pytest.mark.parametrize``. All cases share the fixtures of one test, so no
    case may change what another one meets; otherwise use ``pytest.mark.parametrize``.
    """
    rows = [
        dict(zip(names, row, strict=True)) if isinstance(names, tuple) else {names: row} for row in values
    ]
    assert rows

    def decorated(test: _Test) -> _Test:
        run: Any = _awaiting(test, rows) if inspect.iscoroutinefunction(test) else _calling(test, rows)
        signature = inspect.signature(test)
        kept = [value for name, value in signature.parameters.items() if name not in rows[0]]
        assert len(kept) == len(signature.parameters) - len(rows[0])
        run.__signature__ = signature.replace(parameters=kept)
        return cast(_Test, run)

    return decorated


def _calling(test: Callable[..., Any], rows: list[dict[str, Any]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        with _together() as failures:
            for row in rows:
                with _noted(failures, row):
                    test(**fixtures, **row)

    return run


def _awaiting(test: Callable[..., Any], rows: list[dict[str, Any]]) -> Callable[..., Any]:
    @functools.wraps(test)
    async def run(**fixtures: Any) -> None:
        with _together() as failures:
            for row in rows:
                with _noted(failures, row):
                    await test(**fixtures, **row)

    return run


@contextmanager
def _together() -> Iterator[list[Exception]]:
    failures: list[Exception] = []
    try:
        yield failures
    except pytest.skip.Exception:  # ends the cases, and hides no failure
        if not failures:
            raise
    if failures:
        raise ExceptionGroup("cases that failed", failures)


@contextmanager
def _noted(failures: list[Exception], row: dict[str, Any]) -> Iterator[None]:
    try:
        yield
    except Exception as failure:  # noqa: BLE001 - raised with those of other cases
        failure.add_note("in the case " + ", ".join(f"{name}={value!r}"[:200] for name, value in row.items()))
        failures.append(failure)
