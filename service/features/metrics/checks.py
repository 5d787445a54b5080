"""The check of ``doctor`` about metrics."""

from typing import Final

from service.features.metrics.sentences import sentence
from service.kernel.hosts import is_local
from service.operator.findings import Check, Finding, Installation, ok, warning


def metrics(installation: Installation) -> Finding:
    """Without metrics, alerts can't fire."""
    server = installation.settings.server
    if server.metrics_token:
        return ok(sentence("metrics_on"))
    if is_local(server.host) and not server.trusted_proxies and not server.public_url:
        return ok(sentence("metrics_off_locally"))
    return warning(
        sentence("metrics_off"),
        sentence("set_to_output", command='python3 -c "import secrets; print(secrets.token_urlsafe(32))"'),
    )


CHECKS: Final = (Check("metrics", metrics, after="first-password"),)
"""The checks of the feature."""
