from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
