import itertools

from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import Rule
from service.kernel.codes import HeldCodes
from service.laboratory.proof.request_classes import decided_alike, registered, request_classes
from tests.policies.stock import MODEL

TEXT = MODEL.read_text("utf-8")
ROUTES = ("GET /api/{x}/{y}", "GET /api/a/{y}", "GET /api/a/a", "POST /api/{x}/{y}")
SERVING = ResourceIndex(ROUTES)
OPEN = [Rule("resource", "@unregistered", "@login"), *(Rule("endpoint", route, "@login") for route in ROUTES)]

paths = st.tuples(*[st.sampled_from(("a", "b", "{p}"))] * 2).map(lambda two: f"GET /api/{two[0]}/{two[1]}")


def policy_of(resources: set[str]) -> Policy:
    # Each resource has a code of its own, so that an answer tells which one decided.
    return Policy(TEXT, [*OPEN, *(Rule("resource", name, _code(name)) for name in resources)])


def _code(name: str) -> str:
    return name.translate({ord(sign): None for sign in "{}"}).removeprefix("GET /").replace("/", ":")


@given(before=st.sets(paths), after=st.sets(paths))
def test_each_request_is_decided_like_its_class_by_both_policies(before: set[str], after: set[str]) -> None:
    old, new = policy_of(before), policy_of(after)
    classes = list(request_classes(ROUTES, before | after, before ^ after, serving=SERVING))
    answers = {
        (request_class.route, request_class.resource(old), request_class.resource(new))
        for request_class in classes
    }

    real = set()
    for method, x, y in itertools.product(("GET", "POST"), "abc", "abc"):
        path = f"/api/{x}/{y}"
        resources = (each.resource_at(method, path) or "@unregistered" for each in (old, new))
        real.add((SERVING.find(method, path), *resources))

    assert answers == real


def test_a_class_is_named_by_its_route_and_the_literals_of_a_resource() -> None:
    policy = policy_of({"GET /api/{p}/b"})

    classes = request_classes(ROUTES[:2], registered(policy), serving=SERVING)

    assert {request_class.name for request_class in classes} == {
        "GET /api/{x}/{y}",
        "GET /api/a/{y}",
        "GET /api/{x}/b",
        "GET /api/a/b",
    }


def test_policies_that_differ_in_lines_of_codes_alone_decide_all_requests_alike() -> None:
    codes = [Rule("grant", "a:b", "a:b"), Rule("permission", "a:b", "a:b")]
    whole = Policy(TEXT, OPEN)

    assert decided_alike(whole, Policy(TEXT, [*OPEN, *codes]))
    assert decided_alike(Policy(TEXT, [*OPEN, *codes]), whole)
    for more in (
        Rule("resource", "GET /api/a/a", "a:b"),
        Rule("resource", "@no-session", "@anyone"),
        Rule("endpoint", "PUT /api/{x}", "a:b"),
        Rule("service", "orders", "@nobody"),
    ):
        assert not decided_alike(whole, Policy(TEXT, [*OPEN, *codes, more]))
        assert not decided_alike(Policy(TEXT, [*OPEN, more]), whole)
    assert not decided_alike(whole, Policy(TEXT + "\n", OPEN))


def test_a_class_passes_when_both_layers_allow() -> None:
    policy = Policy(TEXT, [Rule("resource", "GET /api/{p}/b", "@nobody"), *OPEN])
    classes = request_classes(ROUTES[1:2], registered(policy), serving=SERVING)

    passing = {
        request_class.name: request_class.passes(policy, HeldCodes(["*"])) for request_class in classes
    }

    assert passing == {"GET /api/a/{y}": True, "GET /api/a/b": False}
