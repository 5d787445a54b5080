"""What an event of the decision log tells, and what it withholds."""

import json

import pytest
from msgspec.structs import replace

from service.features.decision_log.decision_event import decoded, encoded
from tests.features.export.world import (
    EDITS,
    GRANTS,
    IMPORTS,
    LINES,
    NEWER,
    OBJECTS,
    REVISION,
    STORED,
    World,
    caller,
    world,
)

CALLERS = {
    "lister": caller(1, "thing:list"),
    "nobody": caller(2),
    "remover": caller(3, *STORED.codes),
}


@pytest.fixture
def service() -> World:
    return world(CALLERS)


async def test_an_allowed_request_has_the_lines_of_both_layers(service: World) -> None:
    event = await service.event("GET", "/api/thing/3", "lister")

    assert (event.outcome, event.layer, event.object) == ("allow", "endpoint", "GET /api/thing/{id}")
    assert event.passed == ("p, resource, @unregistered, @login",)
    assert (event.line, event.code) == ("p, endpoint, GET /api/thing/{id}, thing:list", "thing:list")
    assert (event.user_id, event.roles, event.codes) == (1, ("staff",), frozenset(["thing:list"]))
    assert (event.method, event.route, event.path) == ("GET", "/api/thing/{id}", "/api/thing/3")
    assert (event.revision, event.own_digest, event.request_id) == (REVISION, "5e" * 32, "req-1")


async def test_a_refusal_has_its_layer_and_the_id_that_the_client_was_told(service: World) -> None:
    answer = await service.ask("GET", "/api/thing/3", "nobody")
    (event,) = service.kept.events

    assert answer.json["decisionId"] == event.decision
    assert (event.outcome, event.layer, event.line, event.code) == ("deny", "endpoint", None, None)
    assert event.passed == ("p, resource, @unregistered, @login",)
    assert event.required == ("thing:list", "thing:read")


async def test_a_refusal_by_a_registered_resource_has_passed_nothing(service: World) -> None:
    event = await service.event("GET", "/api/thing/7", "lister")

    assert (event.layer, event.object) == ("resource", "GET /api/thing/7")
    assert (event.passed, event.required) == ((), ("thing:seventh",))


async def test_a_denied_grant_has_both_lines_that_let_the_request_in_and_all_that_was_asked(
    service: World,
) -> None:
    event = await service.event("PUT", f"/api/thing/{GRANTS}", "lister")

    assert (event.layer, event.object) == ("grant", "thing:delete")
    assert event.passed == (
        "p, resource, @unregistered, @login",
        "p, endpoint, PUT /api/thing/{id}, thing:list",
        "p, assurance, resource @unregistered, @anyone",
        "p, assurance, endpoint PUT /api/thing/{id}, @anyone",
    )
    assert (event.required, event.needed) == (("thing:delete", "thing:drop"), "all")
    assert event.grants == (
        (("thing:list", "thing:read"), "any"),
        (("thing:delete", "thing:drop"), "all"),
    )
    assert (event.codes, event.stored_codes) == (frozenset(["thing:list"]), STORED.codes)


async def test_an_allowed_request_has_what_was_asked_about_its_caller(service: World) -> None:
    event = await service.event("PUT", f"/api/thing/{EDITS}", "remover")

    assert (event.outcome, event.layer) == ("allow", "endpoint")
    assert event.edits == (("DELETE", "/api/thing/7", "/api/thing/{id}"),)
    assert event.passed == ("p, resource, @unregistered, @login",)
    assert event.stored_codes is None  # as those of the token


async def test_what_a_newer_policy_allowed_is_not_told_with_the_revision_that_admitted_the_request(
    service: World,
) -> None:
    event = await service.event("PUT", f"/api/thing/{NEWER}", "remover")

    assert (event.outcome, event.revision, event.edits) == ("allow", REVISION, ())


async def test_a_denied_edit_of_several_is_told_with_its_own_request(service: World) -> None:
    event = await service.event("PUT", f"/api/thing/{EDITS}", "lister")

    assert event.edits == (("DELETE", "/api/thing/7", "/api/thing/{id}"),)
    assert (event.layer, event.object) == ("endpoint", "DELETE /api/thing/{id}")
    assert len(event.passed) == 4


async def test_what_was_asked_of_other_layers_is_told(service: World) -> None:
    allowed = await service.event("PUT", f"/api/thing/{OBJECTS}", "remover")
    denied = await service.event("PUT", f"/api/thing/{OBJECTS}", "lister")

    both = (("service", "orders list"), ("service", "orders bind"))
    assert (allowed.outcome, allowed.layer, allowed.objects) == ("allow", "endpoint", both)
    assert (denied.layer, denied.object, denied.objects) == ("service", "orders bind", both)
    assert (allowed.stored_codes, allowed.token_objects, denied.token_objects) == (None, (), both[:1])
    assert (len(denied.passed), denied.required) == (4, ("thing:delete",))


async def test_a_question_that_an_endpoint_denies_is_told_though_nothing_is_changed() -> None:
    lines = [line for line in LINES if line.object != "orders list"]
    strict = world(CALLERS, lines)

    event = await strict.event("PUT", f"/api/thing/{OBJECTS}", "remover")

    assert (event.layer, event.object, event.line) == ("service", "orders list", None)
    assert event.objects == (("service", "orders list"),)
    assert (len(event.passed), event.stored_codes) == (4, None)


async def test_a_refused_import_is_told_with_its_first_row_that_lacks_permissions(service: World) -> None:
    event = await service.event("PUT", f"/api/thing/{IMPORTS}", "lister")

    assert (event.outcome, event.layer) == ("deny", "grant")
    assert (event.required, event.needed) == (("thing:delete", "thing:drop"), "all")


async def test_without_a_session_there_are_no_codes_and_of_the_path_only_the_template(service: World) -> None:
    event = await service.event("GET", "/api/public/s3cret")

    assert (event.path, event.codes, event.user_id) == (None, None, None)
    assert (event.route, event.passed) == ("/api/public/{token}", ("p, resource, @no-session, @anyone",))
    assert b"s3cret" not in encoded(event)


async def test_a_parameter_is_told_if_it_is_a_number_or_registered_and_else_as_in_the_template(
    service: World,
) -> None:
    assert (await service.event("GET", "/api/device/alices-phone", "nobody")).path == "/api/device/{device}"
    assert (await service.event("GET", "/api/device/kiosk", "nobody")).path == "/api/device/kiosk"
    assert (await service.event("GET", "/api/thing/hunter2", "lister")).path == "/api/thing/{id}"


async def test_a_request_about_which_nobody_decided_has_no_event(service: World) -> None:
    for target, token in (("/api/thing/3", "unknown"), ("/api/thing/3", None), ("/api/none", "lister")):
        await service.ask("GET", target, token)

    assert (service.kept.events, service.kept.missed) == ([], 0)


async def test_no_event_holds_the_token() -> None:
    service = world({"t0ken-1": caller(1, "thing:list"), "t0ken-2": caller(2)})
    await service.ask("GET", "/api/thing/3", "t0ken-1")
    await service.ask("GET", "/api/thing/3", "t0ken-2")

    assert [b"t0ken" in encoded(event) for event in service.kept.events] == [False, False]


async def test_a_share_of_nothing_keeps_every_refusal_and_no_allowed_request() -> None:
    service = world(CALLERS, allows=0)
    for _ in range(20):
        await service.ask("GET", "/api/thing/3", "lister")
        await service.ask("GET", "/api/thing/3", "nobody")

    assert [event.outcome for event in service.kept.events] == ["deny"] * 20


async def test_a_share_between_keeps_some_allowed_requests_though_all_have_the_same_id() -> None:
    service = world(CALLERS, allows=0.5)
    for _ in range(100):
        await service.ask("GET", "/api/thing/3", "lister")

    assert 0 < len(service.kept.events) < 100


async def test_a_line_is_ascii_with_sorted_codes_and_reads_back_as_the_same_event() -> None:
    service = world({"two": caller(4, "thing:read", "thing:list")})
    event = replace(await service.event("GET", "/api/thing/3", "two"), roles=("Büro\u2028",))
    line = encoded(event)

    assert (line.count(b"\n"), line.isascii(), decoded(line)) == (1, True, event)
    assert json.loads(line)["event"] == "decision"
    assert json.loads(line)["codes"] == ["thing:list", "thing:read"]


def test_a_line_of_another_log_is_told_from_one_that_can_not_be_read() -> None:
    assert decoded(b'{"event": "request", "status": 200}\n') is None
    for line in (b"no JSON", b'{"event": "decision"}', b"[]", b'{"other": 1}', b"\xff", b"[" * 9999):
        with pytest.raises(ValueError):  # noqa: PT011 - there are several, and all mean the same
            decoded(line)
