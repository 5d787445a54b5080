"""The two applications that the benchmark ``publish`` puts under load, each as uvicorn loads it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from sqlalchemy import text

from service.app import Container, Lifespan
from service.authz.publishing.shipped import read_shipped
from service.settings import load
from service.web.observability.log_format import configure_logging
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.benchmarks.guarded_apps import TEMPLATE, Guarded

CHANGE = text("UPDATE sys.menu SET enabled = NOT enabled WHERE auth_mark = 'system:file:share'")
"""Disables or enables a Button, of those to which the resources of the benchmark are bound."""


class _Publishing(Lifespan):
    """Publishes a change of the policy, over and over, as if somebody changed it without a pause."""

    async def process_startup(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        await super().process_startup(scope, event)
        self._publishing = asyncio.create_task(self._publish())

    async def _publish(self) -> None:
        while True:
            async with self._container.policy.changes.begin("bench") as change:
                await change.connection.execute(CHANGE)


def quiet() -> RequestMiddleware:
    """Return the service with one route, which does nothing behind the gate."""
    return _service(Lifespan)


def publishing() -> RequestMiddleware:
    """Return the same with a change being published all the time."""
    return _service(_Publishing)


def _service(lifespan: type[Lifespan]) -> RequestMiddleware:
    settings = load(os.environ)
    configure_logging(settings.log.format, settings.log.level)
    parts = Container(settings, read_shipped())
    app = Application()
    Routes(app, parts.guard).add(TEMPLATE, Guarded())
    app.add_middleware(lifespan(parts))
    return RequestMiddleware(app)
