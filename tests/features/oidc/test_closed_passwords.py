"""Who has an account at a provider that allows no password gets nowhere by one; an administrator does."""

from collections.abc import AsyncIterator

import pytest

from service.authn.proving import ClosedPasswords
from service.features.account_links.forgotten_passwords import answer_requests
from service.features.embedded.stores import EmbeddedStores
from service.kernel.notify import notices_of
from service.records.database.transactions import Database
from service.settings import load
from tests.features.account_links.conftest import MAILING
from tests.features.oidc.conftest import Browser, provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own
from tests.support.members import Member, member, query, until_row
from tests.support.seeded import ADMINISTRATOR_PASSWORD


@pytest.fixture(scope="module")
async def closed(
    stores: EmbeddedStores, published_template: str, running_provider: HostileProvider
) -> AsyncIterator[Inside]:
    """A service with mail, whose provider allows no password."""
    chosen = MAILING | variables(provider_settings(running_provider, "good", allow_password=False))
    async with inside_own(stores, published_template, **chosen) as running:
        yield running


async def hand_over(service: Inside, user_name: str, subject: str) -> None:
    body = {"userName": user_name, "subject": subject}
    answer = await service.ask("POST", "/api/auth/oidc/good/accounts", body)
    assert answer.status == 204, answer.body


async def confirmed(service: Inside, user_id: int) -> None:
    """Give somebody a confirmed address."""
    await query(
        service,
        "UPDATE sys.user SET email = 'h@example.com', recovery_email = 'h@example.com' WHERE id = %s",
        user_id,
    )


@pytest.fixture
async def heron(closed: Inside, provider: HostileProvider) -> Member:
    """Somebody who was logged in by a password when the account was handed over."""
    made = await member(closed, f"heron-{provider.subject}")
    await confirmed(closed, made.user_id)
    await hand_over(closed, made.name, provider.subject)
    return made


async def test_the_password_opens_no_session_and_the_provider_does(
    closed: Inside, heron: Member, provider: HostileProvider
) -> None:
    body = {"userName": heron.name, "password": ADMINISTRATOR_PASSWORD}
    assert (await closed.as_anonymous("POST", "/api/auth/login", body=body)).code == "login_failed"
    token = await Browser(closed, provider).sign_in()
    user = (await closed.ask("GET", "/api/user/info", token=token)).json["data"]
    assert user["userId"] == heron.user_id


async def test_no_step_up_by_the_password_is_offered_or_accepted(heron: Member) -> None:
    options = (await heron.ask("POST", "/api/auth/step-up/options")).json["data"]
    assert options["methods"] == []
    body = {"method": "password", "password": ADMINISTRATOR_PASSWORD}
    assert (await heron.ask("POST", "/api/auth/step-up", body)).code == "login_failed"


async def test_a_refusal_offers_no_step_up_by_the_password(closed: Inside, heron: Member) -> None:
    from service.authn.step_up_methods import StepUpMethods  # noqa: PLC0415
    from service.kernel.assurance import Authentication, Challenge  # noqa: PLC0415
    from service.kernel.codes import HeldCodes  # noqa: PLC0415
    from service.kernel.identity import Caller  # noqa: PLC0415

    def caller(user_id: int) -> Caller:
        proved = Authentication("pwd", ("pwd",), 1.0)
        return Caller(user_id, str(user_id), "u", "u", "web", (), HeldCodes(()), 0.0, authentication=proved)

    settings = load(
        {"PORTCULLIS_CONFIG": "", "DATABASE_URL": closed.database_url, "REDIS_URL": closed.redis_url}
        | {"JWT_SECRET": "hinges-2-portals-7-winches-4-chains-9"}
        | variables(provider_settings(HostileProvider(), "good", issuer="https://a.b", allow_password=False))
    )
    opened, passwords = Database(closed.database_url), ClosedPasswords(settings.oidc)

    async def closed_to(user_id: int) -> bool:
        return await passwords.includes(opened, user_id)

    try:
        methods = StepUpMethods(closed_to=closed_to)
        demand = Challenge(("pwd",), 300)
        assert await methods.satisfying(caller(heron.user_id), demand) == ()
        assert await methods.satisfying(caller(1), demand) == ("password",)
    finally:
        await opened.close()


async def links_of(service: Inside, user_id: int) -> int:
    ((count,),) = await query(
        service,
        "SELECT count(*) FROM sys.account_token WHERE user_id = %s AND purpose = 'password_reset'",
        user_id,
    )
    return int(count)


async def asked(service: Inside, user_name: str) -> None:
    """Ask for a link, and run the job that mails it."""
    answer = await service.as_anonymous("POST", "/api/auth/password-reset", body={"userName": user_name})
    assert answer.status == 202
    stores = {"DATABASE_URL": service.database_url, "REDIS_URL": service.redis_url}
    shut = provider_settings(HostileProvider(), "good", issuer="https://a.b", allow_password=False)
    settings = load(
        {"PORTCULLIS_CONFIG": "", "JWT_SECRET": "hinges-2-portals-7-winches-4-chains-9"}
        | stores
        | MAILING
        | variables(shut)
    )
    from service.features.account_links.links import AccountLinks  # noqa: PLC0415
    from service.features.notices.outbox import Outbox  # noqa: PLC0415
    from service.features.second_factors.sealing import FactorKeys  # noqa: PLC0415

    opened = Database(service.database_url)
    links = AccountLinks(Outbox(settings, FactorKeys.of(settings.auth)), "", 3600)
    try:
        await answer_requests(opened, links, notices_of(settings), ClosedPasswords(settings.oidc))
    finally:
        await opened.close()
    # What the service's own job has taken is gone, and mailed, with its commit.
    await until_row(service, "SELECT count(*) FROM sys.reset_request", (0,))


async def test_no_link_for_a_forgotten_password_is_mailed(
    closed: Inside, heron: Member, provider: HostileProvider
) -> None:
    crane = await member(closed, f"crane-{provider.subject}")
    await confirmed(closed, crane.user_id)
    await asked(closed, crane.name)
    assert await links_of(closed, crane.user_id) == 1
    await asked(closed, heron.name)
    assert await links_of(closed, heron.user_id) == 0
    refused = await closed.ask("POST", f"/api/user/{heron.user_id}/password-reset")
    assert (refused.status, refused.json["rule"]) == (409, "has_password")


async def test_a_link_that_was_mailed_before_sets_no_password(closed: Inside, heron: Member) -> None:
    from service.features.account_links import store_tokens as account_tokens  # noqa: PLC0415
    from service.features.account_links.links import digest_of  # noqa: PLC0415

    async with Database(closed.database_url) as opened, opened.transaction() as connection:
        await account_tokens.put(
            connection,
            "password_reset",
            heron.user_id,
            digest_of("a-token"),
            email="h@example.com",
            seconds=600,
            created_by=None,
        )
    body = {"token": "a-token", "password": "five wary otters at noon"}
    refused = await closed.as_anonymous("POST", "/api/auth/password-reset/confirm", body=body)
    assert refused.code == "link_invalid"


async def test_who_may_do_everything_keeps_the_password_for_all_of_that(
    closed: Inside, provider: HostileProvider
) -> None:
    await confirmed(closed, 1)
    await hand_over_admin(closed, provider.subject)
    assert await closed.log_in()
    body = {"method": "password", "password": ADMINISTRATOR_PASSWORD}
    token = await closed.log_in()
    assert (await closed.ask("POST", "/api/auth/step-up", body, token=token)).status == 200
    await asked(closed, "admin")
    assert await links_of(closed, 1) == 1


async def hand_over_admin(service: Inside, subject: str) -> None:
    await query(
        service,
        "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
        " VALUES ('good', 'i', %s, 1, false)",
        subject,
    )
