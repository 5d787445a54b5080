"""``portcullis state export`` and ``plan``: what is stored as a file, and what a file would change."""

from dataclasses import replace
from pathlib import Path

import pytest

from service.errors import Conflict
from service.features.policy_history.state import (
    ButtonState,
    MenuState,
    ResourceState,
    RoleState,
    ServiceState,
    State,
    state_of,
)
from service.features.policy_history.state_edits import EditRefusedError, in_words, require_no_clash
from service.features.policy_history.state_planning import plan
from service.features.policy_history.state_reading import read_state
from service.features.policy_history.state_report import as_lines, as_markdown
from service.features.policy_history.state_writing import as_yaml
from service.kernel.coded_sentences import Sentence
from service.kernel.identity import NewAccount
from service.laboratory.invariants.statements import Invariants, OnlyRoles
from service.records import accounts, user_list
from tests.docs.pages import between
from tests.features.policy_history.state.conftest import Ground
from tests.support.running import ROOT
from tests.support.unstarted import SHIPPED

LOCKED_OUT = "This would lock everyone out of the policy administration, including holders of all permissions"


def without(state: State, role: str) -> State:
    return replace(state, roles={key: item for key, item in state.roles.items() if key != role})


async def test_the_seeds_are_exported_and_read_again_as_they_are(ground: Ground, tmp_path: Path) -> None:
    state = await ground.state()
    file = tmp_path / "state.yaml"
    file.write_text(as_yaml(state), "utf-8")

    assert read_state(file) == state
    assert state.roles["super"].buttons == ("*",)
    assert state.buttons["system:user:list"].menu == "system/user"
    assert state.resources["GET /api/user/{id}"].buttons == ("system:user:detail",)
    assert "admin@" not in file.read_text("utf-8")
    assert "argon2" not in file.read_text("utf-8")


async def test_menus_of_one_name_are_told_apart_by_number_in_the_order_of_their_ids(ground: Ground) -> None:
    async with ground.database.transaction() as connection:
        for title, sort in (("Same", 2), ("Same", 1), ("a/b", 0)):
            await connection.exec_driver_sql(
                "INSERT INTO sys.menu (menu_type, title, sort, bit_position) VALUES ('Menu', %s, %s, NULL)",
                (title, sort),
            )

    menus = (await ground.state()).menus

    assert (menus["Same"].sort, menus["Same#2"].sort) == (2, 1)
    assert menus["a%2Fb"].title == "a/b"


async def test_a_tree_that_no_file_can_describe_is_refused(ground: Ground) -> None:
    async with ground.database.transaction() as connection:
        await connection.exec_driver_sql(
            "INSERT INTO sys.menu (menu_type, title, auth_mark, parent_id)"
            " SELECT 'Button', 'B', 'x:y', id FROM sys.menu WHERE auth_mark = '*'"
        )

    with pytest.raises(Conflict, match="Button x:y is below a Button"):
        await ground.state()


async def test_what_is_stored_gives_an_empty_plan(ground: Ground) -> None:
    planned = await ground.plan(await ground.state(), prune=True)

    assert (planned.edits.edits, planned.edits.left, planned.refused) == ((), (), ())
    assert as_lines(planned) == ["The stored data matches the file.", "No access is gained or lost."]


async def test_a_plan_tells_the_edits_and_who_gains_and_loses_what(ground: Ground) -> None:
    await ground.user("wanda", "auditor")
    state = await ground.state()
    auditor = state.roles["auditor"]
    buttons = tuple(code for code in auditor.buttons if code != "system:role:list")
    changed = replace(
        without(state, "user"),
        menus={**state.menus, "reports": MenuState(title="Reports", name="reports")},
        resources={
            **state.resources,
            "GET /api/file/list": ResourceState(
                resource_code="file.list", resource_name="Files", buttons=("system:role:list",)
            ),
        },
        roles={
            **without(state, "user").roles,
            "auditor": replace(
                auditor, description="Reads `all`\n", buttons=(*buttons, "system:online:kick")
            ),
        },
    )

    planned = await ground.plan(changed)

    shown_lines = "\n".join(as_lines(planned))
    shown = between((ROOT / "docs/guides/state.md").read_text("utf-8"), "plan").partition("-->\n\n")[2]
    assert f"```text\n{shown_lines}\n```\n" == shown
    assert planned.refused == ()
    markdown = as_markdown(planned)
    assert '  - description: `"May read' in markdown
    assert '-> `` "Reads `all`\\n" ``' in markdown


async def test_a_plan_names_users_for_whom_it_has_no_effect(ground: Ground) -> None:
    for number in range(22):
        await ground.user(f"out-{number:02}", "auditor")
    async with ground.database.transaction() as connection:
        await connection.exec_driver_sql(
            "UPDATE sys.user SET status = 'disabled' WHERE user_name LIKE 'out-%%'"
        )
    state = await ground.state()
    roles = {**state.roles, "auditor": replace(state.roles["auditor"], buttons=())}

    planned = await ground.plan(replace(state, roles=roles))

    names = [f"out-{number:02}" for number in range(20)]
    message = f"Without effect for 22 users disabled or banned: {', '.join(names)} and 2 more."
    assert message in as_lines(planned)
    marked = ", ".join(f"`{name}`" for name in names)
    assert f"\n\nWithout effect for 22 users disabled or banned: {marked} and 2 more." in as_markdown(planned)
    same = await ground.plan(state)
    assert not any("Without effect" in line for line in as_lines(same))


async def test_a_service_account_is_no_administrator_who_could_remain(ground: Ground) -> None:
    async with ground.database.transaction() as connection:
        (role_id,) = (await user_list.role_ids(connection, ["admin"])).values()
        values = {"user_name": "robot", "nick_name": "Robot", "kind": "service"}
        await accounts.create(connection, None, NewAccount(values), [role_id])
    state = await ground.state()
    buttons = state.roles["super"].buttons
    roles = {**state.roles, "super": replace(state.roles["super"], buttons=())}
    roles["admin"] = replace(roles["admin"], buttons=tuple(sorted({*buttons, *roles["admin"].buttons})))

    planned = await ground.plan(replace(state, roles=roles))

    assert planned.refused == ("This would leave no enabled user with all permissions",)


async def test_a_plan_tells_what_nobody_could_apply(ground: Ground) -> None:
    await ground.user("wanda", "auditor")
    state = await ground.state()
    roles = {key: item for key, item in state.roles.items() if key != "auditor"}
    roles["super"] = replace(roles["super"], buttons=())
    roles["other"] = RoleState(role_name="ADMINISTRATOR")
    resources = {
        "PUT /api/role/{id}/permissions": ResourceState(
            resource_code="a", resource_name="A", enabled=True, buttons=("a:b",)
        ),
        "GET /api/a": ResourceState(resource_code="user.list", resource_name="A"),
    }
    buttons = {**state.buttons, "a:b": replace(state.buttons["*"], enabled=False)}

    planned = await ground.plan(replace(state, roles=roles, resources=resources, buttons=buttons))
    pruning = await ground.plan(replace(state, roles=roles), prune=True)

    assert planned.refused == (
        "resource GET /api/user/list: has the same code as GET /api/a",
        "role other: has the same name as admin",
        "This would leave no enabled user with all permissions",
        f"{LOCKED_OUT}; lockedOut: PUT /api/role/{{id}}/permissions",
    )
    assert "role auditor: The role still has users; users: wanda" in pruning.refused


async def test_a_plan_tells_which_invariant_it_would_break(ground: Ground) -> None:
    state = await ground.state()
    known = ("super", "admin", "auditor")
    only = OnlyRoles(
        name="readers", reason=Sentence("R"), place="", roles=known, requests=("GET /api/role/list",)
    )
    shipped = replace(SHIPPED, invariants=Invariants((only,)))
    roles = {**state.roles, "reader": RoleState(role_name="Reader", buttons=("system:role:list",))}

    planned = await plan(ground.database, shipped, replace(state, roles=roles), prune=False)
    same = await plan(ground.database, shipped, state, prune=False)

    (refusal,) = planned.refused
    head = "This would violate an invariant of the policy: readers; brokenInvariants: readers: R: "
    assert refusal.startswith(head)
    assert same.refused == ()


async def refused_by_both(ground: Ground, target: State, *, prune: bool = False) -> tuple[str, ...]:
    """Return why a plan says that nobody could apply ``target``, of which an apply says one."""
    planned = await ground.plan(target, prune=prune)
    with pytest.raises((EditRefusedError, Conflict)) as refused:
        await ground.apply(await ground.administrator(), target, prune=prune)
    assert isinstance(refused.value, EditRefusedError | Conflict)
    assert set(in_words(refused.value).splitlines()) <= set(planned.refused)
    return planned.refused


async def test_a_plan_tells_the_refusals_of_an_apply_in_its_words(ground: Ground) -> None:
    await ground.user("wanda", "auditor")
    state = await ground.state()
    empty = replace(state.roles["super"], buttons=())
    listed = state.resources["GET /api/user/list"]
    closed = replace(listed, resource_code="a", buttons=("a:b",))
    resources = {**state.resources, "PUT /api/role/{id}/permissions": closed}
    disabled = {**state.buttons, "a:b": ButtonState(title="A", enabled=False)}
    twin = ResourceState(resource_code="twin", resource_name="Twin")
    shop = ServiceState(ignore_trailing_slash=True)
    twins = {"shop GET /a": twin, "shop GET /a/": replace(twin, resource_code="twin-2", enabled=False)}

    for target in (
        replace(state, roles={**state.roles, "super": empty}),
        replace(state, roles={**state.roles, "made": RoleState(role_name="AUDITOR")}),
        replace(state, resources={**state.resources, "GET /api/a": listed}),
        replace(state, resources=resources, buttons=disabled),
        replace(state, services={"system": ServiceState()}),
        replace(state, services={"shop": shop}, resources={**state.resources, **twins}),
    ):
        assert len(await refused_by_both(ground, target)) == 1
    assert len(await refused_by_both(ground, without(state, "auditor"), prune=True)) == 1


async def test_what_is_stored_and_clashes_refuses_no_other_edit(ground: Ground) -> None:
    state = await ground.state()
    twin = ResourceState(resource_code="twin", resource_name="Twin")
    twins = {"shop GET /a": twin, "shop GET /a/": replace(twin, resource_code="twin-2", enabled=False)}
    both = replace(state, services={"shop": ServiceState()}, resources={**state.resources, **twins})
    await ground.apply(await ground.administrator(), both)
    async with ground.database.transaction() as connection:
        await connection.exec_driver_sql("UPDATE sys.service SET ignore_trailing_slash = true")
    stored = await ground.state()
    roles = {**stored.roles, "made": RoleState(role_name="Made")}

    assert (await ground.plan(stored, prune=True)).refused == ()
    await ground.apply(await ground.administrator(), replace(stored, roles=roles))

    with pytest.raises(Conflict, match="shop GET /a/: matches the same requests as shop GET /a"):
        require_no_clash(state_of({}), await ground.state())
