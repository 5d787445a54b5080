"""The house stands as its plan says: imports point down, and no file outgrows a reader."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.running import ROOT

LONGEST = 220  # lines
SERVICE = ROOT / "service"


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Hold the contracts of pyproject.toml against the package ``service`` in ``folder``."""
    program = Path(sys.executable).with_name("lint-imports")
    options = ["--no-logo", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [str(program), *options], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_imports_point_down() -> None:
    linted = lint_imports(ROOT)
    assert linted.returncode == 0, linted.stdout


def test_an_import_that_points_up_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(SERVICE, tmp_path / "service")
    with (tmp_path / "service" / "kernel" / "clock.py").open("a") as lowest:
        lowest.write("\nfrom service.web import marks\n")
    linted = lint_imports(tmp_path)
    assert linted.returncode == 1
    assert "Imports point down BROKEN" in linted.stdout


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in SERVICE.rglob("*.py")}
    assert len(lengths) > 50
    assert {str(path): length for path, length in lengths.items() if length > LONGEST} == {}


def test_every_package_says_what_it_owns() -> None:
    for package in {path.parent for path in SERVICE.rglob("*.py")}:
        assert (package / "__init__.py").read_text().startswith('"""'), package
