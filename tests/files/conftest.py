"""The stores that hold files: a local directory and an S3 server that checks signatures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.inside_fixtures import _shared, service, shared
from tests.support.s3 import S3Server, s3_server

__all__ = ["_shared", "service", "shared"]


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """One S3 server for all tests; never stop or freeze it."""
    with s3_server() as server:
        yield server


@pytest.fixture
def own_s3() -> Iterator[S3Server]:
    """An S3 server of the test's own, to stop or freeze."""
    with s3_server() as server:
        yield server
