"""What a database engine of the service loads, shares and gives way to."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, literal, select
from sqlalchemy.ext.asyncio import create_async_engine

from service.kernel.cooperative_yield import CooperativeYield
from service.records.published.policy_lines import give_way_if_async

ROOT = Path(__file__).resolve().parents[2]


def printed_by(program: str) -> list[str]:
    return subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True).split("\n")[:-1]


def test_what_an_extension_needs_of_the_orm_is_imported_when_it_is_asked_for() -> None:
    program = """
import service.records
from sqlalchemy.ext.asyncio import AsyncConnection as before
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_sessionmaker, result
import sqlalchemy.ext.asyncio as package
print(before is AsyncConnection is package.engine.AsyncConnection, AsyncSession.__module__)
try:
    package.missing
except AttributeError as error:
    print(error)
"""
    assert printed_by(program) == [
        "True sqlalchemy.ext.asyncio.session",
        "module 'sqlalchemy.ext.asyncio' has no attribute 'missing'",
    ]


def test_the_whole_package_is_kept_where_it_was_imported_before() -> None:
    program = """
import sqlalchemy.ext.asyncio as before
import service.records, sys
print(before is sys.modules["sqlalchemy.ext.asyncio"], hasattr(before, "AsyncSession"))
"""
    assert printed_by(program) == ["True True"]


async def test_other_tasks_run_between_two_parts() -> None:
    done: list[str] = []

    async def other() -> None:
        while done.count("mine") < 20:
            done.append("other")
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    pauses = CooperativeYield()
    for _ in range(20):
        done.append("mine")
        await pauses.give_way()
    await task

    assert ("mine", "mine") not in pairwise(done)


async def test_synchronous_code_outside_a_greenlet_does_not_give_way() -> None:
    await asyncio.to_thread(give_way_if_async, CooperativeYield())


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
