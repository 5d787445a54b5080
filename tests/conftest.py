"""What every test may ask for: real stores of its own."""

import tests.support.plain_tracebacks  # noqa: F401 - before structlog

# isort: split
import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import structlog

from service.features.embedded.stores import EmbeddedStores
from tests.support import compiled_once
from tests.support.clusters import Clusters
from tests.support.collecting import import_share, spared_garbage
from tests.support.databases import NewDatabase, database, leave, save_work, session_store
from tests.support.log_output import log_to_standard_error
from tests.support.marks import mark_stores
from tests.support.own_environment import forget_settings, keep_in_memory
from tests.support.schedule import Bundles, processes
from tests.support.without import leave_out

pytest_plugins = [
    "tests.support.left_out",
    "tests.support.seeded",
    "tests.support.inside_fixtures",
    "tests.support.spare",
    "tests.support.cache_sizes",
    "tests.support.shifted",
    "tests.support.browsers",
]


# However slow the machine is: nothing fails for the time that an example takes.
hypothesis.settings.register_profile(
    "usual", max_examples=25, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
# Forty times the examples; tests that name a number of their own keep it.
hypothesis.settings.register_profile("extended", hypothesis.settings.get_profile("usual"), max_examples=1_000)
hypothesis.settings.load_profile("usual")


compiled_once.share()
forget_settings(os.environ)
keep_in_memory(os.environ)

log_to_standard_error()
_LOGGING = structlog.get_config()


def pytest_xdist_auto_num_workers() -> int:
    return processes()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Bundles | None:
    return Bundles(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    with spared_garbage():
        import_share(session.config)
        return (yield)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_stores(items)
    leave_out(config, items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape lone surrogates in what a test has logged: a report must be UTF-8 to leave its process."""
    report = yield
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    return report


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Take back what a test has set about the log: later tests would write to its captured output."""
    yield
    structlog.configure(**_LOGGING)


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """Run tests on the event loop of the workers, which also takes less processor time than Python's."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="session")
def clusters(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Clusters:
    """PostgreSQL clusters for stores of the tests, made once for all processes of a parallel run."""
    place = tmp_path_factory.getbasetemp()
    return Clusters(place.parent if hasattr(pytestconfig, "workerinput") else place)


@pytest.fixture(scope="session")
def stores(clusters: Clusters) -> Iterator[EmbeddedStores]:
    """One PostgreSQL and one Valkey for the whole session; never stop or pause these."""
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        EmbeddedStores(clusters.copy_to(Path(folder)), durable=False) as both,
    ):
        save_work(both)
        yield both
        leave(both)


@pytest.fixture
def new_database(stores: EmbeddedStores) -> Iterator[NewDatabase]:
    """Make databases, empty or copies of another; they are dropped after the test."""
    with ExitStack() as stack:
        yield lambda template="template1": stack.enter_context(database(stores, template))


@pytest.fixture
def empty_database_url(new_database: NewDatabase) -> str:
    """The URL of a fresh database without a table."""
    return new_database()


@pytest.fixture
def redis_url(stores: EmbeddedStores) -> Iterator[str]:
    """The URL of an empty session store that no other installation uses meanwhile."""
    with session_store(stores) as url:
        yield url


@pytest.fixture(scope="module")
def module_redis_url(stores: EmbeddedStores) -> Iterator[str]:
    """The same, for what all tests of a module share."""
    with session_store(stores) as url:
        yield url
