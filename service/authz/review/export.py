"""Export of the published policy as two files that any Casbin can read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.engine.rules import as_csv

MODEL: Final = "model.conf"
LINES: Final = "policy.csv"


def export(policy: Policy, folder: Path) -> tuple[Path, Path]:
    """Write ``model.conf`` and ``policy.csv`` to ``folder``, created if missing; return their paths.

    A plain ``casbin.Enforcer`` loads the two, with the five predicates of docs/explanation/policy.md
    registered, and makes the same decisions. Existing files are replaced. Raises OSError if they can't be
    written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model, lines = folder / MODEL, folder / LINES
    # Bytes, since the files must be the same everywhere, line ends included.
    model.write_bytes(policy.model_text.encode())
    lines.write_bytes(as_csv(policy.rules).encode())
    return model, lines
