"""Secrets in files that variables name, as container platforms mount them."""

from pathlib import Path

import pytest

from service.settings import FIRST_PASSWORD, SettingsError, first_password, load, table
from tests.support.cases import with_each

SECRET = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"
VALUES = {
    "database.url": "postgresql://portcullis:pä55@db/portcullis",
    "database.direct_url": "postgresql://db:5433/portcullis",
    "database.replica_url": "postgresql://standby/portcullis",
    "redis.url": "redis://:pass@sessions/0",
    "server.metrics_token": SECRET,
    "auth.jwt_secret": SECRET,
    "oplog.chain_key": SECRET,
    "export.destinations": '{"siem": {\n"url": "https://siem.example.com/in", "secret": "'
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr"}}',
}
SECRETS = [row for row in table() if row.secret]
IN_FILES = [(row.title, name) for row in SECRETS for name in row.files]


def fault(environ: dict[str, str]) -> str:
    with pytest.raises(SettingsError) as raised:
        load({"PORTCULLIS_CONFIG": "", **environ})
    faults = {name: message for name, message in raised.value.faults if "missing" not in message}
    assert SECRET not in str(raised.value)
    return faults["auth.jwt_secret"]


def written(folder: Path, content: str | bytes) -> str:
    path = folder / "secret"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_each_secret_can_be_in_a_file_and_no_other_setting() -> None:
    without = {row.title for row in SECRETS if not row.files}
    assert without == {"tracing.headers"}  # its file has a setting of its own, tracing.headers_file
    assert [row.title for row in table() if row.files and not row.secret] == []
    assert not {name for _, name in IN_FILES} & {name for row in table() for name in row.variables}


@with_each(("title", "variable"), [case for case in IN_FILES if case[0] in VALUES])
def test_a_file_gives_the_same_as_the_variable(tmp_path: Path, title: str, variable: str) -> None:
    given = VALUES[title]
    others = {} if title == "auth.jwt_secret" else {"JWT_SECRET": SECRET}
    expected = load({"PORTCULLIS_CONFIG": "", **others, variable.removesuffix("_FILE"): given})
    assert load({"PORTCULLIS_CONFIG": "", **others, variable: written(tmp_path, given)}) == expected


@with_each("end", ["\n", "\r\n", "\n\n", ""])
def test_line_breaks_at_the_end_do_not_count(tmp_path: Path, end: str) -> None:
    path = written(tmp_path, SECRET + end)
    assert load({"PORTCULLIS_CONFIG": "", "JWT_SECRET_FILE": path}).auth.jwt_secret == SECRET


def test_a_file_beats_the_configuration_file(tmp_path: Path) -> None:
    config = tmp_path / "portcullis.toml"
    config.write_text(f"[auth]\njwt_secret = '{SECRET[::-1]}'\n")
    settings = load({"JWT_SECRET_FILE": written(tmp_path, SECRET)}, file=config)
    assert settings.auth.jwt_secret == SECRET


def test_a_link_and_a_mode_for_everybody_are_accepted_as_platforms_mount_secrets(tmp_path: Path) -> None:
    path = Path(written(tmp_path, SECRET))
    path.chmod(0o444)
    (tmp_path / "link").symlink_to(path)
    settings = load({"PORTCULLIS_CONFIG": "", "JWT_SECRET_FILE": str(tmp_path / "link")})
    assert settings.auth.jwt_secret == SECRET


@with_each(
    ("content", "complaint"),
    [
        ("", "is empty"),
        ("\n", "is empty"),
        (b"\xff" * 40, "is not UTF-8"),
        ("x" * 65_537, "is longer than 65536 bytes"),
    ],
)
def test_a_file_without_a_usable_text_is_a_fault(
    tmp_path: Path, content: str | bytes, complaint: str
) -> None:
    path = written(tmp_path, content)
    assert fault({"JWT_SECRET_FILE": path}) == f"{path} {complaint} (from JWT_SECRET_FILE)"


def test_a_file_that_is_not_there_or_is_a_folder_is_a_fault(tmp_path: Path) -> None:
    message = fault({"JWT_SECRET_FILE": str(tmp_path / "none")})
    assert message == f"{tmp_path}/none can't be opened: No such file or directory (from JWT_SECRET_FILE)"
    assert "is not a regular file" in fault({"JWT_SECRET_FILE": str(tmp_path)})


def test_a_variable_that_names_no_file_is_a_fault() -> None:
    assert fault({"JWT_SECRET_FILE": ""}) == "must be in a file: JWT_SECRET_FILE is set to nothing"


@pytest.mark.parametrize("other", ["JWT_SECRET", "PORTCULLIS_AUTH__JWT_SECRET"])
def test_a_value_and_a_file_together_are_a_fault_even_if_they_agree(tmp_path: Path, other: str) -> None:
    message = fault({other: SECRET, "JWT_SECRET_FILE": written(tmp_path, SECRET)})
    assert message == f"is given twice, by {other} and JWT_SECRET_FILE: remove either"


def test_two_files_are_a_fault_unless_they_are_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, SECRET)
    both = {"JWT_SECRET_FILE": path, "PORTCULLIS_AUTH__JWT_SECRET_FILE": path}
    assert load({"PORTCULLIS_CONFIG": "", **both}).auth.jwt_secret == SECRET
    both["JWT_SECRET_FILE"] = f"{path}2"
    assert "is given twice, and differently" in fault(both)


def test_the_value_of_a_file_is_checked_like_that_of_a_variable(tmp_path: Path) -> None:
    assert "line breaks" in fault({"JWT_SECRET_FILE": written(tmp_path, f"{SECRET}\n{SECRET}")})
    assert "at least 32 bytes" in fault({"JWT_SECRET_FILE": written(tmp_path, "short")})


def test_the_first_password_can_be_in_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, "correct horse\n")
    assert first_password({}) is None
    assert first_password({FIRST_PASSWORD: ""}) is None
    assert first_password({FIRST_PASSWORD: "battery"}) == "battery"
    assert first_password({f"{FIRST_PASSWORD}_FILE": path}) == "correct horse"
    load({"PORTCULLIS_CONFIG": "", f"{FIRST_PASSWORD}_FILE": path})
    with pytest.raises(SettingsError, match="is given twice"):
        first_password({FIRST_PASSWORD: "battery", f"{FIRST_PASSWORD}_FILE": path})
    with pytest.raises(SettingsError, match="can't be opened"):
        first_password({f"{FIRST_PASSWORD}_FILE": f"{path}2"})


@pytest.mark.parametrize("end", ["", "\r\n"])
def test_a_byte_order_mark_is_no_part_of_a_secret(tmp_path: Path, end: str) -> None:
    path = written(tmp_path, f"\ufeff{SECRET}{end}")
    assert load({"PORTCULLIS_CONFIG": "", "JWT_SECRET_FILE": path}).auth.jwt_secret == SECRET


def test_a_file_of_settings_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "portcullis.toml"
    path.write_bytes(f'\ufeff[auth]\r\njwt_secret = "{SECRET}"\r\n'.encode())
    assert load({"PORTCULLIS_CONFIG": str(path)}).auth.jwt_secret == SECRET
