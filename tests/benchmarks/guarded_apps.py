"""The two applications that the benchmark ``guarded`` compares, each as uvicorn loads it."""

from __future__ import annotations

import os
from typing import Annotated, Any

import falcon.asgi
from msgspec import Meta

from service.app import Container, Lifespan
from service.authz.publishing.shipped import read_shipped
from service.settings import load
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import logged, needs
from service.web.messages.schema import Schema
from service.web.observability.log_format import configure_logging
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes

TEMPLATE = "/api/role/list"
"""A route that has its endpoint lines and its bindings in every installation."""


class Answer(Schema):
    """A small answer, the same for both."""

    status: Annotated[str, Meta(max_length=16)] = "open"


class Guarded:
    """Does nothing behind the gate, so that only the gate and its surroundings are measured."""

    @needs("system:role:list", "system:user:create", "system:user:update")
    @logged("bench", "ping", "QUERY")
    async def on_get(self, context: RequestContext) -> Answer:  # noqa: ARG002 - every responder takes it
        """Answer."""
        return Answer()


class Bare:
    """The same answer from Falcon alone."""

    async def on_get(self, _request: Any, response: falcon.asgi.Response) -> None:
        response.data = b'{"data":{"status":"open"}}'


def guarded() -> RequestMiddleware:
    """Return the service with everything on, whose one route does nothing."""
    settings = load(os.environ)
    configure_logging(settings.log.format, settings.log.level)
    parts = Container(settings, read_shipped())
    app = Application()
    Routes(app, parts.guard).add(TEMPLATE, Guarded())
    app.add_middleware(Lifespan(parts))
    return RequestMiddleware(app)


def bare() -> falcon.asgi.App[Any, Any]:
    """Return Falcon with one route."""
    app = falcon.asgi.App()
    app.add_route(TEMPLATE, Bare())
    return app
