"""A store loses its primary under load: what was acknowledged is there, and the service goes on by itself."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.service.callers import PASSWORD
from tests.service.conftest import variables_for
from tests.support.failover import Writers
from tests.support.replicated import ReplicatedPostgres
from tests.support.running import running
from tests.support.waiting import eventually


@pytest.fixture
def pair() -> Iterator[ReplicatedPostgres]:
    with tempfile.TemporaryDirectory(prefix="pc-") as folder, ReplicatedPostgres(Path(folder)) as both:
        yield both


@pytest.mark.parametrize(
    "freeze", [pytest.param(False, id="killed"), pytest.param(True, id="frozen", marks=pytest.mark.extended)]
)
def test_a_standby_that_is_promoted_has_every_acknowledged_write_and_is_used_without_a_restart(
    pair: ReplicatedPostgres, redis_url: str, tmp_path: Path, *, freeze: bool
) -> None:
    variables = variables_for(pair.url, redis_url) | {"PORTCULLIS_ADMIN_PASSWORD": PASSWORD}
    with running(tmp_path, "--workers", "1", **variables) as service:
        assert eventually(lambda: len(service.workers) == 1)
        workers = service.workers
        with Writers(service.url, password=PASSWORD) as writers:
            writers.work_until(11)
            if freeze:
                pair.primary.pause()
                writers.work_for(3.0)  # longer than the requests that wait for its answer
            else:
                pair.kill_primary()
                writers.work_for(0.3)
            pair.promote()
            promoted = time.monotonic()
            back = writers.next_success(after=promoted)
            writers.work_for(0.3)
        with psycopg.connect(pair.standby_url) as connection:
            stored = {code for (code,) in connection.execute("SELECT role_code FROM sys.role")}
        assert writers.acknowledged - stored == set()
        assert set(writers.statuses) <= {201, 503}
        assert service.workers == workers
    print(f"\n{len(writers.acknowledged)} acknowledged; back after {back - promoted:.2f} s")  # noqa: T201
