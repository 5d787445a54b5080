"""A creating request with an ``Idempotency-Key`` is served once, and each repetition gets the same answer."""

import asyncio
import json
from typing import Any

import pytest

from service.features.idempotency import store as idempotent_answers
from service.kernel.write import KeyScope
from service.records.database.transactions import Database
from service.web.requests.idempotency import hash_of
from tests.features.idempotency.keyed import KEPT, count, key, new, was_replayed
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.users.people import execute
from tests.web.driver import JSON

CREATING = ("/api/user", "/api/role", "/api/menu", "/api/resource")


@with_each("path", CREATING)
async def test_a_repetition_gets_the_same_answer_and_creates_nothing(shared: Inside, path: str) -> None:
    body, mine = new(path), key()
    before = await count(shared, path)

    first = await shared.ask("POST", path, body, mine)
    again = [await shared.ask("POST", path, body, mine) for _ in range(2)]

    assert (first.status, was_replayed(first)) == (201, False)
    for answer in again:
        assert (answer.status, answer.body, was_replayed(answer)) == (201, first.body, True)
        assert [answer.header(name) for name in KEPT] == [first.header(name) for name in KEPT]
        assert answer.header("x-request-id") != first.header("x-request-id")
    assert first.header("etag") == '"1"'
    assert await count(shared, path) == before + 1


async def test_an_answer_stays_as_it_was_when_the_record_changes(shared: Inside) -> None:
    body, mine = new("/api/role"), key()
    first = await shared.ask("POST", "/api/role", body, mine)
    target = f"/api/role/{first.json['data']['id']}"
    await shared.data("PATCH", target, {"roleName": f"{body['roleName']}, renamed"})
    changed = await shared.ask("POST", "/api/role", body, mine)
    await shared.data("DELETE", target)
    deleted = await shared.ask("POST", "/api/role", body, mine)

    assert changed.body == deleted.body == first.body
    assert (await shared.ask("GET", target)).status == 404


async def test_the_order_of_members_and_the_spaces_between_them_make_no_other_body(shared: Inside) -> None:
    body, mine = new("/api/role"), key()
    first = await shared.ask("POST", "/api/role", body, mine)
    turned = json.dumps(dict(reversed(body.items())), indent=2).encode()

    again = await shared.ask_raw("POST", "/api/role", turned, JSON, mine)

    assert (again.status, again.body) == (201, first.body)


@pytest.mark.parametrize("change", [{"roleName": "Another"}, {"description": None}, {"enabled": True}])
async def test_another_body_under_the_same_key_is_refused(shared: Inside, change: dict[str, Any]) -> None:
    body, mine = new("/api/role"), key()
    await shared.data("POST", "/api/role", body, mine)
    before = await count(shared, "/api/role")

    other = await shared.ask("POST", "/api/role", body | change, mine)

    assert (other.status, other.code) == (422, "idempotency_key_reused")
    assert await count(shared, "/api/role") == before


async def test_another_password_under_the_same_key_is_another_body(shared: Inside) -> None:
    body, mine = new("/api/user"), key()
    await shared.data("POST", "/api/user", body, mine)

    other = await shared.ask("POST", "/api/user", body | {"password": "five wary herons"}, mine)

    assert (other.status, other.code) == (422, "idempotency_key_reused")


async def test_a_key_means_one_request_of_one_user_at_one_path(shared: Inside) -> None:
    mine = key()
    user, role = new("/api/user") | {"roleIds": [1]}, new("/api/role")
    made = await shared.data("POST", "/api/user", user, mine)
    token = await shared.log_in(user["userName"], user["password"])

    at_another_path = await shared.ask("POST", "/api/role", role, mine)
    of_another_user = await shared.ask("POST", "/api/role", new("/api/role"), mine, token=token)

    assert [made["roles"][0]["id"], at_another_path.status, of_another_user.status] == [1, 201, 201]
    assert not was_replayed(at_another_path)
    assert not was_replayed(of_another_user)


@with_each("value", ["x" * 256, "gr\u00fcn", "a\tb", "\x7f"])
async def test_a_malformed_key_is_refused(shared: Inside, value: str) -> None:
    body = new("/api/role")

    answer = await shared.ask("POST", "/api/role", body, ("Idempotency-Key", value))

    assert (answer.status, answer.code) == (400, "bad_request")
    assert "1 to 255 printable ASCII characters" in answer.json["detail"]


async def test_a_key_is_given_once(shared: Inside) -> None:
    answer = await shared.ask("POST", "/api/role", new("/api/role"), key("a"), key("a"))
    assert (answer.status, answer.code) == (400, "bad_request")


@with_each("value", ["~", '"8e03978e-40d5-43dd-bc93-6894a57f9324"', "x" * 255, "two words"])
async def test_a_key_is_any_short_text_with_quotes_or_without(shared: Inside, value: str) -> None:
    body = new("/api/role")
    first = await shared.ask("POST", "/api/role", body, key(value))
    again = await shared.ask("POST", "/api/role", body, key(value))
    assert (first.status, again.body, was_replayed(again)) == (201, first.body, True)


async def test_a_refused_request_leaves_its_key_free(shared: Inside) -> None:
    body, mine = new("/api/role"), key()
    taken = await shared.data("POST", "/api/role", body)

    refused = [await shared.ask("POST", "/api/role", body, mine) for _ in range(2)]
    await shared.data("DELETE", f"/api/role/{taken['id']}")
    served = await shared.ask("POST", "/api/role", body, mine)

    assert [answer.code for answer in refused] == ["conflict", "conflict"]
    assert (served.status, was_replayed(served)) == (201, False)


async def test_a_dry_run_keeps_no_answer_and_repeats_none(shared: Inside) -> None:
    body, mine = new("/api/role"), key()

    before = await shared.ask("POST", "/api/role?dryRun=true", body, mine)
    made = await shared.ask("POST", "/api/role", body, mine)
    after = await shared.ask("POST", "/api/role?dryRun=true", body, mine)

    assert (before.status, made.status, was_replayed(made)) == (200, 201, False)
    assert after.code == "conflict"


async def test_of_many_equal_requests_at_once_one_is_served(shared: Inside) -> None:
    body, mine = new("/api/role"), key()

    answers = await asyncio.gather(*(shared.ask("POST", "/api/role", body, mine) for _ in range(6)))

    served = [answer for answer in answers if answer.status == 201 and not was_replayed(answer)]
    others = [answer for answer in answers if answer not in served and not was_replayed(answer)]
    assert len(served) == 1
    # As many as came while it was served; the others got its answer.
    assert {(answer.status, answer.code, answer.header("retry-after")) for answer in others} <= {
        (409, "request_under_way", "1")
    }
    assert (await shared.ask("POST", "/api/role", body, mine)).body == served[0].body


async def test_a_request_that_another_process_serves_is_under_way_until_its_transaction_ends(
    shared: Inside,
) -> None:
    body, mine = new("/api/role"), key()
    ((admin,),) = execute(shared, "SELECT id FROM sys.user WHERE user_name = 'admin'")
    scope = KeyScope(admin, "POST", "/api/role", hash_of(mine[1].encode()))
    async with Database(shared.database_url) as database:
        async with database.transaction() as connection:
            assert await idempotent_answers.claim(connection, scope)
            during = await shared.ask("POST", "/api/role", body, mine)
        after = await shared.ask("POST", "/api/role", body, mine)

    assert (during.status, during.code, during.header("retry-after")) == (409, "request_under_way", "1")
    assert (after.status, was_replayed(after)) == (201, False)
