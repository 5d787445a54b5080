"""``portcullis policy report`` of an installation."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.features.policy_tests import commands_report as policy_report
from service.features.policy_tests.report_gathering import gather
from tests.features.explain.test_instants import NOTHING_TESTED
from tests.features.policy_tests.test_report_documents import ATTRIBUTES, ELEMENTS, Page
from tests.support.inside import Inside
from tests.support.members import ids_of

HOSTILE = "<script>alert(1)</script>\u202e|`x`"
SEVEN = {"resourceName": "Seven", "resourceCode": "seven", "method": "GET", "path": "/api/user/7"}


async def test_a_report_of_an_installation_has_roles_findings_and_who_changed_what(
    service: Inside, command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = await service.data("POST", "/api/resource", SEVEN)
    (button,) = await ids_of(service, "system:user:list")
    bound = f"/api/resource/{saved['id']}/buttons"
    await service.data("PUT", bound, {"menuIds": [button]}, ("If-Match", "*"))
    role = await service.data("POST", "/api/role", {"roleName": "Clerk", "roleCode": "clerk"})
    given = f"/api/role/{role['id']}/permissions"
    await service.data("PUT", given, {"menuIds": [button]}, ("If-Match", "*"))
    async with await psycopg.AsyncConnection.connect(service.database_url) as connection:
        await connection.execute(
            "UPDATE sys.policy_revision SET user_name = %s, cause = %s WHERE revision = 2", (HOSTILE, HOSTILE)
        )
    file = tmp_path / "report.html"

    rights: list[Any] = []
    async with asyncio.timeout(10):  # entries of the operation log are written a moment after their event
        while not rights:
            await asyncio.sleep(0.1)
            rights = (await command("log", "--json"))["rights"]
    gathered: list[Any] = []

    def gather_once(*given: Any, **named: Any) -> Any:
        if not gathered:
            gathered.append(gather(*given, **named))
        return gathered[0]

    monkeypatch.setattr(policy_report, "gather", gather_once)
    # tests/policies asks the shipped tables, test_report_files.py has what a report says of them.
    monkeypatch.setattr(
        "service.features.policy_tests.report_gathering.tested", lambda *_, **__: NOTHING_TESTED
    )

    output = await command("report", "--output", str(file), "--since", "1")
    await command("report", "--output", str(tmp_path / "report.md"), "--since", "1")

    assert " findings not accepted" in output
    page = Page(file.read_text("utf-8"))
    assert {tag for tag, _ in page.elements} <= ELEMENTS
    assert {name for _, attributes in page.elements for name in attributes} <= ATTRIBUTES
    assert "<script>alert(1)</script><U+202E>|`x`" in page.text
    text = (tmp_path / "report.md").read_text("utf-8")
    lines = text.splitlines()
    assert "| Revision in force | 3 |" in lines
    assert "| `clerk` | 0 | `system:user:list` |" in lines
    assert "| Request | Authentication | admin | auditor | clerk | super | user |" in lines
    assert "| `GET /api/user/list` | `@login`<br>`@service` | wildcard | yes | yes | wildcard | no |" in lines
    assert "| `GET /api/user/7` | `@login`<br>`@service` | wildcard | yes | no | wildcard | no |" in lines
    assert "| `POST /api/auth/login` |  | anyone | anyone | anyone | anyone | anyone |" in lines
    assert any(line.startswith("| resource-takes-requests | `GET /api/user/7` |") for line in lines)
    hostile = r"\<script\>alert(1)\</script\>\<U+202E\>\|\`x\`"
    (revision,) = [line for line in lines if line.startswith("| 2 | ")]
    assert revision.endswith(
        f" | {hostile} | {hostile} | `+ p, resource, GET /api/user/7, @login`<br>"
        "`+ p, assurance, resource GET /api/user/7, @anyone` |"
    )
    (third,) = [line for line in lines if line.startswith("| 3 | ")]
    assert third.endswith(
        "| admin | Buttons of resource GET /api/user/7 replaced by admin |"
        " `- p, resource, GET /api/user/7, @login`<br>`+ p, resource, GET /api/user/7, system:user:list` |"
    )
    assert " UTC | admin | " in third
    (changed,) = [line for line in lines if "| `role:clerk` | permissions |" in line]
    assert changed.endswith("| admin | `role:clerk` | permissions |  | `system:user:list` |")
    assert "| `GET /api/user/7` | a holder of system:user:detail |  |" in lines
