"""The questions of a reviewer, asked by an auditor over HTTP and by the operator at the command line."""

import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.__main__ import main
from tests.docs.pages import ROOT
from tests.log_reading.entries import person
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import ids_of

REPORT = {"resourceName": "Report", "resourceCode": "report", "method": "GET", "path": "/api/user/7"}
AUDITOR = "reader"
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
async def asked(shared: Inside) -> Inside:
    """A service with an auditor, whose requests are sent; a banned, a disabled and a plain user."""
    for name, *roles in ((AUDITOR, "auditor"), ("banned", "auditor"), ("gone", "auditor"), ("plain",)):
        await person(shared.database_url, name, *roles)
    async with await psycopg.AsyncConnection.connect(shared.database_url) as connection:
        await connection.execute("UPDATE sys.user SET status = 'disabled' WHERE user_name = 'gone'")
        await connection.execute(
            "INSERT INTO sys.user_ban (user_id, reason, banned_by)"
            " SELECT id, 'test', 1 FROM sys.user WHERE user_name = 'banned'"
        )
    saved = await shared.data("POST", "/api/resource", REPORT)
    (button,) = await ids_of(shared, "system:user:list")
    bound = f"/api/resource/{saved['id']}/buttons"
    await shared.data("PUT", bound, {"menuIds": [button]}, ("If-Match", "*"))
    shared.token = await shared.log_in(AUDITOR)
    return shared


@pytest.fixture
def command(asked: Inside, command_on: Callable[[Inside], Ask]) -> Ask:
    return command_on(asked)


SAME = {
    "who DELETE /api/user/1": "/api/policy/who?method=DELETE&path=/api/user/1&size=200",
    "who GET /api/user/7": "/api/policy/who?method=GET&path=/api/user/7&size=200",
    "who GET /api/user/7 --users": "/api/policy/who/users?method=GET&path=/api/user/7&size=200",
    "who ACCOUNT 'ban others' --users": ("/api/policy/who/users?layer=account&object=ban%20others&size=200"),
    "who GRANT system:user:list": "/api/policy/who?layer=grant&object=system:user:list&size=200",
    "who APPROVE 'role auditor stage 1 for self'": (
        "/api/policy/who?layer=approve&object=role%20auditor%20stage%201%20for%20self&size=200"
    ),
    "what --role auditor": "/api/policy/what?roleCode=auditor&size=200",
    "what --user reader": "/api/policy/what?userName=reader&size=200",
    "what --user gone": "/api/policy/what?userName=gone&size=200",
    "what --codes system:user:*": "/api/policy/what?codes=system:user:*&size=200",
    "what-if --role auditor --without system:user:list": (
        "/api/policy/what-if?roleCode=auditor&without=system:user:list"
    ),
    "what-if --role auditor --with system:user:delete": (
        "/api/policy/what-if?roleCode=auditor&with=system:user:delete"
    ),
    "what-if --resource 'GET /api/user/7' --assurance two-factors --services": (
        "/api/policy/what-if?resource=GET%20/api/user/7&assurance=two-factors&services=true"
    ),
    "what-if --user plain --with auditor": "/api/policy/what-if?userName=plain&with=auditor",
    "openings": "/api/policy/openings?size=200",
    "matrix": "/api/policy/matrix?size=200",
}


async def test_an_auditor_asks_by_request_what_the_operator_asks_by_command(
    asked: Inside, command: Ask
) -> None:
    answers = {}
    for line, target in SAME.items():
        answers[line] = answer = await asked.data("GET", target)
        if "total" in answer and answer["total"] > answer["size"]:
            answer["items"] += (await asked.data("GET", f"{target}&page=2"))["items"]
        printed = await command(*shlex.split(line), "--json")
        assert printed == {**answer, **({"size": answer["total"]} if "total" in answer else {})}, line

    delete = answers["who DELETE /api/user/1"]
    assert [(row["roleCode"], row["users"]) for row in delete["items"]] == [("admin", 0), ("super", 1)]
    assert delete["items"][0]["endpoint"]["fired"] == [{"code": "system:*", "predicate": "holdsSubtree"}]
    read = answers["who GET /api/user/7"]
    assert read["resource"]["object"] == "GET /api/user/7"
    assert read["others"] == ["GET /api/user/{id}"]
    assert [(row["roleCode"], row["users"]) for row in read["items"]] == [
        ("admin", 0),
        ("auditor", 1),
        ("super", 1),
    ]
    users = answers["who GET /api/user/7 --users"]
    assert [(row["userName"], row["roles"]) for row in users["items"]] == [
        ("admin", ["super"]),
        ("reader", ["auditor"]),
    ]
    role, user = answers["what --role auditor"], answers["what --user reader"]
    assert role["items"] == user["items"]
    assert {"GET /api/policy/what", "system:user:list"} <= {access["object"] for access in role["items"]}
    gone = answers["what --user gone"]
    assert (gone["keptOut"], gone["userStatus"], gone["items"]) == (True, "disabled", [])
    without = answers["what-if --role auditor --without system:user:list"]
    assert without["gains"] == []
    assert without["loses"] == [
        {
            "roleCode": "auditor",
            "users": 1,
            "access": [
                "GET /api/assignment/list",
                "GET /api/assignment/transition/list",
                "GET /api/user/7",
                "GET /api/user/list",
            ],
        }
    ]
    given = answers["what-if --user plain --with auditor"]
    assert [(change["roleCode"], change["users"]) for change in given["gains"]] == [("auditor", 1)]
    own = {item["object"] for item in role["items"] if (item["kind"], item["needs"]) == ("request", "code")}
    assert set(given["gains"][0]["access"]) == own
    assert given["loses"] == []
    opened = {opening["object"]: opening["needs"] for opening in answers["openings"]["items"]}
    assert opened["POST /api/auth/login"] == "nothing"
    assert opened["GET /api/user/info"] == "login"


async def test_what_a_role_passes_by_its_codes_comes_first_and_can_be_asked_for_alone(asked: Inside) -> None:
    items = (await asked.data("GET", "/api/policy/what?roleCode=auditor&size=200"))["items"]
    needs = [item["needs"] for item in items]
    assert needs == sorted(needs, key=("code", "login", "nothing").index)
    bare = (await asked.data("GET", "/api/policy/what?codes=&size=200"))["items"]
    assert {item["object"] for item in items if item["needs"] != "code"} == {item["object"] for item in bare}
    own = (await asked.data("GET", "/api/policy/what?roleCode=auditor&size=200&needs=code"))["items"]
    assert own == [item for item in items if item["needs"] == "code"] != []


async def test_pages_hold_what_is_asked_for(asked: Inside) -> None:
    whole = (await asked.data("GET", "/api/policy/what?roleCode=auditor&kind=request&size=200"))["items"]
    second = await asked.data("GET", "/api/policy/what?roleCode=auditor&kind=request&size=7&page=2")
    roles = await asked.data("GET", "/api/policy/who?method=GET&path=/api/user/7&size=1&page=2")

    matrix = await asked.data("GET", "/api/policy/matrix?object=/api/role/list&roleCode=auditor,nobody")
    matrix_of_all = await asked.data("GET", "/api/policy/matrix?object=/api/role/list")

    assert second["items"] == whole[7:14]
    (shown,), (known,) = matrix["items"], matrix_of_all["items"]
    assert shown["roles"] == [role for role in known["roles"] if role["roleCode"] == "auditor"] != []
    assert second["total"] == len(whole)
    assert [role["roleCode"] for role in roles["items"]] == ["auditor"]
    assert roles["total"] == 3


async def test_who_is_asked_about_a_request_or_an_object_and_nothing_between(asked: Inside) -> None:
    for query, field in {
        "method=GET": "path",
        "method=GET&path=/a&layer=grant&object=a:b": "path",
        "layer=approve": "path",
        "layer=approve&object=role%20auditor": "object",
        "layer=assurance&object=request%20role%20auditor": "layer",
    }.items():
        answer = await asked.ask("GET", f"/api/policy/who?{query}")
        assert answer.status == 422
        assert [fault["field"] for fault in answer.json["errors"]] == [field]


async def test_a_decision_is_explained_alike_by_command_and_request(asked: Inside, command: Ask) -> None:
    for line, body in {
        "explain reader GET /api/user/7": {"userName": "reader", "method": "GET", "path": "/api/user/7"},
        "explain --role auditor DELETE /api/user/{id}": {
            "roleCode": "auditor",
            "method": "DELETE",
            "path": "/api/user/{id}",
        },
        "explain --codes system:*:list GET /api/user/7": {
            "permissions": ["system:*:list"],
            "method": "GET",
            "path": "/api/user/7",
        },
        "explain --codes * --assurance @service POST /api/user/7/keys": {
            "permissions": ["*"],
            "method": "POST",
            "path": "/api/user/7/keys",
            "assurance": "@service",
        },
        "explain --visitor PUT /api/no": {"method": "PUT", "path": "/api/no"},
        "explain gone GET /api/user/info": {"userName": "gone", "method": "GET", "path": "/api/user/info"},
        "explain admin GRANT system:user:list": {"userName": "admin", "grant": "system:user:list"},
    }.items():
        answer = await asked.data("POST", "/api/policy/explain", body)
        assert await command(*line.split(), "--json") == answer, line

    lines = (await command("explain", "reader", "get", "/api/user/7")).splitlines()
    assert lines[0] == "allowed at revision 3: /api/user/7"
    assert "  p, resource, GET /api/user/7, system:user:list   opened by holdsExactly" in lines
    (button,) = await ids_of(asked, "system:user:list")
    assert f"  system:user:list held from role auditor, Button {button} (List users)" in lines
    denied = (await command("explain", "--role", "auditor", "delete", "/api/user/1")).splitlines()
    assert denied[0] == "denied at revision 3: /api/user/1"
    assert "  would be allowed by one of the roles: admin, super" in denied
    kept_out = (await command("explain", "gone", "get", "/api/user/info")).splitlines()
    assert kept_out[0] == "denied at revision 3: /api/user/info"
    assert kept_out[1].startswith("The user is disabled or banned, so the service refuses all requests")


async def test_what_changed_since_then_and_by_whom_is_told(asked: Inside, command: Ask) -> None:
    newest = await asked.data("GET", "/api/policy/revisions?userName=admin&size=1")
    (bound,) = newest["items"]
    since = await asked.data("GET", f"/api/policy/revisions?from={bound['createTime']}")
    nothing = await asked.data("GET", "/api/policy/revisions?to=2020-01-01T00:00:00Z")
    times = "from=2021-01-01T00:00:00Z&to=2020-01-01T00:00:00Z"
    crossed = await asked.ask("GET", f"/api/policy/revisions?{times}")

    assert (newest["total"], bound["revision"], nothing["total"], crossed.status) == (2, 3, 0, 422)
    assert [revision["revision"] for revision in since["items"]] == [3]
    lines = (await command("log", "--since", "7d", "--user", "admin")).splitlines()
    assert lines[0] == f"{bound['createTime']}  admin  revision 3: {bound['cause']}"
    assert lines[1:3] == [
        "    - p, resource, GET /api/user/7, @login",
        "    + p, resource, GET /api/user/7, system:user:list",
    ]
    assert lines[-1] == "2 revisions, 0 changes of roles and users."
    assert (await command("log", "--until", "2020-01-01")).startswith("0 revisions, 0 changes")
    listed = await command("log", "--json")
    assert [revision["revision"] for revision in listed["revisions"]] == [3, 2, 1]


async def test_changes_of_roles_are_told_beside_revisions(
    service: Inside, command_on: Callable[[Inside], Ask]
) -> None:
    command = command_on(service)
    role = await service.data("POST", "/api/role", {"roleName": "New", "roleCode": "new"})
    (button,) = await ids_of(service, "system:user:list")
    menus = f"/api/role/{role['id']}/permissions"
    await service.data("PUT", menus, {"menuIds": [button]}, ("If-Match", "*"))
    lines: list[str] = []
    async with asyncio.timeout(10):  # entries are written a moment after their event
        while not any("permissions" in line for line in lines):
            await asyncio.sleep(0.1)
            lines = (await command("log", "--since", "1h", "--user", "admin")).splitlines()
    assert lines[0].endswith("Z  admin  role:new: permissions")
    assert lines[1] == "    + system:user:list"
    assert lines[-1].startswith("0 revisions, ")


async def test_two_revisions_are_compared_with_who_gains_and_loses_what(asked: Inside, command: Ask) -> None:
    answer = await asked.data("GET", "/api/policy/diff?from=2&to=3&access=true")
    printed = await command("diff", "2", "r3", "--json")
    lines = await asked.data("GET", "/api/policy/diff?from=2&to=3")

    assert lines["access"] is None
    assert {**printed, "from": 2, "to": 3, "truncated": False} == {**answer, "modelChanged": False}
    output = (await command("diff", "2", "live")).splitlines()
    assert output == [
        "- p, resource, GET /api/user/7, @login",
        "+ p, resource, GET /api/user/7, system:user:list",
        "1 line removed, 1 line added.",
        "No access is gained or lost.",
        "- a holder of system:user:detail  GET /api/user/7",
    ]


@with_each(
    ("target", "field"),
    [
        ("who?method=GET&path=/api//user", "path"),
        ("who?method=GET", "path"),
        ("who?method=TRACE&path=/", "method"),
        ("what", "roleCode"),
        ("what?roleCode=auditor&codes=", "roleCode"),
        ("what?roleCode=nobody", "roleCode"),
        ("what?userName=nobody", "userName"),
        ("what?codes=No+code", "permissions[0]"),
        ("what-if?roleCode=auditor&without=system:user:delete", "without"),
        ("what-if?roleCode=auditor&userName=plain&with=x:one", "roleCode"),
        ("what-if?with=x:one", "roleCode"),
        ("what-if?userName=nobody&with=auditor", "userName"),
        ("what-if?userName=plain&with=nobody", "with"),
        ("what-if?userName=plain&without=auditor", "without"),
        ("what-if?resource=GET+/api/user/7&without=x:one", "without"),
        ("what-if?resource=GET+/api/user/7&with=No+code", "with"),
        ("what-if?resource=GET+user&with=x:one", "resource"),
        ("what-if?resource=HEAD+/api/user&with=x:one", "resource"),
        ("what-if?resource=nowhere+GET+/api/user&with=x:one", "resource"),
        ("what-if?resource=GET+/api/user/7", "without"),
    ],
)
async def test_a_question_about_nothing_is_refused(asked: Inside, target: str, field: str) -> None:
    answer = await asked.ask("GET", f"/api/policy/{target}")
    assert answer.status == 422
    assert [error["field"] for error in answer.json["errors"]] == [field]


async def test_the_text_of_a_command_is_for_people(command: Ask, tmp_path: Path) -> None:
    output = await command("who", "get", "/api/user/7")
    assert output.splitlines() == [
        "GET /api/user/7",
        "  resource: p, resource, GET /api/user/7, system:user:list",
        "  endpoint: p, endpoint, GET /api/user/{id}, system:user:detail",
        "ROLE     USERS  RESOURCE                      ENDPOINT",
        "admin    0      system:user:list by system:*  system:user:detail by system:*",
        "auditor  1      system:user:list              system:user:detail",
        "super    1      system:user:list by *         system:user:detail by *",
        "Another resource decides GET /api/user/{id}",
        "3 roles, 2 users.",
    ]
    for more in ((), ("--users",)):
        lost = await command("who", "get", "/api/roles", *more)
        assert lost.splitlines()[-1] == "No route of this service serves it, so no one is allowed."
    page = tmp_path / "roles.html"
    assert (await command("matrix", "--output", str(page))).startswith("4 roles and ")
    assert '<th scope="row"><code>GET /api/user/7</code></th>' in page.read_text("utf-8")
    listed = (await command("matrix")).splitlines()
    assert (
        '"GET /api/user/7","@login @service","system:*","system:user:detail system:user:list","*",""'
        in listed
    )
    lost = await command("what-if", "--role", "auditor", "--without", "system:user:list")
    assert lost.splitlines() == [
        "- auditor (1 user)  GET /api/assignment/list",
        "- auditor (1 user)  GET /api/assignment/transition/list",
        "- auditor (1 user)  GET /api/user/7",
        "- auditor (1 user)  GET /api/user/list",
    ]


def test_files_are_asked_without_any_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("PORTCULLIS_CONFIG", "")
    monkeypatch.setenv("PORTCULLIS_SERVER__DATA", str(tmp_path / "none"))
    asked = {
        "who DELETE /api/user/7": "Roles are unknown without a database.",
        "what --codes system:user:list": "0 codes to grant.",
        "explain --codes system:user:list GET /api/user/list": "opened by holdsExactly",
        "openings": "POST /api/auth/login",
    }
    for line, expected in asked.items():
        assert main(["policy", *line.split(), "--policy", "shipped"]) == 0
        assert expected in capsys.readouterr().out
    assert main(["policy", "diff", str(ROOT), "shipped"]) == 0
    read = f"the files in {ROOT}; the policy files, without registered resources"
    assert capsys.readouterr().out.splitlines() == [
        f"Source: {read}; there is no installation in {tmp_path / 'none'}",
        "0 lines removed, 0 lines added.",
        "Roles are unknown without a database.",
        "No possible caller notices a difference.",
    ]
    assert main(["policy", "what", "--role", "auditor", "--policy", "shipped"]) == 1
    assert "Roles and users are in the database" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
