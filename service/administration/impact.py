"""The outcome of a dry run."""

from __future__ import annotations

from dataclasses import dataclass

from service.authz.review.impact import Difference


@dataclass(frozen=True, slots=True)
class Impact:
    """Who would gain and lose which endpoint, how many sessions would have to refresh, and warnings."""

    gains: tuple[Difference, ...]
    loses: tuple[Difference, ...]
    sessions: int
    warnings: tuple[str, ...]
