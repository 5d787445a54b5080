"""Tracing: spans of requests, sent to a collector."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="tracing",
    title="Traces by OpenTelemetry",
    off=True,
    settings=("tracing.endpoint",),
    parts="parts:part_of",
    checks="checks:CHECKS",
)
