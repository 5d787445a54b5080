"""What callers may grant is decided by the enforcer, and told as its decision."""

import asyncio
from typing import Any

import pytest

from service.administration.delegation import Delegation
from service.audit.seals import RevisionSeals
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import read_shipped
from service.errors import PermissionDenied, Unavailable
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.records.published import policy_revisions
from tests.authn.conftest import Container
from tests.support.inside import Inside
from tests.users.people import HERON, caller, execute, new_role, role_id

ROOT = Caller(1, "1", "admin", "admin", "web", (), HeldCodes(["*"]), 0.0)
MENU = {"title": "New", "menuType": "Button", "parentId": None}


async def logged(house: Inside, request_id: str) -> Any:
    """Return the entry of a request in the operation log, which is written a moment later."""
    for _ in range(500):
        entries = await house.data("GET", "/api/operation-log/list?size=200")
        if matches := [entry for entry in entries["items"] if entry["requestId"] == request_id]:
            return matches[0]
        await asyncio.sleep(0.02)
    raise AssertionError(f"{request_id} is not in the operation log")


async def test_a_refused_grant_names_its_decision_and_all_codes_that_are_lacking(house: Inside) -> None:
    held = ["system:user:create", "system:role:list"]
    token = await caller(house, "stork", *held)
    role = new_role(house, "rich", "system:role:list", "system:user:delete", "system:online:ban")

    answer = await house.ask("POST", "/api/user", HERON | {"roleIds": [role]}, token=token)

    lacking = ["system:online:ban", "system:user:delete"]
    explained = await house.data(
        "POST", "/api/policy/explain", {"permissions": held, "grant": "system:online:ban"}
    )
    assert (answer.status, answer.code, answer.json["layer"]) == (403, "permission_denied", "grant")
    assert (answer.json["required"], answer.json["needed"]) == (lacking, "all")
    assert answer.json["decisionId"] == explained["grant"]["decisionId"]
    assert "all of the required permissions would be needed" in answer.json["detail"]


async def test_a_refused_grant_stands_in_the_operation_log_as_a_denial(house: Inside) -> None:
    token = await caller(house, "stork", "system:user:create")
    role = role_id(house, "super")

    refused = await house.ask("POST", "/api/user", HERON | {"roleIds": [role]}, token=token)
    made_by_root = await house.ask("POST", "/api/user", HERON | {"roleIds": [role]})

    entry = await logged(house, refused.json["requestId"])
    assert (entry["status"], entry["decision"]) == (403, "deny")
    detail = await house.data("GET", f"/api/operation-log/{entry['id']}")
    assert detail["decisionId"] == refused.json["decisionId"]
    allowed = await logged(house, str(made_by_root.header("x-request-id")))
    assert (allowed["status"], allowed["decision"]) == (201, "allow")


@pytest.mark.feature("tables")
async def test_a_row_of_a_table_that_is_refused_tells_the_decision_and_is_logged_as_a_denial(
    house: Inside,
) -> None:
    token = await caller(house, "stork", "system:user:import")
    table = b"userName,nickName,roles\nibis,Ibis,super\negret,Egret,\n"

    answer = await house.ask_raw("POST", "/api/user/import", table, ("Content-Type", "text/csv"), token=token)

    (fault,) = answer.json["errors"]
    assert (answer.status, fault["row"], fault["code"]) == (422, 1, "permission_denied")
    assert (fault["layer"], fault["required"], fault["needed"]) == ("grant", ["*"], "all")
    entry = await logged(house, answer.json["requestId"])
    detail = await house.data("GET", f"/api/operation-log/{entry['id']}")
    assert (entry["decision"], detail["decisionId"]) == ("deny", fault["decisionId"])


async def test_a_code_that_no_button_has_yet_is_asked_of_the_candidate(house: Inside) -> None:
    token = await caller(house, "stork", "system:menu:create", "system:menu:update")
    before = (await house.data("GET", "/api/policy"))["revision"]

    foreign = await house.ask("POST", "/api/menu", MENU | {"authMark": "finance:pay"}, token=token)
    unchanged = (await house.data("GET", "/api/policy"))["revision"]
    mine = await house.data("POST", "/api/menu", MENU | {"authMark": "finance:pay"})

    assert (foreign.status, foreign.json["layer"]) == (403, "grant")
    assert (foreign.json["required"], foreign.json["needed"]) == (["finance:pay"], "all")
    assert foreign.json["decisionId"].startswith(f"r{before + 1}-")
    assert (unchanged, mine["policyRevision"]) == (before, before + 1)


async def test_callers_who_may_grant_all_below_a_code_make_new_ones_there(house: Inside) -> None:
    await house.data("POST", "/api/menu", MENU | {"authMark": "finance:*"})
    token = await caller(house, "stork", "system:menu:create", "system:menu:update", "finance:*")

    pay = await house.ask("POST", "/api/menu", MENU | {"authMark": "finance:pay"}, token=token)
    path = f"/api/menu/{pay.json['data']['id']}"
    renamed = await house.ask("PATCH", path, MENU | {"authMark": "finance:audit"}, token=token)
    outside = await house.ask("PATCH", path, MENU | {"authMark": "sales:audit"}, token=token)

    assert (pay.status, renamed.status) == (201, 200)
    assert (outside.status, outside.json["required"]) == (403, ["sales:audit"])


async def test_a_refused_new_code_makes_nobody_refresh(house: Inside) -> None:
    token = await caller(house, "stork", "system:menu:update", "system:user:list")
    ((button, parent),) = execute(
        house, "SELECT id, parent_id FROM sys.menu WHERE auth_mark = 'system:user:list'"
    )
    renamed = {"title": "List", "menuType": "Button", "parentId": parent, "authMark": "sales:list"}

    refused = await house.ask("PATCH", f"/api/menu/{button}", renamed, token=token)

    assert (refused.status, refused.json["required"]) == (403, ["sales:list"])
    assert (await house.ask("GET", "/api/user/info", token=token)).status == 200


@pytest.mark.parametrize(
    ("method", "path", "act", "body"),
    [
        ("PATCH", "/api/user/1", "set-roles self", {"roleIds": []}),
        ("PUT", "/api/user/1/password", "set-password self", {"newPassword": "five wary herons"}),
        ("PUT", "/api/user/1/status", "disable self", {"status": "disabled"}),
        ("POST", "/api/online/1/ban", "ban self", {}),
        ("DELETE", "/api/user/1", "delete self", None),
    ],
)
async def test_what_nobody_does_to_themselves_is_a_denial_that_the_policy_explains(
    house: Inside, method: str, path: str, act: str, body: Any
) -> None:
    answer = await house.ask(method, path, body)

    assert (answer.status, answer.code) == (409, "conflict")
    assert (answer.json["layer"], answer.json["required"]) == ("account", [])
    entry = await logged(house, answer.json["requestId"])
    detail = await house.data("GET", f"/api/operation-log/{entry['id']}")
    assert (entry["decision"], detail["decisionId"]) == ("deny", answer.json["decisionId"])
    question = {"permissions": ["*"], "layer": "account", "object": act}
    explanation = await house.data("POST", "/api/policy/explain", question)
    assert explanation["asked"]["decisionId"] == answer.json["decisionId"]
    assert (explanation["allowed"], explanation["asked"]["reason"], explanation["asked"]["lines"]) == (
        False,
        "no_line",
        [],
    )


@pytest.fixture
def own_database(seeded_database_url: str) -> str:
    """Give ``parts`` a database without any policy."""
    return seeded_database_url


@pytest.mark.usefixtures("own_database")
async def test_a_worker_behind_the_newest_revision_waits_for_it_before_it_decides_grants(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.administration.delegation.PATIENCE", 60.0)
    shipped = read_shipped()
    live = LivePolicy(shipped, RevisionSeals())
    async with parts.database.transaction() as connection:
        policy = await publish_if_changed(connection, shipped, RevisionSeals(), "by another worker")

    async def check() -> None:
        async with parts.database.transaction() as connection:
            delegation = await Delegation(live).check(connection, ROOT)
            await delegation.require(["system:user:list"], Sentence("never"))

    waiting = asyncio.create_task(check())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    live.offer(policy)
    await waiting


@pytest.mark.usefixtures("own_database")
async def test_a_worker_that_can_not_follow_decides_no_grant(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = read_shipped()
    async with parts.database.transaction() as connection:
        await publish_if_changed(connection, shipped, RevisionSeals(), "by another worker")
    monkeypatch.setattr("service.administration.delegation.PATIENCE", 0.05)

    with pytest.raises(Unavailable):
        async with parts.database.transaction() as connection:
            await Delegation(LivePolicy(shipped, RevisionSeals())).check(connection, ROOT)


@pytest.mark.usefixtures("own_database")
async def test_before_the_first_revision_nothing_is_granted(parts: Container) -> None:
    async with parts.database.transaction() as connection:
        assert await policy_revisions.latest(connection) is None
        check = await Delegation(LivePolicy(read_shipped(), RevisionSeals())).check(connection, ROOT)
        with pytest.raises(PermissionDenied):
            await check.require(["system:user:list"], Sentence("Nothing is published"))
