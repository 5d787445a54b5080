"""The list of users: filters, sorts, totals and pages."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import pytest

from service.features.embedded.stores import EmbeddedStores
from service.records.user_list import SORTS
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own
from tests.users.people import execute, role_id

MANY = 60
MAKE = f"""
INSERT INTO sys."user"
    (user_name, user_name_key, nick_name, password_hash, email, phone, status, create_time, update_time)
SELECT 'bird' || i, 'bird' || i, CASE i % 3 WHEN 0 THEN 'Crow' ELSE 'SWAN' END, 'x',
    CASE WHEN i % 2 = 0 THEN 'Bird' || i || '@Example.org' END, '+49 30 ' || i,
    CASE WHEN i % 10 = 0 THEN 'disabled' ELSE 'enabled' END,
    timestamptz '2026-01-01 00:00Z' + i * interval '1 day', timestamptz '2026-06-01 00:00Z'
FROM generate_series(1, {MANY}) i
"""
ODD = "100%_\\sure"


@pytest.fixture(scope="module")
async def _aviary(stores: EmbeddedStores, published_template: str) -> AsyncIterator[Inside]:
    async with inside_own(stores, published_template) as running:
        execute(running, MAKE)
        execute(
            running,
            "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
            " VALUES (%s, %s, 'Odd', 'x')",
            ODD,
            ODD,
        )
        execute(
            running,
            "INSERT INTO sys.user_role SELECT u.id, r.id FROM sys.user u, sys.role r"
            " WHERE user_name LIKE 'bird%5' AND role_code IN ('auditor', 'user')",
        )
        execute(
            running,
            "INSERT INTO sys.user_login SELECT id, timestamptz '2026-03-01Z' - id * interval '1 hour'"
            " FROM sys.user WHERE user_name LIKE 'bird%7'",
        )
        yield running


@pytest.fixture
async def aviary(_aviary: Inside) -> Inside:
    """A service with users of each kind, for tests that change nothing."""
    if (await _aviary.ask("GET", "/api/user/info")).status == 401:
        _aviary.token = await _aviary.log_in()
    return _aviary


async def test_users_with_and_without_a_role_are_all_users(aviary: Inside) -> None:
    without, having = await names(aviary, hasRole="false"), await names(aviary, hasRole="true")

    assert having == ["admin", *birds(5, 15, 25, 35, 45, 55)]
    assert len(without) == MANY + 2 - len(having)
    assert not set(without) & set(having)


async def listed(aviary: Inside, **query: Any) -> Any:
    return await aviary.data("GET", f"/api/user/list?{urlencode({'size': 200} | query)}")


async def names(aviary: Inside, **query: Any) -> list[str]:
    page = await listed(aviary, **query)
    assert page["total"] == len(page["items"])
    return [user["userName"] for user in page["items"]]


def birds(*numbers: int) -> list[str]:
    return [f"bird{number}" for number in numbers]


@with_each(
    ("query", "expected"),
    [
        ({"userName": "BIRD1"}, birds(1, *range(10, 20))),
        ({"userName": "\uff42ird59"}, birds(59)),
        ({"nickName": "swa", "status": "disabled"}, birds(10, 20, 40, 50)),
        ({"email": "bird2@example"}, birds(2)),
        ({"email": "2@EXAMPLE", "userName": "4"}, birds(42)),
        ({"phone": "30 6"}, birds(6, 60)),
        ({"keyword": "BIRD59"}, birds(59)),
        ({"keyword": "odd"}, [ODD]),
        ({"keyword": "bird2@EXAMPLE"}, birds(2)),
        ({"keyword": "49 30 7"}, birds(7)),
        ({"keyword": "crow", "userName": "bird3"}, birds(3, 30, 33, 36, 39)),
        ({"keyword": "%"}, [ODD]),
        ({"keyword": "nowhere"}, []),
        ({"status": "disabled"}, birds(10, 20, 30, 40, 50, 60)),
        ({"email": "bird2@example", "status": "disabled,enabled", "kind": "person,service"}, birds(2)),
        ({"roleCode": "auditor"}, birds(5, 15, 25, 35, 45, 55)),
        ({"roleCode": "super"}, ["admin"]),
        ({"roleCode": "audit"}, []),
        ({"createTimeFrom": "2026-02-28T00:00:00Z", "createTimeTo": "2026-03-02T00:00:00Z"}, birds(58, 59)),
        ({"userName": "%"}, [ODD]),
        ({"userName": "_"}, [ODD]),
        ({"userName": "\\"}, [ODD]),
        ({"userName": "100%_\\SURE"}, [ODD]),
        ({"userName": "' OR 1=1 --"}, []),
        ({"userName": "nobody"}, []),
    ],
)
async def test_users_are_found_by_what_is_said_of_them(
    aviary: Inside, query: dict[str, str], expected: list[str]
) -> None:
    assert await names(aviary, **query) == expected


async def test_users_are_found_by_the_id_of_a_role(aviary: Inside) -> None:
    assert await names(aviary, roleId=role_id(aviary, "auditor")) == birds(5, 15, 25, 35, 45, 55)
    assert await names(aviary, roleId=4711) == []


async def test_each_user_is_listed_with_all_roles_given(aviary: Inside) -> None:
    page = await listed(aviary, userName="bird1")

    roles = {user["userName"]: [role["roleCode"] for role in user["roles"]] for user in page["items"]}
    assert roles.pop("bird15") == ["auditor", "user"]
    assert set(map(tuple, roles.values())) == {()}
    (user,) = [user for user in page["items"] if user["userName"] == "bird15"]
    assert user == await aviary.data("GET", f"/api/user/{user['id']}")


@with_each("sort", [*SORTS, *(f"-{field}" for field in SORTS)])
async def test_the_pages_of_each_sort_hold_every_user_once_and_in_order(aviary: Inside, sort: str) -> None:
    whole = await listed(aviary, sort=sort)
    pages = [await listed(aviary, sort=sort, size=7, page=number) for number in range(1, 11)]

    assert whole["total"] == MANY + 2 == len(whole["items"])
    assert [user for page in pages for user in page["items"]] == whole["items"]
    assert {page["total"] for page in pages} == {whole["total"]}
    field = sort.removeprefix("-")
    values = [user[field] for user in whole["items"] if user[field] is not None]
    if field not in ("id", "lastLoginTime"):
        values = [value.lower() for value in values]
    assert values == sorted(values, reverse=sort.startswith("-"))


async def test_the_latest_login_is_first_and_who_has_never_logged_in_is_the_farthest_from_it(
    aviary: Inside,
) -> None:
    latest = await listed(aviary, sort="-lastLoginTime", keyword="bird")
    users = [user["userName"] for user in latest["items"]]
    assert users[:6] == birds(7, 17, 27, 37, 47, 57)
    assert {user["lastLoginTime"] for user in latest["items"][6:]} == {None}
    oldest = await listed(aviary, sort="lastLoginTime", keyword="bird")
    assert [user["userName"] for user in oldest["items"]] == users[::-1]


async def test_a_page_beyond_the_last_is_empty_and_still_counts(aviary: Inside) -> None:
    page = await listed(aviary, page=100)
    assert (page["items"], page["total"]) == ([], MANY + 2)


@with_each(
    "query",
    [
        "sort=passwordHash",
        "sort=user_name",
        "sort=id;DROP TABLE sys.user",
        "sort=--id",
        "status=asleep",
        "status=enabled,",
        "status=enabled,asleep",
        "kind=person;service",
        "roleId=0",
        "roleId=x",
        "createTimeFrom=yesterday",
        "createTimeFrom=2026-01-01T00:00:00",
        "userName=%00",
        "userName=%ff",
        "passwordHash=x",
        "size=201",
        "page=0",
        f"userName={'x' * 255}",
        f"keyword={'x' * 255}",
    ],
)
async def test_a_list_that_can_not_be_is_refused(aviary: Inside, query: str) -> None:
    answer = await aviary.ask("GET", f"/api/user/list?{query}")
    assert answer.fields == [query.partition("=")[0]]


async def test_no_list_shows_a_hash(aviary: Inside) -> None:
    answer = await aviary.ask("GET", "/api/user/list")
    assert b"assword" not in answer.body
    assert b"argon" not in answer.body
