"""No text that people read, whatever way it comes, may turn the direction of what is around it."""

import importlib
import pkgutil
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import service.records
from service.features.policy_history.state_reading import read_state
from service.kernel import fields
from service.kernel.fields import ITS_EDIT, ITS_TYPE
from service.laboratory.strict_yaml import YamlError
from tests.features.tables.tables import faults, send
from tests.support.cases import with_each
from tests.support.inside import Inside

TURNED = "us\u202eers"
USER = {"userName": "heron", "nickName": "Heron", "password": "four wary herons"}
BUTTON = {"menuType": "Button", "title": "Read", "authMark": "report:detail"}
RESOURCE = {"resourceCode": "r", "resourceName": "Read", "method": "GET", "path": "/api/report"}
ROLE = {"roleCode": "audit", "roleName": "Audit"}
WRITES: list[tuple[str, dict[str, Any], str]] = [
    *(("POST /api/user", USER, field) for field in ("userName", "nickName")),
    *(("POST /api/role", ROLE, field) for field in ("roleName", "description")),
    *(
        ("POST /api/menu", {"menuType": "Menu", "title": "Reports"}, field)
        for field in ("title", "name", "path", "component", "icon")
    ),
    *(("POST /api/menu", BUTTON, field) for field in ("title", "name", "icon", "authMark")),
    *(
        ("POST /api/resource", RESOURCE, field)
        for field in ("resourceCode", "resourceName", "path", "description")
    ),
    *(("POST /api/service", {"name": "orders"}, field) for field in ("name", "description")),
    ("PUT /api/user/profile", {}, "nickName"),
    ("POST /api/online/7/ban", {}, "reason"),
    ("POST /api/user/1/keys", {"name": "nightly"}, "name"),
]


@with_each(("line", "body", "field"), WRITES)
async def test_no_request_stores_it(shared: Inside, line: str, body: dict[str, Any], field: str) -> None:
    method, path = line.split(" ")
    answer = await shared.ask(method, path, body | {field: TURNED})
    assert (answer.status, answer.code, answer.fields) == (422, "validation_failed", [field])


@pytest.mark.feature("tables")
@pytest.mark.parametrize("name", ["@operator", "\uff20review:7"])
async def test_no_way_makes_a_user_whose_name_the_logs_have_for_what_is_no_user(
    shared: Inside, name: str
) -> None:
    for method, path, body in (
        ("POST", "/api/user", USER | {"userName": name}),
        ("PATCH", "/api/user/1", {"userName": name}),
        ("POST", "/api/user/import", {"users": [USER | {"userName": name}]}),
    ):
        answer = await shared.ask(method, path, body)
        assert answer.status == 422
        assert b"must not begin with @" in answer.body, answer.body


@pytest.mark.feature("tables")
async def test_no_table_stores_it(shared: Inside) -> None:
    users = "/api/user/import", f"userName,nickName\r\nheron,{TURNED}\r\n", "nickName"
    roles = "/api/role/import", f"roleCode,roleName\r\naudit,{TURNED}\r\n", "roleName"
    for path, table, field in (users, roles):
        answer = await send(shared, path, table)
        assert [(row, name) for row, name, _ in faults(answer)] == [(1, field)]


def test_no_state_file_holds_it(tmp_path: Path) -> None:
    escaped = '"us\\u202Eers"'
    path = tmp_path / "state.yaml"
    path.write_text(
        f"""format: 1
menus:
  reports: {{title: {escaped}, icon: {escaped}}}
  {escaped}: {{title: Others}}
buttons:
  report:read: {{title: {escaped}}}
services:
  orders: {{description: {escaped}}}
resources:
  orders GET /a: {{code: a, name: {escaped}, buttons: [], description: {escaped}}}
roles:
  audit: {{name: {escaped}, description: {escaped}}}
"""
    )
    with pytest.raises(YamlError) as raised:
        read_state(path)
    faults = [text for text in raised.value.faults if "U+202E" in text]
    assert len(faults) == 9


def test_each_text_of_a_record_has_a_rule_that_refuses_it() -> None:
    for module in pkgutil.walk_packages(service.records.__path__, "service.records."):
        if ".migrations" not in module.name:  # Alembic runs these
            importlib.import_module(module.name)
    count = 0
    for kind, declared in fields._DECLARED.items():
        for name, hint in get_type_hints(kind).items():
            rule = declared[name].rule
            if str not in (hint, *get_args(hint)) or rule in (ITS_EDIT, ITS_TYPE):
                continue
            count += 1
            assert rule(TURNED) is not None, f"{kind.__name__}.{name}"
    assert count > 15
