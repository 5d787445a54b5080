"""``portcullis keys rotate``: what it writes, what it says, and what the next start then accepts."""

import re
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.__main__ import main
from service.authn.tokens import Tokens
from service.errors import TokenInvalid
from service.operator.stores import with_secret
from service.settings import Auth, SettingsError, load, local_secret, table
from tests.authn.keys import KIND_OF, key, private_pem, public_pem, verify_access
from tests.authn.test_tokens import issue_access


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTCULLIS_CONFIG", "")
    for name in ("JWT_SECRET", "DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)


def next_start(data: Path, **variables: str) -> Auth:
    """Return the settings of a start over ``data``."""
    environ = {"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__DATA": str(data)}
    return with_secret(load(environ | variables)).auth


def passes(token: str, auth: Auth) -> bool:
    try:
        return verify_access(Tokens(auth), token).sub == "7"
    except TokenInvalid:
        return False


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_next_start_of_an_embedded_installation_has_a_new_key_and_accepts_the_old_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = local_secret(tmp_path, 64)
    token = issue_access(Tokens(next_start(tmp_path)))[0]

    assert main(["keys", "rotate", "--data", str(tmp_path)]) == 0

    auth = next_start(tmp_path)
    assert auth.jwt_previous_secret == old != auth.jwt_secret
    assert auth.jwt_previous_until is not None
    assert auth.jwt_previous_until > datetime.now(UTC) + timedelta(seconds=auth.refresh_timeout)
    assert passes(token, auth)
    assert names_in(tmp_path) == ["factor_key", "jwt_previous_secret", "jwt_secret"]
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    output = "".join(capsys.readouterr())
    assert old not in output
    assert auth.jwt_secret not in output
    assert "a new signing key was made by the operator" in output


def test_a_stolen_key_is_accepted_by_no_start_any_more(tmp_path: Path) -> None:
    local_secret(tmp_path, 64)
    assert main(["keys", "rotate", "--data", str(tmp_path)]) == 0
    token = issue_access(Tokens(next_start(tmp_path)))[0]

    assert main(["keys", "rotate", "--data", str(tmp_path), "--stolen"]) == 0

    assert next_start(tmp_path).jwt_previous_secret == ""
    assert not passes(token, next_start(tmp_path))
    assert names_in(tmp_path) == ["factor_key", "jwt_secret"]


def test_a_second_rotation_waits_for_the_end_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local_secret(tmp_path, 64)
    assert main(["keys", "rotate", "--data", str(tmp_path)]) == 0
    kept = {path: path.read_text() for path in tmp_path.iterdir()}

    assert main(["keys", "rotate", "--data", str(tmp_path)]) == 1
    assert "is accepted until" in capsys.readouterr().err
    assert {path: path.read_text() for path in tmp_path.iterdir()} == kept

    previous = tmp_path / "jwt_previous_secret"
    previous.write_text(f"{previous.read_text().splitlines()[0]}\n2026-01-01T00:00:00+00:00\n")
    assert main(["keys", "rotate", "--data", str(tmp_path)]) == 0


def test_without_a_key_there_is_nothing_to_rotate(tmp_path: Path) -> None:
    assert main(["keys", "rotate", "--data", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "damage", ["", "one line", "secret\nsoon\n", "secret\n2026-01-01T00:00:00\n", "a\nb\nc\n"]
)
def test_a_damaged_previous_secret_ends_a_start(tmp_path: Path, damage: str) -> None:
    local_secret(tmp_path, 64)
    (tmp_path / "jwt_previous_secret").write_text(damage)
    (tmp_path / "jwt_previous_secret").chmod(0o600)
    with pytest.raises(SettingsError, match="is damaged"):
        next_start(tmp_path)


def test_a_previous_secret_that_others_may_read_ends_a_start(tmp_path: Path) -> None:
    local_secret(tmp_path, 64)
    assert main(["keys", "rotate", "--data", str(tmp_path)]) == 0
    (tmp_path / "jwt_previous_secret").chmod(0o644)
    with pytest.raises(SettingsError, match="open to other users"):
        next_start(tmp_path)


def told_variables(output: str) -> dict[str, str]:
    """Return what a rotation says to set; each is a variable of the table of settings."""
    variables = dict(re.findall(r"^  ([A-Z_]+) +(\S.*)$", output, re.MULTILINE))
    assert set(variables) <= {variable for row in table() for variable in row.variables}
    return variables


@pytest.mark.parametrize("variable", ["JWT_SECRET", "PORTCULLIS_AUTH__JWT_SECRET", None])
def test_where_the_secret_is_set_a_new_one_is_written_and_the_next_start_takes_what_is_said(
    variable: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, file = secrets.token_urlsafe(64), tmp_path / "portcullis.toml"
    file.write_text(f'[auth]\njwt_secret = "{old}"\n' if variable is None else "")
    own = {"PORTCULLIS_CONFIG": str(file)} | ({} if variable is None else {variable: old})
    for name, value in own.items():
        monkeypatch.setenv(name, value)

    assert main(["keys", "rotate", "--data", str(tmp_path / "data")]) == 0

    output = "".join(capsys.readouterr())
    (path,) = (tmp_path / "data").iterdir()
    new = path.read_text().strip()
    assert mode(path) == 0o600
    assert old not in output
    assert new not in output
    variables = told_variables(output)
    assert variables[variable or "JWT_SECRET"] == f"the content of {path}"
    assert variables["PORTCULLIS_AUTH__JWT_PREVIOUS_SECRET"] == "the present auth.jwt_secret"
    variables |= {variable or "JWT_SECRET": new, "PORTCULLIS_AUTH__JWT_PREVIOUS_SECRET": old}
    token = issue_access(Tokens(Auth(jwt_secret=old)))[0]
    auth = next_start(tmp_path / "data", **(own | variables))
    assert auth.jwt_secret == new
    assert passes(token, auth)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "ES384", "EdDSA"])
def test_a_new_pair_of_keys_is_written_beside_the_present_one(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = key(KIND_OF[algorithm])
    (tmp_path / "old.pem").write_bytes(private_pem(old))
    (tmp_path / "old.pem").chmod(0o600)
    (tmp_path / "old.pub").write_bytes(public_pem(old))
    own = {
        "PORTCULLIS_AUTH__JWT_ALGORITHM": algorithm,
        "PORTCULLIS_AUTH__JWT_PRIVATE_KEY": str(tmp_path / "old.pem"),
        "PORTCULLIS_AUTH__JWT_PUBLIC_KEY": str(tmp_path / "old.pub"),
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    token = issue_access(Tokens(next_start(tmp_path, **own)))[0]

    assert main(["keys", "rotate", "--data", str(tmp_path / "data")]) == 0

    output = "".join(capsys.readouterr())
    assert "PRIVATE KEY-----" not in output
    variables = told_variables(output)
    assert mode(Path(variables["PORTCULLIS_AUTH__JWT_PRIVATE_KEY"])) == 0o600
    auth = next_start(tmp_path, **(own | variables))
    assert passes(token, auth)
    new = issue_access(Tokens(auth))[0]
    assert passes(new, auth)
    assert not passes(new, next_start(tmp_path, **own))


def test_a_local_key_of_second_factors_is_replaced_once_until_the_previous_one_is_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = next_start(tmp_path)
    assert main(["keys", "rotate", "--factors", "--data", str(tmp_path)]) == 0
    after = next_start(tmp_path)
    assert after.factor_previous_key == before.factor_key != after.factor_key
    assert after.jwt_secret == before.jwt_secret
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    output = "".join(capsys.readouterr())
    assert before.factor_key not in output
    assert after.factor_key not in output
    assert main(["keys", "rotate", "--factors", "--data", str(tmp_path)]) == 1
    (tmp_path / "factor_previous_key").unlink()
    assert main(["keys", "rotate", "--factors", "--data", str(tmp_path)]) == 0


def test_a_key_of_second_factors_that_is_set_is_replaced_by_one_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PORTCULLIS_AUTH__FACTOR_KEY", "k" * 40)
    assert main(["keys", "rotate", "--factors", "--data", str(tmp_path)]) == 0
    (path,) = tmp_path.iterdir()
    output = capsys.readouterr().out
    assert f"PORTCULLIS_AUTH__FACTOR_KEY           the content of {path}" in output
    assert "PORTCULLIS_AUTH__FACTOR_PREVIOUS_KEY  the present auth.factor_key" in output
    assert path.read_text().strip() not in output


def test_stolen_and_factors_are_two_things(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["keys", "rotate", "--factors", "--stolen", "--data", str(tmp_path)])
