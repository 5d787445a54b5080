"""``portcullis state …`` from the command line, with its exit status and what it leaves in the logs."""

import errno
import json
import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from psycopg.rows import dict_row

from service.__main__ import main
from service.administration.unit_of_work import UnitsOfWork
from service.errors import Unavailable
from service.features.policy_history.commands_state_apply import Order, apply
from service.features.policy_history.commands_state_export import exported
from service.features.policy_history.state_reading import read_state
from service.kernel.coded_sentences import Sentence
from service.records.published.policy_revisions import LOCK as POLICY_LOCK
from service.records.role_rights import LOCK
from service.settings import load
from tests.service.conftest import variables_for
from tests.support.databases import NewDatabase

Command = Callable[..., tuple[int, str, str]]
"""Runs a command; returns its status, output and errors."""


@pytest.fixture
def variables(
    new_database: NewDatabase, published_template: str, redis_url: str, tmp_path: Path
) -> dict[str, str]:
    return {
        **variables_for(new_database(published_template), redis_url),
        "PORTCULLIS_SERVER__DATA": str(tmp_path / "data"),
    }


@pytest.fixture
def command(
    variables: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    monkeypatch.setenv("PORTCULLIS_CONFIG", "")
    monkeypatch.chdir(tmp_path)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["state", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def rows(variables: dict[str, str], statement: str) -> list[dict[str, Any]]:
    with psycopg.connect(variables["DATABASE_URL"], row_factory=dict_row) as connection:
        return connection.execute(statement.encode()).fetchall()


def edited(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = yaml.safe_load(file.read_text("utf-8"))
    change(content)
    file.write_text(yaml.safe_dump(content), "utf-8")


def test_a_file_is_exported_planned_and_applied(
    command: Command, variables: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "state.yaml"
    assert command("export", "state.yaml") == (0, "", "")
    assert command("export", "-")[1] == file.read_text("utf-8")
    unchanged = command("plan", "state.yaml")
    edited(file, lambda content: content["roles"].update(reporter={"name": "Reporter", "buttons": ["*"]}))
    planned, shown, marked = (
        command("plan", "state.yaml", *how) for how in ((), ("--json",), ("--markdown",))
    )
    stored = rows(variables, "SELECT count(*) AS number FROM sys.role")[0]["number"]
    applied = command("apply", "state.yaml")
    again, left = command("apply", "state.yaml"), command("plan", "state.yaml", "--prune")

    assert unchanged == (0, "The stored data matches the file.\nNo access is gained or lost.\n", "")
    assert planned[0] == shown[0] == marked[0] == 2
    new = "+ role reporter\n    name: Reporter\n    buttons: + *\n"
    assert planned[1].startswith(f"{new}1 to create, 0 to change, 0 to delete.\n")
    (edit,) = json.loads(shown[1])["edits"]
    assert (edit["action"], edit["kind"], edit["key"]) == ("create", "role", "reporter")
    assert edit["changes"] == [
        {"field": "name", "before": None, "after": "Reporter"},
        {"field": "buttons", "before": [], "after": ["*"]},
    ]
    assert "- create role `reporter`" in marked[1]
    assert stored == 4
    assert applied[:2] == (0, f"{new}1 created, 0 changed, 0 deleted.\nIn force: revision 1.\n")
    assert again[:2] == (0, "The stored data matches the file.\nIn force: revision 1.\n")
    assert left[0] == 0
    (entry,) = rows(variables, "SELECT * FROM sys.operation_log WHERE module = 'state'")
    assert (entry["action"], entry["method"], entry["status"], entry["user_id"]) == (
        "apply",
        "CLI",
        200,
        None,
    )
    assert entry["params"]["file"] == "state.yaml"
    assert entry["response"] == {"edits": ["create role reporter"]}
    assert entry["targets"] == ["role:reporter"]
    assert {"target": "role:reporter", "field": "roleName", "before": None, "after": "Reporter"} in entry[
        "changes"
    ]
    security = json.loads(applied[2].splitlines()[-1]) if applied[2].startswith("{") else applied[2]
    assert "a state file was applied" in str(security)


def test_an_export_that_fails_leaves_the_former_file_and_one_that_is_done_its_mode(
    command: Command, tmp_path: Path
) -> None:
    file, link = tmp_path / "state.yaml", tmp_path / "link.yaml"
    file.write_text("former")
    file.chmod(0o640)
    link.symlink_to(file)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))  # as on a full disk
    try:
        status, _, errors = command("export", "state.yaml")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (status, errors) == (1, "portcullis: state.yaml: File too large\n")
    assert (file.read_text(), sorted(tmp_path.glob(".*"))) == ("former", [])

    assert command("export", "link.yaml") == (0, "", "")
    assert link.is_symlink()
    assert yaml.safe_load(file.read_text("utf-8"))["roles"]
    assert file.stat().st_mode & 0o777 == 0o640
    assert "portcullis: nowhere/state.yaml: No such file" in command("export", "nowhere/state.yaml")[2]
    assert command("export", "/dev/null")[0] == 0


def test_an_export_to_a_file_that_can_not_be_replaced_is_written_in_place(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    file = tmp_path / "state.yaml"
    file.write_text("former")
    monkeypatch.setattr(Path, "replace", busy)  # as a mount by itself does
    assert command("export", "state.yaml") == (0, "", "")
    assert yaml.safe_load(file.read_text("utf-8"))["roles"]
    assert sorted(tmp_path.glob(".*")) == []


def test_what_was_saved_without_an_answer_is_an_entry_to_be_written(
    command: Command, variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("export", "state.yaml")
    edited(tmp_path / "state.yaml", lambda content: content["roles"].update(reporter={"name": "Reporter"}))

    async def commit_without_answer(*_given: object) -> None:
        raise Unavailable(Sentence("The database does not answer"))

    with monkeypatch.context() as patch:
        patch.setattr(UnitsOfWork, "_finish", commit_without_answer)
        assert command("apply", "state.yaml")[0] == 1
    assert len(rows(variables, "SELECT id FROM sys.role")) == 5
    (intent,) = rows(variables, "SELECT event_id, entry::json AS entry FROM sys.operation_intent")
    entry = intent["entry"]
    assert (entry["action"], entry["status"], entry["targets"]) == ("apply", 499, ["role:reporter"])

    edited(tmp_path / "state.yaml", lambda content: content["roles"].update(other={"name": "Other"}))
    assert command("apply", "state.yaml")[0] == 0
    assert rows(variables, "SELECT event_id FROM sys.operation_intent") == [{"event_id": intent["event_id"]}]


def test_what_a_user_lacks_is_refused_in_words_and_recorded(
    command: Command, variables: dict[str, str], tmp_path: Path
) -> None:
    rows(
        variables,
        "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
        " VALUES ('wanda', 'wanda', 'Wanda', '-'), ('otto', 'otto', 'Otto', '-') RETURNING id",
    )
    rows(
        variables,
        "INSERT INTO sys.user_role SELECT u.id, r.id FROM sys.user u, sys.role r"
        " WHERE u.user_name = 'wanda' AND r.role_code = 'admin' RETURNING role_id",
    )
    command("export", "state.yaml")
    edited(
        tmp_path / "state.yaml",
        lambda content: content["roles"].update(reporter={"name": "Reporter", "buttons": ["*"]}),
    )

    as_wanda, as_otto, as_nobody = (
        command("apply", "state.yaml", "--as", name) for name in ("wanda", "otto", "nobody")
    )

    assert [outcome[0] for outcome in (as_wanda, as_otto, as_nobody)] == [1, 1, 1]
    assert "portcullis: role reporter: The Buttons include permissions that you do not hold" in as_wanda[2]
    assert "required: *" in as_wanda[2]
    assert "It includes POST /api/role, which you are not allowed to send" in as_otto[2]
    assert "There is no user nobody" in as_nobody[2]
    assert len(rows(variables, "SELECT id FROM sys.role")) == 4
    entries = rows(variables, "SELECT * FROM sys.operation_log WHERE module = 'state' ORDER BY create_time")
    assert [
        (entry["user_name"], entry["status"], entry["error"], entry["decision"]) for entry in entries
    ] == [
        ("wanda", 403, "permission_denied", "deny"),
        ("otto", 403, "permission_denied", "deny"),
    ]


def test_a_file_with_faults_touches_no_store(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state.yaml").write_text("format: 1\nmenus: {}\nbuttons: {}\nresources: {}\nroles: []\n")
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")

    for name in ("plan", "apply"):
        assert command(name, "state.yaml") == (
            1,
            "",
            "portcullis: state.yaml:5: roles: is required, and must be a mapping; write {} if it is empty\n",
        )


def test_objects_are_deleted_only_when_that_is_asked_for(
    command: Command, variables: dict[str, str], tmp_path: Path
) -> None:
    command("export", "state.yaml")
    edited(tmp_path / "state.yaml", lambda content: content["resources"].pop("GET /api/user/list"))

    planned, pruning = command("plan", "state.yaml"), command("plan", "state.yaml", "--prune")
    kept = command("apply", "state.yaml")
    number = len(rows(variables, "SELECT id FROM sys.resource"))
    pruned = command("apply", "state.yaml", "--prune", "--json")

    assert (planned[0], pruning[0]) == (0, 2)
    assert "? resource GET /api/user/list is not in the file, and stays: --prune deletes it" in planned[1]
    assert "- resource GET /api/user/list" in pruning[1]
    assert kept[0] == pruned[0] == 0
    assert number == 15
    assert len(rows(variables, "SELECT id FROM sys.resource")) == 14
    assert json.loads(pruned[1])["policyRevision"] == 2
    (revision,) = rows(variables, "SELECT * FROM sys.policy_revision WHERE revision = 2")
    assert revision["cause"].startswith("state file state.yaml applied by ")
    assert revision["user_name"] is None


def test_a_plan_waits_for_no_change_and_no_change_waits_for_it(
    command: Command, variables: dict[str, str], tmp_path: Path
) -> None:
    command("export", "state.yaml")
    edited(tmp_path / "state.yaml", lambda content: content["roles"].pop("user"))
    with psycopg.connect(variables["DATABASE_URL"]) as changing:
        changing.execute("SELECT pg_advisory_xact_lock(%s), pg_advisory_xact_lock(%s)", [POLICY_LOCK, LOCK])
        changing.execute("LOCK sys.role, sys.menu, sys.resource, sys.role_menu IN EXCLUSIVE MODE")

        assert command("plan", "state.yaml", "--prune")[0] == 2


def test_of_processes_that_apply_at_once_one_does_the_work_and_the_others_find_it_done(
    variables: dict[str, str], tmp_path: Path
) -> None:
    settings = load({"PORTCULLIS_CONFIG": "", **variables})
    file = tmp_path / "state.yaml"
    file.write_text(exported(settings), "utf-8")
    content = yaml.safe_load(file.read_text("utf-8"))
    content["roles"]["made"] = {"name": "Made", "buttons": ["system:user:list"]}
    content["resources"]["GET /api/made"] = {"code": "made", "name": "Made", "buttons": ["system:user:list"]}
    file.write_text(yaml.safe_dump(content), "utf-8")
    order = Order(file, "", read_state(file), prune=True, user="admin")

    with ThreadPoolExecutor(4) as processes:
        done = list(processes.map(lambda _: apply(settings, order), range(4)))

    assert sorted(len(applied.edits.edits) for applied in done) == [0, 0, 0, 2]
    assert {applied.revision for applied in done} == {2}
    assert len(rows(variables, "SELECT id FROM sys.role WHERE role_code = 'made'")) == 1


def test_the_quota_for_new_codes_holds_for_users_and_not_for_the_operator(
    command: Command, variables: dict[str, str], tmp_path: Path
) -> None:
    command("export", "state.yaml")
    edited(tmp_path / "state.yaml", lambda content: content["buttons"].update({"x:y": {"title": "X"}}))
    rows(
        variables,
        "INSERT INTO sys.retired_bit (position, revision, user_id, free_time)"
        " SELECT 1000 + n, 1, 1, now() + interval '1 hour' FROM generate_series(1, 2000) n RETURNING 1",
    )

    as_admin, as_operator = command("apply", "state.yaml", "--as", "admin"), command("apply", "state.yaml")

    assert as_admin[0] == 1
    assert "portcullis: button x:y: Too many permission codes were changed lately" in as_admin[2]
    assert as_operator[0] == 0
    assert len(rows(variables, "SELECT id FROM sys.menu WHERE auth_mark = 'x:y'")) == 1


def test_nothing_is_applied_for_a_user_who_is_disabled(
    command: Command, variables: dict[str, str], tmp_path: Path
) -> None:
    command("export", "state.yaml")
    edited(tmp_path / "state.yaml", lambda content: content["roles"].update(made={"name": "Made"}))
    rows(variables, "UPDATE sys.user SET status = 'disabled' WHERE user_name = 'admin' RETURNING id")

    assert command("apply", "state.yaml", "--as", "admin") == (
        1,
        "",
        "portcullis: The user admin is disabled or banned\n",
    )
    assert len(rows(variables, "SELECT id FROM sys.role")) == 4
