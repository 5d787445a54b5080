"""Linters of OpenAPI documents have nothing to say against the recommended rules."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.consumers.node_tools import NodeTools, installed
from tests.contract.document import current

pytestmark = pytest.mark.extended

ACCEPTED: dict[str, str] = {}
"""Rules that are broken, with the reason why that stays."""


@pytest.fixture(scope="module")
def node() -> NodeTools:
    return installed()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the document."""
    made = tmp_path_factory.mktemp("document")
    (made / "openapi.json").write_text(json.dumps(current()))
    return made


def spectral(node: NodeTools, folder: Path, name: str) -> list[Any]:
    (folder / "rules.yaml").write_text('extends: ["spectral:oas"]\n')
    options = ("--ruleset", "rules.yaml", "--format", "json", "--output", "found.json")
    ended = node.run("spectral", "lint", name, *options, cwd=folder)
    assert not ended.stderr
    problems: list[Any] = json.loads((folder / "found.json").read_text())
    return problems


def test_spectral_finds_nothing_that_is_not_listed(node: NodeTools, folder: Path) -> None:
    assert not [
        problem for problem in spectral(node, folder, "openapi.json") if problem["code"] not in ACCEPTED
    ]


def test_spectral_finds_faults(node: NodeTools, folder: Path) -> None:
    faulty = current()
    del faulty["info"]["contact"]
    (folder / "faulty.json").write_text(json.dumps(faulty))
    assert [problem["code"] for problem in spectral(node, folder, "faulty.json")] == ["info-contact"]


def redocly(node: NodeTools, folder: Path, name: str) -> list[Any]:
    ended = node.run("redocly", "lint", name, "--extends", "recommended", "--format", "json", cwd=folder)
    problems: list[Any] = json.loads(ended.stdout)["problems"]
    return problems


def test_redocly_finds_nothing_that_is_not_listed(node: NodeTools, folder: Path) -> None:
    assert not [
        problem for problem in redocly(node, folder, "openapi.json") if problem["ruleId"] not in ACCEPTED
    ]


def test_redocly_finds_faults(node: NodeTools, folder: Path) -> None:
    faulty = current()
    del faulty["info"]["license"]
    (folder / "faulty.json").write_text(json.dumps(faulty))
    assert [problem["ruleId"] for problem in redocly(node, folder, "faulty.json")] == ["info-license"]
