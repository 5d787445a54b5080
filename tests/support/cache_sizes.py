"""Runs tests with each size of the caches of a guarded request: as they are, of one entry, and off."""

from functools import lru_cache

import pytest

from service.authn.verified import VerifiedTokens
from service.authz.engine import paths, policy
from service.laboratory.analysis import request_paths
from service.web.requests import middleware

SIZES = {"usual caches": None, "caches of one entry": 1, "no caches": 0}


@pytest.fixture(params=list(SIZES.values()), ids=list(SIZES))
def cache_sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int | None:
    """Make caches of this size in what the test makes; ``PORTCULLIS_TEST_CACHES`` does so for a process."""
    size: int | None = request.param
    if size is not None:
        monkeypatch.setattr(VerifiedTokens.__init__, "__defaults__", (size, None))
        monkeypatch.setattr(policy, "MAX_REMEMBERED", size)
        canonical = lru_cache(size)(paths.canonical.__wrapped__)
        for module in (paths, request_paths, middleware):
            monkeypatch.setattr(module, "canonical", canonical)
    return size
