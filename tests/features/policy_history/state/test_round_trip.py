"""Whatever an installation has come to hold can be exported, and applied where nothing is."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from service.administration import resource_edits, role_edits
from service.administration.changes import MENUS, RESOURCES, ROLES, RecordEdits
from service.administration.resource_edits import Buttons
from service.administration.role_edits import Given
from service.administration.unit_of_work import UnitOfWork, unconditionally
from service.errors import Refusal
from service.features.policy_history.state import ButtonState, Kind, RoleState, state_of
from service.features.policy_history.state_reading import read_state
from service.features.policy_history.state_writing import as_yaml
from service.features.services.edits import OPENINGS, SERVICES
from service.kernel.identity import Caller
from service.kernel.value_rules import DESCRIPTION, SHORT_LINE
from service.kernel.write import Write
from service.records import menus, resources, roles, services
from tests.features.policy_history.state.conftest import Ground, NewGround

Step = tuple[str, dict[str, Any]]
"""What is done to which kind of record, and its fields; ``at`` chooses the record, ``to`` others."""

NOTHING: Final[Mapping[Kind, dict[str, Any]]] = {
    "button": {"*": ButtonState(title="All")},
    "role": {"super": RoleState(role_name="Super", buttons=("*",))},
}
ODD: Final = [
    "a/b",
    "a#2",
    "#",
    "50%",
    "%2F",
    "no",
    "~",
    "1",
    "0x1F",
    "- x",
    "x: y",
    "é",
    "e\u0301",
    "ﬁ",
    "😀",
]
EXAMPLES: Final = 40
PATHS: Final = ["/", "/a", "/a/", "/A", "/a/{x}", "/a/{y}/", "/a/{x}/b", "/{x}/b/", "/api/user/{id}", "/~"]
CODES: Final = ["shop:*", "shop:a:read", "*:a", "system:*", "x-1:y_2"]

texts = st.sampled_from(ODD) | st.text(min_size=1, max_size=130).filter(lambda text: SHORT_LINE(text) is None)
descriptions = st.none() | st.text(max_size=40).filter(lambda text: DESCRIPTION(text) is None)
flags, places = st.booleans(), st.integers(0, 40)


def fields(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return fields of a record, with the places of those that they are about."""
    return st.fixed_dictionaries({"at": places, "to": st.lists(places, max_size=4), **strategies})


MENU: Final = {
    "title": texts,
    "name": st.none() | texts,
    "icon": st.none() | texts,
    "badge": st.none() | st.sampled_from(ODD),
    "meta": st.none()
    | st.dictionaries(st.sampled_from(["a", "layout"]), st.sampled_from([*ODD, 1, True, ["~"]]), max_size=2),
    "titles": st.none() | st.dictionaries(st.sampled_from(["zh-CN", "no"]), st.sampled_from(ODD), max_size=2),
    "sort": st.integers(-3, 3),
    "enabled": flags,
}
SERVICE: Final = dict.fromkeys(("ignore_case", "ignore_trailing_slash", "allow_preflight"), flags)
RESOURCE: Final = {
    "resource_name": texts,
    "resource_code": st.sampled_from(["a", "b", "c.d", "9:x", "e", "f"]),
    "method": st.sampled_from(["GET", "DELETE"]),
    "path": st.sampled_from(PATHS),
    "description": descriptions,
    "enabled": flags,
    "assurance": st.sampled_from([None, "login", "phishing-resistant-within-12h"]),
    "services": flags,
}
ROLE: Final = {"role_name": texts, "description": descriptions, "enabled": flags}
NAMES: Final = st.sampled_from(["shop", "depot"])
STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("menu create"), fields(**MENU)),
        st.tuples(st.just("button create"), fields(**MENU, auth_mark=st.sampled_from(CODES))),
        st.tuples(st.just("menu update"), fields(**MENU)),
        st.tuples(st.just("menu delete"), fields()),
        st.tuples(st.just("service create"), fields(**SERVICE, name=NAMES, description=descriptions)),
        st.tuples(st.just("service update"), fields(**SERVICE)),
        st.tuples(st.just("resource create"), fields(**RESOURCE, service=NAMES | st.just("portcullis"))),
        st.tuples(st.just("resource update"), fields(**RESOURCE)),
        st.tuples(st.just("resource delete"), fields()),
        st.tuples(st.just("opening create"), fields(code=st.sampled_from(["@login", "@anyone"]))),
        st.tuples(st.just("role create"), fields(**ROLE, role_code=st.sampled_from(["r1", "-", "007"]))),
        st.tuples(st.just("role update"), fields(**ROLE)),
    ),
    min_size=4,
    max_size=24,
)

_RESOURCE: Final = {"resource_name": "R", "method": "GET", "service": "shop", "at": 0, "to": []}
SLASH_TWINS: Final[list[Step]] = [
    ("service create", {"name": "shop", "at": 0, "to": []}),
    ("resource create", {**_RESOURCE, "resource_code": "a", "path": "/a"}),
    ("resource create", {**_RESOURCE, "resource_code": "b", "path": "/a/", "enabled": False}),
    ("service update", {"ignore_trailing_slash": True, "at": 0, "to": []}),
]

KINDS: Final[Mapping[str, RecordEdits]] = {
    "menu": MENUS,
    "button": MENUS,
    "service": SERVICES,
    "resource": RESOURCES,
    "opening": OPENINGS,
    "role": ROLES,
}


async def take(unit: UnitOfWork, step: Step) -> None:
    """Take a step by the edit that the request of the API makes; raises what it refuses."""
    what, values = step
    kind, action = what.split()
    given = dict(values)
    at, to = given.pop("at"), given.pop("to")
    tree = await menus.every(unit.connection)
    stored: dict[str, list[Any]] = {
        "menu": tree,
        "service": await services.every(unit.connection),
        "resource": await resources.every(unit.connection),
        "role": await roles.every(unit.connection),
    }
    chosen = {name: some[at % len(some)] if some else None for name, some in stored.items()}
    if kind in ("menu", "button"):
        pages = [menu.id for menu in tree if menu.menu_type == "Menu"]
        given["parent_id"] = pages[to[0] % len(pages)] if to else None
        if action == "create":
            given["menu_type"] = "Menu" if kind == "menu" else "Button"
    if kind == "opening":
        resource = chosen["resource"] if to else None
        given["service"] = resource.service if resource else "shop"
        given["resource_id"] = resource.id if resource else None
    edits = KINDS[kind]
    if action == "create":
        record_id = (await edits.create(unit, given)).id
    elif (record := chosen[kind]) is None:
        return
    elif action == "delete":
        await edits.delete(unit, record.id, unconditionally)
        return
    else:
        record_id = record.id
        assert edits.update is not None
        await edits.update(unit, record_id, given, unconditionally)
    if kind == "role":
        menu_ids = sorted({tree[number % len(tree)].id for number in to})
        await role_edits.set_menus(unit, record_id, Given(menu_ids), unconditionally)
    elif kind == "resource":
        buttons = [menu.id for menu in tree if menu.menu_type == "Button"]
        bound = sorted({buttons[number % len(buttons)] for number in to})
        await resource_edits.bind_buttons(unit, record_id, Buttons(bound), unconditionally)


async def built(ground: Ground, caller: Caller, steps: list[Step]) -> Counter[str]:
    """Take the steps, each as a change of its own; return how often each was not refused."""
    done: Counter[str] = Counter()
    for step in steps:
        try:
            async with ground.units.publishing(Write(caller), "built") as unit:
                await take(unit, step)
        except Refusal:
            continue
        done[step[0]] += 1
    return done


@pytest.mark.extended
def test_what_was_exported_can_be_applied_to_an_empty_installation_and_is_exported_as_the_same_file(
    new_ground: NewGround, tmp_path: Path
) -> None:
    done: Counter[str] = Counter()
    file = tmp_path / "state.yaml"

    async def comes_back(source: Ground, target: Ground, steps: list[Step]) -> None:
        for ground in (source, target):  # else users, unlike operators, soon have to wait for new codes
            async with ground.database.transaction() as connection:
                await connection.exec_driver_sql("DELETE FROM sys.retired_bit")
        administrators = [await ground.administrator() for ground in (source, target)]
        seeds = await source.state()
        done.update(await built(source, administrators[0], steps))
        state = await source.state()
        file.write_text(as_yaml(state), "utf-8")
        exported = read_state(file)
        assert exported == state
        same = await source.plan(exported, prune=True)
        assert (same.edits.edits, same.edits.left, same.refused) == ((), (), ())
        await target.apply(administrators[1], state_of(NOTHING), prune=True)
        planned = await target.plan(exported, prune=True)
        assert planned.refused == ()
        applied = await target.apply(administrators[1], exported, prune=True)
        assert applied.edits == planned.edits
        assert as_yaml(await target.state()) == file.read_text("utf-8")
        lines = [[str(line) for line in ground.live.current.rules] for ground in (source, target)]
        assert lines[0] == lines[1]
        await source.apply(administrators[0], seeds, prune=True)
        assert await source.state() == seeds

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        source, target = (runner.run(stack.enter_async_context(new_ground())) for _ in range(2))

        @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
        @given(STEPS)
        @example(SLASH_TWINS)
        def every_installation_comes_back(steps: list[Step]) -> None:
            runner.run(comes_back(source, target, steps))

        try:
            every_installation_comes_back()
        finally:
            runner.run(stack.aclose())
    assert done.total() > EXAMPLES  # they are no strings of refusals
