"""The text of layers that let pass, for several commands."""

from __future__ import annotations

from service.endpoints.policy.layers import PassedLayer


def by(layer: PassedLayer | None) -> str:
    """Return why ``layer`` lets pass: ``@login``, or the held codes and the code of the line they open."""
    if layer is None or layer.line is None:
        return ""
    code = layer.line.rpartition(", ")[2]
    held = list(dict.fromkeys(one.code for one in layer.fired if one.code != code))
    exactly = any(one.code == code for one in layer.fired)
    return code if exactly or not held else f"{code} by {' and '.join(held)}"
