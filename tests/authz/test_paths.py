from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.paths import (
    MAX_REQUEST_PATH,
    canonical,
    registered_fault,
    shape,
)
from service.errors import BadRequest
from service.kernel.value_rules import MAX_REGISTERED_PATH
from tests.support.cases import with_each

PLAIN = [
    "/",
    "/api/user",
    "/api/user/1",
    "/api/user/a.b",
    "/api/user/.well-known",
    "/api/user/...",
    "/api/user/a,b",
    "/api/user/a:b@c!$&'()*+=~_-",
    "/API/User",
]

REFUSED = [
    "",
    "api/user",
    "*",
    "http://host/api/user",
    "//",
    "//api/user",
    "/api//user",
    "/api/user/",
    "/api/user//",
    "/.",
    "/..",
    "/./api",
    "/api/./user",
    "/api/../user",
    "/api/user/.",
    "/api/user/..",
    "/api/%2e/user",
    "/api/%2E%2e/user",
    "/api/.%2e/user",
    "/api%2fuser",
    "/api%2Fuser",
    "/api%5cuser",
    "/api\\user",
    "/api/user%252f",
    "/api/user%25",
    "/api/user%00",
    "/api/user%0a",
    "/api/user%0d%0a",
    "/api/user%7f",
    "/api/user%C2%85",
    "/api/user\n",
    "/api/user\r",
    "/api/user\t",
    "/api/user\x00",
    "/api/user\x7f",
    "/api/us er",
    "/api/user;a=1",
    "/api/user;",
    "/api;a/user",
    "/api/user%3ba=1",
    "/api/%75ser",
    "/api/user%7E",
    "/api/user%2",
    "/api/user%",
    "/api/user%zz",
    "/api/user%u0041",
    "/api/user%C3",
    "/api/user%C3%28",
    "/api/user%C0%AF",
    "/api/user%ED%A0%80",
    "/api/user?x=1",
    "/api/user#x",
    '/api/user"',
    "/api/user<",
    "/api/{id}",
    "/api/[1]",
    "/api/a|b",
    "/api/a^b",
    "/api/a`b",
    "/api/\u00fc",
    "/api/\uff0e\uff0e/user",
    "/" + "a" * MAX_REQUEST_PATH,
]


@with_each("path", PLAIN)
def test_a_plain_path_is_its_own_canonical_form(path: str) -> None:
    assert path == canonical(path)
    assert path == canonical(path.encode())


@with_each("path", REFUSED)
def test_a_path_with_a_second_reading_is_refused_and_not_repeated(path: str) -> None:
    for raw in (path, path.encode()):
        with pytest.raises(BadRequest) as caught:
            canonical(raw)
        assert len(path) < 3 or path not in caught.value.detail


def test_bytes_that_are_not_ascii_are_refused() -> None:
    with pytest.raises(BadRequest):
        canonical(b"/api/\xc3\xbc")


def test_a_path_of_the_greatest_length_is_accepted() -> None:
    assert len(canonical("/" + "a" * (MAX_REQUEST_PATH - 1))) == MAX_REQUEST_PATH


def test_what_must_be_encoded_is_decoded_as_the_router_sees_it() -> None:
    assert canonical("/api/file/%C3%BC%20%E5%AD%97") == "/api/file/ü 字"
    assert canonical("/api/file/%7b%7D") == "/api/file/{}"


@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=4))
def test_an_accepted_path_is_what_percent_decoding_gives_and_encodes_back_to_one_spelling(
    segments: list[str],
) -> None:
    try:
        raw = "/" + "/".join(quote(segment, safe="!$&'()*+,=:@") for segment in segments)
    except UnicodeEncodeError:
        return
    try:
        path = canonical(raw)
    except BadRequest:
        return
    assert path == unquote(raw)
    assert raw == quote(path, safe="/!$&'()*+,=:@")
    assert all(part not in ("", ".", "..") for part in path[1:].split("/"))


@with_each(
    "path",
    [
        "/",
        "/api",
        "/api/{id}",
        "/{a}/{b_1}",
        "/a.b/~c/-_",
        "/...",
        "/.a",
        "/" + "a" * (MAX_REGISTERED_PATH - 1),
    ],
)
def test_a_path_of_the_grammar_can_be_registered(path: str) -> None:
    assert registered_fault(path) is None


@with_each(
    "path",
    [
        "",
        "api",
        "/api/",
        "//api",
        "/api//x",
        "/.",
        "/..",
        "/api/./x",
        "/api/..",
        "/api/{id",
        "/api/id}",
        "/api/{}",
        "/api/{1a}",
        "/api/{a-b}",
        "/api/{id:int}",
        "/api/x{id}",
        "/api/{id}.json",
        "/api/{a}{b}",
        "/api/*",
        "/api/a,b",
        '/api/"a"',
        "/api/a b",
        "/api/a\n",
        "/api\n",
        "/api/#",
        "/api/(a)",
        "/api/[a]",
        "/api/%41",
        "/api/ü",
        "/" + "a" * MAX_REGISTERED_PATH,
    ],
)
def test_a_path_outside_the_grammar_cannot_be_registered(path: str) -> None:
    assert registered_fault(path) is not None


def test_two_paths_of_one_shape_differ_in_the_names_of_parameters_only() -> None:
    assert shape("/a/{id}/b/{name}") == "/a/{}/b/{}"
    assert shape("/a/b") == "/a/b"
