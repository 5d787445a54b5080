"""What the recipe "A field" of CONTRIBUTING makes; ``test_contributing.py`` runs this in the changed copy."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from service.features.policy_history import stored_state
from service.features.policy_history.state import State
from service.features.policy_history.state_edits import edits_between
from service.features.policy_history.state_reading import read_state
from service.features.policy_history.state_writing import as_yaml
from service.records.database.transactions import Database
from tests.support.inside import Inside
from tests.support.inside_fixtures import house, seeded_rows, shared

__all__ = ["house", "seeded_rows", "shared"]


AUDIT = {"roleName": "Night audit", "description": None, "enabled": True}


async def made(house: Inside) -> str:
    role = await house.data("POST", "/api/role", AUDIT | {"roleCode": "night", "remark": "Keep me"})
    assert role["remark"] == "Keep me"
    return f"/api/role/{role['id']}"


async def changes_of(house: Inside, request_id: str | None) -> Any:
    """Return what the operation log tells a request to have changed; it is written a moment later."""
    for _ in range(500):
        entries = (await house.data("GET", "/api/operation-log/list?size=20"))["items"]
        for entry in entries:
            if entry["requestId"] == request_id:
                return (await house.data("GET", f"/api/operation-log/{entry['id']}"))["changes"]
        await asyncio.sleep(0.02)
    raise AssertionError(f"{request_id} is not in the operation log")


async def state_of(house: Inside) -> State:
    async with Database(house.database_url) as database, database.snapshot() as connection:
        stored = await stored_state.read(connection)
    return stored.state


@pytest.mark.parametrize("value", ["a" * 1001, "call me \u202e now", 7])
async def test_a_bad_value_is_refused_by_the_name_of_the_member(house: Inside, value: Any) -> None:
    path = await made(house)

    for method, body in (("PUT", AUDIT), ("PATCH", {})):
        refused = await house.ask(method, path, body | {"remark": value})
        assert (refused.status, refused.fields) == (422, ["remark"])
    refused = await house.ask("POST", "/api/role", AUDIT | {"roleCode": "day", "remark": value})
    assert (refused.status, refused.fields) == (422, ["remark"])


async def test_the_operation_log_tells_its_change(house: Inside) -> None:
    path = await made(house)

    answer = await house.ask("PATCH", path, {"remark": "Changed"})

    (change,) = await changes_of(house, answer.header("x-request-id"))
    assert (change["target"], change["field"]) == ("role:night", "remark")
    assert (change["before"], change["after"]) == ("Keep me", "Changed")


async def test_a_put_without_it_keeps_it_and_null_removes_it(house: Inside) -> None:
    path = await made(house)

    assert (await house.data("PUT", path, AUDIT))["remark"] == "Keep me"
    assert (await house.data("PUT", path, AUDIT | {"remark": None}))["remark"] is None


async def test_a_table_without_its_column_keeps_it_and_an_export_has_it(house: Inside) -> None:
    path = await made(house)
    table = b"roleCode,roleName\r\nnight,Audit at night\r\n"

    done = await house.ask_raw("POST", "/api/role/import", table, ("Content-Type", "text/csv"))

    role = await house.data("GET", path)
    assert (done.status, role["roleName"], role["remark"]) == (200, "Audit at night", "Keep me")
    exported = await house.ask("GET", "/api/role/export?format=csv")
    assert b'"night","Audit at night","","Keep me","true",""' in exported.body


async def test_a_state_file_without_it_keeps_it(house: Inside, tmp_path: Path) -> None:
    await made(house)
    state = await state_of(house)
    text = as_yaml(state)
    path = tmp_path / "state.yaml"

    assert text.count("remark: ") == len(state.roles)
    path.write_text("".join(line for line in text.splitlines(keepends=True) if "remark:" not in line))
    assert not edits_between(state, read_state(path), prune=True)
    path.write_text(text.replace("remark: Keep me", "remark: New"))
    (edit,) = edits_between(state, read_state(path), prune=True).edits
    assert edit.changes == {"remark": ("Keep me", "New")}
