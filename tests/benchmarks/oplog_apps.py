"""The applications that the benchmark ``oplog`` compares: each with and without the operation log."""

from __future__ import annotations

import os

from service.app import Container, Lifespan
from service.app.routes import add_routes
from service.authz.publishing.shipped import read_shipped
from service.settings import load
from service.web.observability.log_format import configure_logging
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.benchmarks.guarded_apps import TEMPLATE, Guarded


def real_logged() -> RequestMiddleware:
    """Return the whole service."""
    return _app(real=True, logged=True)


def real_unlogged() -> RequestMiddleware:
    """Return the whole service, but for the operation log."""
    return _app(real=True, logged=False)


def bare_logged() -> RequestMiddleware:
    """Return a route that does nothing behind the gate and is logged."""
    return _app(real=False, logged=True)


def bare_unlogged() -> RequestMiddleware:
    """Return a route that does nothing behind the gate and is not logged."""
    return _app(real=False, logged=False)


def _app(*, real: bool, logged: bool) -> RequestMiddleware:
    settings = load(os.environ)
    configure_logging(settings.log.format, settings.log.level)
    parts = Container(settings, read_shipped())
    app = Application()
    if real:
        routes = add_routes(app, parts)
    else:
        routes = Routes(app, parts.guard)
        routes.add(TEMPLATE, Guarded())
    app.add_middleware(Lifespan(parts))
    return RequestMiddleware(app, record=parts.trail.collector.operation if logged else None)
