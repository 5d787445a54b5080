"""The JSON names of fields."""

from __future__ import annotations


def camel(name: str) -> str:
    """Return the JSON name of a Python ``name``: ``roleName`` for ``role_name``."""
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)
