"""State files say how strongly somebody must have authenticated to touch a resource."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service.features.policy_history.state import State
from service.features.policy_history.state_edits import EditRefusedError, in_words
from service.features.policy_history.state_reading import read_state
from service.features.policy_history.state_writing import as_yaml
from service.laboratory.strict_yaml import YamlError
from service.records.published import policy_workers
from tests.features.policy_history.state.conftest import Ground

KEY = "GET /api/user/export"


def demanding(state: State, **values: Any) -> State:
    return replace(state, resources={**state.resources, KEY: replace(state.resources[KEY], **values)})


async def test_a_demand_is_planned_applied_and_exported(ground: Ground, tmp_path: Path) -> None:
    target = demanding(await ground.state(), assurance="two-factors-within-15m", services=True)
    file = tmp_path / "state.yaml"
    file.write_text(as_yaml(target), "utf-8")

    (edit,) = (await ground.plan(read_state(file))).edits.edits
    await ground.apply(await ground.administrator(), read_state(file))

    assert edit.changes == {"assurance": (None, "two-factors-within-15m"), "services": (False, True)}
    assert await ground.state() == target
    words = ground.live.current.rules.codes("assurance", f"resource {KEY}")
    assert tuple(words) == ("@service", "@two-factors-within-15m")


async def test_a_file_without_demands_keeps_them(ground: Ground, tmp_path: Path) -> None:
    before = await ground.state()
    await ground.apply(await ground.administrator(), demanding(before, assurance="login"))
    file = tmp_path / "state.yaml"
    lines = as_yaml(before).splitlines(keepends=True)
    left_out = [line for line in lines if line.strip() not in ("assurance: null", "services: false")]
    file.write_text("".join(left_out), "utf-8")

    assert len(left_out) < len(lines)
    assert not (await ground.plan(read_state(file), prune=True)).edits


async def test_what_is_no_demand_is_a_fault_of_the_file(ground: Ground, tmp_path: Path) -> None:
    file = tmp_path / "state.yaml"
    file.write_text(as_yaml(demanding(await ground.state(), assurance="@login")), "utf-8")

    with pytest.raises(YamlError, match="assurance"):
        read_state(file)


async def test_a_plan_tells_that_nodes_would_not_ask_for_a_demand(ground: Ground) -> None:
    target = demanding(await ground.state(), assurance="login")
    async with ground.database.transaction() as connection:
        await policy_workers.report(connection, "other:1", 1, None, own_digest=None)

    planned = await ground.plan(target)
    with pytest.raises(EditRefusedError) as refused:
        await ground.apply(await ground.administrator(), target)

    assert planned.refused == (in_words(refused.value),)
    assert "other:1 runs a version that does not support authentication demands" in planned.refused[0]
    assert (await ground.plan(demanding(target, enabled=False, assurance=None))).refused == ()
