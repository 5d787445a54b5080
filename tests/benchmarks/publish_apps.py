"""The two applications that the benchmark ``publish`` puts under load, each as uvicorn loads it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from service.app import Container, Lifespan
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import read_shipped
from service.settings import load
from service.web.observability.log_format import configure_logging
from service.web.requests.middleware import RequestMiddleware, falcon_app
from service.web.requests.routes import Routes
from tests.benchmarks.guarded_apps import TEMPLATE, Guarded


class _Rebuilding(Lifespan):
    """Builds the published policy aside, over and over, as if somebody changed it without a pause."""

    async def process_startup(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        await super().process_startup(scope, event)
        self._rebuilding = asyncio.create_task(self._rebuild())

    async def _rebuild(self) -> None:
        live = LivePolicy(read_shipped())
        empty = live.current
        while True:
            await live.load(self._container.database)
            live._newest = empty


def quiet() -> RequestMiddleware:
    """Return the service with one route, which does nothing behind the gate."""
    return _service(Lifespan)


def rebuilding() -> RequestMiddleware:
    """Return the same with a rebuild going on all the time."""
    return _service(_Rebuilding)


def _service(lifespan: type[Lifespan]) -> RequestMiddleware:
    settings = load(os.environ)
    configure_logging(settings.log.format, settings.log.level)
    parts = Container(settings, read_shipped())
    app = falcon_app()
    Routes(app, parts.guard).add(TEMPLATE, Guarded())
    app.add_middleware(lifespan(parts))
    return RequestMiddleware(app)
