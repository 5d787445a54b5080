"""Without requests for roles nobody asks, their rules stay as they are, and what is stored stays true."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from service.operator.errors import UnpreparedError
from service.server.prepare import check, publish_policy
from tests.features.access_requests.test_appointing import PENDING, STAGE, appointed, asked, role_with, send
from tests.features.access_requests.test_requests import ASKED, ruled
from tests.roles.test_request_rules import lines, path
from tests.support.cases import with_each
from tests.support.databases import NewDatabase
from tests.support.inside import Inside, inside_published, settings_of
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import member, query

OFF = {"PORTCULLIS_FEATURES__OFF": "access_requests"}
STATES = "SELECT state, end_reason FROM sys.access_request ORDER BY id"


@pytest.fixture
async def without(service_with: ServiceWith) -> AsyncIterator[Inside]:
    async with service_with(**OFF) as service:
        yield service


@with_each(
    ("method", "target"),
    [
        ("POST", ASKED),
        ("GET", f"{ASKED}/list"),
        ("GET", f"{ASKED}/1"),
        ("DELETE", f"{ASKED}/1"),
        ("POST", f"{ASKED}/1/decision"),
        ("POST", f"{ASKED}/1/closing"),
    ],
)
async def test_nobody_asks_or_decides(without: Inside, method: str, target: str) -> None:
    body = None if method in ("GET", "DELETE") else {"roleCode": "heron", "duration": 60}
    answer = await without.ask(method, target, body)
    assert (answer.status, answer.json["code"]) == (404, "not_found")
    paths = (await without.as_anonymous("GET", "/docs/openapi.json")).json["paths"]
    assert [name for name in paths if name.startswith(ASKED)] == []


async def test_a_role_is_ruled_and_its_lines_are_published_all_the_same(without: Inside) -> None:
    number = await ruled(without, "system:file:list")

    assert await lines(without)
    assert (await without.data("GET", path(number)))["suspended"] is False
    assert (await without.ask("DELETE", path(number))).status == 200
    assert await lines(without) == []


async def test_a_refusal_names_no_role_to_ask_for(without: Inside, redis_url: str) -> None:
    await ruled(without, "system:file:list")
    heron = await member(without, "heron-1")
    refused = await heron.ask("GET", "/api/file/list")
    assert refused.status == 403
    assert "requestable" not in refused.json

    async with inside_published(without.database_url, redis_url, PORTCULLIS_FEATURES__OFF="") as other:
        other.token = await other.log_in("heron-1")
        assert (await other.ask("GET", "/api/file/list")).json["requestable"] == ["heron"]


async def test_a_request_of_another_node_ends_with_its_role(without: Inside) -> None:
    number = await ruled(without, "system:file:list")
    heron = await member(without, "heron-1")
    await query(without, PENDING, heron.user_id, heron.name, number, [STAGE], False)

    await without.data("DELETE", f"/api/role/{number}")

    why = "The role was disabled, enabled or deleted"
    assert await query(without, STATES) == [("failed", why)]


async def test_whom_the_author_of_a_request_of_another_node_appoints_is_noted(without: Inside) -> None:
    author, _ = await asked(without)
    friend = await member(without, "friend")

    approving = await role_with(without, "approvers", STAGE)
    await send(author, "POST", f"/api/user/{friend.user_id}/roles", {"roleId": approving})

    assert await appointed(without) == {"friend"}


def test_a_start_refuses_while_a_request_is_pending_or_an_emergency_open(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url = new_database(published_template)
    chosen = settings_of(url, redis_url, OFF)
    values = 1, "admin", 7, [STAGE], False
    why = r"features\.off names access_requests, but requests for roles are pending, .* \(1 in the database\)"
    with psycopg.connect(url, autocommit=True) as connection:
        pending = connection.execute(PENDING.encode(), values).fetchone()
        with pytest.raises(UnpreparedError, match=why):
            publish_policy(chosen, check(chosen))

        connection.execute("UPDATE sys.access_request SET deadline = now() WHERE id = %s", pending)
        publish_policy(chosen, check(chosen))

        given = connection.execute(
            "INSERT INTO sys.access_request (user_id, user_name, role_id, role_code, duration,"
            " asked_decision_id, stage_codes, stage_approvals, grant_needed, create_time, deadline, state,"
            " emergency, end_time, assignment_id, granted_from, granted_until)"
            " VALUES (1, 'admin', 7, 'heron', 60, 'decision', '{a:b:c}', '{1}', false, now(), now(),"
            " 'approved', true, now(), 4711, now(), now()) RETURNING id"
        ).fetchone()
        assert given is not None
        with pytest.raises(UnpreparedError, match=why):
            publish_policy(chosen, check(chosen))

        connection.execute(
            "INSERT INTO sys.access_decision (request_id, user_id, user_name, decision, reason, stages,"
            " decision_ids) VALUES (%s, 2, 'kestrel', 'close', 'Seen', '{1}', '{decision}')",
            given,
        )
        publish_policy(chosen, check(chosen))
