"""Questions about an instant: what was decided then, what will be, and by whose decision."""

import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from service.laboratory import tested
from tests.log_reading.entries import person
from tests.support.inside import Inside
from tests.support.members import ids_of, query

DELETE = "system:user:delete"
REQUEST = "method=DELETE&path=/api/user/1&size=200"
Ask = Callable[..., Any]
NOTHING_TESTED = tested.Tested(
    passed=True,
    tables=0,
    cases=0,
    failures=(),
    invariants=(),
    unchecked=(),
    unmeasured=True,
    coverage=None,
    mutation=None,
)


def text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


async def execute(service: Inside, statement: str, *values: Any) -> Any:
    """Run a statement; return its first row, None for a statement without rows."""
    rows = await query(service, statement, *values)
    return rows[0] if rows else None


async def now(service: Inside) -> datetime:
    moment: datetime = (await execute(service, "SELECT clock_timestamp()"))[0]
    return moment


async def assigned(service: Inside, user_name: str, role_code: str, **window: Any) -> int:
    """Write an assignment with a window, and return its id."""
    values = {"valid_from": None, "valid_until": None, "reason": None, "created_by": None} | window
    row = await execute(
        service,
        "INSERT INTO sys.user_role (user_id, role_id, valid_from, valid_until, reason, created_by)"
        " SELECT u.id, r.id, %s, %s, %s, %s FROM sys.user u, sys.role r"
        " WHERE user_name = %s AND role_code = %s RETURNING id",
        *values.values(),
        user_name,
        role_code,
    )
    return int(row[0])


async def role_giving(service: Inside, code: str, *codes: str) -> str:
    """Make a role that gives ``codes``; return its path."""
    made = await service.data("POST", "/api/role", {"roleName": code, "roleCode": code})
    path = f"/api/role/{made['id']}"
    menus = {"menuIds": await ids_of(service, *codes)}
    await service.data("PUT", f"{path}/permissions", menus, ("If-Match", "*"))
    return path


async def explained(service: Inside, user_name: str, at: datetime | None = None) -> Any:
    """Ask why a user holds the code, or not."""
    question = {"userName": user_name, "grant": DELETE} | ({} if at is None else {"at": text(at)})
    return await service.data("POST", "/api/policy/explain", question)


@pytest.fixture(scope="module")
async def service(shared: Inside) -> Inside:
    """A service with a role that gives a code."""
    await role_giving(shared, "remover", DELETE)
    return shared


async def test_one_request_says_why_somebody_holds_a_code_since_when_until_when_and_who_decided(
    service: Inside,
) -> None:
    await person(service.database_url, "heron")
    begin, end = (await now(service)) - timedelta(hours=1), datetime(2099, 1, 1, tzinfo=UTC)
    facts = {"reason": "Stands in for the owl", "created_by": "admin"}
    number = await assigned(service, "heron", "remover", valid_from=begin, valid_until=end, **facts)

    answer = await explained(service, "heron")

    assert answer["allowed"]
    ((fired,),) = [answer["grant"]["fired"]]
    ((origin,),) = [fired["origins"]]
    assert fired["code"] == DELETE
    assert (origin["roleCode"], origin["assignmentId"]) == ("remover", number)
    assert (origin["until"], origin["reason"]) == ("2099-01-01T00:00:00.000Z", "Stands in for the owl")
    assert (origin["createdBy"], origin["source"]) == ("admin", "direct")
    assert datetime.fromisoformat(origin["since"]) > begin  # it was made after the beginning that it says


async def test_each_of_several_assignments_of_a_role_is_told(service: Inside) -> None:
    await person(service.database_url, "stork", "remover")
    await assigned(service, "stork", "remover", valid_until=datetime(2098, 1, 1, tzinfo=UTC))
    await assigned(service, "stork", "remover", valid_from=datetime(2098, 1, 1, tzinfo=UTC))

    ends = [
        [
            origin["until"]
            for origin in (await explained(service, "stork", at))["grant"]["fired"][0]["origins"]
        ]
        for at in (None, datetime(2098, 1, 1, tzinfo=UTC))
    ]

    assert ends == [[None, "2098-01-01T00:00:00.000Z"], [None, None]]


async def test_a_role_and_codes_are_explained_without_an_assignment(service: Inside) -> None:
    for subject in ({"roleCode": "remover"}, {"permissions": [DELETE]}):
        answer = await service.data("POST", "/api/policy/explain", {**subject, "grant": DELETE})
        origins = answer["grant"]["fired"][0]["origins"]
        assert {origin["assignmentId"] for origin in origins} == {None}


async def test_answers_about_a_future_instant_are_by_the_assignments_of_that_instant(service: Inside) -> None:
    await person(service.database_url, "curlew")
    begin, end = datetime(2090, 1, 1, tzinfo=UTC), datetime(2090, 2, 1, tzinfo=UTC)
    await assigned(service, "curlew", "remover", valid_from=begin, valid_until=end)
    second = timedelta(seconds=1)

    for at, holds in ((begin - second, False), (begin, True), (end - second, True), (end, False)):
        asked = f"at={quote(text(at))}"
        what = await service.data("GET", f"/api/policy/what?userName=curlew&size=200&{asked}")
        who = await service.data("GET", f"/api/policy/who/users?{REQUEST}&{asked}")
        assert (await explained(service, "curlew", at))["allowed"] == holds
        assert (DELETE in what["permissions"]) == holds
        assert ("curlew" in [user["userName"] for user in who["items"]]) == holds


async def test_past_answers_are_those_that_were_given_then(
    service: Inside, command_on: Callable[[Inside], Ask]
) -> None:
    await person(service.database_url, "dunlin")
    path = await role_giving(service, "wader", DELETE)
    asked = [
        f"/api/policy/who?{REQUEST}",
        f"/api/policy/who/users?{REQUEST}",
        "/api/policy/what?userName=dunlin&size=200",
        "/api/policy/what?roleCode=wader&size=200",
        "/api/policy/matrix?size=200",
    ]

    async def answers(at: datetime | None = None) -> list[Any]:
        more = "" if at is None else f"&at={quote(text(at))}"
        given = [await service.data("GET", f"{target}{more}") for target in asked]
        why = await explained(service, "dunlin", at)
        return [*given, why]

    recorded = []

    async def record() -> None:
        recorded.append((await answers(), await now(service)))

    await record()
    await assigned(service, "dunlin", "wader")
    await record()
    await person(service.database_url, "new", "wader")
    saved = {"resourceName": "Gone", "resourceCode": "gone", "method": "DELETE", "path": "/api/user/1"}
    resource = await service.data("POST", "/api/resource", saved)
    await record()
    (button,) = await ids_of(service, "system:user:list")
    bound = f"/api/resource/{resource['id']}/buttons"
    await service.data("PUT", bound, {"menuIds": [button]}, ("If-Match", "*"))
    await record()
    await service.data("PUT", f"{path}/permissions", {"menuIds": [button]}, ("If-Match", "*"))
    await record()
    await service.ask("DELETE", f"/api/resource/{resource['id']}", None, ("If-Match", "*"))
    await record()

    for before, at in recorded:
        then = await answers(at)
        assert then[:-1] == before[:-1]
        assert then[-1]["permissions"] == before[-1]["permissions"]
        assert then[-1]["grant"] == before[-1]["grant"]
    assert recorded[1][0][-1]["allowed"]
    assert not recorded[-1][0][-1]["allowed"]
    printed = await command_on(service)(
        *shlex.split(f"who DELETE /api/user/1 --users --at {text(recorded[3][1])} --json")
    )
    assert printed["items"] == recorded[3][0][1]["items"]


@pytest.mark.parametrize("at", ["2026-12-31T00:00:00", "yesterday"])
async def test_an_instant_without_a_zone_is_refused(service: Inside, at: str) -> None:
    for target in (f"/api/policy/who?{REQUEST}", "/api/policy/what?codes=", "/api/policy/matrix?size=2"):
        answer = await service.ask("GET", f"{target}&at={at}")
        assert answer.status == 422, answer.body
        assert answer.json["errors"][0]["field"] == "at"


async def test_an_instant_before_what_is_known_is_refused(service: Inside) -> None:
    at = "2001-01-01T00:00:00Z"
    answer = await service.ask("GET", f"/api/policy/matrix?at={at}")
    assert answer.status == 422
    assert re.fullmatch(r"Rights before 20\S+ are unknown", answer.json["errors"][0]["message"])


async def test_a_question_names_an_instant_or_a_revision(service: Inside) -> None:
    question = {"permissions": [DELETE], "grant": DELETE, "revision": 1, "at": "2098-01-01T00:00:00Z"}
    answer = await service.ask("POST", "/api/policy/explain", question)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "at")


async def test_a_report_is_written_as_of_an_instant(
    service: Inside, command_on: Callable[[Inside], Ask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await person(service.database_url, "smew")
    begin = datetime(2095, 1, 1, tzinfo=UTC)
    await assigned(service, "smew", "remover", valid_from=begin)
    monkeypatch.setattr(
        "service.features.policy_tests.report_gathering.tested", lambda *_, **__: NOTHING_TESTED
    )
    file = tmp_path / "report.md"

    having = []
    for at in (begin - timedelta(days=1), begin):
        await command_on(service)("report", "--output", str(file), "--at", text(at))
        lines = file.read_text("utf-8").splitlines()
        assert any(f"as of {at:%Y-%m-%d}" in line for line in lines)
        (users,) = [line.split("|")[2] for line in lines if line.startswith("| `remover` |")]
        having.append(int(users))

    assert having[1] == having[0] + 1
