"""Settings of the features that are off."""

from dataclasses import dataclass

from service.settings.table import setting
from service.settings.values import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Capabilities beside the core that can be absent."""

    off: Names = setting(
        Names(),
        shown="none",
        help="Features that this installation does without, or `all` for every one that has a switch: their "
        "endpoints answer 404, their commands, jobs and checks are absent. What each does, and what refuses "
        "a start, is on [features](features.md). Name the same on all nodes.",
    )
