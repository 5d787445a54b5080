import falcon
import pytest
from falcon.routing import CompiledRouter
from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import PolicyError

LITERALS = ("a", "b", "user", "list")


class Anything:
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None: ...


@st.composite
def templates(draw: st.DrawFn) -> str:
    length = draw(st.integers(1, 5))
    # Falcon wants one name for a parameter at one place; here it is named by its depth.
    return "/" + "/".join(draw(st.sampled_from((*LITERALS, f"{{p{depth}}}"))) for depth in range(length))


PATHS = st.lists(st.sampled_from((*LITERALS, "{}", "{p0}", "zz", "7")), min_size=1, max_size=6).map(
    lambda parts: "/" + "/".join(parts)
)


def falcon_router(paths: set[str]) -> CompiledRouter:
    router = CompiledRouter()
    for path in paths:
        router.add_route(path, Anything())
    return router


@given(st.sets(templates(), max_size=14), st.lists(PATHS, min_size=1, max_size=20))
def test_the_index_finds_the_template_that_falcons_router_finds(paths: set[str], requests: list[str]) -> None:
    router = falcon_router(paths)
    index = ResourceIndex(f"GET {path}" for path in paths)

    for request in requests:
        route = router.find(request)
        expected = None if route is None else f"GET {route[3]}"

        assert expected == index.find("GET", request)


@given(st.sets(templates(), max_size=9), st.sets(templates(), max_size=9), st.lists(PATHS, max_size=20))
def test_a_changed_index_finds_what_a_new_one_finds(
    before: set[str], after: set[str], requests: list[str]
) -> None:
    old, new = ({f"GET {path}" for path in paths} for paths in (before, after))

    changed = ResourceIndex(old).changed(old - new, new - old)

    assert [changed.find("GET", path) for path in requests] == [
        ResourceIndex(new).find("GET", path) for path in requests
    ]


def test_falcons_router_backtracks_and_so_does_the_index() -> None:
    paths = {"/a/b/c", "/{p0}/b/d", "/a/{p1}/e", "/{p0}/{p1}/f"}
    router, index = falcon_router(paths), ResourceIndex(f"GET {path}" for path in paths)

    for request, template in {
        "/a/b/c": "/a/b/c",
        "/a/b/d": "/{p0}/b/d",
        "/a/b/e": "/a/{p1}/e",
        "/a/b/f": "/{p0}/{p1}/f",
    }.items():
        route = router.find(request)
        assert route is not None
        assert template == route[3]
        assert f"GET {template}" == index.find("GET", request)


def test_a_literal_wins_over_a_parameter_from_left_to_right() -> None:
    index = ResourceIndex(["GET /{a}/list", "GET /user/{b}", "GET /user/list", "GET /{a}/{b}"])

    assert index.find("GET", "/user/list") == "GET /user/list"
    assert index.find("GET", "/user/7") == "GET /user/{b}"
    assert index.find("GET", "/role/list") == "GET /{a}/list"
    assert index.find("GET", "/role/7") == "GET /{a}/{b}"


def test_the_more_specific_resource_of_another_method_does_not_hide_the_one_that_fits() -> None:
    index = ResourceIndex(["GET /user/{id}", "POST /user/list"])

    assert index.find("GET", "/user/list") == "GET /user/{id}"
    assert index.find("DELETE", "/user/list") is None
    assert index.find("get", "/user/list") is None


def test_a_parameter_fits_one_segment_that_is_not_empty() -> None:
    index = ResourceIndex(["GET /user/{id}"])

    assert index.find("GET", "/user/7") == "GET /user/{id}"
    assert index.find("GET", "/user") is None
    assert index.find("GET", "/user/7/8") is None


def test_braces_in_a_request_are_a_value_and_no_parameter() -> None:
    index = ResourceIndex(["GET /{x}/b/{z}", "GET /{x}/{y}/c", "GET /k/{y}/c"])

    assert index.find("GET", "/{}/b/c") == "GET /{x}/b/{z}"


def test_the_root_can_be_registered() -> None:
    assert ResourceIndex(["GET /"]).find("GET", "/") == "GET /"


def test_two_resources_of_one_shape_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"GET /x/\{id\} and GET /x/\{userId\} match the same requests"):
        ResourceIndex(["GET /x/{id}", "GET /x/{userId}"])


def test_the_same_resource_twice_is_one() -> None:
    assert ResourceIndex(["GET /x", "GET /x"]).find("GET", "/x") == "GET /x"
