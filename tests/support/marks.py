"""Which tests need a store: found out from what they and their fixtures call, never marked by hand."""

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support.running import Running, RunningAnew

STARTERS = (EmbeddedStores, Running, RunningAnew)
"""What starts a PostgreSQL or a Valkey."""


def mark_stores(items: list[pytest.Item]) -> None:
    """Give each test that may start or use a store the marker ``stores``."""
    for item in items:
        if isinstance(item, pytest.Function) and needs_stores(item):
            item.add_marker("stores")


def needs_stores(item: pytest.Function) -> bool:
    """Return True if the test, or a fixture that it uses, calls what starts a store, however many calls away.

    A test that starts a store as a program, from a command of its own, has to be marked by hand.
    """
    fixtures = item._fixtureinfo.name2fixturedefs
    used = [fixtures[name][-1].func for name in item.fixturenames if name in fixtures]
    return any(_reaches_starter(function) for function in (item.function, *used))


@cache
def _reaches_starter(start: Callable[..., Any]) -> bool:
    return any(definition in STARTERS for definition in _called(inspect.unwrap(start)))


@cache
def _called(start: Any) -> frozenset[Any]:
    """Return the starters and the functions and classes of the tests that ``start`` leads to."""
    reached: set[Any] = set()
    open_ends = [start]
    while open_ends:
        for definition in _named_by(open_ends.pop()):
            if definition not in reached:
                reached.add(definition)
                open_ends.append(definition)
    return frozenset(reached)


@cache
def _named_by(definition: Any) -> tuple[Any, ...]:
    return tuple(_names_of_tests(definition))


def _names_of_tests(definition: Any) -> Iterator[Any]:
    functions = (
        [definition]
        if isinstance(definition, FunctionType)
        else [*vars(definition).values()]
        if isinstance(definition, type)
        else []
    )
    for function in functions:
        if isinstance(function, FunctionType):
            for name in _names(function.__code__):
                value = _unwrapped(function.__globals__.get(name))
                if value in STARTERS or (
                    isinstance(value, FunctionType | type) and value.__module__.startswith("tests.")
                ):
                    yield value


def _unwrapped(value: Any) -> Any:
    return inspect.unwrap(value) if callable(value) else value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
