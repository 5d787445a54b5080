"""What a request asked about the rights of its caller, beyond its own admission: for the decision log."""

from __future__ import annotations

from typing import Literal, NamedTuple

Needed = Literal["all", "any"]
"""How many of some codes the caller needs."""


class EditRequest(NamedTuple):
    """The request for one edit, of a request that makes several; ``template`` is that of its route."""

    method: str
    path: str
    template: str


class GrantQuestion(NamedTuple):
    """May the caller grant these codes?"""

    codes: tuple[str, ...]
    needed: Needed


class ObjectQuestion(NamedTuple):
    """May the caller pass this object of this layer?"""

    layer: str
    object: str


class Delegated:
    """The questions of one change: asked of the policy ``revision``, about the token and ``stored_codes``.

    ``stored_codes`` are the codes of the caller in the database. ``objects`` are questions about single
    objects of other layers than ``grant``.
    """

    def __init__(self, revision: int, stored_codes: frozenset[str]) -> None:
        self.revision = revision
        self.stored_codes = stored_codes
        self.grants: dict[GrantQuestion, None] = {}  # in order; an import asks the same of many rows
        self.objects: dict[ObjectQuestion, None] = {}
        self.edits: list[EditRequest] = []
