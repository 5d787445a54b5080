"""Logs that were just written: see ``tests.audit.conftest``."""

from tests.audit.conftest import _url, place

__all__ = ["_url", "place"]
