"""Events about rights."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="events",
    title="Events about rights, recorded with their cause",
    off=True,
    tables="schema",
    jobs="jobs:jobs",
    provides={"switched": "store:switch", "personal-data": "personal:KEPT"},
    listens={"all-sessions-end": "store:sessions_end"},
)
