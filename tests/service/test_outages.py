"""A store that goes away: 503 where it is needed, never a pass and never a 401, and back by itself."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from service.features.embedded.server import Server
from service.features.embedded.stores import EmbeddedStores
from service.features.service_accounts.form import ApiKey, new_secret
from tests.service.callers import PASSWORD, log_in
from tests.service.conftest import variables_for
from tests.support.running import running
from tests.support.spare import SpareStores
from tests.support.waiting import eventually, frozen, stopped
from tests.support.without import is_off

ROLE_LIST = "/api/role/list"
LONG = 15.0
"""Seconds: far above what a silent store is waited for, far below the 30 s that some work may take."""
CREDENTIALS = {"userName": "admin", "password": PASSWORD}


@pytest.fixture(scope="module")
def mortal_stores(spare_stores: SpareStores) -> Iterator[EmbeddedStores]:
    """Stores of this module's own, to stop and to freeze; what was written survives that."""
    with spare_stores.borrowed(seeded=True) as both:
        yield both


@pytest.fixture(scope="module")
def client(mortal_stores: EmbeddedStores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    variables = variables_for(mortal_stores.database_url, mortal_stores.redis_url)
    folder = tmp_path_factory.mktemp("mortal")
    with running(folder, "--workers", "1", **variables) as service, service.client() as client:
        yield client


def check_unavailable(*requests: Callable[[], httpx.Response]) -> None:
    """Send the requests, all at once: a frozen store makes each of them wait."""
    with ThreadPoolExecutor(len(requests)) as threads:
        for answer in threads.map(lambda request: request(), requests):
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert answer.elapsed.total_seconds() < LONG
            assert int(answer.headers["retry-after"]) >= 1
            assert "www-authenticate" not in answer.headers


def parts_that_are_down(client: httpx.Client) -> list[str]:
    assert eventually(lambda: client.get("/health/ready").status_code == 503)
    answer = client.get("/health/ready")
    assert answer.json()["code"] == "unavailable"
    return [name for name, state in answer.json()["parts"].items() if state == "down"]


def recovers(client: httpx.Client, token: dict[str, str]) -> bool:
    """Tell whether the service is what it was, the sessions of before included, without being restarted."""
    return (
        eventually(lambda: client.get("/health/ready").status_code == 200)
        and eventually(lambda: client.get(ROLE_LIST, headers=token).status_code == 200)
        and eventually(lambda: client.post("/api/auth/login", json=CREDENTIALS).status_code == 200)
    )


@pytest.mark.parametrize("gone", [stopped, frozen])
def test_without_the_database_whatever_needs_it_is_503_until_it_is_back(
    client: httpx.Client,
    mortal_stores: EmbeddedStores,
    gone: Callable[[Server], AbstractContextManager[None]],
) -> None:
    token = log_in(client)
    with gone(mortal_stores.postgres):
        check_unavailable(
            lambda: client.post("/api/auth/login", json=CREDENTIALS),
            lambda: client.get(ROLE_LIST, headers=token),
            # These may take 30 s of work, and wait for a silent database no longer than the others.
            lambda: client.get("/api/operation-log/export", headers=token),
            *([] if is_off("tables") else [lambda: client.get("/api/role/export", headers=token)]),
            lambda: client.put("/api/resource/2/buttons", json={"menuIds": []}, headers=token),
        )
        assert client.get(ROLE_LIST).status_code == 401
        assert parts_that_are_down(client) == ["database", "jobs"]
        assert client.get("/health/live").status_code == 200
    assert recovers(client, token)


def test_api_keys_that_were_deleted_or_invented_wait_no_longer_for_a_frozen_database_than_one_login(
    mortal_stores: EmbeddedStores, tmp_path: Path
) -> None:
    variables = variables_for(mortal_stores.database_url, mortal_stores.redis_url)
    variables["PORTCULLIS_DATABASE__TIMEOUT"] = "2"
    with running(tmp_path, "--workers", "1", **variables) as service, service.client() as client:
        token = log_in(client)
        account = {"userName": "robot", "nickName": "Robot", "kind": "service"}
        keys = f"/api/user/{client.post('/api/user', json=account, headers=token).json()['data']['id']}/keys"
        made = client.post(keys, json={"name": "deleted"}, headers=token).json()["data"]
        deleted = {"Authorization": f"Bearer {made['key']}"}
        assert client.get("/api/user/info", headers=deleted).status_code == 200
        assert client.delete(f"{keys}/{made['id']}", headers=token).status_code == 200
        assert client.get("/api/user/info", headers=deleted).status_code == 401
        invented = [
            {"Authorization": f"Bearer {ApiKey(10**6 + number, new_secret())}"} for number in range(4)
        ]
        with frozen(mortal_stores.postgres), ThreadPoolExecutor(5) as threads:
            asked = [
                threads.submit(client.get, "/api/user/info", headers=headers)
                for headers in (*invented, deleted)
            ]
            # One after another: three times the time that one of them may take.
            for _ in range(3):
                assert client.post("/api/auth/login", json=CREDENTIALS).status_code == 503
            assert [answer.done() for answer in asked] == [True] * len(asked)
            assert {answer.result().status_code for answer in asked} == {503}
        assert eventually(lambda: client.get("/api/user/info", headers=deleted).status_code == 401)


@pytest.mark.parametrize("gone", [stopped, frozen])
def test_without_the_session_store_no_one_passes_and_no_one_is_sent_to_log_in(
    client: httpx.Client,
    mortal_stores: EmbeddedStores,
    gone: Callable[[Server], AbstractContextManager[None]],
) -> None:
    token = log_in(client)
    with gone(mortal_stores.valkey):
        check_unavailable(
            lambda: client.post("/api/auth/login", json=CREDENTIALS),
            lambda: client.get(ROLE_LIST, headers=token),
            lambda: client.get("/api/user/info", headers=token),
            lambda: client.get("/api/operation-log/export", headers=token),
            lambda: client.put("/api/resource/2/buttons", json={"menuIds": []}, headers=token),
        )
        assert parts_that_are_down(client) == ["sessions"]
        assert client.get("/health/live").status_code == 200
    assert recovers(client, token)
