"""Roles as tables, over the whole service."""

import csv
import io
import json
from typing import Any

import pytest

from tests.features.tables import tables
from tests.features.tables.tables import KINDS, NO_NOTE, faults
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import member, query
from tests.web.driver import Answer

EXPORT, IMPORT, DRY = "/api/role/export", "/api/role/import", "/api/role/import?dryRun=true"
HEADER = "roleCode,roleName,description,enabled,permissions\r\n"


async def send(
    house: Inside,
    table: str | bytes,
    target: str = IMPORT,
    token: str | None = None,
    kind: str = "text/csv",
) -> Answer:
    return await tables.send(house, target, table, token, kind)


async def exported(house: Inside, form: str = "csv") -> bytes:
    answer = await house.ask("GET", f"{EXPORT}?format={form}")
    assert answer.status == 200, answer.body
    return answer.body


async def stored(house: Inside) -> list[Any]:
    """Everything about roles that there is."""
    return await query(
        house,
        "SELECT r.*, ARRAY(SELECT menu_id FROM sys.role_menu m WHERE m.role_id = r.id ORDER BY 1)"
        " FROM sys.role r ORDER BY id",
    )


@pytest.mark.parametrize("form", ["csv", "json", "xlsx"])
async def test_what_is_exported_can_be_imported_and_changes_nothing(house: Inside, form: str) -> None:
    awkward = {"roleCode": "awkward", "roleName": '=cmd|"x"', "description": "@SUM(1)\r\n, 'two' lines\t"}
    await house.data("POST", IMPORT, {"roles": [awkward | {"permissions": ["system:*", "system:user:list"]}]})
    await house.data("POST", IMPORT, {"roles": [{"roleCode": "-1", "roleName": "'=x", "description": ""}]})
    before = await stored(house)

    table = await exported(house, form)
    answer = await send(house, table, kind=KINDS[form])

    assert answer.json["data"] == {"dryRun": False, "created": 0, "updated": 0, "unchanged": 6, "rows": []}
    assert await stored(house) == before


async def test_an_export_goes_from_one_installation_to_another(house: Inside) -> None:
    table = await exported(house)
    await query(house, "DELETE FROM sys.role WHERE role_code <> 'super'")

    answer = await send(house, table)

    assert (answer.json["data"]["created"], answer.json["data"]["unchanged"]) == (3, 1)
    assert await exported(house) == table


async def test_an_export_is_a_file_that_a_spreadsheet_shows_and_does_not_compute(house: Inside) -> None:
    await house.data(
        "POST", IMPORT, {"roles": [{"roleCode": "evil", "roleName": "=1+1", "description": "+x"}]}
    )

    answer = await house.ask("GET", EXPORT)

    assert answer.header("content-type") == "text/csv; charset=utf-8; header=present"
    disposition = answer.header("content-disposition") or ""
    assert disposition.startswith('attachment; filename="roles-')
    assert disposition.endswith('.csv"')
    *_, evil = csv.reader(io.StringIO(answer.body.decode(), newline=""))
    assert evil == ["evil", "'=1+1", "'+x", "true", "", "false", "true", "", ""]
    as_json = json.loads(await exported(house, "json"))
    assert as_json["roles"][-1] == {
        "roleCode": "evil",
        "roleName": "=1+1",
        "description": "+x",
        "enabled": True,
        "maxDuration": None,
        "reasonRequired": False,
        "personalKeys": True,
        "maxDelegation": None,
        "permissions": [],
    }


async def test_rows_are_created_and_edited_and_each_is_told(house: Inside) -> None:
    answer = await send(
        house,
        HEADER
        + "clerk,Clerk,Reads lists,true,system:user:list system:role:list\r\n"
        + "auditor,Inspector,,false,system:user:list\r\n"
        + "user,User,May do what a login alone allows,true,\r\n",
    )

    assert answer.json["data"] == {
        "dryRun": False,
        "created": 1,
        "updated": 1,
        "unchanged": 1,
        "rows": [
            {"row": 1, "name": "clerk", "outcome": "created", "changes": [], **NO_NOTE},
            {
                "row": 2,
                "name": "auditor",
                "outcome": "updated",
                "changes": ["roleName", "description", "enabled", "permissions"],
                **NO_NOTE,
            },
        ],
    }
    roles = json.loads(await exported(house, "json"))["roles"]
    assert roles[-1]["permissions"] == ["system:role:list", "system:user:list"]
    assert roles[2] == {
        "roleCode": "auditor",
        "roleName": "Inspector",
        "description": None,
        "enabled": False,
        "maxDuration": None,
        "reasonRequired": False,
        "personalKeys": True,
        "maxDelegation": None,
        "permissions": ["system:user:list"],
    }


async def test_columns_that_are_left_out_stay_as_they_are(house: Inside) -> None:
    before = json.loads(await exported(house, "json"))["roles"]

    await send(house, "enabled,roleCode\r\nfalse,auditor\r\n")

    after = json.loads(await exported(house, "json"))["roles"]
    assert after == [role | {"enabled": False} if role["roleCode"] == "auditor" else role for role in before]


async def test_a_role_gets_the_pages_above_its_new_buttons_and_keeps_those_it_has(house: Inside) -> None:
    await send(house, "roleCode,roleName,permissions\r\nclerk,Clerk,system:user:list\r\n")
    await send(house, "roleCode,permissions\r\nclerk,system:role:list\r\n")

    titles = await query(
        house,
        "SELECT title FROM sys.menu WHERE id IN (SELECT menu_id FROM sys.role_menu m"
        " JOIN sys.role r ON r.id = m.role_id WHERE role_code = 'clerk') ORDER BY title",
    )
    assert [title for (title,) in titles] == ["List and read roles", "Roles", "System", "Users"]


async def test_a_dry_run_answers_as_the_import_would_and_saves_nothing(house: Inside) -> None:
    table = HEADER + "clerk,Clerk,,true,system:user:list\r\nauditor,Inspector,,true,\r\n"
    before = await stored(house)

    dry = await send(house, table, DRY)
    assert await stored(house) == before
    real = await send(house, table)

    assert dry.json["data"] == real.json["data"] | {"dryRun": True}
    refused = HEADER + "clerk,Clerk,,true,nosuch:code\r\n"
    assert faults(await send(house, refused, DRY)) == faults(await send(house, refused))


async def test_all_faulty_rows_are_told_and_none_is_saved(shared: Inside) -> None:
    before = await stored(shared)

    answer = await send(
        shared,
        HEADER
        + "clerk,Clerk,,true,system:user:list\r\n"
        + "one,Auditor,,true,\r\n"
        + "two,Two,,true,system:user:list no:such:code\r\n"
        + "three,,,true,\r\n"
        + "four,Clerk,,true,\r\n",
    )

    reported = faults(answer)
    assert [(row, field) for row, field, _ in reported] == [
        (2, "roleName"),
        (3, "permissions[1]"),
        (4, "roleName"),
        (5, "roleName"),
    ]
    assert reported[1][2] == "There is no such Button"
    assert "no:such:code" not in answer.body.decode()
    assert await stored(shared) == before


@with_each(
    ("table", "expected"),
    [
        (
            "Clerk,Clerk,,true,\r\n",
            [(1, "roleCode", "must have lower-case letters, digits, _ and - only")],
        ),
        ("clerk,Clerk,,maybe,\r\n", [(1, "enabled", "must be true or false")]),
        ("clerk,Clerk\r\n", [(1, "description", "The row has 2 cells, and the header 5")]),
        ("clerk,Cl\0rk,,true,\r\n", [(1, "roleName", "must not hold U+0000, which can't be seen")]),
        (
            "a,A,,true,\r\n\r\nb,B,,true,\r\na,C,,true,\r\n",
            [(4, "roleCode", "Row 1 has the same record")],
        ),
    ],
)
async def test_a_row_of_the_wrong_form_is_told_by_number_and_field(
    shared: Inside, table: str, expected: list[tuple[int, str, str]]
) -> None:
    assert faults(await send(shared, HEADER + table)) == expected


@with_each(
    ("body", "kind", "status", "code"),
    [
        (b"", "text/csv", 422, "validation_failed"),
        (b"roleName\r\nx\r\n", "text/csv", 422, "validation_failed"),
        (b"roleCode,id\r\na,1\r\n", "text/csv", 422, "validation_failed"),
        (b"roleCode,roleCode\r\na,a\r\n", "text/csv", 422, "validation_failed"),
        (b'roleCode\r\n"a\r\n', "text/csv", 400, "bad_request"),
        (b'roleCode\r\n"a"b\r\n', "text/csv", 400, "bad_request"),
        (b"roleCode\r\n\xff\r\n", "text/csv", 400, "bad_request"),
        (b"roleCode\r\n" + b"a\r\n" * 1001, "text/csv", 422, "validation_failed"),
        (b"roleCode\r\n" + b"a" * 200_000, "text/csv", 400, "bad_request"),
        (b"a" * 1_048_577, "text/csv", 413, "too_large"),
        (b"roleCode\r\na\r\n", "text/csv; charset=latin1", 415, "unsupported_media_type"),
        (b"roleCode\r\na\r\n", "text/csv; header=absent", 415, "unsupported_media_type"),
        (b"roleCode\r\na\r\n", "text/plain", 415, "unsupported_media_type"),
        (b'{"roles": [1]}', "application/json", 422, "validation_failed"),
        (b'{"roles": {}}', "application/json", 422, "validation_failed"),
        (b'{"users": []}', "application/json", 422, "validation_failed"),
        (b'{"roles": [{"roleCode": "a", "roleCode": "b"}]}', "application/json", 400, "bad_request"),
        (b'{"roles": [{"roleCode": "a\\u0000"}]}', "application/json", 422, "validation_failed"),
        (b'{"roles": [{"roleCode": "\\ud800"}]}', "application/json", 400, "bad_request"),
        (b'{"roles": [', "application/json", 400, "bad_request"),
    ],
)
async def test_what_is_no_table_is_refused(
    shared: Inside, body: bytes, kind: str, status: int, code: str
) -> None:
    answer = await send(shared, body, kind=kind)

    assert (answer.status, answer.code) == (status, code)


async def test_a_table_from_a_spreadsheet_is_read_with_its_mark_and_its_line_ends(house: Inside) -> None:
    answer = await send(
        house, b"\xef\xbb\xbf" + b'roleCode,"roleName"\nclerk,"Cl, erk"\n', kind='text/csv; charset="UTF-8"'
    )

    assert answer.json["data"]["created"] == 1


async def test_a_table_gives_nothing_that_the_caller_does_not_hold(house: Inside) -> None:
    importer = await member(house, "importer", "system:role:import", "system:user:list")
    table = (
        HEADER
        + "a,A,,true,system:user:list\r\n"  # held
        + "b,B,,true,system:user:delete\r\n"  # not held
        + "c,C,,true,*\r\n"
        + "super,Emptied,,true,*\r\n"  # a role that gives more
        + "auditor,Auditor,,false,\r\n"
        + "importer,importer,,true,system:role:import system:user:list system:*\r\n"  # the caller's own
    )

    answer = await send(house, table, token=importer.token)

    assert [(row, field) for row, field, _ in faults(answer)] == [
        (2, "permissions"),
        (3, "permissions"),
        (4, "roleCode"),
        (5, "roleCode"),
        (6, "permissions"),
    ]
    assert await importer.held() == {"system:role:import", "system:user:list"}
    alone = await send(house, HEADER + "a,A,,true,system:user:list\r\n", token=importer.token)
    assert alone.status == 200


async def test_a_table_leaves_somebody_who_may_do_everything(shared: Inside) -> None:
    for row in ("super,Super administrator,,false,*\r\n", "super,Super administrator,,true,\r\n"):
        for target in (IMPORT, DRY):
            answer = await send(shared, HEADER + row, target)
            assert (answer.status, answer.code) == (409, "conflict")


async def test_users_of_a_changed_role_feel_it_with_their_next_request(house: Inside) -> None:
    changed = await member(house, "changed", "system:role:list")
    renamed = await member(house, "renamed", "system:role:list")

    table = (
        "roleCode,roleName,permissions\r\nchanged,changed,system:user:list\r\nrenamed,New,system:role:list"
    )
    assert (await send(house, table)).json["data"]["updated"] == 2

    assert (await changed.ask("GET", "/api/role/list")).code == "refresh_required"
    assert await changed.held() == {"system:user:list"}
    assert (await renamed.ask("GET", "/api/role/list")).status == 200
