"""What each part of the service imports, and what it leaves alone: told by one interpreter, step by step."""

import json
import os
import subprocess
import sys

import pytest

from service.files.connections import modules_of
from service.settings import Objstore
from tests.support.running import ROOT

_PROGRAM = """
import importlib, json, sys
from service.__main__ import main

def imported():
    return [name for name, module in sys.modules.items() if module is not None]

assert main(["settings"]) == 0  # sees to it that no terminal library is imported, as every command does
told = {}
for step, names in json.loads(sys.argv[1]).items():
    for name in names:
        importlib.import_module(name)
    told[step] = imported()
    if step == "commands":
        assert main(["policy", "check"]) == 0
        told["check"] = imported()
from service.app import describe_routes
describe_routes()  # it makes a container of its own
print(json.dumps(told | {"routes": imported()}))
"""
_COMMANDS = (
    "admin_create",
    "admin_list",
    "admin_reset",
    "database",
    "policy",
)
_STEPS = {
    "state": ["service.features.policy_history.commands_state_export"],
    "commands": [
        *(f"service.features.command_line.commands_{name}" for name in _COMMANDS),
        "service.features.audit_proof.commands",
        "service.features.explain.commands_explain",
        "service.features.explain.commands_who",
        "service.features.operations.commands_doctor",
        *(
            f"service.features.policy_history.commands_{name}"
            for name in ("diff", "log", "state_apply", "state_export", "state_plan")
        ),
        *(f"service.features.policy_tests.commands_{name}" for name in ("export", "prove", "replay")),
        "service.features.tables.commands",
    ],
    "worker": ["service.server.worker"],
    "all": ["service.cli.commands", "service.server.prepare"],
}

Imported = dict[str, set[str]]


@pytest.fixture(scope="module")
def imported() -> Imported:
    """The modules that are there after each step; the last one has described the routes."""
    command = [sys.executable, "-c", _PROGRAM, json.dumps(_STEPS)]
    environ = os.environ | {"PORTCULLIS_CONFIG": ""}
    output = subprocess.check_output(command, cwd=ROOT, env=environ, text=True)
    modules = json.loads(output.splitlines()[-1])
    return {step: set(names) for step, names in modules.items()}


def test_a_state_is_exported_without_what_serves_and_decides(imported: Imported) -> None:
    heavy = {"casbin", "falcon", "redis", "sqlalchemy", "sqlalchemy.orm"}
    assert imported["state"] & heavy == {"sqlalchemy"}


def test_commands_import_neither_the_server_nor_what_migrates(imported: Imported) -> None:
    assert imported["commands"] & {"alembic", "uvicorn", "service.app"} == set()


def test_a_check_of_the_policy_starts_no_server_and_loads_no_terminal_library(imported: Imported) -> None:
    assert {"casbin", "falcon"} <= imported["check"]
    assert imported["check"] & {"pygments", "rich", "uvicorn", "ua_parser_builtins"} == set()


def test_a_worker_does_not_import_the_orm(imported: Imported) -> None:
    assert imported["worker"] & {"sqlalchemy.engine", "sqlalchemy.orm"} == {"sqlalchemy.engine"}


def test_without_the_setting_no_module_of_opentelemetry_is_imported(imported: Imported) -> None:
    packages = {name.partition(".")[0] for name in imported["routes"]}
    assert "service" in packages
    assert packages & {"opentelemetry", "requests", "google"} == set()


def test_what_asks_a_bucket_is_imported_where_there_is_one(imported: Imported) -> None:
    assert "obstore" not in imported["routes"]
    assert modules_of(Objstore()) == []
    (client,) = modules_of(Objstore(bucket="files"))
    assert client.startswith("obstore")
