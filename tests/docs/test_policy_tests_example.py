"""The test project of docs/examples/policy-tests, copied and run as its readers would."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "policy-tests"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__")))


def run(project: Path) -> tuple[int, str]:
    ours = ("PYTEST_", "PORTCULLIS_")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=project,
        # Readers need not have the plugins that are installed here.
        env=environ
        | {"PYTHONPATH": str(ROOT), "PORTCULLIS_CONFIG": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_the_example_passes(project: Path) -> None:
    status, output = run(project)

    assert status == 0, output
    assert "10 passed" in output


def test_a_case_that_fails_is_told_by_file_line_and_reason(project: Path) -> None:
    cases = project / "cases" / "reports.yaml"
    cases.write_text(cases.read_text().replace('"report:*"', "report:detail"))

    status, output = run(project)

    assert status == 1
    assert "1 failed, 9 passed" in output
    where = r"reports\.yaml:\d+: case 3, accountant asks GET /api/report/payroll in the layer resource"
    assert re.search(rf"{where}, plain: outcome is deny, not allow", output)
