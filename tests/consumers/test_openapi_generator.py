"""Clients that openapi-generator makes by its default options compile, and call the running service."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.consumers import python_scenarios
from tests.consumers.node_tools import NodeTools, installed
from tests.consumers.python_scenarios import SCENARIOS, type_errors
from tests.support.running import Running

pytestmark = pytest.mark.extended

PACKAGE = "openapi_generator_client"
ACCEPTED = {
    # Parameters of these names, for which it tries and drops types; no client has one of these models.
    "Error (model name matches existing language type)",
    "From (reserved word)",
    "With (reserved word)",
    "Object (model name matches existing language type)",
}
"""Names that the generator changes."""


def generate(service: Running, target: str, folder: Path, *options: str) -> set[str]:
    """Generate a client, and return the names that were changed as the generator or the language has them."""
    source = ("-i", f"{service.url}/docs/openapi.json", "-g", target, "-o", str(folder), *options)
    command = [str(Path(sys.executable).with_name("openapi-generator-cli")), "generate", *source]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    output = ended.stdout + ended.stderr
    assert " ERROR " not in output
    return set(re.findall(r" - (.+?) cannot be used as a? ?model name", output))


@pytest.fixture(scope="module")
def python(service: Running, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """The folder of a client in Python, and the names that were changed."""
    folder = tmp_path_factory.mktemp("python")
    return folder, generate(service, "python", folder, "--package-name", PACKAGE)


@pytest.fixture(scope="module")
def node() -> NodeTools:
    return installed()


@pytest.fixture(scope="module")
def typescript(service: Running, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """The folder of a project with a client in TypeScript, and the names that were changed."""
    folder = tmp_path_factory.mktemp("typescript")
    return folder, generate(service, "typescript-fetch", folder / "client")


def compiled(node: NodeTools, folder: Path, scenario: str) -> str:
    """Return what the compiler says of the whole client and of the text ``scenario``."""
    (folder / "scenario.ts").write_text(scenario)
    options = ("--strict", "--target", "es2022", "--module", "commonjs", "--outDir", "made")
    return node.run("tsc", *options, "scenario.ts", cwd=folder).stdout


def test_no_schema_has_a_name_that_clients_or_their_languages_have(
    python: tuple[Path, set[str]], typescript: tuple[Path, set[str]]
) -> None:
    assert python[1] | typescript[1] <= ACCEPTED


def test_all_modules_of_the_client_in_python_are_imported(python: tuple[Path, set[str]]) -> None:
    modules = sorted(path.stem for path in (python[0] / PACKAGE / "models").glob("*.py"))
    text = "\n".join(f"import {PACKAGE}.models.{module}" for module in modules if module != "__init__")
    (python[0] / "everything.py").write_text(f"import {PACKAGE}\n{text}\n")
    command = [sys.executable, "everything.py"]
    ended = subprocess.run(command, cwd=python[0], capture_output=True, text=True, check=False)
    assert (ended.returncode, len(modules) > 200) == (0, True), ended.stderr


def test_a_scenario_in_python_is_typed_and_runs(service: Running, python: tuple[Path, set[str]]) -> None:
    scenario = (SCENARIOS / "openapi_generator.py").read_text()
    assert type_errors(scenario, python[0]) == ""
    ended = python_scenarios.run(service, python[0])
    assert ended.returncode == 0, ended.stderr


def test_a_misspelt_member_is_no_sound_python(python: tuple[Path, set[str]]) -> None:
    scenario = (SCENARIOS / "openapi_generator.py").read_text()
    assert 'has no attribute "number"' in type_errors(
        scenario.replace("made.data.id", "made.data.number"), python[0]
    )


def test_a_scenario_in_typescript_compiles_and_runs(
    service: Running, typescript: tuple[Path, set[str]], node: NodeTools
) -> None:
    folder = typescript[0]
    assert compiled(node, folder, (SCENARIOS / "typescript_fetch.ts").read_text()) == ""
    call = 'require("./made/scenario.js").scenario(...process.argv.slice(2))'
    (folder / "run.cjs").write_text(call)
    command = ["node", "run.cjs", *python_scenarios.arguments(service)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_a_misspelt_member_does_not_compile(typescript: tuple[Path, set[str]], node: NodeTools) -> None:
    scenario = (SCENARIOS / "typescript_fetch.ts").read_text().replace("made.data.id", "made.data.number")
    assert "Property 'number' does not exist" in compiled(node, typescript[0], scenario)
