"""Two nodes on the same stores: what befalls one of them leaves the other, and all sessions, as they were."""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.benchmarks.fault_matrix.proxy import Proxy
from tests.service.callers import PASSWORD
from tests.service.conftest import variables_for
from tests.support.running import Running, running
from tests.support.spare import SpareStores
from tests.support.waiting import eventually

pytestmark = pytest.mark.extended

CREDENTIALS = {"userName": "admin", "password": PASSWORD}


@dataclass(frozen=True)
class Nodes:
    """One node with a free way to its stores, and one whose ways can be cut."""

    near: Running
    far: Running
    database: Proxy
    sessions: Proxy


@pytest.fixture(scope="module")
def nodes(spare_stores: SpareStores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    place = tmp_path_factory.mktemp("nodes")
    with spare_stores.borrowed(seeded=True) as stores:
        sockets = stores.data / "sockets"
        database, sessions = Proxy(sockets / ".s.PGSQL.5432"), Proxy(sockets / "valkey.sock")
        near = variables_for(stores.database_url, stores.redis_url)
        far = near | {
            "DATABASE_URL": f"postgresql://portcullis@127.0.0.1:{database.port}/portcullis",
            "REDIS_URL": f"redis://127.0.0.1:{sessions.port}",
        }
        try:
            with (
                running(place, "--workers", "1", **near) as first,
                running(place, "--workers", "1", **far) as second,
            ):
                yield Nodes(first, second, database, sessions)
        finally:
            database.close()
            sessions.close()


def log_in(client: httpx.Client, device: str) -> dict[str, str]:
    answer = client.post("/api/auth/login", json=CREDENTIALS | {"device": device})
    assert answer.status_code == 200, answer.text
    tokens: dict[str, str] = answer.json()["data"]
    return tokens


def bearer(tokens: dict[str, str]) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens['accessToken']}"}


@pytest.mark.parametrize("cut", [("database",), ("sessions",), ("database", "sessions")], ids="+".join)
def test_a_node_that_is_cut_off_says_so_and_comes_back_by_itself_while_the_other_goes_on(
    nodes: Nodes, cut: tuple[str, ...]
) -> None:
    with nodes.near.client() as near, nodes.far.client() as far:
        # The far node may still be coming back from the case before.
        ready = CREDENTIALS | {"device": "ready"}
        assert eventually(lambda: far.post("/api/auth/login", json=ready).status_code == 200)
        token = bearer(log_in(far, "-".join(cut)))
        assert near.get("/api/user/info", headers=token).status_code == 200
        for name in cut:
            getattr(nodes, name).delay = 3600.0  # nothing comes back, and nothing is refused
        try:
            assert far.get("/api/user/info", headers=token).status_code == 503
            assert far.get("/health/ready").status_code == 503
            assert near.get("/health/ready").status_code == 200
            assert near.get("/api/user/info", headers=token).status_code == 200
            code = "cut-off-" + "-".join(cut)
            made = near.post("/api/role", json={"roleName": code, "roleCode": code}, headers=token)
            assert made.status_code == 201
        finally:
            for name in cut:
                getattr(nodes, name).delay = 0.0
        assert eventually(lambda: far.get("/health/ready").status_code == 200)
        shown = far.get("/api/role/list", params={"roleName": code}, headers=token)
        assert [role["roleCode"] for role in shown.json()["data"]["items"]] == [code]


def test_a_node_that_is_killed_ends_no_session_and_undoes_nothing(nodes: Nodes) -> None:
    with nodes.near.client() as near, nodes.far.client() as far:
        tokens = log_in(far, "killed")
        made = far.post("/api/role", json={"roleName": "made", "roleCode": "made"}, headers=bearer(tokens))
        assert made.status_code == 201
        nodes.far.kill()
        assert near.get(f"/api/role/{made.json()['data']['id']}", headers=bearer(tokens)).status_code == 200
        renewed = near.post("/api/auth/refresh", json={"refreshToken": tokens["refreshToken"]})
        assert renewed.status_code == 200
        assert near.get("/api/user/info", headers=bearer(renewed.json()["data"])).status_code == 200
