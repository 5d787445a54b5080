"""Event streams when a worker stops, and when it is killed."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.features.event_stream.reader import Reader
from tests.service.callers import log_in
from tests.service.conftest import variables_for
from tests.support.databases import NewDatabase
from tests.support.running import PATIENT, running
from tests.support.waiting import eventually


def test_a_stop_ends_streams_at_once(
    tmp_path: Path, new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    variables = variables_for(new_database(published_template), redis_url) | PATIENT
    with running(tmp_path, "--workers", "1", **variables) as service:
        with service.client() as client:
            token = log_in(client)
        with Reader(service.port, token) as stream:
            assert stream.next() is not None
            began = time.monotonic()
            assert service.stop() == 0
            assert time.monotonic() - began < 8  # requests in flight have ten seconds
            assert stream.rest() == []


@pytest.mark.extended
def test_the_streams_of_a_killed_worker_count_for_ten_seconds_at_most(
    tmp_path: Path, new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    variables = variables_for(new_database(published_template), redis_url) | PATIENT
    with running(tmp_path, "--workers", "1", **variables) as service:
        with service.client() as client:
            token = log_in(client)
        streams = [Reader(service.port, token) for _ in range(3)]
        with Reader(service.port, token) as refused:
            assert refused.status == 429
        (worker,) = service.workers
        os.kill(worker, signal.SIGKILL)
        for stream in streams:
            with stream, pytest.raises(ConnectionError):
                stream.rest()

        def is_open() -> bool:
            try:
                with Reader(service.port, token) as stream:
                    return stream.status == 200
            except ConnectionError:
                return False  # the next worker is on its way

        assert eventually(is_open, patience=30)
