"""What needs a store is known before it runs, so that `dev.py test --fast` can leave it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.embedded import EmbeddedStores
from tests.support.marks import STARTERS


def starting(folder: Path) -> EmbeddedStores:
    return EmbeddedStores(folder)


@pytest.fixture
def described(tmp_path: Path) -> EmbeddedStores:
    """Stores that nobody starts."""
    return starting(tmp_path)


def is_marked(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("stores") is not None


def test_a_test_that_uses_the_stores_is_marked(
    stores: EmbeddedStores, request: pytest.FixtureRequest
) -> None:
    assert stores.database_url
    assert is_marked(request)


def test_a_test_that_calls_what_starts_stores_is_marked(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert starting(tmp_path).data == tmp_path
    assert is_marked(request)


def test_a_test_whose_fixture_calls_what_starts_stores_is_marked(
    described: EmbeddedStores, request: pytest.FixtureRequest
) -> None:
    assert isinstance(described, STARTERS)
    assert is_marked(request)


def test_a_test_without_stores_is_not_marked(request: pytest.FixtureRequest) -> None:
    assert not is_marked(request)
