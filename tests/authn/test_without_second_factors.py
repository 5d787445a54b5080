"""Without what checks second factors, who has one gets in by nothing; it is told by the account, as ever."""

from dataclasses import replace

import pytest

from service.authn import second_factors
from service.authn.opening import SessionOpening
from service.authn.second_factors import Answer, NoSecondFactors, second_factors_of
from service.authn.step_up_methods import StepUpMethods
from service.errors import LoginFailed, Unavailable
from service.features.notices.notices import Notices
from service.kernel.assurance import Authentication, Challenge
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.settings import Settings
from tests.authn.conftest import Container
from tests.authn.people import execute, log_in

APP = """
    INSERT INTO sys.user_factor (user_id, kind, factor_name, confirm_time, sealed_secret)
    VALUES (1, 'totp', 'an app', now(), '\\x00')
"""


@pytest.fixture
def bare(parts: Container, monkeypatch: pytest.MonkeyPatch) -> Container:
    """The parts of a service in which no feature checks second factors."""
    monkeypatch.setattr(second_factors, "provided", lambda _port: {})
    absent = second_factors_of(Settings(), parts.database, parts.store, Notices())
    assert isinstance(absent, NoSecondFactors)
    return replace(parts, opening=SessionOpening(parts.database, parts.store, parts.pairs, absent))


@pytest.mark.usefixtures("own_database")
async def test_a_password_alone_opens_no_session_of_who_has_a_factor(bare: Container) -> None:
    await log_in(bare)
    await bare.store.close_sessions("1")
    await execute(bare, APP)

    with pytest.raises(Unavailable):
        await log_in(bare)
    assert await bare.store.sessions("1") == {}


async def test_nothing_proves_who_has_forgotten_a_password_and_has_a_factor() -> None:
    absent = NoSecondFactors()

    for answer in (Answer("totp", "287082"), Answer("recovery_code", "K3XWQ2"), Answer("passkey")):
        with pytest.raises(LoginFailed):
            await absent.prove_reset(1, answer)
    with pytest.raises(Unavailable):
        await absent.reset_options(1)


async def test_no_method_is_offered_for_a_step_up_not_even_the_password() -> None:
    authentication = Authentication("pwd", ("pwd",), 0.0)
    caller = Caller(1, "1", "ada", "Ada", "web", (), HeldCodes(), 0.0, authentication=authentication)

    challenge = Challenge(("pwd", "mfa", "phr"), None)
    assert await StepUpMethods(NoSecondFactors()).satisfying(caller, challenge) == ()
