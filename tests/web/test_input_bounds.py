"""What others send has bounds: each whole number, by a walk over the OpenAPI document, and each text."""

from collections.abc import Iterator
from typing import Any

import pytest

from service.kernel.value_rules import MAX_ID
from tests.contract.document import current
from tests.features.scim.scim_client import GROUP, USER, scim_client
from tests.support.inside import Inside

BEYOND = MAX_ID + 1


def whole_numbers(schema: dict[str, Any], schemas: dict[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    """Yield each whole number below ``schema``, and its upper bound: None without one."""
    names: set[str] = set()

    def walk(part: dict[str, Any], place: str) -> Iterator[tuple[str, Any]]:
        if (name := part.get("$ref", "").rpartition("/")[2]) in names:
            return
        if name:
            names.add(name)
            part = schemas[name]
        if part.get("type") == "integer" and not {"enum", "const"} & part.keys():
            yield place, part.get("maximum", part.get("exclusiveMaximum"))
        for word in ("anyOf", "oneOf", "allOf"):
            for each in part.get(word, ()):
                yield from walk(each, place)
        for member, each in part.get("properties", {}).items():
            yield from walk(each, f"{place}.{member}")
        for word in ("items", "additionalProperties"):
            if isinstance(part.get(word), dict):
                yield from walk(part[word], f"{place}[]")

    yield from walk(schema, place)


def sent() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schema of each parameter and body of the API."""
    for path, methods in current()["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                yield f"{method} {path} {parameter['name']}", parameter["schema"]
            for content in operation.get("requestBody", {}).get("content", {}).values():
                yield f"{method} {path}", content["schema"]


def test_every_whole_number_that_is_sent_has_an_upper_bound_that_the_database_takes() -> None:
    schemas = current()["components"]["schemas"]
    numbers = [number for place, schema in sent() for number in whole_numbers(schema, schemas, place)]
    assert len(numbers) > 100
    assert [place for place, most in numbers if most is None or most > MAX_ID] == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param(
            *("GET", f"/api/policy/changes?since={BEYOND}", None), marks=pytest.mark.feature("reviews")
        ),
        ("GET", f"/api/policy/diff?from=1&to={BEYOND}", None),
        ("GET", f"/api/policy/revisions/{BEYOND}", None),
        (
            "POST",
            "/api/policy/explain",
            {"userName": "admin", "method": "GET", "path": "/", "revision": BEYOND},
        ),
        pytest.param(
            *("POST", "/api/access-request", {"roleId": 1, "duration": BEYOND}),
            marks=pytest.mark.feature("access_requests"),
        ),
        pytest.param(
            *("POST", "/api/access-request", {"roleId": BEYOND, "duration": 60}),
            marks=pytest.mark.feature("access_requests"),
        ),
        pytest.param(
            *("GET", f"/scim/v2/Users?startIndex={BEYOND}", None), marks=pytest.mark.feature("scim")
        ),
    ],
)
async def test_a_number_beyond_its_bound_is_refused(
    shared: Inside, method: str, path: str, body: Any
) -> None:
    assert (await shared.ask(method, path, body)).status in (400, 403, 422)


async def test_a_revision_beyond_the_bound_is_no_revision(shared: Inside) -> None:
    answer = await shared.ask("GET", "/api/user/info", None, ("X-Policy-Min-Revision", str(BEYOND)))
    assert (answer.status, answer.json["code"]) == (400, "bad_request")


UNSEEN = "Read\u202eers"


@pytest.mark.parametrize("group", [UNSEEN, "a\x00b", "a\nb"])
async def test_a_mapping_names_no_group_that_nobody_can_see(house: Inside, group: str) -> None:
    body = {"kind": "scim", "mapping": [{"group": group, "roles": []}], "ceiling": []}
    answer = await house.ask("PUT", "/api/directory/entra", body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "mapping[0].group")


@pytest.mark.feature("scim")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/Users", {"schemas": [USER], "userName": "h", "externalId": UNSEEN}),
        (
            "/Users",
            {"schemas": [USER], "userName": "h", "emails": [{"value": "a@b.example", "type": UNSEEN}]},
        ),
        ("/Groups", {"schemas": [GROUP], "displayName": UNSEEN}),
        ("/Groups", {"schemas": [GROUP], "displayName": "G", "externalId": "a\tb"}),
    ],
)
async def test_a_directory_sends_no_text_that_nobody_can_see(
    house: Inside, path: str, body: dict[str, Any]
) -> None:
    client = await scim_client(house)
    assert await client.refused("POST", path, body) == (400, "invalidValue")


@pytest.mark.feature("scim")
async def test_a_shown_name_of_a_directory_is_kept_as_it_is_seen(house: Inside) -> None:
    client = await scim_client(house)
    names = {"displayName": f"{UNSEEN}\n", "name": {"formatted": "Grey\u200bHeron"}}
    made = await client.data("GET", f"/Users/{await client.user('heron', **names)}")
    assert (made["displayName"], made["name"]["formatted"]) == ("Read ers", "Grey Heron")
