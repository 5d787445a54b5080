"""The codes that the scopes of a person's key have needed, whatever way a request takes; unused scopes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from service.features.service_accounts.scopes import MOST_SCOPES, sufficient_scopes, unused_scopes
from service.web.messages.original import PROXY_KEY
from tests.features.permission_use.conftest import days_ago, store_uses, stored_uses
from tests.features.personal_keys.conftest import KEYS, LIST, key_of
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import Member, member, query

USERS = "system:user:list"
Needed = dict[str, list[str] | None]


@pytest.fixture
def recorded(service_with: ServiceWith) -> Callable[[], Any]:
    """Begin a service; at its end the needed codes of each key, by its name, are in the dict."""

    @asynccontextmanager
    async def run() -> AsyncIterator[tuple[Inside, Needed]]:
        needed: Needed = {}
        async with service_with() as service:
            yield service, needed
        with psycopg.connect(service.database_url) as connection:
            needed |= dict(connection.execute("SELECT key_name, needed_codes FROM sys.api_key").fetchall())

    return run


async def test_the_scopes_need_the_codes_of_the_lines_that_let_them_pass(recorded: Callable[[], Any]) -> None:
    async with recorded() as (service, needed):
        owner = await member(service, "ann", "system:*")
        narrow = await key_of(owner, LIST, "system:menu:*", name="narrow")
        wide = await key_of(owner, "system:role:*", "system:user:*", name="wide")
        await key_of(owner, LIST, name="unsent")
        for key in (narrow, wide):
            assert (await service.ask("GET", "/api/role/list", token=key["key"])).status == 200
        assert (await service.ask("GET", "/api/user/list", token=narrow["key"])).status == 403
        assert (await service.ask("GET", "/api/user/info", token=wide["key"])).status == 200

    assert needed == {"narrow": [LIST], "wide": [LIST, USERS], "unsent": []}
    assert {LIST, USERS} <= stored_uses(service.database_url)[owner.user_id].keys(), "by the account"


async def test_further_questions_of_a_request_need_codes_too(recorded: Callable[[], Any]) -> None:
    codes = ("system:service:resources", "system:resource:list")
    async with recorded() as (service, needed):
        owner = await member(service, "ann", *codes)
        made = await key_of(owner, *codes)
        assert (await service.ask("GET", "/api/resource/list", token=made["key"])).status == 200

    assert "system:resource:list" in (needed["script"] or [])


@pytest.mark.feature("decisions")
@with_each(
    "asks",
    [
        lambda service, key, asker: service.ask(
            "POST",
            "/access/v1/evaluation",
            {
                "subject": {"type": "token", "id": key},
                "action": {"name": "use"},
                "resource": {"type": "permission", "id": USERS},
            },
            token=asker,
        ),
        lambda service, key, asker: service.as_anonymous(
            "GET",
            "/access/v1/forward/traefik/portcullis",
            (PROXY_KEY, asker),
            ("X-Forwarded-Method", "GET"),
            ("X-Forwarded-Uri", "/api/user/list"),
            ("X-Forwarded-Host", "service.test"),
            ("Authorization", f"Bearer {key}"),
        ),
    ],
)
async def test_a_key_needs_codes_at_other_services(
    recorded: Callable[[], Any], asks: Callable[[Inside, str, str], Awaitable[Any]]
) -> None:
    async with recorded() as (service, needed):
        owner = await member(service, "ann", "system:*")
        made = await key_of(owner, LIST, USERS)
        role = await member(service, "role", "system:policy:evaluate")
        account = {"userName": "front", "nickName": "front", "kind": "service", "roleIds": [role.role_id]}
        user_id = (await service.data("POST", "/api/user", account))["id"]
        asker = (await service.data("POST", f"/api/user/{user_id}/keys", {"name": "front"}))["key"]
        answer = await asks(service, made["key"], asker)
        assert answer.status == 200, answer.body

    assert needed == {"script": [USERS], "front": None}


async def judged(service: Inside, owner: Member, **columns: str) -> dict[str, Any] | None:
    """Set columns of the owner's key; return the key as a smaller one is proposed, None for no proposal."""
    changes = ", ".join(f"{name} = {value}" for name, value in columns.items())
    await query(service, f"UPDATE sys.api_key SET {changes} WHERE user_id = %s", owner.user_id)
    answer = await service.data("GET", "/api/policy/unused?days=90&size=100")
    of_owner: list[dict[str, Any]] = [
        key for key in answer["scopes"]["items"] if key["userName"] == owner.name
    ]
    assert answer["scopes"]["total"] == len(answer["scopes"]["items"])
    return of_owner[0] if of_owner else None


OLD = {"create_time": "now() - interval '46 days'", "expire_time": "now() + interval '44 days'"}
NEEDED = {"needed_codes": f"ARRAY['{LIST}']"}


@pytest.mark.feature("reviews")
async def test_administrators_see_unused_scopes_and_a_smaller_proposal(house: Inside) -> None:
    owner = await member(house, "ann", "system:*")
    made = await key_of(owner, LIST, "system:menu:*", USERS)
    store_uses(house.database_url, {})
    shown = await judged(house, owner, **OLD, **NEEDED)
    assert shown is not None
    assert (shown["id"], shown["keyName"], shown["userId"]) == (made["id"], "script", owner.user_id)
    assert (shown["unused"], shown["proposed"]) == (["system:menu:*", USERS], [LIST])
    assert shown["recordedSince"] == shown["createTime"]


@pytest.mark.feature("reviews")
async def test_a_partly_used_wildcard_has_a_proposal_and_a_used_scope_has_none(house: Inside) -> None:
    owner = await member(house, "ann", "system:*")
    await key_of(owner, "system:role:*")
    store_uses(house.database_url, {})
    shown = await judged(house, owner, **OLD, **NEEDED)
    assert shown is not None
    assert (shown["unused"], shown["proposed"]) == ([], [LIST])
    assert await judged(house, owner, scopes=f"ARRAY['{LIST}']") is None


@pytest.mark.feature("reviews")
@pytest.mark.parametrize(
    "columns",
    [
        {"create_time": "now() - interval '44 days'", "expire_time": "now() + interval '46 days'"},
        {"create_time": "now() - interval '80 days'", "expire_time": "now() - interval '1 day'"},
        {"needed_codes": "NULL"},
    ],
)
async def test_a_young_expired_or_unrecorded_key_is_not_judged(
    house: Inside, columns: dict[str, str]
) -> None:
    owner = await member(house, "ann", "system:*")
    await key_of(owner, LIST, USERS)
    store_uses(house.database_url, {})
    assert await judged(house, owner, **OLD | NEEDED | columns) is None


@pytest.mark.feature("reviews")
async def test_a_long_key_is_judged_after_the_days_and_its_time_begins_with_a_restore(house: Inside) -> None:
    owner = await member(house, "ann", "system:*")
    await key_of(owner, LIST, USERS)
    store_uses(house.database_url, {})
    lasting = {"create_time": "now() - interval '91 days'", "expire_time": "now() + interval '900 days'"}
    assert await judged(house, owner, **lasting, **NEEDED) is not None
    assert await judged(house, owner, create_time="now() - interval '89 days'") is None
    await query(house, "UPDATE sys.timeline SET begin_time = now() - interval '80 days'")
    shown = await judged(house, owner, **lasting)
    assert shown is not None
    assert shown["recordedSince"].startswith(str(days_ago(80)))


async def test_owner_and_administrators_see_what_a_key_could_do_without(house: Inside) -> None:
    owner = await member(house, "ann", "system:*")
    made = await key_of(owner, LIST, "system:menu:*")
    assert (made["unusedScopes"], made["proposedScopes"]) == ([LIST, "system:menu:*"][::-1], [])
    change = f"UPDATE sys.api_key SET {{}} WHERE user_id = {owner.user_id}"
    await query(house, change.format(f"needed_codes = ARRAY['{LIST}']"))
    lists = [
        (await owner.ask("GET", KEYS)).json["data"]["items"],
        (await house.data("GET", f"/api/user/{owner.user_id}/keys"))["items"],
    ]
    for (shown,) in lists:
        assert (shown["unusedScopes"], shown["proposedScopes"]) == (["system:menu:*"], [LIST])
    await query(house, change.format("needed_codes = NULL"))
    (shown,) = (await owner.ask("GET", KEYS)).json["data"]["items"]
    assert (shown["unusedScopes"], shown["proposedScopes"]) == (None, None)


def test_scopes_stay_where_a_key_can_not_have_as_many_codes() -> None:
    codes = [f"orders:order:act{number}" for number in range(MOST_SCOPES + 1)]
    scopes = ["orders:*", "shop:*"]
    assert unused_scopes(scopes, codes) == ["shop:*"]
    assert sufficient_scopes(scopes, codes) == ["orders:*"]
    assert sufficient_scopes(scopes, codes[1:]) == sorted(codes[1:])
