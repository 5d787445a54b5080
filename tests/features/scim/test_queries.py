"""Queries by SCIM over HTTP: attributes and their parts, order, searches by a body, absolute addresses."""

from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import quote

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.features.scim.scim_client import GROUP, USER, ScimClient, scim_client
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own

PUBLIC: Final = "https://portcullis.example"
SEARCH: Final = "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
HERON: Final[dict[str, Any]] = {
    "displayName": "Grey Heron",
    "name": {"formatted": "Mx Grey Heron"},
    "emails": [{"value": "heron@example.org", "type": "work", "primary": True}],
}


@pytest.fixture
async def entra(house: Inside) -> ScimClient:
    return await scim_client(house)


@pytest.fixture
async def heron(entra: ScimClient) -> str:
    """The id of a user with all attributes."""
    return await entra.user("heron", **HERON)


@with_each(
    ("query", "shown"),
    [
        ("attributes=emails.value", {"emails": [{"value": "heron@example.org"}]}),
        ("attributes=EMAILS.Type,name.formatted", {"emails": [{"type": "work"}], "name": HERON["name"]}),
        (f"attributes={USER}:name.formatted", {"name": HERON["name"]}),
        (f"attributes={USER}:displayName, emails.primary", {"displayName": "Grey Heron"}),
        ("attributes=emails.value,emails", {"emails": HERON["emails"]}),
        ("attributes=emails,emails.value", {"emails": HERON["emails"]}),
        ("attributes=name.familyName", {}),
        ("attributes=urn:example:other:displayName", {}),
        ("attributes=displayName.formatted", {}),
        ("attributes=", {}),
        (
            "excludedAttributes=emails.value,meta,name,userName,id,schemas,groups",
            {"displayName": "Grey Heron", "active": True, "emails": [{"type": "work", "primary": True}]},
        ),
        (
            f"excludedAttributes={USER}:meta,name.formatted,emails,active,userName",
            {"displayName": "Grey Heron"},
        ),
    ],
)
async def test_attributes_and_their_parts_are_chosen_with_and_without_urn(
    entra: ScimClient, heron: str, query: str, shown: dict[str, Any]
) -> None:
    read = await entra.data("GET", f"/Users/{heron}?{quote(query, safe='=,&')}")
    if "primary" in query:
        shown = shown | {"emails": [{"primary": True}]}
    assert read == {"schemas": [USER], "id": heron, **shown}
    (listed,) = (await entra.data("GET", f"/Users?{quote(query, safe='=,&')}"))["Resources"]
    assert listed == read


async def test_writes_answer_the_attributes_that_are_asked_for(entra: ScimClient) -> None:
    body = {"schemas": [USER], "userName": "heron"}
    made = await entra.ask("POST", "/Users?attributes=userName", body)
    user_id = made.json["id"]
    assert made.json == body | {"id": user_id}
    assert made.header("location") == f"/scim/v2/Users/{user_id}"
    group = await entra.data(
        "POST",
        "/Groups?excludedAttributes=members",
        {"schemas": [GROUP], "displayName": "Readers", "members": [{"value": user_id}]},
    )
    assert "members" not in group
    operation = {"op": "remove", "path": "members"}
    patch = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": [operation]}
    changed = await entra.data("PATCH", f"/Groups/{group['id']}?attributes=displayName", patch)
    assert changed == {"schemas": [GROUP], "id": group["id"], "displayName": "Readers"}


async def test_a_page_is_sorted_in_both_orders_and_who_has_no_value_is_last_or_first(
    entra: ScimClient,
) -> None:
    for name, shown in (("b", "Egret"), ("C", None), ("a", "avocet")):
        await entra.user(name, **({} if shown is None else {"displayName": shown}))

    async def order(query: str) -> list[str]:
        page = await entra.data("GET", f"/Users?{query}")
        return [each["userName"] for each in page["Resources"]]

    assert await order("sortBy=userName") == ["a", "b", "C"]
    assert await order("sortBy=displayName&sortOrder=ascending") == ["a", "b", "C"]
    assert await order("sortBy=displayName&sortOrder=descending") == ["C", "b", "a"]
    assert await order(f"sortBy={USER}:displayName&startIndex=2&count=1") == ["b"]
    assert await order("sortBy=id&sortOrder=descending") == ["a", "C", "b"]
    for bad in ("sortBy=nothing", "sortBy=name", "sortBy=groups.value", "sortBy=id&sortOrder=up"):
        assert await entra.refused("GET", f"/Users?{bad}") == (400, "invalidValue"), bad
    assert (await entra.data("GET", "/ServiceProviderConfig"))["sort"] == {"supported": True}


async def test_a_search_by_a_body_answers_what_the_query_of_a_list_does(entra: ScimClient) -> None:
    heron, egret = await entra.user("heron"), await entra.user("egret")
    readers = await entra.group("Readers", heron)
    body = {
        "schemas": [SEARCH],
        "filter": f'id eq "{heron}" or userName eq "egret"',
        "attributes": ["userName"],
        "sortBy": "userName",
        "startIndex": 1,
        "count": 1,
    }
    page = await entra.data("POST", "/Users/.search", body)
    assert (page["totalResults"], page["itemsPerPage"]) == (2, 1)
    assert page["Resources"] == [{"schemas": [USER], "id": egret, "userName": "egret"}]
    groups = await entra.data(
        "POST", "/Groups/.search", {"schemas": [SEARCH], "excludedAttributes": ["members", "meta"]}
    )
    assert groups["Resources"] == [{"schemas": [GROUP], "id": readers, "displayName": "Readers"}]
    assert await entra.refused("POST", "/Users/.search", {"schemas": [SEARCH], "filter": "x eq 1"}) == (
        400,
        "invalidFilter",
    )
    assert await entra.refused("POST", "/Users/.search", {"count": "many"}) == (400, "invalidValue")


async def test_a_search_at_the_root_finds_users_and_groups_page_by_page(entra: ScimClient) -> None:
    ids = [await entra.user("heron", displayName="Birds"), await entra.user("egret", displayName="Birds")]
    ids.append(await entra.group("Birds"))
    found_ids = []
    for start in (1, 2, 3, 4):
        body = {
            "schemas": [SEARCH],
            "filter": 'displayName eq "birds"',
            "startIndex": start,
            "count": 1,
            "attributes": ["displayName"],
        }
        page = await entra.data("POST", "/.search", body)
        assert (page["totalResults"], page["startIndex"]) == (3, start)
        found_ids += [each["id"] for each in page["Resources"]]
    assert found_ids == ids
    # Only users have that attribute; nothing has the other one.
    only = await entra.data("POST", "/.search", {"schemas": [SEARCH], "filter": "userName pr"})
    assert only["totalResults"] == 2
    assert await entra.refused("POST", "/.search", {"schemas": [SEARCH], "filter": "nothing pr"}) == (
        400,
        "invalidFilter",
    )


@pytest.fixture
async def public(stores: EmbeddedStores, published_template: str) -> AsyncIterator[ScimClient]:
    """A client of a service that knows its address."""
    variables = {"PORTCULLIS_SERVER__PUBLIC_URL": PUBLIC}
    async with inside_own(stores, published_template, **variables) as running:
        yield await scim_client(running)


async def test_addresses_are_absolute_where_the_service_knows_its_own(public: ScimClient) -> None:
    made = await public.ask("POST", "/Users", {"schemas": [USER], "userName": "heron"})
    user = f"{PUBLIC}/scim/v2/Users/{made.json['id']}"
    assert made.header("location") == made.json["meta"]["location"] == user
    group_id = await public.group("Readers", made.json["id"])
    group = await public.data("GET", f"/Groups/{group_id}")
    assert group["meta"]["location"] == f"{PUBLIC}/scim/v2/Groups/{group_id}"
    assert group["members"][0]["$ref"] == user
    (member_of,) = (await public.data("GET", f"/Users/{made.json['id']}"))["groups"]
    assert member_of["$ref"] == group["meta"]["location"]
    for path in ("/Schemas", "/ResourceTypes"):
        for each in (await public.data("GET", path))["Resources"]:
            assert each["meta"]["location"].startswith(f"{PUBLIC}/scim/v2{path}/")
    config = await public.data("GET", "/ServiceProviderConfig")
    assert config["meta"]["location"] == f"{PUBLIC}/scim/v2/ServiceProviderConfig"
