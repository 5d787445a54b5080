"""What is off is absent, loses nothing, and changes nothing that other nodes read."""

import re
import subprocess
import sys
from typing import Any

import psycopg
import pytest

from service.__main__ import main
from service.authz.publishing.shipped import configured
from service.kernel.feature import about_any, off_by, switches
from service.operator.errors import UnpreparedError
from service.server.prepare import check, publish_policy
from service.settings import load
from tests.benchmarks.start import LOADED
from tests.support.cases import with_each
from tests.support.databases import NewDatabase
from tests.support.inside import settings_of
from tests.support.inside_fixtures import ServiceWith

OFF = {"PORTCULLIS_FEATURES__OFF": "all"}


async def test_what_is_off_is_not_found_and_not_in_the_document(service_with: ServiceWith) -> None:
    async with service_with(**OFF) as service:
        answer = await service.ask("GET", "/scim/v2/Users")
        assert (answer.status, answer.json["code"]) == (404, "not_found")
        assert answer.header("content-type") == "application/problem+json"
        document = (await service.as_anonymous("GET", "/docs/openapi.json")).json
        assert [path for path in document["paths"] if about_any(off_by(["all"]), f"GET {path}")] == []
        assert (await service.ask("GET", "/api/user/list")).status == 200


def revisions(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT revision, digest FROM sys.policy_revision ORDER BY 1").fetchall()


def test_what_is_off_changes_nothing_that_is_published(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url = new_database(published_template)
    before = revisions(url)
    for variables in (OFF, {}, OFF, {}):
        chosen = settings_of(url, redis_url, variables)
        publish_policy(chosen, check(chosen))
    assert revisions(url) == before


def test_a_start_refuses_while_what_is_stored_needs_a_feature_that_is_off(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url = new_database(published_template)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO sys.directory (name, kind, mapping, ceiling) VALUES ('hr', 'scim', '{}', '{}')"
        )
    chosen = settings_of(url, redis_url, OFF)
    with pytest.raises(UnpreparedError, match=r"features\.off names scim, but enabled directories .* \(1 in"):
        publish_policy(chosen, check(chosen))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE sys.directory SET enabled = false")
    publish_policy(chosen, check(chosen))


@pytest.mark.parametrize("off", ["", "all"])
def test_policy_check_prints_each_line_of_the_node_that_is_in_force(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, off: str
) -> None:
    monkeypatch.setenv("PORTCULLIS_FEATURES__OFF", off)
    assert main(["policy", "check", "--lines"]) == 0
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("p, ")]
    assert sorted(printed) == sorted(map(str, configured(load({"PORTCULLIS_FEATURES__OFF": off})).rules))
    about = [line for line in printed if about_any(off_by(["all"]), line)]
    assert bool(about) is not bool(off)


@with_each(
    ("feature", "command"),
    [
        ("access_requests", "request list"),
        ("export", "export status"),
        ("reviews", "policy unused"),
        ("reviews", "policy changes --since 1"),
        ("reviews", "evidence review 1 --output review.zip"),
        ("tables", "resource import openapi.yaml --service orders"),
    ],
)
def test_commands_of_what_is_off_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], feature: str, command: str
) -> None:
    monkeypatch.setenv("PORTCULLIS_FEATURES__OFF", feature)
    assert main(command.split()) == 1
    assert f"belongs to the feature {feature}, which is turned off" in capsys.readouterr().err


def test_what_is_off_is_not_imported_by_a_worker() -> None:
    program = LOADED.replace("print(len(sys.modules))", "print(*sys.modules)")
    loaded = subprocess.run(
        [sys.executable, "-c", program, "all"], capture_output=True, text=True, check=True
    ).stdout.split()
    parts = {
        name.partition("service.features.")[2] for name in loaded if name.startswith("service.features.")
    }
    of_off = {name for name in parts if name.partition(".")[0] in switches() and "." in name}
    # What each is, its tables, its shared lines, and what it has stored are known whether it is off or on.
    assert [
        name for name in of_off if not re.search(r"\.(feature|schema|sentences|store\w*|policy)$", name)
    ] == []


@pytest.mark.parametrize("kind", ["scim", "oidc"])
async def test_a_directory_is_not_switched_on_while_nothing_serves_it(
    service_with: ServiceWith, kind: str
) -> None:
    async with service_with(**OFF) as service:
        robot = await service.data(
            "POST", "/api/user", {"userName": "robot", "nickName": "R", "kind": "service"}
        )
        body: dict[str, Any] = {
            "kind": kind,
            "mapping": [],
            "ceiling": [],
            "client": "robot" if kind == "scim" else None,
        }
        refused = await service.ask("PUT", "/api/directory/hr", body | {"enabled": True})
        assert (refused.status, refused.json["errors"][0]["field"]) == (422, "enabled"), robot
        assert (await service.ask("PUT", "/api/directory/hr", body | {"enabled": False})).status in (200, 201)
