"""The names of fields: one in Python, one in JSON."""

from __future__ import annotations


def camel(name: str) -> str:
    """Return the name on the wire of a Python ``name``: ``roleName`` for ``role_name``."""
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)
