"""Requests to other services: which object decides, and that what no line opens is closed."""

import pytest

from service.authz.engine.paths import canonical_external_path
from service.authz.engine.policy import Policy
from service.authz.engine.rules import PolicyError, Rule
from service.errors import BadRequest
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller, codes_asked
from service.kernel.services import Service
from tests.authz.test_policy import RULES, TEXT, caller
from tests.support.cases import with_each

ORDERS = (
    Rule("service", "orders", "@nobody"),
    Rule("resource", "orders GET /orders/", "@anyone"),
    Rule("resource", "orders GET /orders/{id}", "orders:order:read"),
    Rule("resource", "orders GET /orders/new", "@nobody"),
)
REST = Rule("resource", "orders @unregistered", "@login")
LOOSE = (
    Rule("service", "shop", "@nobody"),
    Rule("service", "shop", "@ignore-case"),
    Rule("service", "shop", "@ignore-trailing-slash"),
    Rule("resource", "shop GET /Items/", "@login"),
    Rule("resource", "shop GET /Items/{Name}", "shop:item:read"),
    Rule("resource", "shop GET /", "@anyone"),
)


@pytest.fixture
def policy() -> Policy:
    return Policy(TEXT, (*RULES, *ORDERS, *LOOSE))


READER = caller("orders:order:read")


@with_each(
    ("request_", "name", "codes", "allowed"),
    [
        ("GET /orders/7", "orders GET /orders/{id}", ["orders:order:read"], True),
        ("GET /orders/7", "orders GET /orders/{id}", ["orders:order:write"], False),
        ("GET /orders/7", "orders GET /orders/{id}", None, False),
        ("HEAD /orders/7", "orders GET /orders/{id}", ["orders:order:write"], False),
        ("HEAD /orders/7", "orders GET /orders/{id}", ["orders:*"], True),
        ("GET /orders/new", "orders GET /orders/new", ["*"], False),
        ("GET /orders/", "orders GET /orders/", None, True),
        ("GET /orders", "orders @unregistered", ["*"], False),
        ("GET /orders/7/", "orders @unregistered", ["*"], False),
        ("GET /Orders/7", "orders @unregistered", ["*"], False),
        ("OPTIONS /orders/7", "orders @unregistered", ["*"], False),
        ("get /orders/7", "orders @ambiguous", ["*"], False),
        ("Get /orders/", "orders @ambiguous", ["*"], False),
        ("GET /api/role/list", "orders @unregistered", ["*"], False),
    ],
)
def test_only_the_resource_layer_of_that_service_decides(
    policy: Policy, request_: str, name: str, codes: list[str] | None, allowed: bool
) -> None:
    method, _, path = request_.partition(" ")
    held = None if codes is None else codes_asked(caller(*codes))
    decision = policy.judge_route("orders", method, path, held)

    assert (decision.layer, decision.object, decision.allowed) == ("resource", name, allowed)


@pytest.mark.parametrize(("who", "allowed"), [(None, False), (caller(), True), (caller("*"), True)])
def test_a_line_opens_what_is_not_registered_and_nothing_else(who: Caller | None, allowed: bool) -> None:
    policy = Policy(TEXT, (*RULES, *ORDERS, REST))

    assert policy.judge_route("orders", "PUT", "/orders/7", codes_asked(who)).allowed is allowed
    for path in ("/orders/7", "/orders/new"):
        assert not policy.judge_route("orders", "GET", path, codes_asked(caller("a:b"))).allowed
    assert not policy.judge_route("orders", "put", "/orders/7", codes_asked(caller("*"))).allowed


@with_each("service", ["bills", "", "@anyone", "Orders", "orders GET /orders/", "GET"])
def test_an_unknown_service_is_closed_whatever_it_is_called(service: str) -> None:
    stray = Rule("resource", "bills @unregistered", "@anyone")
    bill = Rule("resource", "bills GET /b", "@anyone")
    policy = Policy(TEXT, (*RULES, *ORDERS, REST, stray, bill))

    assert policy.service(service) is None
    for path in ("/b", "/orders/"):
        decision = policy.judge_route(service, "GET", path, codes_asked(caller("*")))
        assert (decision.allowed, decision.object, decision.required) == (False, "@unknown", ())


@with_each(
    ("path", "name"),
    [
        ("/items", "shop GET /Items/"),
        ("/ITEMS/", "shop GET /Items/"),
        ("/iTems/Große", "shop GET /Items/{Name}"),
        ("/items/x/", "shop GET /Items/{Name}"),
        ("/items/{}", "shop GET /Items/{Name}"),
        ("/", "shop GET /"),
        ("/item\u017f", "shop @ambiguous"),
        ("/item\u017f/7", "shop @ambiguous"),
        ("/items/\u212a", "shop GET /Items/{Name}"),
        ("/other\u017f", "shop @unregistered"),
    ],
)
def test_case_and_trailing_slash_are_read_as_the_services_router_does(
    policy: Policy, path: str, name: str
) -> None:
    assert policy.object_at("shop", "GET", path) == name


def test_the_settings_of_services_are_those_of_the_lines(policy: Policy) -> None:
    assert policy.service("orders") == Service("orders")
    assert policy.service("shop") == Service("shop", ignore_case=True, ignore_trailing_slash=True)
    assert policy.service("portcullis") == Service("portcullis")


@pytest.mark.parametrize(
    ("words", "first", "second"),
    [
        (["@ignore-case"], "GET /Items/{a}", "GET /items/{b}"),
        (["@ignore-trailing-slash"], "GET /items/{a}", "GET /items/{b}/"),
        ([], "GET /items/{a}/", "GET /items/{b}/"),
    ],
)
def test_two_paths_that_the_router_takes_for_one_make_no_policy(
    words: list[str], first: str, second: str
) -> None:
    service = [Rule("service", "shop", word) for word in ("@nobody", *words)]
    both = [Rule("resource", f"shop {name}", "@nobody") for name in (first, second)]

    with pytest.raises(PolicyError, match=r"shop .* match the same requests"):
        Policy(TEXT, [*service, *both])
    Policy(TEXT, [*service, both[0]])


def test_a_policy_built_from_another_one_finds_what_one_built_anew_finds(policy: Policy) -> None:
    strict = [rule for rule in LOOSE if rule.code != "@ignore-case"]
    lines = [
        (),
        (*RULES, *ORDERS),
        (*RULES, *ORDERS[:2], *strict),
        (*RULES, *ORDERS, REST, *LOOSE[:4]),
        (*RULES, *LOOSE, *ORDERS[1:]),
    ]
    asked = [("orders", "/orders/7"), ("shop", "/items/x"), ("shop", "/Items/x/"), ("orders", "/orders/")]
    before = policy
    for rules in lines:
        before = Policy(TEXT, rules, like=before)
        anew = Policy(TEXT, rules)
        for service, path in asked:
            assert before.object_at(service, "GET", path) == anew.object_at(service, "GET", path)


def test_for_this_service_both_layers_are_asked_as_for_a_request_to_it() -> None:
    public = Rule("endpoint", "POST /api/auth/login", "@anyone")
    policy = Policy(TEXT, (*RULES, public, *ORDERS))

    def asked(method: str, path: str, *codes: str) -> tuple[bool, str, str]:
        decision = policy.judge_route("portcullis", method, path, codes_asked(caller(*codes)))
        return decision.allowed, decision.layer, decision.object

    assert asked("GET", "/api/role/list", "*") == (False, "resource", "GET /api/role/list")
    assert asked("POST", "/api/auth/login") == (True, "endpoint", "POST /api/auth/login")
    assert asked("GET", "/orders/", "*") == (False, "endpoint", "@unknown")
    assert policy.judge_route("portcullis", "POST", "/api/auth/login", None).allowed
    assert not policy.judge_route("portcullis", "GET", "/api/role/list", None).allowed


def test_resources_of_other_services_decide_no_request_to_this_one(policy: Policy) -> None:
    assert policy.resource_for("GET", "/orders/", caller()) == "@unregistered"
    assert policy.judge("resource", "orders GET /orders/", HeldCodes()).allowed


@pytest.mark.parametrize(("raw", "path"), [("/", "/"), (b"/orders/", "/orders/"), ("/a/b", "/a/b")])
def test_a_canonical_path_of_another_service_may_end_in_a_slash(raw: str | bytes, path: str) -> None:
    assert canonical_external_path(raw) == path


@with_each("raw", ["//", "/a//", "/a/./", "/%61/", "/a/%2F", "a/", "", "/a;/"])
def test_other_spellings_are_refused(raw: str) -> None:
    with pytest.raises(BadRequest):
        canonical_external_path(raw)
