"""Imports redis-py without OpenTelemetry; before any other module of this package.

If OpenTelemetry is installed, redis-py imports its SDK for metrics that this service never turns on. That
costs time and memory in every process, whether requests are traced or not.
"""

import sys

_NAME = "opentelemetry"

if _NAME in sys.modules:
    import redis.asyncio
else:
    sys.modules[_NAME] = None  # type: ignore[assignment]  # an import of it raises ImportError
    try:
        import redis.asyncio  # noqa: F401
    finally:
        del sys.modules[_NAME]
