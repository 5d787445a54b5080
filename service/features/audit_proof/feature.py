"""Audit proof: seals of the past, and verification of logs, revisions and history."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="audit_proof",
    title="Seals of past rights, and verification of past rights, logs and policy revisions",
    commands=(
        FeatureCommands(
            "audit",
            (("verify", "find entries that were changed, removed, inserted or moved", "commands"),),
            help="the logs",
            after="evidence",
        ),
    ),
    needs=("permission_use",),
    sentences="sentences:sentence",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
    provides={"log-writing": "writer:Writing", "log-upkeep": "maintenance:upkeep_of"},
)
