from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from service.authz.publishing.shipped import POLICIES, configured, read_shipped
from service.launch.known_routes import known_routes, routes_of_code
from service.settings import Policy
from service.web.requests.routes import RoutesError

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    "admin",
    "admin_list",
    "admin_reset",
    "audit",
    "doctor",
    *(f"policy.{name}" for name in ("diff", "explain", "export", "log", "matrix", "openings", "prove")),
    *(f"policy.{name}" for name in ("replay", "sync", "unlock", "what", "what_if", "who")),
    "resource.import_",
    "state.apply",
    "state.export",
    "state.plan",
)


def test_the_shipped_lines_tell_the_routes_of_the_code() -> None:
    by_lines = {one.object: set(one.access) for one in known_routes(Policy(), read_shipped())}
    by_code = {one.object: set(one.access) for one in routes_of_code(read_shipped())}
    assert by_lines == by_code


def test_lines_of_the_operator_are_compared_with_the_code(tmp_path: Path) -> None:
    for path in (ROOT / POLICIES).glob("*.csv"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    lines = tmp_path / "endpoints.csv"
    lines.write_text(lines.read_text("utf-8") + "p, endpoint, GET /api/gone, @login\n", "utf-8")
    settings = Policy(folder=tmp_path)
    with pytest.raises(RoutesError, match="GET /api/gone"):
        known_routes(settings, configured(settings))


def test_commands_import_neither_the_server_nor_what_migrates() -> None:
    program = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(f'service.launch.{name}')\n"
        "print(*{'alembic', 'uvicorn', 'service.app'}.intersection(sys.modules))"
    )
    command = [sys.executable, "-c", program, *COMMANDS]
    assert subprocess.check_output(command, cwd=ROOT, text=True).split() == []


def test_a_state_is_exported_without_what_serves_and_decides() -> None:
    program = (
        "import service.launch.state.export, sys\n"
        "print(*{'casbin', 'falcon', 'redis', 'sqlalchemy', 'sqlalchemy.orm'}.intersection(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True) == "sqlalchemy\n"
