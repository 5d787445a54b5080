"""Describes what this version adds to an older database."""

from __future__ import annotations

from collections.abc import Iterator

from service.records.seed_catalogue import Additions


def describe_additions(additions: Additions) -> Iterator[str]:
    """Yield a sentence for each kind of addition of the next start, and for each role that gains codes."""
    if additions.codes:
        yield f"The next start adds the Buttons of {', '.join(additions.codes)}."
    if additions.resources:
        yield f"The next start registers {', '.join(additions.resources)}."
    for role, codes in additions.gained_by.items():
        yield f"The role {role} gains by its wildcards: {', '.join(codes)}."
