"""The check of ``doctor`` that tries the collector."""

import asyncio
from typing import Final

from service.features.tracing.packages import HOW, collector_of, is_installed
from service.operator.findings import Check, Finding, Installation, fault, ok, warning


async def collector(installation: Installation) -> Finding:
    """Without an accepting collector, spans are dropped, and requests are slower without benefit."""
    tracing = installation.settings.tracing
    if not tracing.endpoint:
        return ok("off")
    if not is_installed():
        return fault("tracing.endpoint is set, and OpenTelemetry is not installed", HOW)
    opened = collector_of(tracing)
    if await asyncio.to_thread(opened.send, []):
        return ok(f"the collector takes spans, of {tracing.ratio:.2%} of the requests")
    return warning(
        f"the collector takes no spans: {opened.reason}",
        "check tracing.endpoint, its headers and its ca_file",
    )


CHECKS: Final = (Check("tracing", collector, local=True, after="object-store"),)
"""The checks of the feature."""
