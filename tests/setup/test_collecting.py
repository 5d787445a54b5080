"""How the processes of a parallel run share the work of collecting."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.collecting import TESTS, import_share


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr(importlib, "import_module", names.append)
    return names


def config_of(arguments: list[Path], **workerinput: Any) -> Any:
    given = {"workerinput": workerinput} if workerinput else {}
    return SimpleNamespace(args=[str(path) for path in arguments], **given)


def test_each_process_imports_another_share_of_all_modules(imported: list[str]) -> None:
    for number in range(3):
        import_share(config_of([TESTS], workerid=f"gw{number}", workercount=3))

    assert len(imported) == len(set(imported))
    assert len(imported) == len(list(TESTS.rglob("test_*.py")))
    assert __name__ in imported


def test_nothing_is_imported_for_a_part_of_the_tests_or_by_a_single_process(imported: list[str]) -> None:
    import_share(config_of([TESTS / "setup"], workerid="gw0", workercount=2))
    import_share(config_of([TESTS]))

    assert imported == []
