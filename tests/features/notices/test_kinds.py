"""Users are told what happens to their accounts, by whatever way it happens, in the product and by mail."""

import base64
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from service.features.command_line import commands_admin_reset as admin_reset
from service.settings import load
from tests.authn.conftest import SECRET
from tests.features.account_links.conftest import MAILING, Mailing
from tests.features.second_factors.conftest import ORIGIN, PASSWORD, Person
from tests.support.authenticator import Passkey
from tests.support.without import is_served

NEW: Final = "five wary otters at noon"
ADDRESS: Final = "192.0.2.7"


async def notices_of(person: Person) -> list[dict[str, Any]]:
    """Return the notices of a person, the latest first, as they see them."""
    page = await person.data("GET", "/api/user/profile/notices")
    items: list[dict[str, Any]] = page["items"]
    return items


def stored(mailing: Mailing, user_id: int) -> list[tuple[Any, ...]]:
    """Return kind, author, address and facts of the notices of a user, the latest first."""
    statement = "SELECT kind, acted_by, client_ip, facts FROM sys.notice WHERE user_id = %s ORDER BY id DESC"
    return mailing.execute(statement, user_id)


Act = Callable[[Mailing, Person], Awaitable[Any]]


@dataclass(frozen=True)
class Way:
    """A way in which something happens to an account: what its user is told then."""

    name: str
    act: Act
    kind: str
    by: str = "administrator"
    facts: dict[str, Any] = field(default_factory=dict)
    enrolled: bool = False


async def log_in_elsewhere(_mailing: Mailing, person: Person) -> None:
    answer = await person.site.as_anonymous(
        "POST",
        "/api/auth/login",
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"),
        body={"userName": person.name, "password": PASSWORD},
    )
    assert answer.status == 200


async def change_password(_mailing: Mailing, person: Person) -> None:
    await person.data("PUT", "/api/user/profile/password", {"currentPassword": PASSWORD, "newPassword": NEW})
    person.token = ""


async def set_password(mailing: Mailing, person: Person) -> None:
    await mailing.site.data("PUT", f"/api/user/{person.id}/password", {"newPassword": NEW})


async def enrol(_mailing: Mailing, person: Person) -> None:
    await person.enrol_app()


async def add_passkey(_mailing: Mailing, person: Person) -> None:
    await person.step_up()
    await person.enrol_passkey(Passkey("id.example.com", ORIGIN))


async def remove_app(_mailing: Mailing, person: Person) -> None:
    await person.step_up()
    await person.data("DELETE", f"/api/user/profile/factors/{person.app}")


async def make_codes(_mailing: Mailing, person: Person) -> None:
    await person.step_up()
    await person.data("POST", "/api/user/profile/factors/recovery-codes")


async def log_in_by_code(_mailing: Mailing, person: Person) -> None:
    refusal = await person.challenged()
    answer = await person.second_step(refusal["challenge"], "recovery_code", code=person.codes[0])
    assert answer.status == 200, answer.body


async def step_up_by_code(_mailing: Mailing, person: Person) -> None:
    body = {"method": "recovery_code", "code": person.codes[1]}
    await person.data("POST", "/api/auth/step-up", body)


async def reset_factors(mailing: Mailing, person: Person) -> None:
    await mailing.site.data("DELETE", f"/api/user/{person.id}/factors")


async def ban(mailing: Mailing, person: Person) -> None:
    await mailing.site.data("POST", f"/api/online/{person.id}/ban", {"reason": "a test"})


async def edit_roles(mailing: Mailing, person: Person) -> None:
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"roleIds": [await role(mailing)]})


async def give_in_bulk(mailing: Mailing, person: Person) -> None:
    body = {"ids": [person.id], "roleId": await role(mailing), "action": "give"}
    await mailing.site.data("POST", "/api/user/bulk/role", body)


async def import_roles(mailing: Mailing, person: Person) -> None:
    table = f"userName,roles\n{person.name},auditor\n".encode()
    answer = await mailing.site.ask_raw("POST", "/api/user/import", table, ("Content-Type", "text/csv"))
    assert answer.status == 200, answer.body


async def edit_own_address(_mailing: Mailing, person: Person) -> None:
    profile = {"email": "elsewhere@example.org", "currentPassword": PASSWORD}
    await person.data("PUT", "/api/user/profile", profile)


async def edit_address(mailing: Mailing, person: Person) -> None:
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": "elsewhere@example.org"})


async def import_address(mailing: Mailing, person: Person) -> None:
    table = f"userName,email\n{person.name},elsewhere@example.org\n".encode()
    answer = await mailing.site.ask_raw("POST", "/api/user/import", table, ("Content-Type", "text/csv"))
    assert answer.status == 200, answer.body


async def role(mailing: Mailing, code: str = "auditor") -> int:
    """Return the id of a role."""
    [(known,)] = mailing.execute("SELECT id FROM sys.role WHERE role_code = %s", code)
    return int(known)


APP: Final = {"factor": "totp", "name": "My phone"}
AUDITOR: Final = {"givenRoles": ["auditor"]}
MOVED: Final = {"email": "elsewhere@example.org"}
WAYS: Final = (
    Way("a login", log_in_elsewhere, "new_device", "self"),
    Way("the own password", change_password, "password_changed", "self"),
    Way("a password by an administrator", set_password, "password_changed"),
    Way("the first factor", enrol, "factor_added", "self", APP),
    Way("a passkey", add_passkey, "factor_added", "self", {"factor": "passkey", "name": "My key"}, True),
    Way("a factor removed", remove_app, "factor_removed", "self", APP, True),
    Way("new codes", make_codes, "recovery_codes_made", "self", {"factor": "recovery_codes"}, True),
    Way("a login by a code", log_in_by_code, "recovery_code_used", "self", {}, True),
    Way("a step-up by a code", step_up_by_code, "recovery_code_used", "self", {}, True),
    Way("factors reset", reset_factors, "factors_reset", enrolled=True),
    Way("a ban", ban, "banned"),
    Way("an edit of roles", edit_roles, "roles_changed", facts=AUDITOR),
    Way("a bulk act on roles", give_in_bulk, "roles_changed", facts=AUDITOR),
    Way("an import of roles", import_roles, "roles_changed", facts=AUDITOR),
    Way("the own address", edit_own_address, "address_changed", "self", MOVED),
    Way("an edit of the address", edit_address, "address_changed", facts=MOVED),
    Way("an import of an address", import_address, "address_changed", facts=MOVED),
)


IMPORTS: Final = (import_roles, import_address)


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, id=way.name, marks=[pytest.mark.feature("tables")] if way.act in IMPORTS else [])
        for way in WAYS
    ],
)
async def test_the_user_is_told_in_the_product_and_by_mail(mailing: Mailing, way: Way) -> None:
    person = await mailing.person()
    await person.log_in()
    if way.enrolled:
        await person.enrol_app()
    before = len(mailing.mails(person.id, way.kind))
    await way.act(mailing, person)

    of_kind = [row for row in stored(mailing, person.id) if row[0] == way.kind]
    _, by, address, facts = of_kind[0]
    assert (by, address) == (way.by, ADDRESS if way.by == "self" else None)
    assert facts.items() >= way.facts.items()
    [mail] = mailing.mails(person.id, way.kind)[before:]
    assert mail.recipient == f"{person.name}@example.org"
    page = "address-undo" if way.kind == "address_changed" else "end-sessions"
    assert mail.link.startswith(f"{ORIGIN}/console#/{page}?token=")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", mail.facts["time"])
    assert mail.facts["where"].startswith(f"from {ADDRESS} (" if way.by == "self" else "by an administrator")


async def test_an_operator_who_sets_a_password_or_resets_factors_tells_the_user(
    mailing: Mailing,
) -> None:
    person = await mailing.person()
    stores = {"DATABASE_URL": mailing.site.database_url, "REDIS_URL": mailing.site.redis_url}
    settings = load({"PORTCULLIS_CONFIG": "", "JWT_SECRET": SECRET, **stores, **MAILING})
    async with admin_reset._recovery(settings) as recovery:
        await recovery.recover(person.id, NEW, enable=True)
        await recovery.reset_factors(person.id)
    rows = stored(mailing, person.id)
    assert [row[:3] for row in rows] == [
        ("factors_reset", "operator", None),
        ("password_changed", "operator", None),
    ]
    [mail] = mailing.mails(person.id, "password_changed")
    assert mail.facts["where"] == "by the operator of the service"


async def test_an_api_key_is_told_to_its_account_and_to_its_maker(mailing: Mailing) -> None:
    account = await mailing.person(kind="service")
    [(maker,)] = mailing.execute("SELECT id FROM sys.\"user\" WHERE user_name = 'admin'")
    await mailing.site.data("POST", f"/api/user/{account.id}/keys", {"name": "nightly"})
    facts = {"name": "nightly", "account": account.name}
    assert stored(mailing, account.id)[0] == ("api_key_made", "administrator", None, facts)
    assert stored(mailing, maker)[0] == ("api_key_made", "self", ADDRESS, facts)
    [mail] = mailing.mails(account.id, "api_key_made")
    assert mail.recipient == f"{account.name}@example.org"


async def test_who_was_banned_is_told_until_when(mailing: Mailing) -> None:
    person = await mailing.person()
    await mailing.site.data("POST", f"/api/online/{person.id}/ban", {"reason": "a test", "seconds": 3600})
    [mail] = mailing.mails(person.id, "banned")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", mail.facts["until"])
    assert stored(mailing, person.id)[0][3]["until"].endswith("Z")


async def test_nobody_is_told_of_what_an_act_of_others_does_not_change(mailing: Mailing) -> None:
    person = await mailing.person()
    same = {"nickName": "Another", "email": f"{person.name}@example.org", "roleIds": []}
    await mailing.site.data("PATCH", f"/api/user/{person.id}", same)
    assert stored(mailing, person.id) == []


async def test_new_users_are_not_told_of_their_first_roles(mailing: Mailing) -> None:
    person = await mailing.person(roleIds=[await role(mailing)])
    assert stored(mailing, person.id) == []


async def test_a_dry_run_tells_nobody(mailing: Mailing) -> None:
    person, auditor = await mailing.person(), await role(mailing)
    await mailing.site.preview(
        "PATCH", f"/api/user/{person.id}", {"email": "e@example.org", "roleIds": [auditor]}
    )
    bulk = {"ids": [person.id], "roleId": auditor, "action": "give"}
    await mailing.site.preview("POST", "/api/user/bulk/role", bulk)
    table = f"userName,roles,email\n{person.name},auditor,e@example.org\n".encode()
    target = "/api/user/import?dryRun=true"
    if is_served(target):
        answer = await mailing.site.ask_raw("POST", target, table, ("Content-Type", "text/csv"))
        assert answer.status == 200, answer.body
    assert stored(mailing, person.id) == []
    assert {mail.kind for mail in mailing.mails(person.id)} <= {"address_confirmation"}


async def test_a_refused_act_tells_nobody(mailing: Mailing) -> None:
    person = await mailing.person()
    await person.log_in()
    mailing.execute("DELETE FROM sys.notice WHERE user_id = %s", person.id)
    body = {"currentPassword": "a wrong one", "newPassword": NEW}
    assert (await person.ask("PUT", "/api/user/profile/password", body)).status == 422
    other = await mailing.person()
    taken = {"userName": other.name, "email": "elsewhere@example.org"}
    assert (await mailing.site.ask("PATCH", f"/api/user/{person.id}", taken)).status == 409
    assert stored(mailing, person.id) == []


async def test_an_address_that_nobody_has_confirmed_gets_no_notice(mailing: Mailing) -> None:
    person = await mailing.person(confirmed=False)
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"roleIds": [await role(mailing)]})
    assert [row[0] for row in stored(mailing, person.id)] == ["roles_changed"]
    assert mailing.mails(person.id, "roles_changed") == []


async def test_an_address_that_is_replaced_is_told_once_a_day_without_a_link(mailing: Mailing) -> None:
    person = await mailing.person(confirmed=False)
    for number in range(3):
        await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": f"{number}@example.org"})
    [mail] = mailing.mails(person.id, "address_changed")
    assert (mail.recipient, mail.link) == (f"{person.name}@example.org", "")


async def test_a_confirmed_address_is_told_when_another_one_takes_its_place(mailing: Mailing) -> None:
    person = await mailing.person()
    for number in range(2):
        await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": f"{number}@example.org"})
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": None})
    confirmed = [mail for mail in mailing.mails(person.id, "address_changed") if mail.link]
    assert [mail.recipient for mail in confirmed] == [f"{person.name}@example.org"] * 3


async def test_names_get_neither_lines_nor_links_into_a_notice(mailing: Mailing) -> None:
    person = await mailing.person()
    await person.log_in()
    app = await person.data("POST", "/api/user/profile/factors/totp", {"name": "x https://evil.example"})
    person.app, person.secret = app["id"], base64.b32decode(app["secret"])
    await person.data("POST", f"/api/user/profile/factors/totp/{app['id']}/confirm", {"code": person.code()})
    [mail] = mailing.mails(person.id, "factor_added")
    assert "://" not in "".join(mail.facts.values())
    assert not any(character in "".join(mail.facts.values()) for character in "\r\n")
