"""A provider and what provisions accounts have names of their own; where not, neither is the other."""

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from tests.features.oidc.conftest import Browser
from tests.features.oidc.test_cut_off import cut_off
from tests.features.oidc.test_sign_in import info
from tests.support.inside import Inside
from tests.support.members import member, query

DIRECTORY: Final = "/api/directory/good"
STORED: Final = (
    "INSERT INTO sys.directory (name, kind, mapping, ceiling, enabled)"
    " VALUES ('good', 'scim', '{}', '{system:file:list}', %s)"
)
GIVEN: Final = (
    "INSERT INTO sys.user_role (user_id, role_id, source, directory) VALUES (%s, %s, 'directory', 'good')"
)


@pytest.fixture
async def feed(front: Inside) -> AsyncIterator[dict[str, Any]]:
    """The body of a directory that provisions."""
    await front.ask("POST", "/api/user", {"userName": "feed", "nickName": "Feed", "kind": "service"})
    yield {"kind": "scim", "client": "feed", "mapping": [], "ceiling": []}
    await query(front, "DELETE FROM sys.directory WHERE name = 'good'")


async def test_what_provisions_does_not_get_the_name_of_a_provider(
    front: Inside, feed: dict[str, Any]
) -> None:
    refused = await front.ask("PUT", DIRECTORY, feed)
    assert (refused.status, refused.fields) == (422, ["source"])
    assert (await front.ask("GET", DIRECTORY)).status == 404
    assert (await front.ask("PUT", "/api/directory/feed", feed)).status == 200
    assert (await front.ask("DELETE", "/api/directory/feed")).status == 200


async def test_one_that_had_it_before_can_be_cut_off_and_deleted(front: Inside, feed: dict[str, Any]) -> None:
    await query(front, STORED, True)
    assert (await front.ask("PUT", DIRECTORY, feed)).fields == ["source"]
    assert (await front.ask("PUT", DIRECTORY, feed | {"enabled": False})).status == 200
    assert (await front.ask("DELETE", DIRECTORY)).status == 200


@pytest.mark.usefixtures("feed")
async def test_a_sign_in_neither_gives_nor_ends_roles_of_what_provisions(
    front: Inside, browser: Browser
) -> None:
    browser.provider.changes = {"groups": ["Readers"]}
    user = await info(front, await browser.sign_in())
    reader = await member(front, f"r{browser.provider.subject}", "system:file:list")
    await query(front, GIVEN, user["userId"], reader.role_id)
    await query(front, STORED, True)
    assert (await info(front, await browser.sign_in()))["permissions"] == ["system:file:list"]


@pytest.mark.usefixtures("feed")
async def test_cutting_off_what_provisions_closes_no_sign_in(front: Inside, browser: Browser) -> None:
    await query(front, STORED, False)
    token = await browser.sign_in()
    (origin,) = (await front.ask("GET", "/api/user/profile/origins", token=token)).json["data"]["items"]
    assert origin["provider"]


@pytest.mark.usefixtures("feed")
async def test_the_command_says_that_people_still_sign_in(front: Inside, browser: Browser) -> None:
    await query(front, STORED, True)
    status, output = await cut_off(front, "good", provider=browser.provider)
    assert status == 0, output
    assert "People can still sign in with the provider good" in output
    assert await browser.sign_in()
