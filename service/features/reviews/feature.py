"""Declaration of the feature: reviews, use of rights, evidence and sign-offs."""

from service.kernel.feature import Feature, FeatureCommands, FeaturePage

READ_REVIEWS = "read-reviews others"
"""The act of reading all reviews, beyond those of the caller and those that the caller may decide in."""
_EVIDENCE = "commands_evidence"

FEATURE = Feature(
    name="reviews",
    title="Access reviews, unused rights, evidence, and sign-offs",
    off=True,
    needs=(
        "assignments",
        "audit_proof",
        "decision_log",
        "explain",
        "permission_use",
        "policy_history",
        "service_accounts",
    ),
    paths=(
        "/api/review",
        "/api/policy/unused",
        "/api/policy/changes",
        "/api/policy/revisions/{revision}/sign-off",
    ),
    tags={"review": "Reviews of assignments: items, decisions and revocations."},
    pages=(
        FeaturePage(
            "review",
            "Reviews",
            "list-checks",
            after="policy",
            permissions=(
                ("list", "Read reviews", ()),
                ("create", "Start and close reviews", ("POST /api/review", "POST /api/review/{id}/close")),
                ("decide", "Decide in reviews", ()),
                ("evidence", "Export the evidence of reviews", ("GET /api/review/{id}/evidence",)),
            ),
        ),
    ),
    by_people={"review": "review_by_key"},
    account_objects=(READ_REVIEWS,),
    enumerations={
        "UnusedCheck": "replay use",
        "AssignmentChange": "given edited ended",
        "GrantChange": "given taken",
        "KeepOrRevoke": "keep revoke",
        "ReviewApply": "at_once at_end",
        "ReviewFinding": "no_reviewer last_administrator directory",
        "ReviewOutcome": "kept shortened revoked ended refused",
        "ReviewState": "open closing closed",
        "ReviewVerdict": "keep shorten revoke",
    },
    commands=(
        FeatureCommands(
            "policy",
            (
                (
                    "unused",
                    "print unused rights, and smaller roles that would be sufficient",
                    "commands_unused",
                ),
            ),
            after="matrix",
        ),
        FeatureCommands(
            "policy",
            (
                (
                    "changes",
                    "print what has changed since a revision, or since somebody's last sign-off",
                    "commands_changes",
                ),
            ),
            after="log",
        ),
        FeatureCommands(
            "evidence",
            (
                ("review", "write an archive about a review of assignments", _EVIDENCE),
                ("request", "write an archive about a request for a role", _EVIDENCE),
                ("user", "write all that explains the access of a user between two dates", _EVIDENCE),
            ),
            help="evidence for auditors",
            after="admin",
        ),
    ),
    sentences="sentences:sentence",
    tables="schema",
    routes="api:add_routes",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
    rows="store:in_need",
    provides={
        "shared-lines": "policy:LINES",
        "sign-offs": "store_sign_offs:of_revisions",
        "signing": "sign_offs:SignOffs",
        "evidence": "evidence_verification:verify",
    },
)
