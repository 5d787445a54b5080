"""A TypeScript client, with generated types and default options, calls the running service."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.consumers.node_tools import SOURCES, NodeTools, installed
from tests.support.running import Running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

pytestmark = pytest.mark.extended

_RUN = """
import { scenario } from "./scenario.js";
await scenario(...process.argv.slice(2));
"""


@pytest.fixture(scope="module")
def node() -> NodeTools:
    return installed()


@pytest.fixture
def project(node: NodeTools, tmp_path: Path) -> Path:
    """A project as ``tsc --init`` makes it, with the packages."""
    (tmp_path / "node_modules").symlink_to(node.modules)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    made = node.run("tsc", "--init", cwd=tmp_path)
    assert made.returncode == 0, made.stdout
    return tmp_path


def test_a_scenario_compiles_with_the_generated_types_and_runs(
    service: Running, node: NodeTools, project: Path
) -> None:
    generated = node.run(
        "openapi-typescript", f"{service.url}/docs/openapi.json", "--output", "api.d.ts", cwd=project
    )
    assert generated.returncode == 0, generated.stderr
    output = generated.stdout + generated.stderr
    assert not [line for line in output.splitlines() if "⚠" in line or "warn" in line.lower()]

    shutil.copy2(SOURCES / "scenario.ts", project)
    compiled = node.run("tsc", cwd=project)
    assert compiled.returncode == 0, compiled.stdout

    (project / "run.js").write_text(_RUN)
    command = ["node", "run.js", service.url, ADMINISTRATOR, ADMINISTRATOR_PASSWORD]
    ended = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_a_misspelt_member_does_not_compile(service: Running, node: NodeTools, project: Path) -> None:
    node.run("openapi-typescript", f"{service.url}/docs/openapi.json", "--output", "api.d.ts", cwd=project)
    text = (SOURCES / "scenario.ts").read_text()
    (project / "scenario.ts").write_text(text.replace("denied.error.layer", "denied.error.level"))
    compiled = node.run("tsc", cwd=project)
    assert compiled.returncode != 0
    assert "Property 'level' does not exist" in compiled.stdout
