"""The AuthZEN Access Request and Approval Profile: a service asks for what was denied to a person."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from service.embedded import EmbeddedStores
from service.evaluation import requestable_denials
from service.evaluation.requestable_denials import Requestable, RequestableDenials
from tests.access_requests.test_requests import ONE, after, decide
from tests.access_requests.test_rules import RULE
from tests.support.databases import database
from tests.support.inside import Inside, inside_published
from tests.support.members import Member, member, query
from tests.users.test_grants import logged
from tests.web.driver import Answer

pytestmark = pytest.mark.anyio

BASE = "https://access.example.com"
EVALUATION = "/access/v1/evaluation"
REQUESTS = "/access/v1/requests"
URN = "urn:openid:authzen:access-request:error:"
ON = {"PORTCULLIS_SERVER__PUBLIC_URL": BASE, "PORTCULLIS_POLICY__REQUEST_PROFILE": "true"}
OPENED = "system:file:list"
"""What the role gives that may be asked for."""
_number = itertools.count(1)


@dataclass
class Profile:
    """A service with the profile on, the keys of accounts that ask, and a person who approves."""

    service: Inside
    keys: dict[str, str]
    approver: Member

    async def person(self) -> Member:
        """Return another person, who holds nothing."""
        return await member(self.service, f"person-{next(_number)}")

    async def evaluate(self, who: Any, *, by: str = "gateway", code: str = OPENED, **context: Any) -> Any:
        """Return the decision about a permission code."""
        answer = await self.service.ask(
            "POST", EVALUATION, question(who, code) | {"context": context}, token=self.keys[by]
        )
        assert answer.status == 200, answer.body
        return answer.json

    async def denial(self, who: Any, **given: Any) -> dict[str, str]:
        """Return what binds a request to a denial."""
        offered = (await self.evaluate(who, **given))["context"]["access_request"]
        assert offered["endpoint"] == f"{BASE}{REQUESTS}"
        return {name: offered[name] for name in ("expires_at", "binding_token")}

    async def submit(self, who: Any, denial: Any, *, by: str = "gateway", **changes: Any) -> Answer:
        body = question(who) | {"denial": denial} | changes
        return await self.service.ask("POST", REQUESTS, body, token=self.keys[by])

    async def task(self, who: Any, *, by: str = "gateway") -> Any:
        """Return the task of a request after a denial."""
        answer = await self.submit(who, await self.denial(who, by=by), by=by)
        assert answer.status == 201, answer.body
        return answer.json["task"]

    async def read(self, task: Any, *, by: str = "gateway") -> Answer:
        return await self.service.ask("GET", f"{REQUESTS}/{task['id']}", token=self.keys[by])

    async def cancel(self, task: Any, *, by: str = "gateway") -> Answer:
        return await self.service.ask("POST", f"{REQUESTS}/{task['id']}/cancel", token=self.keys[by])

    async def request(self, who: Member) -> Any:
        """Return the only request of a person, as those see it who may decide about it."""
        listed = await self.approver.ask("GET", f"/api/access-request/list?userId={who.user_id}")
        (request,) = listed.json["data"]["items"]
        return request


def question(who: Any, code: str = OPENED) -> dict[str, Any]:
    """Return a question about a permission code; ``who`` is a subject, or a member by name."""
    subject = {"type": "user", "id": who.name} if isinstance(who, Member) else who
    return {
        "subject": subject,
        "action": {"name": "use"},
        "resource": {"type": "permission", "id": code},
    }


def by_token(who: Member) -> dict[str, str]:
    return {"type": "token", "id": who.token}


async def ruled(service: Inside, name: str, *codes: str, **changes: Any) -> int:
    """Make a role that may be asked for; return its id."""
    body = {"roleName": name, "roleCode": name, "permissions": list(codes)}
    number: int = (await service.data("POST", "/api/role", body))["id"]
    await service.data("PUT", f"/api/role/{number}/request-rule", RULE | {"stages": [ONE], **changes})
    return number


async def key_of(service: Inside, name: str, role_id: int, bound: str | None = None) -> str:
    """Return a key of a new service account."""
    account = {"userName": name, "nickName": name, "kind": "service", "roleIds": [role_id], "service": bound}
    user_id = (await service.data("POST", "/api/user", account))["id"]
    key: str = (await service.data("POST", f"/api/user/{user_id}/keys", {"name": "key"}))["key"]
    return key


async def furnished(service: Inside) -> Profile:
    """Return the profile with accounts of services, and two roles that open the same."""
    await service.data("POST", "/api/service", {"name": "orders"})
    button = {"title": "Read", "menuType": "Button", "authMark": "orders:order:read", "parentId": None}
    await service.data("POST", "/api/menu", button)
    codes = ["system:policy:evaluate"]
    asking = {"roleName": "Asking", "roleCode": "asking", "permissions": codes}
    role_id = (await service.data("POST", "/api/role", asking))["id"]
    await ruled(service, "heron", OPENED, "orders:order:read")
    await ruled(service, "albatross", OPENED, "orders:order:read", "system:login-log:list")
    keys = {name: await key_of(service, name, role_id) for name in ("gateway", "other")}
    keys["orders"] = await key_of(service, "orders-gateway", role_id, "orders")
    person = await member(service, "asking-person", *codes)
    keys["person"] = person.token
    approver = await member(service, "kestrel", "*")
    return Profile(service, keys, approver)


@pytest.fixture(scope="module")
async def profile(
    stores: EmbeddedStores, published_template: str, module_redis_url: str
) -> AsyncIterator[Profile]:
    """One service for the tests of the module."""
    with database(stores, published_template) as url:
        async with inside_published(url, module_redis_url, **ON) as service:
            yield await furnished(service)


async def test_what_was_denied_is_asked_for_approved_by_a_person_and_then_allowed(profile: Profile) -> None:
    who = await profile.person()
    answer = await profile.submit(
        who,
        await profile.denial(who),
        context={"business_justification": "The books of this month"},
        requested_access={"requested_until": (until := after(600))},
    )
    task = answer.json["task"]
    assert (answer.status, task["status"]) == (201, "pending")
    assert task["status_endpoint"] == f"{BASE}{REQUESTS}/{task['id']}"
    assert task["links"] == {"cancel": f"{BASE}{REQUESTS}/{task['id']}/cancel"}
    assert answer.header("Location") == f"{REQUESTS}/{task['id']}"
    assert (await profile.read(task)).json == {"task": task}

    request = await profile.request(who)
    assert (request["roleCode"], request["submittedBy"]) == ("heron", "gateway")
    assert (request["userName"], request["reason"]) == (who.name, "The books of this month")
    assert (await profile.evaluate(who))["decision"] is False
    assert (await decide(profile.approver, request)).status == 200

    done = (await profile.read(task)).json
    assert done["task"] == {
        "id": task["id"],
        "status": "approved",
        "status_endpoint": task["status_endpoint"],
    }
    approval = done["result"]["approval"]
    assert done["result"]["mode"] == "reevaluate"
    assert approval["approved_until"] == until
    again = await profile.evaluate(who, approval=approval)
    assert again["decision"] is True
    assert again["context"]["approval"] == approval
    assert (await profile.evaluate(who, by="other"))["decision"] is True


async def test_an_approval_is_told_for_its_question_and_its_account_alone(profile: Profile) -> None:
    who = await profile.person()
    task = await profile.task(who)
    await decide(profile.approver, await profile.request(who))
    approval = (await profile.read(task)).json["result"]["approval"]

    elsewhere = await profile.evaluate(who, by="other", approval=approval)
    another = await profile.evaluate(who, code="orders:order:read", approval=approval)
    unknown = await profile.evaluate(who, approval={"id": "unknown"})
    malformed = await profile.evaluate(who, approval=7)

    for answer in (elsewhere, another, unknown, malformed):
        assert answer["decision"] is True
        assert "approval" not in answer["context"]


async def test_an_approval_opens_nothing_once_the_role_is_revoked(profile: Profile) -> None:
    who = await profile.person()
    task = await profile.task(who)
    given = (await decide(profile.approver, await profile.request(who))).json["data"]
    approval = (await profile.read(task)).json["result"]["approval"]
    await profile.service.data("DELETE", f"/api/user/{who.user_id}/roles/{given['assignmentId']}")

    again = await profile.evaluate(who, approval=approval)
    shown = (await profile.read(task)).json

    assert again["decision"] is False
    assert again["context"]["next_action"] == "request"
    assert shown["task"]["status"] == "approved"
    assert shown["result"]["approval"]["approved_until"] == approval["approved_at"]


async def test_after_a_denial_that_no_role_would_open_nothing_is_to_be_done(profile: Profile) -> None:
    who = await profile.person()

    answer = await profile.evaluate(who, code="system:role:delete", approval={"id": "unknown"})

    assert answer["decision"] is False
    assert answer["context"]["next_action"] == "none"
    assert "access_request" not in answer["context"]


@pytest.mark.parametrize("part", ["first", "last", "empty", "no text"])
async def test_an_altered_token_is_refused(profile: Profile, part: str) -> None:
    who = await profile.person()
    denial = await profile.denial(who)
    token = denial["binding_token"]
    altered = {
        "first": f"{'X' if token[0] != 'X' else 'Y'}{token[1:]}",
        "last": f"{token[:-1]}{'0' if token[-1] != '0' else '1'}",
        "empty": "",
        "no text": "\u00e9.\u00e9",
    }[part]

    refused = await profile.submit(who, denial | {"binding_token": altered})

    assert (refused.status, refused.json["type"]) == (400, f"{URN}invalid_denial_binding")


async def test_a_token_is_taken_from_its_account_for_its_question_and_with_its_end_alone(
    profile: Profile,
) -> None:
    who, another = await profile.person(), await profile.person()
    denial = await profile.denial(who)
    resource = question(who)["resource"]
    answers = [
        await profile.submit(who, denial, by="other"),
        await profile.submit(another, denial),
        await profile.submit(who, denial, resource=resource | {"id": "orders:order:read"}),
        await profile.submit(who, denial, resource=resource | {"properties": {"more": 1}}),
        await profile.submit(who, denial, action={"name": "read"}),
        await profile.submit(who, denial | {"expires_at": after(3600)}),
    ]

    assert [(answer.status, answer.json["type"]) for answer in answers] == [
        (400, f"{URN}invalid_denial_binding")
    ] * len(answers)
    assert (await profile.submit(who, denial)).status == 201


async def test_an_expired_token_is_refused(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    who = await profile.person()
    monkeypatch.setattr(requestable_denials, "LIFE", -1)

    refused = await profile.submit(who, await profile.denial(who))

    assert (refused.status, refused.json["type"]) == (410, f"{URN}expired_denial")


async def test_who_may_no_longer_ask_is_refused(profile: Profile) -> None:
    who, disabled, opened = await profile.person(), await profile.person(), await profile.person()
    number = await ruled(profile.service, "wren", "system:menu:list", requestableBy="@login")
    code = "system:menu:list"
    denials = [await profile.denial(each, code=code) for each in (who, disabled, opened)]
    status = f"/api/user/{disabled.user_id}/status"
    await profile.service.data("PUT", status, {"status": "disabled"})
    await profile.service.data("POST", f"/api/user/{opened.user_id}/roles", {"roleId": number})
    rule = RULE | {"stages": [ONE], "requestableBy": "system:user:list"}
    await profile.service.data("PUT", f"/api/role/{number}/request-rule", rule)

    for each, denial in zip((who, disabled, opened), denials, strict=True):
        refused = await profile.submit(each, denial, resource={"type": "permission", "id": code})
        assert (refused.status, refused.json["type"]) == (400, f"{URN}not_requestable")


async def test_a_subject_that_can_not_prove_what_the_rule_demands_is_not_asked_for(profile: Profile) -> None:
    code = "system:job:list"
    await ruled(profile.service, "swift", code, assurance="login-within-12h")
    who = await profile.person()

    named = await profile.evaluate(who, code=code)
    denial = await profile.denial(by_token(who), code=code)
    resource = {"type": "permission", "id": code}
    by_name = await profile.submit(who, denial, resource=resource)
    proved = await profile.submit(by_token(who), denial, resource=resource)

    assert "access_request" not in named["context"]
    assert by_name.status == 400
    assert proved.status == 201
    assert (await profile.request(who))["roleCode"] == "swift"


async def test_a_role_that_is_given_at_once_is_not_asked_for_in_the_name_of_others(profile: Profile) -> None:
    code = "system:file:delete"
    await ruled(profile.service, "phoenix", code, assurance="two-factors", emergency=True)
    who = await profile.person()

    assert "access_request" not in (await profile.evaluate(who, code=code))["context"]
    assert "access_request" not in (await profile.evaluate(by_token(who), code=code))["context"]


@pytest.mark.parametrize(
    ("rule", "by", "expected"),
    [
        ({"requestableBy": "system:user:list"}, "gateway", (400, "request")),
        ({"assurance": "two-factors"}, "gateway", (400, "assurance")),
        ({"assurance": "two-factors", "emergency": True}, "gateway", (400, None)),
        ({}, "person", (403, "account")),
        ({}, "orders", (403, "account")),
    ],
)
async def test_the_enforcer_decides_again_when_the_request_is_made(
    profile: Profile,
    monkeypatch: pytest.MonkeyPatch,
    rule: dict[str, Any],
    by: str,
    expected: tuple[int, str | None],
) -> None:
    """Whatever was so a moment before."""
    role = f"crane-{next(_number)}"
    await ruled(profile.service, role, "orders:order:read", **rule)
    who = await profile.person()

    async def before(*_: Any) -> Requestable:
        return Requestable(role, "")

    monkeypatch.setattr(RequestableDenials, "role_for", before)
    code = "orders:order:read"
    resource = {"type": "permission", "id": code}
    refused = await profile.submit(who, await profile.denial(who, by=by, code=code), by=by, resource=resource)

    assert (refused.status, refused.json.get("layer")) == expected
    assert (await profile.approver.ask("GET", f"/api/access-request/list?userId={who.user_id}")).json["data"][
        "total"
    ] == 0


async def test_only_service_accounts_are_told_of_it_and_only_about_persons(profile: Profile) -> None:
    who = await profile.person()
    denial = await profile.denial(who)

    by_person = await profile.evaluate(who, by="person")
    program = await profile.evaluate({"type": "user", "id": "other"})
    nobody = await profile.evaluate({"type": "user", "id": "nobody-here"})
    refused = await profile.submit(who, denial, by="person")

    for answer in (by_person, program, nobody):
        assert (answer["decision"], "access_request" in answer["context"]) == (False, False)
    assert refused.status == 400


async def test_a_bound_account_asks_about_its_own_service_alone(profile: Profile) -> None:
    who = await profile.person()
    code = "orders:order:read"

    other = await profile.evaluate(who, by="orders")
    denial = await profile.denial(who, by="orders", code=code)
    resource = {"type": "permission", "id": code}
    own = await profile.submit(who, denial, by="orders", resource=resource)

    assert "access_request" not in other["context"]
    assert own.status == 201
    assert (await profile.read(own.json["task"], by="orders")).status == 200


async def test_an_account_that_is_bound_to_another_service_since_loses_its_tasks(profile: Profile) -> None:
    service = profile.service
    ((role_id,),) = await query(service, "SELECT id FROM sys.role WHERE role_code = 'asking'")
    profile.keys["moved"] = await key_of(service, "moved", role_id)
    task = await profile.task(await profile.person(), by="moved")
    ((user_id,),) = await query(service, "SELECT id FROM sys.user WHERE user_name = 'moved'")
    await service.data("PATCH", f"/api/user/{user_id}", {"service": "orders"})

    shown, cancelled = await profile.read(task, by="moved"), await profile.cancel(task, by="moved")

    assert (shown.status, shown.json["type"]) == (404, f"{URN}unknown_task")
    assert (cancelled.status, cancelled.json["layer"]) == (403, "account")


async def test_the_operation_log_names_who_asked_for_whom_and_keeps_no_token(profile: Profile) -> None:
    who = await profile.person()
    denial = await profile.denial(by_token(who))
    submitted = await profile.submit(by_token(who), denial)
    assert submitted.status == 201

    entry = await logged(profile.service, submitted.header("X-Request-ID") or "")
    detail = await profile.service.data("GET", f"/api/operation-log/{entry['id']}")

    kept = json.dumps(detail)
    assert f"asked by {who.name}" in kept
    assert "submitted by gateway" in kept
    assert who.token not in kept
    assert denial["binding_token"] not in kept


async def test_other_accounts_find_no_task(profile: Profile) -> None:
    task = await profile.task(await profile.person())

    answers = [
        await profile.read(task, by="other"),
        await profile.read(task, by="person"),
        await profile.read({"id": "unknown"}),
        await profile.cancel(task, by="other"),
    ]

    assert {(answer.status, answer.json["type"]) for answer in answers} == {(404, f"{URN}unknown_task")}
    assert (await profile.read(task)).json["task"]["status"] == "pending"


async def test_a_pending_task_is_cancelled_once(profile: Profile) -> None:
    who = await profile.person()
    task = await profile.task(who)

    cancelled = await profile.cancel(task)
    again = await profile.cancel(task)

    assert (cancelled.status, cancelled.json["task"]["status"]) == (200, "cancelled")
    assert "links" not in cancelled.json["task"]
    assert (again.status, again.json["type"]) == (409, f"{URN}invalid_task_state")
    request = await profile.request(who)
    assert (request["state"], request["endedBy"]) == ("cancelled", "gateway")
    assert (await profile.submit(who, await profile.denial(who))).status == 201


async def test_a_task_has_the_state_of_its_request(profile: Profile) -> None:
    denied, failed, withdrawn, late = [await profile.person() for _ in range(4)]
    tasks = [await profile.task(who) for who in (denied, failed, withdrawn, late)]
    await decide(profile.approver, await profile.request(denied), "deny")
    await profile.service.data("PUT", f"/api/user/{failed.user_id}/status", {"status": "disabled"})
    own = await profile.request(withdrawn)
    assert (await withdrawn.ask("DELETE", f"/api/access-request/{own['id']}")).status == 200
    overdue = "UPDATE sys.access_request SET deadline = now() - interval '1 s' WHERE user_id = %s"
    await query(profile.service, overdue, late.user_id)

    shown = [(await profile.read(task)).json for task in tasks]

    assert [each["task"]["status"] for each in shown] == ["denied", "failed", "cancelled", "expired"]
    assert all("result" not in each for each in shown)


async def test_a_second_request_for_the_role_is_a_conflict(profile: Profile) -> None:
    who = await profile.person()
    await profile.task(who)

    second = await profile.submit(who, await profile.denial(who))

    assert (second.status, second.json["code"]) == (409, "conflict")


async def test_a_repetition_under_the_same_key_returns_the_same_task(profile: Profile) -> None:
    who = await profile.person()
    body = question(who) | {"denial": await profile.denial(who)}
    key, token = ("Idempotency-Key", "4711"), profile.keys["gateway"]

    first, again = [await profile.service.ask("POST", REQUESTS, body, key, token=token) for _ in range(2)]

    assert (first.status, again.status) == (201, 201)
    assert again.json == first.json


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"items": []}, "items"),
        ({"callback": {"endpoint": "https://pep.example.com"}}, "callback"),
        ({"client": {"actor": {"id": "agent"}}}, "client.actor"),
        ({"requested_access": {"emergency": True}}, "requested_access.emergency"),
        ({"requested_access": {"requested_until": after(1_000_000)}}, "requested_access.requested_until"),
        ({"context": {"business_justification": 7}}, "context.business_justification"),
        ({"context": {"business_justification": "a\0"}}, "context.business_justification"),
    ],
)
async def test_what_is_not_supported_is_refused_by_its_member(
    profile: Profile, changes: Any, member: str
) -> None:
    who = await profile.person()

    refused = await profile.submit(who, await profile.denial(who), **changes)

    assert refused.status == 400
    assert refused.json["detail"].startswith(f"{member}: ")


async def test_the_smallest_role_that_would_open_it_is_asked_for(profile: Profile) -> None:
    code = "system:operation-log:list"
    await ruled(profile.service, "a-large", code, "system:menu:delete")
    await ruled(profile.service, "c-small", code)
    await ruled(profile.service, "b-small", code)
    who = await profile.person()
    denial = await profile.denial(who, code=code)

    await profile.submit(who, denial, resource={"type": "permission", "id": code})

    assert (await profile.request(who))["roleCode"] == "b-small"


async def test_the_actor_of_a_subject_binds_nothing_and_a_single_question_of_a_batch_is_one(
    profile: Profile,
) -> None:
    who = await profile.person()
    subject = {"type": "user", "id": who.name, "properties": {"act": {"sub": "agent"}}}
    single = await profile.service.ask(
        "POST", "/access/v1/evaluations", question(subject), token=profile.keys["gateway"]
    )
    several = await profile.service.ask(
        "POST",
        "/access/v1/evaluations",
        question(subject) | {"evaluations": [{}]},
        token=profile.keys["gateway"],
    )
    offered = single.json["context"]["access_request"]
    del offered["endpoint"]

    assert "access_request" not in several.json["evaluations"][0]["context"]
    assert (await profile.submit(who, offered)).status == 201


async def test_the_metadata_say_where_access_is_requested(profile: Profile) -> None:
    shown = (await profile.service.ask("GET", "/.well-known/authzen-configuration")).json

    assert shown["access_request_endpoint"] == f"{BASE}{REQUESTS}"
    assert shown["capabilities"] == ["urn:openid:authzen:capability:access-request"]


async def test_without_the_setting_there_is_no_trace_of_it(
    stores: EmbeddedStores, published_template: str, redis_url: str
) -> None:
    with database(stores, published_template) as url:
        async with inside_published(url, redis_url, PORTCULLIS_SERVER__PUBLIC_URL=BASE) as service:
            profile = await furnished(service)
            who = await profile.person()

            answer = await profile.evaluate(who, approval={"id": "unknown"})
            submitted = await profile.submit(who, {"expires_at": after(60), "binding_token": "a.b"})
            task = {"id": "unknown"}
            answers = [submitted, await profile.read(task), await profile.cancel(task)]
            shown = (await service.ask("GET", "/.well-known/authzen-configuration")).json

            assert set(answer["context"]) == {"reason", "revision", "layer", "decisionId"}
            assert {(each.status, each.json["code"]) for each in answers} == {(404, "not_found")}
            assert {"access_request_endpoint", "capabilities"}.isdisjoint(shown)
