"""The extension of docs/examples/orders-admin in a running service: all that holds for ours holds for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.service.callers import PASSWORD, log_in
from tests.service.conftest import variables_for
from tests.support.databases import database, session_store
from tests.support.running import ROOT, Ended, Running, portcullis, running
from tests.support.waiting import eventually

EXAMPLE = ROOT / "docs" / "examples" / "orders-admin"
ORDER = {"number": "2026-0017", "customer": "Ada"}


@dataclass(frozen=True)
class Extended:
    """A service with the extension."""

    folder: Path
    variables: dict[str, str]
    running: Running

    def command(self, *arguments: str) -> Ended:
        """Run a command with the settings of the service."""
        return portcullis(self.folder, *arguments, **self.variables)


@pytest.fixture(scope="module")
def extended(
    stores: EmbeddedStores, seeded_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Extended]:
    folder = tmp_path_factory.mktemp("extended")
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        variables = variables_for(url, redis_url)
        variables |= {"PORTCULLIS_EXTENSIONS": str(EXAMPLE / "orders_admin")}
        with running(folder, "--workers", "1", **variables) as service:
            yield Extended(folder, variables, service)


@pytest.fixture
def client(extended: Extended) -> Iterator[httpx.Client]:
    with extended.running.client() as client:
        client.headers.update(log_in(client))
        yield client


def as_newcomer(client: httpx.Client, *codes: str) -> dict[str, str]:
    """Make a user who holds ``codes``, and return the header of their access token."""
    name = f"user{len(client.get('/api/user/list').json()['data']['items'])}"
    role = {"roleName": name, "roleCode": name, "permissions": list(codes)}
    made = client.post("/api/role", json=role)
    assert made.status_code == 201, made.text
    user = {"userName": name, "nickName": name, "password": PASSWORD, "roleIds": [made.json()["data"]["id"]]}
    assert client.post("/api/user", json=user).status_code == 201
    return log_in(client, name)


def test_its_endpoints_answer_from_tables_of_their_own(client: httpx.Client) -> None:
    made = client.post("/api/orders", json=ORDER)
    again = client.post("/api/orders", json=ORDER)
    place = made.headers["location"]
    listed = client.get("/api/orders", params={"size": 5}).json()["data"]
    read = client.get(place)
    deleted, gone = client.delete(place), client.get(place)

    assert (made.status_code, again.status_code) == (201, 409)
    assert listed["total"] == 1
    assert read.json()["data"] == listed["items"][0] == made.json()["data"]
    assert (deleted.status_code, gone.status_code) == (200, 404)


def test_its_endpoints_are_guarded_by_lines_and_resources_of_their_own(client: httpx.Client) -> None:
    reader = as_newcomer(client, "orders:order:read")
    explained = client.post("/api/policy/explain", json={"method": "DELETE", "path": "/api/orders/7"})

    assert client.get("/api/orders", headers=reader).status_code == 200
    refused = client.post("/api/orders", json=ORDER, headers=reader)
    assert (refused.status_code, refused.json()["layer"]) == (403, "endpoint")
    assert refused.json()["required"] == ["orders:order:create"]
    # Its resource was registered and bound to the Button of its code.
    bound = client.delete("/api/orders/7", headers=reader)
    assert (bound.status_code, bound.json()["layer"]) == (403, "resource")
    assert explained.status_code == 200, explained.text
    assert client.get("/api/orders", headers={"Authorization": "Bearer none"}).status_code == 401


def test_its_permissions_are_buttons_on_a_page_of_their_own(client: httpx.Client) -> None:
    tree = client.get("/api/menu/list", params={"size": 200}).json()["data"]["items"]

    (page,) = [menu for menu in tree if menu["name"] == "orders"]
    assert page["parentId"] is None
    assert [menu["authMark"] for menu in tree if menu["parentId"] == page["id"]] == [
        "orders:order:read",
        "orders:order:create",
        "orders:order:delete",
    ]


def test_its_calls_are_in_the_operation_log(client: httpx.Client) -> None:
    body = ORDER | {"number": "2026-0018"}
    assert client.post("/api/orders", json=body).status_code == 201

    def entries() -> list[dict[str, object]]:
        answer = client.get("/api/operation-log/list", params={"module": "orders"})
        logged: list[dict[str, object]] = answer.json()["data"]["items"]
        return [entry for entry in logged if entry["action"] == "enter an order"]

    assert eventually(lambda: bool(entries()))


def test_its_operations_are_in_the_openapi_document(client: httpx.Client) -> None:
    document = client.get("/docs/openapi.json").json()

    entered = document["paths"]["/api/orders"]["post"]
    assert entered["operationId"] == "createOrder"
    assert entered["tags"] == ["orders"]
    assert {"201", "401", "403", "409", "422"} <= entered["responses"].keys()
    assert "Orders." in [tag["description"] for tag in document["tags"]]


def test_the_commands_know_it(extended: Extended) -> None:
    tested = extended.command("policy", "test", str(EXAMPLE / "orders_admin" / "policies" / "cases"))
    health = extended.command("doctor")

    assert tested.status == 0, tested.errors
    findings = dict(
        line.split(maxsplit=2)[1:] for line in health.output.splitlines() if line.startswith("ok ")
    )
    assert findings["extensions"] == "orders, with tables up to date"
    assert "enabled Button" in findings["permission-codes"]


def test_doctor_names_an_extension_that_can_not_be_used_among_its_findings(extended: Extended) -> None:
    variables = extended.variables | {"PORTCULLIS_EXTENSIONS": "no_such_package"}
    health = portcullis(extended.folder, "doctor", **variables)

    (finding,) = [line for line in health.output.splitlines() if "policy-files" in line]
    assert finding.startswith("fault")
    assert "the extension no_such_package can't be imported" in finding


def test_without_the_setting_the_service_does_not_have_its_endpoints(extended: Extended) -> None:
    without = {name: value for name, value in extended.variables.items() if "EXTENSIONS" not in name}
    ended = portcullis(extended.folder, "policy", "who", "GET", "/api/orders", **without)

    assert "orders:order:read" not in ended.output
