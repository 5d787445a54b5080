"""A change that breaks a statement is refused with its name, and nothing of it is saved."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside
from tests.web.driver import Answer

STATEMENTS = """\
statements:
  - name: only-the-top-deletes
    reason: what is deleted is lost
    only_roles: [super, admin]
    reach: ["DELETE /api/user/{id}"]
  - name: apart-in-roles
    reason: two pairs of eyes
    no_role_holds: ["system:user:create", "system:role:permission"]
    except_roles: [super, admin]
  - name: apart-in-users
    reason: two pairs of eyes, by several roles too
    no_user_holds: ["system:menu:create", "system:menu:delete"]
    except_roles: [super, admin]
  - name: importers-for-a-month
    reason: nobody imports users every day
    grants_end_within: {days: 30, codes: ["system:user:import"]}
    except_roles: [super, admin]
  - name: auditors-list-menus
    reason: broken at first, until a resource is bound
    only_holders_of: ["system:policy:read"]
    reach: [GET /api/menu/list]
"""
PASSWORD = "six stubborn otters"


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the administrators' own statements."""
    path = tmp_path_factory.mktemp("stated") / "stated.yaml"
    path.write_text(STATEMENTS, "utf-8")
    return path


@pytest.fixture(scope="module")
async def _service(stores: EmbeddedStores, seeded_template: str, stated: Path) -> AsyncIterator[Inside]:
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        async with inside(url, redis_url, PORTCULLIS_POLICY__INVARIANTS=str(stated)) as running:
            yield running


@pytest.fixture
async def service(_service: Inside) -> Inside:
    """One service for all tests of the file; each makes roles and users of its own."""
    return _service


def broken(answer: Answer) -> list[tuple[str, str]]:
    """Return the names and findings with which a change was refused; none if it was made."""
    if answer.status in (200, 201, 204):
        return []
    assert (answer.status, answer.json["code"]) == (409, "conflict"), answer.body
    return [(invariant["name"], invariant["finding"]) for invariant in answer.json["brokenInvariants"]]


async def buttons(service: Inside, *codes: str) -> list[int]:
    menus = (await service.data("GET", "/api/menu/list?menuType=Button&size=200"))["items"]
    return [menu["id"] for code in codes for menu in menus if menu["authMark"] == code]


async def role(service: Inside, code: str, *codes: str) -> int:
    made = await service.data("POST", "/api/role", {"roleName": code, "roleCode": code})
    answer = await give(service, made["id"], *codes)
    assert broken(answer) == []
    number: int = made["id"]
    return number


async def give(service: Inside, role_id: int, *codes: str, query: str = "") -> Answer:
    menu_ids = await buttons(service, *codes)
    return await service.ask("PUT", f"/api/role/{role_id}/permissions{query}", {"menuIds": menu_ids})


async def user(service: Inside, name: str, *role_ids: int) -> Answer:
    body = {"userName": name, "nickName": name, "password": PASSWORD, "roleIds": list(role_ids)}
    return await service.ask("POST", "/api/user", body)


async def test_a_role_is_not_given_what_only_others_may(service: Inside) -> None:
    clerk = await role(service, "clerk", "system:user:list")

    answer = await give(service, clerk, "system:user:list", "system:user:delete")

    assert broken(answer) == [
        ("only-the-top-deletes", "the role clerk can send DELETE /api/user/{id}"),
    ]
    (member,) = answer.json["brokenInvariants"]
    assert (member["reason"], member["reasonCode"]) == ("what is deleted is lost", "other")
    assert answer.json["detail"] == "This would violate an invariant of the policy: only-the-top-deletes"
    kept = await service.data("GET", f"/api/role/{clerk}/permissions")
    assert kept["menuIds"] == await buttons(service, "system:user:list")


async def test_a_role_that_would_violate_the_separation_of_duties_is_refused(service: Inside) -> None:
    chief = await role(service, "chief", "system:user:create")

    answer = await give(service, chief, "system:user:create", "system:role:permission")

    assert broken(answer) == [
        ("apart-in-roles", "the role chief holds system:user:create and system:role:permission"),
    ]


async def test_a_disabled_role_that_would_violate_it_is_not_enabled(service: Inside) -> None:
    both = await role(service, "both", "system:user:create")
    await service.data("PATCH", f"/api/role/{both}", {"roleName": "both", "enabled": False})
    assert broken(await give(service, both, "system:user:create", "system:role:permission")) == []

    answer = await service.ask("PATCH", f"/api/role/{both}", {"roleName": "both", "enabled": True})

    assert [name for name, _ in broken(answer)] == ["apart-in-roles"]


async def test_a_user_who_would_violate_it_by_two_roles_is_not_created_edited_or_enabled(
    service: Inside,
) -> None:
    first = await role(service, "creates", "system:menu:create")
    two = await role(service, "deletes", "system:menu:delete")
    finding = "holds system:menu:create and system:menu:delete, by creates, deletes"

    assert broken(await user(service, "ann", first, two)) == [("apart-in-users", f"the user ann {finding}")]
    ann = (await user(service, "ann", first)).json["data"]["id"]
    edit = {"nickName": "ann", "roleIds": [first, two]}
    assert broken(await service.ask("PATCH", f"/api/user/{ann}", edit)) == [
        ("apart-in-users", f"the user ann {finding}")
    ]
    await service.data("PUT", f"/api/user/{ann}/status", {"status": "disabled"})
    assert broken(await service.ask("PATCH", f"/api/user/{ann}", edit)) == []
    enabled = await service.ask("PUT", f"/api/user/{ann}/status", {"status": "enabled"})
    assert [name for name, _ in broken(enabled)] == ["apart-in-users"]


async def test_of_two_changes_at_once_that_break_a_statement_together_one_is_refused(
    service: Inside,
) -> None:
    left, right = await role(service, "left"), await role(service, "right")
    assert broken(await user(service, "bea", left, right)) == []

    answers = await asyncio.gather(
        give(service, left, "system:menu:create"), give(service, right, "system:menu:delete")
    )

    assert sorted(len(broken(answer)) for answer in answers) == [0, 1]


async def test_a_dry_run_warns_and_tells_what_would_change(service: Inside) -> None:
    guard = await role(service, "guard", "system:user:list")

    answer = await give(service, guard, "system:user:delete", query="?dryRun=true")

    assert answer.status == 200
    impact: Any = answer.json["preview"]
    assert [(gain["roleCode"], gain["access"]) for gain in impact["gains"]] == [
        ("guard", ["DELETE /api/user/{id}"])
    ]
    (warning,) = impact["warnings"]
    assert warning == (
        "It would be refused because it violates the invariant only-the-top-deletes: "
        "the role guard can send DELETE /api/user/{id} (what is deleted is lost)"
    )


@pytest.mark.feature("tables")
async def test_an_import_that_breaks_a_statement_is_refused_whole(service: Inside) -> None:
    table = b"roleCode,roleName,permissions\nnewer,Newer,system:user:list\nworse,Worse,system:user:delete\n"

    answer = await service.ask_raw("POST", "/api/role/import", table, ("Content-Type", "text/csv"))

    assert broken(answer) == [("only-the-top-deletes", "the role worse can send DELETE /api/user/{id}")]
    assert (await service.data("GET", "/api/role/list?roleCode=newer"))["items"] == []


async def test_a_binding_is_refused_that_breaks_anew_what_another_had_mended(service: Inside) -> None:
    (resource,) = (
        entry
        for entry in (await service.data("GET", "/api/resource/list?size=200"))["items"]
        if (entry["method"], entry["path"]) == ("GET", "/api/menu/list")
    )
    target = f"/api/resource/{resource['id']}/buttons"
    reading, listing = await buttons(service, "system:policy:read", "system:menu:list")

    mended = await service.ask("PUT", target, {"menuIds": [reading]})
    dry = await service.preview("PUT", f"{target}", {"menuIds": [listing]})
    answer = await service.ask("PUT", target, {"menuIds": [reading, listing]})

    assert broken(mended) == []
    assert broken(answer) == [
        ("auditors-list-menus", "a holder of system:menu:list can send GET /api/menu/list"),
    ]
    assert [warning.split(":")[0] for warning in dry["warnings"]] == [
        "It would be refused because it violates the invariant auditors-list-menus"
    ]
    disabled = await service.ask("PUT", f"/api/resource/{resource['id']}/enabled", {"enabled": False})
    assert [name for name, _ in broken(disabled)] == ["auditors-list-menus"]


async def test_a_button_is_not_enabled_by_which_a_role_would_break_a_statement(service: Inside) -> None:
    (deleting,) = await buttons(service, "system:user:delete")
    stored = await service.data("GET", f"/api/menu/{deleting}")
    edit = {key: stored[key] for key in ("parentId", "title", "authMark")}
    await service.data("PATCH", f"/api/menu/{deleting}", {**edit, "enabled": False})
    await role(service, "sleeper", "system:user:delete")

    answer = await service.ask("PATCH", f"/api/menu/{deleting}", {**edit, "enabled": True})

    assert broken(answer) == [("only-the-top-deletes", "the role sleeper can send DELETE /api/user/{id}")]


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


async def test_roles_that_are_held_one_after_the_other_are_assigned_and_a_future_overlap_is_refused(
    service: Inside,
) -> None:
    first = await role(service, "creates-first", "system:menu:create")
    two = await role(service, "deletes-then", "system:menu:delete")
    owl = (await user(service, "owl")).json["data"]["id"]
    end = in_days(5)
    path = f"/api/user/{owl}/roles"
    assert broken(await service.ask("POST", path, {"roleId": first, "until": end})) == []

    answer = await service.ask("POST", path, {"roleId": two, "from": in_days(4), "until": in_days(9)})

    ((name, finding),) = broken(answer)
    assert name == "apart-in-users"
    assert finding.startswith(
        "the user owl holds system:menu:create and system:menu:delete, by creates-first, deletes-then from 20"
    )
    assert " until 20" in finding
    assert broken(await service.ask("POST", path, {"roleId": two, "from": end, "until": in_days(9)})) == []
    listed = (await service.data("GET", path))["items"]
    assert [item["roleCode"] for item in listed] == ["creates-first", "deletes-then"]


async def test_what_must_end_is_not_assigned_without_an_end_nor_for_longer(service: Inside) -> None:
    importer = await role(service, "importer", "system:user:import")
    tit = (await user(service, "tit")).json["data"]["id"]
    path = f"/api/user/{tit}/roles"

    without = await service.ask("POST", path, {"roleId": importer})
    longer = await service.ask("POST", path, {"roleId": importer, "until": in_days(31)})
    made = await service.ask("POST", path, {"roleId": importer, "until": in_days(29)})

    assert broken(without) == [
        ("importers-for-a-month", "the user tit has the code system:user:import, without an end")
    ]
    assert [name for name, _ in broken(longer)] == ["importers-for-a-month"]
    assert broken(made) == []
    assert [name for name, _ in broken(await user(service, "gull", importer))] == ["importers-for-a-month"]
