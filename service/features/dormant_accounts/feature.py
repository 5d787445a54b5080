"""Dormant accounts."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="dormant_accounts",
    title="Dormant accounts: notified, then disabled",
    needs=("permission_use",),
    sentences="sentences:sentence",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
)
