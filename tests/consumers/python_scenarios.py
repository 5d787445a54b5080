"""Scenarios of clients in Python: checked by mypy beside the generated package, and run in a process."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.running import Running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

SCENARIOS = Path(__file__).with_name("scenarios")


def arguments(service: Running) -> list[str]:
    """Return what a scenario is run with."""
    return [service.url, ADMINISTRATOR, ADMINISTRATOR_PASSWORD]


def type_errors(scenario: str, folder: Path) -> str:
    """Return what mypy says of the text ``scenario``, with the packages in ``folder``; "" if it is sound.

    What the packages themselves get wrong is their generator's.
    """
    (folder / "scenario.py").write_text(scenario)
    options = ("--config-file=", "--strict", "--follow-imports=silent", "--no-error-summary")
    ended = _python("-m", "mypy", *options, "scenario.py", cwd=folder)
    return ended.stdout + ended.stderr


def run(service: Running, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the scenario that was checked last in ``folder``; the caller looks at its status."""
    return _python("scenario.py", *arguments(service), cwd=folder)


def _python(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"NO_PROXY": "127.0.0.1"}
    whole = [sys.executable, *command]
    return subprocess.run(whole, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
