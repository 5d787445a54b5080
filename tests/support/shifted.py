"""A machine whose clock is wrong: in this process, or in processes that the tests start."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.support.running import ROOT

_STARTED_WITH = """
import time
_true = time.time
time.time = lambda: _true() + {seconds}
"""


def shift(patch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of this process, as the session store's client and the tokens read it."""
    true = time.time
    patch.setattr(time, "time", lambda: true() + seconds)


def shifted_variables(folder: Path, seconds: float) -> dict[str, str]:
    """Return variables by which each Python process begins with a clock that is ``seconds`` ahead.

    Python imports ``sitecustomize`` before anything else (documentation of ``site``): a service needs
    ``running_anew``.
    """
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_STARTED_WITH.format(seconds=seconds))
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
