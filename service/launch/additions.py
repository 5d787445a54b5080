"""What a version brings to an older database, in words."""

from __future__ import annotations

from collections.abc import Iterator

from service.records.seed.catalogue import Additions


def additions_told(found: Additions) -> Iterator[str]:
    """Yield a line for each addition that the next start makes, and for each role that gains something."""
    if found.codes:
        yield f"The next start adds the Buttons of {', '.join(found.codes)}."
    if found.resources:
        yield f"The next start registers {', '.join(found.resources)}."
    for role, codes in found.gained_by.items():
        yield f"The role {role} gains by its wildcards: {', '.join(codes)}."
