"""The error of this package that is not a refusal of a request."""

from __future__ import annotations

from service.kernel.operator_error import FaultsError


class PolicyError(FaultsError):
    """The model or the policy lines can't be used; ``faults`` are sentences for the person who fixes them."""

    def __init__(self, *faults: str) -> None:
        super().__init__(faults)
