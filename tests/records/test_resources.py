from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict, NotFound, ValidationFailed
from service.records import resources
from service.records.resources import ResourceFilter, ResourceValues

pytestmark = pytest.mark.anyio

REPORT = ResourceValues("Report", "report.read", "GET", "/api/report/{id}")


async def test_a_resource_is_enabled_and_of_version_one_when_it_is_created(
    connection: AsyncConnection,
) -> None:
    made = await resources.create(connection, REPORT)

    assert (made.enabled, made.version, made.path) == (True, 1, "/api/report/{id}")
    assert await resources.read(connection, made.id) == made


async def test_a_resource_can_be_created_disabled(connection: AsyncConnection) -> None:
    assert not (await resources.create(connection, replace(REPORT, enabled=False))).enabled


async def test_an_edit_stores_all_values_and_raises_the_version(connection: AsyncConnection) -> None:
    made = await resources.create(connection, REPORT)

    values = replace(REPORT, resource_name="Reports", enabled=False)
    edited = await resources.update(connection, made.id, values)

    assert (edited.resource_name, edited.enabled, edited.version) == ("Reports", False, 2)
    assert (await resources.set_enabled(connection, made.id, enabled=True)).version == 3


@pytest.mark.parametrize(
    ("other", "field"),
    [
        (replace(REPORT, resource_code="other", path="/api/report/{report_id}"), "path"),
        (replace(REPORT, resource_code="other"), "path"),
        (replace(REPORT, method="POST"), "resourceCode"),
    ],
)
async def test_a_resource_in_the_way_of_another_is_named_by_the_conflict(
    connection: AsyncConnection, other: ResourceValues, field: str
) -> None:
    first = await resources.create(connection, REPORT)
    second = await resources.create(connection, ResourceValues("Second", "second", "GET", "/api/second"))

    with pytest.raises(Conflict) as creating:
        await resources.create(connection, other)
    with pytest.raises(Conflict) as editing:
        await resources.update(connection, second.id, other)

    named = {"rule": "unique", "field": field, "resourceId": first.id}
    assert creating.value.extra == editing.value.extra == named


async def test_a_resource_is_not_in_its_own_way(connection: AsyncConnection) -> None:
    made = await resources.create(connection, REPORT)

    assert (await resources.update(connection, made.id, REPORT)).version == 2


async def test_paths_of_one_shape_with_other_methods_stand_side_by_side(connection: AsyncConnection) -> None:
    await resources.create(connection, REPORT)
    await resources.create(connection, replace(REPORT, resource_code="report.delete", method="DELETE"))


async def test_deleting_a_resource_takes_its_bindings_along(connection: AsyncConnection) -> None:
    listed = await resources.page(connection, ResourceFilter(path="/api/user/list"))

    await resources.delete(connection, listed.items[0].id)

    with pytest.raises(NotFound):
        await resources.read(connection, listed.items[0].id)
    count = text("SELECT count(*) FROM sys.action_resource WHERE resource_id = :id")
    assert (await connection.execute(count, {"id": listed.items[0].id})).scalar_one() == 0


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        (ResourceFilter(resource_name="LIST u"), ["user.list"]),
        (ResourceFilter(resource_code="user.d"), ["user.detail"]),
        (ResourceFilter(method=["DELETE"]), ["role.delete"]),
        (ResourceFilter(path="/role/{id}", method=["PUT"]), ["role.update"]),
        (ResourceFilter(path="%"), []),
        (ResourceFilter(enabled=False), []),
    ],
)
async def test_resources_are_filtered_by_their_fields(
    connection: AsyncConnection, criteria: ResourceFilter, expected: list[str]
) -> None:
    listed = await resources.page(connection, criteria)

    assert [resource.resource_code for resource in listed.items] == expected
    assert listed.total == len(expected)


async def test_every_sort_of_resources_works_and_an_unknown_one_is_refused(
    connection: AsyncConnection,
) -> None:
    for sort in resources.SORTS:
        rising = await resources.page(connection, ResourceFilter(), size=200, sort=sort)
        falling = await resources.page(connection, ResourceFilter(), size=200, sort=f"-{sort}")
        assert rising.items == falling.items[::-1]
    with pytest.raises(ValidationFailed):
        await resources.page(connection, ResourceFilter(), sort="shape")
