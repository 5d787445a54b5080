from dataclasses import dataclass
from typing import Annotated

import pytest
from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records import roles
from service.records.database.filters import conditions_of, equals
from service.records.database.row_mapper import RowMapper, RowWriter
from service.records.roles import ROLE, RoleValues
from service.records.schema.rights import menu, role


@dataclass
class _Shuffled:
    description: str | None
    role_name: str
    role_code: str


@dataclass
class _Misnamed:
    id: int
    rolename: str


@dataclass
class _Marks:
    menu_type: str
    marks: tuple[str, ...]


async def test_each_field_is_read_from_the_column_of_its_name_in_any_order(
    connection: AsyncConnection,
) -> None:
    mapper = RowMapper(_Shuffled, role)
    columns = reversed([*mapper.columns, role.c.id])

    (mapped,) = await mapper.all(connection, select(*columns).where(role.c.role_code == "auditor"))

    assert mapped == _Shuffled(
        "May read lists, details and the policy, and export the logs", "Auditor", "auditor"
    )


async def test_an_array_is_read_as_a_tuple(connection: AsyncConnection) -> None:
    mapper = RowMapper(_Marks, menu, marks=func.array_agg(menu.c.auth_mark))
    statement = (
        select(*mapper.columns).where(menu.c.auth_mark == "system:user:list").group_by(menu.c.menu_type)
    )

    assert await mapper.one_or_none(connection, statement) == _Marks("Button", ("system:user:list",))


async def test_no_row_is_no_record(connection: AsyncConnection) -> None:
    assert await ROLE.one_or_none(connection, select(*ROLE.columns).where(role.c.id == 0)) is None


def test_a_field_without_a_column_and_an_expression_without_a_field_are_noticed_at_import() -> None:
    with pytest.raises(TypeError, match="rolename"):
        RowMapper(_Misnamed, role)
    with pytest.raises(TypeError, match="nothing"):
        RowMapper(_Shuffled, role, nothing=func.now())


def test_what_is_stored_has_the_key_of_a_name_and_leaves_out_none_where_none_cannot_be_stored() -> None:
    edited = RowWriter(RoleValues, role).edited({"role_name": "ÆGIR", "description": None, "enabled": None})

    assert {name: edited[name] for name in edited.keys() - {"version", "update_time"}} == {
        "role_name": "ÆGIR",
        "role_name_key": "ægir",
        "description": None,
    }


def test_what_no_record_declares_is_not_written() -> None:
    with pytest.raises(TypeError, match="RoleValues has no role_code"):
        RowWriter(RoleValues, role).edited({"role_code": "x"})


def test_a_record_that_declares_nothing_or_has_no_column_stops_every_start() -> None:
    with pytest.raises(TypeError, match="_Shuffled is not declared"):
        RowWriter(_Shuffled, role)
    unknown = (
        r"RoleValues and sys\.menu do not agree on description, max_delegation, max_duration, "
        r"personal_keys, reason_required, role_name"
    )
    with pytest.raises(TypeError, match=unknown):
        RowWriter(RoleValues, menu)


async def test_an_edit_of_some_fields_leaves_the_others(connection: AsyncConnection) -> None:
    values = RoleValues(role_name="Keeper", description="Of the keys", enabled=False)
    made = await roles.create(connection, "keeper", values)

    edited = await roles.update(connection, made.id, {"description": "Of the gate"})

    kept = (edited.role_name, edited.role_code, edited.enabled, edited.version)
    assert kept == ("Keeper", "keeper", False, 2)
    assert edited.description == "Of the gate"


async def test_fields_that_a_filter_leaves_out_ask_nothing(connection: AsyncConnection) -> None:
    @dataclass
    class _Filter:
        enabled: Annotated[bool | None, equals(role.c.enabled)] = None

    await connection.execute(
        insert(role).values(role_name="Off", role_name_key="off", role_code="off", enabled=False)
    )
    statement = select(role.c.role_code).where(*conditions_of(_Filter(enabled=False)))

    assert conditions_of(_Filter()) == ()
    assert list((await connection.execute(statement)).scalars()) == ["off"]


def test_a_field_of_a_filter_without_a_condition_is_refused() -> None:
    @dataclass
    class _Open:
        enabled: bool | None = None

    with pytest.raises(TypeError, match=r"_Open\.enabled"):
        conditions_of(_Open(enabled=True))
