"""The catalogue of codes, and what two sets of held codes grant in common."""

from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.predicates import (
    holds_everything,
    holds_exactly,
    holds_pattern,
    holds_subtree,
    is_logged_in,
)
from service.authz.engine.rules import ACCOUNT, ENDPOINT, REVIEW
from service.authz.publishing.shipped import read_shipped
from service.kernel.codes import HeldCodes, intersection, is_code
from service.kernel.permission_catalogue import CATALOGUE, Page, Permission, codes_by_endpoint, permissions


def test_every_code_is_one_opens_something_and_stands_in_the_catalogue_once() -> None:
    listed = [permission for page in CATALOGUE for permission in page.permissions]
    assert len(listed) == len(permissions(CATALOGUE)) > 30
    asked = {line.code for line in read_shipped().rules if line.layer in (ACCOUNT, REVIEW)}
    assert all(
        is_code(permission.code)
        and "*" not in permission.code
        and (permission.opens or permission.code in asked)
        and permission.title
        for permission in listed
    )
    assert len({page.name for page in CATALOGUE}) == len(CATALOGUE)


def test_the_lines_that_ship_are_those_of_the_catalogue() -> None:
    lines: dict[str, set[str]] = {}
    for rule in read_shipped().endpoints:
        if rule.layer == ENDPOINT and not rule.code.startswith("@"):
            lines.setdefault(rule.object, set()).add(rule.code)
    assert lines == codes_by_endpoint(CATALOGUE)


def test_an_endpoint_is_opened_by_each_code_that_names_it() -> None:
    page = Page(
        "x", "X", "", (Permission("x:a", "A", ("GET /a", "GET /b")), Permission("x:b", "B", ("GET /b",)))
    )
    assert codes_by_endpoint([page]) == {"GET /a": {"x:a"}, "GET /b": {"x:a", "x:b"}}


SEGMENTS = st.sampled_from(["a", "b", "*", "a*"])
CODES = st.lists(SEGMENTS, min_size=1, max_size=4).map(":".join)
ODD = st.sampled_from(["", ":", "a:", "*:", "@login", "@nobody", "a::b"])


def grants(codes: frozenset[str], code: str) -> bool:
    """Decide as the matcher of the model does."""
    held = HeldCodes(codes)
    assert is_logged_in(held)
    rows = (holds_exactly, holds_everything, holds_subtree, holds_pattern)
    return any(row(held, code) for row in rows)


@given(st.frozensets(CODES, max_size=4), st.frozensets(CODES, max_size=4), CODES | ODD)
def test_the_intersection_grants_exactly_what_both_grant(
    first: frozenset[str], second: frozenset[str], required: str
) -> None:
    common = intersection(first, second)
    assert grants(common, required) == (grants(first, required) and grants(second, required))
    assert common == intersection(second, first)


@given(st.frozensets(CODES, max_size=4))
def test_everything_takes_nothing_away(codes: frozenset[str]) -> None:
    assert intersection(codes, ["*"]) == codes
    assert intersection(codes, codes) >= codes
