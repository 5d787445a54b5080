from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.coverage import losing
from service.authz.engine.resource_index import ResourceIndex
from tests.support.cases import with_each

SEGMENTS = ("a", "b", "{x}")
PATHS = ["/" + "/".join(segments) for length in (1, 2, 3) for segments in product(SEGMENTS, repeat=length)]
REQUESTS = ["/" + "/".join(values) for length in (1, 2, 3) for values in product("abc", repeat=length)]


@given(st.sampled_from(PATHS), st.sets(st.sampled_from(PATHS), max_size=8))
def test_no_path_from_which_the_index_takes_requests_is_left_out(path: str, others: set[str]) -> None:
    others -= {path}
    before = ResourceIndex(f"GET {template}" for template in others)
    after = ResourceIndex(f"GET {template}" for template in (*others, path))
    taken = {
        before.find("GET", request) for request in REQUESTS if after.find("GET", request) == f"GET {path}"
    } - {None}

    assert taken <= {f"GET {template}" for template in losing(path, sorted(others))}


@with_each(
    ("path", "registered", "expected"),
    [
        ("/api/report/new", ["/api/report/{id}"], ["/api/report/{id}"]),
        ("/api/report/{id}", ["/api/report/new"], []),
        ("/api/report/new", ["/api/{x}/{y}", "/api/report/{id}"], ["/api/report/{id}"]),
        ("/api/{x}/new", ["/api/{x}/{y}", "/api/report/{id}"], ["/api/{x}/{y}"]),
        ("/api/report/{id}", ["/api/{x}/new", "/api/{x}/{y}"], ["/api/{x}/new", "/api/{x}/{y}"]),
        ("/api/report/new", ["/api/report", "/api/other/{id}", "/api/report/{id}/x"], []),
    ],
)
def test_examples(path: str, registered: list[str], expected: list[str]) -> None:
    assert losing(path, registered) == expected
