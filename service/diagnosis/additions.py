"""Describes what this version adds to an older database."""

from __future__ import annotations

from collections.abc import Iterator

from service.records.seed_catalogue import Additions


def describe_additions(found: Additions) -> Iterator[str]:
    """Yield a sentence for each kind of addition of the next start, and for each role that gains codes."""
    if found.codes:
        yield f"The next start adds the Buttons of {', '.join(found.codes)}."
    if found.resources:
        yield f"The next start registers {', '.join(found.resources)}."
    for role, codes in found.gained_by.items():
        yield f"The role {role} gains by its wildcards: {', '.join(codes)}."
