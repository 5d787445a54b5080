"""``?dryRun=true``: what a write would do is told, and nothing is done."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from tests.support.inside import Inside
from tests.support.members import member
from tests.support.without import is_served

DRY = "?dryRun=true"
PASSWORD = "six stubborn otters"


Connection = psycopg.AsyncConnection[Any]
TABLES = ("user", "role", "menu", "resource", "user_role", "role_menu", "action_resource", "casbin_rule")
STORED = " UNION ALL ".join(
    f"SELECT '{table}', t::text FROM sys.{table} t" for table in (*TABLES, "policy_revision")
)


@pytest.fixture
async def connection(house: Inside) -> AsyncIterator[Connection]:
    """A connection to the service's database, in autocommit."""
    async with await psycopg.AsyncConnection.connect(house.database_url, autocommit=True) as opened:
        yield opened


async def stored(connection: Connection) -> list[Any]:
    """Return all that a write of rights can change, but for the logs."""
    return await (await connection.execute(f"{STORED} ORDER BY 1, 2".encode())).fetchall()


async def button(house: Inside, code: str) -> int:
    page = await house.data("GET", f"/api/menu/list?authMark={code}&size=200")
    number: int = next(menu["id"] for menu in page["items"] if menu["authMark"] == code)
    return number


async def role(house: Inside, code: str, *codes: str) -> int:
    made = await house.data("POST", "/api/role", {"roleName": code, "roleCode": code})
    buttons = [await button(house, permission) for permission in codes]
    await house.data("PUT", f"/api/role/{made['id']}/permissions", {"menuIds": buttons})
    number: int = made["id"]
    return number


async def user(house: Inside, name: str, *role_ids: int) -> int:
    body = {"userName": name, "nickName": name, "password": PASSWORD, "roleIds": list(role_ids)}
    number: int = (await house.data("POST", "/api/user", body))["id"]
    return number


async def resource(house: Inside, method: str, path: str) -> int:
    body = {
        "resourceName": path,
        "resourceCode": f"r{abs(hash((method, path)))}",
        "method": method,
        "path": path,
    }
    number: int = (await house.data("POST", "/api/resource", body))["id"]
    return number


async def test_who_loses_what_is_told_by_role_without_those_who_keep_it(
    house: Inside, connection: Connection
) -> None:
    listing = await role(house, "listing", "system:role:list")
    other = await role(house, "other", "system:*")
    await user(house, "one", listing)
    await user(house, "both", listing, other)
    await house.log_in("one", PASSWORD)
    before = await stored(connection)

    impact = await house.preview("PUT", f"/api/role/{listing}/permissions", {"menuIds": []})

    lost = {
        "GET /api/role/list",
        "GET /api/role/{id}",
        "GET /api/role/{id}/permissions",
        "GET /api/role/{id}/request-rule",
    }
    assert impact["gains"] == []
    assert [(loss["roleCode"], loss["users"]) for loss in impact["loses"]] == [("listing", 1)]
    assert set(impact["loses"][0]["access"]) == lost
    assert (impact["sessions"], impact["warnings"]) == (1, [])
    assert await stored(connection) == before


async def test_users_who_may_not_log_in_are_named_and_not_counted(house: Inside) -> None:
    listing = await role(house, "listing", "system:role:list")
    other = await role(house, "other", "system:*")
    ids = {name: await user(house, name, listing) for name in ("disabled", "banned", "active")}
    ids["covered"] = await user(house, "covered", listing, other)
    for name in ("disabled", "covered"):
        await house.data("PUT", f"/api/user/{ids[name]}/status", {"status": "disabled"})
    await house.data("POST", f"/api/online/{ids['banned']}/ban", {"seconds": 3600})

    impact = await house.preview("PUT", f"/api/role/{listing}/permissions", {"menuIds": []})

    assert [(loss["roleCode"], loss["users"]) for loss in impact["loses"]] == [("listing", 1)]
    assert impact["keptOut"] == {"users": 2, "userNames": ["banned", "disabled"]}

    # One whose own roles change, and who would gain by it.
    impact = await house.preview("PATCH", f"/api/user/{ids['disabled']}", {"roleIds": [other]})
    assert (impact["gains"], impact["loses"]) == ([], [])
    assert impact["keptOut"] == {"users": 1, "userNames": ["disabled"]}
    # Who is disabled by the change loses; who is enabled by it gains.
    impact = await house.preview("PUT", f"/api/user/{ids['active']}/status", {"status": "disabled"})
    assert impact["keptOut"] == {"users": 0, "userNames": []}
    assert [(loss["roleCode"], loss["users"]) for loss in impact["loses"]] == [(None, 1), ("listing", 1)]
    impact = await house.preview("PUT", f"/api/user/{ids['disabled']}/status", {"status": "enabled"})
    assert impact["keptOut"] == {"users": 0, "userNames": []}
    assert [(gain["roleCode"], gain["users"]) for gain in impact["gains"]] == [(None, 1), ("listing", 1)]
    own = (
        *("GET /api/role/list", "GET /api/role/{id}"),
        *("GET /api/role/{id}/permissions", "GET /api/role/{id}/request-rule"),
    )
    assert impact["gains"][1]["access"] == list(own)

    # Names are for those who may list users.
    deputy = await member(house, "deputy", "system:role:list", "system:role:permission")
    answer = await deputy.ask("PUT", f"/api/role/{listing}/permissions{DRY}", {"menuIds": []})
    assert answer.status == 200, answer.body
    assert answer.json["preview"]["keptOut"] == {"users": 2, "userNames": []}


async def test_who_can_no_longer_log_in_loses_what_every_login_opens(house: Inside) -> None:
    roleless = await user(house, "nobody")

    disabled = await house.preview("PUT", f"/api/user/{roleless}/status", {"status": "disabled"})
    deleted = await house.preview("DELETE", f"/api/user/{roleless}")

    (loss,) = disabled["loses"]
    assert (loss["roleCode"], loss["users"], disabled["gains"]) == (None, 1, [])
    passes = (await house.data("GET", "/api/policy/what?userName=nobody&size=200"))["items"]
    opened = {item["object"] for item in passes if item["needs"] == "login"}
    assert "GET /api/user/info" in opened
    assert set(loss["access"]) == opened
    assert deleted["loses"] == disabled["loses"]


BUTTON: dict[str, Any] = {
    **dict.fromkeys(("parentId", "name", "path", "component", "icon")),
    "title": "N",
    "authMark": "n:n",
    "sort": 0,
    "enabled": False,
}
USER: dict[str, Any] = {
    **dict.fromkeys(("email", "phone", "gender", "avatar", "service")),
    "userName": "n",
    "nickName": "N",
    "status": "disabled",
    "roleIds": [],
}
WRITES: list[tuple[str, str, Any]] = [
    ("POST", "/api/resource", {"resourceName": "N", "resourceCode": "n", "method": "GET", "path": "/api/n"}),
    (
        "PUT",
        "/api/resource/{resource}",
        {
            "resourceName": "N",
            "resourceCode": "n",
            "method": "PUT",
            "path": "/n",
            "description": None,
            "enabled": True,
        },
    ),
    ("PATCH", "/api/resource/{resource}", {"path": "/n"}),
    ("PUT", "/api/menu/{button}", BUTTON),
    ("PUT", "/api/role/{role}", {"roleName": "N", "description": None, "enabled": False}),
    ("PUT", "/api/user/{user}", USER),
    ("PUT", "/api/resource/{resource}/enabled", {"enabled": False}),
    ("PUT", "/api/resource/{resource}/buttons", {"menuIds": []}),
    ("DELETE", "/api/resource/{resource}", None),
    ("PUT", "/api/menu/{button}/resources", {"resourceIds": []}),
    ("POST", "/api/menu", {"menuType": "Button", "title": "N", "authMark": "n:n"}),
    ("PATCH", "/api/menu/{button}", {"title": "N", "authMark": "n:n", "parentId": None, "enabled": False}),
    ("DELETE", "/api/menu/{spare_button}", None),
    ("POST", "/api/role", {"roleName": "N", "roleCode": "n"}),
    ("PATCH", "/api/role/{role}", {"roleName": "N", "enabled": False}),
    ("PUT", "/api/role/{role}/permissions", {"menuIds": []}),
    ("DELETE", "/api/role/{spare_role}", None),
    ("POST", "/api/user", {"userName": "n", "nickName": "N", "password": PASSWORD}),
    ("PATCH", "/api/user/{user}", {"nickName": "N", "roleIds": [], "status": "disabled"}),
    ("PUT", "/api/user/{user}/status", {"status": "disabled"}),
    ("POST", "/api/user/{user}/roles", {"roleCode": "auditor", "until": "2099-12-31T00:00:00Z"}),
    ("PATCH", "/api/user/{user}/roles/{assignment}", {"until": "2099-12-31T00:00:00Z", "reason": "N"}),
    ("DELETE", "/api/user/{user}/roles/{assignment}", None),
    ("DELETE", "/api/user/{user}", None),
    ("POST", "/api/policy/revisions/{past}/restore", None),
]


async def test_no_dry_run_saves_anything_or_touches_a_session(house: Inside, connection: Connection) -> None:
    reading = await role(house, "reading", "system:role:list")
    ids = {
        "button": await button(house, "system:role:list"),
        "spare_button": (
            await house.data("POST", "/api/menu", {"menuType": "Button", "title": "S", "authMark": "s:s"})
        )["id"],
        "role": reading,
        "spare_role": await role(house, "spare"),
        "user": await user(house, "wanda", reading),
        "resource": await resource(house, "GET", "/api/file/list"),
        "past": (await house.data("GET", "/api/policy"))["revision"],
    }
    assigned = await house.data("GET", f"/api/user/{ids['user']}/roles")
    ids["assignment"] = assigned["items"][0]["id"]
    await house.data(
        "PUT",
        f"/api/resource/{ids['resource']}/buttons",
        {"menuIds": [await button(house, "system:file:list")]},
    )
    wanda = await house.log_in("wanda", PASSWORD)
    before, revision = await stored(connection), (await house.data("GET", "/api/policy"))["revision"]

    for method, path, body in WRITES:
        answer = await house.ask(method, path.format(**ids) + DRY, body)

        assert answer.status == 200, (method, path, answer.body)
        assert set(answer.json) == {"data", "preview"}
        assert set(answer.json["preview"]) == {
            *("gains", "loses", "keptOut", "sessions", "warnings", "warningSentences", "demands")
        }
        assert answer.header("etag") is None
        assert answer.header("x-policy-in-force") is None
        assert await stored(connection) == before, (method, path)

    assert (await house.data("GET", "/api/policy"))["revision"] == revision
    assert (await house.ask("GET", "/api/user/info", token=wanda)).status == 200
    assert (await house.log_in("wanda", PASSWORD)) != ""


async def test_every_write_of_rights_has_a_dry_run(house: Inside) -> None:
    document = (await house.as_anonymous("GET", "/docs/openapi.json")).json
    having = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        # Of a read it is a filter.
        if method != "get"
        and any(parameter["name"] == "dryRun" for parameter in operation.get("parameters", []))
    }
    imports = {"POST /api/user/import", "POST /api/role/import"}
    named = {
        "resource": "id",
        "button": "id",
        "spare_button": "id",
        "role": "id",
        "spare_role": "id",
        "user": "id",
    }
    templates = {**dict.fromkeys(named, "{id}"), "past": "{revision}", "assignment": "{assignmentId}"}
    mine = {f"{method} {path.format(**templates)}" for method, path, _ in WRITES}

    # Asked in tests/services, the features access_requests, reviews and oidc, and tests of bulk acts.
    others = (
        *("/api/service", "/api/opening", "/api/access-request", "/api/role/{id}/request-rule"),
        *("/api/review", "/api/directory"),
        *("/api/user/bulk", "/api/role/bulk", "/api/resource/bulk"),
    )
    elsewhere = {request for request in having if request.split()[1].startswith(others)}
    switched = (("/api/review", 3), ("/api/access-request", 4))
    assert len(elsewhere) == 22 - sum(count for path, count in switched if not is_served(f"POST {path}"))
    assert having - imports - elsewhere == mine
    for path in ("/api/resource", "/api/menu", "/api/role"):
        writing = {
            f"{method.upper()} {template}"
            for template, methods in document["paths"].items()
            for method in methods
            if template.startswith(path) and method != "get"
        }
        assert writing <= having


async def test_a_dry_run_is_refused_as_the_write_is(house: Inside) -> None:
    top = next(
        row for row in (await house.data("GET", "/api/role/list"))["items"] if row["roleCode"] == "super"
    )
    off = await house.data(
        "POST", "/api/menu", {"menuType": "Button", "title": "O", "authMark": "o:o", "enabled": False}
    )
    binding = await resource(house, "PUT", "/api/resource/{id}/buttons")
    small = await role(house, "small", "system:role:permission")
    await user(house, "small", small)
    token = await house.log_in("small", PASSWORD)

    refused = [
        await house.ask("PUT", f"/api/role/{top['id']}/permissions{DRY}", {"menuIds": []}),
        await house.ask("PUT", f"/api/resource/{binding}/buttons{DRY}", {"menuIds": [off["id"]]}),
        await house.ask("PUT", f"/api/role/{top['id']}/permissions{DRY}", {"menuIds": []}, token=token),
        await house.ask("DELETE", f"/api/role/{small}{DRY}"),
        await house.ask("DELETE", f"/api/role/4711{DRY}"),
        await house.ask("PUT", f"/api/role/{small}/permissions{DRY}", {"menuIds": []}, ("If-Match", '"x"')),
        await house.ask("PUT", f"/api/role/{small}/permissions?dryRun=maybe", {"menuIds": []}),
    ]

    assert [answer.status for answer in refused] == [409, 409, 403, 409, 404, 412, 422]
    assert refused[1].json["lockedOut"] == ["PUT /api/resource/{id}/buttons"]


async def test_without_the_parameter_or_with_false_the_write_is_made(house: Inside) -> None:
    made = await house.ask("POST", "/api/role?dryRun=false", {"roleName": "N", "roleCode": "n"})

    assert (made.status, made.json["data"]["roleCode"]) == (201, "n")
    assert (await house.ask("POST", f"/api/role{DRY}", {"roleName": "N", "roleCode": "n"})).status == 409


async def test_an_unbound_resource_gives_its_requests_to_nobody_whom_the_endpoint_refuses(
    house: Inside,
) -> None:
    listing = await resource(house, "GET", "/api/file/list")

    impact = await house.preview(
        "PUT",
        f"/api/resource/{listing}/buttons",
        {"menuIds": [await button(house, "system:file:upload")]},
    )

    # Both layers decide: auditors may read lists, and are not let through to this one any more.
    assert impact["gains"] == []
    assert {loss["roleCode"]: loss["access"] for loss in impact["loses"]} == {
        "auditor": ["GET /api/file/list"]
    }


async def test_users_without_any_role_are_told_as_no_role(house: Inside) -> None:
    await user(house, "nobody")
    info = (await house.data("GET", "/api/resource/list?path=/api/user/info"))["items"][0]["id"]

    impact = await house.preview("PUT", f"/api/resource/{info}/enabled", {"enabled": False})
    # Its requests would be decided by GET /api/user/{id}, which auditors may use.
    assert {loss["roleCode"]: loss["users"] for loss in impact["loses"]} == {None: 1, "user": 0}
    impact = await house.preview(
        "PUT", f"/api/resource/{info}/buttons", {"menuIds": [await button(house, "system:file:share")]}
    )

    lost = {loss["roleCode"]: (loss["users"], loss["access"]) for loss in impact["loses"]}
    assert lost == {
        None: (1, ["GET /api/user/info"]),
        "auditor": (0, ["GET /api/user/info"]),
        "user": (0, ["GET /api/user/info"]),
    }


async def test_users_who_get_a_role_gain_what_it_gives_and_no_session_of_others_is_counted(
    house: Inside,
) -> None:
    reading = await role(house, "reading", "system:file:list")
    wanda = await user(house, "wanda")
    await house.log_in("wanda", PASSWORD)

    impact = await house.preview("PATCH", f"/api/user/{wanda}", {"roleIds": [reading]})

    assert impact["gains"] == [{"roleCode": "reading", "users": 1, "access": ["GET /api/file/list"]}]
    assert (impact["loses"], impact["sessions"]) == ([], 1)


async def test_callers_are_warned_of_what_they_would_lose_and_of_what_has_no_effect(house: Inside) -> None:
    helper = await role(house, "helper", "system:menu:update", "system:menu:list")
    await user(house, "helper", helper)
    token = await house.log_in("helper", PASSWORD)
    updating = await button(house, "system:menu:update")

    body = {"title": "U", "authMark": "system:menu:update", "parentId": None, "enabled": False}
    impact = (await house.ask("PATCH", f"/api/menu/{updating}{DRY}", body, token=token)).json["preview"]
    strange = {"resourceName": "S", "resourceCode": "s", "method": "GET", "path": "/api/strange/{id}"}
    stray = await house.preview("POST", "/api/resource", strange)

    assert impact["warnings"] == [
        (
            "You would lose permissions that may be needed to undo this: PATCH /api/menu/{id}, PUT "
            "/api/menu/{id}"
        ),
        "You would no longer hold system:menu:update, and could no longer grant it",
    ]
    assert [
        (each["code"], each["params"]["more"], each["message"]) for each in impact["warningSentences"]
    ] == [
        ("would_lose_undo", 0, impact["warnings"][0]),
        ("would_lose_grant", 0, impact["warnings"][1]),
    ]
    assert stray["warnings"] == ["No route serves GET /api/strange/{id}, so it changes no access"]


async def test_a_dry_run_stands_in_the_operation_log_as_one(house: Inside, connection: Connection) -> None:
    dry = await house.ask("POST", f"/api/role{DRY}", {"roleName": "N", "roleCode": "n"})

    statement = "SELECT query, status FROM sys.operation_log WHERE request_id = %s"
    rows: list[Any] = []
    for _ in range(400):
        cursor = await connection.execute(statement, [dry.header("x-request-id")])
        if rows := await cursor.fetchall():
            break
        await asyncio.sleep(0.05)

    assert rows == [("dryRun=true", 200)]
