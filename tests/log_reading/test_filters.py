"""Each filter takes what it says and nothing else."""

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.log_reading.entries import at, logins, operations
from tests.support.cases import with_each
from tests.support.inside import Inside

# By number: what the entry has beside the usual.
OPERATIONS: list[dict[str, Any]] = [
    {"user_id": 7, "user_name": "alice", "client_ip": "10.1.2.3", "request_id": "abc", "decision": "allow"},
    {"user_id": 8, "user_name": "Alice", "client_ip": "10.1.2.4", "status": 403, "decision": "deny"},
    {"user_id": 9, "user_name": "bob", "client_ip": "10.2.0.1", "module": "menu", "status": 404},
    {"client_ip": "2001:db8::1", "module": "auth", "kind": "LOGIN", "status": 503, "request_id": "ABC"},
    {"user_id": 7, "user_name": "alice", "kind": "DELETE", "status": 201, "request_id": "a%_c"},
]
LOGINS: list[dict[str, Any]] = [
    {"user_id": 7, "user_name": "alice", "login_ip": "10.1.2.3", "device": "web", "request_id": "abc"},
    {"user_name": "nobody", "login_ip": "10.2.0.1", "outcome": "failure", "reason": "login_failed"},
    {"user_id": 8, "user_name": "bob", "event": "refresh", "outcome": "failure", "reason": "reused"},
    {"user_id": 7, "user_name": "alice", "event": "kick", "device": "ios"},
]

ASKED_OF_OPERATIONS: list[tuple[dict[str, str], list[int]]] = [
    ({}, [4, 3, 2, 1, 0]),
    ({"sort": "-createTime"}, [4, 3, 2, 1, 0]),
    ({"sort": "createTime"}, [0, 1, 2, 3, 4]),
    ({"userId": "7"}, [4, 0]),
    ({"userId": "10"}, []),
    ({"userName": "alice"}, [4, 0]),
    ({"userName": "Alice"}, [1]),
    ({"userName": "ali"}, []),
    ({"userName": "%"}, []),
    ({"userName": "a_ice"}, []),
    ({"userName": "' OR true --"}, []),
    ({"userName": "alice\\"}, []),
    ({"module": "menu"}, [2]),
    ({"module": "men"}, []),
    ({"kind": "LOGIN"}, [3]),
    ({"kind": "LOGIN,DELETE"}, [4, 3]),
    ({"kind": "DELETE,LOGIN,DELETE"}, [4, 3]),
    ({"kind": "INSERT,KICK", "userId": "7"}, [0]),
    ({"kind": "KICK"}, []),
    ({"status": "403"}, [1]),
    ({"status": "4xx"}, [2, 1]),
    ({"status": "5xx"}, [3]),
    ({"status": "2xx"}, [4, 0]),
    ({"status": "200"}, [0]),
    ({"status": "403,5xx"}, [3, 1]),
    ({"status": "2xx,404,404", "userId": "7"}, [4, 0]),
    ({"status": "3xx"}, []),
    ({"decision": "deny"}, [1]),
    ({"decision": "allow"}, [0]),
    ({"decision": "allow,deny"}, [1, 0]),
    ({"clientIp": "10.1.2.3"}, [0]),
    ({"clientIp": "10.1.2.3/32"}, [0]),
    ({"clientIp": "::ffff:10.1.2.3"}, [0]),
    ({"clientIp": "10.1.2.0/24"}, [1, 0]),
    ({"clientIp": "10.0.0.0/255.0.0.0"}, [2, 1, 0]),
    ({"clientIp": "0.0.0.0/0"}, [2, 1, 0]),
    ({"clientIp": "2001:DB8:0::1"}, [3]),
    ({"clientIp": "2001:db8::/32"}, [3]),
    ({"clientIp": "10.1.2.5"}, []),
    ({"requestId": "abc"}, [0]),
    ({"requestId": "a%_c"}, [4]),
    ({"from": at(3).isoformat()}, [4, 3]),
    ({"to": at(3).isoformat()}, [2, 1, 0]),
    ({"from": at(1).isoformat(), "to": at(3).isoformat()}, [2, 1]),
    ({"from": "0001-01-01T00:00:00Z", "to": "9999-12-31T23:59:59Z"}, [4, 3, 2, 1, 0]),
    ({"from": "2026-11-21T04:33:56.123456+02:00"}, [4, 3]),
    ({"from": "2026-11-21T02:33:56.123457Z"}, [4]),
    ({"module": "role", "status": "2xx", "sort": "createTime"}, [0, 4]),
    ({"userId": "7", "kind": "DELETE", "clientIp": "10.0.0.0/8"}, []),
]
ASKED_OF_LOGINS: list[tuple[dict[str, str], list[int]]] = [
    ({}, [3, 2, 1, 0]),
    ({"sort": "createTime"}, [0, 1, 2, 3]),
    ({"userId": "7"}, [3, 0]),
    ({"userName": "nobody"}, [1]),
    ({"event": "login"}, [1, 0]),
    ({"event": "logout"}, []),
    ({"event": "kick,refresh"}, [3, 2]),
    ({"outcome": "failure"}, [2, 1]),
    ({"outcome": "success"}, [3, 0]),
    ({"reason": "reused"}, [2]),
    ({"reason": "reuse"}, []),
    ({"device": "ios"}, [3]),
    ({"loginIp": "10.1.2.3"}, [0]),
    ({"loginIp": "10.0.0.0/8"}, [1, 0]),
    ({"requestId": "abc"}, [0]),
    ({"from": at(1).isoformat(), "to": at(2).isoformat()}, [1]),
    ({"outcome": "failure", "event": "login"}, [1]),
]


@pytest.fixture(scope="module")
def written() -> dict[str, list[int]]:
    """The ids of the entries of each log, once they are written."""
    return {}


@pytest.fixture
async def filled(shared: Inside, written: dict[str, list[int]]) -> Inside:
    if not written:
        written["operation-log"] = await operations(shared.database_url, *OPERATIONS)
        written["login-log"] = await logins(shared.database_url, *LOGINS)
    return shared


@with_each(
    ("log", "asked", "expected"),
    [
        *(("operation-log", *row) for row in ASKED_OF_OPERATIONS),
        *(("login-log", *row) for row in ASKED_OF_LOGINS),
    ],
)
async def test_a_list_and_its_export_have_what_was_asked_for_and_nothing_else(
    filled: Inside, written: dict[str, list[int]], log: str, asked: dict[str, str], expected: list[int]
) -> None:
    listed = await filled.data("GET", f"/api/{log}/list?{urlencode({'size': 200} | asked)}")
    exported = await filled.ask("GET", f"/api/{log}/export?{urlencode({'format': 'jsonl'} | asked)}")

    assert numbers(listed["items"], written[log]) == expected
    assert numbers(map(json.loads, exported.body.splitlines()), written[log]) == expected


def numbers(entries: Iterable[dict[str, Any]], written: list[int]) -> list[int]:
    """Return which of the entries above came, in their order; the service has written some of its own."""
    return [written.index(entry["id"]) for entry in entries if entry["id"] in written]


FAULTS = [
    ("userId=0", "userId"),
    ("userId=x", "userId"),
    ("userId=9223372036854775808", "userId"),
    ("userName=", "userName"),
    ("userName=a%00b", "userName"),
    ("userName=%ED%A0%80", "userName"),
    ("userName=" + "x" * 255, "userName"),
    ("requestId=" + "x" * 65, "requestId"),
    ("from=yesterday", "from"),
    ("from=2026-11-21T00:00:00", "from"),
    ("from=2026-13-21T00:00:00Z", "from"),
    ("from=99999999999999999999", "from"),
    ("to=1e400", "to"),
    ("from=2026-11-21T00:00:00Z&to=2026-11-21T00:00:00Z", "to"),
    ("sort=id", "sort"),
    ("sort=createTime;drop", "sort"),
    ("sort=create_time", "sort"),
    ("user_id=7", "user_id"),
    ("password=x", "password"),
    ("userId=7&userId=8", "userId"),
]
ADDRESSES = [
    "",
    "x",
    "10.1.2",
    "10.1.2.3/8",
    "10.0.0.0/33",
    "10.0.0.0/8/8",
    "010.1.2.3",
    "fe80::1%25eth0",
    "fe80::%25eth0/64",
    "10.1.2.3%20",
    "10.1.2.3'",
    "1%00",
    "0" * 65,
]


@with_each(
    ("target", "field"),
    [
        *(
            (f"/api/{log}?{query}", field)
            for log in ("operation-log/list", "login-log/export")
            for query, field in FAULTS
        ),
        *((f"/api/operation-log/list?clientIp={address}", "clientIp") for address in ADDRESSES),
        *((f"/api/login-log/export?loginIp={address}", "loginIp") for address in ADDRESSES),
        *(
            (f"/api/operation-log/list?status={status}", "status")
            for status in ("", "0", "99", "600", "6xx", "4x", "4xxx", "4XX", "-200", "2e2", "403%0A")
        ),
        *(
            (f"/api/operation-log/{way}?kind={kinds}", "kind")
            for way in ("list", "export")
            for kinds in ("", "login", "INSERT,", "INSERT,%20UPDATE", "INSERT,x", "INSERT;UPDATE")
        ),
        ("/api/operation-log/list?kind=INSERT&kind=UPDATE", "kind"),
        ("/api/login-log/list?event=logon", "event"),
        ("/api/user/profile/login-logs?event=login,", "event"),
        ("/api/operation-log/list?decision=maybe", "decision"),
        ("/api/login-log/list?outcome=", "outcome"),
        ("/api/login-log/list?device=" + "x" * 33, "device"),
        ("/api/operation-log/list?dryRun=maybe", "dryRun"),
        ("/api/login-log/list?dryRun=true", "dryRun"),
        ("/api/operation-log/list?page=0", "page"),
        ("/api/operation-log/list?size=201", "size"),
        ("/api/operation-log/list?limit=1", "limit"),
        ("/api/operation-log/export?page=1", "page"),
        ("/api/operation-log/export?format=xls", "format"),
        ("/api/operation-log/export?limit=0", "limit"),
        ("/api/operation-log/export?limit=1000001", "limit"),
        ("/api/user/profile/login-logs?userId=1", "userId"),
        ("/api/user/profile/login-logs?userName=admin", "userName"),
    ],
)
async def test_what_can_not_be_asked_is_refused_by_name(shared: Inside, target: str, field: str) -> None:
    answer = await shared.ask("GET", target)
    assert answer.status == 422, answer.body
    assert answer.fields == [field]


async def test_the_refusal_of_an_unknown_kind_names_the_known_ones(shared: Inside) -> None:
    answer = await shared.ask("GET", "/api/operation-log/list?kind=INSERT,CREATE")
    (fault,) = answer.json["errors"]
    assert fault["message"] == (
        "must be one or more of INSERT, UPDATE, DELETE, IMPORT, EXPORT, QUERY, LOGIN, LOGOUT, REFRESH, KICK,"
        " BAN, REFUSED_READ, separated by commas"
    )
    assert "CREATE" not in fault["message"]


@with_each(
    ("path", "name", "some"),
    [
        ("/api/operation-log/list", "kind", {"INSERT", "UPDATE", "BAN"}),
        ("/api/operation-log/export", "kind", {"INSERT", "UPDATE", "BAN"}),
        ("/api/login-log/list", "event", {"login", "reuse", "unban"}),
        ("/api/login-log/export", "event", {"login", "reuse", "unban"}),
        ("/api/user/profile/login-logs", "event", {"login", "reuse", "unban"}),
    ],
)
async def test_the_documentation_lists_the_values_of_a_list_and_says_that_commas_separate_them(
    shared: Inside, path: str, name: str, some: set[str]
) -> None:
    document = (await shared.ask("GET", "/docs/openapi.json")).json
    operation = document["paths"][path]["get"]
    (parameter,) = [declared for declared in operation["parameters"] if declared["name"] == name]
    assert (parameter["style"], parameter["explode"], parameter["required"]) == ("form", False, False)
    assert parameter["schema"]["type"] == "array"
    named = parameter["schema"]["items"]["$ref"].removeprefix("#/components/schemas/")
    assert some <= set(document["components"]["schemas"][named]["enum"])
