"""What must not serve does not start: it says why in words, with exit status 1, and leaves nothing behind."""

import os
import re
import shutil
import signal
import socket
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from service.server.serve import Preparation, PreparationError
from service.settings import Database, Policy, Settings
from tests.service.conftest import variables_for
from tests.support.demand_rows import add_demands, set_demands
from tests.support.running import ROOT, lives, portcullis
from tests.support.waiting import eventually

MODEL = (ROOT / "model.conf").read_text()
NOWHERE = {"DATABASE_URL": "postgresql://nobody@localhost:1/x", "REDIS_URL": "redis://localhost:1/0"}


def refusal(folder: Path, *options: str, **variables: str) -> str:
    """Start the service, which must refuse; return what it says."""
    done = portcullis(folder, "serve", "--data", str(folder / "data"), *options, **variables)
    assert done.status == 1, done.errors
    assert done.output == ""
    assert "Traceback" not in done.errors
    assert done.errors.startswith("portcullis: ")
    return done.errors.removeprefix("portcullis: ")


def line_with(text: str, part: str) -> int:
    """Return the number, from 1, of the first line of ``text`` with ``part``."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_wrong_model_is_refused_with_its_line_and_the_reason(tmp_path: Path) -> None:
    assert MODEL.count("|| holdsSubtree(") == 1
    wrong = MODEL.replace("|| holdsSubtree(", "|| holdsTree(")
    (tmp_path / "wrong.conf").write_text(wrong)
    message = refusal(tmp_path, PORTCULLIS_POLICY__MODEL=str(tmp_path / "wrong.conf"))
    place = f"{tmp_path}/wrong.conf:{line_with(wrong, '|| holdsTree(')}: "
    reason = "the function 'holdsTree' is unknown"
    assert any(line.startswith(place) and reason in line for line in message.splitlines()), message
    assert not (tmp_path / "data").exists()


def test_lines_that_differ_from_the_routes_are_refused_each_by_its_route(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    lines = tmp_path / "policies" / "endpoints.csv"
    text = lines.read_text()
    missing = "p, endpoint, GET /api/role/list, system:role:list\n"
    opened = (
        "p, endpoint, DELETE /api/role/{id}, system:role:delete",
        "p, endpoint, DELETE /api/role/{id}, @login",
    )
    assert missing in text
    assert opened[0] in text
    lines.write_text(text.replace(missing, "").replace(*opened) + "p, endpoint, GET /api/nowhere, @anyone\n")
    add_demands(tmp_path / "policies", "endpoint GET /api/nowhere", "@anyone")
    message = refusal(tmp_path, PORTCULLIS_POLICY__FOLDER=str(tmp_path / "policies"))
    for route in ("GET /api/role/list", "DELETE /api/role/{id}", "GET /api/nowhere"):
        assert route in message


def test_an_endpoint_without_a_demand_is_refused_and_so_is_a_demand_that_nobody_could_meet(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "policies"
    shutil.copytree(ROOT / "policies", folder)
    set_demands(folder, "endpoint GET /api/role/list", "")
    set_demands(folder, "endpoint POST /api/auth/logout", "@two-factors @service", "base")
    set_demands(folder, "endpoint POST /api/auth/login", "@login", "base")
    add_demands(folder, "account delete others", "@login")
    message = refusal(tmp_path, PORTCULLIS_POLICY__FOLDER=str(folder))
    for fault in (
        "'endpoint GET /api/role/list' has no line",
        "'endpoint POST /api/auth/logout' must be open to @initial or @login",
        "'endpoint POST /api/auth/login' must only have the line for @anyone",
        "'p, assurance, account delete others, @login' has an object that does not exist here",
    ):
        assert f"{folder / 'assurance.table'}, column base: {fault}" in message


def test_a_line_that_can_not_be_read_is_refused_with_its_place(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    lines = tmp_path / "policies" / "base.csv"
    lines.write_text(lines.read_text() + "p, resource, @unregistered\n")
    place = f"{lines}:{lines.read_text().count(chr(10))}: "
    assert place in refusal(tmp_path, PORTCULLIS_POLICY__FOLDER=str(tmp_path / "policies"))


def test_all_wrong_settings_are_told_together_and_by_name(tmp_path: Path) -> None:
    (tmp_path / "portcullis.toml").write_text("[auth]\nmax_devices = 'many'\nconcurent_login = true\n")
    message = refusal(
        tmp_path,
        "--port",
        "99999",
        PORTCULLIS_PASSWORD__ARGON2_MEMORY="1",
        PORTCULLIS_LOG__FROMAT="json",
        DATABASE_URL="mysql://root:pa55word@localhost/x",
    )
    assert message.startswith("7 settings are wrong:\n")
    for name in (
        "auth.concurent_login",
        "auth.max_devices",
        "server.port",
        "password.argon2_memory",
        "PORTCULLIS_LOG__FROMAT",
        "database.url",
        "auth.jwt_secret",
    ):
        assert f"\n  {name}: " in message
    assert "not '99999' (from --port)" in message, "nobody has set the variable"
    assert "(from PORTCULLIS_PASSWORD__ARGON2_MEMORY)" in message
    assert "pa55word" not in message


@pytest.mark.parametrize(
    ("secret", "reason"),
    [
        ({}, "is missing"),
        ({"JWT_SECRET": "qK7-wZ2xPv9"}, "at least 32 bytes"),
    ],
    ids=["missing", "short"],
)
def test_external_stores_without_a_secret_of_their_own_are_refused(
    tmp_path: Path, secret: dict[str, str], reason: str
) -> None:
    message = refusal(tmp_path, **NOWHERE, **secret)
    assert "auth.jwt_secret: " in message
    assert reason in message
    assert not any(value in message for value in secret.values())


def test_a_database_that_is_out_of_reach_is_refused_in_one_sentence(tmp_path: Path) -> None:
    variables = variables_for(NOWHERE["DATABASE_URL"], NOWHERE["REDIS_URL"])
    message = refusal(tmp_path, "--port", "0", **variables)
    assert re.fullmatch(r"The database is unavailable: connection failed: .* Connection refused\n", message)


@pytest.mark.parametrize(
    ("variable", "url", "reason"),
    [
        ("REDIS_URL", "redis://:s3cret@localhost:1/0?unheard_of=1", "parameter unheard_of is unknown"),
        ("REDIS_URL", "redis+sentinel://:s3cret@s1,[::1]:1/name?db=x", "parameter db is unknown or has a wr"),
        ("DATABASE_REPLICA_URL", "postgresql://u:s3cret@localhost:1/x?unheard_of=1", "can't be read"),
    ],
)
def test_what_only_a_worker_would_find_is_refused_before_the_first_one(
    tmp_path: Path, variable: str, url: str, reason: str
) -> None:
    message = refusal(
        tmp_path, **variables_for(NOWHERE["DATABASE_URL"], NOWHERE["REDIS_URL"]) | {variable: url}
    )
    assert reason in message
    assert "s3cret" not in message


def test_a_data_directory_that_everybody_can_write_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o777)
    message = refusal(tmp_path, "--port", "0")
    assert message.startswith(f"The data directory {tmp_path}/data is writable by every user")
    assert list((tmp_path / "data").iterdir()) == []


def test_a_data_directory_that_can_not_even_be_looked_at_is_refused_in_words(tmp_path: Path) -> None:
    message = refusal(tmp_path, "--port", "0", "--data", str(tmp_path / ("x" * 300)))
    assert message.endswith("can't be used: File name too long\n")


def test_a_taken_port_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        message = refusal(tmp_path, "--port", port)
    assert (
        message
        == f"127.0.0.1 port {port} can't be listened on: Address already in use; --port names another\n"
    )
    assert not (tmp_path / "data").exists()


def test_a_first_password_keeps_the_rules_for_passwords_or_the_database_stays_new(
    tmp_path: Path, redis_url: str, empty_database_url: str
) -> None:
    variables = variables_for(empty_database_url, redis_url)
    for password, reason in (
        ("curt", "must have 8 to 128 characters"),
        ("password1", "is too easy to guess"),
        (
            "Administrator1",
            (
                "must not consist of your name, address or phone number, or words of this service or "
                "your organization"
            ),
        ),
    ):
        message = refusal(tmp_path, "--port", "0", PORTCULLIS_ADMIN_PASSWORD=password, **variables)
        assert message == f"PORTCULLIS_ADMIN_PASSWORD {reason}\n"
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("SELECT to_regnamespace('sys')").fetchone() == (None,)


def test_an_unknown_command_or_option_is_told(tmp_path: Path) -> None:
    assert portcullis(tmp_path, "sevre").status == 2
    assert portcullis(tmp_path, "serve", "--prot", "1").status == 2
    assert portcullis(tmp_path, "--version").output.startswith("portcullis ")


SETTINGS = Settings()


def process_of(preparation: Preparation) -> int:
    pid = preparation._process.pid
    assert pid is not None
    return pid


def test_a_preparation_that_is_killed_ends_the_start_in_words() -> None:
    with Preparation(SETTINGS) as preparation:
        os.kill(process_of(preparation), signal.SIGKILL)
        with pytest.raises(PreparationError, match="ended with status -9"):
            preparation.check()


def test_what_is_wrong_is_told_as_the_part_that_found_it_says_it(tmp_path: Path) -> None:
    (tmp_path / "model.conf").write_text("nothing")
    settings = replace(SETTINGS, policy=replace(Policy(), model=tmp_path / "model.conf"))
    with Preparation(settings) as preparation, pytest.raises(PreparationError, match=r"model\.conf"):
        preparation.check()


def test_a_store_that_is_out_of_reach_ends_the_start_after_the_checks_have_passed(tmp_path: Path) -> None:
    nowhere = replace(SETTINGS, database=replace(Database(), url=f"postgresql:///x?host={tmp_path}"))
    with Preparation(SETTINGS) as preparation:
        preparation.check()
        with pytest.raises(PreparationError, match="database"):
            preparation.prepare(nowhere, None)


def test_a_start_that_is_given_up_leaves_no_preparation() -> None:
    pids = []

    def give_up() -> None:
        with Preparation(SETTINGS) as preparation:
            pids.append(process_of(preparation))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        give_up()
    assert eventually(lambda: not lives(pids[0]))
