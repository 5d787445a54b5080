"""Destinations that are named on the command line."""

from __future__ import annotations

from service.operator.errors import LaunchError
from service.settings import Destination, Settings


class UnknownDestination(LaunchError):  # noqa: N818 - an input
    """There is no destination of that name."""


class ConfiguredDestination(LaunchError):  # noqa: N818 - an input
    """The settings name the destination."""


class ResendError(LaunchError):
    """The destination can't be reached, or takes nothing."""


def named(settings: Settings, name: str) -> Destination:
    """Return the destination of the settings; raises UnknownDestination."""
    by_name = {one.name: one for one in settings.export.destinations}
    if name not in by_name:
        raise UnknownDestination(
            f"the settings have no destination '{name}'; there are {', '.join(by_name) or 'none'}"
        )
    return by_name[name]
