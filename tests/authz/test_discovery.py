from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import Rule
from service.authz.publishing.sync import RouteGuard, any_request, guard_of, unregistered, unrouted
from tests.policies.stock import MODEL
from tests.support.cases import with_each

ROUTES = ["GET /api/user/{id}", "GET /api/user/list", "POST /api/user", "GET /api/{area}/summary"]
RULES = [
    Rule("resource", "@unregistered", "@login"),
    Rule("resource", "@no-session", "@anyone"),
    Rule("resource", "GET /api/user/{x}", "a:b"),
    Rule("resource", "GET /api/user/{x}", "a:c"),
    Rule("resource", "POST /api/auth/login", "a:b"),
    Rule("endpoint", "GET /api/user/{id}", "system:user:detail"),
    Rule("endpoint", "GET /api/user/info", "@login"),
    Rule("endpoint", "PUT /api/user/{id}", "system:user:update"),
    Rule("endpoint", "POST /api/auth/login", "@anyone"),
]


def test_a_route_is_registered_by_a_resource_of_its_shape_and_no_other() -> None:
    missing = unregistered(ROUTES, ["GET /api/user/{user_id}", "GET /api/{x}/{y}", "PUT /api/user"])

    assert missing == ["GET /api/user/list", "POST /api/user", "GET /api/{area}/summary"]


@with_each(
    "resource",
    [
        "GET /api/user/7",
        "GET /api/user/list",
        "GET /api/{x}/list",
        "GET /api/{x}/{y}",
        "GET /api/role/summary",
    ],
)
def test_a_resource_that_some_request_of_a_route_fits_is_routed(resource: str) -> None:
    assert unrouted([resource], ROUTES) == []


@with_each(
    "resource", ["DELETE /api/user/7", "GET /api/role/list", "GET /api/user", "GET /api/user/list/x", "GET /"]
)
def test_a_resource_that_no_request_of_a_route_fits_is_unrouted(resource: str) -> None:
    assert unrouted([resource], ROUTES) == [resource]


def test_any_request_of_a_template_fits_parameters_alone() -> None:
    path = any_request("/api/user/{id}")

    assert ResourceIndex(["GET /api/user/list"]).find("GET", path) is None
    assert ResourceIndex(["GET /api/user/{x}"]).find("GET", path) == "GET /api/user/{x}"


@with_each(
    ("method", "path", "required", "resource", "codes"),
    [
        ("GET", "/api/user/{id}", ("system:user:detail",), "GET /api/user/{x}", ("a:b", "a:c")),
        ("GET", "/api/user/info", ("@login",), "GET /api/user/{x}", ("a:b", "a:c")),
        ("PUT", "/api/user/{id}", ("system:user:update",), "@unregistered", ("@login",)),
        ("POST", "/api/auth/login", ("@anyone",), "@no-session", ("@anyone",)),
        ("GET", "/api/nothing", (), "@unregistered", ("@login",)),
    ],
)
def test_a_route_is_guarded_by_its_own_lines_and_by_the_resource_that_decides_it(
    method: str, path: str, required: tuple[str, ...], resource: str, codes: tuple[str, ...]
) -> None:
    policy = Policy(MODEL.read_text("utf-8"), RULES)

    assert guard_of(policy, method, path) == RouteGuard(method, path, required, resource, codes)
