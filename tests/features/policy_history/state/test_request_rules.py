"""State files say how roles are asked for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from sqlalchemy import update

from service.authz.engine.rules import APPROVE, REQUEST
from service.features.policy_history.state import RuleState, StageState, State
from service.features.policy_history.state_reading import read_state
from service.features.policy_history.state_report import as_lines, as_markdown
from service.features.policy_history.state_writing import as_yaml
from service.laboratory.strict_yaml import YamlError
from service.records.schema.request_rules import request_rule
from tests.features.policy_history.state.conftest import Ground

RULE = RuleState(
    requestable_by="@login",
    stages=(StageState("system:user:list", 2),),
    max_duration=3600,
    pending_timeout=600,
    reason_required=True,
    assurance="two-factors",
)


def with_rule(state: State, rule: RuleState | None) -> State:
    return replace(
        state, roles={**state.roles, "auditor": replace(state.roles["auditor"], request_rule=rule)}
    )


async def test_a_rule_is_planned_applied_exported_and_taken_away_again(
    ground: Ground, tmp_path: Path
) -> None:
    before = await ground.state()
    target = with_rule(before, RULE)
    file = tmp_path / "state.yaml"
    file.write_text(as_yaml(target), "utf-8")

    planned = await ground.plan(read_state(file))
    await ground.apply(await ground.administrator(), read_state(file))

    assert [edit.changes for edit in planned.edits.edits] == [{"request_rule": (None, RULE)}]
    assert planned.impact is not None
    shown = "\n".join(as_lines(planned))
    assert '"stages": [{"code": "system:user:list", "approvals": 2}]' in shown
    assert "requestableBy" in as_markdown(planned)
    assert "request role auditor" in {name for gain in planned.impact.gains for name in gain.access}
    assert await ground.state() == target
    rules = ground.live.current.rules
    assert rules.codes(REQUEST, "role auditor") == ("@login",)
    assert list(rules.objects(APPROVE)) == [
        "role auditor stage 1 for others",
        "role auditor stage 1 takes 2",
    ]

    await ground.apply(await ground.administrator(), before)

    assert await ground.state() == before
    assert list(ground.live.current.rules.objects(REQUEST)) == []


async def test_a_file_without_rules_keeps_them(ground: Ground, tmp_path: Path) -> None:
    before = await ground.state()
    await ground.apply(await ground.administrator(), with_rule(before, RULE))
    file = tmp_path / "state.yaml"
    lines = as_yaml(before).splitlines(keepends=True)
    file.write_text("".join(line for line in lines if line.strip() != "requestRule: null"), "utf-8")

    assert not (await ground.plan(read_state(file), prune=True)).edits


async def test_what_is_no_rule_is_a_fault_of_the_file(ground: Ground, tmp_path: Path) -> None:
    file = tmp_path / "state.yaml"
    target = with_rule(await ground.state(), RULE)
    file.write_text(as_yaml(target).replace("approvals: 2", "approvals: 0"), "utf-8")

    with pytest.raises(YamlError, match="requestRule"):
        read_state(file)


@pytest.mark.parametrize("says_rule", [True, False])
async def test_who_applies_a_rule_answers_for_it_where_the_role_comes_to_give_more(
    ground: Ground, says_rule: bool
) -> None:
    administrator = await ground.administrator()
    await ground.apply(administrator, with_rule(await ground.state(), RULE))
    async with ground.database.transaction() as connection:
        await connection.execute(update(request_rule).values(author_id=0, updated_by="gone"))
    state = await ground.state()
    auditor = state.roles["auditor"]
    more = replace(auditor, buttons=tuple(sorted({*auditor.buttons, "system:role:delete"})))
    unsaid: Any = UNSET
    silent = replace(more, request_rule=unsaid)

    applied = {**state.roles, "auditor": more if says_rule else silent}
    await ground.apply(administrator, replace(state, roles=applied))
    asked = ground.live.current.rules.codes(REQUEST, "role auditor")
    assert asked == (("@login",) if says_rule else ())

    await ground.apply(administrator, replace(state, roles={**state.roles, "auditor": more}))
    assert ground.live.current.rules.codes(REQUEST, "role auditor") == ("@login",)
    assert (await ground.state()).roles["auditor"] == more
