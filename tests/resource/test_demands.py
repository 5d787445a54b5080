"""Administrators set how strongly somebody must have authenticated to touch a resource."""

from typing import Any

import psycopg
import pytest

from service.kernel.assurance import EVERY_CALLER, opens_more, words_of
from tests.menus.test_menus import BUTTON
from tests.resource.test_resource import created, newest, report
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import member, query

ANY = ("If-Match", "*")
EDITING = ("system:resource:list", "system:resource:create", "system:resource:update")
BINDING = (*EDITING, "system:resource:bind", "system:resource:delete")


async def lines(house: Inside, name: str) -> list[str]:
    rows = await query(
        house, "SELECT v2 FROM sys.casbin_rule WHERE v0 = 'assurance' AND v1 = %s ORDER BY v2", name
    )
    return [word for (word,) in rows]


async def bound(house: Inside, name: str, *codes: str, **values: Any) -> Any:
    """Register a resource and bind it to new Buttons of these codes."""
    resource = await created(house, report(name), **values)
    menus = [(await created_button(house, code)) for code in codes]
    await house.data("PUT", f"/api/resource/{resource['id']}/buttons", {"menuIds": menus}, ANY)
    return resource


async def created_button(house: Inside, code: str) -> int:
    made = await house.data("POST", "/api/menu", BUTTON | {"authMark": code})
    number: int = made["id"]
    return number


async def workers(house: Inside, **facts: Any) -> None:
    """Let a worker of another node report ``facts``."""
    await query(
        house,
        "INSERT INTO sys.policy_worker (worker, revision, facts) VALUES ('other:1', 1, %s)",
        psycopg.types.json.Jsonb({"version": "0.2.0", "settings": {}, "parts": {}} | facts),
    )


def test_a_demand_is_lowered_by_all_that_lets_somebody_pass_who_did_not() -> None:
    strong, weak = words_of("two-factors", services=False), words_of("login", services=False)
    by_key = words_of("two-factors", services=True)
    recent = words_of("login-within-15m", services=False)
    nothing = words_of(None, services=True)

    assert (strong, by_key, nothing) == (("@two-factors",), ("@service", "@two-factors"), ("@anyone",))
    assert opens_more(strong, weak)
    assert opens_more(weak, nothing)
    assert opens_more(strong, by_key)
    assert opens_more(strong, recent)
    assert opens_more(recent, strong)  # of old proofs
    assert not opens_more(weak, strong)
    assert not opens_more(by_key, strong)
    assert not any(opens_more(nothing, (word,)) for each in EVERY_CALLER for word in each.codes)


async def test_a_demand_is_a_line_of_the_policy_and_is_asked_of_requests(house: Inside) -> None:
    (own,) = (await house.data("GET", "/api/resource/list?path=/api/user/operations"))["items"]
    target, name = f"/api/resource/{own['id']}", "resource GET /api/user/operations"
    assert (own["assurance"], own["services"]) == (None, False)
    assert await lines(house, name) == ["@anyone"]

    saved = await house.data("PATCH", target, {"assurance": "two-factors"})
    refused = await house.ask("GET", "/api/user/operations")

    assert (saved["assurance"], await lines(house, name)) == ("two-factors", ["@two-factors"])
    assert (refused.status, refused.code) == (401, "insufficient_user_authentication")
    assert refused.json["required"] == ["@two-factors"]

    await house.data("PATCH", target, {"assurance": "login-within-15m", "services": True})
    assert await lines(house, name) == ["@login-within-15m", "@service"]
    assert (await house.ask("GET", "/api/user/operations")).status == 200
    await house.data("PATCH", target, {"assurance": None})
    assert await lines(house, name) == ["@anyone"]


async def test_a_demand_that_no_administrator_meets_is_not_set_on_what_administers_the_policy(
    house: Inside,
) -> None:
    (roles,) = (await house.data("GET", "/api/resource/list?path=/api/role/list"))["items"]
    refused = await house.ask("PATCH", f"/api/resource/{roles['id']}", {"assurance": "two-factors"})
    assert (refused.status, refused.json["rule"]) == (409, "way_back")


async def test_a_put_without_a_demand_keeps_it_and_one_with_null_removes_it(house: Inside) -> None:
    resource = await created(house, report("kept"), assurance="phishing-resistant-within-12h", services=True)
    target = f"/api/resource/{resource['id']}"
    body = report("kept") | {"description": None, "enabled": True}

    kept = await house.data("PUT", target, body, ANY)
    assert (kept["assurance"], kept["services"]) == ("phishing-resistant-within-12h", True)
    removed = await house.data("PUT", target, body | {"assurance": None, "services": False}, ANY)
    assert (removed["assurance"], removed["services"]) == (None, False)


async def test_service_accounts_are_let_past_no_demand_that_comes_later(house: Inside) -> None:
    early = await house.ask("POST", "/api/resource", report("early") | {"services": True})
    resource = await created(house, report("kept"), assurance="two-factors", services=True)
    target = f"/api/resource/{resource['id']}"

    cleared = await house.data("PATCH", target, {"assurance": None})
    again = await house.ask("PATCH", target, {"services": True})
    demanded = await house.data("PATCH", target, {"assurance": "two-factors"})

    assert (early.status, early.fields, again.status, again.fields) == (422, ["services"], 422, ["services"])
    assert (cleared["services"], demanded["services"]) == (False, False)
    assert await lines(house, f"resource {resource['method']} {resource['path']}") == ["@two-factors"]


@with_each(
    "values",
    [{"assurance": word} for word in ("@login", "initial", "anyone", "service", "two-factors-within-1m", "")]
    + [{"services": None}, {"services": "yes"}],
)
async def test_what_is_no_demand_is_refused(shared: Inside, values: dict[str, Any]) -> None:
    refused = await shared.ask("POST", "/api/resource", report("odd") | values)
    (field,) = values
    assert (refused.status, refused.json["errors"][0]["field"]) == (422, field)


async def test_a_demand_is_set_only_by_who_may_bind_the_resource(house: Inside) -> None:
    resource = await bound(house, "settable", "settable:a", "settable:b")
    target = f"/api/resource/{resource['id']}"
    editor = await member(house, "editor", *EDITING, "settable:a")
    stranger = await member(house, "stranger", *BINDING)
    binder = await member(house, "binder", *BINDING, "settable:a")
    demand = {"assurance": "two-factors"}

    assert (await editor.ask("PATCH", target, {"description": "Mine"})).status == 200
    for who, method, path, body in (
        (editor, "PATCH", target, demand),
        (editor, "POST", "/api/resource", report("another") | demand),
        (stranger, "PATCH", target, demand),
    ):
        assert (await who.ask(method, path, body)).status == 403
    assert (await binder.ask("PATCH", target, demand)).status == 200
    assert (await editor.ask("PATCH", target, demand | {"description": "Same"})).status == 200


LOWERING: dict[str, Any] = {
    "assurance": None,
    "services": True,
    "enabled": False,
    "path": "/api/elsewhere",
}


async def test_a_demand_is_lowered_only_by_who_may_unbind_all_buttons(house: Inside) -> None:
    resource = await bound(house, "low", "low:a", "low:b", assurance="two-factors")
    target = f"/api/resource/{resource['id']}"
    half = await member(house, "half", *BINDING, "low:a")
    whole = await member(house, "whole", *BINDING, "low:a", "low:b")
    unable = await member(house, "unable", *EDITING, "low:a", "low:b")

    for name, value in [*LOWERING.items(), ("assurance", "login-within-15m")]:
        refused = await half.ask("PATCH", target, {name: value})
        assert (refused.status, refused.json["required"]) == (403, ["low:b"]), name
        assert (await unable.ask("PATCH", target, {name: value})).status == 403, name
        assert await lines(house, "resource GET /api/low/{id}") == ["@two-factors"], name
        assert (await whole.ask("PATCH", target, {name: value})).status == 200, name
        await house.data("PATCH", target, {name: resource[name]})


async def test_deleting_asks_the_same_and_so_does_taking_requests(house: Inside) -> None:
    resource = await bound(house, "taken", "taken:a", "taken:b", assurance="two-factors")
    half = await member(house, "half", *BINDING, "taken:a")
    specific = report("taken") | {"path": "/api/taken/7", "resourceCode": "taken.seven"}

    refused = [
        await half.ask("DELETE", f"/api/resource/{resource['id']}"),
        await half.ask("PUT", f"/api/resource/{resource['id']}/enabled", {"enabled": False}),
        await half.ask("POST", "/api/resource", specific),
        await half.ask("POST", "/api/resource", specific | {"assurance": "login"}),
    ]

    assert [(answer.status, answer.json["required"]) for answer in refused] == [(403, ["taken:b"])] * 4
    demanding = specific | {"assurance": "phishing-resistant"}
    assert (await half.ask("POST", "/api/resource", demanding)).status == 201


async def test_a_demand_waits_until_all_workers_ask_for_it(house: Inside) -> None:
    resource = await created(house, report("waiting"))
    target, demand = f"/api/resource/{resource['id']}", {"assurance": "login"}
    await workers(house)

    refused = [
        await house.ask("PATCH", target, demand),
        await house.ask("POST", "/api/resource", report("later") | demand),
    ]
    assert [(answer.status, answer.json["rule"]) for answer in refused] == [(409, "older_nodes")] * 2
    assert (await house.ask("PATCH", target, {"description": "As ever"})).status == 200

    await query(house, "DELETE FROM sys.policy_worker WHERE worker = 'other:1'")
    await workers(house, layers=["resource", "assurance"])
    assert (await house.ask("PATCH", target, demand)).status == 200
    await query(house, "DELETE FROM sys.policy_worker WHERE worker = 'other:1'")


async def test_no_version_publishes_a_revision_that_has_no_demands_while_one_is_stored(
    house: Inside,
) -> None:
    published = (
        "INSERT INTO sys.policy_revision (revision, digest, line_count, cause)"
        " SELECT max(revision) + 1, 'x', 0, 'by an older version' FROM sys.policy_revision"
    )
    before = await newest(house)
    await created(house, report("forgotten"), assurance="login")

    with pytest.raises(psycopg.errors.RaiseException, match="no demands on authentication"):
        await query(house, f"WITH gone AS (DELETE FROM sys.casbin_rule) SELECT; {published}")
    assert await newest(house) == before + 1


async def test_a_dry_run_says_whose_demand_changes_and_saves_nothing(house: Inside) -> None:
    resource = await created(house, report("tried"))
    target = f"/api/resource/{resource['id']}"

    answer = await house.ask("PATCH", f"{target}?dryRun=true", {"assurance": "two-factors", "services": True})

    name = "GET /api/tried/{id}"
    assert answer.json["data"]["assurance"] == "two-factors"
    assert answer.json["preview"]["demands"] == [
        {"object": name, "before": ["@anyone"], "after": ["@service", "@two-factors"]}
    ]
    assert (await house.data("GET", target))["assurance"] is None
    harmless = await house.ask("PATCH", f"{target}?dryRun=true", {"description": "Only words"})
    assert harmless.json["preview"]["demands"] == []


async def test_a_restore_brings_demands_back_and_asks_what_lowering_asks(house: Inside) -> None:
    resource = await bound(house, "back", "back:a", "back:b")
    target, name = f"/api/resource/{resource['id']}", "resource GET /api/back/{id}"
    without = await newest(house)
    await house.data("PATCH", target, {"assurance": "two-factors", "services": True})
    demanding = await newest(house)
    half = await member(house, "half", *BINDING, "back:a", "system:policy:restore")

    refused = await half.ask("POST", f"/api/policy/revisions/{without}/restore", None, ANY)
    assert (refused.status, refused.json["required"]) == (403, ["back:b"])
    await house.data("POST", f"/api/policy/revisions/{without}/restore", None, ANY)
    assert await lines(house, name) == ["@anyone"]
    await house.data("DELETE", target, None, ANY)
    await house.data("POST", f"/api/policy/revisions/{demanding}/restore", None, ANY)
    assert await lines(house, name) == ["@service", "@two-factors"]


async def test_a_restore_of_a_revision_without_the_layer_keeps_what_is_demanded(house: Inside) -> None:
    resource = await created(house, report("older"), assurance="login")
    old = await newest(house)
    await query(house, "DELETE FROM sys.policy_line WHERE layer = 'assurance' AND since <= %s", old)
    await house.data("PATCH", f"/api/resource/{resource['id']}", {"assurance": "two-factors"})
    await query(house, "UPDATE sys.policy_revision SET lines_digest = NULL WHERE revision <= %s", old)

    await house.data("POST", f"/api/policy/revisions/{old}/restore", None, ANY)

    assert await lines(house, "resource GET /api/older/{id}") == ["@two-factors"]
