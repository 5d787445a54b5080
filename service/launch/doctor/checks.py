"""The table of checks, in the order of the report."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from service.launch.doctor import (
    export_checks,
    file_checks,
    job_checks,
    log_checks,
    policy_checks,
    settings_checks,
    store_checks,
    tracing_checks,
    user_checks,
)
from service.launch.doctor.findings import Finding
from service.launch.doctor.installation import Installation

Check = Callable[[Installation], Finding | Awaitable[Finding]]

Checks = tuple[tuple[str, Check], ...]
"""The name of each check, and its function."""

CHECKS: Final[Checks] = (
    ("signing-key", file_checks.signing_key),
    ("previous-key", file_checks.previous_key),
    ("configuration-file", file_checks.configuration_file),
    ("data-directory", file_checks.data_directory),
    ("address", settings_checks.address),
    ("proxies", settings_checks.proxies),
    ("cookie-mode", settings_checks.cookie_mode),
    ("deny-check", settings_checks.deny_check),
    ("throttling", settings_checks.throttling),
    ("first-password", settings_checks.first_password),
    ("database", store_checks.database),
    ("connections", store_checks.connections),
    ("schema", store_checks.schema),
    ("session-store", store_checks.session_store),
    ("eviction", store_checks.eviction),
    ("persistence", store_checks.persistence),
    ("clocks", store_checks.clocks),
    ("object-store", file_checks.objects),
    ("tracing", tracing_checks.collector),
    ("log-entries", log_checks.log_entries),
    ("log-months", log_checks.log_months_ahead),
    ("policy-files", policy_checks.policy_files),
    ("published-policy", policy_checks.published_policy),
    ("invariants", policy_checks.invariants),
    ("policy-workers", policy_checks.policy_workers_agree),
    ("policy-own-parts", policy_checks.own_parts_agree),
    ("policy-tampering", policy_checks.tampering),
    ("extensions", policy_checks.extensions),
    ("permission-codes", policy_checks.permission_codes),
    ("permission-bits", policy_checks.permission_bits),
    ("routes", policy_checks.routes),
    ("administrators", user_checks.enough_administrators),
    ("first-administrator", user_checks.first_administrator),
    ("api-keys", job_checks.expiring_keys),
    ("jobs", job_checks.jobs_in_time),
    ("export", export_checks.export),
)
"""Each checks one thing; the first sentence of its docstring says why it matters."""


def checks(*, state_file: bool) -> Checks:
    """Return the checks to make; ``state_file`` says that the stored state is compared with a file."""
    if not state_file:
        return CHECKS
    from service.launch.doctor.state_checks import state_file as compare

    return (*CHECKS, ("state-file", compare))
