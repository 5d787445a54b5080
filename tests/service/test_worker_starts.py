"""A worker that can't start is tried again after pauses; when none ever serves, the service ends in words."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.features.embedded.stores import EmbeddedStores
from service.server.supervisor import FIRST_PAUSE, TRIES
from tests.service.conftest import variables_for
from tests.support.databases import database, session_store
from tests.support.running import PATIENCE, ROOT, Running, running
from tests.support.waiting import eventually

# The preparation of a start adds the routes too: the first call is its own.
EXTENSION = """
import os, signal
from pathlib import Path
from service.app.container import Lifespan
from service.extending import Extension

HERE = Path(__file__).parent
CALLS, FAULT = HERE / "calls", HERE / "fault"

async def _fail(lifespan):
    raise LookupError("there is no shelf")

def add_routes(routes, offered):
    with CALLS.open("a") as calls:
        calls.write("x")
    fault = FAULT.read_text() if CALLS.stat().st_size > 1 and FAULT.exists() else ""
    if fault == "raises":
        raise ValueError("the shop is shut")
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "lifespan":
        Lifespan._start = _fail

extension = Extension(
    name="shop", title="Shop", add_routes=add_routes, policies=HERE / "policies"
)
"""


class Shop:
    """An extension in a folder of its own, with a fault that can be set."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.folder = folder
        self._package = folder / "shop_that_fails"
        (self._package / "policies").mkdir(parents=True)
        (self._package / "policies" / "endpoints.csv").touch()
        (self._package / "__init__.py").write_text(EXTENSION)
        place = {"PORTCULLIS_EXTENSIONS": self._package.name, "PYTHONPATH": f"{ROOT}:{folder}"}
        self.variables = variables | place

    def fails(self, how: str) -> None:
        """Let workers that start from now on fail; not at all if ``how`` is empty."""
        (self._package / "fault").write_text(how)

    @property
    def starts(self) -> int:
        """How many workers were started."""
        return (self._package / "calls").stat().st_size - 1


@pytest.fixture
def shop(stores: EmbeddedStores, seeded_template: str, tmp_path: Path) -> Iterator[Shop]:
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        yield Shop(tmp_path, variables_for(url, redis_url))


def failures(service: Running) -> list[dict[str, Any]]:
    return [line for line in service.log if line["event"] == "a worker can't start"]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("raises", "ValueError: the shop is shut"),
        pytest.param("lifespan", "LookupError: there is no shelf", marks=pytest.mark.extended),
        ("killed", "it was ended by SIGKILL"),
    ],
)
def test_a_service_of_which_no_worker_can_start_ends_and_says_why(
    shop: Shop, fault: str, reason: str
) -> None:
    shop.fails(fault)
    service = Running(shop.folder, "--workers", "2", **shop.variables)
    assert eventually(lambda: service.process.poll() is not None, patience=PATIENCE)

    assert service.process.poll() == 1
    message = service.errors.splitlines()[-1]
    assert message == f"portcullis: No worker can start, so the service stops: {reason}"
    assert "Traceback" not in service.errors
    assert 2 * TRIES <= shop.starts < 2 * (TRIES + 2)
    pauses = sorted({line["again_in_seconds"] for line in failures(service)})[:TRIES]
    assert pauses == [FIRST_PAUSE * 2**number for number in range(TRIES)]


def test_a_worker_that_can_not_be_replaced_leaves_the_others_serving_until_it_can(shop: Shop) -> None:
    with running(shop.folder, "--workers", "2", **shop.variables) as service:
        assert eventually(lambda: service.output.count("Application startup complete") == 2)
        shop.fails("raises")
        os.kill(service.workers[0], signal.SIGKILL)
        assert eventually(lambda: len(failures(service)) == TRIES, patience=PATIENCE)

        answer = httpx.get(f"{service.url}/health/live", trust_env=False, verify=False)
        assert answer.status_code == 200
        shop.fails("")
        assert eventually(
            lambda: service.output.count("Application startup complete") == 3, patience=PATIENCE
        )
        assert len(service.workers) == 2
