"""Runs tests with features off: ``dev.py test --off all``, or ``--off`` with names and commas between.

Tests of what is off are left out: those below ``tests/features/<name>``, and those that are marked as using
a feature, ``@pytest.mark.feature("export")``.
"""

import os
from pathlib import Path
from typing import Final

import pytest

from service.kernel.feature import about_any, off_by

VARIABLE: Final = "TESTED_WITHOUT_FEATURES"
"""In the environment: the value of the setting ``features.off`` for the services of all tests."""
_NAMES: Final = os.environ.get(VARIABLE, "")
OFF: Final[dict[str, str]] = {"PORTCULLIS_FEATURES__OFF": _NAMES} if _NAMES else {}
"""The variable of the setting, for each service that a test starts."""
OFF_NAMES: Final = tuple(filter(None, _NAMES.split(",")))
"""The value of that setting, as the settings have it."""
GONE: Final = off_by(OFF_NAMES)
"""The features that tests run without."""
_GONE: Final = {feature.name for feature in GONE}
_FEATURES: Final = Path(__file__).parents[1] / "features"


def is_off(feature: str) -> bool:
    """Tell whether tests run without ``feature``."""
    return feature in _GONE


def is_served(request: str) -> bool:
    """Tell whether what serves ``request``, such as ``POST /api/user/import``, is on in this run."""
    return not about_any(GONE, request.partition("?")[0])


def need(feature: str) -> None:
    """Skip a test that uses ``feature``, such as by a fixture, where that is off."""
    if is_off(feature):
        pytest.skip(f"the feature {feature} is off")


def _used(item: pytest.Item) -> set[str]:
    """Return the features that a test is about."""
    marked = {name for mark in item.iter_markers("feature") for name in mark.args}
    path = item.path.relative_to(_FEATURES) if item.path.is_relative_to(_FEATURES) else None
    return marked | ({path.parts[0]} if path is not None and len(path.parts) > 1 else set())


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take the tests of what is off out of ``items``."""
    left_out = [item for item in items if _used(item) & _GONE] if _GONE else []
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
