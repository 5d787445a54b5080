"""Which process of a parallel run gets which tests, and in what order.

The tests of a file stay together, since they share fixtures; so do the files of a folder, or a few of them,
that share a running service. What takes longest begins first, so that no core is left idle at the end.
"""

from __future__ import annotations

import os
from typing import Any, Final

from xdist.scheduler import LoadScopeScheduling

SHARED: Final = "the service of tests/service"
WORKERS: Final = "the four workers of tests/policy_publishing"
SESSIONS: Final = "tests/sessions"
CONSOLE: Final = "tests/console"
BESIDE: Final = "the second browser of tests/console"
_FOLDERS: Final = (SESSIONS, CONSOLE)
"""Folders whose files share a running service, or a browser, but for those that a bundle names."""

_BUNDLES: Final = {
    SHARED: "accounts admin bad_bodies behind_a_proxy docs first_request framing log repeated_requests",
    WORKERS: "fuzz raw_paths rights under_load",
    BESIDE: "frame history home journey keyboard links many second_factors session step_up users",
}
TOGETHER: Final = {
    f"{bundle.rpartition(' ')[2]}/test_{name}.py": bundle
    for bundle, names in _BUNDLES.items()
    for name in names.split()
}
"""Files that share a running service, and the name of the bundle that they are run in."""

LONGEST: Final = (
    CONSOLE,
    BESIDE,
    SESSIONS,
    "tests/users/test_no_climbing.py",
    "tests/upgrade/test_kept_installations.py",
    SHARED,
    "tests/service/test_processes.py",
    "tests/policy_publishing/test_restore.py",
    WORKERS,
    "tests/pdp/test_faults.py",
    "tests/policies/test_demands.py",
    "tests/policies/test_mutation.py",
    "tests/scim/test_ceiling.py",
    "tests/service/test_windows.py",
    "tests/policy_publishing/test_published_by_plain_casbin.py",
    "tests/access_requests/test_random_walk.py",
    "tests/docs/test_contributing.py",
    "tests/consumers/test_fuzzing.py",
    "tests/menus/test_menus.py",
    "tests/docs/test_guides.py",
    "tests/audit/test_stops.py",
    "tests/files/test_outages.py",
    "tests/log_reading/test_exports.py",
    "tests/records/test_database.py",
    "tests/bulk/test_users.py",
    "tests/authz/test_publishing.py",
    "tests/embedded/test_owner.py",
    "tests/docs/test_readme.py",
    "tests/docs/test_second_factors_guide.py",
    "tests/service/test_slow_clients.py",
    "tests/service/test_outages.py",
    "tests/state/test_apply.py",
    "tests/dry_runs/test_answers.py",
    "tests/policy_publishing/test_questions.py",
    "tests/users/test_no_climbing_together.py",
    "tests/users/test_bound_accounts.py",
    "tests/policies/test_cases.py",
    "tests/service/test_worker_starts.py",
    "tests/service/test_end_of_access.py",
    "tests/reviews/test_campaigns.py",
    "tests/services/test_administering.py",
    "tests/roles/test_delegation.py",
    "tests/consumers/test_python_client.py",
    "tests/files/test_object_store.py",
    "tests/files/test_limits.py",
    "tests/authz/test_access.py",
    "tests/service/test_admin_reset.py",
    "tests/policy_publishing/test_sync.py",
    "tests/policies/test_command.py",
    "tests/policies/test_mutation.py",
    "tests/doctor/test_stores.py",
    "tests/service/test_clocks.py",
    "tests/files/test_upload.py",
    "tests/doctor/test_one_thing_broken.py",
    "tests/menus/test_delegation.py",
    "tests/setup/test_databases.py",
    "tests/resource/test_resource.py",
    "tests/log_capture/test_operations.py",
    "tests/service/test_damaged_database.py",
    "tests/service/test_rolling_restart.py",
    "tests/users/test_edits_alike.py",
    "tests/keyspace/test_sentinel.py",
)
"""What takes more than eight seconds, the longest first. All else follows by the number of its tests."""


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
