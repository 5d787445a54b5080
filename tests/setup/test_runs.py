"""How a run of the tests is set up: processes, marks of stores, the environment and temporary files."""

import fcntl
import importlib
import inspect
import os
import tempfile
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support import own_environment
from tests.support.cases import with_each
from tests.support.collecting import TESTS, import_share
from tests.support.marks import STARTERS
from tests.support.own_environment import forget_settings
from tests.support.running import ROOT
from tests.support.schedule import LONGEST, SESSIONS, SHARED, TOGETHER, Bundles, bundle_of


def test_every_file_that_is_named_exists() -> None:
    named = {*TOGETHER, *LONGEST} - set(TOGETHER.values())

    assert {name for name in named if not (ROOT / name).exists()} == set()


@with_each(
    ("test_id", "bundle"),
    [
        ("tests/service/test_framing.py::test_a[/x::y]", SHARED),
        ("tests/service/test_docs.py::test_b", SHARED),
        ("tests/service/test_stop.py::test_c", "tests/service/test_stop.py"),
        ("tests/sessions/test_devices.py::test_d", SESSIONS),
        ("tests/kernel/test_codes.py::test_e", "tests/kernel/test_codes.py"),
    ],
)
def test_files_that_share_a_service_are_run_by_one_process(test_id: str, bundle: str) -> None:
    assert bundle_of(test_id) == bundle


def test_all_cases_run_and_those_that_fail_are_reported_together() -> None:
    seen = []

    @with_each("even", [True, False])
    @with_each("number", [1, 2])
    def check(fixture: str, number: int, even: bool) -> None:
        seen.append((fixture, number))
        assert (number % 2 == 0) == even

    assert list(inspect.signature(check).parameters) == ["fixture"]
    with pytest.RaisesGroup(pytest.RaisesGroup(AssertionError), pytest.RaisesGroup(AssertionError)) as raised:
        check(fixture="a")  # type: ignore[call-arg]
    assert seen == [("a", 1), ("a", 2)] * 2
    (first, _) = raised.value.exceptions
    assert first.__notes__ == ["in the case even=True"]


def test_a_case_that_is_skipped_hides_no_failure() -> None:
    @with_each("number", [1, 2])
    def check(number: int) -> None:
        if number == 2:
            pytest.skip("there is no 2")
        assert not number

    with pytest.RaisesGroup(AssertionError):
        check()  # type: ignore[call-arg]


async def test_so_do_the_cases_of_a_coroutine() -> None:
    @with_each(("number", "square"), [(1, 1), (2, 5), (3, 9), (4, 17)])
    async def check(number: int, square: int) -> None:
        assert number**2 == square

    with pytest.RaisesGroup(AssertionError, AssertionError) as raised:
        await check()  # type: ignore[call-arg]
    assert [failure.__notes__ for failure in raised.value.exceptions] == [
        ["in the case number=2, square=5"],
        ["in the case number=4, square=17"],
    ]


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


def starting(folder: Path) -> EmbeddedStores:
    return EmbeddedStores(folder)


@pytest.fixture
def described(tmp_path: Path) -> EmbeddedStores:
    """Stores that nobody starts."""
    return starting(tmp_path)


def is_marked(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("stores") is not None


def test_a_test_that_uses_the_stores_is_marked(
    stores: EmbeddedStores, request: pytest.FixtureRequest
) -> None:
    assert stores.database_url
    assert is_marked(request)


def test_a_test_that_calls_what_starts_stores_is_marked(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert starting(tmp_path).data == tmp_path
    assert is_marked(request)


def test_a_test_whose_fixture_calls_what_starts_stores_is_marked(
    described: EmbeddedStores, request: pytest.FixtureRequest
) -> None:
    assert isinstance(described, STARTERS)
    assert is_marked(request)


def test_a_test_without_stores_is_not_marked(request: pytest.FixtureRequest) -> None:
    assert not is_marked(request)


def test_settings_of_the_developer_are_forgotten_and_all_else_is_kept() -> None:
    kept = {
        "PATH": "/bin",
        "HOME": "/home/ann",
        "PORTCULLIS_TEST_CACHES": "tokens=0",
        "PORTCULLIS_PICTURES": "1",
    }
    settings = {
        "DATABASE_URL": "postgresql://ann@production/portcullis",
        "PORTCULLIS_DATABASE__URL": "postgresql://ann@production/portcullis",
        "JWT_SECRET": "short",
        "PORTCULLIS_CONFIG": "/etc/portcullis.toml",
        "PGOPTIONS": "-c search_path=other",
    }
    environ = kept | settings
    forget_settings(environ)
    assert environ == kept


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that stands for that in memory, and has enough room."""
    monkeypatch.setattr(own_environment, "_MEMORY", tmp_path)
    monkeypatch.setattr(own_environment, "_NEEDED", 1)
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    return tmp_path


def test_temporary_files_go_to_memory_for_all_processes_of_a_run(memory: Path) -> None:
    environ: dict[str, str] = {}
    own_environment.keep_in_memory(environ)
    (folder,) = memory.iterdir()
    assert environ == {"TMPDIR": str(folder)}
    own_environment.keep_in_memory(environ)  # as a process that the first one starts
    assert [*memory.iterdir()] == [folder]


@pytest.mark.parametrize(("given", "needed"), [({"TMPDIR": "/tmp"}, 1), ({}, 2**62)])
def test_a_place_that_is_named_stays_and_so_does_the_usual_one_where_memory_is_short(
    given: dict[str, str], needed: int, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_environment, "_NEEDED", needed)
    environ = given.copy()
    own_environment.keep_in_memory(environ)
    assert environ == given
    assert [*memory.iterdir()] == []


def test_a_run_removes_what_a_killed_one_has_left_and_nothing_of_one_that_goes_on(memory: Path) -> None:
    killed, running, other = (memory / name for name in ("pct-1", "pct-2", "other"))
    for folder in (killed, running, other):
        (folder / "files").mkdir(parents=True)
    lock = os.open(running, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    own_environment.keep_in_memory({})
    os.close(lock)
    assert {running, other} < {*memory.iterdir()}
    assert not killed.exists()
