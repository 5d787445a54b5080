"""Ends the browser of a process, and the services of its tests, before a test that needs none."""

import sys
from collections.abc import Generator
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Keep them for another test of pages only: other tests run event loops, and a browser does so too."""
    yield
    module: Any = sys.modules.get("tests.console.house")  # most runs need none, and importing it costs time
    if module is not None and not _needs_pages(nextitem):
        module.House.close()


def _needs_pages(item: pytest.Item | None) -> bool:
    if item is None:
        return False
    return item.path.parent.name == "console" or "_closed" in getattr(item, "fixturenames", ())
