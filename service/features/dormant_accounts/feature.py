"""Dormant accounts."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="dormant_accounts",
    title="Dormant accounts: told, and then disabled",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
)
