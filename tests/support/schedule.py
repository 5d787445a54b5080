"""Which process of a parallel run gets which tests, and in what order.

The tests of a file stay together, since they share fixtures; so do the files of a folder, or a few of them,
that share a running service. What takes longest begins first, so that no core is left idle at the end.
"""

import os
from typing import Any, Final

from xdist.scheduler import LoadScopeScheduling

SHARED: Final = "the service of tests/service"
WORKERS: Final = "the four workers of tests/policy_publishing"
SESSIONS: Final = "tests/sessions"
CONSOLE: Final = "tests/console"
_FOLDERS: Final = (SESSIONS, CONSOLE)
"""Folders whose files share a running service, or a browser."""
_PAGES: Final = "access_requests directories personal_data reviews tables"
"""Features with tests of pages, which share the browser and the service of `CONSOLE`."""

_BUNDLES: Final = {
    SHARED: "admin bad_bodies behind_a_proxy docs first_request framing log repeated_requests",
    WORKERS: "fuzz raw_paths rights under_load",
}
TOGETHER: Final = {
    f"{bundle.rpartition(' ')[2]}/test_{name}.py": bundle
    for bundle, names in _BUNDLES.items()
    for name in names.split()
} | {f"tests/features/{name}/test_console.py": CONSOLE for name in _PAGES.split()}
"""Files that share a running service, and the name of the bundle that they are run in."""

LONGEST: Final = (
    CONSOLE,
    "tests/docs/test_guides.py",
    "tests/features/access_requests/test_requests.py",
    SESSIONS,
    "tests/features/policy_history/test_restore.py",
    SHARED,
    "tests/service/test_processes.py",
    "tests/features/follower/test_faults.py",
    WORKERS,
    "tests/benchmarks/test_budget.py",
    "tests/features/personal_data/test_processes.py",
    "tests/features/services/test_ending_openings.py",
    "tests/users/test_urgent_acts.py",
    "tests/users/test_no_climbing.py",
    "tests/features/agents/test_followers.py",
    "tests/upgrade/test_kept_installations.py",
    "tests/features/policy_history/test_untrusted_revisions.py",
    "tests/features/audit_proof/test_history.py",
    "tests/service/test_clocks.py",
    "tests/features/access_requests/test_limits.py",
    "tests/service/test_worker_starts.py",
    "tests/service/test_commands.py",
    "tests/features/access_requests/test_beginnings.py",
    "tests/service/test_outages.py",
    "tests/features/scim/test_attacks.py",
    "tests/resource/test_demands.py",
    "tests/records/test_database.py",
    "tests/features/reviews/test_reviews.py",
    "tests/keyspace/test_repeats.py",
    "tests/features/access_requests/test_emergencies.py",
    "tests/features/services/test_administering.py",
    "tests/features/decisions/test_windows.py",
    "tests/features/policy_history/state/test_apply.py",
    "tests/upgrade/test_schemas.py",
    "tests/authz/test_publishing.py",
    "tests/features/account_links/test_recovery.py",
    "tests/features/scim/test_users.py",
    "tests/features/policy_tests/test_seeded_faults.py",
    "tests/service/test_stop.py",
    "tests/features/personal_data/test_erasures.py",
    "tests/features/event_stream/test_streams.py",
    "tests/files/test_outages.py",
    "tests/features/reviews/test_shortening.py",
    "tests/features/policy_history/state/test_commands.py",
    "tests/audit/test_stops.py",
    "tests/features/tables/test_users.py",
    "tests/features/explain/dry_runs/test_answers.py",
    "tests/authz/test_forged_revisions.py",
    "tests/features/access_requests/test_random_walk.py",
    "tests/features/second_factors/test_demands.py",
    "tests/features/follower/test_following.py",
    "tests/log_reading/test_exports.py",
    "tests/features/reviews/test_mails.py",
    "tests/service/test_windows.py",
    "tests/keyspace/test_online.py",
    "tests/keyspace/test_denials.py",
    "tests/keyspace/test_deliveries.py",
)
"""What takes more than twenty seconds, the longest first. All else follows by the number of its tests."""


def processes() -> int:
    """Return how many processes ``--numprocesses=auto`` means: two a core, as tests wait half the time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 2 * cores


def bundle_of(test_id: str) -> str:
    """Return the bundle that a test is run in: its file, unless that belongs together with others."""
    file = test_id.partition("::")[0]
    folder = next((folder for folder in _FOLDERS if file.startswith(f"{folder}/")), None)
    return TOGETHER.get(file) or folder or file


class Bundles(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out whole bundles, those that take longest first."""

    def _split_scope(self, nodeid: str) -> str:
        return bundle_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        longest = next((name for name in LONGEST if name in self.workqueue), None)
        if longest is not None:
            self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)
