"""Imports redis-py without OpenTelemetry, which costs time and memory; before any other module."""

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
