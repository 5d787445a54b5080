from service.authz.engine.coverage import catalogue_faults, coverage_faults
from service.authz.engine.rules import Rule

LINES = [
    Rule("endpoint", "GET /a", "x:list"),
    Rule("endpoint", "GET /a", "x:create"),
    Rule("endpoint", "POST /login", "@anyone"),
    Rule("resource", "GET /b", "@login"),
]
ROUTES = [("GET", "/a", {"x:create", "x:list"}), ("POST", "/login", {"@anyone"})]


def test_routes_and_lines_that_say_the_same_have_no_fault() -> None:
    assert coverage_faults(ROUTES, LINES) == []


def test_a_route_without_a_line_is_told() -> None:
    assert coverage_faults([*ROUTES, ("PUT", "/a", {"@login"})], LINES) == [
        "PUT /a: the route has no endpoint line"
    ]


def test_a_line_without_a_route_is_told() -> None:
    assert coverage_faults(ROUTES[:1], LINES) == [
        "POST /login: endpoint lines for a route that does not exist"
    ]


def test_codes_that_differ_are_told() -> None:
    assert coverage_faults([("GET", "/a", {"x:list"}), ROUTES[1]], LINES) == [
        "GET /a: the code requires x:list, the lines require x:create or x:list"
    ]


def test_a_route_that_requires_nothing_never_agrees_with_a_line() -> None:
    assert coverage_faults([ROUTES[0], ("POST", "/login", set())], LINES) == [
        "POST /login: the code requires nothing, the lines require @anyone"
    ]


CATALOGUE = {"GET /a": {"x:create", "x:list"}}


def test_nothing_is_said_when_code_and_catalogue_agree() -> None:
    assert catalogue_faults(ROUTES, CATALOGUE) == []


def test_a_code_that_is_not_in_the_catalogue_is_a_fault() -> None:
    assert catalogue_faults([*ROUTES, ("PUT", "/b", {"x:update"})], CATALOGUE) == [
        "PUT /b: the code requires x:update, the permission catalogue has nothing"
    ]


def test_a_catalogued_endpoint_that_is_open_to_everybody_logged_in_is_a_fault() -> None:
    assert catalogue_faults([("GET", "/a", {"@login"})], CATALOGUE) == [
        "GET /a: the code requires nothing, the permission catalogue has x:create or x:list"
    ]


def test_an_endpoint_of_the_catalogue_that_no_route_serves_is_a_fault() -> None:
    assert catalogue_faults(ROUTES, {**CATALOGUE, "GET /gone": {"x:gone"}}) == [
        "GET /gone: the permission catalogue opens it by x:gone, but the route does not exist"
    ]
