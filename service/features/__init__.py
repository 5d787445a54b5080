"""The registry of features: each name is a folder here, whose ``feature.py`` says what it adds.

The order is that of lists: pages, jobs, checks, commands.
"""

NAMES = (
    "policy_history",
    "operations",
    "idempotency",
    "account_links",
    "dormant_accounts",
    "bulk_acts",
    "takeovers",
    "service_accounts",
    "metrics",
    "export",
    "notices",
    "directories",
    "second_factors",
    "assignments",
    "scim",
    "oidc",
    "pages",
    "tracing",
    "decisions",
    "follower",
    "sentinel",
    "cluster",
    "tables",
    "explain",
    "access_requests",
    "reviews",
    "audit_proof",
)
