"""The text of layers that let pass and of possible callers, for commands and the report."""

from __future__ import annotations

from service.endpoints.policy.access_diff import DiffCaller
from service.endpoints.policy.layers import PassedLayer


def by(layer: PassedLayer | None) -> str:
    """Return why ``layer`` lets pass: ``@login``, or the held codes and the code of the line they open."""
    if layer is None or layer.line is None:
        return ""
    code = layer.line.rpartition(", ")[2]
    held = list(dict.fromkeys(fired.code for fired in layer.fired if fired.code != code))
    exactly = any(fired.code == code for fired in layer.fired)
    return code if exactly or not held else f"{code} by {' and '.join(held)}"


def caller_text(caller: DiffCaller) -> str:
    """Return who a possible caller is."""
    if not caller.logged_in:
        return "everybody"
    return f"a holder of {' and '.join(caller.codes)}" if caller.codes else "every login"
