"""API keys of people, for programs that act for their owner."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="personal_keys",
    title="API keys of people",
    off=True,
    needs=("service_accounts",),
    paths=("/api/user/profile/keys", "/api/key/leaked"),
    settings=("auth.personal_key_max",),
    tags={"key": "Leaked API keys, which anyone may report."},
    sentences="sentences:sentence",
    routes="api:add_routes",
    jobs="jobs:jobs",
    provides={"personal-keys": "uses:PersonalKeyUses"},
    listens={"all-sessions-end": "store:end_with_sessions"},
)
