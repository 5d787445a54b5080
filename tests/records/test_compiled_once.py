"""What the engines of the tests share: statements are compiled once, whichever service runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import create_engine, literal, select
from sqlalchemy.ext.asyncio import create_async_engine


@pytest.mark.parametrize("make", [create_engine, create_async_engine])
def test_engines_of_tests_find_what_another_has_compiled(make: Callable[..., Any]) -> None:
    engine, other = (make("postgresql+psycopg://") for _ in range(2))
    statement, sync = select(literal(1)), [getattr(each, "sync_engine", each) for each in (engine, other)]
    compiled = [
        statement._compile_w_cache(each.dialect, compiled_cache=each._compiled_cache, column_keys=[])
        for each in sync
    ]
    assert compiled[0][0] is compiled[1][0]
    assert sync[0].dialect is not sync[1].dialect
