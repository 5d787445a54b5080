"""What a grant would do is said before, and a grant that breaks a statement is not made."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from service.records.database.transactions import Database
from tests.features.access_requests.test_beginnings import settled
from tests.features.access_requests.test_requests import ASKED, after, asked, decide, execute, ruled
from tests.support.databases import NewDatabase
from tests.support.inside import Inside, inside
from tests.support.members import Member, member

STATEMENTS = """\
statements:
  - name: apart-in-users
    reason: two pairs of eyes
    no_user_holds: ["system:menu:create", "system:menu:delete"]
    except_roles: [super, admin]
"""
BROKEN = "apart-in-users: "


@pytest.fixture
async def site(
    new_database: NewDatabase, seeded_template: str, redis_url: str, tmp_path: Path
) -> AsyncIterator[Inside]:
    """A service with a statement of the administrators' own."""
    path = tmp_path / "stated.yaml"
    path.write_text(STATEMENTS, "utf-8")
    url = new_database(seeded_template)
    async with inside(url, redis_url, PORTCULLIS_POLICY__INVARIANTS=str(path)) as running:
        yield running


async def people(site: Inside, *codes: str) -> tuple[Member, Member]:
    """Return who asks for a role that creates menus, and holds ``codes``; and who approves."""
    await ruled(site, "system:menu:create", "system:file:list", grantNeeded=False)
    return await member(site, "heron-1", *codes), await member(site, "kestrel", "system:user:list")


async def shown(person: Member, request: Any) -> Any:
    return (await person.ask("GET", f"{ASKED}/{request['id']}")).json["data"]


async def test_a_request_names_what_it_would_break_and_what_its_author_holds_already(site: Inside) -> None:
    heron, kestrel = await people(site, "system:menu:delete", "system:file:list")

    request = await asked(heron)

    (broken,) = request["breaks"]
    assert broken.startswith(BROKEN)
    assert "heron-1" in broken
    assert [each["code"] for each in request["breakSentences"]] == ["invariant_broken"]
    assert request["breakSentences"][0]["message"] == broken
    assert request["held"] == ["system:file:list"]
    assert [text.partition(" until ")[0] for text in (await shown(kestrel, request))["breaks"]] == [
        broken.partition(" until ")[0]
    ]
    listed = (await kestrel.ask("GET", f"{ASKED}/list")).json["data"]["items"]
    assert [(item["breaks"], item["held"]) for item in listed] == [(None, None)]


async def test_a_grant_that_breaks_nothing_names_nothing_and_an_ended_request_neither(site: Inside) -> None:
    heron, kestrel = await people(site)

    request = await asked(heron)
    approved = (await decide(kestrel, request)).json["data"]

    assert (request["breaks"], request["held"]) == ([], [])
    assert (approved["state"], approved["breaks"], approved["held"]) == ("approved", None, None)


async def test_an_approval_whose_grant_would_break_a_statement_is_refused(site: Inside) -> None:
    heron, kestrel = await people(site, "system:menu:delete")
    request = await asked(heron)

    refused = await decide(kestrel, request)

    assert (refused.status, refused.json["rule"]) == (409, "invariant")
    assert [each["name"] for each in refused.json["brokenInvariants"]] == ["apart-in-users"]
    after_it = await shown(kestrel, request)
    assert (after_it["state"], after_it["decisions"]) == ("pending", [])
    assert "system:menu:create" not in await heron.held()


async def test_a_grant_that_would_break_a_statement_at_its_beginning_fails_with_the_reason(
    site: Inside, tmp_path: Path
) -> None:
    heron, kestrel = await people(site)
    request = await asked(heron, **{"from": after(3600)})
    assert (await decide(kestrel, request)).json["data"]["state"] == "pending"
    other = await member(site, "other", "system:menu:delete")
    await execute(
        site, "INSERT INTO sys.user_role (user_id, role_id) VALUES (%s, %s)", heron.user_id, other.role_id
    )
    await execute(site, "UPDATE sys.access_request SET valid_from = now() - interval '1 minute'")
    async with Database(site.database_url, pool_size=3) as database:
        await settled(site, database, PORTCULLIS_POLICY__INVARIANTS=str(tmp_path / "stated.yaml"))

    ended = await shown(kestrel, request)
    assert ended["state"] == "failed"
    assert ended["endReason"] == "This would violate an invariant of the policy: apart-in-users"
    assert (ended["endReasonCode"], ended["endReasonParams"]) == (
        "invariant_violated",
        {"names": "apart-in-users"},
    )
