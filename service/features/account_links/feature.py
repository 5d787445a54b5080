"""Links that owners of accounts are sent."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="account_links",
    title="Links to users: invitations, password resets, address confirmation, end of sessions",
    needs=("second_factors",),
    paths=(
        "/api/auth/invitation",
        "/api/auth/password-reset",
        "/api/auth/address",
        "/api/auth/sessions/end",
        "/api/user/{id}/invitation",
        "/api/user/{id}/password-reset",
        "/api/user/{id}/email/verification",
        "/api/user/profile/email",
    ),
    sentences="sentences:sentence",
    tables="schema",
    routes="routes:add_routes",
    jobs="jobs:jobs",
    provides={"address-changed": "addresses:address_changed", "links-restored": "store_tokens:forget_all"},
)
