"""Somebody who may do everything gets in while a provider does not answer: doctor says whether.

And whether a provider has the name of what provisions accounts.
"""

from typing import Any

import pytest

from service.operator.findings import Finding
from tests.features.oidc.conftest import provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.features.operations.doctor.conftest import LookAt, execute

LINKED = (
    "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
    " VALUES ('good', 'https://a.b', 'root', 1, false)"
)


def settings_of_provider(**changes: Any) -> dict[str, str]:
    return variables(provider_settings(HostileProvider(), "good", issuer="https://a.b", **changes))


def test_doctor_finds_somebody_who_gets_in_without_the_provider(look_at: LookAt, database_url: str) -> None:
    assert look_at("way-in") == Finding("ok", "no user signs in with a provider")
    chosen = settings_of_provider(allow_password=False)
    execute(database_url, LINKED)
    assert look_at("way-in", **chosen).state == "ok"  # who may do everything keeps the password


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sys.user SET password_hash = NULL",
        "UPDATE sys.user SET status = 'disabled'",
        "INSERT INTO sys.user_ban (user_id, reason, banned_by) VALUES (1, 'away', 1)",
        "UPDATE sys.user_role SET valid_until = now() + interval '1 day'",
    ],
)
def test_doctor_finds_that_nobody_gets_in_without_the_provider(
    look_at: LookAt, database_url: str, change: str
) -> None:
    execute(database_url, change)
    finding = look_at("way-in", **settings_of_provider())
    assert finding.state == "fault"
    assert "if the provider fails, no administrator can log in" in finding.message


def test_doctor_demands_the_factor_that_the_lines_demand(look_at: LookAt, database_url: str) -> None:
    chosen = settings_of_provider() | {"PORTCULLIS_POLICY__ASSURANCE": "administrators"}
    finding = look_at("way-in", **chosen)
    assert finding.state == "fault"
    assert "a second factor (mfa)" in finding.message
    execute(
        database_url,
        "INSERT INTO sys.user_factor (user_id, kind, factor_name, sealed_secret, confirm_time)"
        " VALUES (1, 'totp', 'phone', '\\x00', now())",
    )
    assert look_at("way-in", **chosen).state == "ok"


def test_doctor_finds_a_provider_with_the_name_of_what_provisions(look_at: LookAt, database_url: str) -> None:
    stored = "INSERT INTO sys.directory (name, kind, mapping, ceiling) VALUES ('{}', '{}', '{{}}', '{{}}')"
    execute(database_url, stored.format("feed", "scim"))
    execute(database_url, stored.format("good", "oidc"))
    assert look_at("directory-names") == Finding("ok", "no user signs in with a provider")
    chosen = settings_of_provider()
    assert look_at("directory-names", **chosen).state == "ok"
    execute(database_url, "UPDATE sys.directory SET kind = 'scim' WHERE name = 'good'")
    finding = look_at("directory-names", **chosen)
    assert finding.state == "fault"
    assert "have the same name: good" in finding.message
