"""Services for the tests of backup and restore."""

from __future__ import annotations

from tests.support.inside_fixtures import service

__all__ = ["service"]
