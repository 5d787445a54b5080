"""A way of recovery changes by the proof of what it recovers: the attacks, by each file of demands."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.features.account_links.conftest import MAILING, NEW, Mailing
from tests.features.second_factors.conftest import PASSWORD, Person
from tests.support.inside_fixtures import inside_own
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.without import is_served

PROFILE = "/api/user/profile"
OTHERS = "thief@example.net"
ANY = ("If-Match", "*")


@asynccontextmanager
async def by_file(stores: EmbeddedStores, template: str, level: str) -> AsyncIterator[Mailing]:
    """A service with one file of demands, whose administrator has proved two factors."""
    variables = MAILING | {"PORTCULLIS_POLICY__ASSURANCE": level}
    async with inside_own(stores, template, **variables) as running:
        administrator = Person(running, 1, ADMINISTRATOR, password=ADMINISTRATOR_PASSWORD)
        await administrator.log_in()
        await administrator.enrol_app()
        await administrator.step_up()
        running.token = administrator.token
        yield Mailing(running)


@pytest.fixture(scope="module", params=["base", "administrators", "everybody"])
async def mailing(
    request: pytest.FixtureRequest, stores: EmbeddedStores, published_template: str
) -> AsyncIterator[Mailing]:
    """The service of each file; each test has a person of its own."""
    made: AbstractAsyncContextManager[Mailing] = by_file(stores, published_template, request.param)
    async with made as running:
        yield running


async def stored(mailing: Mailing, person: Person) -> tuple[str | None, str | None]:
    """Return the address of a person, and the one for recovery."""
    [row] = mailing.execute('SELECT email, recovery_email FROM sys."user" WHERE id = %s', person.id)
    return row[0], row[1]


async def moved(mailing: Mailing, person: Person, email: str = OTHERS) -> str:
    """Let a person move to another address, as its owner does; return the one before."""
    before = (await stored(mailing, person))[1]
    await person.data("PUT", PROFILE, {"email": email, "currentPassword": person.password})
    token = mailing.mails(person.id, "address_confirmation")[-1].token
    assert (await mailing.post("/api/auth/address", token=token)).status == 204
    assert await stored(mailing, person) == (email, email)
    return str(before)


async def test_a_stolen_token_does_not_move_the_address(mailing: Mailing) -> None:
    person = await mailing.person()
    await person.log_in()
    own = f"{person.name}@example.org"

    for proof in ({}, {"currentPassword": "a guess of a thief"}):
        answer = await person.ask("PUT", PROFILE, {"email": OTHERS, **proof})
        assert answer.status == (422 if proof else 403), answer.body
    refused = await person.ask("PUT", PROFILE, {"email": OTHERS})
    assert (refused.json["required"], refused.json["field"]) == (["@current-password"], "currentPassword")
    agreed = await person.ask("POST", f"{PROFILE}/email/agreement", {"email": own})
    assert (agreed.status, agreed.json["required"]) == (403, ["@current-password"])
    assert await stored(mailing, person) == (own, own)
    assert mailing.mails(person.id, "address_confirmation")[1:] == []


async def test_no_other_way_moves_the_own_address(mailing: Mailing) -> None:
    token = mailing.site.token
    account = await mailing.site.data("GET", "/api/user/1")
    kept = ("userName", "nickName", "phone", "status", "service", "gender", "avatar")
    whole = {name: account[name] for name in kept} | {"roleIds": [1], "email": OTHERS}
    ways: list[tuple[str, str, Any]] = [
        ("PATCH", "/api/user/1", {"email": OTHERS}),
        ("PUT", "/api/user/1", whole),
        ("POST", "/api/user/import", {"users": [{"userName": ADMINISTRATOR, "email": OTHERS}]}),
    ]
    ways = [way for way in ways if is_served(way[1])]
    for way in ways:
        answer = await mailing.site.ask(*way, ANY, token=token)
        assert answer.status == (422 if "import" in way[1] else 403), answer.body
        assert b'"required":["@current-password"]' in answer.body, answer.body
    assert (await mailing.site.data("GET", "/api/user/1"))["email"] == account["email"]


async def test_who_may_edit_users_makes_no_address_one_for_recovery(mailing: Mailing) -> None:
    person = await mailing.person()
    own = f"{person.name}@example.org"
    target = f"/api/user/{person.id}"

    await mailing.site.data("PATCH", target, {"email": OTHERS})
    token = mailing.mails(person.id, "address_confirmation")[-1].token
    assert (await mailing.post("/api/auth/address", token=token)).status == 204
    assert await stored(mailing, person) == (OTHERS, own)
    await mailing.link(person)
    assert {mail.recipient for mail in mailing.mails(person.id, "password_reset")} == {own}
    if not is_served("POST /api/user/import"):
        return
    import_ = {"users": [{"userName": person.name, "email": f"2{OTHERS}"}]}
    await mailing.site.data("POST", "/api/user/import", import_)
    token = mailing.mails(person.id, "address_confirmation")[-1].token
    assert (await mailing.post("/api/auth/address", token=token)).status == 204
    assert await stored(mailing, person) == (f"2{OTHERS}", own)


@pytest.mark.parametrize("reached_first", [True, False])
async def test_an_address_that_others_have_set_is_for_recovery_once_its_owner_agrees(
    mailing: Mailing, reached_first: bool
) -> None:
    person = await mailing.person()
    await person.log_in()
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": OTHERS})
    token = mailing.mails(person.id, "address_confirmation")[-1].token
    agreement = {"email": OTHERS, "currentPassword": PASSWORD}

    for reaches in (reached_first, not reached_first):
        assert (await stored(mailing, person))[1] == f"{person.name}@example.org"
        if reaches:
            assert (await mailing.post("/api/auth/address", token=token)).status == 204
        else:
            stale = await person.ask("POST", f"{PROFILE}/email/agreement", agreement | {"email": "a@b.c"})
            assert (stale.status, stale.json["rule"]) == (409, "changed_meanwhile")
            assert (await person.ask("POST", f"{PROFILE}/email/agreement", agreement)).status == 204
    assert (await stored(mailing, person))[1] == OTHERS
    recipients = [mail.recipient for mail in mailing.mails(person.id, "recovery_changed")]
    assert recipients == [f"{person.name}@example.org"]


async def test_a_session_from_before_the_first_factor_changes_neither_address_nor_password(
    mailing: Mailing,
) -> None:
    person = await mailing.person()
    await person.log_in()
    old = person.token
    elsewhere = (await person.first_step(device="tablet")).json["data"]["accessToken"]
    person.token = elsewhere
    await person.enrol_app()
    await person.step_up()
    changes: list[tuple[str, str, Any]] = [
        ("PUT", PROFILE, {"email": OTHERS, "currentPassword": PASSWORD}),
        ("PUT", f"{PROFILE}/password", {"currentPassword": PASSWORD, "newPassword": NEW}),
        ("POST", f"{PROFILE}/email/agreement", {"email": "a@b.c", "currentPassword": PASSWORD}),
    ]

    for change in changes:
        answer = await mailing.site.ask(*change, token=old)
        if change[0] == "POST":
            continue
        assert (answer.status, answer.json["code"]) == (401, "insufficient_user_authentication"), change
        assert answer.json["required"] == ["@two-factors"]
    assert await stored(mailing, person) == (f"{person.name}@example.org",) * 2
    assert (await person.first_step(NEW)).json["code"] == "login_failed"
    for change in changes[:2]:
        assert (await person.ask(*change)).status == 200, change


async def test_a_password_that_has_to_be_changed_first_is_changed_beside_a_factor(mailing: Mailing) -> None:
    person = await mailing.person()
    await person.log_in()
    await person.enrol_app()
    mailing.execute("UPDATE sys.\"user\" SET password_initial = 'leaked' WHERE id = %s", person.id)
    await person.log_in_by_app()

    body = {"currentPassword": PASSWORD, "newPassword": NEW}
    assert (await person.ask("PUT", f"{PROFILE}/password", body)).status == 200


async def test_who_has_no_password_proves_a_factor(mailing: Mailing) -> None:
    person = await mailing.person()
    await person.log_in()
    mailing.execute('UPDATE sys."user" SET password_hash = NULL WHERE id = %s', person.id)

    refused = await person.ask("PUT", PROFILE, {"email": OTHERS})
    assert (refused.status, refused.json["required"]) == (401, ["@two-factors-within-15m"])
    await person.enrol_app()
    await person.step_up()
    assert (await person.ask("PUT", PROFILE, {"email": OTHERS})).status == 200


async def test_the_address_before_undoes_a_change_for_a_day_and_all_sessions_end(mailing: Mailing) -> None:
    person = await mailing.person()
    await person.log_in()
    own = await moved(mailing, person)
    at_edit, at_move = (
        mailing.mails(person.id, kind)[-1] for kind in ("address_changed", "recovery_changed")
    )
    assert (at_edit.recipient, at_move.recipient) == (own, own)
    later = await moved(mailing, person, f"2{OTHERS}")
    thiefs = [mail for mail in mailing.mails(person.id, "recovery_changed") if mail.recipient == later][-1]

    mailing.execute(
        "UPDATE sys.address_undo SET expires_time = now() WHERE email = %s AND user_id = %s AND create_time ="
        " (SELECT min(create_time) FROM sys.address_undo WHERE user_id = %s)",
        own,
        person.id,
        person.id,
    )
    assert (await mailing.post("/api/auth/address/undo", token=at_edit.token)).status == 403
    await mailing.site.data("PUT", f"/api/user/{person.id}/status", {"status": "disabled"})
    assert (await mailing.post("/api/auth/address/undo", token=at_move.token)).status == 403
    await mailing.site.data("PUT", f"/api/user/{person.id}/status", {"status": "enabled"})
    await person.log_in()
    assert (await mailing.post("/api/auth/address/undo", token=at_move.token)).status == 204
    assert await stored(mailing, person) == (own, own)
    assert (await person.ask("GET", PROFILE)).status == 401
    for token in (at_move.token, thiefs.token):
        answer = await mailing.post("/api/auth/address/undo", token=token)
        assert (answer.status, answer.json["code"]) == (403, "link_invalid")
    assert [mail.recipient for mail in mailing.mails(person.id, "address_restored")] == [own]


async def test_an_address_that_came_later_does_not_take_the_link_of_the_first_one_away(
    mailing: Mailing,
) -> None:
    person = await mailing.person()
    await person.log_in()
    own = await moved(mailing, person)
    first = mailing.mails(person.id, "recovery_changed")[-1]
    await moved(mailing, person, f"2{OTHERS}")
    second = mailing.mails(person.id, "recovery_changed")[-1]

    assert second.recipient == OTHERS
    assert (await mailing.post("/api/auth/address/undo", token=second.token)).status == 204
    assert await stored(mailing, person) == (OTHERS, OTHERS)
    assert (await mailing.post("/api/auth/address/undo", token=first.token)).status == 204
    assert await stored(mailing, person) == (own, own)


async def test_an_address_that_is_taken_away_or_declared_confirmed_can_be_undone_too(
    mailing: Mailing,
) -> None:
    person = await mailing.person()
    own = f"{person.name}@example.org"
    target = f"/api/user/{person.id}"

    for change in ({"email": None}, {"email": OTHERS}):
        await mailing.site.data("PATCH", target, change)
        if change["email"]:
            assert (await mailing.site.ask("POST", f"{target}/email/verification")).status == 204
            assert await stored(mailing, person) == (OTHERS, OTHERS)
        token = mailing.mails(person.id, "address_changed")[-1].token
        assert (await mailing.post("/api/auth/address/undo", token=token)).status == 204
        assert await stored(mailing, person) == (own, own)


async def test_a_first_password_by_a_link_that_was_mailed_there_is_agreement(mailing: Mailing) -> None:
    person = await mailing.person(confirmed=False, invite=True)
    await mailing.site.data("POST", f"/api/user/{person.id}/invitation")
    token = mailing.mails(person.id, "invitation")[-1].token

    assert (await mailing.post("/api/auth/invitation", token=token, password=NEW)).status == 204
    assert await stored(mailing, person) == (f"{person.name}@example.org",) * 2
