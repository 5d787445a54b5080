"""The command that tells what was not used, and the log by which smaller roles are checked."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.features.permission_use.conftest import days_ago, store_uses
from tests.features.reviews.test_unused import proposed, unused
from tests.policy_publishing.conftest import Command, command_on
from tests.support.inside import Inside, all_decisions, inside_published
from tests.support.members import member

__all__ = ["command_on"]  # a fixture


async def test_the_command_tells_the_same(house: Inside, command_on: Callable[[Inside], Command]) -> None:
    codes = ("system:role:list", "system:user:list")
    first, _ = await member(house, "first", *codes), await member(house, "second", *codes)
    store_uses(house.database_url, {first.user_id: {"system:role:list": days_ago(3)}})
    answer = await unused(house, more="&size=200")
    command = command_on(house)
    printed = await command("unused", "--json")
    for part in ("assignments", "codes", "keys", "roles"):
        assert printed[part]["items"] == answer[part]["items"]
    assert (printed["since"], printed["checkedBy"]) == (answer["since"], "use")

    lines = (await command("unused")).splitlines()
    assert "  second of second, assignment" in [line.rpartition(" ")[0] for line in lines]
    assert "  first: system:role:list" in lines

    store_uses(house.database_url, {}, since_days=5)
    shorter = await command("unused")
    assert shorter.startswith("Uses are recorded since ")
    assert "this is about 5 days, and not about 90.\n" in shorter
    store_uses(house.database_url, {}, since_days=0)
    assert (await command("unused")).startswith("Use is unknown: it has been recorded since ")


async def test_the_log_of_all_decisions_is_replayed(
    published_database_url: str, redis_url: str, tmp_path: Path, command_on: Callable[[Inside], Command]
) -> None:
    log = tmp_path / "decisions.jsonl"
    variables = all_decisions(log)
    async with inside_published(published_database_url, redis_url, **variables) as service:
        reader = await member(
            service, "reader", "system:service:list", "system:service:resources", "system:*"
        )
        assert (await service.ask("GET", "/api/service/list", token=reader.token)).status == 200
        store_uses(service.database_url, {reader.user_id: {"system:service:list": days_ago(0)}})
        by_use = await unused(service, 5)
    assert by_use["checkedBy"] == "use", "the log does not go back so far"

    first = json.loads(log.read_text().splitlines()[0])
    log.write_text(json.dumps(first | {"time": f"{days_ago(30)}T00:00:00Z"}) + "\n" + log.read_text())
    async with inside_published(published_database_url, redis_url, **variables) as service:
        by_replay = await unused(service, 5)
    assert by_replay["checkedBy"] == "replay"
    assert proposed(by_replay, "reader") == ["system:resource:list", "system:service:list"]

    printed = await command_on(service)("unused", "--days", "5", "--log", str(log), "--json")
    assert printed["checkedBy"] == "replay"
