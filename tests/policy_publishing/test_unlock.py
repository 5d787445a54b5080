"""``portcullis policy unlock``, and installations that close what nobody has registered."""

import asyncio
import json
from pathlib import Path

import psycopg
import pytest

from service.authz.publishing.shipped import configured
from service.features.policy_checks.lockout import locked_out
from service.server.prepare import publish_policy
from service.settings import Settings, load
from tests.service.conftest import variables_for
from tests.support.inside import inside
from tests.support.running import Ended, portcullis

BINDINGS = "PUT /api/resource/{id}/buttons"


def execute(settings: Settings, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(settings.database.url) as connection:
        done = connection.execute(statement.encode())
        return done.fetchall() if done.description else []


@pytest.fixture
def variables(seeded_database_url: str, redis_url: str) -> dict[str, str]:
    return variables_for(seeded_database_url, redis_url)


@pytest.fixture
def settings(variables: dict[str, str]) -> Settings:
    return load({"PORTCULLIS_CONFIG": "", **variables})


def close_the_bindings(settings: Settings) -> int:
    """Bind the endpoint that binds to a disabled Button, past the service; return the id of the resource."""
    execute(
        settings,
        "INSERT INTO sys.menu (title, menu_type, auth_mark, enabled)"
        " VALUES ('Off', 'Button', 'x:off', false)",
    )
    rows = execute(
        settings,
        "INSERT INTO sys.resource (resource_name, resource_code, method, path)"
        " VALUES ('Bind', 'bind', 'PUT', '/api/resource/{id}/buttons') RETURNING id",
    )
    execute(
        settings,
        "INSERT INTO sys.action_resource (resource_id, menu_id)"
        f" SELECT {rows[0][0]}, id FROM sys.menu WHERE auth_mark = 'x:off'",
    )
    assert isinstance(rows[0][0], int)
    return rows[0][0]


def unlock(folder: Path, variables: dict[str, str], *arguments: str) -> Ended:
    return portcullis(folder, "policy", "unlock", *arguments, **variables)


def test_unlock_opens_a_closed_resource_to_those_who_hold_everything_and_says_so(
    settings: Settings, variables: dict[str, str], tmp_path: Path
) -> None:
    resource_id = close_the_bindings(settings)
    shipped = configured(settings)
    assert locked_out(publish_policy(settings, shipped)) == [BINDINGS]

    ended = unlock(tmp_path, variables)
    done = unlock(tmp_path, variables, str(resource_id))

    assert (
        ended.output
        == f"{BINDINGS}: closed by resource {resource_id}: portcullis policy unlock {resource_id}\n"
    )
    assert done.status == 0, done.errors
    assert done.output == (
        f"Resource {resource_id}, {BINDINGS}: bound to the Button *. In force with revision 2.\n"
    )
    event = json.loads(done.errors)
    assert (event["event"], event["event_type"], event["resource_id"], event["revision"]) == (
        "a resource was unlocked by the operator",
        "security",
        resource_id,
        2,
    )
    entries = execute(settings, "SELECT module, action, url, status, policy_revision FROM sys.operation_log")
    assert entries == [("resource", "unlock", f"portcullis policy unlock {resource_id}", 200, 2)]
    policy = publish_policy(settings, shipped)
    assert (policy.revision, locked_out(policy)) == (2, [])
    assert policy.rules.codes("resource", BINDINGS) == ("*",)
    assert unlock(tmp_path, variables).output.startswith("Nobody is locked out")
    assert "nothing was changed" in unlock(tmp_path, variables, str(resource_id)).output


def test_unlocking_what_does_not_exist_is_refused_in_words(
    settings: Settings, variables: dict[str, str], tmp_path: Path
) -> None:
    publish_policy(settings, configured(settings))

    done = unlock(tmp_path, variables, "4711")

    assert (done.status, done.output, done.errors) == (1, "", "portcullis: There is no such resource\n")


async def test_a_new_installation_that_closes_unregistered_requests_can_be_administered(
    variables: dict[str, str],
) -> None:
    strict = {"PORTCULLIS_POLICY__UNREGISTERED": "deny"}
    settings = load({"PORTCULLIS_CONFIG": "", **variables, **strict})

    policy = await asyncio.to_thread(publish_policy, settings, configured(settings))

    assert (policy.revision, locked_out(policy)) == (1, [])
    database, redis = variables["DATABASE_URL"], variables["REDIS_URL"]
    async with inside(database, redis, **strict) as service:
        for path in ("/api/user/info", "/api/resource/list", "/api/policy", "/api/menu/mine"):
            assert (await service.ask("GET", path)).status == 200
        new = {"resourceName": "New", "resourceCode": "new", "method": "GET", "path": "/api/new"}
        assert (await service.ask("POST", "/api/resource", new)).status == 201


def test_an_installation_that_has_run_before_is_told_what_the_setting_closes(
    settings: Settings, variables: dict[str, str], tmp_path: Path
) -> None:
    publish_policy(settings, configured(settings))
    strict = load({"PORTCULLIS_CONFIG": "", **variables, "PORTCULLIS_POLICY__UNREGISTERED": "deny"})
    execute(settings, "UPDATE sys.resource SET enabled = false WHERE path = '/api/menu/list'")
    listing = execute(settings, "SELECT id FROM sys.resource WHERE path = '/api/menu/list'")[0][0]

    assert BINDINGS in locked_out(publish_policy(strict, configured(strict)))
    lines = unlock(tmp_path, {**variables, "PORTCULLIS_POLICY__UNREGISTERED": "deny"}).output.splitlines()

    assert lines[0] == f"GET /api/menu/list: closed by resource {listing}: portcullis policy unlock {listing}"
    assert lines[1].endswith(": not registered: portcullis policy sync")
    assert BINDINGS in lines[1]
