"""The OpenTelemetry packages of the extra ``tracing``, imported only if the settings enable tracing.

The trunk knows only ``service.kernel.tracing``.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from service.kernel.about import DISTRIBUTION
from service.settings import Fault, SettingsError
from service.settings import Tracing as TracingSettings

if TYPE_CHECKING:  # they import OpenTelemetry
    from service.features.tracing.export import Collector
    from service.features.tracing.requests import RequestTracing

HOW: Final = f"install those of {DISTRIBUTION}[tracing] as docs/guides/tracing.md says"
"""The remedy for missing packages."""
_MODULES: Final = ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


def is_installed() -> bool:
    """Return whether the required packages are installed."""
    try:
        return all(find_spec(name) for name in _MODULES)
    except ModuleNotFoundError:  # a parent of the last one
        return False


def collector_of(settings: TracingSettings) -> Collector:
    """Return the collector of the settings; the packages must be installed."""
    from service.features.tracing.export import Collector

    return Collector(settings)


def request_tracing(settings: TracingSettings, worker: str) -> RequestTracing | None:
    """Return the tracing of the worker ``worker``; None if it is off.

    Raises SettingsError if tracing is on and its packages are missing.
    """
    if not settings.endpoint:
        return None
    if not is_installed():
        raise SettingsError([Fault("tracing.endpoint", f"needs more packages: {HOW}")])
    from service.features.tracing.export import SpanExport
    from service.features.tracing.requests import RequestTracing

    return RequestTracing(settings, worker, SpanExport(collector_of(settings), settings.queue))
