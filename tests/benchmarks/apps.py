"""The applications that benchmarks compare, each as uvicorn loads it."""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import falcon.asgi
from msgspec import Meta
from sqlalchemy import text

from service.app import Container, Lifespan
from service.app.routes import add_routes
from service.authz.publishing.shipped import read_shipped
from service.server.worker import TURN
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
CHANGE = text("UPDATE sys.menu SET enabled = NOT enabled WHERE auth_mark = 'system:file:share'")
"""Disables or enables a Button, of those to which the resources of the benchmark ``publish`` are bound."""


class Answer(Schema):
    """A small answer, the same for all."""

    status: Annotated[str, Meta(max_length=16)] = "open"


class Guarded:
    """Does nothing behind the gate, so that only the gate and what is around it are measured."""

    @needs("system:role:list", "system:user:create", "system:user:update")
    @logged("ping", "QUERY", module="bench")
    async def on_get(self, context: RequestContext) -> Answer:  # noqa: ARG002 - every responder takes it
        """Answer."""
        return Answer()


class Bare:
    """The same answer from Falcon alone."""

    async def on_get(self, _request: Any, response: falcon.asgi.Response) -> None:
        response.data = b'{"data":{"status":"open"}}'


def bare() -> falcon.asgi.App[Any, Any]:
    """Return Falcon with one route."""
    app = falcon.asgi.App()
    app.add_route(TEMPLATE, Bare())
    return app


def publishing() -> RequestMiddleware:
    """Return a route that does nothing behind the gate, with a change being published all the time."""
    return _service(lifespan=_Publishing)


def real_logged() -> RequestMiddleware:
    """Return the whole service."""
    return _service(real=True, logged=True)


def real_unlogged() -> RequestMiddleware:
    """Return the whole service, but for the operation log."""
    return _service(real=True)


def bare_logged() -> RequestMiddleware:
    """Return a route that does nothing behind the gate and is logged."""
    return _service(logged=True)


def bare_unlogged() -> RequestMiddleware:
    """Return a route that does nothing behind the gate and is not logged."""
    return _service()


class _Publishing(Lifespan):
    """Publishes a change of the policy, over and over, as if somebody changed it without a pause."""

    async def process_startup(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        await super().process_startup(scope, event)
        self._publishing = asyncio.create_task(self._publish())

    async def _publish(self) -> None:
        while True:
            async with self._container.policy.changes.begin("bench") as change:
                await change.connection.execute(CHANGE)


def _service(
    *, real: bool = False, logged: bool = False, lifespan: type[Lifespan] = Lifespan
) -> RequestMiddleware:
    sys.setswitchinterval(TURN)  # as each worker does
    settings = load(os.environ)
    configure_logging(settings.log.format, settings.log.level)
    parts = Container(settings, read_shipped())
    if not logged:
        parts.stores.database._before_commit = None  # saves no intents either
    app = Application()
    if real:
        add_routes(app, parts, ())
    else:
        Routes(app, parts.guard).add(TEMPLATE, Guarded())
    app.add_middleware(lifespan(parts))
    return RequestMiddleware(app, record=parts.trail.collector.operation if logged else None)
