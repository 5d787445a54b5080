"""What ends by itself, in answers about the policy, in what commands print and in the report."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.features.explain.test_instants import NOTHING_TESTED
from tests.support.inside import Inside

END = "2099-01-01T00:00:00.000Z"
READ = {"resourceName": "Read", "resourceCode": "read", "method": "GET", "path": "/orders/{id}"}
QUESTION = {"method": "GET", "path": "/orders/7", "service": "orders"}


async def test_answers_and_commands_and_the_report_tell_when_public_access_ends(
    service: Inside, command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await service.data("POST", "/api/service", {"name": "orders"})
    saved = await service.data("POST", "/api/resource", READ | {"service": "orders"})
    body = {"service": "orders", "resourceId": saved["id"], "code": "@anyone", "until": END}
    await service.data("POST", "/api/opening", body)
    await service.data("POST", "/api/opening", {"service": "orders", "code": "@login"})

    items = (await service.data("GET", "/api/policy/openings?size=200"))["items"]
    ends = {item["object"]: item["resource"]["until"] for item in items}
    assert {name for name in ends if name.startswith("orders ")} == {
        "orders GET /orders/{id}",
        "orders @unregistered",
    }
    assert {name: end for name, end in ends.items() if end} == {"orders GET /orders/{id}": END}
    explained = await service.data("POST", "/api/policy/explain", QUESTION)
    assert (explained["allowed"], explained["resource"]["until"]) == (True, END)

    assert f"@anyone until {END}" in await command("openings")
    printed = await command("explain", "--visitor", "GET", "/orders/7", "--service", "orders")
    assert f"opened by @anyone, until {END}" in printed
    # tests/policies asks the shipped tables, test_report_files.py has what a report says of them.
    monkeypatch.setattr(
        "service.features.policy_tests.report_gathering.tested", lambda *_, **__: NOTHING_TESTED
    )
    await command("report", "--output", str(tmp_path / "report.md"))
    assert f"| `@anyone until {END}` |" in (tmp_path / "report.md").read_text("utf-8")
