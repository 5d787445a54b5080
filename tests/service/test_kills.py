"""Workers and the session store die by ``kill -9`` under load: every acknowledged change has one entry."""

import itertools
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.service.callers import log_in
from tests.service.conftest import variables_for
from tests.support.running import Running, portcullis, running
from tests.support.spare import SpareStores
from tests.support.waiting import eventually

KILLS = 100
ACKNOWLEDGED = 5
"""Changes of all writers that are acknowledged between two kills."""
LONG = 300.0  # seconds

_names = itertools.count(1)
_Body = dict[str, Any]


def _role() -> tuple[str, _Body, _Body, str]:
    code = f"kill-{next(_names)}"
    return "/api/role", {"roleCode": code, "roleName": code}, {"description": "Edited"}, f"role:{code}"


def _user() -> tuple[str, _Body, _Body, str]:
    name = f"kill-{next(_names)}"
    return (
        "/api/user",
        {"userName": name, "nickName": name, "kind": "service"},
        {"nickName": "Edited"},
        f"user:{name}",
    )


def _resource() -> tuple[str, _Body, _Body, str]:
    name = f"kill{next(_names)}"
    body = {"resourceName": name, "resourceCode": name, "method": "GET", "path": f"/api/{name}"}
    return "/api/resource", body, {"resourceName": f"{name}e"}, f"resource:GET /api/{name}"


def _menu() -> tuple[str, _Body, _Body, str]:
    title = f"Kill {next(_names)}"
    return "/api/menu", {"menuType": "Menu", "title": title}, {"icon": "edited"}, f"menu:{title}"


class Writers:
    """Threads that make, edit and delete records of one noun each; ``acknowledged`` are their changes."""

    def __init__(self, service: Running) -> None:
        self._service = service
        self._ended = threading.Event()
        self.acknowledged: dict[str, str] = {}
        """The target of each change that was answered with a success, by the id of its request."""
        self.faults: list[BaseException] = []
        nouns = (_role, _user, _resource, _menu)
        self._threads = [threading.Thread(target=self._write, args=(noun,)) for noun in nouns]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join()

    def _write(self, noun: Callable[[], tuple[str, _Body, _Body, str]]) -> None:
        try:
            with self._service.client() as client:
                while not self._ended.is_set():
                    path, new, edit, target = noun()
                    if (made := self._change(client, "POST", path, target, new)) is None:
                        continue
                    record = f"{path}/{made['data']['id']}"
                    self._change(client, "PATCH", record, target, edit)
                    self._change(client, "DELETE", record, target)
        except BaseException as fault:
            self.faults.append(fault)
            raise

    def _change(
        self, client: httpx.Client, method: str, path: str, target: str, body: _Body | None = None
    ) -> Any:
        """Send one change; return its answer if that is a success."""
        request_id = f"kill-{next(_names)}"
        try:
            if "Authorization" not in client.headers:
                client.headers.update(log_in(client))
            answer = client.request(method, path, json=body, headers={"X-Request-Id": request_id})
        except (httpx.HTTPError, AssertionError):  # the worker is gone, or the session store
            return None
        if answer.status_code == 401:
            del client.headers["Authorization"]
        if not answer.is_success:
            assert answer.status_code in (401, 404, 409, 412, 429, 503), answer.text
            return None
        self.acknowledged[request_id] = target
        return answer.json()


class Victims:
    """What is killed: a worker, the session store, or the store whose file is behind what it answered."""

    def __init__(self, service: Running, stores: EmbeddedStores) -> None:
        self._service = service
        self._stores = stores

    def worker(self) -> None:
        """Kill a worker, once there are all of them."""
        assert eventually(lambda: len(self._service.workers) == 2, patience=LONG)
        os.kill(self._service.workers[0], signal.SIGKILL)

    def store(self) -> None:
        """Kill the session store, and return when it serves again."""
        before = self._stores.valkey.pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        assert eventually(lambda: self._stores.valkey.pid not in (None, before), patience=LONG)
        self._stores.valkey.wait()

    def both(self) -> None:
        """Kill a worker and the session store."""
        self.worker()
        self.store()

    @contextmanager
    def behind(self) -> Iterator[None]:
        """Have the store lose what it is told during the block, as if that had not reached the disk."""
        (file,) = self._stores.valkey._program.directory.glob("appendonlydir/*.incr.aof")
        size = file.stat().st_size
        yield
        self._stores.valkey.stop()
        os.truncate(file, size)
        self._stores.valkey.start()


def entries(database_url: str) -> dict[str, list[tuple[int, list[str]]]]:
    """Return status and targets of the entries of each request."""
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT request_id, status, targets FROM sys.operation_log WHERE request_id LIKE 'kill-%'"
        )
        by_request: dict[str, list[tuple[int, list[str]]]] = {}
        for request_id, status, targets in rows:
            by_request.setdefault(request_id, []).append((status, targets or []))
        return by_request


def is_settled(database_url: str) -> bool:
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT count(*) FROM sys.operation_intent").fetchone()
    return row == (0,)


@pytest.mark.extended
@pytest.mark.timeout(1800)
def test_after_a_hundred_kills_each_acknowledged_change_has_one_entry_that_names_it(
    spare_stores: SpareStores, tmp_path: Path
) -> None:
    with spare_stores.borrowed(seeded=True) as stores:
        variables = variables_for(stores.database_url, stores.redis_url)
        with running(tmp_path, "--workers", "2", **variables) as service:
            writers, victims = Writers(service), Victims(service, stores)

            def more() -> None:
                target = len(writers.acknowledged) + ACKNOWLEDGED
                assert eventually(
                    lambda: len(writers.acknowledged) >= target or bool(writers.faults), patience=LONG
                )
                assert not writers.faults

            with writers.at_work():
                for number in range(KILLS):
                    more()
                    kill = (victims.worker, victims.worker, victims.store, victims.both, None)[number % 5]
                    if kill is None:
                        with victims.behind():
                            more()
                    else:
                        kill()
            assert eventually(lambda: is_settled(stores.database_url), patience=LONG)
            ended = portcullis(tmp_path, "audit", "verify", **variables)
        written = entries(stores.database_url)
    assert ended.status == 0, ended.output
    assert {
        request_id: (target, written.get(request_id, []))
        for request_id, target in writers.acknowledged.items()
        if [target in targets for _, targets in written.get(request_id, [])] != [True]
    } == {}
    recovered = [status for name in writers.acknowledged for status, _ in written[name] if status == 499]
    assert recovered  # else nothing was lost that had to be recovered
