"""The check of ``doctor`` about metrics."""

from typing import Final

from service.kernel.hosts import is_local
from service.operator.findings import Check, Finding, Installation, ok, warning


def metrics(installation: Installation) -> Finding:
    """Without metrics, alerts can't fire."""
    server = installation.settings.server
    if server.metrics_token:
        return ok("server.metrics_token is set")
    if is_local(server.host) and not server.trusted_proxies and not server.public_url:
        return ok("server.metrics_token is not set; only this machine can reach the service")
    return warning(
        "server.metrics_token is not set: there are no metrics, and readiness shows no details",
        'set it to the output of: python3 -c "import secrets; print(secrets.token_urlsafe(32))"',
    )


CHECKS: Final = (Check("metrics", metrics, after="first-password"),)
"""The checks of the feature."""
