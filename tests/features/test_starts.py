"""A service starts with each feature off, on one data directory, and what is published stays as it was."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import pytest

from service.kernel.feature import about_any, declared, off_by, switches
from tests.support.databases import NewDatabase
from tests.support.running import Running, running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually

ALONE: Final = tuple(
    # With those that need it: without them the feature can't be off.
    ",".join([name, *(feature.name for feature in declared() if feature.off and name in feature.needs)])
    for name in switches()
)
OTHERWISE: Final = "workers decide by another own part of the policy"
"""What a node logs where another one has other features off: no node decides what the other one does."""
Seen = tuple[int, str, str, list[str]]
"""Revision and digest of the published policy, digest of the node's own, and the names of the users."""


def variables_for(database_url: str, redis_url: str) -> dict[str, str]:
    return {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "JWT_SECRET": secrets.token_urlsafe(48)}


@contextmanager
def started(folder: Path, off: str, variables: Mapping[str, str]) -> Iterator[Running]:
    options = ("--workers", "1")
    with running(folder, *options, **variables, PORTCULLIS_FEATURES__OFF=off) as service:
        yield service


def logged_in(client: httpx.Client) -> None:
    answer = client.post(
        "/api/auth/login", json={"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
    )
    assert answer.status_code == 200, answer.text
    client.headers["Authorization"] = f"Bearer {answer.json()['data']['accessToken']}"


def read(client: httpx.Client, path: str) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.text)
    return answer.json()


def look(service: Running, off: str) -> Seen:
    """Ask a service that has just started what everybody asks, and return what must stay as it is."""
    gone = off_by(off.split(","))
    with service.client() as client:
        read(client, "/health/ready")
        logged_in(client)
        users = read(client, "/api/user/list")["data"]["items"]
        paths = read(client, "/docs/openapi.json")["paths"]
        policy = read(client, "/api/policy?size=1")["data"]
        table = client.get("/api/user/export")
    assert [path for path in paths if about_any(gone, path)] == []
    for feature in declared():
        served = any(feature.owns(path) for path in paths)
        assert served is (feature not in gone and feature.name in SERVING), feature.name
    assert (table.status_code == 404) is about_any(gone, "/api/user/export")
    assert {line["event"] for line in service.log if line["level"] == "error"} <= {OTHERWISE}
    return policy["revision"], policy["digest"], policy["ownDigest"], [user["userName"] for user in users]


def turns(off: str, folder: Path, variables: Mapping[str, str]) -> None:
    """Start without features, with them, and without them again, on the same data."""
    seen = []
    for names in (off, "", off):
        with started(folder, names, variables) as service:
            seen.append(look(service, names))
            assert OTHERWISE not in service.output
            assert service.stop() == 0
    without, on, again = seen
    assert without == again
    assert without[:2] == on[:2]
    assert without[0] == 1
    assert without[3] == on[3] == [ADMINISTRATOR]


SERVING: Final = {
    feature.name for feature in declared() if feature.paths and feature.name not in ("metrics", "pages")
}
"""The features whose endpoints are in the document of the API."""


def test_a_service_starts_without_any_feature_and_with_all_again(
    tmp_path: Path, new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    turns("all", tmp_path, variables_for(new_database(published_template), redis_url))


@pytest.mark.extended
@pytest.mark.parametrize("off", [*ALONE, "all"])
def test_a_new_data_directory_is_one_for_features_that_are_off_and_on(tmp_path: Path, off: str) -> None:
    turns(off, tmp_path, {"PORTCULLIS_ADMIN_PASSWORD": ADMINISTRATOR_PASSWORD})


def revisions(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT revision, digest FROM sys.policy_revision ORDER BY 1").fetchall()


@pytest.mark.extended
@pytest.mark.parametrize("nodes", [("all", ""), ("scim,tables", "oidc,pages"), ("tables", "all")])
def test_nodes_with_different_features_off_publish_one_policy(
    tmp_path: Path, new_database: NewDatabase, published_template: str, redis_url: str, nodes: tuple[str, str]
) -> None:
    off, beside_off = nodes
    url = new_database(published_template)
    variables = variables_for(url, redis_url)
    before = revisions(url)
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()

    for starts in range(2):
        with (
            started(folders[0], off, variables) as first,
            started(folders[1], beside_off, variables) as second,
        ):
            seen = look(first, off), look(second, beside_off)
            assert seen[0][:2] == seen[1][:2]
            assert revisions(url) == before
            with first.client() as client, second.client() as beside:
                logged_in(client)
                beside.headers["Authorization"] = client.headers["Authorization"]
                buttons = read(client, "/api/menu/list?size=200&menuType=Button")["data"]["items"]
                (exporting,) = [each for each in buttons if each["authMark"] == "system:user:export"]
                body = {"enabled": bool(starts)}
                changed = client.patch(f"/api/menu/{exporting['id']}", json=body, headers={"If-Match": "*"})
                assert changed.status_code == 200, changed.text
                revision = changed.json()["data"]["policyRevision"]

                def follows(beside: httpx.Client = beside, revision: int = revision) -> bool:
                    return bool(read(beside, "/api/policy?size=1")["data"]["revision"] == revision)

                assert eventually(follows)
            after = revisions(url)
            assert len(after) == len(before) + 1
            before = after
