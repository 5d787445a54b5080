"""In an emergency a role is given at once, and it is a finding until somebody else has closed it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from service.features.access_requests.checks import CHECKS
from service.features.operations.diagnosis.examination import examine
from service.operator.findings import Finding
from service.settings import load
from tests.features.access_requests.test_beginnings import SECRET
from tests.features.access_requests.test_limits import emergencies
from tests.features.access_requests.test_requests import ASKED, ONE, ask, asked, execute, ruled
from tests.features.operations.doctor.conftest import no_routes
from tests.features.second_factors.conftest import SETTINGS, Person
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import Member, member, query
from tests.support.seeded import ADMINISTRATOR_PASSWORD
from tests.support.standing_behind import acted
from tests.web.driver import Answer

STRONG: dict[str, Any] = {"emergency": True, "assurance": "two-factors", "grantNeeded": False}
CHECK = [check for check in CHECKS if check.name == "emergencies"]
TOKEN = "a-token-of-the-metrics-for-tests-0123456789"
METRICS = {"PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN}


@pytest.fixture
async def site(service_with: ServiceWith) -> Any:
    """A service with a key for second factors."""
    async with service_with(**SETTINGS, **METRICS) as running:
        yield running


@dataclass
class Strong(Member):
    """A member who logs in by two factors."""

    person: Person | None = None

    async def log_in(self) -> Strong:
        """Take a new token."""
        assert self.person is not None
        await self.person.log_in_by_app()
        self.token = self.person.token
        return self


class People(NamedTuple):
    """Who was given a role in an emergency, by which request, and who may close it."""

    heron: Strong
    kestrel: Member
    request: Any


async def strong(site: Inside, name: str, *codes: str) -> Strong:
    """Return a member who has proved two factors."""
    made = await member(site, name, *codes)
    person = Person(site, made.user_id, name, made.token, password=ADMINISTRATOR_PASSWORD)
    await person.enrol_app()
    return await Strong(site, made.user_id, made.role_id, name, person=person).log_in()


async def close(person: Member, request: Any, reason: str = "The database was down") -> Answer:
    return await person.ask("POST", f"{ASKED}/{request['id']}/closing", {"reason": reason})


async def finding(site: Inside) -> Finding:
    """Return what the checks say now: an answer of the service is given again for some seconds."""
    stores = {"DATABASE_URL": site.database_url, "REDIS_URL": site.redis_url, "JWT_SECRET": SECRET}
    environ = {"PORTCULLIS_CONFIG": "", **stores}
    ((_, made),) = await examine(environ, load(environ), no_routes, CHECK)
    return made


async def given(site: Inside, *codes: str) -> People:
    await ruled(site, "system:file:list", **STRONG)
    kestrel = await member(site, "kestrel", "system:user:list")
    heron = await strong(site, "heron-1", *codes)
    return People(heron, kestrel, await asked(heron))


async def test_who_may_gets_the_role_at_once_and_approvers_hear_of_it(site: Inside) -> None:
    heron, kestrel, request = await given(site)

    assert (request["state"], request["emergency"], request["closed"], request["endedBy"]) == (
        "approved",
        True,
        None,
        "heron-1",
    )
    path = f"/api/user/{heron.user_id}/roles/{request['assignmentId']}"
    assert (await site.data("GET", path))["until"] == request["until"]
    kinds = "SELECT kind, facts ->> 'account' FROM sys.notice WHERE user_id = %s AND kind = 'emergency_given'"
    assert await query(site, kinds, kestrel.user_id) == [("emergency_given", "heron-1")]
    assert await query(site, kinds, heron.user_id) == []


async def test_it_is_a_finding_until_somebody_else_has_closed_it_with_a_reason(site: Inside) -> None:
    heron, kestrel, request = await given(site)
    before = await finding(site)

    own = await close(await heron.log_in(), request)
    empty = await close(kestrel, request, "")
    closed = await close(kestrel, request)
    again = await close(kestrel, request)
    after = await finding(site)

    assert (before.state, after.state) == ("warning", "ok")
    assert "heron of heron-1" in before.message
    assert (own.status, own.json["layer"], empty.status) == (403, "approve", 422)
    shown = closed.json["data"]
    assert (shown["closed"]["userName"], shown["closed"]["reason"]) == ("kestrel", "The database was down")
    assert (shown["state"], shown["decisions"], again.status) == ("approved", [], 409)
    assert (await site.data("GET", f"{ASKED}/list"))["items"][0]["closed"] == shown["closed"]


async def test_who_may_not_approve_sees_and_closes_no_emergency(site: Inside) -> None:
    *_, request = await given(site)
    raven = await member(site, "raven", "system:file:list")

    assert (await close(raven, request)).status == 404


async def test_whom_its_author_gets_hold_of_afterwards_closes_no_emergency(site: Inside) -> None:
    heron, kestrel, request = await given(site, "*")
    await heron.log_in()
    contact = {"email": "heron@example.org"}
    assert (await heron.ask("PATCH", f"/api/user/{kestrel.user_id}", contact)).status == 200

    refused = await close(await kestrel.log_in(), request)

    assert (refused.status, refused.json["layer"]) == (403, "approve")
    assert (await finding(site)).state == "warning"


async def test_once_it_is_closed_its_circle_is_free_again(site: Inside) -> None:
    heron, kestrel, request = await given(site, "*")
    crane = await member(site, "crane", "system:user:list")
    assert (await close(kestrel, request)).status == 200

    password = {"newPassword": "Tr0ub4dor-and-heron"}
    await heron.log_in()
    assert (await heron.ask("PUT", f"/api/user/{crane.user_id}/password", password)).status == 200

    excluded = "SELECT user_id FROM sys.access_request_appointee WHERE user_id = %s"
    assert await query(site, excluded, crane.user_id) == []


async def test_no_second_emergency_lengthens_the_first_one(site: Inside) -> None:
    heron, _, request = await given(site)

    again = await ask(await heron.log_in())

    assert (again.status, again.json["accessRequestId"]) == (409, request["id"])


async def test_emergencies_of_a_person_have_a_limit_of_their_own(site: Inside) -> None:
    await ruled(site, "system:file:list", **STRONG)
    heron = await strong(site, "heron-1")
    await emergencies(site, heron)

    refused = await ask(heron)

    assert (refused.status, refused.json["rule"]) == (409, "limit")


async def test_while_it_is_open_its_rule_and_who_may_close_it_stay_as_they_are(site: Inside) -> None:
    _, kestrel, request = await given(site)
    role = request["roleId"]
    rule = f"/api/role/{role}/request-rule"
    stored = await site.data("GET", rule)
    body = {name: stored[name] for name in ("requestableBy", "stages", "pendingTimeout", "reasonRequired")}
    body |= STRONG | {"assurance": stored["assurance"], "maxDuration": stored["maxDuration"]}
    others = body | {"stages": [{"code": "system:menu:list", "approvals": 1}]}

    refused = [await site.ask("DELETE", rule), await site.ask("PUT", rule, others)]
    refused.append(await site.ask("PUT", rule, body | {"grantNeeded": True}))
    ended = await site.ask("PUT", rule, body | {"emergency": False})
    await execute(
        site, "UPDATE sys.user_role SET valid_until = now() WHERE role_id = %s AND source = 'request'", role
    )
    await execute(site, "DELETE FROM sys.user_role WHERE role_id = %s AND source = 'direct'", role)
    refused.append(await site.ask("DELETE", f"/api/role/{role}"))

    named = [(each.status, each.json["rule"], each.json["accessRequestId"]) for each in refused]
    assert named == [(409, "in_use", request["id"])] * 4
    assert "heron-1" in refused[0].json["detail"]
    assert ended.status == 200, ended.json
    assert (await close(kestrel, request)).status == 200
    assert (await site.ask("DELETE", rule)).status == 200
    assert (await site.ask("DELETE", f"/api/role/{role}")).status == 200


async def test_what_is_no_emergency_is_not_closed(site: Inside) -> None:
    await ruled(site, stages=[ONE])
    heron, kestrel = await member(site, "heron-1"), await member(site, "kestrel", "system:user:list")
    request = await asked(heron)

    assert (await close(kestrel, request)).status == 409


@pytest.mark.feature("metrics")
async def test_open_emergencies_are_counted_for_the_alert(site: Inside) -> None:
    await given(site)

    metrics = (await site.ask("GET", "/metrics", None, token=TOKEN)).body.decode()

    assert "portcullis_emergencies_open 1" in metrics


@pytest.mark.parametrize("downwards", [True, False])
async def test_nobody_closes_their_own_emergency_by_another_account(site: Inside, *, downwards: bool) -> None:
    heron, kestrel, request = await given(site)
    above, below = (heron, kestrel) if downwards else (kestrel, heron)
    await acted(site, above.user_id, below.user_id)
    shown = (await kestrel.ask("GET", f"{ASKED}/{request['id']}")).json["data"]

    refused = await close(kestrel, request)

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (403, "approve", [])
    assert shown["samePerson"].startswith("kestrel counts as the same person as heron-1: ")
    assert shown["mayDecide"] == []
