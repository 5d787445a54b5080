"""Second factors of users."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="second_factors",
    title="Second factors: authenticator apps, passkeys and recovery codes",
    needs=("directories",),
    paths=(
        "/api/auth/login/second-factor",
        "/api/auth/login/passkey",
        "/api/auth/step-up",
        "/api/user/profile/factors",
        "/api/user/{id}/factors",
        "/.well-known/passkey-endpoints",
    ),
    enumerations={"StepUpMethod": "password totp recovery_code passkey"},
    sentences="sentences:sentence",
    routes="api:add_routes",
    checks="checks:CHECKS",
    provides={
        "second-factors": "parts:CheckedFactors",
        "factor-keys": "sealing:FactorKeys",
        "sealed-secrets": "resealing:reseal",
        "console-facts": "parts:facts",
    },
)
