"""What the doctor says of roles, menus, resources and bindings that are not those of a reviewed file."""

from __future__ import annotations

from pathlib import Path

from service.cli.doctor import diagnose
from service.cli.state_export import exported
from service.diagnosis.findings import Finding
from service.settings import load
from tests.doctor.conftest import execute, variables_of


def test_what_is_not_as_in_a_given_file_is_named(database_url: str, redis_url: str, tmp_path: Path) -> None:
    variables = variables_of(database_url, redis_url, tmp_path / "data")
    file = tmp_path / "state.yaml"
    file.write_text(exported(load(variables)), "utf-8")

    def diagnosed() -> Finding:
        return dict(diagnose(variables, file))["state-file"]

    same = diagnosed()
    execute(database_url, "UPDATE sys.role SET description = 'x' WHERE role_code = 'user'")
    execute(database_url, "INSERT INTO sys.menu (menu_type, title, auth_mark) VALUES ('Button', 'B', 'x:y')")
    execute(
        database_url,
        "DELETE FROM sys.role_menu WHERE role_id = (SELECT id FROM sys.role WHERE role_code = 'auditor')",
    )
    drifted = diagnosed()
    file.write_text("format: 1\n", "utf-8")
    faulty = diagnosed()

    assert (same.state, same.message) == (
        "ok",
        "roles, menus, resources and bindings are those of state.yaml",
    )
    named = "button x:y (not in the file), role auditor (changed), role user (changed)"
    assert (drifted.state, drifted.message) == ("warning", f"3 objects not as in state.yaml: {named}")
    assert faulty.state == "fault"
    assert f"{file}:1: menus: must be there" in faulty.message
    assert "state-file" not in dict(diagnose(variables))
