from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.authz.engine.rules import NOBODY, RESOURCE
from service.authz.publishing.derive import derive
from service.errors import Conflict, NotFound, ValidationFailed
from service.records import bindings, openings, resources, services
from service.records.resources import ResourceFilter, ResourceValues

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


CLOSED_AND_OPEN = """
INSERT INTO sys.service (name) VALUES ('orders');
INSERT INTO sys.resource (service, resource_name, resource_code, method, path, enabled)
    SELECT 'orders', code, code, 'GET', '/' || code, code <> 'disabled'
    FROM unnest(ARRAY['unbound', 'bound', 'bound-off', 'opened', 'opened-off', 'disabled']) code;
INSERT INTO sys.resource (resource_name, resource_code, method, path)
    SELECT code, code, 'GET', '/api/' || code FROM unnest(ARRAY['own-unbound', 'own-bound-off']) code;
UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:user:list';
INSERT INTO sys.action_resource (resource_id, menu_id)
    SELECT r.id, m.id FROM sys.resource r, sys.menu m WHERE
    (resource_code = 'bound' AND auth_mark IN ('system:user:list', 'system:role:list'))
    OR (resource_code IN ('bound-off', 'opened-off', 'own-bound-off') AND auth_mark = 'system:user:list');
INSERT INTO sys.opening (resource_id, code)
    SELECT id, '@login' FROM sys.resource WHERE resource_code IN ('opened', 'opened-off');
"""


async def test_closed_are_the_resources_whose_policy_line_lets_nobody_pass(
    connection: AsyncConnection,
) -> None:
    for statement in CLOSED_AND_OPEN.split(";\n")[:-1]:
        await connection.execute(text(statement))
    derived = derive(
        await bindings.bound(connection),
        services=await services.published(connection),
        openings=await openings.published(connection),
    )
    nobody = {name for name, codes in derived.by_object[RESOURCE].items() if codes == (NOBODY,)}

    listed = await resources.page(connection, ResourceFilter(closed=True), size=100)
    others = await resources.page(connection, ResourceFilter(closed=False), size=100)

    assert {"orders GET /unbound", "orders GET /bound-off", "GET /api/own-bound-off"} <= nobody
    assert {resource.object for resource in listed.items} == nobody
    assert "orders GET /disabled" in {resource.object for resource in others.items}
    assert not nobody & {resource.object for resource in others.items}
