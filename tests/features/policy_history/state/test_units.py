"""A unit of work: edits of menus, resources and roles in one transaction, under the rights of one caller."""

import asyncio
from dataclasses import asdict
from typing import Any

import pytest

from service.administration import menu_edits, resource_edits, role_edits
from service.administration.resource_edits import Buttons
from service.administration.role_edits import Given
from service.administration.unit_of_work import UnitOfWork
from service.authn.revocations import Revocations
from service.errors import Conflict, Overloaded, PermissionDenied, RefreshRequired, Unavailable
from service.kernel.identity import Caller
from service.kernel.origin import ORIGIN
from service.kernel.write import Write
from service.records import accounts, role_rights, roles
from service.records.published import policy_revisions
from service.records.resources import ResourceValues
from service.web.messages.context import RequestContext
from tests.features.policy_history.state.conftest import Ground


def anyhow(_stored: Any) -> None:
    """Have nothing against what is stored."""


async def edit(unit: UnitOfWork, code: str) -> None:
    """Create a Button, open a new resource by it alone, and give it to a new role."""
    button = await menu_edits.create(unit, {"menu_type": "Button", "title": "Reports", "auth_mark": code})
    values = ResourceValues("Reports", "report.list", "GET", "/api/report/list")
    resource = await resource_edits.create(unit, asdict(values))
    await resource_edits.bind_buttons(unit, resource.id, Buttons([button.id]), anyhow)
    role = await role_edits.create(unit, {"role_code": "reporter", "role_name": "Reporter"})
    await role_edits.set_menus(unit, role.id, Given([button.id]), anyhow)


async def test_a_new_code_is_bound_and_given_in_the_unit_that_creates_it(ground: Ground) -> None:
    caller = await ground.user("wanda", "admin")

    async with ground.units.publishing(Write(caller), "reports") as unit:
        await edit(unit, "system:report:list")

    assert ground.live.current.revision == 2
    assert "p, resource, GET /api/report/list, system:report:list" in map(str, ground.live.current.rules)
    async with ground.database.transaction() as connection:
        published = await policy_revisions.latest(connection)
        (role,) = (await roles.by_code(connection, ["reporter"])).values()
    assert published is not None
    assert (published.revision, published.cause) == (2, "reports by wanda")
    assert role.permissions == ("system:report:list",)


async def test_a_unit_with_a_code_that_its_caller_may_not_grant_leaves_nothing(ground: Ground) -> None:
    caller = await ground.user("wanda", "admin")  # who holds system:*

    with pytest.raises(PermissionDenied) as refused:
        async with ground.units.publishing(Write(caller), "reports") as unit:
            await edit(unit, "report:list")

    assert refused.value.extra["required"] == ["report:list"]
    assert ground.live.current.revision == 1
    async with ground.database.transaction() as connection:
        latest = await policy_revisions.latest(connection)
        assert await roles.by_code(connection, ["reporter"]) == {}
    assert latest is not None
    assert latest.revision == 1


async def test_the_last_administrator_is_asked_for_when_all_edits_are_made(ground: Ground) -> None:
    caller = await ground.administrator()
    async with ground.database.transaction() as connection:
        (super_,) = (await roles.by_code(connection, ["super"])).values()
        tree = await roles.menu_tree(connection)

    async with ground.units.publishing(Write(caller), "to and fro") as unit:
        await role_edits.set_menus(unit, super_.id, Given([]), anyhow)
        await role_edits.set_menus(unit, super_.id, Given([tree.buttons["*"]]), anyhow)
    with pytest.raises(Conflict, match="no enabled user with all permissions"):
        async with ground.units.publishing(Write(caller), "away") as unit:
            await role_edits.set_menus(unit, super_.id, Given([]), anyhow)

    assert 1 in unit.refreshing


async def twice(unit: UnitOfWork, name: str) -> None:
    """Create a role, and another one with the same name."""
    await role_edits.create(unit, {"role_code": "undone", "role_name": name})
    await role_edits.create(unit, {"role_code": "undone-2", "role_name": name})


async def test_what_was_committed_is_told_to_the_log_though_what_follows_fails(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise Unavailable

    context = RequestContext({"type": "http", "path": "/api", "headers": []})
    token = ORIGIN.set(context)
    monkeypatch.setattr(Revocations, "mark_all", fail)
    caller = await ground.administrator()
    with pytest.raises(Unavailable):
        async with ground.units.of_rights(Write(caller)) as unit:
            await role_edits.create(unit, {"role_code": "reporter", "role_name": "Reporter"})
    with pytest.raises(Conflict):
        async with ground.units.of_rights(Write(caller)) as unit:
            await twice(unit, "Undone")
    ORIGIN.reset(token)

    assert context.recorded is not None
    assert context.recorded.targets == ("role:reporter",)
    assert [(change.field, change.before, change.after) for change in context.recorded.changes] == [
        ("roleName", None, "Reporter"),
        ("enabled", None, True),
        ("reasonRequired", None, False),
        ("personalKeys", None, True),
    ]


async def disable(ground: Ground, caller: Caller, user: Caller) -> None:
    """Disable a user by an urgent act."""
    async with ground.units.of_rights(Write(caller), pace="urgent") as urgent:
        target = await urgent.check.target(urgent.connection, user.user_id, "disable")
        await accounts.update(urgent.connection, target, {"status": "disabled"})


async def test_rights_are_taken_while_a_bulk_edit_goes_on_and_given_after_it(ground: Ground) -> None:
    root = await ground.administrator()
    heron = await ground.user("heron", "admin")

    async with ground.units.publishing(Write(root), "reports") as unit:
        await edit(unit, "report:list")
        async with asyncio.timeout(1.0):
            await disable(ground, root, heron)
        with pytest.raises(Overloaded):
            async with ground.units.of_rights(Write(root)):
                pass

    async with ground.units.of_rights(Write(root)) as unit:
        assert await role_rights.of_enabled_user(unit.connection, heron.user_id) is None
    assert ground.live.current.revision == 2


@pytest.mark.parametrize("publishes", [True, False])
async def test_a_bulk_edit_whose_caller_loses_rights_meanwhile_is_undone(
    ground: Ground, *, publishes: bool
) -> None:
    root = await ground.administrator()
    wanda = await ground.user("wanda", "super")
    begun = (
        ground.units.publishing(Write(wanda), "reports")
        if publishes
        else ground.units.of_rights(Write(wanda), pace="bulk")
    )

    async def create_a_role() -> None:
        async with begun as unit:
            await role_edits.create(unit, {"role_code": "late", "role_name": "Late"})
            await disable(ground, root, wanda)

    with pytest.raises(RefreshRequired):
        await create_a_role()

    async with ground.database.transaction() as connection:
        assert await roles.by_code(connection, ["late"]) == {}


@pytest.mark.parametrize("publishes", [True, False])
async def test_a_bulk_edit_may_take_rights_of_its_own_caller(ground: Ground, *, publishes: bool) -> None:
    async with ground.units.publishing(Write(await ground.administrator()), "reports") as unit:
        await edit(unit, "report:list")
    wanda = await ground.user("wanda", "super", "reporter")
    begun = (
        ground.units.publishing(Write(wanda), "no reports")
        if publishes
        else ground.units.of_rights(Write(wanda), pace="bulk")
    )

    async with begun as unit:
        (role,) = (await roles.by_code(unit.connection, ["reporter"])).values()
        await role_edits.set_menus(unit, role.id, Given([]), anyhow)

    async with ground.database.transaction() as connection:
        assert (await role_rights.of(connection, wanda.user_id)).permissions == ("*",)


async def test_a_bulk_edit_and_an_urgent_act_together_leave_an_administrator(ground: Ground) -> None:
    """Each of them alone would leave one."""
    root = await ground.administrator()
    other = await ground.user("other", "super")

    async def disable_the_first() -> None:
        async with ground.units.of_rights(Write(other), pace="bulk") as unit:
            target = await unit.check.target(unit.connection, root.user_id, "disable")
            await accounts.update(unit.connection, target, {"status": "disabled"})
            await disable(ground, root, other)

    with pytest.raises(Conflict) as refused:
        await disable_the_first()

    assert refused.value.extra["rule"] == "last_administrator"
