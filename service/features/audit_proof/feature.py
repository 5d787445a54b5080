"""The proof of the audit trail: verification of what the core writes and seals."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="audit_proof",
    title="Verification of the logs, of policy revisions and of the past of rights",
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
