"""One role change decides in every way in which a service is guarded, from the next request on."""

from pathlib import Path

import pytest

from service.features.service_accounts.form import ApiKey, new_secret
from tests.authn.keys import settings_for
from tests.client.demonstration import Way, guarded_orders
from tests.features.decisions.test_whole_service import key_of, set_up
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import Member, ids_of, member
from tests.web.served import strictly_served

CODE = "orders:order:read"
OBJECT = "orders GET /orders/{id}"


async def statuses(ways: dict[str, Way], user: Member) -> dict[str, int]:
    return {name: await ask(user) for name, ask in ways.items()}


async def reviewed(service: Inside, user: Member) -> tuple[bool, bool, bool]:
    """Return whether explain, who and matrix say that the user may read orders."""
    asked = {"userName": user.name, "method": "GET", "path": "/orders/7", "service": "orders"}
    explained = await service.data("POST", "/api/policy/explain", asked)
    assert explained["resource"]["object"] == OBJECT
    who = await service.data("GET", "/api/policy/who?method=GET&path=/orders/7&service=orders&size=200")
    matrix = await service.data("GET", "/api/policy/matrix?size=200&page=2")
    (row,) = [row for row in matrix["items"] if row["object"] == OBJECT]
    roles = [[role["roleCode"] for role in listed] for listed in (who["items"], row["roles"])]
    return explained["allowed"], user.name in roles[0], user.name in roles[1]


def closed_by(answers: dict[str, int]) -> set[int]:
    """Return the statuses of the ways that send the user's token."""
    return {status for name, status in answers.items() if "AuthZEN" not in name}


PROXIES = [("nginx", "caddy"), pytest.param(("traefik", "envoy"), marks=pytest.mark.extended)]


@pytest.mark.feature("decisions")
@pytest.mark.parametrize("proxies", PROXIES)
async def test_a_role_change_decides_the_next_request_in_every_way(
    service_with: ServiceWith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxies: tuple[str, ...]
) -> None:
    keys = settings_for(tmp_path, "ES256", "")
    variables = {
        "PORTCULLIS_AUTH__JWT_ALGORITHM": "ES256",
        "PORTCULLIS_AUTH__JWT_PRIVATE_KEY": str(keys.jwt_private_key),
        "PORTCULLIS_AUTH__JWT_PUBLIC_KEY": str(keys.jwt_public_key),
        "PORTCULLIS_AUTH__FORWARD_ASSERTION": "true",
    }
    async with service_with(**variables) as service:
        key, key_path = await set_up(service)
        alice = await member(service, "alice")
        role = f"/api/role/{alice.role_id}/permissions"
        ids = await ids_of(service, CODE)
        async with (
            strictly_served(service._app) as port,
            guarded_orders(port, key, tmp_path, monkeypatch, proxies) as ways,
        ):
            assert len(ways) == 9
            assert set((await statuses(ways, alice)).values()) == {403}
            assert await reviewed(service, alice) == (False, False, False)

            impact = await service.preview("PUT", role, {"menuIds": ids})
            assert impact["gains"] == [{"roleCode": "alice", "users": 1, "access": [OBJECT]}]
            await service.data("PUT", role, {"menuIds": ids})
            await alice.log_in()
            assert set((await statuses(ways, alice)).values()) == {200}
            assert await reviewed(service, alice) == (True, True, True)
            robot = Member(service, 0, 0, "robot", await key_of(service, "robot", CODE))
            assert set((await statuses(ways, robot)).values()) == {200}
            other = Member(service, 0, 0, "other", await key_of(service, "other"))
            assert set((await statuses(ways, other)).values()) == {403}
            gone = Member(service, 0, 0, "other", str(ApiKey(10**6, new_secret())))
            assert closed_by(await statuses(ways, gone)) == {401}

            impact = await service.preview("PUT", role, {"menuIds": []})
            assert impact["loses"] == [{"roleCode": "alice", "users": 1, "access": [OBJECT]}]
            assert set((await statuses(ways, alice)).values()) == {200}
            await service.data("PUT", role, {"menuIds": []})
            assert closed_by(await statuses(ways, alice)) == {401}  # the token has to be refreshed
            await alice.log_in()
            assert set((await statuses(ways, alice)).values()) == {403}
            assert await reviewed(service, alice) == (False, False, False)

            await service.data("PUT", role, {"menuIds": ids})
            await alice.log_in()
            await service.data("DELETE", key_path)
            asking = {name: ways[name] for name in ways if "AuthZEN" not in name}
            assert set((await statuses(asking, alice)).values()) == {403, 503}
