"""The export of a whole service: what is done by HTTP is in the file within seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.audit.conftest import until
from tests.support.inside import inside_published
from tests.web.test_metrics import TOKEN, value

pytestmark = pytest.mark.anyio


async def test_operations_logins_and_decisions_of_a_service_are_exported(
    published_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "audit.jsonl"
    logs = ["operations", "logins", "decisions"]
    given = {"archive": {"url": f"file://{path}", "logs": logs, "start": "beginning"}}
    chosen = {
        "PORTCULLIS_EXPORT__DESTINATIONS": json.dumps(given),
        "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN,
    }

    def exported() -> list[Any]:
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def has(log: str, **members: Any) -> bool:
        return any(item["log"] == log and members.items() <= item["entry"].items() for item in exported())

    async with inside_published(published_database_url, redis_url, **chosen) as service:
        new_user = {"userName": "bob", "nickName": "Bob", "password": "a-Long-enough-1", "roleIds": [3]}
        await service.data("POST", "/api/user", new_user)
        token = await service.log_in("bob", "a-Long-enough-1")
        denied = await service.ask("DELETE", "/api/user/1", token=token)
        assert denied.status == 403
        await until(lambda: has("logins", event="login", userName="bob", outcome="success"))
        await until(lambda: has("operations", targets=["user:bob"], status=201))
        await until(lambda: has("decisions", decision=denied.json["decisionId"], outcome="deny"))
        text = (await service.ask("GET", "/metrics", None, token=TOKEN)).body.decode()
        assert value(text, "portcullis_export_entries_total", destination="archive", outcome="sent") >= 3
        assert value(text, "portcullis_export_entries_total", destination="archive", outcome="dropped") == 0
        assert value(text, "portcullis_export_dead_letters", destination="archive") == 0
        assert value(text, "portcullis_export_lag_seconds", destination="archive") < 60
    ids = [item["id"] for item in exported()]
    assert len(set(ids)) == len(ids)
    for secret in (b"a-Long-enough-1", token.encode()):
        assert secret not in path.read_bytes()
