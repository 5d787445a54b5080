"""Auditors read who may do what, and change nothing of it."""

from __future__ import annotations

import pytest

from tests.log_reading.entries import person
from tests.support.inside import Inside
from tests.support.members import ids_of, query

pytestmark = pytest.mark.anyio


async def test_an_auditor_reads_what_roles_and_buttons_open_and_writes_none_of_it(service: Inside) -> None:
    await person(service.database_url, "reader", "auditor")
    token = await service.log_in("reader")
    (button,) = await ids_of(service, "system:role:list")
    ((role,),) = await query(service, "SELECT id FROM sys.role WHERE role_code = 'auditor'")
    ((resource,),) = await query(service, "SELECT id FROM sys.resource WHERE path = '/api/role/list'")
    writes: dict[str, dict[str, list[int]]] = {
        f"/api/role/{role}/permissions": {"menuIds": []},
        f"/api/resource/{resource}/buttons": {"menuIds": []},
        f"/api/menu/{button}/resources": {"resourceIds": []},
    }

    shown = [(await service.ask("GET", path, token=token)).json["data"] for path in writes]
    written = [await service.ask("PUT", path, body, token=token) for path, body in writes.items()]

    assert button in shown[0]["menuIds"]
    assert button in shown[1]["menuIds"]
    assert shown[2]["resourceIds"] == [resource]
    assert [(answer.status, answer.json["layer"]) for answer in written] == [(403, "endpoint")] * 3
