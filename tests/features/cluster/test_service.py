"""The whole service on a cluster: who logs in is served, refreshed, told of, and refused after the logout."""

import secrets
from pathlib import Path

from tests.benchmarks.fault_matrix.calls import Caller
from tests.support.databases import NewDatabase
from tests.support.running import PATIENT, running
from tests.support.seeded import seed_database
from tests.support.valkey_cluster import ValkeyCluster


def test_a_service_on_a_cluster_guards_changes_rights_and_ends_sessions(
    tmp_path: Path, new_database: NewDatabase, valkey_cluster: ValkeyCluster
) -> None:
    valkey_cluster.empty()
    database_url = new_database()
    seed_database(database_url)
    variables = {
        **PATIENT,
        "DATABASE_URL": database_url,
        "REDIS_URL": valkey_cluster.url,
        "JWT_SECRET": secrets.token_hex(32),
    }
    with running(tmp_path, "--workers", "2", **variables) as service:
        caller = Caller(service.url)
        tokens = caller.log_in().json["data"]
        access = tokens["accessToken"]
        role = {"roleName": "Reader", "roleCode": "reader"}
        assert caller.ask("POST", "/api/role", role, token=access).status == 201
        listed = caller.ask("GET", "/api/online/list", token=access)
        assert (listed.status, listed.json["data"]["total"]) == (200, 1)
        renewed = caller.refresh(tokens["refreshToken"])
        assert renewed.status == 200
        access = renewed.json["data"]["accessToken"]
        assert caller.ask("GET", "/health/ready").status == 200
        assert caller.ask("POST", "/api/auth/logout", token=access).status == 200
        assert caller.ask("GET", "/api/role/list", token=access).status == 401
        assert caller.refresh(renewed.json["data"]["refreshToken"]).status == 401
        caller.close()
    with valkey_cluster.client_of_all() as client:
        assert all("{" in name for name in client.keys("*") if not name.startswith("auth:challenge:"))
