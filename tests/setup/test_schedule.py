"""How a parallel run hands out the tests."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

from tests.support.running import ROOT
from tests.support.schedule import LONGEST, SESSIONS, SHARED, TOGETHER, Bundles, bundle_of


def test_every_file_that_is_named_exists() -> None:
    named = {*TOGETHER, *LONGEST} - set(TOGETHER.values())

    assert {name for name in named if not (ROOT / name).exists()} == set()


@pytest.mark.parametrize(
    ("test_id", "bundle"),
    [
        ("tests/service/test_paths.py::test_a[/x::y]", SHARED),
        ("tests/service/test_docs.py::test_b", SHARED),
        ("tests/service/test_stop.py::test_c", "tests/service/test_stop.py"),
        ("tests/sessions/test_devices.py::test_d", SESSIONS),
        ("tests/kernel/test_codes.py::test_e", "tests/kernel/test_codes.py"),
    ],
)
def test_files_that_share_a_service_are_run_by_one_process(test_id: str, bundle: str) -> None:
    assert bundle_of(test_id) == bundle


def test_what_takes_longest_is_handed_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def assign(self: Any, _node: Any) -> None:
        given.append(self.workqueue.popitem(last=False)[0])

    monkeypatch.setattr(Bundles.__mro__[1], "_assign_work_unit", assign)
    bundles = object.__new__(Bundles)
    bundles.workqueue = OrderedDict.fromkeys(["short", LONGEST[1], "shorter", LONGEST[0]], {})

    for _ in range(4):
        bundles._assign_work_unit(None)

    assert given == [LONGEST[0], LONGEST[1], "short", "shorter"]
