"""A resource with what is bound to it, as records give it and as policy lines are derived from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from service.kernel.services import PORTCULLIS


class BoundResource(NamedTuple):
    """An enabled resource with all its Buttons, as code and whether enabled, sorted by code."""

    method: str
    path: str
    buttons: Sequence[tuple[str, bool]]
    service: str = PORTCULLIS


class PublishedOpening(NamedTuple):
    """What opens an object of another service without a permission code.

    ``object`` is one of its enabled resources or ``@unregistered``, with its service; ``code`` is ``@login``
    or ``@anyone``.
    """

    object: str
    code: str
