"""Metrics: counts of workers and data of the stores, at ``/metrics``."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="metrics",
    title="Metrics for Prometheus",
    off=True,
    needs=("audit_proof", "notices", "operations"),
    paths=("/metrics",),
    sentences="sentences:sentence",
    parts="parts:MetricsPart",
    routes="api:add_routes",
    checks="checks:CHECKS",
    provides={"worker-board": "shared_metrics:SharedMetrics"},
)
