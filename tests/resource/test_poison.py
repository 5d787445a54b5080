"""What would break a reader of policy lines: refused at save, harmless when it is there all the same."""

from typing import Any

from tests.support.inside import Inside
from tests.support.members import ids_of, query

GOOD = {"resourceName": "x", "resourceCode": "x", "method": "GET", "path": "/api/x"}

PATHS = [
    "",
    "api/x",
    "/api/x,y",
    "/api/x, system:user:list",
    '/api/"x"',
    "/api/'x'",
    "/api/[x]",
    "/api/(x",
    "/api/x)",
    "/api/#x",
    " /api/x",
    "/api/x ",
    "/api/ x",
    "/api/x\n",
    "/api/x\np, endpoint, GET /api/user/list, @anyone",
    "/api/x\r",
    "/api/x\t",
    "/api/x\\y",
    "/api/x;a=1",
    "/api/x?y",
    "/api/x%20y",
    "/api/x%2fy",
    "/api//x",
    "/api/x/",
    "/api/./x",
    "/api/../x",
    "/api/*",
    "/api/:id",
    "/api/x.*",
    "/api/x$",
    "/api/^x",
    "/api/{",
    "/api/}",
    "/api/{}",
    "/api/{id",
    "/api/x{id}",
    "/api/{id}x",
    "/api/{i d}",
    "/api/{1}",
    "/api/{id:int}",
    "/api/{a}{b}",
    "/api/ü",
    "/api/\u202ex",
    "@unregistered",
    "@no-session",
    "/" + "x" * 1024,
]


REFUSED: dict[str, list[Any]] = {
    "path": PATHS,
    "method": ["HEAD", "OPTIONS", "get", "GET ", "GET, POST", "*", ""],
    "resourceCode": ["a,b", " a", 'a"b', "a[b", "#a", "", "a\n", "x" * 65],
    "resourceName": ["", " x", "x ", "x\ny", "x" * 129],
    "description": ["x" * 1001, "x\0"],
    "enabled": ["yes"],
    "id": [7],
}


async def test_a_value_that_breaks_a_rule_is_refused_by_its_field(shared: Inside) -> None:
    for field, values in REFUSED.items():
        for value in values:
            answer = await shared.ask("POST", "/api/resource", GOOD | {field: value})
            assert (answer.status, answer.fields) == (422, [field]), value


async def test_names_and_descriptions_may_hold_what_lines_may_not(shared: Inside) -> None:
    free = {"resourceName": "List users, all of them [#1]", "description": 'Say "x, y"\nand more'}

    made = await shared.data("POST", "/api/resource", GOOD | free)

    assert made.items() >= free.items()
    assert (await shared.ask("GET", "/api/user/info")).status == 200


INSERT = (
    "INSERT INTO sys.resource (resource_name, resource_code, method, path) VALUES ('x', 'bad', 'GET', {})"
)
RESTORE = "UPDATE sys.menu SET auth_mark = 'system:user:list' WHERE id = {}"
POISON = [
    INSERT.format("""'/api/x, [y#"'"""),
    INSERT.format("E'/api/x\\np, resource, @unregistered, @anyone'"),
    "UPDATE sys.menu SET auth_mark = '@anyone' WHERE id = {}",
    "UPDATE sys.menu SET auth_mark = 'a, b' WHERE id = {}",
    "UPDATE sys.menu SET auth_mark = ' #[' WHERE id = {}",
]


async def test_poison_forced_into_the_database_stops_changes_with_a_reason_and_no_other_request(
    service: Inside,
) -> None:
    (button,) = await ids_of(service, "system:user:list")
    await query(service, "ALTER TABLE sys.resource DROP CONSTRAINT resource_path_check")
    await query(service, "ALTER TABLE sys.menu DROP CONSTRAINT menu_auth_mark_check")
    for poison in POISON:
        await query(service, poison.format(button))

        refused = await service.ask("POST", "/api/resource", GOOD)

        assert (refused.status, refused.code) == (409, "conflict"), poison
        assert len(refused.json["faults"]) == 1
        (stated,) = refused.json["faultSentences"]
        assert stated["message"] == refused.json["faults"][0]
        assert stated["code"] in ("fault_of_object", "resource_without_code")
        for path in ("/api/user/info", "/api/role/list", "/api/resource/list"):
            answer = await service.ask("GET", path)
            assert (answer.status, answer.header("x-policy-revision")) == (200, "1")
        assert (await service.ask("GET", "/health/ready")).status == 200
        await query(service, "DELETE FROM sys.resource WHERE resource_code = 'bad'")
        await query(service, RESTORE.format(button))
    assert (await service.ask("POST", "/api/resource", GOOD)).status == 201


async def test_a_poisoned_resource_can_be_deleted_and_then_all_is_well(service: Inside) -> None:
    await query(service, "ALTER TABLE sys.resource DROP CONSTRAINT resource_path_check")
    await query(service, POISON[0])
    bad = (await service.data("GET", "/api/resource/list?resourceCode=bad"))["items"][0]

    await service.data("DELETE", f"/api/resource/{bad['id']}")

    await service.data("POST", "/api/resource", GOOD)
