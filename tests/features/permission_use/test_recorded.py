"""Whatever way a request takes, its use is recorded for whom it is about: as the decision log tells it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from service.web.messages.original import PROXY_KEY
from tests.features.permission_use.conftest import days_ago, logged_uses, stored_uses
from tests.support.inside import Inside, all_decisions
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import member

Asks = Callable[[Inside], Awaitable[Any]]


@pytest.fixture
def recorded(service_with: ServiceWith, tmp_path: Path) -> Callable[[], Any]:
    """Begin a service; at its end the use of each user is what its log says, and is returned in a dict."""
    log = tmp_path / "decisions.jsonl"
    variables = all_decisions(log)

    @asynccontextmanager
    async def run() -> AsyncIterator[tuple[Inside, dict[int, set[str]]]]:
        uses: dict[int, set[str]] = {}
        async with service_with(**variables) as service:
            yield service, uses
        stored = stored_uses(service.database_url)
        assert {day for days in stored.values() for day in days.values()} <= {days_ago(0), days_ago(1)}
        uses |= {user_id: set(days) for user_id, days in stored.items()}
        for user_id, codes in logged_uses(log).items():
            assert codes <= uses[user_id], user_id
        assert uses.keys() == logged_uses(log).keys()

    return run


async def test_a_request_uses_the_codes_of_both_layers(recorded: Callable[[], Any]) -> None:
    async with recorded() as (service, uses):
        reader = await member(service, "reader", "system:role:list", "system:menu:list")
        assert (await service.ask("GET", "/api/role/list", token=reader.token)).status == 200
        assert (await service.ask("GET", "/api/user/info", token=reader.token)).status == 200

    assert uses[reader.user_id] == {"@login", "system:role:list"}


async def test_a_wildcard_uses_the_code_of_the_line(recorded: Callable[[], Any]) -> None:
    async with recorded() as (service, uses):
        reader = await member(service, "reader", "system:*")
        assert (await service.ask("GET", "/api/role/list", token=reader.token)).status == 200

    assert uses[reader.user_id] == {"system:role:list", "system:user:list"}


async def test_what_was_refused_has_used_nothing(recorded: Callable[[], Any]) -> None:
    async with recorded() as (service, uses):
        maker = await member(service, "maker", "system:role:create", "system:role:list")
        assert (await service.ask("GET", "/api/user/list", token=maker.token)).status == 403
        given = {"roleCode": "more", "roleName": "More", "permissions": ["system:user:list"]}
        assert (await service.ask("POST", "/api/role", given, token=maker.token)).status == 403
        assert (await service.ask("GET", "/api/role/list", token=maker.token)).status == 200

    assert uses[maker.user_id] == {"system:role:list"}


async def test_what_is_granted_is_used(recorded: Callable[[], Any]) -> None:
    async with recorded() as (service, uses):
        codes = ("system:role:create", "system:role:permission", "system:role:list", "system:user:list")
        maker = await member(service, "maker", *codes)
        given = {"roleCode": "more", "roleName": "More", "permissions": ["system:user:list"]}
        assert (await service.ask("POST", "/api/role", given, token=maker.token)).status == 201

    assert uses[maker.user_id] == {"@login", *codes} - {"system:role:list"}


async def test_an_api_key_uses_for_its_account(recorded: Callable[[], Any]) -> None:
    async with recorded() as (service, uses):
        holder = await member(service, "holder", "system:role:list")
        account = {"userName": "job", "nickName": "job", "kind": "service", "roleIds": [holder.role_id]}
        user_id = (await service.data("POST", "/api/user", account))["id"]
        key = (await service.data("POST", f"/api/user/{user_id}/keys", {"name": "job"}))["key"]
        assert (await service.ask("GET", "/api/role/list", token=key)).status == 200

    assert uses[user_id] == {"system:role:list"}


@pytest.mark.feature("decisions")
@pytest.mark.parametrize(
    ("action", "resource", "expected"),
    [
        ("use", {"type": "permission", "id": "system:user:list"}, {"system:user:list"}),
        ("GET", {"type": "route", "id": "/api/user/list"}, {"system:user:list"}),
        ("DELETE", {"type": "route", "id": "/api/role/{id}"}, {"system:role:delete"}),
        ("DELETE", {"type": "route", "id": "/api/user/{id}"}, None),
    ],
)
async def test_an_evaluation_uses_for_its_subject_alone(
    recorded: Callable[[], Any], action: str, resource: dict[str, str], expected: set[str] | None
) -> None:
    asked = {"subject": {"type": "user", "id": "subject"}, "action": {"name": action}, "resource": resource}
    async with recorded() as (service, uses):
        subject = await member(service, "subject", "system:user:list", "system:role:delete")
        service_user = await member(service, "asker", "system:policy:evaluate")
        token = service_user.token
        answer = await service.ask("POST", "/access/v1/evaluation", asked, token=token)
        assert answer.json["decision"] is (expected is not None), answer.body
        uses_before = dict(uses)

    assert uses_before == {}
    assert uses.get(subject.user_id) == expected
    assert uses[service_user.user_id] == {"@login", "system:policy:evaluate"}


@pytest.mark.feature("decisions")
async def test_a_forwarded_request_uses_for_its_sender_alone(recorded: Callable[[], Any]) -> None:
    async with recorded() as (service, uses):
        sender = await member(service, "sender", "system:user:detail", "system:user:list")
        proxy = await member(service, "proxy", "system:policy:evaluate")
        account = {"userName": "front", "nickName": "front", "kind": "service", "roleIds": [proxy.role_id]}
        user_id = (await service.data("POST", "/api/user", account))["id"]
        key = (await service.data("POST", f"/api/user/{user_id}/keys", {"name": "front"}))["key"]
        answer = await service.as_anonymous(
            "GET",
            "/access/v1/forward/traefik/portcullis",
            (PROXY_KEY, key),
            ("X-Forwarded-Method", "GET"),
            ("X-Forwarded-Uri", "/api/user/list"),
            ("X-Forwarded-Host", "service.test"),
            ("Authorization", f"Bearer {sender.token}"),
        )
        assert answer.status == 200, answer.body

    assert uses[sender.user_id] == {"system:user:list"}
    assert uses[user_id] == {"@login", "system:policy:evaluate"}


async def test_the_codes_by_which_a_list_shows_services_are_used(recorded: Callable[[], Any]) -> None:
    async with recorded() as (service, uses):
        reader = await member(service, "reader", "system:service:resources", "system:resource:list")
        assert (await service.ask("GET", "/api/resource/list", token=reader.token)).status == 200

    assert "system:resource:list" in uses[reader.user_id]
