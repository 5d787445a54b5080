"""The checks of policies and changes as a feature."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="policy_checks",
    title="Checks that refuse a policy or a change",
    provides={
        "model-lint": "reading:lint_model",
        "parsed-model": "reading:parsed_model",
        "invariants": "reading:read_statements",
        "broken-invariants": "guard:broken_invariants",
        "policy-guard": "guard:StoredPolicyGuard",
        "locked-out": "lockout:locked_out",
    },
)
