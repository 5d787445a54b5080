"""The table of checks, in the order of the report."""

from collections.abc import Collection
from typing import Final

from service.features.operations.diagnosis import (
    file_checks,
    machine_checks,
    node_checks,
    policy_checks,
    settings_checks,
    store_checks,
    upkeep_checks,
    user_checks,
)
from service.kernel.feature import insert_after, on_by
from service.operator.findings import Check

CHECKS: Final[tuple[Check, ...]] = (
    Check("signing-key", file_checks.signing_key, local=True),
    Check("previous-key", file_checks.previous_key, local=True),
    Check("configuration-file", file_checks.configuration_file, local=True),
    Check("secret-files", file_checks.secret_files, local=True),
    Check("data-directory", file_checks.data_directory, local=True),
    Check("disk-space", machine_checks.disks),
    Check("open-files", machine_checks.open_files),
    Check("address", settings_checks.address, local=True),
    Check("proxies", settings_checks.proxies, local=True),
    Check("proxy-headers", node_checks.proxy_headers, local=True),
    Check("certificates", machine_checks.certificates),
    Check("cookie-mode", settings_checks.cookie_mode),
    Check("deny-check", settings_checks.deny_check),
    Check("throttling", settings_checks.throttling),
    Check("first-password", settings_checks.first_password),
    Check("database", store_checks.database),
    Check("connections", store_checks.connections),
    Check("schema", store_checks.schema),
    Check("standbys", store_checks.standbys),
    Check("read-replica", store_checks.read_replica),
    Check("session-store", store_checks.session_store),
    Check("eviction", store_checks.eviction),
    Check("persistence", store_checks.persistence),
    Check("store-replicas", store_checks.store_replicas),
    Check("clocks", store_checks.clocks),
    Check("object-store", file_checks.objects, local=True),
    Check("log-entries", upkeep_checks.log_entries),
    Check("log-months", upkeep_checks.log_months_ahead),
    Check("backup", upkeep_checks.backup),
    Check("versions", node_checks.versions),
    Check("node-settings", node_checks.settings),
    Check("parts", node_checks.parts),
    Check("shipped-files", policy_checks.shipped_files),
    Check("policy-files", policy_checks.policy_files, local=True),
    Check("published-policy", policy_checks.published_policy, slow=True),
    Check("invariants", policy_checks.invariants, slow=True),
    Check("policy-workers", policy_checks.policy_workers_agree),
    Check("policy-own-parts", policy_checks.static_policies_agree),
    Check("policy-tampering", policy_checks.tampering),
    Check("policy-seals", policy_checks.seals),
    Check("features", policy_checks.features_off),
    Check("extensions", policy_checks.extensions),
    Check("permission-codes", policy_checks.permission_codes),
    Check("permission-bits", policy_checks.permission_bits),
    Check("routes", policy_checks.routes, slow=True),
    Check("administrators", user_checks.enough_administrators),
    Check("first-administrator", user_checks.first_administrator),
    Check("addresses", user_checks.addresses),
    Check("way-in", user_checks.way_in),
    Check("user-names", user_checks.user_names),
    Check("demands", policy_checks.demands_met, slow=True),
    Check("request-rules", policy_checks.request_rules),
    Check("jobs", upkeep_checks.jobs_in_time),
)
"""The checks of the core; each check of a feature follows the check that it names."""


def checks_for(off: Collection[str] = ()) -> tuple[Check, ...]:
    """Return all checks in their order, without those of the features ``off``."""
    ordered = [*CHECKS]
    for feature in on_by(off):
        for check in feature.part(feature.checks) if feature.checks else ():
            insert_after(ordered, check, check.after)
    return tuple(ordered)
