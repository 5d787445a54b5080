"""Administrators see and reset the factors of others, and nobody their own in this way."""

from unittest.mock import AsyncMock

import pytest

from service.authn.revocations import Revocations
from tests.features.second_factors.conftest import Person, public
from tests.support.inside import Inside
from tests.support.waiting import eventually_here


async def test_a_reset_removes_all_factors_ends_the_sessions_and_tells_the_owner(
    site: Inside, person: Person
) -> None:
    await person.enrol_app()
    target = f"/api/user/{person.id}/factors"
    listed = (await site.data("GET", target))["items"]
    assert [factor["kind"] for factor in listed] == ["totp", "recovery_codes"]
    challenge = (await person.challenged())["challenge"]
    assert (await site.ask("DELETE", target)).status == 200
    assert (await person.ask("GET", "/api/user/info")).status == 401
    assert (await site.data("GET", target))["items"] == []
    assert (await person.second_step(challenge, "recovery_code", code=person.codes[0])).status == 401
    await person.log_in()

    def events() -> list[str]:
        rows = site.beside().execute("SELECT event FROM sys.login_log WHERE user_id = %s", [person.id])
        return [event for (event,) in rows]

    assert await eventually_here(lambda: "factor_reset" in events())
    own = await person.data("GET", "/api/user/profile/login-logs")
    assert "factor_reset" in [entry["event"] for entry in own["items"]]


async def test_sessions_have_ended_when_a_reset_is_committed(
    site: Inside, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a process that is killed right after the commit leaves none that could refresh."""
    await person.enrol_app()
    monkeypatch.setattr(Revocations, "end_sessions", AsyncMock())
    assert (await site.ask("DELETE", f"/api/user/{person.id}/factors")).status == 200
    refused = await public(site, "/api/auth/refresh", {"refreshToken": person.refresh_token})
    assert refused.json["code"] == "refresh_rejected"


async def test_nobody_resets_their_own_factors_as_an_administrator(site: Inside) -> None:
    answer = await site.ask("DELETE", "/api/user/1/factors")
    assert (answer.status, answer.json["code"]) == (409, "conflict")


async def test_nobody_resets_the_factors_of_a_user_who_holds_more(site: Inside, person: Person) -> None:
    role = await site.data("POST", "/api/role", {"roleCode": "resetters", "roleName": "Resetters"})
    menus = (await site.data("GET", "/api/menu/list?size=200"))["items"]
    [button] = [menu["id"] for menu in menus if menu.get("authMark") == "system:user:factor"]
    await site.data("PUT", f"/api/role/{role['id']}/permissions", {"menuIds": [button]})
    await site.data("PATCH", f"/api/user/{person.id}", {"roleIds": [role["id"]]})
    await person.log_in()
    for method in ("GET", "DELETE"):
        answer = await person.ask(method, "/api/user/1/factors")
        assert (answer.status, answer.json["code"]) == (403, "permission_denied"), answer.body
    assert (await person.ask("GET", "/api/user/999999/factors")).status == 404


async def test_users_are_listed_by_whether_they_have_a_factor(site: Inside, person: Person) -> None:
    with_one = f"/api/user/list?userName={person.name}&secondFactor="
    assert (await site.data("GET", f"{with_one}true"))["total"] == 0
    assert (await site.data("GET", f"{with_one}false"))["total"] == 1
    await person.enrol_app()
    assert (await site.data("GET", f"{with_one}true"))["total"] == 1
    assert (await site.data("GET", f"{with_one}false"))["total"] == 0
