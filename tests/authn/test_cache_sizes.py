"""The caches of a guarded request have the sizes that a test asks for."""

from __future__ import annotations

import pytest

from service.authn.verified import MOST_TOKENS
from service.authz.engine import paths, policy
from tests.authn.conftest import Container

pytestmark = pytest.mark.anyio

USUAL = (MOST_TOKENS, policy.MAX_REMEMBERED, paths.canonical.cache_info().maxsize)


async def test_what_a_test_makes_has_caches_of_its_size(cache_sizes: int | None, parts: Container) -> None:
    tokens = parts.authenticator._verified._most
    sizes = (tokens, policy.MAX_REMEMBERED, paths.canonical.cache_info().maxsize)
    assert sizes == (USUAL if cache_sizes is None else (cache_sizes,) * 3)
