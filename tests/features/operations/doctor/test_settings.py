"""What the doctor says of settings, and of files that hold secrets."""

import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service import __version__
from service.features.operations.checks import checks_for
from service.features.operations.commands_doctor import diagnose
from service.operator.findings import Finding, Installation
from service.records.database.server_facts import ServerFacts
from service.records.installation.schema_revision import SchemaStanding
from service.settings import load, local_secret, rotate_local_secret
from tests.authn.keys import KIND_OF, key, private_pem, public_pem
from tests.features.operations.doctor.conftest import Look, LookAt, execute, no_routes
from tests.support.cases import with_each

ON_TLS = {"PORTCULLIS_AUTH__IS_READ_COOKIE": "true", "PORTCULLIS_AUTH__COOKIE_SECURE": "false"}
EVERYWHERE = {"PORTCULLIS_SERVER__HOST": "0.0.0.0"}


def judged(check: str, folder: Path, **variables: str) -> str:
    """Return what one check that needs no store finds in a database that has been filled."""
    environ = {
        "PORTCULLIS_CONFIG": "",
        "PORTCULLIS_SERVER__DATA": str(folder / "data"),
        "JWT_SECRET": secrets.token_urlsafe(64),
    } | variables
    server = ServerFacts(180000, 0, SchemaStanding("v1", "v1", known=True))
    (look,) = (candidate.look for candidate in checks_for() if candidate.name == check)
    finding = look(Installation(environ, load(environ), no_routes, server=server))
    assert isinstance(finding, Finding)
    assert not environ["JWT_SECRET"] or environ["JWT_SECRET"] not in finding.message
    return state(finding)


def state(finding: Finding) -> str:
    assert bool(finding.remedy) == (finding.state in ("warning", "fault"))
    return finding.state


@with_each(
    ("check", "variables", "expected"),
    [
        ("cookie-mode", {}, "ok"),
        ("cookie-mode", {"PORTCULLIS_AUTH__IS_READ_COOKIE": "true"}, "ok"),
        ("cookie-mode", ON_TLS, "warning"),
        ("cookie-mode", ON_TLS | EVERYWHERE, "fault"),
        ("address", {}, "ok"),
        ("address", {"PORTCULLIS_SERVER__HOST": "localhost"}, "ok"),
        ("address", EVERYWHERE, "warning"),
        ("address", {"PORTCULLIS_SERVER__HOST": "::"}, "warning"),
        ("address", EVERYWHERE | {"PORTCULLIS_SERVER__TRUSTED_PROXIES": "172.18.0.1/32"}, "ok"),
        ("proxies", {"PORTCULLIS_SERVER__TRUSTED_PROXIES": "10.0.0.0/8,fd00::/8"}, "ok"),
        ("proxies", {"PORTCULLIS_SERVER__TRUSTED_PROXIES": "93.184.0.0/16"}, "warning"),
        ("proxies", {"PORTCULLIS_SERVER__TRUSTED_PROXIES": "0.0.0.0/1,128.0.0.0/1"}, "fault"),
        ("deny-check", {"PORTCULLIS_AUTH__PER_REQUEST_DENY_CHECK": "false"}, "warning"),
        ("throttling", {"PORTCULLIS_THROTTLE__ENABLED": "false"}, "warning"),
        ("first-password", {"PORTCULLIS_ADMIN_PASSWORD": "five wary herons"}, "warning"),
        ("signing-key", {"JWT_SECRET": "3b1f3b19f1b93f3b91f1b93b1f3b19f1"}, "warning"),
    ],
)
def test_a_setting_is_judged_by_what_it_does_where_it_is(
    tmp_path: Path, check: str, variables: dict[str, str], expected: str
) -> None:
    assert judged(check, tmp_path, **variables) == expected


@pytest.mark.parametrize(
    "variables",
    [
        {"PORTCULLIS_SERVER__TRUSTED_PROXIES": "0.0.0.0/0"},
        {"JWT_SECRET": "too short"},
        {"JWT_SECRET": "change-me-change-me-change-me-change-me"},
    ],
)
def test_settings_with_which_nothing_would_start_are_told_by_name(
    look: Look, variables: dict[str, str]
) -> None:
    (finding,) = look(**variables).values()

    assert state(finding) == "fault"
    assert finding.message.startswith(("server.trusted_proxies must", "auth.jwt_secret must"))
    assert variables.get("JWT_SECRET", "nothing") not in finding.message


@pytest.mark.parametrize(("mode", "expected"), [(0o600, "ok"), (0o640, "fault"), (0o644, "fault")])
def test_a_private_key_is_for_its_owner_alone(tmp_path: Path, mode: int, expected: str) -> None:
    files = {"private": private_pem(key(KIND_OF["ES256"])), "public": public_pem(key(KIND_OF["ES256"]))}
    variables = {"PORTCULLIS_AUTH__JWT_ALGORITHM": "ES256"}
    for name, pem in files.items():
        (tmp_path / name).write_bytes(pem)
        variables[f"PORTCULLIS_AUTH__JWT_{name.upper()}_KEY"] = str(tmp_path / name)
    (tmp_path / "private").chmod(mode)

    assert judged("signing-key", tmp_path, **variables) == expected


def test_keys_that_do_not_fit_the_algorithm_are_a_fault(look_at: LookAt, tmp_path: Path) -> None:
    (tmp_path / "private").write_bytes(private_pem(key(KIND_OF["ES256"])))
    (tmp_path / "private").chmod(0o600)
    (tmp_path / "public").write_bytes(public_pem(key(KIND_OF["ES256"])))

    finding = look_at(
        "signing-key",
        PORTCULLIS_AUTH__JWT_ALGORITHM="EdDSA",
        PORTCULLIS_AUTH__JWT_PRIVATE_KEY=str(tmp_path / "private"),
        PORTCULLIS_AUTH__JWT_PUBLIC_KEY=str(tmp_path / "public"),
    )

    assert (state(finding), finding.message) == ("fault", "must be an Ed25519 key for EdDSA")


@with_each(
    ("text", "mode", "expected"),
    [
        ("[auth]\njwt_secret = '{}'\n", 0o600, "ok"),
        ("[auth]\njwt_secret = '{}'\n", 0o640, "warning"),
        ("[auth]\njwt_secret = '{}'\n", 0o644, "fault"),
        ("[auth]\njwt_secret = '${{JWT_SECRET}}'\n", 0o644, "ok"),
        ("[auth]\nmax_devices = 3\n", 0o644, "ok"),
        ("[auth]\nmax_devices = 3\n", 0o664, "fault"),
    ],
)
def test_a_configuration_file_is_judged_by_its_secrets_and_its_mode(
    tmp_path: Path, text: str, mode: int, expected: str
) -> None:
    secret = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"
    path = tmp_path / "portcullis.toml"
    path.write_text(text.format(secret))
    path.chmod(mode)

    variables = {"PORTCULLIS_CONFIG": str(path), "JWT_SECRET": secret}
    assert judged("configuration-file", tmp_path, **variables) == expected


@with_each(("mode", "expected"), [(0o400, "ok"), (0o440, "ok"), (0o444, "warning"), (0o660, "fault")])
def test_a_file_with_a_secret_is_judged_by_who_may_read_and_write_it(
    tmp_path: Path, mode: int, expected: str
) -> None:
    assert judged("secret-files", tmp_path) == "ok"
    path = tmp_path / "redis-url"
    path.write_text("redis://sessions/0")
    path.chmod(mode)

    assert (
        judged(
            "secret-files",
            tmp_path,
            REDIS_URL_FILE=str(path),
            JWT_SECRET="kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR",
        )
        == expected
    )


@pytest.mark.parametrize(
    ("mode", "expected"), [(0o700, "ok"), (0o755, "warning"), (0o770, "fault"), (0o707, "fault")]
)
def test_the_data_directory_is_for_its_owner_alone(tmp_path: Path, mode: int, expected: str) -> None:
    assert judged("data-directory", tmp_path) == "ok"
    assert not (tmp_path / "data").exists()
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(mode)

    assert judged("data-directory", tmp_path) == expected


def test_a_local_secret_that_others_can_read_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "jwt_secret").write_text("x" * 64)
    (tmp_path / "jwt_secret").chmod(0o644)

    findings = dict(diagnose({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__DATA": str(tmp_path)}))

    assert state(findings["signing-key"]) == "fault"
    assert "is open to other users" in findings["signing-key"].message


@with_each(("hours", "expected"), [(1, "ok"), (169, "ok"), (24 * 30, "warning"), (-1, "warning")])
def test_a_previous_key_is_accepted_as_long_as_its_tokens_live(
    tmp_path: Path, hours: int, expected: str
) -> None:
    until = datetime.now(UTC) + timedelta(hours=hours)
    given = {
        "PORTCULLIS_AUTH__JWT_PREVIOUS_SECRET": secrets.token_urlsafe(64),
        "PORTCULLIS_AUTH__JWT_PREVIOUS_UNTIL": until.isoformat(),
    }
    assert judged("previous-key", tmp_path, **given) == expected
    assert judged("previous-key", tmp_path) == "ok"
    local_secret(tmp_path / "data", 64)
    rotate_local_secret(tmp_path / "data", until)
    assert judged("previous-key", tmp_path, JWT_SECRET="") == expected
    (tmp_path / "data" / "jwt_previous_secret").chmod(0o644)
    assert judged("previous-key", tmp_path, JWT_SECRET="") == "fault"


def test_a_first_password_does_no_harm_before_the_first_start(
    look_at: LookAt, empty_database_url: str
) -> None:
    variables = {"DATABASE_URL": empty_database_url, "PORTCULLIS_ADMIN_PASSWORD": "five wary herons"}

    assert state(look_at("first-password", **variables)) == "ok"


def test_an_object_store_that_does_not_answer_is_a_fault(look_at: LookAt) -> None:
    finding = look_at(
        "object-store",
        OBJSTORE_ENDPOINT="http://127.0.0.1:1",
        OBJSTORE_BUCKET="files",
        OBJSTORE_ACCESS_KEY="someone",
        OBJSTORE_SECRET_KEY="not to be shown",
    )

    assert state(finding) == "fault"
    assert finding.message == "bucket files at http://127.0.0.1:1 does not respond"


def test_a_database_that_no_start_has_seen_is_a_fault(look: Look, empty_database_url: str) -> None:
    findings = look(DATABASE_URL=empty_database_url)

    assert state(findings["schema"]) == "fault"
    assert findings["administrators"].message == "the database does not have this version's schema"


def test_a_schema_of_another_version_is_a_fault(look_at: LookAt, database_url: str) -> None:
    execute(database_url, "UPDATE sys.alembic_version SET version_num = 'v0001'")

    assert look_at("schema").message.startswith("v0001, but this version needs v")


def test_a_schema_of_a_newer_version_is_no_fault_where_this_one_is_new_enough(
    look: Look, database_url: str
) -> None:
    execute(database_url, "UPDATE sys.alembic_version SET version_num = 'v9999'")
    execute(database_url, "UPDATE sys.schema_support SET migrated_by = '0.9.0'")
    findings = look()
    assert findings["schema"].message == "v9999, of version 0.9.0; this version can work with it"
    assert findings["administrators"].state != "unknown"

    execute(database_url, "UPDATE sys.schema_support SET least_version = '0.8.0'")
    findings = look()
    assert state(findings["schema"]) == "fault"
    assert findings["schema"].message == f"v9999 needs version 0.8.0 or later; this is {__version__}"
