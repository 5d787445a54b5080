"""Audit proof: seals of the past, and verification of logs, revisions and history."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="audit_proof",
    title="Seals of the past of rights, and verification of it, of the logs and of policy revisions",
    commands=(
        FeatureCommands(
            "audit",
            (("verify", "look for entries that were changed, removed, inserted or moved", "commands"),),
            help="the logs",
            after="evidence",
        ),
    ),
    jobs="jobs:jobs",
    checks="checks:CHECKS",
)
