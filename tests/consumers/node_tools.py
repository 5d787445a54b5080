"""Generators and linters from npm, installed on demand as ``node/package-lock.json`` says."""

import subprocess
from pathlib import Path

import pytest

import dev
from tests.support.left_out import NO_NODE

SOURCES = Path(__file__).with_name("node")


class NodeTools:
    """The installed packages."""

    def __init__(self, modules: Path) -> None:
        self.modules = modules

    def run(self, name: str, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a program of a package to its end, in ``cwd``; the caller looks at its status."""
        program = [str(self.modules / ".bin" / name), *map(str, arguments)]
        return subprocess.run(program, cwd=cwd, capture_output=True, text=True, check=False)


def installed() -> NodeTools:
    """Return the packages, installed if they are not yet; skips the test where Node is not installed."""
    modules = dev.node_packages(SOURCES)
    if modules is None:
        pytest.skip(NO_NODE)
    return NodeTools(modules)
