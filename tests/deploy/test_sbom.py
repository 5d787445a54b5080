"""The bill of materials lists what the service is run with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dev
from service.kernel.about import DISTRIBUTION

pytestmark = pytest.mark.extended  # it may have to install packages


def test_the_bill_of_materials_has_every_package_of_the_lock_and_no_tool(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "dev.py", "sbom", tmp_path / "sbom.json"], cwd=dev.ROOT, check=True)
    listed = json.loads((tmp_path / "sbom.json").read_text(encoding="utf-8"))
    assert (listed["bomFormat"], listed["metadata"]["component"]["name"]) == ("CycloneDX", DISTRIBUTION)
    export = [
        "export",
        "--locked",
        "--no-dev",
        "--no-emit-project",
        "--no-hashes",
        "--no-annotate",
        "--quiet",
    ]
    locked = subprocess.run(
        [dev.installed_uv(), *export],
        cwd=dev.ROOT,
        env=dev.environment_of_uv(),
        capture_output=True,
        text=True,
        check=True,
    )
    exact = {line.split(" ;")[0] for line in locked.stdout.splitlines() if "==" in line}
    here = {f"{part['name'].lower().replace('_', '-')}=={part['version']}" for part in listed["components"]}
    assert here <= exact  # packages for other systems and versions of Python are locked too
    assert {name.partition("==")[0] for name in here} >= {"falcon", "psycopg", "pycasbin", "redis"}
