from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, Table, insert, null, select, text
from sqlalchemy.exc import IntegrityError

from service.records.database.transactions import engine
from service.records.schema.logs import login_log, operation_log
from service.records.schema.of_users import file, object_space
from service.records.schema.policy import casbin_rule, policy_revision
from service.records.schema.rights import (
    action_resource,
    menu,
    opening,
    resource,
    role,
    role_menu,
    service,
    user,
    user_role,
)
from tests.support.cases import with_each

ZERO_ID = "00000000-0000-0000-0000-000000000000"
NEW_USER = {"user_name": "eve", "user_name_key": "eve", "nick_name": "Eve", "password_hash": "x"}
NEW_ROLE = {"role_name": "Guard", "role_name_key": "guard", "role_code": "guard"}
NEW_MENU = {"menu_type": "Menu", "title": "Tower", "bit_position": null()}
NEW_BUTTON = {"menu_type": "Button", "title": "Open", "auth_mark": "gate:open"}
NEW_RESOURCE = {
    "resource_name": "Gate",
    "resource_code": "gate",
    "method": "GET",
    "path": "/api/gate",
}
NEW_FILE = {"key": "k", "name": "n", "size": 0, "sha256": "0" * 64, "content_type": "text/plain"}
NEW_OPERATION = {
    "create_time": "2026-11-21T02:33:53Z",
    "event_id": ZERO_ID,
    "module": "auth",
    "action": "login",
    "kind": "LOGIN",
    "method": "POST",
    "url": "/api/auth/login",
    "status": 200,
    "elapsed_ms": 0.5,
}
NEW_LOGIN = {
    "create_time": "2026-11-21T02:33:53Z",
    "event_id": ZERO_ID,
    "event": "login",
    "outcome": "success",
}

REFUSED: list[tuple[Table, dict[str, Any], str]] = [
    (user, NEW_USER | {"user_name_key": "admin"}, "user_user_name_key_key"),
    (user, NEW_USER | {"user_name": ""}, "user_user_name_check"),
    (user, NEW_USER | {"status": "asleep"}, "user_status_check"),
    (user, NEW_USER | {"gender": "?"}, "user_gender_check"),
    (user, NEW_USER | {"version": 0}, "user_version_check"),
    (role, NEW_ROLE | {"role_name_key": "auditor"}, "role_role_name_key_key"),
    (role, NEW_ROLE | {"role_code": "auditor"}, "role_role_code_key"),
    (role, NEW_ROLE | {"role_code": "Guard"}, "role_role_code_check"),
    (role, NEW_ROLE | {"role_code": "guard\n"}, "role_role_code_check"),
    (menu, NEW_MENU | {"menu_type": "Dialog"}, "menu_menu_type_check"),
    (menu, NEW_MENU | {"bit_position": 500}, "menu_button_check"),
    (menu, NEW_MENU | {"parent_id": 10**9}, "menu_parent_id_fkey"),
    (menu, NEW_BUTTON | {"auth_mark": null()}, "menu_button_check"),
    (menu, NEW_BUTTON | {"bit_position": null()}, "menu_button_check"),
    (menu, NEW_BUTTON | {"bit_position": 0}, "menu_bit_position_key"),
    (menu, NEW_BUTTON | {"bit_position": -1}, "menu_bit_position_check"),
    (menu, NEW_BUTTON | {"auth_mark": "system:user:list"}, "menu_button_auth_mark_key"),
    (menu, NEW_BUTTON | {"auth_mark": "*"}, "menu_button_auth_mark_key"),
    *(
        (menu, NEW_BUTTON | {"auth_mark": mark}, "menu_auth_mark_check")
        for mark in ("", "a:", ":a", "a::b", "A", "@login", "a,b", "a b", "sys*", "a:*b", "a\n", "a" * 129)
    ),
    (resource, NEW_RESOURCE | {"resource_code": "role.list"}, "resource_resource_code_key"),
    (resource, NEW_RESOURCE | {"method": "HEAD"}, "resource_method_check"),
    (resource, NEW_RESOURCE | {"path": "/api/user/{user_id}"}, "resource_service_method_shape_key"),
    *(
        (resource, NEW_RESOURCE | {"path": path}, "resource_path_check")
        for path in (
            "",
            "api",
            "/a/",
            "//a",
            "/a/./b",
            "/..",
            "/a b",
            "/{a}b",
            "/{}",
            "/{1}",
            "/a,b",
            "/a\n",
            "/%41",
        )
    ),
    (resource, NEW_RESOURCE | {"service": "nowhere"}, "resource_other_service_fkey"),
    *(
        (service, {"name": name}, "service_name_check")
        for name in ("portcullis", "", "1a", "-a", "Orders", "a b", "a\n", "a" * 33)
    ),
    (opening, {"code": "@login"}, "opening_object_check"),
    (opening, {"resource_id": 1, "code": "a:b"}, "opening_code_check"),
    (file, NEW_FILE | {"size": -1}, "file_size_check"),
    (file, NEW_FILE | {"sha256": "0" * 63}, "file_sha256_check"),
    (file, NEW_FILE | {"token_expire_time": "2026-11-21T02:33:53Z"}, "file_token_check"),
    (file, NEW_FILE | {"owner_id": 10**9}, "file_owner_id_fkey"),
    (file, NEW_FILE | {"state": "lost"}, "file_state_check"),
    (file, NEW_FILE | {"sha256": null()}, "file_stored_check"),
    (file, NEW_FILE | {"state": "pending"}, "file_pending_check"),
    (file, NEW_FILE | {"lease_time": "2026-11-21T02:33:53Z"}, "file_pending_check"),
    (file, NEW_FILE | {"state": "discarded", "token_hash": "0"}, "file_shared_check"),
    (object_space, {"prefix": "../elsewhere"}, "object_space_prefix_check"),
    (operation_log, NEW_OPERATION | {"status": 42}, "operation_log_status_check"),
    (operation_log, NEW_OPERATION | {"elapsed_ms": -1}, "operation_log_elapsed_ms_check"),
    (operation_log, NEW_OPERATION | {"decision": "maybe"}, "operation_log_decision_check"),
    (login_log, NEW_LOGIN | {"outcome": "maybe"}, "login_log_outcome_check"),
    (
        policy_revision,
        {"revision": 0, "digest": "d", "line_count": 0, "cause": "c"},
        "policy_revision_revision_check",
    ),
    (casbin_rule, {"v0": "endpoint"}, "ptype"),
]


@pytest.fixture
def connection(shared_url: str) -> Iterator[Connection]:
    """A transaction that is rolled back after the test."""
    with engine(shared_url).connect() as opened:
        yield opened


@with_each(
    ("table", "good"),
    [
        (user, NEW_USER),
        (role, NEW_ROLE),
        (menu, NEW_MENU),
        (menu, NEW_BUTTON),
        (menu, NEW_BUTTON | {"auth_mark": "a:*:c_d-9"}),
        (resource, NEW_RESOURCE),
        (resource, NEW_RESOURCE | {"path": "/"}),
        (resource, NEW_RESOURCE | {"path": "/a.b/{x}/~c"}),
        (service, {"name": "a-1"}),
        (file, NEW_FILE),
        (operation_log, NEW_OPERATION),
        (login_log, NEW_LOGIN),
    ],
)
def test_a_row_that_breaks_no_rule_is_stored(
    connection: Connection, table: Table, good: dict[str, Any]
) -> None:
    with connection.begin_nested() as alone:
        stored = connection.execute(insert(table).values(good).returning(table.c.create_time))
        assert stored.one() is not None
        alone.rollback()


@with_each(("table", "bad", "constraint"), REFUSED)
def test_a_row_that_breaks_a_rule_is_refused(
    connection: Connection, table: Table, bad: dict[str, Any], constraint: str
) -> None:
    with pytest.raises(IntegrityError, match=constraint), connection.begin_nested():
        connection.execute(insert(table).values(bad))


def test_resources_of_other_services_may_end_in_a_slash_and_share_a_path_with_those_of_this_one(
    connection: Connection,
) -> None:
    connection.execute(insert(service).values(name="orders"))
    for place, path in enumerate(("/api/gate", "/api/gate/", "/")):
        row = NEW_RESOURCE | {"resource_code": f"gate{place}", "path": path, "service": "orders"}
        connection.execute(insert(resource).values(row))
    connection.execute(insert(resource).values(NEW_RESOURCE))
    again = NEW_RESOURCE | {"resource_code": "more", "path": "/api//", "service": "orders"}
    with pytest.raises(IntegrityError, match="resource_path_check"):
        connection.execute(insert(resource).values(again))


def test_the_bit_of_a_deleted_button_is_never_given_again(connection: Connection) -> None:
    given = []
    for _ in range(3):
        made = insert(menu).values(NEW_BUTTON).returning(menu.c.id, menu.c.bit_position)
        button, bit = connection.execute(made).one()
        given.append(bit)
        connection.execute(menu.delete().where(menu.c.id == button))
    highest = connection.execute(text("SELECT max(bit_position) FROM sys.menu")).scalar_one()
    assert highest < given[0] < given[1] < given[2]


def test_menus_may_share_an_auth_mark_with_a_button(connection: Connection) -> None:
    for _ in range(2):
        connection.execute(insert(menu).values(NEW_MENU | {"auth_mark": "system:user:list"}))


@pytest.mark.parametrize("table", [role, menu])
def test_what_is_in_use_can_not_be_deleted(connection: Connection, table: Table) -> None:
    column = user_role.c.role_id if table is role else role_menu.c.menu_id
    used = connection.execute(select(column)).scalars().first()
    with pytest.raises(IntegrityError, match=r"violates .*foreign key|RESTRICT"):
        connection.execute(table.delete().where(table.c.id == used))


def test_a_bound_button_can_not_be_deleted_and_a_resource_takes_its_bindings_along(
    connection: Connection,
) -> None:
    binding = connection.execute(select(action_resource)).first()
    assert binding is not None
    connection.execute(resource.delete().where(resource.c.id == binding.resource_id))
    left = connection.execute(
        select(action_resource).where(action_resource.c.resource_id == binding.resource_id)
    )
    assert left.all() == []


@pytest.mark.parametrize(("table", "row"), [(operation_log, NEW_OPERATION), (login_log, NEW_LOGIN)])
def test_a_logged_event_is_stored_once_and_may_get_a_month_of_its_own(
    connection: Connection, table: Table, row: dict[str, Any]
) -> None:
    connection.execute(
        text(
            f"CREATE TABLE sys.{table.name}_2001_11 PARTITION OF sys.{table.name}"
            " FOR VALUES FROM ('2001-11-01') TO ('2001-12-01')"
        )
    )
    old = row | {"create_time": "2001-11-21T02:33:53Z"}
    connection.execute(insert(table).values(old))
    assert connection.execute(text(f"SELECT count(*) FROM sys.{table.name}_2001_11")).scalar_one() == 1
    with pytest.raises(IntegrityError, match="event_id"):
        connection.execute(insert(table).values(old))
