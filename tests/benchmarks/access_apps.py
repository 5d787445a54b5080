"""The service as the benchmark ``access`` measures it: everything on, as uvicorn loads it."""

from __future__ import annotations

import os

from service.app import create_app
from service.authz.publishing.shipped import read_shipped
from service.settings import load
from service.web.observability.log_format import configure_logging
from service.web.requests.middleware import RequestMiddleware


def service() -> RequestMiddleware:
    """Return the whole service."""
    settings = load(os.environ)
    configure_logging(settings.log.format, settings.log.level)
    return create_app(settings, read_shipped())
