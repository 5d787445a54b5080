"""The check that roles, menus, resources and bindings match a reviewed state file."""

from pathlib import Path
from typing import Final

from service.errors import Conflict
from service.features.policy_history import stored_state
from service.features.policy_history.state_edits import edits_between
from service.features.policy_history.state_reading import read_state
from service.kernel.text import counted, printable
from service.laboratory.strict_yaml import YamlError
from service.operator.findings import Finding, Installation, fault, few, ok, warning

_DONE: Final = {"create": "missing", "update": "changed", "delete": "not in the file"}


async def state_file(path: Path, installation: Installation) -> Finding:
    """Changes that bypassed the review of the state file are in force too."""
    try:
        desired = read_state(path)
    except YamlError as wrong:
        return fault("; ".join(wrong.faults), "correct the file, or write it again: portcullis state export")
    try:
        async with installation.records() as connection:
            result = (await stored_state.read(connection)).state
    except Conflict as wrong:
        return fault(wrong.detail, "correct the menu tree in the database")
    edits = edits_between(result, desired, prune=True).edits
    if not edits:
        return ok(f"roles, menus, resources and bindings match {path.name}")
    named = [f"{edit.kind} {printable(edit.key)} ({_DONE[edit.action]})" for edit in edits]
    return warning(
        f"{counted(len(edits), 'object')} different from {path.name}: {few(named)}",
        "portcullis state plan --prune shows all; apply the file, or review the changes and export them",
    )
