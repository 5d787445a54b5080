"""Generators and linters from npm, installed on demand as ``node/package-lock.json`` says."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCES = Path(__file__).with_name("node")
CACHE = Path(__file__).resolve().parents[2] / ".tools"


class NodeTools:
    """The installed packages."""

    def __init__(self, folder: Path) -> None:
        self.modules = folder / "node_modules"

    def run(self, name: str, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a program of a package to its end, in ``cwd``; the caller looks at its status."""
        program = [str(self.modules / ".bin" / name), *map(str, arguments)]
        return subprocess.run(program, cwd=cwd, capture_output=True, text=True, check=False)


def installed() -> NodeTools:
    """Return the packages, installed if they are not yet; skips the test where Node is not installed."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node and npm are not installed: clients in TypeScript and linters are not tried")
    digest = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = CACHE / f"node-{digest}"
    if not folder.exists():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as made:
            for name in ("package.json", "package-lock.json"):
                shutil.copy2(SOURCES / name, made)
            done = subprocess.run(
                ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                cwd=made,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            whole = Path(made, "whole")
            whole.mkdir()
            Path(made, "node_modules").rename(whole / "node_modules")
            whole.rename(folder)
    return NodeTools(folder)
