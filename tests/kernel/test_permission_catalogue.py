from __future__ import annotations

from service.authz.engine.rules import ENDPOINT
from service.authz.publishing.shipped import read_shipped
from service.kernel.codes import is_code
from service.kernel.permission_catalogue import CATALOGUE, Page, Permission, codes_by_endpoint, permissions


def test_every_code_is_one_opens_something_and_stands_in_the_catalogue_once() -> None:
    listed = [permission for page in CATALOGUE for permission in page.permissions]
    assert len(listed) == len(permissions()) > 30
    assert all(
        is_code(permission.code) and "*" not in permission.code and permission.opens and permission.title
        for permission in listed
    )
    assert len({page.name for page in CATALOGUE}) == len(CATALOGUE)


def test_the_lines_that_ship_are_those_of_the_catalogue() -> None:
    lines: dict[str, set[str]] = {}
    for rule in read_shipped().endpoints:
        if rule.layer == ENDPOINT and not rule.code.startswith("@"):
            lines.setdefault(rule.object, set()).add(rule.code)
    assert lines == codes_by_endpoint()


def test_an_endpoint_is_opened_by_each_code_that_names_it() -> None:
    page = Page(
        "x", "X", "", (Permission("x:a", "A", ("GET /a", "GET /b")), Permission("x:b", "B", ("GET /b",)))
    )
    assert codes_by_endpoint([page]) == {"GET /a": {"x:a"}, "GET /b": {"x:a", "x:b"}}
