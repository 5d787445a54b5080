"""Applying a state: in one transaction, under the rights of a caller, to what the plan has told."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from service.errors import Conflict
from service.features.policy_history.state import (
    ButtonState,
    Kind,
    MenuState,
    ResourceState,
    RoleState,
    ServiceState,
    State,
    ordered,
    state_of,
)
from service.features.policy_history.state_edits import EditRefusedError, in_words
from service.features.policy_history.state_reading import read_state
from service.features.policy_history.state_writing import as_yaml
from service.laboratory.analysis.impact import Differences
from service.records.openings import OpenTo
from tests.features.policy_history.state.conftest import Ground, NewGround

CODES = [f"system:made:a{number}" for number in range(6)]
PAGES = ["made", "made/one", "made/two", "made/one/deep", "other"]
REQUESTS = ["GET /api/file/list", "GET /api/login-log/list", "GET /api/made/{id}", "GET /api/made/7"]
REQUESTS += ["POST /api/online/{login_id}/ban"]
ROLES = ["auditor", "made", "made-too"]


def changed(state: State, chance: Random) -> State:
    """Return ``state`` with some random differences, but with what keeps it administered."""
    menus = {key: item for key, item in state.menus.items() if key not in PAGES}
    pages: list[str] = []
    for page in PAGES:
        above, _, name = page.rpartition("/")
        if chance.random() < 0.6 and above in ("", *pages):
            pages.append(page)
            menus[page] = MenuState(
                title=chance.choice("AB"),
                name=name,
                sort=chance.randrange(3),
                hidden=chance.random() < 0.5,
                link=chance.choice([None, "/help"]),
                meta=chance.choice([None, {}, {"layout": {"wide": True}}]),
                titles=chance.choice([None, {"zh-CN": "页面"}]),
            )
    buttons = {key: item for key, item in state.buttons.items() if key not in CODES}
    codes = [code for code in CODES if chance.random() < 0.6]
    for code in codes:
        menu, enabled = chance.choice([None, *pages]), chance.random() < 0.8
        buttons[code] = ButtonState(title="T", menu=menu, enabled=enabled, titles={"zh-CN": "按钮"})
    some = [*codes, "system:file:list", "system:login-log:list", "system:user:list", "*"]
    resources = {
        key: replace(item, buttons=tuple(code for code in item.buttons if code in buttons))
        for key, item in state.resources.items()
        if key not in REQUESTS
    }
    resources |= changed_resources(chance, some)
    roles = {key: item for key, item in state.roles.items() if key not in ROLES}
    roles |= changed_roles(chance, some[:-1], pages)
    return state_of({"menu": menus, "button": buttons, "resource": resources, "role": roles})


def changed_resources(chance: Random, codes: list[str]) -> dict[str, ResourceState]:
    resources = {}
    for request, number in zip(REQUESTS, chance.sample(range(5), 5), strict=True):
        bound = tuple(sorted(chance.sample(codes, chance.randrange(3))))
        enabled = chance.random() < 0.8
        if chance.random() < 0.6:
            resources[request] = ResourceState(
                resource_code=f"m{number}", resource_name="M", buttons=bound, enabled=enabled
            )
    return resources


def changed_roles(chance: Random, codes: list[str], pages: list[str]) -> dict[str, RoleState]:
    roles = {}
    for role, number in zip(ROLES, chance.sample(range(3), 3), strict=True):
        given = tuple(sorted(chance.sample(codes, 3)))
        menus = tuple(ordered("menu", chance.sample(pages, len(pages) // 2)))
        enabled = chance.random() < 0.8
        if role == "auditor" or chance.random() < 0.6:
            roles[role] = RoleState(role_name=f"M{number}", menus=menus, buttons=given, enabled=enabled)
    return roles


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.extended)])
async def test_random_edits_do_what_their_plan_and_a_dry_run_tell(ground: Ground, seed: int) -> None:
    chance = Random(seed)
    caller = await ground.administrator()
    for number, role in enumerate(("auditor", "user", "admin")):
        await ground.user(f"u{number}", role)
        await ground.user(f"out{number}", role)
    async with ground.database.transaction() as connection:
        await connection.exec_driver_sql(
            "UPDATE sys.user SET status = 'disabled' WHERE user_name LIKE 'out%%'"
        )
    concerned = 0
    for _ in range(3):
        target = changed(await ground.state(), chance)
        prune = chance.random() < 0.7
        planned = await ground.plan(target, prune=prune)
        if planned.refused:  # what is left has a name that an object of the file is to get
            with pytest.raises((EditRefusedError, Conflict)) as refused:
                await ground.apply(caller, target)
            assert isinstance(refused.value, EditRefusedError | Conflict)
            assert set(in_words(refused.value).splitlines()) <= set(planned.refused)
            prune = True
            planned = await ground.plan(target, prune=prune)
        assert planned.refused == ()

        impact = await ground.dry_runs.impact_of(caller, partial(ground.write, expected=target, prune=prune))
        done = await ground.apply(caller, target, prune=prune)

        assert planned.impact is not None
        assert (planned.impact.gains, planned.impact.loses) == (impact.gains, impact.loses)
        assert planned.kept_out == impact.kept_out
        concerned += planned.kept_out.users
        assert done.edits == planned.edits
        left = await ground.plan(target, prune=prune)
        assert (left.edits.edits, left.impact) == ((), Differences((), ()))
        if prune:
            assert await ground.state() == target
    assert concerned


async def test_a_file_gives_an_empty_installation_the_same_lines_and_the_same_file(
    ground: Ground, new_ground: NewGround, tmp_path: Path
) -> None:
    caller = await ground.administrator()
    await ground.apply(caller, changed(await ground.state(), Random(11)), prune=True)
    file = tmp_path / "state.yaml"
    file.write_text(as_yaml(await ground.state()), "utf-8")
    nothing: dict[Kind, dict[str, Any]] = {
        "menu": {},
        "button": {"*": ButtonState(title="All")},
        "resource": {},
        "role": {"super": RoleState(role_name="Super", buttons=("*",))},
    }
    async with new_ground() as other:
        administrator = await other.administrator()
        await other.apply(administrator, state_of(nothing), prune=True)

        await other.apply(administrator, read_state(file), prune=True)

        assert as_yaml(await other.state()) == file.read_text("utf-8")
        lines = [str(line) for line in other.live.current.rules]
        assert lines == [str(line) for line in ground.live.current.rules]
        assert len(lines) > 100


async def test_a_second_apply_changes_nothing(ground: Ground) -> None:
    caller = await ground.administrator()
    target = changed(await ground.state(), Random(7))

    first = await ground.apply(caller, target)
    second = await ground.apply(caller, target)

    assert first.edits
    assert not second.edits
    assert second.revision == first.revision


async def test_services_and_openings_become_what_the_file_says(ground: Ground) -> None:
    caller = await ground.administrator()
    before = await ground.state()
    resource = ResourceState(resource_code="orders.read", resource_name="Read an order")
    steps: list[tuple[ServiceState, OpenTo | None]] = [
        (ServiceState(description="Orders", opened="@login"), "@login"),
        (ServiceState(description="Orders", ignore_case=True, opened="@anyone"), None),
        (ServiceState(ignore_case=True), "@anyone"),
    ]
    for service, opened in steps:
        resources = {**before.resources, "orders GET /orders/{id}": replace(resource, opened=opened)}
        expected = replace(before, services={"orders": service}, resources=resources)

        await ground.apply(caller, expected)

        assert await ground.state() == expected
    await ground.apply(caller, before, prune=True)
    assert await ground.state() == before


async def test_names_and_codes_can_be_swapped(ground: Ground) -> None:
    caller = await ground.administrator()
    state = await ground.state()
    first, second = "GET /api/user/list", "GET /api/role/list"
    resources = {**state.resources}
    resources[first] = replace(resources[first], resource_code=state.resources[second].resource_code)
    resources[second] = replace(resources[second], resource_code=state.resources[first].resource_code)
    roles = {**state.roles}
    roles["auditor"] = replace(roles["auditor"], role_name=state.roles["user"].role_name)
    roles["user"] = replace(roles["user"], role_name=state.roles["auditor"].role_name)
    target = replace(state, resources=resources, roles=roles)

    await ground.apply(caller, target)

    assert await ground.state() == target


async def test_a_resource_may_get_the_code_of_one_that_is_deleted(ground: Ground) -> None:
    caller = await ground.administrator()
    state = await ground.state()
    resources = {**state.resources}
    resources["GET /api/user/list/all"] = resources.pop("GET /api/user/list")
    target = replace(state, resources=resources)

    with pytest.raises(Conflict, match=r"GET /api/user/list/all: has the same code as GET /api/user/list$"):
        await ground.apply(caller, target)
    await ground.apply(caller, target, prune=True)

    assert await ground.state() == target


async def everything(ground: Ground) -> list[Any]:
    tables = ("role", "menu", "resource", "role_menu", "action_resource", "casbin_rule", "policy_revision")
    async with ground.database.transaction() as connection:
        return [
            (await connection.exec_driver_sql(f"SELECT t::text FROM sys.{table} t ORDER BY 1")).all()
            for table in tables
        ]


def with_role(state: State, key: str, role: RoleState) -> State:
    roles: Mapping[str, RoleState] = {**state.roles, key: role}
    return replace(state, roles=roles)


async def test_what_the_caller_lacks_is_refused_and_leaves_nothing(ground: Ground) -> None:
    caller = await ground.user("wanda", "admin")  # who holds system:*
    state = await ground.state()
    before = await everything(ground)
    fine = with_role(state, "fine", RoleState(role_name="Fine", buttons=("system:user:list",)))
    refused = [
        (
            with_role(fine, "more", RoleState(role_name="More", buttons=("*",))),
            "role more: The Buttons include",
        ),
        (replace(fine, buttons={**state.buttons, "x:y": ButtonState(title="X")}), "The Button has"),
        (
            with_role(fine, "super", replace(state.roles["super"], description="X")),
            "role super: The role has",
        ),
    ]

    for target, message in refused:
        with pytest.raises(Exception, match=message):
            await ground.apply(caller, target)
        assert await everything(ground) == before

    await ground.apply(caller, fine)
    assert await everything(ground) != before


async def test_each_edit_needs_what_the_request_would_need_that_does_the_same(ground: Ground) -> None:
    administrator = await ground.administrator()
    state = await ground.state()
    codes = ("system:role:create", "system:role:list", "system:menu:create")
    await ground.apply(administrator, with_role(state, "maker", RoleState(role_name="Maker", buttons=codes)))
    caller = await ground.user("wanda", "maker")
    state = await ground.state()
    before = await everything(ground)
    made = with_role(state, "new", RoleState(role_name="New"))

    for target, request in (
        (
            with_role(state, "new", RoleState(role_name="New", buttons=("system:role:list",))),
            "PUT /api/role/.*/permissions",
        ),
        (with_role(state, "user", replace(state.roles["user"], enabled=False)), "PUT /api/role/4"),
        (
            replace(
                made,
                buttons={
                    **state.buttons,
                    "system:role:list": replace(state.buttons["system:role:list"], title="L"),
                },
            ),
            "PUT /api/menu/",
        ),
        (
            replace(
                state,
                resources={**state.resources, "GET /a": ResourceState(resource_code="a", resource_name="A")},
            ),
            "POST /api/resource",
        ),
    ):
        with pytest.raises(EditRefusedError, match=f"It includes {request}"):
            await ground.apply(caller, target)
        assert await everything(ground) == before

    await ground.apply(caller, made)
    assert (await ground.state()).roles["new"].role_name == "New"


async def test_the_last_administrator_and_a_way_back_are_kept(ground: Ground) -> None:
    caller = await ground.administrator()
    state = await ground.state()
    before = await everything(ground)
    closing = ResourceState(resource_code="closing", resource_name="Closing", buttons=("system:role:list",))
    button = replace(state.buttons["system:role:list"], enabled=False)

    with pytest.raises(Conflict, match="no enabled user with all permissions"):
        await ground.apply(caller, with_role(state, "super", replace(state.roles["super"], buttons=())))
    with pytest.raises(Conflict, match="lock everyone out"):
        await ground.apply(
            caller,
            replace(
                state,
                buttons={**state.buttons, "system:role:list": button},
                resources={**state.resources, "PUT /api/resource/{id}/buttons": closing},
            ),
        )
    roles = {key: role for key, role in state.roles.items() if key != "super"}
    with pytest.raises(EditRefusedError, match="role super: The role still has users"):
        await ground.apply(caller, replace(state, roles=roles), prune=True)

    assert await everything(ground) == before


async def test_users_whose_rights_change_must_refresh(ground: Ground) -> None:
    caller = await ground.administrator()
    user = await ground.user("wanda", "auditor")
    other = await ground.user("otto", "user")
    state = await ground.state()
    fewer = replace(state.roles["auditor"], buttons=("system:user:list",))

    await ground.apply(caller, with_role(state, "auditor", fewer))

    assert await ground.is_marked(user)
    assert not await ground.is_marked(other)


async def test_two_applies_at_once_follow_one_another(ground: Ground) -> None:
    caller = await ground.administrator()
    state = await ground.state()
    item = with_role(state, "made", RoleState(role_name="One", buttons=("system:user:list",)))
    two = with_role(state, "made", RoleState(role_name="Two", buttons=("system:role:list",)))

    results = await asyncio.gather(ground.apply(caller, item), ground.apply(caller, two))

    stored = (await ground.state()).roles["made"]
    assert stored in (item.roles["made"], two.roles["made"])
    assert sorted(edit.action for done in results for edit in done.edits.edits) == ["create", "update"]
